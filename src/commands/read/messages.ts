import { open } from "node:fs/promises";
import { basename } from "node:path";
import { type Command, Option } from "commander";
import type { Schemas } from "../../../sdk/typescript/src/inboxd.ts";
import { verdictText } from "../../../sdk/typescript/src/verdict.ts";
import { printMoreHint, reporting } from "../cli.ts";
import { clientOf, inboxIdOf, ofServer, type ServerOptions, unchecked } from "../client.ts";
import { reasonOf, UsageError } from "../failure.ts";
import { lines, printed } from "../print.ts";
import { type Calendar, fullTime, shortTime } from "../short-time.ts";
import { print } from "../terminal.ts";
import { historyRows } from "./history.ts";
import { fullStatusOf, statusesOfCopies, statusOf } from "./status.ts";

interface MessagesOptions extends ServerOptions {
  limit: string;
  cursor?: string;
  q?: string;
  from?: string;
  to?: string;
  since?: string;
  direction?: "inbound" | "outbound";
}

interface MessageOptions extends ServerOptions {
  raw?: boolean;
  html?: boolean;
  headers?: boolean;
  history?: boolean;
}

export function messageCommands(program: Command): void {
  reporting(
    ofServer(program.command("messages <inbox>"))
      .description("list the messages of an inbox (its id or address), newest first")
      .option("--limit <number>", "the most messages to list, 1 to 100", "50")
      .option("--cursor <cursor>", "continue a list at this cursor")
      .option("--q <words>", "list only messages with these words")
      .option("--from <words>", "list only messages with these words in the sender")
      .option("--to <words>", "list only messages with these words in the recipients")
      .option("--since <time>", "list only messages since this day or instant, such as 2026-03-21")
      .addOption(
        new Option("--direction <direction>", "list only received or only sent mail").choices(["inbound", "outbound"]),
      ),
    async (inbox: string, { limit, cursor, q, from, to, since, direction, ...server }: MessagesOptions) => {
      const client = clientOf(server);
      const id = await inboxIdOf(client, inbox);
      return client.messages.list(id, { limit: unchecked(limit), cursor, q, from, to, since, direction }).page();
    },
    ({ data, nextCursor, searched }, calendar) => {
      if (nextCursor) printMoreHint(`--cursor ${nextCursor}`);
      if (searched !== undefined) printSearchedHint(searched);
      const areChecked = data.some(({ authentication }) => authentication !== null);
      return data.map((message) => row(message, calendar, areChecked));
    },
  );
  reporting(
    ofServer(program.command("message <id>"))
      .description("print one message: its head, files and text, and what became of each copy")
      .addOption(new Option("--raw", "print the mail itself, byte by byte").conflicts(["html", "headers", "json"]))
      .addOption(new Option("--html", "print its HTML as a page that is safe to open").conflicts(["headers", "json"]))
      .addOption(new Option("--headers", "print all header fields of the mail itself").conflicts("json"))
      .addOption(
        new Option("--history", "print what became of it: attempts, reports, webhooks").conflicts([
          "raw",
          "html",
          "headers",
        ]),
      ),
    part,
    (made, calendar) => {
      if (made instanceof Uint8Array) return made;
      return "data" in made ? historyRows(made, calendar) : wholeMessage(made, calendar);
    },
  );
  reporting(
    ofServer(program.command("attachment <message> <name> [file]"))
      .description("download a file of a message into a new file, by default with its own name, or to stdout (-)")
      .option("--text", "print the text of the file, also of PDF and Office documents, instead of downloading it"),
    (message: string, name: string, file: string | undefined, { text = false, ...server }: AttachmentOptions) =>
      text ? wholeText(message, name, file, server) : download(message, name, file, server),
  );
}

/** Prints on stderr which words the search did not look at. */
function printSearchedHint(searched: "head" | "off"): void {
  const found = searched === "head" ? "its subject and addresses alone" : "none of its words";
  print(`Some of this mail is found by ${found}: see searchWords of the inbox\n`, process.stderr);
}

interface AttachmentOptions extends ServerOptions {
  text?: boolean;
}

/** The message, its history, or the bytes of the part of it that is asked for. */
async function part(
  id: string,
  { raw = false, html = false, headers = false, history = false, ...server }: MessageOptions,
): Promise<Schemas["Message"] | Schemas["MessageHistory"] | Uint8Array> {
  const { messages } = clientOf(server);
  if (history) return messages.history(id);
  if (html) return new TextEncoder().encode(await messages.html(id));
  if (!raw && !headers) return messages.get(id);
  const mail = await messages.raw(id);
  return raw ? mail : headOf(mail);
}

/** The header fields of a mail, up to the empty line. */
function headOf(mail: Uint8Array<ArrayBuffer>): Uint8Array {
  const bytes = Buffer.from(mail.buffer, mail.byteOffset, mail.byteLength);
  const ends = ["\r\n\r\n", "\n\n"].flatMap((blank) => {
    const at = bytes.indexOf(blank);
    return at < 0 ? [] : [at + blank.length / 2];
  });
  return mail.subarray(0, Math.min(mail.length, ...ends));
}

async function download(
  message: string,
  name: string,
  file: string | undefined,
  server: ServerOptions,
): Promise<Uint8Array | { file: string; sizeBytes: number }> {
  const bytes = await clientOf(server).attachments.get(message, name);
  if (file === "-") return bytes;
  const path = file ?? ownName(name);
  // Never overwrites a file: a stranger chose the name.
  const made = await open(path, "wx").catch((error: unknown) => {
    throw new Error(`Cannot write ${path}: ${reasonOf(error)}`);
  });
  try {
    await made.writeFile(bytes);
  } finally {
    await made.close();
  }
  return { file: path, sizeBytes: bytes.length };
}

/** The whole text of a file, piece by piece. */
async function wholeText(
  message: string,
  name: string,
  file: string | undefined,
  server: ServerOptions,
): Promise<Uint8Array> {
  if (file !== undefined) throw new UsageError("Cannot read attachment: --text prints to stdout, so name no file");
  const { attachments } = clientOf(server);
  const pieces: string[] = [];
  for (let offset: number | null = 0; offset !== null; ) {
    const piece: Schemas["AttachmentText"] = await attachments.text(message, name, { offset });
    pieces.push(piece.text);
    offset = piece.nextOffset;
  }
  const text = pieces.join("");
  return new TextEncoder().encode(text === "" || text.endsWith("\n") ? text : `${text}\n`);
}

/** The name of an attachment as that of a file in this directory. */
function ownName(name: string): string {
  const own = basename(name);
  return own === "" || own.startsWith(".") ? `attachment${own.replace(/^\.+$/, "")}` : own;
}

function row(message: Schemas["ListedMessage"], calendar: Calendar, areChecked: boolean) {
  const { createdAt, direction, fromAddr, toAddr, subject, id, threadId, authentication } = message;
  return {
    time: shortTime(createdAt, calendar),
    status: statusOf(message),
    with: direction === "inbound" ? fromAddr : toAddr,
    ...(areChecked && { verdict: authentication?.verdict ?? "" }),
    subject,
    id,
    threadId,
  };
}

/** A message as text for a person. */
export function wholeMessage(message: Schemas["Message"], calendar: Calendar): string {
  const { fromAddr, fromName, toAddr, cc, createdAt, subject, id, threadId, attachments, recipients } = message;
  const { authentication } = message;
  const head = {
    time: fullTime(createdAt, calendar),
    from: fromName ? `${fromName} <${fromAddr}>` : fromAddr,
    to: toAddr,
    ...(cc.length > 0 && { cc: cc.join(", ") }),
    subject,
    ...(attachments.length > 0 && { files: filesOf(message) }),
    status: fullStatusOf(message),
    ...(authentication !== null && { verdict: `${authentication.verdict}: ${verdictText(authentication)}` }),
    id,
    threadId,
  };
  const copies =
    recipients.length > 1 ? `\n${printed(statusesOfCopies(recipients), false, Number.POSITIVE_INFINITY)}` : "";
  return `${lines(head)}${copies}\n${textOf(message)}\n`;
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
