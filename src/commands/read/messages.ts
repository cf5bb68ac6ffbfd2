import type { Command } from "commander";
import { apiClient, ofServer, type ServerOptions } from "../api-client.ts";
import { reporting } from "../cli.ts";
import { inboxIdOf } from "../find-inbox.ts";
import { lines } from "../print.ts";
import { type Calendar, fullTime, shortTime } from "../short-time.ts";
import { tellMoreBy } from "./more.ts";
import { type Message, type Page, pathOf } from "./shapes.ts";

interface MessagesOptions extends ServerOptions {
  limit: string;
  cursor?: string;
  q?: string;
}

interface MessagesPage extends Page<Message> {
  nextCursor?: string | null;
}

export function messageCommands(program: Command): void {
  reporting(
    ofServer(program.command("messages <inbox>"))
      .description("list messages of an inbox (its id or address), newest first")
      .option("--limit <number>", "how many, 1 to 100", "50")
      .option("--cursor <cursor>", "go on where a list ended")
      .option("--q <words>", "only messages with these words"),
    async (inbox: string, { limit, cursor, q, ...server }: MessagesOptions) => {
      const api = apiClient(server);
      const id = await inboxIdOf(api, inbox);
      return api.ask<MessagesPage>("GET", pathOf("inboxes", id, "/messages"), { query: { limit, cursor, q } });
    },
    ({ data, nextCursor }, calendar) => {
      if (nextCursor) tellMoreBy(`--cursor ${nextCursor}`);
      return data.map((message) => row(message, calendar));
    },
  );
  reporting(
    ofServer(program.command("message <id>")).description("print one message: its head, files and text"),
    (id: string, server: ServerOptions) => apiClient(server).ask<Message>("GET", pathOf("messages", id)),
    wholeMessage,
  );
}

function row({ createdAt, direction, status, fromAddr, toAddr, subject, id, threadId }: Message, calendar: Calendar) {
  const other = direction === "inbound" ? fromAddr : toAddr;
  return { time: shortTime(createdAt, calendar), status, with: other, subject, id, threadId };
}

/** For a person to read. */
export function wholeMessage(message: Message, calendar: Calendar): string {
  const { fromAddr, fromName, toAddr, cc, createdAt, subject, status, failure, id, threadId, attachments } = message;
  const head = {
    time: fullTime(createdAt, calendar),
    from: fromName ? `${fromName} <${fromAddr}>` : fromAddr,
    to: toAddr,
    ...(cc.length > 0 && { cc: cc.join(", ") }),
    subject,
    ...(attachments.length > 0 && { files: filesOf(message) }),
    status: failure ? `${status}: ${failure.message}` : status,
    id,
    threadId,
  };
  return `${lines(head)}\n${textOf(message)}\n`;
}

export function filesOf({ attachments }: Message): string {
  return attachments
    .map(({ filename, contentType, sizeBytes }) => `${filename} (${contentType}, ${size(sizeBytes)})`)
    .join(", ");
}

/** Without the blank lines around it. */
export function textOf({ bodyText, truncated }: Message): string {
  const text = bodyText.replace(/^(?:[ \t]*\r?\n)+/, "").trimEnd();
  return truncated ? `${text}\n[…]` : text;
}

function size(bytes: number): string {
  if (bytes < 1_000) return `${bytes} B`;
  return bytes < 1_000_000 ? `${Math.round(bytes / 1_000)} kB` : `${(bytes / 1_000_000).toFixed(1)} MB`;
}
