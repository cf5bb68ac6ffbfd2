import { withLineFeeds } from "../../standards/text.ts";
import { escapeHtml } from "../html/html.ts";
import { textOfSeenHtml } from "../html/seen-html.ts";
import { charsetOfHtml, decodeText } from "./charset.ts";
import { unflowed } from "./flowed.ts";
import type { Part } from "./part.ts";
import { parameterOf } from "./structured.ts";
import { decodeTransfer, isBase64 } from "./transfer-encoding.ts";
import { endBeforeBreak } from "./white-space.ts";

export interface Bodies {
  text: string | undefined;
  html: string | undefined;
  /** False where a part was cut off. */
  whole: boolean;
}

/** One thing that the mail says: a part, or all that stands in one multipart/alternative. */
interface Saying {
  plain: string[];
  /** Text of other kinds, such as Markdown: for where nothing plain is. */
  otherText: string[];
  html: string[];
}

/**
 * What the mail says as text and as HTML, of each `undefined` where no part is of that kind. All that it says stands in
 * both: what is there in the other kind only is turned into this one. An empty line divides texts; an empty part says nothing.
 */
export function bodiesOf(raw: Buffer, parts: readonly Part[]): Bodies {
  const sayings = new Map<Part, Saying>();
  let whole = true;
  for (const part of parts) {
    if (part.role !== "text" && part.role !== "html") continue;
    const key = part.alternative ?? part;
    const saying = sayings.get(key) ?? { plain: [], otherText: [], html: [] };
    sayings.set(key, saying);
    const body = readBody(raw, part);
    whole &&= body.whole;
    if (body.text === "") continue;
    if (part.role === "html") saying.html.push(body.text);
    else if (part.type.value === "text/plain") saying.plain.push(body.text);
    else saying.otherText.push(body.text);
  }
  const all = [...sayings.values()];
  const isText = all.some(({ plain, otherText }) => plain.length + otherText.length > 0);
  const isHtml = all.some(({ html }) => html.length > 0);
  return {
    text: isText ? all.flatMap(textsIn).join("\n\n") : undefined,
    html: isHtml ? all.flatMap(htmlIn).join("\n") : undefined,
    whole,
  };
}

function textsIn({ plain, otherText, html }: Saying): string[] {
  if (plain.length > 0) return plain;
  return otherText.length > 0 ? otherText : html.map(textOfSeenHtml);
}

function htmlIn({ plain, otherText, html }: Saying): string[] {
  if (html.length > 0) return html;
  return (plain.length > 0 ? plain : otherText).map(htmlOfText);
}

function htmlOfText(text: string): string {
  return `<div>${escapeHtml(text.trim()).replaceAll("\n", "<br />")}</div>`;
}

/** A text is cut at fewer characters later; until then it may have the bytes that so many can need. */
const maxBodyBytes = 8 * 1024 * 1024;

function readBody(raw: Buffer, part: Part): { text: string; whole: boolean } {
  const decoded = decodedBody(raw, part);
  const bytes = decoded.subarray(0, maxBodyBytes);
  const charset = parameterOf(part.type, "charset") ?? (part.role === "html" ? charsetOfHtml(bytes) : undefined);
  const text = withoutLastBreak(part, withLineFeeds(decodeText(bytes, charset)));
  return {
    text: isFlowed(part) ? unflowed(text, says(part, "delsp", "yes")) : text,
    whole: bytes.length === decoded.length,
  };
}

function decodedBody(raw: Buffer, part: Part): Buffer {
  const written = raw.subarray(part.bodyStart, endOfText(raw, part));
  if (part.encoding === "none" || (part.encoding === "base64" && !isBase64(written))) return written;
  const { buffer, byteOffset, byteLength } = decodeTransfer(written, part.encoding);
  return Buffer.from(buffer, byteOffset, byteLength);
}

/** Before a delimiter the last line break went with that; the mail itself ends in one of its own. */
function endOfText(raw: Buffer, { bodyStart, bodyEnd }: Part): number {
  let end = bodyEnd === raw.length ? endBeforeBreak(raw, bodyStart, bodyEnd) : bodyEnd;
  // Of a CR that a relay doubled one is left.
  while (end > bodyStart && raw[end - 1] === cr) end--;
  return end;
}

const cr = 0x0d;

/** Where the encoding hides line breaks, the last is the text's own. */
function withoutLastBreak({ encoding }: Part, text: string): string {
  const isHidden = encoding === "base64" || encoding === "uuencode";
  return isHidden && text.endsWith("\n") ? text.slice(0, -1) : text;
}

function isFlowed(part: Part): boolean {
  return part.type.value === "text/plain" && says(part, "format", "flowed");
}

function says({ type }: Part, name: string, value: string): boolean {
  return parameterOf(type, name)?.toLowerCase() === value;
}
