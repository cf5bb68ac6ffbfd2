import { type Command, Option } from "commander";
import { oneLine } from "../../standards/text.ts";
import { apiClient, ofServer, type ServerOptions } from "../api-client.ts";
import { reporting } from "../cli.ts";
import { inboxIdOf } from "../find-inbox.ts";
import { type Calendar, fullTime, shortTime } from "../short-time.ts";
import { filesOf, textOf } from "./messages.ts";
import { tellMore } from "./more.ts";
import { type Message, type Page, pathOf } from "./shapes.ts";

interface Thread {
  id: string;
  subject: string;
  isRead: boolean;
  messageCount: number;
  lastMessageAt: string;
  participants: string[];
}

interface Conversation extends Page<Message> {
  threadId: string;
  subject: string;
  isRead: boolean;
}

interface PageOptions extends ServerOptions {
  limit: string;
  offset: string;
}

interface MarkOptions extends ServerOptions {
  upTo?: string;
  unread?: boolean;
}

interface Marked {
  id: string;
  isRead: boolean;
  /** Why it stays unread. */
  reason?: string;
}

interface ThreadsOptions extends PageOptions {
  read?: boolean;
  unread?: boolean;
}

export function threadCommands(program: Command): void {
  reporting(
    ofServer(program.command("threads <inbox>"))
      .description("list threads of an inbox (its id or address), the one with the latest message first")
      .option("--unread", "only threads with new mail")
      .addOption(new Option("--read", "only threads that are done with").conflicts("unread"))
      .option("--limit <number>", "how many, 1 to 100", "50")
      .option("--offset <number>", "how many to pass over", "0"),
    async (inbox: string, { limit, offset, read, unread, ...server }: ThreadsOptions) => {
      const api = apiClient(server);
      const id = await inboxIdOf(api, inbox);
      const isRead = read ? "true" : unread ? "false" : undefined;
      const query = { limit, offset, is_read: isRead };
      return api.ask<Page<Thread>>("GET", pathOf("inboxes", id, "/threads"), { query });
    },
    (page, calendar, inbox, { offset }) => {
      tellMore(page, offset);
      return page.data.map((thread) => row(thread, inbox, calendar));
    },
  );
  reporting(
    ofServer(program.command("thread <id>"))
      .description("print a conversation, oldest message first; it stays unread or read as it is")
      .option("--limit <number>", "how many messages, 1 to 100", "100")
      .option("--offset <number>", "how many to pass over", "0"),
    (id: string, { limit, offset, ...server }: PageOptions) =>
      apiClient(server).ask<Conversation>("GET", pathOf("threads", id, "/messages"), { query: { limit, offset } }),
    (conversation, calendar, _id, { offset }) => {
      tellMore(conversation, offset);
      return whole(conversation, calendar);
    },
  );
  reporting(
    ofServer(program.command("mark <thread>"))
      .description("mark a thread as read")
      .option(
        "--up-to <message>",
        "the last message that you have read: with newer mail behind it the thread stays unread",
      )
      .addOption(new Option("--unread", "mark it as unread").conflicts("upTo")),
    (id: string, { upTo, unread, ...server }: MarkOptions) =>
      apiClient(server).ask<Marked>("PATCH", pathOf("threads", id), {
        body: { isRead: unread !== true, upToMessageId: upTo },
      }),
    ({ id, isRead, reason }) => ({ id, isRead, ...(reason && { reason: "newer mail has come in: read it first" }) }),
  );
}

function row(
  { id, subject, isRead, messageCount, lastMessageAt, participants }: Thread,
  of: string,
  calendar: Calendar,
) {
  return {
    time: shortTime(lastMessageAt, calendar),
    flag: isRead ? "read" : "unread",
    mails: messageCount,
    with: othersOf(participants, of).join(", "),
    subject,
    id,
  };
}

/** Whose threads they are is known to who asked. */
function othersOf(participants: readonly string[], inbox: string): readonly string[] {
  const own = inbox.toLowerCase();
  const others = participants.filter((address) => address !== own && address.split("@", 1)[0] !== own);
  return others.length > 0 ? others : participants;
}

function whole({ threadId, subject, isRead, total, data }: Conversation, calendar: Calendar): string {
  const head = `${oneLine(subject) || "(no subject)"}\n${threadId}, ${isRead ? "read" : "unread"}, messages: ${total}\n`;
  return head + data.map((message) => `\n${said(message, calendar)}`).join("");
}

function said(message: Message, calendar: Calendar): string {
  const { id, createdAt, direction, status, fromAddr, toAddr, attachments } = message;
  const sent = direction === "outbound" ? `, ${status}` : "";
  const files = attachments.length > 0 ? `files: ${oneLine(filesOf(message))}\n` : "";
  const head = oneLine(`${fromAddr} → ${toAddr}, ${fullTime(createdAt, calendar)}${sent}`);
  return `${head}\n${id}\n${files}\n${indented(textOf(message))}\n`;
}

/** Apart from what stands around it, which nobody else can then have written. */
function indented(text: string): string {
  return text.replace(/^(?=.)/gm, "    ");
}
