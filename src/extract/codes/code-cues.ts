import type { FoldedText } from "../folded-text.ts";
import { type FoundWord, wordFinder } from "../word-finder.ts";
import type { Candidate } from "./code-candidates.ts";
import { possessives, smallWords, useWords } from "./code-small-words.ts";
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
  /** Whether the mail speaks of this. Looked up when first asked, as few mails have a code that it could take the meaning from. */
  isAbout: (matter: OtherMatter) => boolean;
}

/**
 * What is said around the candidates; of a subject all of it. What that says of signing in and confirming, and of other matters, goes
 * for the whole mail.
 */
export function cuesIn(
  { shape, words }: Pick<FoldedText, "shape" | "words">,
  candidates: readonly Candidate[] | undefined,
  subject?: CodeCues,
): CodeCues {
  find ??= wordFinder(codeWords);
  const found = candidates === undefined ? find(words) : wordsAround(find, words, candidates);
  const told = new Map<OtherMatter, boolean>();
  const isAboutMatter = (matter: OtherMatter) => {
    const known = told.get(matter) ?? (subject?.isAbout(matter) === true || matter.told.test(words));
    told.set(matter, known);
    return known;
  };
  const purposes = found.filter(({ kind }) => kind === "purpose" || kind === "sure");
  const isAbout = purposes.length > 0 || (subject?.purposes.length ?? 0) > 0;
  let saving: boolean | undefined;
  const isSaving = () => {
    saving ??= !isAbout && savings.test(words);
    return saving;
  };
  let heads = 0;
  const cues = found.flatMap((word, at) => {
    const cue = isHead(word) && ++heads <= mostHeads ? cueOf(words, found, at, isAboutMatter) : undefined;
    return cue === undefined || !(cue.sure || (!isSaving() && isItself(shape, words, word, isAbout))) ? [] : [cue];
  });
  const names = found.filter(({ kind }) => kind === "number" || kind === "owner");
  return { cues, names: withoutParts(names, cues), purposes, isAbout: isAboutMatter };
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

/** Those that are no part of the name of a code, as "Konto" is of a "Kontoverifizierungscode". Both are in the order of their places. */
function withoutParts(names: readonly Word[], cues: readonly Cue[]): Word[] {
  let at = 0;
  return names.filter((name) => {
    while (at < cues.length && (cues[at]?.end ?? 0) < name.end) at++;
    return name.end <= (cues[at]?.start ?? Number.POSITIVE_INFINITY);
  });
}

/** What a mail may be about whose codes have the names of those that one types, and which of these names mean nothing there. */
interface OtherMatter {
  told: RegExp;
  /** Beginnings of purposes; with none of these the code is none either. */
  names: RegExp;
}

export const otherMatters: readonly OtherMatter[] = [
  // Who travels is given a "confirmation code".
  {
    told: /\b(?:flight|itinerary|reservation|boarding|airline|passenger|your (?:stay|trip)|hotel|pnr|record locator|e-?ticket|departs|your itinerary|vuelo|flug|volo|vlucht|reserva|check-in)\b/,
    names: /^confirm(?!$)/,
  },
  // A meeting has a passcode for all who come.
  {
    told: /\b(?:meeting id|meeting-id|join (?:the|zoom) meeting|(?:zoom|teams|webex|google)[- ]meeting|webinar id|join by phone|meet\.google|conference id|dial-in|besprechungs-id|id de (?:la )?reunion|id da reuniao|id riunione|vergaderings?-id|id spotkania)\b|идентификатор конференции|会议号|會議號|ミーティングid|회의 id/,
    names: /^(?:$|acc|zugang|secret|segur|secur)/,
  },
  // A receipt shows by what the bank let it pass.
  {
    told: /\b(?:receipt|merchant|you spent|you paid|terminal id|quittung|beleg|recibo|ricevuta|recu)\b/,
    names: /^(?:authori|approv|autori|genehm)/,
  },
  // Who writes programs means another code.
  {
    told: /\b(?:pull request|merge request|commits?|lgtm|stack trace|refactor|diff|unit tests?|exception)\b/,
    names: /^$/,
  },
];

/** Who speaks of codes more often sends none. */
const mostHeads = 500;

const farthestPurpose = 25;
const farthestOwner = 6;

function isHead({ kind }: Word): boolean {
  return kind === "code" || kind === "needy" || kind === "sure";
}

function cueOf(words: string, found: readonly Word[], at: number, isAbout: CodeCues["isAbout"]): Cue | undefined {
  const head = found[at] as Word;
  const plural = /codes$/.test(words.slice(head.start, head.end));
  if (head.kind === "sure") return { start: head.start, end: head.end, sure: true, plural };
  const around = neighbours(words, found, at);
  if (around.some(({ word, gap }) => word.kind === "owner" && gap <= farthestOwner)) return undefined;
  const purposes = around
    .filter(({ word: { kind } }) => kind === "purpose" || kind === "handover")
    .map(({ word }) => word);
  if (
    purposes.length === 0 &&
    around.some(({ word, gap }) => word.kind === "number" && word.start < head.start && gap <= 1)
  ) {
    return undefined;
  }
  if (head.kind === "needy" && purposes.length === 0 && !isGivenFor(words, found, at)) return undefined;
  const said = purposes.length === 0 ? [""] : purposes.map(({ start, end }) => words.slice(start, end));
  const isOfMatter = (matter: OtherMatter) => said.every((word) => matter.names.test(word)) && isAbout(matter);
  if (otherMatters.some(isOfMatter)) return undefined;
  return {
    start: Math.min(head.start, ...purposes.map(({ start }) => start)),
    end: Math.max(head.end, ...purposes.map(({ end }) => end)),
    sure: purposes.length > 0,
    plural,
  };
}

/** "Enter the key 390184 to confirm": its purpose stands behind the number. */
function isGivenFor(words: string, found: readonly Word[], at: number): boolean {
  const { end } = found[at] as Word;
  const number = /^ ?[:：]? ?\d{4,10} /.exec(words.slice(end, end + 16))?.[0];
  const next = found[at + 1];
  if (number === undefined || next === undefined) return false;
  const from = end + number.length;
  return next.kind === "purpose" && next.start >= from && gapBetween(words, from, next.start) !== undefined;
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
function isItself(shape: string, words: string, { start, end }: Word, isAbout: boolean): boolean {
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
  const name = shape.slice(start - sentence.length, start).match(/[\p{L}\p{M}]+/gu) ?? [];
  // "ICD code": a list that others keep.
  if (
    /(?<!\d )\b[A-Z]{2,4} ?$/.test(shape.slice(start - sentence.length, start)) &&
    last !== "sms" &&
    !before.some((word) => possessives.has(word))
  )
    return false;
  const isCompound = /[\p{L}-]$/u.test(sentence);
  if (isSmall(last) || (isCompound && possessives.has(before.at(-2) ?? ""))) return true;
  if (isAbout) return !/codes$/.test(words.slice(start, end));
  const names = name.toReversed().findIndex((word, at) => at > 0 && isSmall(before.at(-1 - at) ?? "") && word !== "");
  return names > 0 && name.slice(-names).every((word) => word[0] !== word[0]?.toLowerCase());
}

/** Where something is to be saved and nothing to be confirmed, "your code" is for that. */
const savings =
  /voucher|coupon|gift|redeem|reward|checkout|einlosen|gewinn|geschenk|cadeau|regalo|presente|premio|prezent|hediye|подар|lahja|ajandek|هدی|מתנה|उपहार|hadiah|ของขวัญ|礼品|禮品|ギフト|기프트|discount|promo|% off|gutschein|rabat|remise|reduction|descuento|cupon|desconto|cupom|sconto|korting|znizk|sleva|indirim|alennus|скидк|купон|знижк|割引|クーポン|优惠|優惠|쿠폰|할인/;

/** "learn to code" */
const notBeforeCode = new Set(["to", "can", "and", "we", "of", "my", "our", "in", "into", "about"]);

function isSmall(word: string): boolean {
  return smallWords.has(word) || possessives.has(word) || useWords.has(word);
}
