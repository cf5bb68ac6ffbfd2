import { type Command, Option } from "commander";
import type { Schemas } from "../../sdk/typescript/src/inboxd.ts";
import { printMoreHint, reporting } from "./cli.ts";
import { clientOf, inboxIdOf, ofServer, type ServerOptions, unchecked } from "./client.ts";
import { shortTime } from "./short-time.ts";

interface ListOptions extends ServerOptions {
  kind?: Schemas["OutboxItem"]["kind"];
  state?: Schemas["OutboxItem"]["state"];
  inbox?: string;
  limit: string;
  cursor?: string;
}

/** A canceled mail, or the id of a canceled delivery. */
type Canceled = Pick<Schemas["Message"], "id"> & Partial<Schemas["Message"]>;

export function outboxCommands(program: Command): void {
  const outbox = program.command("outbox").description("manage mail and events that wait to go out");
  reporting(
    ofServer(outbox.command("list"))
      .description("list mail and events that wait to go out, oldest first")
      .addOption(new Option("--kind <kind>", "list only mail, or only webhook events").choices(["relay", "webhook"]))
      .addOption(new Option("--state <state>", "list only this state").choices(["ready", "running", "waiting"]))
      .option("--inbox <inbox>", "list only items of this inbox: its id or address")
      .option("--limit <number>", "the most items to list, 1 to 100", "50")
      .option("--cursor <cursor>", "continue a list at this cursor"),
    async ({ kind, state, inbox, limit, cursor, ...server }: ListOptions) => {
      const client = clientOf(server);
      const inbox_id = inbox === undefined ? undefined : await inboxIdOf(client, inbox);
      return client.outbox.list({ kind, state, inbox_id, limit: unchecked(limit), cursor }).page();
    },
    ({ data, nextCursor }, calendar) => {
      if (nextCursor !== null) printMoreHint(`--cursor ${nextCursor}`);
      return data.map(({ id, kind, state, to, attempt, createdAt, dueAt, lastError }) => ({
        since: shortTime(createdAt, calendar),
        kind,
        state,
        to: to.join(", "),
        attempt,
        next: state === "waiting" ? shortTime(dueAt, calendar) : null,
        error: lastError,
        id,
      }));
    },
  );
  reporting(
    ofServer(outbox.command("retry <id>")).description("make the next attempt now"),
    (id: string, server: ServerOptions) => clientOf(server).outbox.retry(id),
    ({ id, state }) => ({ id, state }),
  );
  reporting(
    ofServer(outbox.command("cancel <id>")).description(
      "cancel a scheduled mail, a mail for all recipients that it was not sent to, or the delivery of an event to an endpoint",
    ),
    cancel,
    ({ id, status, failure, mayHaveBeenSent }) => ({
      id,
      ...(status !== undefined && { status, failure: failure?.message ?? null }),
      ...(mayHaveBeenSent && { "may have been sent": "yes: an attempt ended without an answer" }),
    }),
  );
}

async function cancel(id: string, server: ServerOptions): Promise<Canceled> {
  const client = clientOf(server);
  const [subject = id] = id.split(".");
  if (subject.startsWith("msg_")) return client.messages.cancel(subject);
  await client.outbox.cancel(id);
  return { id };
}
