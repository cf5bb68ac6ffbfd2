import type { Command } from "commander";
import type { Schemas } from "../../../sdk/typescript/src/inboxd.ts";
import { printMoreHint, reporting } from "../cli.ts";
import { clientOf, inboxIdOf, ofServer, type ServerOptions, unchecked } from "../client.ts";
import { lines } from "../print.ts";
import { type Calendar, fullTime, shortTime } from "../short-time.ts";

interface MessagesOptions extends ServerOptions {
  limit: string;
  cursor?: string;
  q?: string;
}

export function messageCommands(program: Command): void {
  reporting(
    ofServer(program.command("messages <inbox>"))
      .description("list the messages of an inbox (its id or address), newest first")
      .option("--limit <number>", "the most messages to list, 1 to 100", "50")
      .option("--cursor <cursor>", "continue a list at this cursor")
      .option("--q <words>", "list only messages with these words"),
    async (inbox: string, { limit, cursor, q, ...server }: MessagesOptions) => {
      const client = clientOf(server);
      const id = await inboxIdOf(client, inbox);
      return client.messages.list(id, { limit: unchecked(limit), cursor, q }).page();
    },
    ({ data, nextCursor }, calendar) => {
      if (nextCursor) printMoreHint(`--cursor ${nextCursor}`);
      return data.map((message) => row(message, calendar));
    },
  );
  reporting(
    ofServer(program.command("message <id>")).description("print one message: its head, files and text"),
    (id: string, server: ServerOptions) => clientOf(server).messages.get(id),
    wholeMessage,
  );
}

function row(message: Schemas["ListedMessage"], calendar: Calendar) {
  const { createdAt, direction, status, fromAddr, toAddr, subject, id, threadId } = message;
  const other = direction === "inbound" ? fromAddr : toAddr;
  return { time: shortTime(createdAt, calendar), status, with: other, subject, id, threadId };
}

/** A message as text for a person. */
export function wholeMessage(message: Schemas["Message"], calendar: Calendar): string {
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

export function filesOf({ attachments }: Pick<Schemas["Message"], "attachments">): string {
  return attachments
    .map(({ filename, contentType, sizeBytes }) => `${filename} (${contentType}, ${size(sizeBytes)})`)
    .join(", ");
}

/** The text without the blank lines around it. */
export function textOf({ bodyText, truncated }: Pick<Schemas["Message"], "bodyText" | "truncated">): string {
  const text = bodyText.replace(/^(?:[ \t]*\r?\n)+/, "").trimEnd();
  return truncated ? `${text}\n[…]` : text;
}

function size(bytes: number): string {
  if (bytes < 1_000) return `${bytes} B`;
  return bytes < 1_000_000 ? `${Math.round(bytes / 1_000)} kB` : `${(bytes / 1_000_000).toFixed(1)} MB`;
}
