import { open, unlink } from "node:fs/promises";
import { type Command, Option } from "commander";
import type { Schemas } from "../../../sdk/typescript/src/inboxd.ts";
import { type SendPolicy, sendPolicies } from "../../domain/policy.ts";
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
      .option("--external-id <id>", "your own id of its owner, which events repeat")
      .option("--display-name <name>", "the name beside the address in its mail")
      .option("--ttl-seconds <seconds>", "delete it after this time: 60 to 31536000"),
    (username: string | undefined, { ttlSeconds, ...options }: CreateOptions) => {
      const { domain, externalId, displayName, ...server } = options;
      const inbox = { username, domain, externalId, displayName, ttlSeconds: numberOrNull(ttlSeconds) ?? undefined };
      return clientOf(server).inboxes.create(inbox);
    },
    whole,
  );
  reporting(
    ofServer(inbox.command("set <inbox>"))
      .description("change these fields of an inbox, and keep the others; '' clears one")
      .option("--display-name <name>", "the name beside the address in its mail")
      .option("--external-id <id>", "your own id of its owner")
      .option("--metadata <key=value...>", "strings of yours; a key without = is removed")
      .option("--retention-days <days>", "how long its mail is kept: 1 to 3650 days")
      .option("--expires-at <instant>", "when it is deleted, such as 2026-12-31T12:00:00Z")
      .addOption(new Option("--send-policy <word>", "who may be written to").choices(sendPolicies))
      .option("--search-words <words>", "the words of new mail that a search finds: all, head or off")
      .option("--approvers <addresses...>", "who approves its mail by a link")
      .addOption(new Option("--disable", "refuse its mail and its sends").conflicts("enable"))
      .option("--enable", "take and send mail again"),
    change,
    whole,
  );
  const alias = inbox.command("alias").description("give an inbox other addresses");
  reporting(
    ofServer(alias.command("add <inbox> <alias>")).description("add an address at the domain of the inbox"),
    async (asked: string, name: string, server: ServerOptions) => {
      const client = clientOf(server);
      return client.inboxes.addAlias(await inboxIdOf(client, asked), name);
    },
    whole,
  );
  reporting(
    ofServer(alias.command("remove <inbox> <alias>")).description("remove an alias, and refuse its mail"),
    async (asked: string, name: string, server: ServerOptions) => {
      const client = clientOf(server);
      const id = await inboxIdOf(client, asked);
      await client.inboxes.removeAlias(id, name);
      return { id, alias: name, removed: true };
    },
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

interface CreateOptions extends ServerOptions {
  domain?: string;
  externalId?: string;
  displayName?: string;
  ttlSeconds?: string;
}

interface SetOptions extends ServerOptions {
  displayName?: string;
  externalId?: string;
  metadata?: string[];
  retentionDays?: string;
  expiresAt?: string;
  sendPolicy?: SendPolicy;
  searchWords?: string;
  approvers?: string[];
  disable?: true;
  enable?: true;
}

async function change(asked: string, { metadata, retentionDays, disable, enable, ...options }: SetOptions) {
  const { displayName, externalId, expiresAt, sendPolicy, searchWords, approvers, ...server } = options;
  const client = clientOf(server);
  return client.inboxes.change(await inboxIdOf(client, asked), {
    displayName: orNull(displayName),
    externalId: orNull(externalId),
    metadata: metadata && Object.fromEntries(metadata.map(entryOf)),
    retentionDays: numberOrNull(retentionDays),
    expiresAt: orNull(expiresAt),
    sendPolicy,
    searchWords: unchecked(orNull(searchWords)),
    approvers: approversOf(approvers),
    disabled: disable ?? (enable && false),
  });
}

/** The approvers of `--approvers`. Null, for those of the service, if it has an empty text. */
function approversOf(texts: string[] | undefined): string[] | null | undefined {
  return texts?.includes("") ? null : texts;
}

/** Null for an empty text, which clears a field. */
function orNull(text: string | undefined): string | null | undefined {
  return text === "" ? null : text;
}

/** A number, or null for an empty text. Other texts stay, so that the service names the fault. */
function numberOrNull(text: string | undefined): number | null | undefined {
  return text !== undefined && /^\d+$/.test(text) ? Number(text) : unchecked(orNull(text));
}

/** The key and the value of `key=value`; null, which removes the key, without a value. */
function entryOf(text: string): [key: string, value: string | null] {
  const at = text.indexOf("=");
  return at < 0 ? [text, null] : [text.slice(0, at), text.slice(at + 1)];
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

function whole(inbox: Schemas["Inbox"], calendar: Calendar): object {
  const { createdAt, lastMessageAt, updatedAt, expiresAt, metadata } = inbox;
  return {
    ...inbox,
    createdAt: fullTime(createdAt, calendar),
    lastMessageAt: lastMessageAt === null ? null : fullTime(lastMessageAt, calendar),
    metadata: Object.entries(metadata).map(([key, value]) => `${key}=${value}`),
    expiresAt: expiresAt === null ? null : fullTime(expiresAt, calendar),
    updatedAt: fullTime(updatedAt, calendar),
  };
}
