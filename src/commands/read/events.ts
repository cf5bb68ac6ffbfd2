import { type Command, Option } from "commander";
import type { Inboxd, InboxdEvent, Schemas } from "../../../sdk/typescript/src/inboxd.ts";
import { printMoreHint, reporting } from "../cli.ts";
import { clientOf, inboxIdOf, ofServer, type ServerOptions, unchecked } from "../client.ts";
import { UsageError } from "../failure.ts";
import { shortTime } from "../short-time.ts";

interface EventsOptions extends ServerOptions {
  types?: string;
  inbox?: string;
  after?: string;
  limit: string;
  last?: string;
}

export function eventCommands(program: Command): void {
  reporting(
    ofServer(program.command("events"))
      .description("list past events from the log, oldest first, and end; tail and listen wait for new ones")
      .option("--types <types>", "event types, separated by commas, or '*' for all (default: message.received)")
      .option("--inbox <inbox>", "list only events of this inbox: its id or address")
      .option("--after <id>", "list only events after this one")
      .option("--limit <number>", "the most events to list, 1 to 100", "50")
      .addOption(new Option("--last <number>", "list only the newest events, 1 to 100").conflicts(["after", "limit"])),
    async ({ types, inbox, after, limit, last, ...server }: EventsOptions): Promise<Schemas["EventPage"]> => {
      const client = clientOf(server);
      const inbox_id = inbox === undefined ? undefined : await inboxIdOf(client, inbox);
      if (last !== undefined) return newest(client, last, { types, inbox_id });
      return client.events.list({ limit: unchecked(limit), after, inbox_id, types: unchecked(types) }).page();
    },
    ({ data, hasMore, last }, calendar) => {
      const reached = last ?? data.at(-1)?.event_id;
      if (hasMore && reached !== undefined) printMoreHint(`--after ${reached}`);
      return data.map((event) => {
        const { event: type, event_id: id, occurred_at: at } = event;
        const message = "message" in event ? event.message : undefined;
        const from = message && "from" in message ? message.from : undefined;
        return { time: shortTime(at, calendar), event: type, from, subject: message?.subject, id };
      });
    },
  );
}

/**
 * Fetches the newest `last` events that match. One page examines ten thousand events, of which few or none may match, so this may take
 * several pages.
 */
async function newest(
  client: Inboxd,
  last: string,
  query: { types: string | undefined; inbox_id: string | undefined },
): Promise<Schemas["EventPage"]> {
  const wanted = /^\d{1,3}$/.test(last) ? Number(last) : 0;
  if (wanted < 1 || wanted > 100)
    throw new UsageError("Cannot list events: --last must be a whole number from 1 to 100");
  const events: InboxdEvent[] = [];
  for await (const event of client.events.list({
    ...query,
    types: unchecked(query.types),
    order: "desc",
    limit: wanted,
  })) {
    events.push(event);
    if (events.length === wanted) break;
  }
  return { data: events.toReversed(), hasMore: false };
}
