import { foldWord } from "./folded-text.ts";

/** A word of a table, found in a text. Its range reaches to the end of the text's word. */
export interface FoundWord<Kind> {
  kind: Kind;
  start: number;
  end: number;
}

/**
 * Finds the words of a table in a folded text. It takes one pass, in linear time for any text. The words of a table are stems: `kod` also
 * finds `kodunuz`. A `-` before a stem allows letters before it (`Bestätigungscode`); a `.` after it forbids letters after it. Neither
 * has a meaning for scripts without spaces between words.
 */
export function wordFinder<Kind extends string>(
  table: Readonly<Record<Kind, string>>,
): (words: string, from?: number, to?: number) => FoundWord<Kind>[] {
  const stems = (Object.entries(table) as [Kind, string][]).flatMap(([kind, list]) =>
    list
      .split(/[,\n]/)
      .map((written) => written.trim())
      .filter((written) => written !== "")
      .map((written) => stemOf(kind, written)),
  );
  const anywhere = drawersOf(stems.filter(({ within, spaced }) => within || !spaced));
  const first = drawersOf(stems);
  return (words, from = 0, to = words.length) => {
    const found: FoundWord<Kind>[] = [];
    let isWithin = from > 0 && goesOn(words.charCodeAt(from - 1));
    for (let at = from; at < to; at++) {
      const unit = unitAt(words, at);
      const drawers = isWithin ? anywhere : first;
      isWithin = goesOn(unit);
      // No stem begins at most offsets. These two tests skip them quickly.
      const least = drawers.shortest[unit] ?? 0;
      if (least === 0 || (least === longestDrawer && drawers.filled[drawerOf(words, at, longestDrawer)] === 0))
        continue;
      const stem = longestAt(words, at, drawers, least);
      if (stem === undefined) continue;
      found.push({ kind: stem.kind, start: at, end: wordEnd(words, at + stem.text.length, stem.spaced) });
      at += stem.text.length - 1;
      isWithin = goesOn(unitAt(words, at));
    }
    return found;
  };
}

/** A hash table of stems by their first characters, with two arrays for quick tests. A drawer is one bucket of the hash table. */
interface Drawers<Kind> {
  stems: ReadonlyMap<number, readonly Stem<Kind>[]>;
  /** By drawer: 1 if it holds a stem. */
  filled: Uint8Array;
  /** By code unit: the length of the shortest stem that begins with it, at most `longestDrawer`, or 0 without one. */
  shortest: Uint8Array;
}

function drawersOf<Kind>(stems: readonly Stem<Kind>[]): Drawers<Kind> {
  const longestFirst = stems.toSorted((one, other) => other.text.length - one.text.length);
  const [filled, shortest] = [new Uint8Array(0x10000), new Uint8Array(0x10000)];
  const drawerOfStem = ({ text }: Stem<Kind>) => drawerOf(text, 0, Math.min(text.length, longestDrawer));
  for (const stem of longestFirst) {
    filled[drawerOfStem(stem)] = 1;
    shortest[stem.text.charCodeAt(0)] = Math.min(stem.text.length, longestDrawer);
  }
  return { stems: Map.groupBy(longestFirst, drawerOfStem), filled, shortest };
}

/** The longest stem at an offset. No stem there is shorter than `least`. */
function longestAt<Kind>(
  words: string,
  at: number,
  { stems, filled }: Drawers<Kind>,
  least: number,
): Stem<Kind> | undefined {
  for (let length = longestDrawer; length >= least; length--) {
    const drawer = drawerOf(words, at, length);
    if (filled[drawer] === 0) continue;
    for (const stem of stems.get(drawer) ?? []) {
      if (words.startsWith(stem.text, at) && fits(words, at, stem)) return stem;
    }
  }
  return undefined;
}

const longestDrawer = 3;

/** The drawer for the `length` characters at an offset. Different characters may share a drawer, so the caller compares them. */
function drawerOf(text: string, at: number, length: number): number {
  let drawer = unitAt(text, at);
  if (length > 1) drawer = drawer * 31 + unitAt(text, at + 1) * 7;
  if (length > 2) drawer = drawer * 31 + unitAt(text, at + 2);
  return drawer & 0xffff;
}

/** The code unit, or 0 after the end. */
function unitAt(text: string, at: number): number {
  return at < text.length ? text.charCodeAt(at) : 0;
}

/** True for a letter of a script with spaces between words: the next letter belongs to the same word. */
function goesOn(unit: number): boolean {
  return (bitsOfUnit(unit) & (letterBit | unspacedBit)) === letterBit;
}

interface Stem<Kind> {
  kind: Kind;
  text: string;
  within: boolean;
  whole: boolean;
  /** True if its script has spaces between words. */
  spaced: boolean;
}

function stemOf<Kind>(kind: Kind, written: string): Stem<Kind> {
  const text = foldWord(written.replace(/^-/, "").replace(/\.$/, ""));
  return { kind, text, within: written.startsWith("-"), whole: written.endsWith("."), spaced: !isUnspaced(text, 0) };
}

function fits<Kind>(words: string, at: number, { text, whole, spaced }: Stem<Kind>): boolean {
  const end = at + text.length;
  return !spaced || !whole || end >= words.length || !isLetter(words, end) || isUnspaced(words, end);
}

/** At most this many letters after a stem count as its ending. */
const longestEnding = 24;

function wordEnd(words: string, from: number, spaced: boolean): number {
  let end = from;
  while (spaced && end < from + longestEnding && end < words.length && isLetter(words, end) && !isUnspaced(words, end))
    end++;
  return end;
}

/** The properties of each code unit as bits, cached. 0 means that they were not computed yet. */
const known = new Uint8Array(0x10000);
const knownBit = 1;
const letterBit = 2;
const unspacedBit = 4;
const alphabetBit = 8;

/** The properties of a character, or 0 outside of the text. */
function bitsOf(text: string, at: number): number {
  return at >= 0 && at < text.length ? bitsOfUnit(text.charCodeAt(at)) : 0;
}

function bitsOfUnit(unit: number): number {
  const bits = known[unit] ?? 0;
  if (bits !== 0) return bits;
  const character = String.fromCharCode(unit);
  const letter = /[\p{L}\p{M}]/u.test(character) ? letterBit : 0;
  const unspaced =
    /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}ー]/u.test(
      character,
    );
  const alphabet = /[\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}]/u.test(character);
  known[unit] = knownBit | letter | (unspaced ? unspacedBit : 0) | (alphabet ? alphabetBit : 0);
  return known[unit] ?? 0;
}

export function isLetter(text: string, at: number): boolean {
  return (bitsOf(text, at) & letterBit) !== 0;
}

/** True for a letter of a script without spaces between words, or, as in Korean, with endings and numbers attached to words. */
export function isUnspaced(text: string, at: number): boolean {
  return (bitsOf(text, at) & unspacedBit) !== 0;
}

/** True for a Latin, Greek or Cyrillic letter: digits directly beside it belong to its word. */
export function isAlphabetic(text: string, at: number): boolean {
  return (bitsOf(text, at) & alphabetBit) !== 0;
}
