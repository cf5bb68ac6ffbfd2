import { type Command, Option } from "commander";
import type { Schemas } from "../../../sdk/typescript/src/inboxd.ts";
import { oneLine } from "../../standards/text.ts";
import { printMoreByOffset, reporting } from "../cli.ts";
import { clientOf, inboxIdOf, ofServer, type ServerOptions, unchecked } from "../client.ts";
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

interface ThreadsOptions extends PageOptions {
  read?: boolean;
  unread?: boolean;
}

export function threadCommands(program: Command): void {
  reporting(
    ofServer(program.command("threads <inbox>"))
      .description("list the threads of an inbox (its id or address), latest message first")
      .option("--unread", "list only unread threads")
      .addOption(new Option("--read", "list only read threads").conflicts("unread"))
      .option("--limit <number>", "the most threads to list, 1 to 100", "50")
      .option("--offset <number>", "the number of threads to skip", "0"),
    async (inbox: string, { limit, offset, read, unread, ...server }: ThreadsOptions) => {
      const client = clientOf(server);
      const id = await inboxIdOf(client, inbox);
      const isRead = read ? true : unread ? false : undefined;
      const query = { limit: unchecked(limit), offset: unchecked(offset), is_read: isRead };
      return client.threads.list(id, query).page();
    },
    (page, calendar, inbox, { offset }) => {
      printMoreByOffset(page, offset);
      return page.data.map((thread) => row(thread, inbox, calendar));
    },
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
      .option(
        "--up-to <message>",
        "id of the last message that you have read: the thread stays unread if newer mail has arrived",
      )
      .addOption(new Option("--unread", "mark it as unread").conflicts("upTo")),
    (id: string, { upTo, unread, ...server }: MarkOptions) =>
      clientOf(server).threads.change(id, { is_read: unread !== true, up_to_message_id: upTo }),
    ({ id, isRead, reason }) => ({ id, isRead, ...(reason && { reason: "newer mail has arrived: read it first" }) }),
  );
}

function row(thread: Schemas["Thread"], inbox: string, calendar: Calendar) {
  const { id, subject, isRead, messageCount, lastMessageAt, participants } = thread;
  return {
    time: shortTime(lastMessageAt, calendar),
    flag: isRead ? "read" : "unread",
    mails: messageCount,
    with: othersOf(participants, inbox).join(", "),
    subject,
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
