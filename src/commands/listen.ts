import { type Command, Option } from "commander";
import { realWorld } from "../service/time-and-chance.ts";
import { webhookSigner } from "../standards/signature.ts";
import { oneLine } from "../standards/text.ts";
import { type ApiClient, apiClient, ofServer, type ServerOptions, seenByOthers } from "./api-client.ts";
import { follow, lastPosition } from "./listen/follow.ts";
import type { Forwarded, LoggedEvent } from "./listen/forward.ts";
import { type Position, positionFile, readPosition, writePosition } from "./listen/position.ts";
import { jsonOf, tell } from "./terminal.ts";

interface ListenOptions extends ServerOptions {
  forwardTo: string;
  secret?: string;
  inbox?: string;
  after?: string;
  state: boolean;
  json?: boolean;
}

/** Events for a developer's machine, which has no public address: fetched from the log, handed on as the webhook would. */
export function listenCommand(program: Command): void {
  ofServer(program.command("listen"))
    .description("forward events of a running server to an address, in order, going on where it ended last")
    .requiredOption("--forward-to <url>", "address that gets each event by POST")
    .addOption(
      new Option("--secret <secret>", `sign them with this webhook secret ${seenByOthers}`).env(
        "INBOXD_WEBHOOK_SECRET",
      ),
    )
    .option("--inbox <id>", "only events of this inbox")
    .option("--after <position>", "an event's id, or start (all that the log has), or now")
    .option("--no-state", "do not remember the position in a file")
    .option("--json", "print a line of JSON for each try")
    .action(listen);
}

async function listen(options: ListenOptions): Promise<void> {
  const api = apiClient(options);
  const target = URL.parse(options.forwardTo);
  if (target === null || !/^https?:$/.test(target.protocol)) {
    throw new Error("Cannot forward: --forward-to must begin with http:// or https://");
  }
  const { inbox: inboxId, json = false } = options;
  const signer = options.secret ? await webhookSigner(options.secret) : undefined;
  const file = options.state
    ? positionFile(process.env, [api.url, options.apiKey ?? "", inboxId ?? "", target.href])
    : undefined;
  const keep = async (position: Position) => (file === undefined ? undefined : writePosition(file, position));
  const warn = (text: string) => tell(`${text}\n`, process.stderr);

  const { signal, end } = untilSignal();
  try {
    const { from, words } = await startOf(api, options, file);
    await keep(from);
    warn(`Forwarding events of ${api.url} to ${target.href}, ${words}`);
    if (signer === undefined) warn("Unsigned: give --secret or INBOXD_WEBHOOK_SECRET to sign them");
    const told = json ? tellScript : tellPerson;
    await follow({ api, target, signer, inboxId, from, keep, tell: told, warn, now: realWorld.now, signal });
  } finally {
    end();
  }
}

/**
 * A first run begins with what comes from now on: the log may hold weeks of mail that has been dealt with, and a program
 * under development would answer all of it.
 */
async function startOf(
  api: ApiClient,
  { after, inbox }: ListenOptions,
  file: string | undefined,
): Promise<{ from: Position; words: string }> {
  if (after === "start") return { from: { after: null }, words: "from the start of the log" };
  if (after !== undefined && after !== "now") return { from: { after }, words: `after ${after}` };
  const kept = after === undefined && file !== undefined ? await readPosition(file) : undefined;
  if (kept !== undefined) return { from: kept, words: `going on after ${kept.after ?? "nothing yet"}` };
  return { from: await lastPosition(api, inbox), words: "from now on (--after start: all that the log has)" };
}

/** The first signal lets the delivery in hand end; a second one ends the process at once. */
function untilSignal(): { signal: AbortSignal; end: () => void } {
  const controller = new AbortController();
  const stop = () => {
    end();
    controller.abort();
  };
  const end = () => void process.off("SIGINT", stop).off("SIGTERM", stop);
  process.on("SIGINT", stop).on("SIGTERM", stop);
  return { signal: controller.signal, end };
}

function tellPerson({ event, event_id, message }: LoggedEvent, { ok, ms, error }: Forwarded): void {
  const mail = message && ` ${message.from} → ${message.to} ${JSON.stringify(message.subject)}`;
  const came = ok ? `✓ ${ms} ms` : `✗ ${error}, trying again`;
  tell(`${oneLine(`${came}  ${event_id} ${event}${mail ?? ""}`)}\n`);
}

function tellScript({ event, event_id }: LoggedEvent, forwarded: Forwarded): void {
  tell(jsonOf({ event_id, event, ...forwarded }));
}
