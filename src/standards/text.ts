/**
 * The text as valid Unicode without NUL. Postgres refuses U+0000 and lone surrogates, and a mail that cannot be inserted would get 451
 * until its sender gives up.
 */
export function cleanText(text: string): string {
  const whole = text.includes("\0") ? text.replaceAll("\0", "\ufffd") : text;
  return whole.toWellFormed();
}

/** The text with LF for every line end. */
export function withLineFeeds(text: string): string {
  const lines = text.includes("\r\n") ? text.replaceAll("\r\n", "\n") : text;
  // Some relays double the CR. A single CR is the line end of old Macintosh systems.
  return lines.includes("\r")
    ? lines.replace(/\r+/g, (run, at) => (lines[at + run.length] === "\n" ? "" : "\n"))
    : lines;
}

/** The text without C0 controls; tab and line feed stay. The text must be clean (`cleanText`). */
export function withoutControls(text: string): string {
  return unseen.test(text) ? text.replace(unseenRuns, "") : text;
}

const unseen = /[\x01-\x08\x0b-\x1f]/;
const unseenRuns = /[\x01-\x08\x0b-\x1f]+/g;

/** True if a caller may send the text: it is valid Unicode without NUL. */
export function isCleanText(text: string): boolean {
  return !text.includes("\0") && text.isWellFormed();
}

/**
 * The text as clean text on one line. A decoded header may contain CR and LF from an encoded word (which RFC 2047 §5 forbids), and such a
 * subject may later be written into a header of our own mail.
 */
export function oneLine(text: string): string {
  const clean = cleanText(text);
  return breaksOrControls.test(clean) ? clean.replace(runsOfControls, " ").trim() : clean.trim();
}

/** The controls C0 (without NUL), DEL and C1, and the line breaks of Unicode. */
const breaksOrControls = /[\u0001-\u001f\u007f-\u009f\u2028\u2029]/;
const runsOfControls = /[\u0001-\u001f\u007f-\u009f\u2028\u2029]+/g;

/** Text for display: valid Unicode, without controls except tab and line ends. */
export function visibleText(text: string): string {
  return text.toWellFormed().replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]/g, "\ufffd");
}

/** The length of a text in code points. All limits of the service on characters count code points (contract §1). */
export function codePointLength(text: string): number {
  let length = 0;
  for (let at = 0; at < text.length; length++) at += unitsAt(text, at);
  return length;
}

/** The first `limit` code points. */
export function truncateCodePoints(text: string, limit: number): string {
  if (text.length <= limit) return text;
  let at = 0;
  for (let taken = 0; taken < limit && at < text.length; taken++) at += unitsAt(text, at);
  return text.slice(0, at);
}

export function utf8Length(text: string): number {
  return Buffer.byteLength(text, "utf8");
}

/** The longest prefix of whole code points with at most `limitBytes` in UTF-8. */
export function truncateUtf8(text: string, limitBytes: number): string {
  if (text.length * 3 <= limitBytes || utf8Length(text) <= limitBytes) return text;
  let at = 0;
  for (let bytes = 0; at < text.length; ) {
    const point = text.codePointAt(at) ?? 0;
    bytes += point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
    if (bytes > limitBytes) break;
    at += point > 0xffff ? 2 : 1;
  }
  return text.slice(0, at);
}

function unitsAt(text: string, at: number): 1 | 2 {
  return (text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1;
}

/** A text for a header, percent-encoded as UTF-8. It is encoded where it has other characters than ASCII, a comma or a percent sign. */
export function percentEncoded(text: string): string {
  return text.toWellFormed().replace(/[^ -~]+|[%,]/g, encodeURIComponent);
}
