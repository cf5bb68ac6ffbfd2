import type { Command } from "commander";
import { realWorld } from "../service/time-and-chance.ts";
import { oneLine } from "../standards/text.ts";
import { type ApiClient, apiClient, ofServer, type ServerOptions } from "./api-client.ts";
import { reporting } from "./cli.ts";

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
    ofServer(program.command("send"))
      .description("send one email from an inbox of a running server")
      .requiredOption("--from <inbox>", "id or address of the inbox")
      .requiredOption("--to <address>", "recipient")
      .option("--subject <text>", "may be left out with --thread")
      .requiredOption("--body <text>", "plain text or HTML; - reads it from stdin")
      .option("--thread <id>", "thread to reply in")
      .option("--key <key>", "idempotency key: the same key sends once; made where left out"),
    send,
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

interface SendOptions extends ServerOptions {
  from: string;
  to: string;
  subject?: string;
  body: string;
  thread?: string;
  key?: string;
}

async function send({ from, to, subject, body, thread, key, ...server }: SendOptions): Promise<object> {
  const api = apiClient(server);
  const id = await inboxIdOf(api, from);
  const idempotencyKey = key ?? realWorld.randomBytes(16).toHex();
  const sent = await api.ask<{ status: string }>("POST", `/v1/inboxes/${encodeURIComponent(id)}/send`, {
    headers: { "idempotency-key": idempotencyKey },
    body: { to, subject, body: body === "-" ? await Bun.stdin.text() : body, threadId: thread },
  });
  // It is recorded, so it is printed; a script that looks at the exit code alone shall know as well.
  if (sent.status === "failed") process.exitCode = 1;
  return { ...sent, idempotencyKey };
}

/** The API knows inboxes by id; people know them by address, or by what stands before its @. */
async function inboxIdOf(api: ApiClient, inbox: string): Promise<string> {
  if (/^inb_[0-9a-z]{26}$/.test(inbox)) return inbox;
  const wanted = inbox.toLowerCase();
  const limit = 100;
  for (let offset = 0; ; offset += limit) {
    const { data, total } = await api.ask<Page<Inbox>>("GET", "/v1/inboxes", { query: { limit, offset } });
    const found = data.find(({ address }) => address === wanted || address.split("@", 1)[0] === wanted);
    if (found !== undefined) return found.id;
    if (offset + data.length >= total || data.length === 0) break;
  }
  throw new Error(`Cannot find inbox: the account has no inbox ${JSON.stringify(inbox)}`);
}

function row({ createdAt, direction, status, fromAddr, toAddr, subject, id, threadId }: Message) {
  return { createdAt, direction, status, from: fromAddr, to: toAddr, subject: oneLine(subject), id, threadId };
}
