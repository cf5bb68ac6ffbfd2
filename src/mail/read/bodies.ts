import { withLineFeeds } from "../../standards/text.ts";
import { escapeHtml } from "../html/html.ts";
import { textOfSeenHtml } from "../html/seen-html.ts";
import { charsetOfHtml, decodeText } from "./charset.ts";
import type { Part } from "./part.ts";
import { parameterOf } from "./structured.ts";
import { decodeTransfer, isBase64 } from "./transfer-encoding.ts";
import { endBeforeBreak } from "./white-space.ts";

export interface Bodies {
  text: string | undefined;
  html: string | undefined;
  /** False if a part was cut. */
  whole: boolean;
}

/** The versions of one content: a part, or all parts of one multipart/alternative. */
interface Content {
  plain: string[];
  /** Text of other kinds, such as Markdown, which is used only if there is no plain text. */
  otherText: string[];
  html: string[];
}

/**
 * The text and the HTML of the mail, each `undefined` if no part is of that kind. Both have the whole content: a part that exists only in
 * the other kind is converted. An empty line separates texts, and empty parts are skipped.
 */
export function bodiesOf(raw: Buffer, parts: readonly Part[]): Bodies {
  const contents = new Map<Part, Content>();
  let whole = true;
  for (const part of parts) {
    if (part.role !== "text" && part.role !== "html") continue;
    const key = part.alternative ?? part;
    const content = contents.get(key) ?? { plain: [], otherText: [], html: [] };
    contents.set(key, content);
    const body = readBody(raw, part);
    whole &&= body.whole;
    if (body.text === "") continue;
    if (part.role === "html") content.html.push(body.text);
    else if (part.type.value === "text/plain") content.plain.push(body.text);
    else content.otherText.push(body.text);
  }
  const all = [...contents.values()];
  const isText = all.some(({ plain, otherText }) => plain.length + otherText.length > 0);
  const isHtml = all.some(({ html }) => html.length > 0);
  return {
    text: isText ? all.flatMap(textsIn).join("\n\n") : undefined,
    html: isHtml ? all.flatMap(htmlIn).join("\n") : undefined,
    whole,
  };
}

function textsIn({ plain, otherText, html }: Content): string[] {
  if (plain.length > 0) return plain;
  return otherText.length > 0 ? otherText : html.map(textOfSeenHtml);
}

function htmlIn({ plain, otherText, html }: Content): string[] {
  if (html.length > 0) return html;
  return (plain.length > 0 ? plain : otherText).map(htmlOfText);
}

function htmlOfText(text: string): string {
  return `<div>${escapeHtml(text.trim()).replaceAll("\n", "<br />")}</div>`;
}

/** The most bytes that 2,097,152 characters can need. The text is cut to this length later. */
const maxBodyBytes = 8 * 1024 * 1024;

function readBody(raw: Buffer, part: Part): { text: string; whole: boolean } {
  const decoded = decodedBody(raw, part);
  const bytes = decoded.subarray(0, maxBodyBytes);
  const charset = parameterOf(part.type, "charset") ?? (part.role === "html" ? charsetOfHtml(bytes) : undefined);
  const text = withoutLastBreak(part, withLineFeeds(decodeText(bytes, charset)));
  return {
    text: isFlowed(part) ? unflowed(text, hasParameter(part, "delsp", "yes")) : text,
    whole: bytes.length === decoded.length,
  };
}

function decodedBody(raw: Buffer, part: Part): Buffer {
  const written = raw.subarray(part.bodyStart, endOfText(raw, part));
  if (part.encoding === "none" || (part.encoding === "base64" && !isBase64(written))) return written;
  const { buffer, byteOffset, byteLength } = decodeTransfer(written, part.encoding);
  return Buffer.from(buffer, byteOffset, byteLength);
}

/**
 * The end of a text without its last line break. The outline has removed a line break before a delimiter, but not one at the end of the
 * mail.
 */
function endOfText(raw: Buffer, { bodyStart, bodyEnd }: Part): number {
  let end = bodyEnd === raw.length ? endBeforeBreak(raw, bodyStart, bodyEnd) : bodyEnd;
  // A relay may have doubled the CR of the line break, so further CRs are removed, too.
  while (end > bodyStart && raw[end - 1] === cr) end--;
  return end;
}

const cr = 0x0d;

/** The text of a part without its last line break. In base64 and uuencode, `endOfText` could not see this line break before decoding. */
function withoutLastBreak({ encoding }: Part, text: string): string {
  const isHidden = encoding === "base64" || encoding === "uuencode";
  return isHidden && text.endsWith("\n") ? text.slice(0, -1) : text;
}

function isFlowed(part: Part): boolean {
  return part.type.value === "text/plain" && hasParameter(part, "format", "flowed");
}

function hasParameter({ type }: Part, name: string, value: string): boolean {
  return parameterOf(type, name)?.toLowerCase() === value;
}

/**
 * Joins the lines of format=flowed text to paragraphs (RFC 3676 §4). Quote marks are removed before joining, and only lines of the same
 * depth are joined, so that a reply never runs into its quote. `deleteSpace` is DelSp=yes (§4.1), for scripts without spaces.
 */
function unflowed(text: string, deleteSpace: boolean): string {
  const paragraphs: string[] = [];
  let open = false;
  let openDepth = 0;
  for (const line of text.split("\n")) {
    const depth = quoteDepth(line);
    const start = line[depth] === " " ? depth + 1 : depth;
    const content = line.slice(start);
    // A signature's separator is neither flowed nor fixed (§4.3).
    const isSignature = content === "-- ";
    const isSoft = content.endsWith(" ") && !isSignature;
    const words = isSoft && deleteSpace ? content.slice(0, -1) : content;
    if (open && depth === openDepth && !isSignature) paragraphs.push(`${paragraphs.pop()}${words}`);
    // Quotes usually have a space after the mark, so it is kept.
    else paragraphs.push(depth === 0 ? words : line.slice(0, start) + words);
    open = isSoft;
    openDepth = depth;
  }
  return paragraphs.join("\n");
}

function quoteDepth(line: string): number {
  let depth = 0;
  while (line[depth] === ">") depth++;
  return depth;
}
