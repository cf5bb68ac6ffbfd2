import { firstFrom } from "../../primitives/first-from.ts";
import { firstRule, type Rule } from "../first-rule.ts";
import type { FoldedText } from "../folded-text.ts";
import { isAlphabetic, isUnspaced } from "../word-finder.ts";
import type { Candidate } from "./code-candidates.ts";
import { type CodeCues, type Cue, otherMatters } from "./code-cues.ts";
import {
  behindWords,
  channelWords,
  isWords,
  politeWords,
  possessives,
  smallWords,
  useWords,
} from "./code-small-words.ts";

/** The rank of a candidate. The most likely codes have rank 1. */
export type Rank = 1 | 2 | 3;

type Text = Pick<FoldedText, "shape" | "words">;

/** Everything that the rank of a candidate depends on. */
interface Surroundings {
  text: Text;
  candidate: Candidate;
  /** The cues, names and purposes in the text. */
  said: CodeCues;
  /** The cues, names and purposes of the subject. */
  subject: CodeCues;
  /** At most four cues before the candidate, the nearest first. */
  before: readonly Cue[];
  /** Those of `before` that end at most 200 characters before it. */
  near: readonly Cue[];
  /** At most two cues after it. */
  behind: readonly Cue[];
  /** True if it has a line to itself, apart from list marks, quotes and emphasis. */
  isAlone: boolean;
}

/** The first rule whose condition is true gives the rank. If that rank is undefined, the candidate is no code. */
export const rankRules: readonly Rule<Surroundings, Rank | undefined>[] = [
  ["Meet us in room 482913", (seen) => !hasCue(seen) && !isUsedFor(seen), undefined],
  ["Your code for order no. 482913", isNamed, undefined],
  ["Your code: SPRING20", (seen) => isSlogan(writtenOf(seen)) && !hasSureCue(seen), undefined],
  ["Your code is below. THANKS", (seen) => isCapitals(seen) && isOrdinary(seen), undefined],
  [
    "Your code: ABCDEF",
    (seen) => isCapitals(seen) && (isDrawn(writtenOf(seen)) || isBehindColon(seen)) && touchesNear(seen),
    1,
  ],
  [
    "Your code\n\nABCDEF",
    (seen) => isCapitals(seen) && seen.isAlone && (seen.near.length > 0 || hasSureSubject(seen)),
    2,
  ],
  ["Your code works with ACME apps", isCapitals, undefined],
  ["Your code is 482913", touchesNear, 1],
  ["482913 is your code", (seen) => seen.behind.some((cue) => touchesBeforeCue(seen, cue)), 1],
  ["Use 482913 to sign in", isUsedFor, 1],
  ["We changed your code in 2026", ({ candidate }) => candidate.doubtful, undefined],
  [
    "Your code is below.\n\n482913",
    ({ isAlone, near, subject }) => isAlone && (near.length > 0 || subject.cues.length > 0),
    2,
  ],
  [
    "Your code for the account of Jane Doe at Acme Bank: 482913",
    (seen) => seen.before.some((cue) => isSaidOf(seen, cue)),
    3,
  ],
  ["Your code comes from A1B2C3", ({ candidate }) => candidate.form !== "digits", undefined],
  ["482913\nEnter this code to sign in", isAboveCue, 3],
  ["Subject: Your sign-in code\n\nHere it is: 482913", isAnnounced, 3],
];

/** The rank of a candidate, or undefined if it is no code. */
export function rankOf(text: Text, candidate: Candidate, said: CodeCues, subject: CodeCues): Rank | undefined {
  return firstRule(rankRules, surroundingsOf(text, candidate, said, subject));
}

export function surroundingsOf(text: Text, candidate: Candidate, said: CodeCues, subject: CodeCues): Surroundings {
  const { start, end } = candidate;
  const { cues } = said;
  const next = firstFrom(cues, start);
  const before = cues
    .slice(Math.max(0, next - mostCues), next)
    .filter((cue) => cue.end <= start)
    .toReversed();
  return {
    text,
    candidate,
    said,
    subject,
    before,
    near: before.filter((cue) => start - cue.end <= farthestAbove),
    behind: cues.slice(next, next + 2).filter((cue) => cue.start >= end),
    isAlone: isAlone(text.shape, start, end),
  };
}

const mostCues = 4;
const farthestAbove = 200;
const farthestTouch = 40;
const farthestWord = 16;

/** The most characters between a cue and a candidate, if the purpose of the code and an "is" or a colon stand between them. */
const farthestAnnounced = 100;

function hasCue({ near, subject, behind }: Surroundings): boolean {
  return near.length > 0 || subject.cues.length > 0 || behind.length > 0;
}

function hasSureCue({ near, subject, behind }: Surroundings): boolean {
  return [near, subject.cues, behind].some((cues) => cues.some(({ sure }) => sure));
}

function hasSureSubject({ subject }: Surroundings): boolean {
  return subject.cues.some(({ sure }) => sure);
}

function isCapitals({ candidate }: Surroundings): boolean {
  return candidate.form === "capitals";
}

function writtenOf({ text, candidate: { start, end } }: Surroundings): string {
  return text.shape.slice(start, end);
}

/** The last four characters before the candidate. */
function rightBefore({ text, candidate: { start } }: Surroundings): string {
  return text.shape.slice(Math.max(0, start - 4), start);
}

function isBehindColon(seen: Surroundings): boolean {
  return /[:：] ?["'“«「]?$/.test(rightBefore(seen));
}

function touchesNear(seen: Surroundings): boolean {
  return seen.near.some((cue) => touchesBehindCue(seen, cue));
}

function isAboveCue({ isAlone, behind: [next], candidate, said }: Surroundings): boolean {
  return isAlone && next !== undefined && next.start - candidate.end <= farthestTouch && said.purposes.length > 0;
}

/** True if the number stands after a colon, and the subject announces a code but the text does not. */
function isAnnounced(seen: Surroundings): boolean {
  const isBehindLabel =
    seen.said.cues.length === 0 && hasSureSubject(seen) && /[\p{L}] ?[:：] ?$/u.test(rightBefore(seen));
  return isBehindLabel && !otherMatters.some(seen.said.isAbout);
}

/**
 * True if a word for another kind of number is at most 24 characters before the candidate, with only small words or marks such as "no.",
 * "#", ":" or "is" between: "order no. 482913".
 */
function isNamed({ text: { words }, candidate: { start }, said: { names }, before }: Surroundings): boolean {
  const next = firstFrom(names, start);
  return names.slice(Math.max(0, next - 3), next).some((name) => {
    if (start - name.end > farthestName || before.some((cue) => cue.start >= name.end)) return false;
    const between = words.slice(Math.min(name.end, start), start);
    if (/\n[\s\S]*\n[\s\S]*\n/.test(between) || /[.!?。！？] ?\n|[!?。！？;；]|\d/.test(between)) return false;
    if (before.some((cue) => isPartOfPurpose(words, cue, name, between))) return false;
    if (isUnspaced(words, name.start))
      return !/[,，、]/.test(between) && between.replaceAll(/[\s:：()（）-]/g, "").length <= 5;
    return splitWords(between).every((word) => nameWords.has(word) || isWords.has(word));
  });
}

/**
 * True if the name belongs to the purpose of a code and not to the number: "The code to sign in to your account is 482913", "enter the code
 * on this page: 482913".
 */
function isPartOfPurpose(words: string, cue: Cue, name: { start: number; end: number }, between: string): boolean {
  if (cue.end > name.start || name.start - cue.end > farthestAnnounced) return false;
  const clause = words.slice(cue.end, name.start);
  if (/[,;:|/\n(]|[.!?] /.test(clause)) return false;
  if (splitWords(between).some((word) => isWords.has(word))) return true;
  if (!/^[^:：\n]*[:：]\s*$|\n/.test(between)) return false;
  // Two words are examined, since a name may have two words, as in "your phone number".
  const last = splitWords(clause).slice(-2);
  return last.length === 0 ? cue.sure : last.some((word) => smallWords.has(word) || possessives.has(word));
}

const farthestName = 24;
const nameWords = new Set(
  "no nr num number numbers n n° nº nº № id ids code ref reference with in on de del du des da do der die das des le la el il of the a o to at xx x your ihre ihr votre su seu suo uw je sua a. n. nr. nummer numero numer cislo".split(
    " ",
  ),
);

/** True if the candidate has a line to itself, apart from list marks, quotes and emphasis. */
function isAlone(shape: string, start: number, end: number): boolean {
  let left = start - 1;
  while (left >= 0 && start - left < mostDecoration && isDecoration(shape[left] ?? "")) left--;
  if (left >= 0 && shape[left] !== "\n") return false;
  let right = end;
  while (right < shape.length && right - end < mostDecoration && isDecoration(shape[right] ?? "")) right++;
  return right >= shape.length || shape[right] === "\n";
}

const mostDecoration = 80;

function isDecoration(character: string): boolean {
  return " \t\r*_>|•·-—–\"'“”„«»「」『』【】()[]（）.:：=~`。".includes(character);
}

/** A candidate, a cue, and the text between them. */
interface Gap {
  shape: string;
  words: string;
  cue: Cue;
  candidate: Candidate;
  between: string;
  /** The words of `between`, in lower case and without accents. */
  inside: readonly string[];
  isAlone: boolean;
}

function gapOf({ text: { shape, words }, candidate, isAlone }: Surroundings, cue: Cue): Gap {
  const [from, to] = cue.end <= candidate.start ? [cue.end, candidate.start] : [candidate.end, cue.start];
  const inside = splitWords(words.slice(from, to));
  return { shape, words, cue, candidate, between: shape.slice(from, to), inside, isAlone };
}

/** Decides whether a cue names the candidate after it. */
const behindCueRules: readonly Rule<Gap, boolean>[] = [
  ["Enter your code. Room 482913", ({ between }) => between.length > farthestTouch || endsSentence(between), false],
  ["Your code from 3 to 482913", ({ between }) => /\d/.test(between), false],
  ["Your code\nRoom 482913", (gap) => gap.between.includes("\n") && !gap.isAlone && !isWrapped(gap), false],
  ["Your code, room 482913", (gap) => isNextClause(gap) && !hasIs(gap), false],
  [
    "Your code 2026",
    (gap) => gap.candidate.doubtful && !/[:：=「"“'\n]/.test(gap.between) && !hasIs(gap) && !hasUnspaced(gap.between),
    false,
  ],
  ["Your Acme code is: 482913", isLink, true],
];

function touchesBehindCue(seen: Surroundings, cue: Cue): boolean {
  return firstRule(behindCueRules, gapOf(seen, cue)) ?? false;
}

/** Decides whether a cue names the candidate before it. */
const beforeCueRules: readonly Rule<Gap, boolean>[] = [
  ["482913. Your code is", ({ between }) => between.length > farthestTouch || endsSentence(between), false],
  ["482913\nyour code", ({ between }) => /[\d\n]/.test(between), false],
  ["482913 opens with your code", (gap) => !isLink(gap), false],
  ["2026 (code)", (gap) => gap.candidate.doubtful && !hasIs(gap) && !hasUnspaced(gap.between), false],
  ["482913 is the code", ({ inside, between }) => hasAny(inside, behindWords) || hasUnspaced(between), true],
  ["482913, your code", ({ inside }) => hasAny(inside, possessives), true],
  ["482913 kodunu giriniz", isObject, true],
  ['"482913" code', ({ between, inside }) => /^["'”»*_)\]] ?/.test(between) && inside.length === 0, false],
  ["482913 codes", ({ candidate, cue }) => candidate.doubtful || cue.plural, false],
  ["482913 (code)", (gap) => isApposition(gap) && (gap.candidate.form === "digits" || gap.cue.sure), true],
  ["A1B2C3 (code)", isApposition, false],
  [
    "482913 Acme verification code",
    (gap) => gap.cue.sure && gap.inside.length <= 3 && gap.candidate.form === "digits" && beginsSentence(gap),
    true,
  ],
];

function touchesBeforeCue(seen: Surroundings, cue: Cue): boolean {
  return firstRule(beforeCueRules, gapOf(seen, cue)) ?? false;
}

/** Decides whether a cue earlier in the same sentence refers to the candidate. */
const sentenceRules: readonly Rule<Gap, boolean>[] = [
  [
    "Your code is below. Room 482913",
    ({ between }) => between.length > farthestAnnounced || endsSentence(between),
    false,
  ],
  ["Your code\nRoom 482913", (gap) => gap.between.includes("\n") && !isWrapped(gap), false],
  ["Your code for the account of Jane Doe is 482913", ({ inside }) => isWords.has(inside.at(-1) ?? ""), true],
  [
    "Your code for the account of Jane Doe and of John Doe\nRoom: 482913",
    ({ between }) => /\n[^\n:：]{2,40}[:：] ?$/.test(between),
    false,
  ],
  ["Your code for the account of Jane Doe: 482913", isBehindDescription, true],
  [
    "Your sign-in code for Acme today 482913",
    (gap) =>
      gap.candidate.form === "digits" &&
      !/\d/.test(gap.between) &&
      gap.cue.sure &&
      !gap.cue.plural &&
      gap.between.length <= farthestTouch,
    true,
  ],
];

function isSaidOf(seen: Surroundings, cue: Cue): boolean {
  return firstRule(sentenceRules, gapOf(seen, cue)) ?? false;
}

function hasAny(words: readonly string[], list: ReadonlySet<string>): boolean {
  return words.some((word) => list.has(word));
}

function hasIs({ inside }: Gap): boolean {
  return hasAny(inside, isWords);
}

function isNextClause({ between, inside }: Gap): boolean {
  return /, /.test(between) && inside.length > 0 && !/[:：]/.test(between);
}

/** True if the word for the code is the object of a verb and follows the number, as in Turkish: "482913 kodunu giriniz". */
function isObject({ words, cue, between, inside }: Gap): boolean {
  return inside.length === 0 && between.trim() === "" && objectWord.test(words.slice(cue.start, cue.end));
}

const objectWord = /(?:^| )(?:kodu|kodot|koddal|koodia|कोड|কোড)/;

function isApposition({ between }: Gap): boolean {
  return /^ ?[(（【—–:-]/.test(between);
}

function beginsSentence({ shape, candidate: { start } }: Gap): boolean {
  return /(?:^|[\n.:!?"'([【] ?)$/.test(shape.slice(Math.max(0, start - 2), start));
}

function isBehindDescription({ words, cue, between, inside }: Gap): boolean {
  if (!/[:：] ?["'“«「*_]*$/.test(between)) return false;
  const isOwn = possessives.has(splitWords(words.slice(Math.max(0, cue.start - farthestWord), cue.start)).at(-1) ?? "");
  return cue.sure || isOwn || smallWords.has(inside[0] ?? "");
}

/**
 * True if a verb of entering is before the candidate and a purpose is beside it: "Use 482913 to sign in", "to sign in please use 482913",
 * "enter 482913 when you are asked for the code". A purpose in the subject is enough, too.
 */
function isUsedFor({ text: { shape, words }, candidate, said: { cues, purposes }, subject }: Surroundings): boolean {
  const { start, end, form, doubtful } = candidate;
  if (form !== "digits" || doubtful) return false;
  const before = words.slice(Math.max(0, start - farthestTouch), start);
  if (!/\p{L} ?["'“«*]?$/u.test(before)) return false;
  const verb = splitWords(before).findLast((word) => !politeWords.has(word));
  if (!useWords.has(verb ?? "")) return false;
  // "Use 204817 Main Street" is an address, whatever the subject is about.
  if (subject.purposes.length > 0 && !/^ \p{Lu}/u.test(shape.slice(end, end + 2))) return true;
  const isClause = (from: number, to: number) =>
    to - from <= farthestTouch && !/[\d.:;!?\n]/.test(words.slice(from, to));
  const last = purposes[firstFrom(purposes, start) - 1];
  if (last !== undefined && isClause(last.end, start)) return true;
  return [purposes, cues].some((found) => {
    const next = found[firstFrom(found, end)];
    return next !== undefined && isClause(end, next.start) && !words.slice(end, next.start).includes(",");
  });
}

function endsSentence(between: string): boolean {
  if (/[!?;](?:\s|$)|(?<![^\p{L}]\p{Lu}|\b(?:[MD]rs?|Ms|Sra?|St|No|Nr))\.(?:\s|$)|[。！？؟।；]/u.test(between))
    return true;
  const paragraph = between.search(/\n[ \t\r]{0,80}\n/);
  return paragraph !== -1 && /\p{L}/u.test(between.slice(paragraph));
}

/** True if a mail program probably broke the line between the cue and the candidate: the line has over 50 characters. */
function isWrapped({ shape, cue, between }: Gap): boolean {
  const lineBreak = cue.end + between.indexOf("\n");
  const begun = shape.lastIndexOf("\n", lineBreak - 1);
  return lineBreak - begun > 50 && !/\n[ \t\r]*\n/.test(between);
}

function splitWords(text: string): string[] {
  return text.match(/[\p{L}\p{M}°º]+/gu) ?? [];
}

function hasUnspaced(text: string): boolean {
  for (let at = 0; at < text.length; at++) if (isUnspaced(text, at)) return true;
  return false;
}

const mostNames = 3;
const mostForeignLetters = 15;

/** True if only an "is", a possessive, marks, or a name of up to three words stand between the cue and the candidate. */
function isLink({ between, inside }: Gap): boolean {
  if (/[={}<>]/.test(between)) return false;
  const written = splitWords(between);
  let names = 0;
  let foreign = 0;
  for (const [at, word] of inside.entries()) {
    if (linkingWords.some((list) => list.has(word))) continue;
    const name = written[at] ?? word;
    if (!isAlphabetic(name, 0)) foreign += name.length;
    else if (name[0] !== name[0]?.toLowerCase()) names++;
    else return false;
  }
  return names <= mostNames && foreign <= mostForeignLetters;
}

const linkingWords = [smallWords, isWords, possessives, behindWords, useWords, channelWords];

/** True for `SPRING20` and `Windows11`: people make such words for a discount or a product, and codes to type are random. */
function isSlogan(written: string): boolean {
  const letters = /^([A-Z]{3,}|[A-Za-z][a-z]{2,}[A-Z]{0,3})\d{1,4}$/.exec(written)?.[1];
  return letters !== undefined && isSpeakable(letters);
}

/** True for random groups of capitals that nobody can pronounce: `HXKW-PLMT`. */
function isDrawn(written: string): boolean {
  const groups = written.split("-");
  return groups.length > 1 && !groups.every(isSpeakable);
}

/** True for letters that may be a word: they have a vowel, and the consonants before the first one begin words in some language. */
function isSpeakable(letters: string): boolean {
  const consonants = /^([^aeiouy]{0,10})[aeiouy]/i.exec(letters)?.[1]?.toLowerCase();
  return consonants !== undefined && (consonants.length < 2 || beginnings.has(consonants));
}

const beginnings: ReadonlySet<string> = new Set(
  "bl br ch chr cl cr dr dw fl fr gl gn gr kl kn kr ll ph pf pl pr ps rh sc sch schl schm schn schw scr sh shr sk sl sm sn sp spl spr sq st str sv sw th thr tr ts tw vl vr wh wr zw".split(
    " ",
  ),
);

/** True if the candidate is a common word in capitals, or a part of a cue. */
function isOrdinary({ text, candidate: { start, end }, said: { cues } }: Surroundings): boolean {
  return ordinaryWords.has(text.words.slice(start, end)) || cues.some((cue) => cue.start < end && cue.end > start);
}

/** Words of buttons and greetings that stand in capitals on lines of their own. */
const ordinaryWords = new Set(
  "hello thanks thank welcome click here continue submit start begin shop sale free note warning important team regards cheers support contact open view more next done yes okay hallo danke weiter hola gracias bonjour merci ciao grazie faq help home menu news about legal terms privacy never please dear from reply address expires minutes login signin confirm verify".split(
    " ",
  ),
);
