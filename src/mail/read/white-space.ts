/**
 * The text from offset `from` on, without spaces and tabs around it. `trim` would also remove 0xA0, the last byte of some UTF-8 letters.
 * The time of a regular expression would grow with the square of a run of spaces.
 */
export function trimBlanks(text: string, from = 0): string {
  let start = from;
  let end = text.length;
  while (start < end && isBlank(text.charCodeAt(start))) start++;
  while (end > start && isBlank(text.charCodeAt(end - 1))) end--;
  return text.slice(start, end);
}

export function isBlank(code: number | undefined): boolean {
  return code === space || code === tab;
}

/** True for a line with only a line break. */
export function isEmptyLine(raw: Buffer, start: number, next: number): boolean {
  for (let at = start; at < next; at++) if (raw[at] !== cr && raw[at] !== lf) return false;
  return true;
}

/** True for a text with only white space and line breaks. */
export function isBlankText(raw: Buffer, start: number, end: number): boolean {
  for (let at = start; at < end; at++) {
    if (raw[at] !== space && raw[at] !== tab && raw[at] !== cr && raw[at] !== lf) return false;
  }
  return true;
}

/** The offset after the next line break, or -1 if something other than white space stands before it. */
export function endOfBlankLine(raw: Buffer, from: number): number {
  let at = from;
  while (raw[at] === space || raw[at] === tab) at++;
  while (raw[at] === cr) at++;
  if (at >= raw.length) return raw.length;
  return raw[at] === lf ? at + 1 : -1;
}

/** The offset at which the line break before `next` begins, but at least `bodyStart`. */
export function endBeforeBreak(raw: Buffer, bodyStart: number, next: number): number {
  let end = next;
  if (end > bodyStart && raw[end - 1] === lf) end--;
  if (end > bodyStart && raw[end - 1] === cr) end--;
  return Math.max(end, bodyStart);
}

const lf = 0x0a;
const cr = 0x0d;
const space = 0x20;
const tab = 0x09;
