import { isAscii } from "node:buffer";
import { join } from "node:path";
import type { DocumentFile, ReadDocument } from "../../domain/document.ts";
import type { Mailbox, ParsedAttachment, ParsedMail } from "../../domain/message.ts";
import { isCompiled } from "../../primitives/compiled.ts";
import { contentOf } from "../../standards/digest.ts";
import { storedNames } from "../../standards/filename.ts";
import { bareMessageId, contentMessageId, messageIdsOf } from "../../standards/message-id.ts";
import { cleanText, oneLine, truncateCodePoints, withoutControls } from "../../standards/text.ts";
import type { MailReading } from "../authenticate/read-mail.ts";
import { textOfSeenHtml } from "../html/seen-html.ts";
import { markdownReader } from "../write/html-of-markdown.ts";
import type { Named } from "./addresses.ts";
import { type Bodies, bodiesOf } from "./bodies.ts";
import { firstCharset } from "./charset.ts";
import { decodeWords } from "./encoded-words.ts";
import { fastHead, type Listed } from "./fast-head.ts";
import { headLimits, readHead } from "./head.ts";
import { type Outline, outlineOf } from "./outline.ts";
import { fileNameOf, isFile, type Part } from "./part.ts";
import { processPool, type QueueEntry } from "./process-pool.ts";
import { withReportType } from "./signs.ts";
import { parameterOf, type StructuredValue } from "./structured.ts";
import { decodeTransfer } from "./transfer-encoding.ts";

export interface ParseOptions {
  /** The domain of the Message-ID that we make for a mail without one. */
  mailDomain: string;
}

export interface MailParser {
  /** Parses a mail. It never rejects: if the mail cannot be read in time, the result has only its header. */
  parse(raw: Uint8Array): Promise<ParsedMail>;
  /** Parses a mail that can wait. The result is undefined if no process was free for it, which says nothing about the mail. */
  parseQueued(raw: Uint8Array, entry: QueueEntry): Promise<ParsedMail | undefined>;
  /** Reads what the authentication of a heavy mail needs. The result is undefined if that takes too long, or if no process is free in time. */
  readSignatures(raw: Uint8Array, entry: QueueEntry): Promise<MailReading | undefined>;
  /** Converts Markdown to HTML. The result is undefined if that takes too long. `sender` is the owner of the text. */
  htmlOfMarkdown(text: string, sender: string): Promise<string | undefined>;
  close(): void;
}

export interface MailParserOptions extends ParseOptions {
  timeoutMs?: number;
  queueMs?: number;
  processes?: number;
  mostBytes?: number;
  /** The program of the parser process and its arguments. */
  command?: readonly string[];
  onFault?: (fault: string) => void;
}

/** A job of the parser process: to read a mail or its signatures, to convert Markdown to HTML, or to read the text of a document. */
export type ParserJob =
  | { raw: Uint8Array; options: ParseOptions }
  | { signed: Uint8Array }
  | { markdown: string }
  | DocumentJob;
/** The result of a job, undefined if it failed. */
export type ParserResult =
  | { mail: ParsedMail | undefined }
  | { reading: MailReading | undefined }
  | { html: string | undefined }
  | DocumentResult;
export type DocumentJob = { document: DocumentFile };
export type DocumentResult = { text: ReadDocument | undefined };
type ParseResult = ParsedMail | undefined;

/**
 * The parser of the service. It parses ordinary mail in this process. Large and suspicious mail goes to a separate process, which is killed
 * after `timeoutMs` of work, because 25 MB of delimiters or line feeds would block everything else for seconds.
 */
export function mailParser(options: MailParserOptions): MailParser {
  const { mailDomain } = options;
  const pool = processPool<ParserJob, ParserResult>({
    command: options.command ?? parserCommand(),
    size: options.processes ?? 2,
    timeoutMs: options.timeoutMs ?? 2000,
    queueMs: options.queueMs ?? 5000,
    mostBytes: options.mostBytes ?? 1 << 30,
    idleMs: 60_000,
    onFault: options.onFault,
  });

  async function parseHere(raw: Uint8Array): Promise<ParseResult> {
    if (raw.length > ordinary.bytes) return undefined;
    const outline = outlineOf(asBuffer(raw));
    return isOrdinary(outline) ? parseOutlined(asBuffer(raw), outline, { mailDomain }) : undefined;
  }

  async function parseApart(raw: Uint8Array, entry: QueueEntry): Promise<ParseResult> {
    // Copies the bytes, since sending a view sends its whole buffer, which may be much larger.
    const outcome = await pool.run(() => ({ raw: new Uint8Array(raw), options: { mailDomain } }), entry);
    if (outcome.kind === "unserved") return undefined;
    const mail = outcome.kind === "done" && "mail" in outcome.result ? outcome.result.mail : undefined;
    return mail ?? parseHead(raw, { mailDomain });
  }

  async function parseQueued(raw: Uint8Array, entry: QueueEntry): Promise<ParseResult> {
    return (await parseHere(raw).catch(() => undefined)) ?? parseApart(raw, entry);
  }

  return {
    async parse(raw) {
      return (await parseQueued(raw, { sender: "" })) ?? parseHead(raw, { mailDomain });
    },
    parseQueued,
    async readSignatures(raw, entry) {
      const outcome = await pool.run(() => ({ signed: new Uint8Array(raw) }), entry);
      return outcome.kind === "done" && "reading" in outcome.result ? outcome.result.reading : undefined;
    },
    htmlOfMarkdown: markdownReader(async (markdown, sender) => {
      const outcome = await pool.run(() => ({ markdown }), { sender });
      if (outcome.kind !== "done") return outcome;
      return { kind: "done", result: "html" in outcome.result ? outcome.result.html : undefined };
    }),
    close: pool.close,
  };
}

/** The limits of mail that is parsed on the main thread. The worst such mail takes about ten milliseconds. */
const ordinary = {
  bytes: 256 * 1024,
  headerBytes: 32 * 1024,
  parts: 100,
  dashLines: 2000,
  lines: 8000,
  htmlBytes: 48 * 1024,
};

function isOrdinary(outline: Outline): boolean {
  if (outline.parts.length > ordinary.parts || outline.headerBytes > ordinary.headerBytes) return false;
  if (outline.dashLines > ordinary.dashLines || outline.lines > ordinary.lines) return false;
  // Converting hostile HTML to text costs ten times as much as any other part.
  const html = outline.parts.filter((part) => part.role === "html");
  return html.reduce((bytes, part) => bytes + part.bodyEnd - part.bodyStart, 0) <= ordinary.htmlBytes;
}

/** The command of the parser process: the binary itself (binary.ts), or a program from source. */
export function parserCommand(): string[] {
  return [process.execPath, isCompiled ? "parse-mail" : join(import.meta.dir, "parse-process.ts")];
}

/** Parses a mail in this process without a time limit. It rejects if the mail cannot be read. */
export async function parseMail(raw: Uint8Array, options: ParseOptions): Promise<ParsedMail> {
  const bytes = asBuffer(raw);
  return parseOutlined(bytes, outlineOf(bytes), options);
}

async function parseOutlined(raw: Buffer, outline: Outline, options: ParseOptions): Promise<ParsedMail> {
  const { parts } = outline;
  const head = headOf(raw, parts);
  const bodies = bodiesOf(raw, parts);
  const files = parts.filter(isFile);
  const attachments = attachmentsOf(raw, parts, files.slice(0, maxAttachments));
  const whole = outline.whole && head.whole && bodies.whole && files.length <= maxAttachments;
  return toParsedMail({ head: head.listed, type: parts[0]?.declaredType, bodies, attachments, whole }, raw, options);
}

function headOf(raw: Buffer, parts: readonly Part[]): { listed: Listed; whole: boolean } {
  const block = raw.subarray(parts[0]?.headStart, parts[0]?.headEnd);
  const isShort = block.length <= headLimits.fieldBytes && isAscii(block);
  const listed = isShort ? fastHead(block.toString("latin1")) : undefined;
  return listed === undefined ? readHead(block, charsetsOf(parts)) : { listed, whole: true };
}

function charsetsOf(parts: readonly Part[]): (string | undefined)[] {
  return parts.map(({ type }) => parameterOf(type, "charset"));
}

/** Reads only the beginning of the header, for a mail that could not be parsed. */
export async function parseHead(raw: Uint8Array, options: ParseOptions): Promise<ParsedMail> {
  const block = asBuffer(raw).subarray(0, 64 * 1024);
  const { parts } = outlineOf(block);
  const limits = { blockBytes: 32 * 1024, fieldBytes: 8 * 1024 };
  const head = readHead(block.subarray(parts[0]?.headStart, parts[0]?.headEnd), charsetsOf(parts), limits).listed;
  const read = { head, type: parts[0]?.declaredType, bodies: noBodies, attachments: [], whole: false };
  return toParsedMail(read, raw, options);
}

const noBodies: Bodies = { text: undefined, html: undefined, whole: false };

interface Read {
  head: Listed;
  type: StructuredValue | undefined;
  bodies: Bodies;
  attachments: ParsedAttachment[];
  whole: boolean;
}

/** The limit on the text and on the HTML. Only a file as text, or HTML with embedded images, is longer. The raw mail is kept whole. */
const maxBodyLength = 2 * 1024 * 1024;

/** The limit on attachments, so that a mail with 20,000 parts does not become 20,000 rows. The raw mail is kept whole. */
const maxAttachments = 1000;

/** Longer addresses are dropped. A path in SMTP is shorter (RFC 5321 §4.5.3.1.3), also with SMTPUTF8. */
const maxAddressLength = 512;
const maxNameLength = 998;

function toParsedMail(
  { head, type, bodies, attachments, whole }: Read,
  raw: Uint8Array,
  options: ParseOptions,
): ParsedMail {
  const messageId = head.messageId === undefined ? undefined : bareMessageId(head.messageId);
  let complete = whole;

  function within(length: number, text: string): string {
    const kept = truncateCodePoints(text, length);
    complete &&= kept.length === text.length;
    return kept;
  }

  /** The mailboxes whose address is neither empty nor too long. */
  function mailboxesOf(entries: readonly Named[]): Mailbox[] {
    return entries.flatMap((entry) => {
      const address = oneLine(entry.address);
      if (address === "" || address.length > maxAddressLength) return [];
      const name = within(maxNameLength, oneLine(entry.name));
      return [name === "" ? { address } : { address, name }];
    });
  }

  const bodyHtml = bodies.html === undefined ? undefined : within(maxBodyLength, cleanText(bodies.html));
  const written = cleanText(bodies.text ?? "");
  // Some senders write a blank text beside the HTML. The text is then made from the HTML.
  const text = bodyHtml !== undefined && withoutControls(written).trim() === "" ? textOfSeenHtml(bodyHtml) : written;
  const replyTos = mailboxesOf(head.replyTo).map(({ address }) => address);
  // Only an address with a host can be answered.
  const replyTo = replyTos.find((address) => address.includes("@"));
  return {
    messageId: messageId ?? contentMessageId(contentOf(raw), options.mailDomain),
    inReplyTo: messageIdsOf(head.inReplyTo ?? ""),
    references: messageIdsOf(head.references ?? ""),
    from: mailboxesOf(head.from === undefined ? [] : [head.from])[0],
    replyTo,
    replyTos: replyTo !== undefined && replyTos.length > 1 ? replyTos : undefined,
    to: mailboxesOf(head.to),
    cc: mailboxesOf(head.cc),
    subject: oneLine(head.subject ?? ""),
    bodyText: within(maxBodyLength, withoutControls(text)),
    bodyHtml,
    attachments,
    signs: withReportType(head.signs, type),
    complete,
  };
}

function attachmentsOf(raw: Buffer, parts: readonly Part[], files: readonly Part[]): ParsedAttachment[] {
  if (files.length === 0) return [];
  const rawCharset = firstCharset(charsetsOf(parts));
  const named = files.map((part) => ({
    filename: fileNameOf(part, rawCharset),
    contentType: contentTypeOf(part.type.value),
  }));
  const names = storedNames(named);
  return files.map((part, index) => {
    const contentId = contentIdOf(part.contentId, rawCharset);
    return {
      filename: names[index] ?? "",
      contentType: named[index]?.contentType ?? "",
      contentId,
      inline: isInline(part, contentId),
      bytes: decodeTransfer(raw.subarray(part.bodyStart, part.bodyEnd), part.encoding),
    };
  });
}

/** True for an inline part. Without a disposition, a part with a Content-ID counts, since the HTML can show it (RFC 2387). */
function isInline({ role, disposition }: Part, contentId: string | undefined): boolean {
  if (role === "inline_file" || disposition.value === "inline") return true;
  return disposition.value !== "attachment" && contentId !== undefined;
}

/** The content type if it is valid (RFC 6838 §4.2), otherwise application/octet-stream. */
function contentTypeOf(type: string): string {
  return /^[a-z0-9][a-z0-9!#$&^_.+-]{0,126}\/[a-z0-9][a-z0-9!#$&^_.+-]{0,126}$/.test(type)
    ? type
    : "application/octet-stream";
}

function contentIdOf(field: string | undefined, rawCharset: string | undefined): string | undefined {
  const id = oneLine(decodeWords(field ?? "", rawCharset)).replace(/^<|>$/g, "");
  return id === "" ? undefined : truncateCodePoints(id, maxNameLength);
}

/** A Buffer over the same memory, for the search functions of Buffer. */
function asBuffer(raw: Uint8Array): Buffer {
  return Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength);
}
