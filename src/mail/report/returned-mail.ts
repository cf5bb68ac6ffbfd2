import type { ParsedMail } from "../../domain/message.ts";
import { messageIdsOf } from "../../standards/message-id.ts";
import { type Fields, fieldGroups } from "./fields.ts";

/** A part that is the mail that came back, or its head. */
const returnedTypes: ReadonlySet<string> = new Set([
  ...["message/rfc822", "text/rfc822-headers", "text/rfc822-header", "message/rfc822-headers"],
  ...["message/global", "message/global-headers", "message/partial"],
]);

/** The head of the mail that came back: of several the first. */
export function returnedHead({ attachments }: Pick<ParsedMail, "attachments">): Fields | undefined {
  const part = attachments.find(({ contentType }) => returnedTypes.has(contentType));
  if (part !== undefined) return headIn(part.bytes);
  // Some servers hang it on as a text.
  const texts = attachments.filter(({ contentType }) => contentType === "text/plain").slice(0, mostTexts);
  return texts.map(({ bytes }) => fieldGroups(bytes.subarray(0, mostOfHead))[0]).find(isOfTransport);
}

const mostTexts = 3;

/** The first fields that say that they are a mail's. Some servers put words of their own above them. */
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

/** A head that came over the wire, and is not put together for people. */
export function isOfTransport(fields: Fields | undefined): fields is Fields {
  return fields !== undefined && (fields.has("message-id") || fields.has("received"));
}

export interface Told {
  /** What the reporter says himself. */
  said: string;
  /** The head of the mail that he quotes. */
  quoted: Fields | undefined;
}

/**
 * Text in which no part says what is the reporter's and what the returned mail's. Some set in a few fields of the mail above what
 * they have to say of it: those divide nothing, where nothing is said before them.
 */
export function dividedText(text: string, tells: (said: string) => boolean): Told {
  const lines = text.split("\n", mostLines);
  let isFirst = true;
  for (let at = 0; at < lines.length; at++) {
    const block = blockAt(lines, at);
    if (block === undefined) continue;
    const head = headIn(Buffer.from(block.lines.join("\n")));
    if (head !== undefined) {
      const said = lines.slice(0, at).join("\n");
      const isDetail = isFirst && !isOfTransport(head) && isSetIn(lines, at, block.end) && !tells(said);
      if (!isDetail) return { said, quoted: head };
      isFirst = false;
    }
    at = block.end - 1;
  }
  return { said: lines.join("\n"), quoted: undefined };
}

const mostLines = 4000;
const mostLinesOfHead = 400;

/** Lines that look like a head, without what stands before each of them: white space, or the mark of a quote. */
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

/** Further in than what goes on behind it. */
function isSetIn(lines: readonly string[], start: number, end: number): boolean {
  const next = lines.slice(end).find((line) => line.trim() !== "");
  return /^[ \t]/.test(lines[start] ?? "") && next !== undefined && !/^[ \t]/.test(next);
}

/** Some server broke a field without white space: a field comes soon after, with no empty line before it. */
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

/** A field, or what is folded; a single word is what some server broke off. */
const goesOn = /^(?:[ \t]|[A-Za-z][A-Za-z0-9-]{0,60}[ \t]{0,9}:|>?From |\S+$)/;

const headLine =
  /^[ \t]{0,8}(?:[>|][ \t]?)?(?:Received|Return-Path|Message-I[Dd]|From|To|Subject|Date|DKIM-Signature|MIME-Version|X-[A-Za-z0-9-]{1,40}|Delivered-To|Reply-To|Sender|Content-[A-Za-z-]{1,30}|Authentication-Results|ARC-[A-Za-z-]{1,30}|DomainKey-Signature)[ \t]{0,9}:/i;

/** The ids that a head goes by, canonical. */
export function idsOfHead(fields: Fields | undefined): string[] {
  if (fields === undefined) return [];
  return ["message-id", "x-original-message-id", "original-message-id"].flatMap((name) =>
    messageIdsOf(fields.get(name) ?? "").slice(0, 1),
  );
}
