import type { Command } from "commander";
import { printMoreHint, reporting } from "../cli.ts";
import { clientOf, inboxIdOf, ofServer, type ServerOptions, unchecked } from "../client.ts";
import { shortTime } from "../short-time.ts";

interface EventsOptions extends ServerOptions {
  inbox?: string;
  after?: string;
  limit: string;
}

export function eventCommands(program: Command): void {
  reporting(
    ofServer(program.command("events"))
      .description("list the log of events, oldest first")
      .option("--inbox <inbox>", "list only events of this inbox: its id or address")
      .option("--after <id>", "list only events after this one")
      .option("--limit <number>", "the most events to list, 1 to 100", "50"),
    async ({ inbox, after, limit, ...server }: EventsOptions) => {
      const client = clientOf(server);
      const inbox_id = inbox === undefined ? undefined : await inboxIdOf(client, inbox);
      return client.events.list({ limit: unchecked(limit), after, inbox_id }).page();
    },
    ({ data, hasMore }, calendar) => {
      const last = data.at(-1);
      if (hasMore && last !== undefined) printMoreHint(`--after ${last.event_id}`);
      return data.map((event) => {
        const { event: type, event_id: id, occurred_at: at } = event;
        const message = "message" in event ? event.message : undefined;
        const from = message && "from" in message ? message.from : undefined;
        return { time: shortTime(at, calendar), event: type, from, subject: message?.subject, id };
      });
    },
  );
}
