import { type Command, Option } from "commander";
import type { InboxdEvent } from "../../sdk/typescript/src/inboxd.ts";
import { realWorld } from "../service/time-and-chance.ts";
import { webhookSecretFault, webhookSigner } from "../standards/signature.ts";
import { oneLine } from "../standards/text.ts";
import { clientOf, inboxIdOf, ofServer, type ServerOptions, seenByOthers } from "./client.ts";
import { reasonOf, UsageError } from "./failure.ts";
import { type FollowOptions, follow } from "./listen/follow.ts";
import { type Forwarded, forward } from "./listen/forward.ts";
import { type Position, positionFile, readPosition, writePosition } from "./listen/position.ts";
import { jsonOf, print, printTaken, untilSignal } from "./terminal.ts";

interface ListenOptions extends ServerOptions {
  forwardTo?: string;
  secret?: string;
  inbox?: string;
  after?: string;
  state: boolean;
  json?: boolean;
}

/**
 * Brings events to a developer's machine, which no webhook can reach: fetches them from a server, and prints them or posts them
 * as the webhook would.
 */
export function listenCommand(program: Command): void {
  ofServer(program.command("listen"))
    .description(
      "forward events as they happen to a receiver on this machine, from where the last run ended, or show them; tail is for a pipe, events lists past ones",
    )
    .option("--forward-to <url>", "POST each event to this address instead of printing it")
    .addOption(
      new Option("--secret <secret>", `sign the events with this webhook secret ${seenByOthers}`).env(
        "INBOXD_WEBHOOK_SECRET",
      ),
    )
    .option("--inbox <inbox>", "only events of this inbox: its id or address")
    .option("--after <position>", "an event's id, start for the whole log, or now")
    .option("--no-state", "do not save the position of the last forwarded event in a file")
    .option("--json", "print a line of JSON for each event; with --forward-to, for each attempt")
    .action(listen);
}

async function listen(options: ListenOptions): Promise<void> {
  const client = clientOf(options);
  const forwarder = options.forwardTo === undefined ? undefined : await openForwarder(options.forwardTo, options);
  const { inbox, json = false } = options;
  const inboxId = inbox === undefined ? undefined : await inboxIdOf(client, inbox);
  // Stores the position only if events are forwarded. A printed event does not count as processed by the receiver.
  const file =
    forwarder !== undefined && options.state
      ? positionFile(process.env, [client.baseUrl, options.apiKey ?? "", inboxId ?? "", forwarder.target.href])
      : undefined;
  const save = async (position: Position) => (file === undefined ? undefined : writePosition(file, position));
  const warn = (text: string) => print(`${text}\n`, process.stderr);

  const { signal, end, stop } = untilSignal();
  const handle = forwarder?.handle ?? printer(json, { signal, stop });
  try {
    const { from, words } = await startOf(options, file);
    async function onBegin(position: Position): Promise<void> {
      await save(position).catch((error: unknown) => {
        throw new Error(`Cannot save the position in ${file}: ${reasonOf(error)}; --no-state saves none`);
      });
      if (forwarder === undefined) return warn(`Printing events of ${client.baseUrl}, ${words}`);
      warn(`Forwarding events of ${client.baseUrl} to ${forwarder.target.href}, ${words}`);
      if (!forwarder.isSigned) warn("Unsigned: give --secret or INBOXD_WEBHOOK_SECRET to sign them");
    }
    await follow({ client, inboxId, from, onBegin, handle, save, warn, signal });
  } finally {
    end();
  }
}

interface Forwarder {
  target: URL;
  isSigned: boolean;
  handle: FollowOptions["handle"];
}

async function openForwarder(forwardTo: string, { secret, json = false }: ListenOptions): Promise<Forwarder> {
  const target = URL.parse(forwardTo);
  if (target === null || !/^https?:$/.test(target.protocol)) {
    throw new UsageError("Cannot forward: --forward-to must be an address that begins with http:// or https://");
  }
  const fault = secret ? webhookSecretFault(secret) : undefined;
  if (fault !== undefined) throw new UsageError(`Cannot sign events: --secret ${fault}`);
  const signer = secret ? await webhookSigner(secret) : undefined;
  return {
    target,
    isSigned: signer !== undefined,
    async handle(event, attempt) {
      const forwarded = await forward(event, { target, signer, now: realWorld.now, attempt });
      print(json ? attemptAsJson(event, forwarded) : attemptAsLine(event, forwarded));
      return forwarded.ok;
    },
  };
}

/**
 * Finds the position to begin after. Without `--after` and a stored position, it is the end of the log: the log may hold weeks of mail that
 * was processed, and a program under development would answer all of it.
 */
async function startOf(
  { after }: ListenOptions,
  file: string | undefined,
): Promise<{ from: Position | undefined; words: string }> {
  if (after === "start") return { from: { after: null }, words: "from the start of the log" };
  if (after !== undefined && after !== "now") return { from: { after }, words: `after ${after}` };
  const kept = after === undefined && file !== undefined ? await readPosition(file) : undefined;
  if (kept !== undefined) return { from: kept, words: `going on after ${kept.after ?? "nothing yet"}` };
  return { from: undefined, words: "from now on (--after start: the whole log)" };
}

function attemptAsLine(event: InboxdEvent, { ok, ms, error }: Forwarded): string {
  const result = ok ? `✓ ${ms} ms` : `✗ ${error}, trying again`;
  return `${oneLine(`${result}  ${event.event_id} ${event.event}${shownMail(event)}`)}\n`;
}

function attemptAsJson({ event, event_id }: InboxdEvent, forwarded: Forwarded): string {
  return jsonOf({ event_id, event, ...forwarded });
}

/** Prints each event. It counts as processed when the reader of stdout has it. */
function printer(json: boolean, { signal, stop }: { signal: AbortSignal; stop(): void }): FollowOptions["handle"] {
  // An error of stdout means that the reader has closed the pipe, as `head` does.
  process.stdout.on("error", stop);
  return async (event) => {
    await printTaken(json ? jsonOf(event) : `${eventAsLine(event)}\n`, signal);
    return true;
  };
}

/** An event as one line: its local time first, and its id last, which `--after` takes. */
function eventAsLine(event: InboxdEvent): string {
  const at = new Date(event.occurred_at).toLocaleTimeString("en-GB");
  return oneLine(`${at}  ${event.event}${shownMail(event)}  ${event.event_id}`);
}

/** Sender, recipient and subject of the mail of an event. */
function shownMail(event: InboxdEvent): string {
  if (!("message" in event && "from" in event.message)) return "";
  const { from, to, subject } = event.message;
  return ` ${from} → ${to} ${JSON.stringify(subject)}`;
}
