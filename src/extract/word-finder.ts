import { foldWord } from "./folded-text.ts";

/** A word of a table found in a text: it goes to the end of the word that it begins or stands in. */
export interface FoundWord<Kind> {
  kind: Kind;
  start: number;
  end: number;
}

/**
 * Finds the words of a table in a folded text, in one pass whose time does not depend on what the text is made of. As they are written
 * in the table, words are stems: `kod` is also `kodunuz`. A `-` before one says that letters may stand before it (`Bestätigungscode`),
 * a `.` behind it that none may follow. Scripts that put no spaces between words know neither.
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
      // Nearly all places of a text are done with these two looks.
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

/** Stems by their first characters, and two quick looks at what there is. */
interface Drawers<Kind> {
  stems: ReadonlyMap<number, readonly Stem<Kind>[]>;
  /** By drawer, whether there is a stem in it. */
  filled: Uint8Array;
  /** By code unit, how long the shortest stem is that begins with it, as far as drawers go; 0 where none does. */
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

/** The longest stem at a place; none is shorter than `least`. */
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

/** By three characters, or as many as there are. Most beginnings have a drawer of their own; what shares one is told apart by its letters. */
function drawerOf(text: string, at: number, length: number): number {
  let drawer = unitAt(text, at);
  if (length > 1) drawer = drawer * 31 + unitAt(text, at + 1) * 7;
  if (length > 2) drawer = drawer * 31 + unitAt(text, at + 2);
  return drawer & 0xffff;
}

/** Behind the end there is zero, so that all sums are of whole numbers. */
function unitAt(text: string, at: number): number {
  return at < text.length ? text.charCodeAt(at) : 0;
}

/** Whether what stands behind this letter belongs to the same word, as far as the script tells. */
function goesOn(unit: number): boolean {
  return (bitsOfUnit(unit) & (letterBit | unspacedBit)) === letterBit;
}

interface Stem<Kind> {
  kind: Kind;
  text: string;
  within: boolean;
  whole: boolean;
  /** Whether its script puts spaces between words. */
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

/** An ending has few letters: behind more it is another word. */
const longestEnding = 24;

function wordEnd(words: string, from: number, spaced: boolean): number {
  let end = from;
  while (spaced && end < from + longestEnding && end < words.length && isLetter(words, end) && !isUnspaced(words, end))
    end++;
  return end;
}

/** Bits of what is known of each code unit. */
const known = new Uint8Array(0x10000);
const knownBit = 1;
const letterBit = 2;
const unspacedBit = 4;
const alphabetBit = 8;

/** Before and behind a text there is nothing. */
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

/** A letter of a script whose words stand without spaces between, or, as in Korean, with endings and numbers glued. */
export function isUnspaced(text: string, at: number): boolean {
  return (bitsOf(text, at) & unspacedBit) !== 0;
}

/** A letter that digits glued to it belong to. */
export function isAlphabetic(text: string, at: number): boolean {
  return (bitsOf(text, at) & alphabetBit) !== 0;
}
