import { type Command, Option } from "commander";
import type { Schemas } from "../../../sdk/typescript/src/inboxd.ts";
import { type Folder, folders } from "../../domain/folders.ts";
import { oneLine } from "../../standards/text.ts";
import { printMoreByOffset, printMoreHint, reporting } from "../cli.ts";
import { clientOf, inboxIdOf, ofServer, type ServerOptions, unchecked } from "../client.ts";
import { UsageError } from "../failure.ts";
import { type Calendar, fullTime, shortTime } from "../short-time.ts";
import { filesOf, textOf } from "./messages.ts";
import { statusOf } from "./status.ts";

interface PageOptions extends ServerOptions {
  limit: string;
  offset: string;
}

interface MarkOptions extends ServerOptions {
  upTo?: string;
  unread?: boolean;
}

interface ListOptions extends ServerOptions {
  read?: boolean;
  unread?: boolean;
  folder?: Folder | "all";
  label?: string;
  limit: string;
  cursor?: string;
}

interface FileOptions extends ServerOptions {
  upTo?: string;
}

interface LabelOptions extends ServerOptions {
  remove?: boolean;
}

export function threadCommands(program: Command): void {
  const threads = program.command("threads").description("list, file and label threads");
  reporting(
    ofServer(threads.command("list <inbox>"))
      .description("list the threads of an inbox (its id or address), latest message first")
      .option("--unread", "list only unread threads")
      .addOption(new Option("--read", "list only read threads").conflicts("unread"))
      .addOption(new Option("--folder <folder>", "list this folder (default: inbox)").choices([...folders, "all"]))
      .addOption(new Option("--label <label>", "list the threads with this label").conflicts("folder"))
      .option("--limit <number>", "the most threads to list, 1 to 100", "50")
      .option("--cursor <cursor>", "continue a list at this cursor"),
    async (inbox: string, { limit, cursor, folder, label, read, unread, ...server }: ListOptions) => {
      const client = clientOf(server);
      const id = await inboxIdOf(client, inbox);
      const isRead = read ? true : unread ? false : undefined;
      return client.threads.list(id, { limit: unchecked(limit), cursor, folder, label, is_read: isRead }).page();
    },
    ({ data, nextCursor }, calendar, inbox) => {
      if (nextCursor !== null) printMoreHint(`--cursor ${nextCursor}`);
      return data.map((thread) => row(thread, inbox, calendar));
    },
  );
  const filing: [name: string, folder: Folder, description: string][] = [
    ["archive", "archive", "put threads into the archive, as read"],
    ["trash", "trash", "put threads into the trash, as read: they are removed after TRASH_DAYS"],
    ["restore", "inbox", "put threads back into the inbox"],
  ];
  for (const [name, folder, description] of filing) {
    const command = ofServer(threads.command(`${name} <threads...>`)).description(description);
    if (folder !== "inbox") command.option("--up-to <message>", `${upToWords}, in the inbox; for one thread`);
    reporting(
      command,
      (ids: string[], { upTo, ...server }: FileOptions) => {
        if (upTo !== undefined && ids.length > 1)
          throw new UsageError(`Cannot ${name} threads: --up-to is for one thread`);
        return changed(server, ids, { folder, ...(upTo !== undefined && { up_to_message_id: upTo }) });
      },
      ({ data }) => data.map(filed),
    );
  }
  reporting(
    ofServer(threads.command("label <thread> <labels...>"))
      .description("add labels to a thread, or remove them")
      .option("--remove", "remove the labels"),
    (id: string, labels: string[], { remove, ...server }: LabelOptions) =>
      changed(server, [id], remove ? { remove_labels: labels } : { add_labels: labels }),
    ({ data }) => data.map(filed),
  );
  reporting(
    ofServer(threads.command("labels <inbox>")).description("list the labels of an inbox (its id or address)"),
    async (inbox: string, server: ServerOptions) => {
      const client = clientOf(server);
      return client.threads.labels(await inboxIdOf(client, inbox));
    },
    ({ data }) =>
      data.map(({ label, threadCount, unreadCount }) => ({ label, threads: threadCount, unread: unreadCount })),
  );
  reporting(
    ofServer(program.command("thread <id>"))
      .description("print a thread, oldest message first; does not mark it as read")
      .option("--limit <number>", "the most messages to print, 1 to 100", "100")
      .option("--offset <number>", "the number of messages to skip", "0"),
    (id: string, { limit, offset, ...server }: PageOptions) =>
      clientOf(server)
        .threads.messages(id, { limit: unchecked(limit), offset: unchecked(offset) })
        .page(),
    (thread, calendar, _id, { offset }) => {
      printMoreByOffset(thread, offset);
      return whole(thread, calendar);
    },
  );
  reporting(
    ofServer(program.command("mark <thread>"))
      .description("mark a thread as read")
      .option("--up-to <message>", upToWords)
      .addOption(new Option("--unread", "mark it as unread").conflicts("upTo")),
    (id: string, { upTo, unread, ...server }: MarkOptions) =>
      clientOf(server).threads.change(id, { is_read: unread !== true, up_to_message_id: upTo }),
    ({ id, isRead, reason }) => ({ id, isRead, ...(reason && { reason: newerMail }) }),
  );
  reporting(
    ofServer(program.command("delete <id>")).description(
      "delete a message, or a thread with all its messages, for good",
    ),
    async (id: string, server: ServerOptions) => {
      const { messages, threads } = clientOf(server);
      await (id.startsWith("thr_") ? threads : messages).delete(id);
      return { deleted: id };
    },
  );
}

const upToWords = "id of the last message that you have read: the thread stays unread if newer mail has arrived";

/** Changes threads one after the other, which may be of different inboxes. */
async function changed(server: ServerOptions, ids: readonly string[], change: Schemas["ThreadChange"]) {
  const client = clientOf(server);
  const data: Schemas["ChangedThread"][] = [];
  for (const id of ids) data.push(await client.threads.change(id, change));
  return { data };
}

function filed({ id, folder, isRead, labels, reason }: Schemas["ChangedThread"]) {
  const flag = isRead ? "read" : "unread";
  return { folder, flag, labels: labels.join(", "), id, ...(reason && { reason: newerMail }) };
}

const newerMail = "newer mail has arrived: read it first";

function row(thread: Schemas["Thread"], inbox: string, calendar: Calendar) {
  const { id, subject, isRead, messageCount, lastMessageAt, participants, folder, labels } = thread;
  return {
    time: shortTime(lastMessageAt, calendar),
    flag: isRead ? "read" : "unread",
    ...(folder !== "inbox" && { folder }),
    mails: messageCount,
    with: othersOf(participants, inbox).join(", "),
    subject,
    ...(labels.length > 0 && { labels: labels.join(", ") }),
    id,
  };
}

/** The participants without the inbox itself. */
function othersOf(participants: readonly string[], inbox: string): readonly string[] {
  const own = inbox.toLowerCase();
  const others = participants.filter((address) => address !== own && address.split("@", 1)[0] !== own);
  return others.length > 0 ? others : participants;
}

function whole({ threadId, subject, isRead, total, data }: Schemas["ThreadMessages"], calendar: Calendar): string {
  const head = `${oneLine(subject) || "(no subject)"}\n${threadId}, ${isRead ? "read" : "unread"}, messages: ${total}\n`;
  return head + data.map((message) => `\n${shownMessage(message, calendar)}`).join("");
}

function shownMessage(message: Schemas["ListedMessage"], calendar: Calendar): string {
  const { id, createdAt, direction, fromAddr, toAddr, attachments } = message;
  const sent = direction === "outbound" ? `, ${statusOf(message)}` : "";
  const files = attachments.length > 0 ? `files: ${oneLine(filesOf(message))}\n` : "";
  const head = oneLine(`${fromAddr} → ${toAddr}, ${fullTime(createdAt, calendar)}${sent}`);
  return `${head}\n${id}\n${files}\n${indented(textOf(message))}\n`;
}

/** Indents a stranger's text, so that it cannot look like the head of another message. */
function indented(text: string): string {
  return text.replace(/^(?=.)/gm, "    ");
}
