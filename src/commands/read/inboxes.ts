import type { Command } from "commander";
import { apiClient, ofServer, type ServerOptions } from "../api-client.ts";
import { reporting } from "../cli.ts";
import { inboxIdOf } from "../find-inbox.ts";
import { type Calendar, fullTime, shortTime } from "../short-time.ts";
import { tellMore } from "./more.ts";
import { type Inbox, type Page, pathOf } from "./shapes.ts";

export function inboxCommands(program: Command): void {
  const inbox = program.command("inbox").description("inboxes of a running server");
  reporting(
    ofServer(inbox.command("create [username]"))
      .description("make an inbox; without a username one is drawn")
      .option("--external-id <id>", "your own id of its owner, echoed in events"),
    (username: string | undefined, { externalId, ...server }: ServerOptions & { externalId?: string }) =>
      apiClient(server).ask<Inbox>("POST", "/v1/inboxes", { body: { username, externalId } }),
    whole,
  );
  reporting(
    ofServer(inbox.command("list"))
      .description("list inboxes, newest first")
      .option("--limit <number>", "how many, 1 to 100", "50")
      .option("--offset <number>", "how many to pass over", "0"),
    ({ limit, offset, ...server }: ServerOptions & { limit: string; offset: string }) =>
      apiClient(server).ask<Page<Inbox>>("GET", "/v1/inboxes", { query: { limit, offset } }),
    (page, calendar, { offset }) => {
      tellMore(page, offset);
      return page.data.map(({ id, address, externalId, createdAt }) => {
        return { created: shortTime(createdAt, calendar), address, externalId, id };
      });
    },
  );
  reporting(ofServer(inbox.command("get <inbox>")).description("print one inbox: its id or address"), find, whole);
  reporting(
    ofServer(inbox.command("delete <inbox>")).description(
      "refuse its mail from now on, and put its messages out of reach for good",
    ),
    remove,
  );
}

async function find(inbox: string, server: ServerOptions): Promise<Inbox> {
  const api = apiClient(server);
  const id = await inboxIdOf(api, inbox);
  return api.ask<Inbox>("GET", pathOf("inboxes", id));
}

async function remove(inbox: string, server: ServerOptions): Promise<object> {
  const { id, address } = await find(inbox, server);
  await apiClient(server).ask("DELETE", pathOf("inboxes", id));
  return { id, address, deleted: true };
}

function whole({ createdAt, ...inbox }: Inbox, calendar: Calendar): object {
  return { ...inbox, createdAt: fullTime(createdAt, calendar) };
}
