import type { Command } from "commander";
import { clientOf, ofServer, type ServerOptions, unchecked } from "./client.ts";
import { messageOf } from "./failure.ts";
import { inboxIdsOf, ofSubscription, type SubscriptionOptions } from "./subscription.ts";
import { jsonOf, print, printTaken, untilSignal } from "./terminal.ts";

interface TailOptions extends ServerOptions, SubscriptionOptions {
  after?: string;
}

/** Prints the stream of events, for use in a pipe. */
export function tailCommand(program: Command): void {
  ofSubscription(ofServer(program.command("tail")))
    .description(
      "print events as they happen, one line of JSON each, for a pipe; listen forwards them, events lists past ones",
    )
    .option("--after <position>", "an event's id, or start for the whole log (default: from now on)")
    .action(tail);
}

async function tail({
  types,
  inbox,
  externalId,
  skipAutomated,
  include,
  after,
  ...server
}: TailOptions): Promise<void> {
  const client = clientOf(server);
  const { signal, stop, end } = untilSignal();
  // An error of stdout means that the reader has closed the pipe, as `head` does.
  process.stdout.on("error", stop);
  const warn = (text: string) => print(`${text}\n`, process.stderr);
  try {
    let isFollowing = false;
    const events = client.events.stream({
      types: unchecked(types),
      include,
      inbox_id: inbox === undefined ? undefined : await inboxIdsOf(client, inbox),
      external_id: externalId,
      automated: skipAutomated ? "false" : undefined,
      after,
      signal,
      readsLog: false,
      onReady() {
        if (!isFollowing)
          warn(`Events of ${client.baseUrl}, ${after === undefined ? "from now on" : `after ${after}`}`);
        isFollowing = true;
      },
      onTrouble: (error) => warn(messageOf(error)),
    });
    for await (const event of events) await printTaken(jsonOf(event), signal);
  } finally {
    end();
  }
}
