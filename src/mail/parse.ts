import { isAscii } from "node:buffer";
import PostalMime, { type Address, type Attachment, type Email } from "postal-mime";
import { contentOf } from "../domain/digest.ts";
import { storedNames } from "../domain/filename.ts";
import type { Mailbox, ParsedAttachment, ParsedMail } from "../domain/message.ts";
import { bareMessageId, contentMessageId, messageIdsOf } from "../domain/message-id.ts";
import { cleanText, oneLine, truncateCodePoints } from "../domain/text.ts";
import { headLimits, readableHead } from "./head.ts";
import { textOfHtml } from "./html.ts";
import { type Listed, plainHead } from "./plain-head.ts";
import { type Outline, outlineOf } from "./prescan.ts";
import { type Skeleton, skeletonOf } from "./skeleton.ts";
import { workerPool } from "./worker-pool.ts";

export interface ParseOptions {
  /** Stands in the Message-ID of a mail that brings none. */
  mailDomain: string;
}

export interface MailParser {
  /** What the mail says. Never rejects: of a mail that cannot be read in time it says what its head says. */
  parse(raw: Uint8Array): Promise<ParsedMail>;
  close(): void;
}

export interface MailParserOptions extends ParseOptions {
  timeoutMs?: number;
  queueMs?: number;
  workers?: number;
  workerUrl?: string | URL;
  onFault?: (fault: string) => void;
}

export type ParseJob = { raw: Uint8Array; options: ParseOptions };
export type ParseResult = ParsedMail | undefined;

/**
 * The parser of the service. Ordinary mail is parsed where it came in; big and suspicious mail in a Worker that is
 * ended after `timeoutMs`, because 25 MB of delimiters or line feeds would hold up everything else for seconds.
 */
export function mailParser(options: MailParserOptions): MailParser {
  const { mailDomain } = options;
  const pool = workerPool<ParseJob, ParseResult>({
    url: options.workerUrl ?? workerUrl(),
    size: options.workers ?? 2,
    timeoutMs: options.timeoutMs ?? 2000,
    queueMs: options.queueMs ?? 30_000,
    onFault: options.onFault,
  });

  async function parseHere(raw: Uint8Array): Promise<ParseResult> {
    if (raw.length > ordinary.bytes) return undefined;
    const outline = outlineOf(asBuffer(raw));
    return isOrdinary(outline) ? parseOutlined(asBuffer(raw), outline, { mailDomain }) : undefined;
  }

  function parseApart(raw: Uint8Array): Promise<ParseResult> {
    return pool.run(() => {
      // A copy, since the caller still stores the raw source; of the view alone, since it may be a slice of much more.
      const copy = new Uint8Array(raw);
      return { message: { raw: copy, options: { mailDomain } }, transfer: [copy.buffer] };
    });
  }

  return {
    async parse(raw) {
      const mail = (await parseHere(raw).catch(() => undefined)) ?? (await parseApart(raw));
      return mail ?? parseHead(raw, { mailDomain });
    },
    close: pool.close,
  };
}

/** What may be parsed on the main thread: mail of which the worst takes some ten milliseconds. */
const ordinary = {
  bytes: 256 * 1024,
  headerBytes: 32 * 1024,
  parts: 100,
  dashLines: 2000,
  lines: 8000,
  htmlBytes: 48 * 1024,
};

function isOrdinary(outline: Outline): boolean {
  if (outline.odd || outline.parts.length > ordinary.parts || outline.headerBytes > ordinary.headerBytes) return false;
  if (outline.dashLines > ordinary.dashLines || outline.lines > ordinary.lines) return false;
  // Making text of hostile HTML costs ten times what any other part costs.
  const html = outline.parts.filter((part) => part.role === "html");
  return html.reduce((bytes, part) => bytes + part.bodyEnd - part.bodyStart, 0) <= ordinary.htmlBytes;
}

/** In the binary the sources lie under a root of their own, counted from the folder of the entries: src. */
function workerUrl(): URL {
  const compiled = import.meta.url.includes("/$bunfs/");
  return new URL(compiled ? "./mail/parse-worker.ts" : "./parse-worker.ts", import.meta.url);
}

/** What a mail says, read here and now, however long it takes. Rejects where the parser cannot read it at all. */
export async function parseMail(raw: Uint8Array, options: ParseOptions): Promise<ParsedMail> {
  const bytes = asBuffer(raw);
  return parseOutlined(bytes, outlineOf(bytes), options);
}

async function parseOutlined(raw: Buffer, outline: Outline, options: ParseOptions): Promise<ParsedMail> {
  const plain = await parsePlain(raw, outline, options);
  if (plain !== undefined) return plain;
  const skeleton = skeletonOf(raw, outline, true);
  const email = await readWith(skeleton.bytes);
  const restored = restoreAttachments(email, skeleton);
  if (restored !== undefined) return toParsedMail(email, restored, raw, options, skeleton.whole);
  // The parser saw other attachments than the outline did: then its reading counts, bodies and all.
  const full = skeletonOf(raw, outline, false);
  const fullEmail = await readWith(full.bytes);
  return toParsedMail(fullEmail, fullEmail.attachments.map(ownAttachment), raw, options, full.whole);
}

/**
 * A mail that is plain text and nothing else, as a machine writes it. The parser goes over a body line by line, which
 * is half of its time: here it gets the head alone, if that, and the lines are put right at once.
 */
async function parsePlain(raw: Buffer, outline: Outline, options: ParseOptions): Promise<ParsedMail | undefined> {
  const [part, ...others] = outline.parts;
  if (part === undefined || others.length > 0 || part.isPlain !== true || part.role !== "text") return undefined;
  const body = raw.subarray(part.bodyStart, outline.end);
  if (!isAscii(body)) return undefined;
  const text = body.toString("latin1").replaceAll("\r\n", "\n");
  // A CR by itself is the parser's: what it makes of one depends on where it stands.
  if (text.includes("\r")) return undefined;
  const listed = part.override === undefined ? plainHeadOf(raw.subarray(part.headStart, part.headEnd)) : undefined;
  if (listed !== undefined) return toParsedMail({ ...listed, text }, [], raw, options, outline.whole);
  const skeleton = skeletonOf(raw, { ...outline, end: part.bodyStart }, false);
  const email = await readWith(skeleton.bytes);
  if (email.attachments.length > 0 || email.html !== undefined) return undefined;
  return toParsedMail({ ...email, text }, [], raw, options, skeleton.whole);
}

function plainHeadOf(block: Buffer): Listed | undefined {
  return block.length <= headLimits.fieldBytes && isAscii(block) ? plainHead(block.toString("latin1")) : undefined;
}

/** What the beginning of the head says: all that is known of a mail that could not be parsed. */
export async function parseHead(raw: Uint8Array, options: ParseOptions): Promise<ParsedMail> {
  const block = asBuffer(raw).subarray(0, 64 * 1024);
  const { parts } = outlineOf(block);
  const head = readableHead(block.subarray(0, parts[0]?.headEnd), { blockBytes: 32 * 1024, fieldBytes: 8 * 1024 });
  const email: Email = await readWith(head.bytes).catch(() => ({ headers: [], headerLines: [], attachments: [] }));
  const { text: _text, html: _html, ...listed } = email;
  return toParsedMail(listed, [], raw, options, false);
}

function readWith(bytes: Uint8Array): Promise<Email> {
  // The limits are the outline's; these only end what the outline could not see.
  return PostalMime.parse(bytes, { forceRfc822Attachments: true, maxNestingDepth: 64, maxHeadersSize: 1024 * 1024 });
}

interface Restored {
  attachment: Attachment;
  bytes: Uint8Array;
  inline: boolean;
}

/** The parser's attachments with their bodies back in; `undefined` unless every body found its place. */
function restoreAttachments(email: Email, { bodies }: Skeleton): Restored[] | undefined {
  let found = 0;
  const restored = email.attachments.map((attachment) => {
    const own = ownAttachment(attachment);
    if (own.bytes.length > 64) return own;
    const body = bodies.get(Buffer.from(own.bytes).toString("latin1").trimEnd());
    if (body === undefined) return own;
    found++;
    return { attachment, bytes: body.bytes, inline: own.inline || body.part.role === "inline_file" };
  });
  return found === bodies.size ? restored : undefined;
}

function ownAttachment(attachment: Attachment): Restored {
  const { content, disposition, contentId, related } = attachment;
  const bytes = typeof content === "string" ? Buffer.from(content) : new Uint8Array(content);
  // Without a disposition, what the HTML can point at by its Content-ID stands in the text (RFC 2387).
  const inline =
    disposition === "inline" || (disposition !== "attachment" && (contentId !== undefined || related === true));
  return { attachment, bytes, inline };
}

/** Text beyond this is a file, and HTML beyond this images written out in it: the raw mail has it whole. */
const maxBodyLength = 2 * 1024 * 1024;

/** A mail of 20,000 parts is kept raw, but not as 20,000 rows. */
const maxAttachments = 1000;

function toParsedMail(
  email: Pick<Email, keyof Listed | "text" | "html">,
  restored: readonly Restored[],
  raw: Uint8Array,
  options: ParseOptions,
  whole: boolean,
): ParsedMail {
  const messageId = email.messageId === undefined ? undefined : bareMessageId(email.messageId);
  const bodyHtml = email.html === undefined ? undefined : bodyOf(email.html);
  const bodyText = bodyOf(email.text ?? "");
  return {
    messageId: messageId ?? contentMessageId(contentOf(raw), options.mailDomain),
    inReplyTo: messageIdsOf(email.inReplyTo ?? ""),
    references: messageIdsOf(email.references ?? ""),
    from: mailboxesOf(email.from === undefined ? [] : [email.from])[0],
    replyTo: mailboxesOf(email.replyTo ?? [])[0]?.address,
    to: mailboxesOf(email.to ?? []),
    cc: mailboxesOf(email.cc ?? []),
    subject: oneLine(email.subject ?? ""),
    // Some senders leave the text alternative blank.
    bodyText:
      bodyHtml !== undefined && bodyText.trim() === ""
        ? truncateCodePoints(textOfHtml(bodyHtml), maxBodyLength)
        : bodyText,
    bodyHtml,
    attachments: attachmentsOf(restored.slice(0, maxAttachments)),
    complete: whole && restored.length <= maxAttachments,
  };
}

/** The line break at the end is the parser's, or the delimiter's. */
function bodyOf(text: string): string {
  return truncateCodePoints(cleanText(text.endsWith("\n") ? text.slice(0, -1) : text), maxBodyLength);
}

function attachmentsOf(restored: readonly Restored[]): ParsedAttachment[] {
  const named = restored.map(({ attachment }) => ({
    filename: attachment.filename ?? undefined,
    contentType: contentTypeOf(attachment.mimeType),
  }));
  const names = storedNames(named);
  return restored.map(({ attachment, bytes, inline }, index) => ({
    filename: names[index] ?? "",
    contentType: named[index]?.contentType ?? "",
    contentId: contentIdOf(attachment.contentId),
    inline,
    bytes,
  }));
}

/** RFC 6838 §4.2; what is no type is bytes. */
function contentTypeOf(mimeType: string): string {
  const type = mimeType.toLowerCase();
  return /^[a-z0-9][a-z0-9!#$&^_.+-]{0,126}\/[a-z0-9][a-z0-9!#$&^_.+-]{0,126}$/.test(type)
    ? type
    : "application/octet-stream";
}

function contentIdOf(header: string | undefined): string | undefined {
  const id = oneLine(header ?? "").replace(/^<|>$/g, "");
  return id === "" ? undefined : truncateCodePoints(id, 998);
}

/** Mailboxes in their order, groups (RFC 5322 §3.4) flattened, entries without an address left out. */
function mailboxesOf(addresses: readonly Address[]): Mailbox[] {
  return addresses.flatMap((entry) => entry.group ?? [entry]).flatMap(mailboxOf);
}

function mailboxOf(entry: { address?: string | undefined; name: string }): Mailbox[] {
  const address = oneLine(entry.address ?? "");
  // Longer than any path of SMTP (RFC 5321 §4.5.3.1.3) with SMTPUTF8 to spare: nobody could be answered there.
  if (address === "" || address.length > 512) return [];
  const name = truncateCodePoints(oneLine(entry.name), 998);
  return [name === "" ? { address } : { address, name }];
}

/** The same bytes with Buffer's searching. */
function asBuffer(raw: Uint8Array): Buffer {
  return Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength);
}
