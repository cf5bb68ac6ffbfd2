/** A line of a text, with what it is held against. */
export interface TextLine {
  start: number;
  /** Behind its line break. */
  end: number;
  /** What is held against marks: at most a thousand characters, in lower case, without what can't be seen and without white space around. */
  words: string;
  isBlank: boolean;
  /** True where a `>` stands before it. */
  isQuoted: boolean;
}

/** The lines of a text, the last one without a line break too. */
export function textLines(text: string): TextLine[] {
  const lines: TextLine[] = [];
  // Small letters of ASCII stand where the capitals stood, so that all lines get theirs at once.
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

/** A line of these words, which stand at this place. */
export function textLine(written: string, start: number, end: number): TextLine {
  return lineOf(plainWords(written.slice(0, longestLine)), start, end);
}

function lineOf(words: string, start: number, end: number): TextLine {
  const first = words.charCodeAt(0);
  return { start, end, words, isBlank: words === "", isQuoted: first === greater || first === wideGreater };
}

const greater = 0x3e;
const wideGreater = 0xff1e;

/** A line without what programs put around its words: dashes and the stars of Markdown. */
export function withoutMarkup(words: string): string {
  let from = 0;
  let to = words.length;
  while (from < to && isMarkup(words[from])) from += 1;
  while (to > from && isMarkup(words[to - 1])) to -= 1;
  return words.slice(from, to);
}

/** True for a line that parts what is above from what is below: ten or more of the same sign. */
export function isDivider(words: string): boolean {
  return /^(?:_{10,200}|-{10,200}|={10,200}|─{10,200}|—{10,200}|\*{10,200})$/.test(words);
}

/** What is behind that of a line is held against nothing. */
export const longestLine = 1000;

/** In lower case; without marks of direction and of width, which stand around names and dates; with plain spaces and colons. */
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
