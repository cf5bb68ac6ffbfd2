import type { Command } from "commander";
import { apiClient, ofServer, type ServerOptions } from "../api-client.ts";
import { reporting } from "../cli.ts";
import { inboxIdOf } from "../find-inbox.ts";
import { shortTime } from "../short-time.ts";
import { tellMoreBy } from "./more.ts";

/** Other versions tell of other matters than a message. */
interface LoggedEvent {
  event: string;
  event_id: string;
  occurred_at: string;
  message?: { from: string; subject: string };
}

interface EventsPage {
  data: LoggedEvent[];
  hasMore: boolean;
}

interface EventsOptions extends ServerOptions {
  inbox?: string;
  after?: string;
  limit: string;
}

export function eventCommands(program: Command): void {
  reporting(
    ofServer(program.command("events"))
      .description("list what was told to the webhook, in the order in which it happened")
      .option("--inbox <inbox>", "only events of this inbox: its id or address")
      .option("--after <id>", "only what came after this event")
      .option("--limit <number>", "how many, 1 to 100", "50"),
    async ({ inbox, after, limit, ...server }: EventsOptions) => {
      const api = apiClient(server);
      const id = inbox === undefined ? undefined : await inboxIdOf(api, inbox);
      return api.ask<EventsPage>("GET", "/v1/events", { query: { limit, after, inbox_id: id } });
    },
    ({ data, hasMore }, calendar) => {
      const last = data.at(-1);
      if (hasMore && last !== undefined) tellMoreBy(`--after ${last.event_id}`);
      return data.map(({ event, event_id: id, occurred_at: at, message }) => {
        return { time: shortTime(at, calendar), event, from: message?.from, subject: message?.subject, id };
      });
    },
  );
}
