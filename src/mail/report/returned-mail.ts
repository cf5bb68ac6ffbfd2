import type { ParsedMail } from "../../domain/message.ts";
import { messageIdsOf } from "../../standards/message-id.ts";
import { type Fields, fieldGroups } from "./fields.ts";

/** The types of a part with the returned mail or its header. */
const returnedTypes: ReadonlySet<string> = new Set([
  "message/rfc822",
  "text/rfc822-headers",
  "text/rfc822-header",
  "message/rfc822-headers",
  "message/global",
  "message/global-headers",
  "message/partial",
]);

/** The header of the returned mail, the first one if there are several. */
export function returnedHead({ attachments }: Pick<ParsedMail, "attachments">): Fields | undefined {
  const part = attachments.find(({ contentType }) => returnedTypes.has(contentType));
  if (part !== undefined) return headIn(part.bytes);
  // Some servers attach it as plain text.
  const texts = attachments.filter(({ contentType }) => contentType === "text/plain").slice(0, mostTexts);
  return texts.map(({ bytes }) => fieldGroups(bytes.subarray(0, mostOfHead))[0]).find(isOfTransport);
}

const mostTexts = 3;

/** The first group of fields that is a mail header. Some servers write their own text above it. */
export function headIn(bytes: Uint8Array): Fields | undefined {
  const start = bytes.subarray(0, mostOfHead);
  return fieldGroups(start).slice(0, 4).find(isHead);
}

const mostOfHead = 64 * 1024;

function isHead(fields: Fields): boolean {
  return (
    fields.has("message-id") ||
    fields.has("received") ||
    (fields.has("from") && listed.some((name) => fields.has(name)))
  );
}

const listed = ["to", "subject", "date"];

/** True for the header of a transmitted mail, which has Message-ID or Received. A summary for people has neither. */
export function isOfTransport(fields: Fields | undefined): fields is Fields {
  return fields !== undefined && (fields.has("message-id") || fields.has("received"));
}

export interface DividedText {
  /** The reporter's own words. */
  said: string;
  /** The header of the returned mail below them. */
  quoted: Fields | undefined;
}

/**
 * Divides a text into the reporter's words and the returned mail. Some reporters write a few indented fields of the mail above their own
 * words. Such fields are part of the words if the text before them gives no reason (`hasReason`).
 */
export function dividedText(text: string, hasReason: (said: string) => boolean): DividedText {
  const lines = text.split("\n", mostLines);
  let isFirst = true;
  for (let at = 0; at < lines.length; at++) {
    const block = blockAt(lines, at);
    if (block === undefined) continue;
    const head = headIn(Buffer.from(block.lines.join("\n")));
    if (head !== undefined) {
      const said = lines.slice(0, at).join("\n");
      const isDetail = isFirst && !isOfTransport(head) && isIndented(lines, at, block.end) && !hasReason(said);
      if (!isDetail) return { said, quoted: head };
      isFirst = false;
    }
    at = block.end - 1;
  }
  return { said: lines.join("\n"), quoted: undefined };
}

const mostLines = 4000;
const mostLinesOfHead = 400;

/** The lines from `start` on that look like a header, without the indentation or quote mark before each of them. */
function blockAt(lines: readonly string[], start: number): { lines: string[]; end: number } | undefined {
  const first = lines[start] ?? "";
  if (!headLine.test(first)) return undefined;
  const [mark = ""] = quoteMark.exec(first) ?? [];
  const block: string[] = [];
  let end = start;
  for (; end < lines.length && block.length < mostLinesOfHead; end++) {
    const written = lines[end] ?? "";
    const line = written.startsWith(mark) ? written.slice(mark.length) : written;
    if (line.trim() === "" || !(goesOn.test(line) || isBrokenOff(lines, end, mark))) break;
    block.push(line);
  }
  return { lines: block, end: Math.max(end, start + 1) };
}

/** True if the lines are indented and the text after them is not. */
function isIndented(lines: readonly string[], start: number, end: number): boolean {
  const next = lines.slice(end).find((line) => line.trim() !== "");
  return /^[ \t]/.test(lines[start] ?? "") && next !== undefined && !/^[ \t]/.test(next);
}

/**
 * True if the line may continue a field without the white space of folding, as some servers write it: another field follows within four
 * lines, without an empty line between.
 */
function isBrokenOff(lines: readonly string[], at: number, mark: string): boolean {
  for (const next of lines.slice(at + 1, at + 1 + mostBroken)) {
    const line = next.startsWith(mark) ? next.slice(mark.length) : next;
    if (line.trim() === "") return false;
    if (headLine.test(line)) return true;
  }
  return false;
}

const mostBroken = 4;

const quoteMark = /^[ \t]{0,8}(?:[>|][ \t]?)?/;

/** Matches a line of a header: a field, a folded line, or a single word, which is the rest of a field that a server broke. */
const goesOn = /^(?:[ \t]|[A-Za-z][A-Za-z0-9-]{0,60}[ \t]{0,9}:|>?From |\S+$)/;

const headLine =
  /^[ \t]{0,8}(?:[>|][ \t]?)?(?:Received|Return-Path|Message-I[Dd]|From|To|Subject|Date|DKIM-Signature|MIME-Version|X-[A-Za-z0-9-]{1,40}|Delivered-To|Reply-To|Sender|Content-[A-Za-z-]{1,30}|Authentication-Results|ARC-[A-Za-z-]{1,30}|DomainKey-Signature)[ \t]{0,9}:/i;

/** The canonical Message-IDs in a header. */
export function idsOfHead(fields: Fields | undefined): string[] {
  if (fields === undefined) return [];
  return ["message-id", "x-original-message-id", "original-message-id"].flatMap((name) =>
    messageIdsOf(fields.get(name) ?? "").slice(0, 1),
  );
}
