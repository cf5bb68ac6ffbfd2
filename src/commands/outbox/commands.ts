import { type Command, Option } from "commander";
import { apiClient, ofServer, type ServerOptions } from "../api-client.ts";
import { reporting } from "../cli.ts";
import { inboxIdOf } from "../find-inbox.ts";
import { tellMoreBy } from "../read/more.ts";
import { type Message, pathOf } from "../read/shapes.ts";
import { shortTime } from "../short-time.ts";

/** Something that is still to be done. */
interface Item {
  id: string;
  kind: string;
  state: string;
  to: string[];
  attempt: number;
  createdAt: string;
  dueAt: string;
  lastError: string | null;
}

interface ItemPage {
  data: Item[];
  nextCursor: string | null;
}

interface ListOptions extends ServerOptions {
  kind?: string;
  state?: string;
  inbox?: string;
  limit: string;
  cursor?: string;
}

/** A mail that was taken back, or a delivery that was given up. */
type Canceled = Pick<Message, "id"> & { status?: string; failure?: Message["failure"]; mayHaveBeenSent?: true };

/** What waits to go out. */
export function outboxCommands(program: Command): void {
  const outbox = program.command("outbox").description("what an account has still to send and deliver");
  reporting(
    ofServer(outbox.command("list"))
      .description("list mail and events that wait to go out, oldest first")
      .addOption(new Option("--kind <kind>", "only mail, or only events for webhooks").choices(["relay", "webhook"]))
      .addOption(new Option("--state <state>", "only what is so").choices(["ready", "running", "waiting"]))
      .option("--inbox <inbox>", "only what belongs to this inbox: its id or address")
      .option("--limit <number>", "how many, 1 to 100", "50")
      .option("--cursor <cursor>", "go on where a list ended"),
    async ({ kind, state, inbox, limit, cursor, ...server }: ListOptions) => {
      const api = apiClient(server);
      const id = inbox === undefined ? undefined : await inboxIdOf(api, inbox);
      return api.ask<ItemPage>("GET", "/v1/outbox", { query: { kind, state, inbox_id: id, limit, cursor } });
    },
    ({ data, nextCursor }, calendar) => {
      if (nextCursor !== null) tellMoreBy(`--cursor ${nextCursor}`);
      return data.map(({ id, kind, state, to, attempt, createdAt, dueAt, lastError }) => ({
        since: shortTime(createdAt, calendar),
        ...{ kind, state, to: to.join(", "), attempt },
        next: state === "waiting" ? shortTime(dueAt, calendar) : null,
        ...{ error: lastError, id },
      }));
    },
  );
  reporting(
    ofServer(outbox.command("retry <id>")).description("put it in line now, whenever its next attempt would be due"),
    (id: string, server: ServerOptions) => apiClient(server).ask<Item>("POST", pathOf("outbox", id, "/retry")),
    ({ id, state }) => ({ id, state }),
  );
  reporting(
    ofServer(outbox.command("cancel <id>")).description(
      "take a mail back, for all whom it has not been sent to; or don't deliver an event to this endpoint",
    ),
    cancel,
    ({ id, status, failure, mayHaveBeenSent }) => ({
      ...{ id, ...(status !== undefined && { status, failure: failure?.message ?? null }) },
      ...(mayHaveBeenSent && { "may have been sent": "yes: an attempt ended without an answer" }),
    }),
  );
}

async function cancel(id: string, server: ServerOptions): Promise<Canceled> {
  const api = apiClient(server);
  const [subject = id] = id.split(".");
  if (subject.startsWith("msg_")) return api.ask<Canceled>("POST", pathOf("messages", subject, "/cancel"));
  await api.ask("DELETE", pathOf("outbox", id));
  return { id };
}
