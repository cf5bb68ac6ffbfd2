import type { Command } from "commander";
import { oneLine } from "../standards/text.ts";
import { apiClient, ofServer, type ServerOptions } from "./api-client.ts";
import { reporting } from "./cli.ts";
import { inboxIdOf } from "./find-inbox.ts";

interface Inbox {
  id: string;
  address: string;
  externalId: string | null;
  createdAt: string;
}

interface Message {
  id: string;
  threadId: string;
  direction: "inbound" | "outbound";
  status: string;
  fromAddr: string;
  toAddr: string;
  subject: string;
  createdAt: string;
}

interface Page<Row> {
  data: Row[];
  total: number;
}

/** What scripts do with mail, over the HTTP API: the server may be anywhere. */
export function mailCommands(program: Command): void {
  const inbox = program.command("inbox").description("inboxes of a running server");
  reporting(
    ofServer(inbox.command("create [username]"))
      .description("make an inbox; without a username one is drawn")
      .option("--external-id <id>", "your own id of its owner, echoed in events"),
    (username: string | undefined, { externalId, ...server }: ServerOptions & { externalId?: string }) =>
      apiClient(server).ask<Inbox>("POST", "/v1/inboxes", { body: { username, externalId } }),
  );
  reporting(
    ofServer(inbox.command("list"))
      .description("list inboxes, newest first")
      .option("--limit <number>", "how many, 1 to 100", "50")
      .option("--offset <number>", "how many to pass over", "0"),
    ({ limit, offset, ...server }: ServerOptions & { limit: string; offset: string }) =>
      apiClient(server).ask<Page<Inbox>>("GET", "/v1/inboxes", { query: { limit, offset } }),
    ({ data }) => data,
  );

  reporting(
    ofServer(program.command("messages <inbox>"))
      .description("list messages of an inbox (its id or address), newest first")
      .option("--limit <number>", "how many, 1 to 100", "50")
      .option("--q <words>", "only messages with these words"),
    async (inbox: string, { limit, q, ...server }: ServerOptions & { limit: string; q?: string }) => {
      const api = apiClient(server);
      const id = await inboxIdOf(api, inbox);
      return api.ask<Page<Message>>("GET", `/v1/inboxes/${id}/messages`, { query: { limit, q } });
    },
    ({ data }) => data.map(row),
  );
}

function row({ createdAt, direction, status, fromAddr, toAddr, subject, id, threadId }: Message) {
  return { createdAt, direction, status, from: fromAddr, to: toAddr, subject: oneLine(subject), id, threadId };
}
