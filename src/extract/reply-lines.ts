/** A line of a text. */
export interface TextLine {
  start: number;
  /** The offset after its line break. */
  end: number;
  /** Its first 1,000 characters for comparison: in lower case, without invisible characters, trimmed. */
  words: string;
  isBlank: boolean;
  /** True if it begins with `>`. */
  isQuoted: boolean;
}

/** The lines of a text. The last one may have no line break. */
export function textLines(text: string): TextLine[] {
  const lines: TextLine[] = [];
  // In ASCII, lower case does not change the offsets, so one call serves all lines.
  const small = ascii.test(text) ? text.toLowerCase() : undefined;
  for (let start = 0; start < text.length; ) {
    const lineFeed = text.indexOf("\n", start);
    const end = lineFeed < 0 ? text.length : lineFeed + 1;
    const shownEnd = Math.min(end, start + longestLine);
    const words = small?.slice(start, shownEnd).trim() ?? plainWords(text.slice(start, shownEnd));
    lines.push(lineOf(words, start, end));
    start = end;
  }
  return lines;
}

/** Makes a line from its written words. `start` and `end` are its range. */
export function textLine(written: string, start: number, end: number): TextLine {
  return lineOf(plainWords(written.slice(0, longestLine)), start, end);
}

function lineOf(words: string, start: number, end: number): TextLine {
  const first = words.charCodeAt(0);
  return { start, end, words, isBlank: words === "", isQuoted: first === greater || first === wideGreater };
}

const greater = 0x3e;
const wideGreater = 0xff1e;

/** A line without the dashes and Markdown stars around its words. */
export function withoutMarkup(words: string): string {
  let from = 0;
  let to = words.length;
  while (from < to && isMarkup(words[from])) from += 1;
  while (to > from && isMarkup(words[to - 1])) to -= 1;
  return words.slice(from, to);
}

/** True for a dividing line: ten or more of the same sign. */
export function isDivider(words: string): boolean {
  return /^(?:_{10,200}|-{10,200}|={10,200}|─{10,200}|—{10,200}|\*{10,200})$/.test(words);
}

/** The number of characters of a line that are compared. */
export const longestLine = 1000;

/**
 * Converts to lower case and NFC, with plain spaces and colons. Removes the invisible marks of direction and width that programs write
 * around names and dates.
 */
function plainWords(line: string): string {
  const words = line.trim().toLowerCase();
  if (ascii.test(words)) return words;
  return words.normalize("NFC").replaceAll(unseen, "").replaceAll(otherSpaces, " ").replaceAll("：", ":").trim();
}

const ascii = /^[\0-\x7f]*$/;
const unseen = /[\u00ad\u061c\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/g;
const otherSpaces = /[\u00a0\u2000-\u200a\u202f\u3000]/g;

function isMarkup(character: string | undefined): boolean {
  return character !== undefined && "-*_‐‑‒–—=~ \t".includes(character);
}
