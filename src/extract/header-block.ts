import { type HeaderKind, headerLabels, type Meaning, meaningsOfLabel } from "./header-labels.ts";
import type { TextLine } from "./reply-lines.ts";

/**
 * Says where among these lines a copied head begins: three lines or more in a row that begin with the labels of one language, From and
 * Subject or Sent among them, and a date or an address somewhere. "From: the depot" alone is something that people write. It is asked
 * of many lines, and what one of them says counts for those above it too: that is found out once.
 */
export function headerBlocksIn(lines: readonly TextLine[]): (from: number) => boolean {
  const known: (Label | null)[] = [];
  const labelAt = (at: number): Label | undefined => {
    if (known[at] === undefined) known[at] = labelOf(lines[at]?.words ?? "") ?? null;
    return known[at] ?? undefined;
  };
  const tellsBetween = placesAscending((at) => tells.test(lines[at]?.words ?? ""));
  return (from) => {
    if (lines[from]?.words.includes(":") !== true) return false;
    const most = Math.min(lines.length, from + longestBlock);
    if (!tellsBetween(from, most)) return false;
    const { labels, to } = blockFrom(lines, from, labelAt);
    return labels.length >= 3 && tellsBetween(from, to) && isHead(labels);
  };
}

/** Whether a place between two is one of those that `isOne` finds, which is asked in ascending order and once for each. */
function placesAscending(isOne: (at: number) => boolean): (from: number, to: number) => boolean {
  let found = -1;
  let asked = 0;
  return (from, to) => {
    if (found < from) {
      asked = Math.max(asked, from);
      while (asked < to && found < from) if (isOne(asked++)) found = asked - 1;
    }
    return found >= from && found < to;
  };
}

/** The labels of lines in a row, and the line behind the last that was looked at. */
function blockFrom(lines: readonly TextLine[], from: number, labelAt: (at: number) => Label | undefined): Block {
  const labels: Label[] = [];
  let others = 0;
  let at = from;
  for (; at < Math.min(lines.length, from + longestBlock); at += 1) {
    const line = lines[at];
    if (line === undefined || line.isQuoted) break;
    const label = line.isBlank ? undefined : labelAt(at);
    // No head has a label twice, and a flood of two has each of them often.
    if (label !== undefined && labels.includes(label)) break;
    if (label === undefined && labels.length === 0) break;
    others = label === undefined ? others + 1 : 0;
    // Recipients go on in the next line, and HTML may have put a blank one between any two.
    if (others > mostOthers) return { labels, to: at + 1 };
    if (label !== undefined) labels.push(label);
  }
  return { labels, to: at };
}

interface Block {
  labels: readonly Label[];
  to: number;
}

/** A loop without more: a flood of labels asks it of every line. */
function isHead(labels: readonly Label[]): boolean {
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
function labelOf(words: string): Label | undefined {
  const colon = words.slice(0, longestLabel).indexOf(":");
  if (colon < 1) return undefined;
  const label = words.slice(0, colon).trim();
  return knownLabels.get(label) ?? knownLabels.get(label.replaceAll(/[*_]/g, "").replaceAll(/\s+/g, " ").trim());
}

/** What a label may mean, with languages by their number. */
interface Label {
  meanings: readonly { language: number; kind: number }[];
  /** As a set of kinds what it means in each language. */
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
