import { type HeaderKind, headerLabels, type Meaning, meaningsOfLabel } from "./header-labels.ts";
import type { TextLine } from "./reply-lines.ts";

/**
 * Finds the lines at which a copied header block begins. A block has three or more consecutive lines with labels of one language, among
 * them From and either Subject or Sent, and a date or an address. One label is not enough, because people write "From: the depot", too.
 * Callers test many lines, so each line is read once.
 */
export function headerBlocksIn(lines: readonly TextLine[]): (from: number) => boolean {
  const known: (Label | null)[] = [];
  const labelAt = (at: number): Label | undefined => {
    if (known[at] === undefined) known[at] = labelOf(lines[at]?.words ?? "") ?? null;
    return known[at] ?? undefined;
  };
  const hasFact = ascendingSearch((at) => fact.test(lines[at]?.words ?? ""));
  return (from) => {
    if (lines[from]?.words.includes(":") !== true) return false;
    const most = Math.min(lines.length, from + longestBlock);
    if (!hasFact(from, most)) return false;
    const { labels, to } = blockFrom(lines, from, labelAt);
    return labels.length >= 3 && hasFact(from, to) && isHeader(labels);
  };
}

/** Returns a function that tells whether any index in a range fits. Its ranges must ascend, so that it tests each index only once. */
function ascendingSearch(fits: (at: number) => boolean): (from: number, to: number) => boolean {
  let found = -1;
  let tested = 0;
  return (from, to) => {
    if (found < from) {
      tested = Math.max(tested, from);
      while (tested < to && found < from) if (fits(tested++)) found = tested - 1;
    }
    return found >= from && found < to;
  };
}

/** The labels of consecutive lines, and the index after the last line that was read. */
function blockFrom(lines: readonly TextLine[], from: number, labelAt: (at: number) => Label | undefined): Block {
  const labels: Label[] = [];
  let others = 0;
  let at = from;
  for (; at < Math.min(lines.length, from + longestBlock); at += 1) {
    const line = lines[at];
    if (line === undefined || line.isQuoted) break;
    const label = line.isBlank ? undefined : labelAt(at);
    // A header block has each label once; hostile text repeats two of them.
    if (label !== undefined && labels.includes(label)) break;
    if (label === undefined && labels.length === 0) break;
    others = label === undefined ? others + 1 : 0;
    // A list of recipients may continue on the next line, and HTML may have blank lines between.
    if (others > mostOthers) return { labels, to: at + 1 };
    if (label !== undefined) labels.push(label);
  }
  return { labels, to: at };
}

interface Block {
  labels: readonly Label[];
  to: number;
}

/** True if the labels make a header block in one language. Allocates no memory, because it runs for every line of a hostile text. */
function isHeader(labels: readonly Label[]): boolean {
  for (const { language, kind } of labels[0]?.meanings ?? []) {
    let kinds = kind;
    for (let at = 1; at < labels.length; at += 1) kinds |= labels[at]?.kinds[language] ?? 0;
    if (isWhole(kinds)) return true;
  }
  return false;
}

/** True for a line that begins with a label of any language. */
export function isHeaderLine(words: string): boolean {
  return labelOf(words) !== undefined;
}

/** The bit of each kind in a set of kinds. */
const bitOf: Readonly<Record<HeaderKind, number>> = { from: 1, subject: 2, sent: 4, date: 8, to: 16, cc: 32 };

function isWhole(kinds: number): boolean {
  const hasThree = (kinds & (kinds - 1) & ((kinds & (kinds - 1)) - 1)) !== 0;
  return hasThree && (kinds & bitOf.from) !== 0 && (kinds & (bitOf.subject | bitOf.sent)) !== 0;
}

const longestBlock = 16;
const mostOthers = 2;
const longestLabel = 30;

/** Matches a year, a time or an address. */
const fact = /\p{Nd}{4}|\p{Nd}[:.h]\p{Nd}{2}|[^\s@]@[^\s@]/u;

/** The meaning of the word before the first colon. Stars and spaces around it are ignored (`*From:*`, `De :`). */
function labelOf(words: string): Label | undefined {
  const colon = words.slice(0, longestLabel).indexOf(":");
  if (colon < 1) return undefined;
  const label = words.slice(0, colon).trim();
  return knownLabels.get(label) ?? knownLabels.get(label.replaceAll(/[*_]/g, "").replaceAll(/\s+/g, " ").trim());
}

/** The meanings of a label. Languages are numbers, kinds are bits. */
interface Label {
  meanings: readonly { language: number; kind: number }[];
  /** By the number of the language: the set of kinds that the label has in it, as bits. */
  kinds: Uint8Array;
}

const languages = Object.keys(headerLabels);

const knownLabels: ReadonlyMap<string, Label> = new Map(
  meaningsOfLabel.entries().map(([label, meanings]) => [label, labelWith(meanings)]),
);

function labelWith(written: readonly Meaning[]): Label {
  const meanings = written.map(({ language, kind }) => ({ language: languages.indexOf(language), kind: bitOf[kind] }));
  const kinds = new Uint8Array(languages.length);
  for (const { language, kind } of meanings) kinds[language] = (kinds[language] ?? 0) | kind;
  return { meanings, kinds };
}
