import { firstRule, type Rule } from "../first-rule.ts";
import type { FoldedText } from "../folded-text.ts";
import { type FoundWord, wordFinder } from "../word-finder.ts";
import type { Candidate } from "./code-candidates.ts";
import {
  channelWords,
  isWords,
  lockWords,
  possessives,
  smallWords,
  thingsWithCodes,
  useWords,
} from "./code-small-words.ts";
import { codeWords } from "./code-words.ts";

/** A passage of a text that mentions a code to type. */
export interface Cue {
  start: number;
  end: number;
  /** True if the passage states the purpose of the code, or can mean nothing else. The number may then be further away. */
  sure: boolean;
  /** True if the passage mentions several codes: "12000 verification codes". */
  plural: boolean;
}

export interface CodeCues {
  cues: readonly Cue[];
  /** Names of numbers that are not codes. */
  names: readonly { start: number; end: number }[];
  /** Words for signing in, confirming and other purposes of a code. */
  purposes: readonly { start: number; end: number }[];
  /** True if the mail is about this topic. The words of the mail are searched only at the first call, since few codes need it. */
  isAbout: (matter: OtherMatter) => boolean;
}

/**
 * The cues around the candidates. For a subject `candidates` is undefined, and the whole subject is read. The purposes and the other
 * matters in `subject` count for the whole mail.
 */
export function cuesIn(
  { shape, words }: Pick<FoldedText, "shape" | "words">,
  candidates: readonly Candidate[] | undefined,
  subject?: CodeCues,
): CodeCues {
  find ??= wordFinder(codeWords);
  const found = candidates === undefined ? find(words) : wordsAround(find, words, candidates);
  const matters = new Map<OtherMatter, boolean>();
  const isAboutMatter = (matter: OtherMatter) => {
    const known = matters.get(matter) ?? (subject?.isAbout(matter) === true || matter.signs.test(words));
    matters.set(matter, known);
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
    return cue === undefined ||
      !(cue.sure || (!isSaving() && isItself(shape, words, word, { isAbout, numbers: candidates?.length ?? 1 })))
      ? []
      : [cue];
  });
  const names = found.filter(({ kind }) => kind === "number" || kind === "owner");
  return { cues, names: withoutParts(names, cues), purposes, isAbout: isAboutMatter };
}

/** The number of characters that are searched before and after a number. */
const farthestBefore = 400;
const farthestBehind = 300;

function wordsAround(finder: NonNullable<typeof find>, words: string, candidates: readonly Candidate[]): Word[] {
  const found: Word[] = [];
  let done = 0;
  for (const { start, end } of candidates) {
    const to = Math.min(words.length, end + farthestBehind);
    if (to <= done) continue;
    for (const word of finder(words, Math.max(done, start - farthestBefore), to)) found.push(word);
    // The last word may reach beyond the end of the piece. The next piece then begins after this word.
    done = Math.max(to, found.at(-1)?.end ?? 0);
  }
  return found;
}

/** The finder of the words for codes. It is created for the first mail, so that the service starts sooner. */
let find: ReturnType<typeof wordFinder<keyof typeof codeWords>> | undefined;

type Word = FoundWord<keyof typeof codeWords>;

/**
 * The names that are not part of a cue: "Konto" in "Kontoverifizierungscode" names no account. Both lists must be in the order of the text.
 */
function withoutParts(names: readonly Word[], cues: readonly Cue[]): Word[] {
  let at = 0;
  return names.filter((name) => {
    while (at < cues.length && (cues[at]?.end ?? 0) < name.end) at++;
    return name.end <= (cues[at]?.start ?? Number.POSITIVE_INFINITY);
  });
}

/** A topic of mail that has codes of its own, with the same names as codes to type. */
interface OtherMatter {
  /** Words that show that the mail is about this. */
  signs: RegExp;
  /** Names of codes that mean something else in such mail: how the purpose begins, or `^$` for a bare "code". */
  names: RegExp;
}

export const otherMatters: readonly OtherMatter[] = [
  // Travellers get a "confirmation code".
  {
    signs:
      /\b(?:flight|itinerary|reservation|boarding|airline|passenger|your (?:stay|trip)|hotel|pnr|record locator|e-?ticket|departs|your itinerary|vuelo|flug|volo|vlucht|reserva|check-in)\b/,
    names: /^confirm(?!$)/,
  },
  // A meeting has one passcode for all participants.
  {
    signs:
      /\b(?:meeting id|meeting-id|join (?:the|zoom) meeting|(?:zoom|teams|webex|google)[- ]meeting|webinar id|join by phone|meet\.google|conference id|dial-in|besprechungs-id|id de (?:la )?reunion|id da reuniao|id riunione|vergaderings?-id|id spotkania)\b|идентификатор конференции|会议号|會議號|ミーティングid|회의 id/,
    names: /^(?:$|acc|zugang|secret|segur|secur)/,
  },
  // A receipt shows the bank's authorization code.
  {
    signs: /\b(?:receipt|merchant|you spent|you paid|terminal id|quittung|beleg|recibo|ricevuta|recu)\b/,
    names: /^(?:authori|approv|autori|genehm)/,
  },
  // For programmers, code is source code.
  {
    signs: /\b(?:pull request|merge request|commits?|lgtm|stack trace|refactor|diff|unit tests?|exception)\b/,
    names: /^$/,
  },
];

/** The most words for a code that are examined in a mail. */
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
    around.some(
      ({ word, gap }) =>
        word.kind === "number" && word.start < head.start && gap <= 1 && !isChannel(words, word, found[at - 2]),
    )
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

/** "Your WhatsApp code" names the channel of the code. "Your customer ID code" names another kind of number. */
function isChannel(words: string, { start, end }: Word, before: Word | undefined): boolean {
  const word = words.slice(start, end);
  const named = /([\p{L}\p{M}]{1,20}) $/u.exec(words.slice(Math.max(0, start - 21), start))?.[1];
  // "Your Apple account code", and not "your account code".
  const isOfName = word === "account" && named !== undefined && !isSmall(named) && !thingsWithCodes.has(named);
  if (!isOfName && !channelWords.has(word)) return false;
  return before === undefined || before.kind !== "number" || start - before.end > 1;
}

/** "Enter the key 390184 to confirm": the purpose stands after the number. */
function isGivenFor(words: string, found: readonly Word[], at: number): boolean {
  const { end } = found[at] as Word;
  const number = /^ ?[:：]? ?\d{4,10} /.exec(words.slice(end, end + 16))?.[0];
  const next = found[at + 1];
  if (number === undefined || next === undefined) return false;
  const from = end + number.length;
  return next.kind === "purpose" && next.start >= from && gapBetween(words, from, next.start) !== undefined;
}

/** The other words of the tables near a word for a code (`head`) that may belong to it, with their distance in characters. */
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

/** The number of characters between two words, or undefined if they are too many, or contain a number or a punctuation mark. */
function gapBetween(words: string, start: number, end: number): number | undefined {
  if (end - start > farthestPurpose) return undefined;
  const between = words.slice(start, end);
  return /[\d:.,;!?()[\]{}|。、，：；！？「」【】\u0001]|\n[\s\S]|[^ \n] *\n/.test(between)
    ? undefined
    : between.length;
}

const farthestQualifier = 40;

/** A bare "code", with the words before it in its sentence. */
interface BareCode {
  /** The words before it, in lower case. */
  before: readonly string[];
  /** For each word of `before`: true if it begins with a capital. */
  capitals: readonly boolean[];
  last: string;
  sentence: string;
  /** True if "code" is a part of a longer word: `acme-code`. */
  isJoined: boolean;
  /** The word itself: `code`, `codes`, `kodu`. */
  word: string;
  /** True if a number follows directly (`code: 482913`, `code is 482913`), and the mail has at most two numbers (`mostNumbers`). */
  isGiven: boolean;
  /** True if the mail elsewhere mentions signing in or confirming. */
  isAbout: boolean;
}

/**
 * Decides whether a bare "code" is one to type. The word before it may be a name (`Acme code`) or a thing (`Location code`): a name counts
 * only if the number follows directly, a thing never does.
 */
const bareCodes: readonly Rule<BareCode, boolean>[] = [
  ["learn to code", ({ last }) => notBeforeCode.has(last), false],
  ["Code: 482913", ({ before }) => before.length === 0, true],
  ["the ICD code, from a public list", isInitials, false],
  ["enter the code", ({ last }) => isSmall(last), true],
  ["your Acme-code", ({ before, isJoined }) => isJoined && possessives.has(before.at(-2) ?? ""), true],
  ["the door code", ({ last }) => lockWords.has(last), true],
  ["Location code", isThing, false],
  ["Acme codes, in a mail about signing in", ({ isAbout, word }) => isAbout && word.endsWith("codes"), false],
  ["Acme code, in a mail about signing in", ({ isAbout }) => isAbout, true],
  ["your Acme Cloud code", (code) => isNamed(code, wordsBehindSmall(code)), true],
  ["Acme codes: 482913, Şube kodu: 4829, Klantcode: 482913", (code) => !isEnglish(code), false],
  ["Acme code: 482913", (code) => code.isGiven && isSender(code), true],
  ["your Acme launch code is 482913", (code) => code.isGiven && isThingOfName(code, wordsBehindSmall(code)), true],
];

function isItself(
  shape: string,
  words: string,
  { start, end }: Word,
  mail: Pick<BareCode, "isAbout"> & { numbers: number },
): boolean {
  const from = Math.max(0, start - farthestQualifier);
  const sentence =
    words
      .slice(from, start)
      .split(/[.!?:;,。！？：；，、(){}[\]【】「」"\n\t]/)
      .at(-1) ?? "";
  const written = shape.slice(start - sentence.length, start);
  const before = sentence.match(wordPattern) ?? [];
  const code: BareCode = {
    before,
    capitals: (written.match(wordPattern) ?? []).map((word) => word[0] !== word[0]?.toLowerCase()),
    last: before.at(-1) ?? "",
    sentence: written,
    isJoined: /[\p{L}-]$/u.test(sentence),
    word: words.slice(start, end),
    isGiven: mail.numbers <= mostNumbers && isGivenAtOnce(words, end),
    isAbout: mail.isAbout,
  };
  return firstRule(bareCodes, code) ?? false;
}

const wordPattern = /[\p{L}\p{M}]+/gu;

function isInitials({ sentence, before, last }: BareCode): boolean {
  if (channelWords.has(last) || before.some((word) => possessives.has(word))) return false;
  return /(?<!\d )\b[A-Z]{2,4} ?$/.test(sentence);
}

/** True for a thing such as "bank" before "code", unless it is a part of a name, as in "Your Acme Bank code". */
function isThing({ before, capitals, last }: BareCode): boolean {
  const isPartOfName = capitals.at(-1) === true && capitals.at(-2) === true && !isSmall(before.at(-2) ?? "");
  return thingsWithCodes.has(last) && !isPartOfName;
}

/**
 * True for the English word "code". Some rules are only for English: in other languages the sender's name stands elsewhere, and the list
 * of things has only English words.
 */
function isEnglish({ word, isJoined, sentence }: BareCode): boolean {
  return word === "code" && (!isJoined || sentence.endsWith("-"));
}

/** The number of words between the last "your" or other small word and "code", or 0 without such a word. */
function wordsBehindSmall({ before }: BareCode): number {
  const small = before.findLastIndex((word, at) => at < before.length - 1 && isSmall(word));
  return small < 0 ? 0 : before.length - 1 - small;
}

/** True if the last `count` words all begin with a capital. */
function isNamed({ capitals }: BareCode, count: number): boolean {
  return count > 0 && capitals.slice(-count).every((isCapital) => isCapital);
}

/** True for a name that begins the sentence and contains no thing: "Acme Cloud", but not "Bank Account". */
function isSender(code: BareCode): boolean {
  return isNamed(code, code.before.length) && !code.before.some((word) => thingsWithCodes.has(word));
}

/** True if the last `count` words, except the last one, begin with a capital. */
function isThingOfName({ capitals }: BareCode, count: number): boolean {
  return count > 1 && capitals.slice(-count, -1).every((isCapital) => isCapital);
}

/** A mail with more numbers than this is taken for a list, which has other kinds of codes. */
const mostNumbers = 2;

/** True if four to eight digits follow, with at most an "is" and a colon before them. */
function isGivenAtOnce(words: string, end: number): boolean {
  const [, word = "", digits] =
    /^ ?([\p{L}]{1,8})? ?[:：]? ?["“«]?(\d{4,8}|\d{3}[ -]\d{3})(?![\d\p{L}])/u.exec(words.slice(end, end + 24)) ?? [];
  return digits !== undefined && (word === "" || isWords.has(word));
}

/** In a mail about a discount that has nothing to confirm, "your code" is for the discount. */
const savings =
  /voucher|coupon|gift|redeem|reward|checkout|einlosen|gewinn|geschenk|cadeau|regalo|presente|premio|prezent|hediye|подар|lahja|ajandek|هدی|מתנה|उपहार|hadiah|ของขวัญ|礼品|禮品|ギフト|기프트|discount|promo|% off|gutschein|rabat|remise|reduction|descuento|cupon|desconto|cupom|sconto|korting|znizk|sleva|indirim|alennus|скидк|купон|знижк|割引|クーポン|优惠|優惠|쿠폰|할인/;

/** Words before "code" as a verb or another noun: "learn to code". */
const notBeforeCode = new Set(["to", "can", "and", "we", "of", "my", "our", "in", "into", "about"]);

function isSmall(word: string): boolean {
  return smallWords.has(word) || possessives.has(word) || useWords.has(word);
}
