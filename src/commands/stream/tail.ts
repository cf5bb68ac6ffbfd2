import type { Command } from "commander";
import { type ApiClient, ApiProblem, apiClient, ofServer, type ServerOptions } from "../api-client.ts";
import { jsonOf, tell, tellTaken } from "../terminal.ts";
import { inboxIdsOf, ofSubscription, type SubscriptionOptions } from "./subscription.ts";
import { type Stopping, untilSignal } from "./until-signal.ts";

interface TailOptions extends ServerOptions, SubscriptionOptions {
  after?: string;
}

/** The stream of events for a pipe. */
export function tailCommand(program: Command): void {
  ofSubscription(ofServer(program.command("tail")))
    .description("print events of a running server as they happen, a line of JSON each; over its restarts, until ended")
    .option("--after <place>", "an event's id, or start (all that the log has); from now on where left out")
    .action(tail);
}

async function tail(options: TailOptions): Promise<void> {
  const api = apiClient(options);
  const stopping = untilSignal();
  // Whoever read has what he wanted, as `head` does.
  process.stdout.on("error", stopping.stop);
  try {
    await printEvents(api, options, stopping);
  } catch (error) {
    if (!(error instanceof ApiProblem && error.isOlderServer)) throw error;
    throw new Error(`Cannot follow ${api.url}: it is an older inboxd, without streams; inboxd listen asks its log`);
  } finally {
    stopping.end();
  }
}

async function printEvents(api: ApiClient, options: TailOptions, { signal }: Stopping): Promise<void> {
  const { types, inbox, skipAutomated, include, after } = options;
  const query = {
    types,
    include,
    inbox_id: inbox === undefined ? undefined : (await inboxIdsOf(api, inbox)).join(),
    automated: skipAutomated ? "false" : undefined,
  };
  const warn = (text: string) => tell(`${text}\n`, process.stderr);
  let isFollowing = false;
  for await (const { event, data } of api.stream("/v1/events/stream", { query, lastEventId: after, signal, warn })) {
    if (event === "ready") {
      if (!isFollowing) warn(`Events of ${api.url}, ${after === undefined ? "from now on" : `after ${after}`}`);
      isFollowing = true;
    } else if (event !== "end") {
      await tellTaken(jsonOf(JSON.parse(data)), signal);
    }
  }
}
