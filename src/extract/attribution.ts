import { type AttributionWords, attributionWords } from "./attribution-words.ts";
import { firstRule, type Rule } from "./first-rule.ts";
import type { TextLine } from "./reply-lines.ts";
import { withoutMarkup } from "./reply-lines.ts";

/** The line above a quote ("On Tuesday … Jane wrote:"), as indexes of lines. */
export interface Attribution {
  from: number;
  /** The index after its last line. */
  to: number;
  /** True if lines with `>` follow. Otherwise everything below is the quote. */
  hasMarkedQuote: boolean;
}

export interface Attributions {
  /**
   * The attribution that begins at this line, in any language of the table. It needs a date with an address or a time, or a `>` below it:
   * otherwise "On Monday he wrote:" may be the sender's own sentence. The sender's own lines may be right above, so the up to three lines
   * at which it may begin are compared: the highest strength wins, and among equal ones the last line.
   */
  at(from: number): Attribution | undefined;
  /** The line at which an attribution that ends before `to` begins, or undefined without one. */
  startAbove(to: number, hasMarkedQuote: boolean): number | undefined;
}

/** Finds the attributions among these lines. Each range of lines is judged once. */
export function attributionsIn(lines: readonly TextLine[]): Attributions {
  const known = new Map<number, number>();
  const strengthBetween = (start: number, to: number, hasMarkedQuote: boolean) => {
    const key = start * mostLines + to - start - 1;
    const strength = known.get(key) ?? strengthOf(lines.slice(start, to), hasMarkedQuote);
    known.set(key, strength);
    return strength;
  };
  const surestStart = (from: number, to: number, hasMarkedQuote: boolean) => {
    let [surest, most]: [number | undefined, number] = [undefined, 0];
    for (let start = to - 1; start >= from && most < strongest; start -= 1) {
      if (!mayBegin(lines, start, to) || (most === weakest && !isDate(lines, start))) continue;
      const strength = strengthBetween(start, to, hasMarkedQuote);
      if (strength > most) [surest, most] = [start, strength];
    }
    return surest;
  };
  return {
    at(from) {
      const end = Math.min(lines.length, from + mostLines);
      let length = 0;
      for (let at = from; at < end; at += 1) {
        const line = lines[at];
        if (line === undefined || line.isBlank) return undefined;
        if (line.isQuoted && !(at > from && endsAddress(lines[at - 1]?.words ?? "", line.words))) return undefined;
        length += line.words.length + 1;
        if (length > mostCharacters) return undefined;
        if (!mayEnd(line.words)) continue;
        const hasMarkedQuote = quoteFollows(lines, at + 1);
        if (!hasMarkedQuote && !hasDigit(lines, from, at + 1)) continue;
        const start = surestStart(from, at + 1, hasMarkedQuote);
        if (start !== undefined) return start === from ? { from, to: at + 1, hasMarkedQuote } : undefined;
      }
      return undefined;
    },
    startAbove: (to, hasMarkedQuote) => surestStart(Math.max(0, to - mostLines), to, hasMarkedQuote),
  };
}

/** The strength of the evidence that these lines are an attribution: from 1 to 3, or 0 if they are none. */
function strengthOf(lines: readonly TextLine[], hasMarkedQuote: boolean): number {
  const written = lines.length === 1 ? (lines[0]?.words ?? "") : lines.map(({ words }) => words).join(" ");
  const isSigned = endsWithSign(written);
  const words = withoutMarkup(withoutColon(written));
  if (words.length < 4 || words.length > mostCharacters) return 0;
  const masked = withoutAddresses(words);
  const isDated = digit.test(masked);
  if (!hasMarkedQuote && !(isDated && (masked.includes("@") || time.test(masked)))) return 0;
  if (beginsWithinAddress(words)) return 0;
  const ended = languagesEndingIn(words);
  // Without a colon, an attribution needs an opener, and a closer right after an address.
  if (!isSigned && !ended.some((language) => opens(language, words) && endsAfterAddress(language, words))) return 0;
  const writing = languagesThatWrote(words, ended);
  const isAddressLast = endsWithAddress.test(words);
  const hasAddress = isAddressLast || address.test(words);
  const hasTime = time.test(masked);
  // A date and an address above a quote are enough in any language.
  const isPlain = hasMarkedQuote && hasAddress && (hasTime || year.test(masked));
  const isQuoting = words.startsWith("quoting ") || words.startsWith("zitat ");
  if (writing.length === 0 && !isPlain && !isAddressLast && !isQuoting) return 0;
  if (!isDated) return hasMarkedQuote && namesWriter(words, hasAddress) ? weakest : 0;
  // "On Tuesday at 14:05 he wrote:" has a time and no day.
  const hasDay = year.test(masked) || shortDate.test(masked) || (hasTime && digit.test(masked.replace(time, "")));
  if (!hasDay && !hasTime) return 0;
  const beginning = firstRule(beginnings, factsOf(lines, { words, masked, hasAddress, writing }));
  if (beginning === undefined) return 0;
  if (!isSigned && !(beginning.kind === "opener" && hasDay && hasTime)) return 0;
  // Without a word for writing, it needs a date and an address first, or a marked quote below.
  if (writing.length === 0 && !isPlain && beginning.kind !== "dateWithAddress") return 0;
  // Without lines with `>` below, a line with only a name and a day may be the sender's own sentence.
  if (!hasMarkedQuote && !hasAddress && !(hasTime && hasDay && beginning.kind !== "other")) return 0;
  return hasDay ? beginning.day : beginning.time;
}

const weakest = 1;
const strongest = 3;

/** The kind of the first words of an attribution. `day` is its strength if it has a day, `time` if it has only a time. */
interface Beginning {
  kind: "opener" | "dateWithAddress" | "nameWithAddress" | "date" | "nameThatWroteOn" | "other";
  day: number;
  time: number;
}

interface BeginningFacts {
  /** All words of the attribution. */
  words: string;
  /** The words with `@` in place of each address. */
  masked: string;
  hasAddress: boolean;
  /** The languages in which it has a word for writing, such as "wrote". */
  writing: readonly AttributionWords[];
  /** The words of its first line. */
  first: string;
  isSingleLine: boolean;
  /** True if the attribution is a single line, or if its first line may continue on the next one. */
  isJoined: boolean;
  /** True if the attribution is a single line, or if a program probably folded its first line. */
  isFolded: boolean;
}

/**
 * The first line must fit a rule by itself, without the lines below it. If it only begins with a name, it may be the end of the sender's
 * own sentence, so `other` has the lowest strength; a sentence hardly ends in a line that begins with "on".
 */
const beginnings: readonly Rule<BeginningFacts, Beginning>[] = [
  ["On Tue, 3 March 2026 Jane Doe wrote", hasOpener, { kind: "opener", day: 3, time: 2 }],
  ["2026-03-03 14:05 Jane Doe <jane@example.com>", hasDateWithAddress, { kind: "dateWithAddress", day: 3, time: 2 }],
  ["Jane Doe <jane@example.com> wrote on 3 March 2026", hasWriter, { kind: "nameWithAddress", day: 3, time: 2 }],
  [
    "3 March 2026, Jane Doe wrote",
    ({ isJoined, first }) => isJoined && dateFirst.test(first),
    { kind: "date", day: 2, time: 2 },
  ],
  ["Jane Doe wrote on Thu, 20 June 2024 at 14:49", hasNameThatWroteOn, { kind: "nameThatWroteOn", day: 3, time: 1 }],
  ["Jane Doe (3 March 2026) wrote", (facts) => facts.isJoined && facts.isFolded, { kind: "other", day: 1, time: 1 }],
];

function factsOf(
  [line, next]: readonly TextLine[],
  { words, masked, hasAddress, writing }: Pick<BeginningFacts, "words" | "masked" | "hasAddress" | "writing">,
): BeginningFacts {
  const first = withoutMarkup(line?.words ?? "");
  const isSingleLine = next === undefined;
  return {
    words,
    masked,
    hasAddress,
    writing,
    first,
    isSingleLine,
    isJoined: isSingleLine || goesOn(first, next.words),
    isFolded: isSingleLine || isFolded(first, next.words),
  };
}

function hasOpener({ words, writing, first, isSingleLine, isJoined }: BeginningFacts): boolean {
  const isBegun = isSingleLine || digit.test(first) || first.split(" ").length <= mostBeforeDate;
  return isJoined && isBegun && writing.some((language) => opens(language, words));
}

function hasDateWithAddress({ masked, hasAddress, first, isJoined }: BeginningFacts): boolean {
  return isJoined && hasAddress && dateFirst.test(first) && isWholeDate(masked);
}

function hasWriter({ words, writing, first, isSingleLine }: BeginningFacts): boolean {
  const behind = isSingleLine || /[@<]/.test(first) ? wordsBehindWriter(words) : undefined;
  return (
    behind !== undefined && (dateFirst.test(behind) || writing.some((language) => beginsWithVerb(language, behind)))
  );
}

function hasNameThatWroteOn({ masked, writing, first, isJoined }: BeginningFacts): boolean {
  return isJoined && digit.test(first) && writing.some((language) => isNameThatWroteOn(language, masked));
}

/**
 * True for a line with only a date, or with a date and a name that continues below. Any other line above "Jane wrote:" is the sender's own.
 */
function isDate(lines: readonly TextLine[], at: number): boolean {
  const [words, next] = [lines[at]?.words ?? "", lines[at + 1]?.words ?? ""];
  if (!isWholeDate(words)) return false;
  if (words.endsWith(",") || timeLast.test(words)) return true;
  return time.test(words) && (/^[<([]/.test(next) || (isFolded(words, next) && words.length <= widestFold));
}

/** A time at the end, perhaps with a comma and the beginning of a name after it. */
const timeLast =
  /\p{Nd}[:٫h.]\p{Nd}{2}(?: ?[^\s\p{Nd},]{1,6}| ?(?:gmt|utc)?[+-]\p{Nd}{1,2}:?(?:\p{Nd}{2})?)?(?:,(?: [^\s,]{1,30}){0,4})?$/u;
const widestFold = 80;

/** True if an attribution may begin with this line: a quick test before the lines are joined. */
function mayBegin(lines: readonly TextLine[], start: number, to: number): boolean {
  const [line, next] = [lines[start], lines[start + 1]];
  if (line === undefined || line.isQuoted) return false;
  if (start + 1 === to) return true;
  // A colon at the end of an earlier line is allowed only with an open bracket: "(időpont:".
  if (endsWithSign(line.words) && !line.words.includes("(")) return false;
  return /[@<]/.test(line.words) || goesOn(line.words, next?.words ?? "");
}

/** True if an attribution may continue on the next line. The sender's own sentence above an attribution rarely passes these tests. */
function goesOn(first: string, next: string): boolean {
  if (/[!?。！？]$|\p{L}{5}\.$/u.test(first)) return false;
  if (/[,<(]$/.test(first) || /^[<([]|^\S+$/.test(next)) return true;
  return isFolded(first, next) || (digit.test(first) && (time.test(first) || isWholeDate(first)));
}

/** True if a program probably folded the line there: with the next word it would be as long as a folded line (`narrowestFold`). */
function isFolded(first: string, next: string): boolean {
  const space = next.indexOf(" ");
  return first.length + (space < 0 ? next.length : space) >= narrowestFold;
}

const narrowestFold = 56;
const mostBeforeDate = 3;

const mostLines = 3;
const mostCharacters = 300;

const languages = Object.values(attributionWords);

const digit = /\p{Nd}/u;
const address = /[^\s@<>([]@[^\s@<>)\]]/;
const endsWithAddress = /@[^\s@]{1,253}[>)\]]$/;
/** Matches a time: `14:05`, `2:05`, `14h05`, `14时`, and `14.05` unless it is part of a date. */
const time = /\p{Nd}{1,2}(?:[:٫h点點]\p{Nd}{2}|[时時시点點])|(?<![\p{Nd}./-])\p{Nd}{1,2}\.\p{Nd}{2}(?![\p{Nd}./-])/u;
const year = /\p{Nd}{4}/u;
const shortDate = /\p{Nd}{1,2}[./-]\p{Nd}{1,2}[./-]\p{Nd}{2}/u;
/** Matches a digit in one of the first three words, after such words as a day of the week, "the" or "on". */
const dateFirst = /^["'(]?(?:[\p{L}\p{M}.,’'-]{1,16} ){0,2}[\p{L}\p{M}.,’'-]{0,16}\p{Nd}/u;

/** True if a line has a digit, which an attribution without a marked quote needs: a quick test before the lines are joined. */
function hasDigit(lines: readonly TextLine[], from: number, to: number): boolean {
  for (let at = from; at < to; at += 1) if (digit.test(lines[at]?.words ?? "")) return true;
  return false;
}

/** True if an attribution may end here: a quick test, which most lines fail. */
function mayEnd(words: string): boolean {
  if (endsWithSign(words)) return true;
  return lastPairs.has(lastPair(words)) && lastWords.has(words.slice(words.lastIndexOf(" ") + 1));
}

function endsWithSign(words: string): boolean {
  const last = words.charCodeAt(words.length - 1);
  if (last === colon) return true;
  return (last === hyphen && words.endsWith("--")) || (last === star && words.endsWith(":*"));
}

const star = 0x2a;
const hyphen = 0x2d;
const colon = 0x3a;

function withoutColon(words: string): string {
  let end = words.length;
  while (end > 0 && " :*_".includes(words[end - 1] ?? "")) end -= 1;
  return words.slice(0, end);
}

/** True if a line with `<jane@example.com` is followed by `> wrote:`, which looks like a quoted line and is the end of the address. */
function endsAddress(before: string, words: string): boolean {
  return before.lastIndexOf("<") > before.lastIndexOf(">") && words.endsWith(":");
}

/** True if the next line with words begins with `>`. At most two blank lines may stand between. */
function quoteFollows(lines: readonly TextLine[], from: number): boolean {
  for (let at = from; at < from + 3; at += 1) {
    const line = lines[at];
    if (line === undefined) return false;
    if (!line.isBlank) return line.isQuoted;
  }
  return false;
}

/** Replaces each address with `@`, since the digits of an address are no date. */
function withoutAddresses(words: string): string {
  let masked = "";
  let done = 0;
  for (let at = words.indexOf("@"); at >= 0; at = words.indexOf("@", done)) {
    let start = at;
    while (start > done && !aroundAddress.includes(words[start - 1] ?? "")) start -= 1;
    let end = at + 1;
    while (end < words.length && !aroundAddress.includes(words[end] ?? "")) end += 1;
    masked += `${words.slice(done, start)}@`;
    done = end;
  }
  return masked + words.slice(done);
}

const aroundAddress = " \t@<>()[]";

/** True for the rest of an address that began on the line before: `jane@example.com> wrote`. */
function beginsWithinAddress(words: string): boolean {
  const address = words.indexOf("@");
  const closed = address < 0 ? -1 : words.search(/[>)\]]/);
  return closed > address && !/[<([]/.test(words.slice(0, closed));
}

/** True if the first 40 characters have two or more numbers of a date. A folded date may begin with its year or its day alone. */
function isWholeDate(words: string): boolean {
  const found = words.slice(0, longestDate).match(numbersOrTimes) ?? [];
  return found.filter((number) => !/[:٫h+-]/.test(number)).length > 1;
}

const longestDate = 40;

/** Numbers, and `14:05:07` and `+0100`, which belong to a time. */
const numbersOrTimes = /[+-]\p{Nd}{4}|\p{Nd}{1,2}[:٫h]\p{Nd}{2}(?:[:٫]\p{Nd}{2})?|\p{Nd}{1,4}/gu;

/** The words after a leading `Jane Doe <jane@example.com>,`, or undefined if the words begin otherwise. */
function wordsBehindWriter(words: string): string | undefined {
  const writer = nameAndAddress.exec(words);
  return writer === null ? undefined : words.slice(writer[0].length);
}

const nameAndAddress =
  /^(?:[^\s@<>()[\]:;!?]{1,40} ){0,5}[<([]{1,2} ?[^\s@<>()[\]]{1,64}@[^\s@<>()[\]]{1,255}[>)\]]{1,2},? /u;

/** True for `Jane Doe wrote on Thu, 20 June 2024 at 14:49`. "She wrote on …" is a sentence. */
function isNameThatWroteOn({ verbs }: AttributionWords, masked: string): boolean {
  return verbs.some((verb) => {
    const at = masked.indexOf(` ${verb} `);
    if (at < 0) return false;
    const name = masked.slice(0, at).split(" ");
    const date = masked.slice(at + verb.length + 2);
    if (name.length > mostNames || notNames.has(name[0] ?? "") || /[\p{Nd}!?;:]/u.test(masked.slice(0, at)))
      return false;
    return dateFirst.test(date) && date.split(" ").length <= mostWordsOfDate;
  });
}

const mostNames = 4;
const mostWordsOfDate = 9;

/** Pronouns and articles. A line that begins with one of them is a sentence, and not an attribution with the writer's name. */
const notNames: ReadonlySet<string> = new Set(
  "i we you he she they it who the a my our your his her their er sie es ich wir ihr man wer der die das ein eine mein unser je tu il elle on nous vous ils elles le la mon notre yo él ella ellos el un una mi nuestro eu ele ela eles o os meu nosso io lui lei loro lo mio nostro ik hij zij ze wij het de mijn onze jag han hon vi de min vår jeg hun hän minä он она они я мы вона він вони".split(
    " ",
  ),
);

/** True for "Jane Doe wrote" or "Quoting jane@example.com", which some programs write above a `>` without a date. */
function namesWriter(words: string, hasAddress: boolean): boolean {
  const count = words.split(" ").length;
  if (!hasAddress && count > 4) return false;
  if (hasAddress && (words.startsWith("quoting ") || words.startsWith("zitat von "))) return true;
  if (closers.has(words)) return false;
  return languages.some(
    (language) => endsWith(language, words) && (hasAddress || !opens(language, words)) && count > 1,
  );
}

function opens({ openers }: AttributionWords, words: string): boolean {
  return openers.some((opener) => words.startsWith(opener) && !isLetter(words.codePointAt(opener.length), opener));
}

/** True if a letter follows the opener, which is then only the beginning of a longer word. False after Japanese, Chinese and a hyphen. */
function isLetter(point: number | undefined, opener: string): boolean {
  if (point === undefined || /[\u3040-\u9fff]$/.test(opener) || opener.endsWith("-")) return false;
  return letter.test(String.fromCodePoint(point));
}

const letter = /\p{L}/u;

/** The languages of the closers with which the words end. For speed, closers are looked up by their last letter. */
function languagesEndingIn(words: string): AttributionWords[] {
  return (closersByLetter.get(words.at(-1) ?? "") ?? [])
    .filter(({ word }) => words.endsWith(word) && isBoundary(words, words.length - word.length - 1, word))
    .map(({ language }) => language);
}

/** The languages of the word for writing: those of the closer at the end, and those of a verb that may stand further inside. */
function languagesThatWrote(words: string, ended: AttributionWords[]): AttributionWords[] {
  if (ended.some((language) => opens(language, words))) return ended;
  const within = verbs.filter(({ word }) => words.includes(word) && hasWord(words, word));
  return [...ended, ...within.map(({ language }) => language)];
}

const closersByLetter = Map.groupBy(
  languages.flatMap((language) => language.closers.map((word) => ({ language, word }))),
  ({ word }) => word.at(-1),
);

const closers: ReadonlySet<string> = new Set(languages.flatMap((language) => language.closers));

/** The last word of each closer: "wrote" and its translations. */
const lastWords: ReadonlySet<string> = new Set([...closers].map((closer) => closer.slice(closer.lastIndexOf(" ") + 1)));

/** The last two characters of each of `lastWords`, as a number: a quick test, which most lines fail. */
const lastPairs: ReadonlySet<number> = new Set([...lastWords].map(lastPair));

function lastPair(words: string): number {
  return words.length < 2 ? 0 : words.charCodeAt(words.length - 2) * 0x10000 + words.charCodeAt(words.length - 1);
}

const verbs = languages.flatMap((language) => language.verbs.map((word) => ({ language, word })));

function endsWith(language: AttributionWords, words: string): boolean {
  return language.closers.some(
    (closer) => words.endsWith(closer) && isBoundary(words, words.length - closer.length - 1, closer),
  );
}

/** True for `<jane@example.com> wrote`, which needs no colon. */
function endsAfterAddress(language: AttributionWords, words: string): boolean {
  return language.closers.some(
    (closer) => words.endsWith(` ${closer}`) && addressLast.test(words.slice(0, -closer.length - 1)),
  );
}

const addressLast = /@[^\s@]{1,253}$/;

/** True if the words begin with a verb or a closer of the language. */
function beginsWithVerb(language: AttributionWords, words: string): boolean {
  return [...language.verbs, ...language.closers].some(
    (verb) => words.startsWith(verb) && !isLetter(words.codePointAt(verb.length), verb),
  );
}

function hasWord(words: string, verb: string): boolean {
  for (let at = words.indexOf(verb); at >= 0; at = words.indexOf(verb, at + verb.length)) {
    const behind = words.codePointAt(at + verb.length);
    const isWhole = behind === undefined || !letter.test(String.fromCodePoint(behind));
    if (isWhole && isBoundary(words, at - 1, verb)) return true;
  }
  return false;
}

/** True if the character at `at`, the one before the word, is no letter. Words of scripts without spaces may begin anywhere. */
function isBoundary(words: string, at: number, word: string): boolean {
  if (/^[\u0e00-\u0e7f\u3040-\u9fff\uac00-\ud7af]/.test(word)) return true;
  return at < 0 || !letter.test(words[at] ?? "");
}
