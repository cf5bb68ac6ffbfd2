import { type Command, Option } from "commander";
import { realWorld } from "../service/time-and-chance.ts";
import { webhookSecretFault, webhookSigner } from "../standards/signature.ts";
import { oneLine } from "../standards/text.ts";
import { apiClient, ofServer, type ServerOptions, seenByOthers } from "./api-client.ts";
import { reasonOf, UsageError } from "./failure.ts";
import { inboxIdOf } from "./find-inbox.ts";
import { type Following, follow } from "./listen/follow.ts";
import { type Forwarded, forward, type LoggedEvent } from "./listen/forward.ts";
import { type Position, positionFile, readPosition, writePosition } from "./listen/position.ts";
import { printer, shownMail } from "./listen/print.ts";
import { untilSignal } from "./stream/until-signal.ts";
import { jsonOf, tell } from "./terminal.ts";

interface ListenOptions extends ServerOptions {
  forwardTo?: string;
  secret?: string;
  inbox?: string;
  after?: string;
  state: boolean;
  json?: boolean;
}

/** Events for a developer's machine, which has no public address: fetched from here, handed on as the webhook would. */
export function listenCommand(program: Command): void {
  ofServer(program.command("listen"))
    .description(
      "show events of a running server as they come; or forward them, in order, going on where it ended last",
    )
    .option("--forward-to <url>", "address that gets each event by POST; without it they are printed")
    .addOption(
      new Option("--secret <secret>", `sign them with this webhook secret ${seenByOthers}`).env(
        "INBOXD_WEBHOOK_SECRET",
      ),
    )
    .option("--inbox <inbox>", "only events of this inbox: its id or address")
    .option("--after <position>", "an event's id, or start (all that the log has), or now")
    .option("--no-state", "do not remember in a file how far it has forwarded")
    .option("--json", "print a line of JSON for each event; with --forward-to, for each try")
    .action(listen);
}

async function listen(options: ListenOptions): Promise<void> {
  const api = apiClient(options);
  const forwarder = options.forwardTo === undefined ? undefined : await openForwarder(options.forwardTo, options);
  const { inbox, json = false } = options;
  const inboxId = inbox === undefined ? undefined : await inboxIdOf(api, inbox);
  // What was printed need not have been dealt with, so only what was forwarded is remembered.
  const file =
    forwarder !== undefined && options.state
      ? positionFile(process.env, [api.url, options.apiKey ?? "", inboxId ?? "", forwarder.target.href])
      : undefined;
  const keep = async (position: Position) => (file === undefined ? undefined : writePosition(file, position));
  const warn = (text: string) => tell(`${text}\n`, process.stderr);

  const { signal, end, stop } = untilSignal();
  const hand = forwarder?.hand ?? printer({ json, whenUnread: stop, signal });
  try {
    const { from, words } = await startOf(options, file);
    async function begun(position: Position): Promise<void> {
      await keep(position).catch((error: unknown) => {
        throw new Error(`Cannot remember the position in ${file}: ${reasonOf(error)}; --no-state does without`);
      });
      if (forwarder === undefined) return warn(`Printing events of ${api.url}, ${words}`);
      warn(`Forwarding events of ${api.url} to ${forwarder.target.href}, ${words}`);
      if (!forwarder.isSigned) warn("Unsigned: give --secret or INBOXD_WEBHOOK_SECRET to sign them");
    }
    await follow({ api, inboxId, from, begun, hand, keep, warn, signal });
  } finally {
    end();
  }
}

interface Forwarder {
  target: URL;
  isSigned: boolean;
  hand: Following["hand"];
}

async function openForwarder(forwardTo: string, { secret, json = false }: ListenOptions): Promise<Forwarder> {
  const target = URL.parse(forwardTo);
  if (target === null || !/^https?:$/.test(target.protocol)) {
    throw new UsageError("Cannot forward: --forward-to must be an address that begins with http:// or https://");
  }
  const fault = secret ? webhookSecretFault(secret) : undefined;
  if (fault !== undefined) throw new UsageError(`Cannot sign what is forwarded: --secret ${fault}`);
  const signer = secret ? await webhookSigner(secret) : undefined;
  const report = json ? tellScript : tellPerson;
  return {
    target,
    isSigned: signer !== undefined,
    async hand(event, attempt) {
      const forwarded = await forward(event, { target, signer, now: realWorld.now, attempt });
      report(event, forwarded);
      return forwarded.ok;
    },
  };
}

/**
 * A first run begins with what comes from now on: the log may hold weeks of mail that has been dealt with, and a program
 * under development would answer all of it.
 */
async function startOf(
  { after }: ListenOptions,
  file: string | undefined,
): Promise<{ from: Position | undefined; words: string }> {
  if (after === "start") return { from: { after: null }, words: "from the start of the log" };
  if (after !== undefined && after !== "now") return { from: { after }, words: `after ${after}` };
  const kept = after === undefined && file !== undefined ? await readPosition(file) : undefined;
  if (kept !== undefined) return { from: kept, words: `going on after ${kept.after ?? "nothing yet"}` };
  return { from: undefined, words: "from now on (--after start: all that the log has)" };
}

function tellPerson(event: LoggedEvent, { ok, ms, error }: Forwarded): void {
  const came = ok ? `✓ ${ms} ms` : `✗ ${error}, trying again`;
  tell(`${oneLine(`${came}  ${event.event_id} ${event.event}${shownMail(event)}`)}\n`);
}

function tellScript({ event, event_id }: LoggedEvent, forwarded: Forwarded): void {
  tell(jsonOf({ event_id, event, ...forwarded }));
}
