import { cleanText, oneLine, truncateCodePoints, truncateUtf8, utf8Length } from "../standards/text.ts";
import type { Mailbox } from "./message.ts";

/** The message that a reply quotes. */
export interface QuotedMessage {
  from: Mailbox | undefined;
  at: Date;
  bodyText: string;
  bodyHtml: string | undefined;
}

/** The caller's text with the previous message quoted below it (contract §5.5). */
export function withTextQuote(body: string, previous: QuotedMessage): string {
  return `${withoutLastLineBreaks(body)}\n\n${attributionLine(previous)}\n${textQuote(previous.bodyText)}`;
}

/** `On Tue, 3 Mar 2026 at 14:05 UTC, Jane Doe <jane@example.com> wrote:`, always one line. */
export function attributionLine({ from, at }: QuotedMessage): string {
  return `On ${instantInWords(at)}, ${personInWords(from)} wrote:`;
}

/** `Tue, 3 Mar 2026 at 14:05 UTC`. */
export function instantInWords(at: Date): string {
  const [weekday, day, month, year] = [
    days[at.getUTCDay()],
    at.getUTCDate(),
    months[at.getUTCMonth()],
    at.getUTCFullYear(),
  ];
  const time = `${twoDigits(at.getUTCHours())}:${twoDigits(at.getUTCMinutes())}`;
  return `${weekday}, ${day} ${month} ${year} at ${time} UTC`;
}

/** The most bytes of a quote, in text and in HTML. A longer quote is cut. */
export const maxQuoteBytes = 102_400;

/** The lines of a text as a quote: with `> ` before each line, or only `>` before an already quoted line. A blank line becomes `>`. */
export function quotedLines(text: string): string[] {
  return text.split(lineBreak).map((line) => {
    if (line.trim() === "") return ">";
    return line.startsWith(">") ? `>${line}` : `> ${line}`;
  });
}

/** The subject of a reply: with one `Re: `, cut to the length of a subject. */
export function replySubject(subject: string): string {
  const line = oneLine(subject);
  return truncateCodePoints(/^re:/i.test(line) ? line : `Re: ${line}`.trimEnd(), maxSubjectLength);
}

/** The subject of a forward: with one `Fwd: `, unless it has that or `Fw: ` already. */
export function forwardSubject(subject: string): string {
  const line = oneLine(subject);
  return truncateCodePoints(/^fwd?:/i.test(line) ? line : `Fwd: ${line}`.trimEnd(), maxSubjectLength);
}

const maxSubjectLength = 998;

function textQuote(text: string): string {
  const written = cleanText(text.trimEnd());
  // Cuts a long text before it is quoted: each UTF-16 unit takes at least one byte in UTF-8, so at most `maxQuoteBytes` units fit.
  // One unit more makes the quote too long, so that it gets the cut mark.
  const quote = quotedLines(written.slice(0, maxQuoteBytes + 1)).join("\n");
  if (utf8Length(quote) <= maxQuoteBytes) return quote;
  const kept = truncateUtf8(quote, maxQuoteBytes - cutMark.length).replace(/\n[> ]*$/, "");
  return `${kept}${cutMark}`;
}

const cutMark = "\n> [...]";

/** All characters that some mail programs treat as a line end, so that no line of the text is outside of the quote. */
const lineBreak = /\r\n|[\r\n\v\f\x85\u2028\u2029]/;

/** `Jane Doe <jane@example.com>`, always on one line; only the part that is known, or `someone` if neither is. */
export function personInWords(person: Mailbox | undefined): string {
  const address = plainWords(person?.address ?? "").replaceAll(" ", "");
  const name = truncateCodePoints(plainWords(person?.name ?? ""), maxNameLength);
  if (address === "") return name === "" ? "someone" : name;
  return name === "" || name === address ? address : `${name} <${address}>`;
}

const maxNameLength = 200;

/**
 * Words without line breaks, controls, direction marks (which could reverse `moc.live@…`), invisible characters, and brackets, in which a
 * name could show another address.
 */
export function plainWords(text: string): string {
  return oneLine(text).replaceAll(tricks, "").replaceAll(/\s+/g, " ").trim();
}

const tricks = /[<>\u061c\u200b\u200e\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff]/g;

export function withoutLastLineBreaks(text: string): string {
  let end = text.length;
  while (end > 0 && (text[end - 1] === "\n" || text[end - 1] === "\r")) end -= 1;
  return text.slice(0, end);
}

function twoDigits(number: number): string {
  return String(number).padStart(2, "0");
}

const days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];
const months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
