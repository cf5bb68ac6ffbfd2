import { type HeaderKind, type Meaning, meaningsOfLabel } from "./header-labels.ts";
import type { TextLine } from "./reply-lines.ts";

/**
 * True where a copied head begins: three lines or more in a row that begin with the labels of one language, From and Subject or Sent
 * among them, and a date or an address somewhere. "From: the depot" alone is something that people write.
 */
export function beginsHeaderBlock(lines: readonly TextLine[], from: number): boolean {
  if (lines[from]?.words.includes(":") !== true) return false;
  const labels = labelsFrom(lines, from);
  const [first, ...others] = labels;
  if (first === undefined || labels.length < 3) return false;
  return first.some(({ language, kind }) => {
    const kinds = others.reduce((all, meanings) => all | bitsOf(meanings, language), bitOf[kind]);
    return isWhole(kinds);
  });
}

/** What the labels of lines in a row mean, if the lines tell a date or an address. */
function labelsFrom(lines: readonly TextLine[], from: number): (readonly Meaning[])[] {
  const labels: (readonly Meaning[])[] = [];
  let tellsMore = false;
  let others = 0;
  for (let at = from; at < Math.min(lines.length, from + longestBlock); at += 1) {
    const line = lines[at];
    if (line === undefined || line.isQuoted) break;
    const meanings = line.isBlank ? undefined : labelOf(line.words);
    // No head has a label twice, and a flood of two has each of them often.
    if (meanings !== undefined && labels.includes(meanings)) break;
    if (meanings === undefined && labels.length === 0) break;
    tellsMore ||= tells.test(line.words);
    others = meanings === undefined ? others + 1 : 0;
    // Recipients go on in the next line, and HTML may have put a blank one between any two.
    if (others > mostOthers) break;
    if (meanings !== undefined) labels.push(meanings);
  }
  return tellsMore ? labels : [];
}

function bitsOf(meanings: readonly Meaning[], language: string): number {
  return meanings.reduce((all, meaning) => (meaning.language === language ? all | bitOf[meaning.kind] : all), 0);
}

/** True for a line that begins with a label of any language. */
export function isHeaderLine(words: string): boolean {
  return labelOf(words) !== undefined;
}

/** A set of kinds in one number. */
const bitOf: Readonly<Record<HeaderKind, number>> = { from: 1, subject: 2, sent: 4, date: 8, to: 16, cc: 32 };

function isWhole(kinds: number): boolean {
  const hasThree = (kinds & (kinds - 1) & ((kinds & (kinds - 1)) - 1)) !== 0;
  return hasThree && (kinds & bitOf.from) !== 0 && (kinds & (bitOf.subject | bitOf.sent)) !== 0;
}

const longestBlock = 16;
const mostOthers = 2;
const longestLabel = 30;

/** A year, a time or an address. */
const tells = /\p{Nd}{4}|\p{Nd}[:.h]\p{Nd}{2}|[^\s@]@[^\s@]/u;

/** What the word before the first colon means; stars and spaces around it don't count (`*From:*`, `De :`). */
function labelOf(words: string) {
  const colon = words.slice(0, longestLabel).indexOf(":");
  if (colon < 1) return undefined;
  const label = words.slice(0, colon).trim();
  return (
    meaningsOfLabel.get(label) ?? meaningsOfLabel.get(label.replaceAll(/[*_]/g, "").replaceAll(/\s+/g, " ").trim())
  );
}
