import { open, unlink } from "node:fs/promises";
import type { Command } from "commander";
import type { Schemas } from "../../../sdk/typescript/src/inboxd.ts";
import { printExported, printMoreByOffset, reporting } from "../cli.ts";
import { clientOf, inboxIdOf, ofServer, type ServerOptions, unchecked } from "../client.ts";
import { type Calendar, fullTime, shortTime } from "../short-time.ts";
import { printBytes } from "../terminal.ts";

export function inboxCommands(program: Command): void {
  const inbox = program.command("inbox").description("manage the inboxes of a running server");
  reporting(
    ofServer(inbox.command("create [username]"))
      .description("create an inbox; without a username, a random one is chosen")
      .option("--domain <domain>", "the domain of its address, instead of MAIL_DOMAIN")
      .option("--external-id <id>", "your own id of its owner, which events repeat"),
    (
      username: string | undefined,
      { externalId, domain, ...server }: ServerOptions & { externalId?: string; domain?: string },
    ) => clientOf(server).inboxes.create({ username, domain, externalId }),
    whole,
  );
  reporting(
    ofServer(inbox.command("list"))
      .description("list inboxes, newest first")
      .option("--limit <number>", "the most inboxes to list, 1 to 100", "50")
      .option("--offset <number>", "the number of inboxes to skip", "0"),
    ({ limit, offset, ...server }: ServerOptions & { limit: string; offset: string }) =>
      clientOf(server)
        .inboxes.list({ limit: unchecked(limit), offset: unchecked(offset) })
        .page(),
    (page, calendar, { offset }) => {
      printMoreByOffset(page, offset);
      return page.data.map(({ id, address, externalId, createdAt, unreadThreads, lastMessageAt }) => {
        const last = lastMessageAt === null ? null : shortTime(lastMessageAt, calendar);
        return { created: shortTime(createdAt, calendar), address, unread: unreadThreads, last, externalId, id };
      });
    },
  );
  reporting(ofServer(inbox.command("get <inbox>")).description("print one inbox, by its id or address"), find, whole);
  ofServer(inbox.command("export <inbox> [file]"))
    .description("write all mail of an inbox into a new file, or to stdout (-)")
    .option("--format <format>", "jsonl or mbox", "jsonl")
    .option("--json", "print JSON")
    .action(async (asked: string, file: string | undefined, { json = false, ...options }: ExportOptions) => {
      const made = await exportInbox(asked, file, options);
      printExported(made, made.file, json);
    });
  reporting(
    ofServer(inbox.command("delete <inbox>")).description("delete an inbox with its messages, and refuse its mail"),
    remove,
  );
}

async function find(inbox: string, server: ServerOptions): Promise<Schemas["Inbox"]> {
  const client = clientOf(server);
  return client.inboxes.get(await inboxIdOf(client, inbox));
}

interface ExportOptions extends ServerOptions {
  format: string;
  json?: boolean;
}

async function exportInbox(asked: string, file: string | undefined, { format, ...server }: ExportOptions) {
  const client = clientOf(server);
  const { id, address } = await client.inboxes.get(await inboxIdOf(client, asked));
  const mail = await client.inboxes.export(id, { format: unchecked(format) });
  const path = file ?? `${address}.${format}`;
  // The file that is there may be the only whole export, so it is never overwritten.
  const made = path === "-" ? undefined : await open(path, "wx");
  let bytes = 0;
  try {
    for await (const piece of mail) {
      await (made === undefined ? printBytes(piece) : made.writeFile(piece));
      bytes += piece.length;
    }
  } catch (error) {
    if (made !== undefined) await unlink(path);
    throw new Error("Cannot export: the connection ended before the export was complete", { cause: error });
  } finally {
    await made?.close();
  }
  return { inbox: id, file: path, bytes };
}

async function remove(inbox: string, server: ServerOptions): Promise<object> {
  const { id, address } = await find(inbox, server);
  await clientOf(server).inboxes.delete(id);
  return { id, address, deleted: true };
}

function whole({ createdAt, lastMessageAt, ...inbox }: Schemas["Inbox"], calendar: Calendar): object {
  return {
    ...inbox,
    createdAt: fullTime(createdAt, calendar),
    lastMessageAt: lastMessageAt === null ? null : fullTime(lastMessageAt, calendar),
  };
}
