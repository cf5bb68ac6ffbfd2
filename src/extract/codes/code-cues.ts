import type { FoldedText } from "../folded-text.ts";
import { type FoundWord, wordFinder } from "../word-finder.ts";
import type { Candidate } from "./code-candidates.ts";
import { possessives, smallWords } from "./code-small-words.ts";
import { codeWords } from "./code-words.ts";

/** A place where a text speaks of a code to type. */
export interface Cue {
  start: number;
  end: number;
  /** It says what the code is for, or is a word for nothing else: a number need not touch it. */
  sure: boolean;
  /** Of several codes, as in "12000 verification codes". */
  plural: boolean;
}

export interface CodeCues {
  cues: readonly Cue[];
  /** Names of numbers that are no codes. */
  names: readonly { start: number; end: number }[];
  /** What something is for. */
  purposes: readonly { start: number; end: number }[];
}

/**
 * What is said around the candidates; of a subject all of it. `aboutCodes`: another part of the mail says already that it is about
 * signing in or confirming.
 */
export function cuesIn(
  { shape, words }: Pick<FoldedText, "shape" | "words">,
  candidates: readonly Candidate[] | undefined,
  aboutCodes = false,
): CodeCues {
  find ??= wordFinder(codeWords);
  const found = candidates === undefined ? find(words) : wordsAround(find, words, candidates);
  const isTrip = travel.test(words);
  const purposes = found.filter(({ kind }) => kind === "purpose" || kind === "sure");
  const isAbout = aboutCodes || purposes.length > 0;
  const isSaving = !isAbout && savings.test(words);
  let heads = 0;
  const cues = found.flatMap((word, at) => {
    const cue = isHead(word) && ++heads <= mostHeads ? cueOf(words, found, at, isTrip) : undefined;
    return cue === undefined || !(cue.sure || (!isSaving && isItself(shape, words, word, isAbout))) ? [] : [cue];
  });
  return { cues, names: found.filter(({ kind }) => kind === "number" || kind === "owner"), purposes };
}

/** How far from a number words are looked for. */
const farthestBefore = 400;
const farthestBehind = 300;

function wordsAround(finder: NonNullable<typeof find>, words: string, candidates: readonly Candidate[]): Word[] {
  const found: Word[] = [];
  let done = 0;
  for (const { start, end } of candidates) {
    const to = Math.min(words.length, end + farthestBehind);
    if (to <= done) continue;
    for (const word of finder(words, Math.max(done, start - farthestBefore), to)) found.push(word);
    // A word that goes over the end of one piece is not read again from its middle.
    done = Math.max(to, found.at(-1)?.end ?? 0);
  }
  return found;
}

/** Made when the first mail is read: a start need not wait for it. */
let find: ReturnType<typeof wordFinder<keyof typeof codeWords>> | undefined;

type Word = FoundWord<keyof typeof codeWords>;

/** Who travels is given a "confirmation code" that nobody types. */
const travel =
  /\b(?:flight|itinerary|reservation|boarding|airline|passenger|your (?:stay|trip)|hotel|pnr|vuelo|flug|volo|vlucht|reserva|check-in)\b/;

/** Who speaks of codes more often sends none. */
const mostHeads = 500;

const farthestPurpose = 25;
const farthestOwner = 6;

function isHead({ kind }: Word): boolean {
  return kind === "code" || kind === "needy" || kind === "sure";
}

function cueOf(words: string, found: readonly Word[], at: number, isTrip: boolean): Cue | undefined {
  const head = found[at] as Word;
  const plural = /codes$/.test(words.slice(head.start, head.end));
  if (head.kind === "sure") return { start: head.start, end: head.end, sure: true, plural };
  const around = neighbours(words, found, at);
  if (around.some(({ word, gap }) => word.kind === "owner" && gap <= farthestOwner)) return undefined;
  const purposes = around.filter(({ word }) => word.kind === "purpose").map(({ word }) => word);
  if (
    purposes.length === 0 &&
    around.some(({ word, gap }) => word.kind === "number" && word.start < head.start && gap <= 1)
  ) {
    return undefined;
  }
  if (head.kind === "needy" && purposes.length === 0) return undefined;
  if (isTrip && purposes.length > 0 && purposes.every(({ start }) => words.startsWith("confirm", start)))
    return undefined;
  return {
    start: Math.min(head.start, ...purposes.map(({ start }) => start)),
    end: Math.max(head.end, ...purposes.map(({ end }) => end)),
    sure: purposes.length > 0,
    plural,
  };
}

/** The words of the tables before and behind a head that belong to it, with how far they are away. */
function neighbours(words: string, found: readonly Word[], at: number): { word: Word; gap: number }[] {
  const head = found[at] as Word;
  const around: { word: Word; gap: number }[] = [];
  for (let other = at - 1; other >= 0 && other >= at - mostNeighbours; other--) {
    const word = found[other] as Word;
    const gap = gapBetween(words, Math.min(word.end, head.start), head.start);
    if (gap === undefined) break;
    around.push({ word, gap });
  }
  for (let other = at + 1; other < found.length && other <= at + mostNeighbours; other++) {
    const word = found[other] as Word;
    const gap = gapBetween(words, Math.min(head.end, word.start), word.start);
    if (gap === undefined) break;
    around.push({ word, gap });
  }
  return around;
}

const mostNeighbours = 4;

/** How many characters there are, unless something ends or interrupts what is said. */
function gapBetween(words: string, start: number, end: number): number | undefined {
  if (end - start > farthestPurpose) return undefined;
  const between = words.slice(start, end);
  return /[\d:.,;!?()[\]{}|。、，：；！？「」【】\u0001]|\n[\s\S]|[^ \n] *\n/.test(between)
    ? undefined
    : between.length;
}

const farthestQualifier = 40;

/**
 * Whether a bare "code" is meant: the first of its sentence, or behind "your", "this", "enter". Another word before it may be a name
 * (`Acme code`) as well as another thing (`Location code`): then the mail has to say elsewhere what it is about.
 */
function isItself(shape: string, words: string, { start }: Word, isAbout: boolean): boolean {
  const from = Math.max(0, start - farthestQualifier);
  const sentence =
    words
      .slice(from, start)
      .split(/[.!?:;,。！？：；，、(){}[\]【】「」"\n\t]/)
      .at(-1) ?? "";
  const before = sentence.match(/[\p{L}\p{M}]+/gu) ?? [];
  const last = before.at(-1);
  if (last !== undefined && notBeforeCode.has(last)) return false;
  if (last === undefined) return true;
  if (isAbout || isSmall(last)) return true;
  const written = shape.slice(start - sentence.length, start).match(/[\p{L}\p{M}]+/gu) ?? [];
  const names = written
    .toReversed()
    .findIndex((word, at) => at > 0 && isSmall(before.at(-1 - at) ?? "") && word !== "");
  return names > 0 && written.slice(-names).every((word) => word[0] !== word[0]?.toLowerCase());
}

/** Where something is to be saved and nothing to be confirmed, "your code" is for that. */
const savings =
  /voucher|coupon|discount|promo|% off|gutschein|rabat|remise|reduction|descuento|cupon|desconto|cupom|sconto|korting|znizk|sleva|indirim|alennus|скидк|купон|знижк|割引|クーポン|优惠|優惠|쿠폰|할인/;

/** "learn to code" */
const notBeforeCode = new Set(["to", "can", "and", "we", "of", "my", "our", "in", "into", "about"]);

function isSmall(word: string): boolean {
  return smallWords.has(word) || possessives.has(word);
}
