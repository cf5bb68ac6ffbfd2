import { type AttributionWords, attributionWords } from "./attribution-words.ts";
import type { TextLine } from "./reply-lines.ts";
import { withoutMarkup } from "./reply-lines.ts";

/** The line above a quote ("On Tuesday … Jane wrote:"), as indexes of lines. */
export interface Attribution {
  from: number;
  /** The index behind its last line. */
  to: number;
  /** True where lines with `>` follow. Otherwise everything below is the quote. */
  hasMarkedQuote: boolean;
}

/** How surely an attribution begins with these words, by what else it tells. A name may be the end of a sentence, "on" hardly is. */
const strengths = {
  opener: { day: 3, time: 2 },
  dateWithAddress: { day: 3, time: 2 },
  nameWithAddress: { day: 3, time: 2 },
  nameThatWroteOn: { day: 3, time: 1 },
  date: { day: 2, time: 2 },
  other: { day: 1, time: 1 },
  undated: 1,
} as const;
const strongest = 3;

export interface Attributions {
  /**
   * The attribution that begins at this line, in any language of the table. It has a date in it, and an address or a time, or a `>`
   * follows it: people write "On Monday he wrote:" too. The sender's own lines may stand right above it, so of the three lines that it
   * may begin with the surest counts, and the last of equally sure ones.
   */
  at(from: number): Attribution | undefined;
  /** The line from which the lines before `to` are most surely an attribution; undefined where none is. */
  startAbove(to: number, hasMarkedQuote: boolean): number | undefined;
}

/** Finds the attributions among these lines. Each is asked for from several lines, and judged once. */
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
      if (!mayBegin(lines, start, to) || (most === strengths.undated && !isDate(lines, start))) continue;
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

/** How sure it is that an attribution begins with the first of these lines and ends with the last; 0 where it does not. */
function strengthOf(lines: readonly TextLine[], hasMarkedQuote: boolean): number {
  const written = lines.length === 1 ? (lines[0]?.words ?? "") : lines.map(({ words }) => words).join(" ");
  const isSigned = endsWithSign(written);
  const words = withoutMarkup(withoutColon(written));
  if (words.length < 4 || words.length > mostCharacters) return 0;
  const told = withoutAddresses(words);
  const isDated = digit.test(told);
  if (!hasMarkedQuote && !(isDated && (told.includes("@") || time.test(told)))) return 0;
  if (beginsWithinAddress(words)) return 0;
  const ended = languagesEndingIn(words);
  // Without a colon the words have to begin like an attribution, and to end like one right behind an address.
  if (!isSigned && !ended.some((language) => opens(language, words) && endsAfterAddress(language, words))) return 0;
  const writing = languagesThatWrote(words, ended);
  const isAddressLast = endsWithAddress.test(words);
  const hasAddress = isAddressLast || address.test(words);
  const hasTime = time.test(told);
  // A date, an address and then a quote say enough in any language, and nothing but this line depends on it.
  const isPlain = hasMarkedQuote && hasAddress && (hasTime || year.test(told));
  const isQuoting = words.startsWith("quoting ") || words.startsWith("zitat ");
  if (writing.length === 0 && !isPlain && !isAddressLast && !isQuoting) return 0;
  if (!isDated) return hasMarkedQuote && namesWriter(words, hasAddress) ? strengths.undated : 0;
  // "On Tuesday at 14:05 he wrote:" tells a time and no day.
  const hasDay = year.test(told) || shortDate.test(told) || (hasTime && digit.test(told.replace(time, "")));
  if (!hasDay && !hasTime) return 0;
  const beginning = beginningOf(lines, { words, told, hasAddress, writing });
  if (beginning === undefined) return 0;
  if (!isSigned && !(beginning === "opener" && hasDay && hasTime)) return 0;
  // Without a word for writing only a date and an address are an attribution, or anything above a marked quote.
  if (writing.length === 0 && !isPlain && beginning !== "dateWithAddress") return 0;
  // A name alone may be a sentence where no marks follow.
  if (!hasMarkedQuote && !hasAddress && !(hasTime && hasDay && beginning !== "other")) return 0;
  return strengths[beginning][hasDay ? "day" : "time"];
}

interface Told {
  words: string;
  /** The words with `@` in the place of each address. */
  told: string;
  hasAddress: boolean;
  writing: readonly AttributionWords[];
}

type Beginning = Exclude<keyof typeof strengths, "undated">;

/** The kind of beginning that an attribution has. The first of several lines must have it by itself. */
function beginningOf(lines: readonly TextLine[], { words, told, hasAddress, writing }: Told): Beginning | undefined {
  const [line, next] = lines;
  const first = withoutMarkup(line?.words ?? "");
  const isLast = next === undefined;
  if (isLast || goesOn(first, next.words)) {
    const isBegun = isLast || digit.test(first) || first.split(" ").length <= mostBeforeDate;
    if (isBegun && writing.some((language) => opens(language, words))) return "opener";
    if (hasAddress && dateFirst.test(first) && isWholeDate(told)) return "dateWithAddress";
  }
  const behind = isLast || /[@<]/.test(first) ? wordsBehindWriter(words) : undefined;
  const isWritten = (language: AttributionWords) => behind !== undefined && beginsWithVerb(language, behind);
  if (behind !== undefined && (dateFirst.test(behind) || writing.some(isWritten))) return "nameWithAddress";
  if (!isLast && !goesOn(first, next.words)) return undefined;
  if (dateFirst.test(first)) return "date";
  if (digit.test(first) && writing.some((language) => isNameThatWroteOn(language, told))) return "nameThatWroteOn";
  return isLast || isFolded(first, next.words) ? "other" : undefined;
}

/** A line of a date and nothing else, or with a name that goes on below. Above "Jane wrote:" any other line is the sender's own. */
function isDate(lines: readonly TextLine[], at: number): boolean {
  const [words, next] = [lines[at]?.words ?? "", lines[at + 1]?.words ?? ""];
  if (!isWholeDate(words)) return false;
  if (words.endsWith(",") || timeLast.test(words)) return true;
  return time.test(words) && (/^[<([]/.test(next) || (isFolded(words, next) && words.length <= widestFold));
}

/** A time at the end, or a comma and the beginning of a name behind it. */
const timeLast =
  /\p{Nd}[:٫h.]\p{Nd}{2}(?: ?[^\s\p{Nd},]{1,6}| ?(?:gmt|utc)?[+-]\p{Nd}{1,2}:?(?:\p{Nd}{2})?)?(?:,(?: [^\s,]{1,30}){0,4})?$/u;
const widestFold = 80;

/** Without a sign at the end of its first line the lines need not be joined. */
function mayBegin(lines: readonly TextLine[], start: number, to: number): boolean {
  const [line, next] = [lines[start], lines[start + 1]];
  if (line === undefined || line.isQuoted) return false;
  if (start + 1 === to) return true;
  // A colon within an attribution stands in brackets: "(időpont:".
  if (endsWithSign(line.words) && !line.words.includes("(")) return false;
  return /[@<]/.test(line.words) || goesOn(line.words, next?.words ?? "");
}

/** True where an attribution may go on in the next line. A sentence of the sender's that stands above one mostly does none of this. */
function goesOn(first: string, next: string): boolean {
  if (/[!?。！？]$|\p{L}{5}\.$/u.test(first)) return false;
  if (/[,<(]$/.test(first) || /^[<([]|^\S+$/.test(next)) return true;
  return isFolded(first, next) || (digit.test(first) && (time.test(first) || isWholeDate(first)));
}

/** Programs fold a line before a word that has no room in it. */
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
/** `14:05`, `2:05`, `14h05`, `14时`, and `14.05` where it is no part of a date. */
const time = /\p{Nd}{1,2}(?:[:٫h点點]\p{Nd}{2}|[时時시点點])|(?<![\p{Nd}./-])\p{Nd}{1,2}\.\p{Nd}{2}(?![\p{Nd}./-])/u;
const year = /\p{Nd}{4}/u;
const shortDate = /\p{Nd}{1,2}[./-]\p{Nd}{1,2}[./-]\p{Nd}{2}/u;
/** At most two words before the first digit: a day of the week, "the", "on". */
const dateFirst = /^["'(]?(?:[\p{L}\p{M}.,’'-]{1,16} ){0,2}[\p{L}\p{M}.,’'-]{0,16}\p{Nd}/u;

/** Without one lines above no quote are no attribution, and need not be joined. */
function hasDigit(lines: readonly TextLine[], from: number, to: number): boolean {
  for (let at = from; at < to; at += 1) if (digit.test(lines[at]?.words ?? "")) return true;
  return false;
}

/** Whether an attribution may end here. It is asked of every line, and most have neither sign at their end. */
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

/** `<jane@example.com` and on the next line `> wrote:`, broken before what looks like a quote then. */
function endsAddress(before: string, words: string): boolean {
  return before.lastIndexOf("<") > before.lastIndexOf(">") && words.endsWith(":");
}

/** True where the next line of words has a `>` before it; up to two blank ones may be between. */
function quoteFollows(lines: readonly TextLine[], from: number): boolean {
  for (let at = from; at < from + 3; at += 1) {
    const line = lines[at];
    if (line === undefined) return false;
    if (!line.isBlank) return line.isQuoted;
  }
  return false;
}

/** `@` in the place of each address, whose digits tell no date. */
function withoutAddresses(words: string): string {
  let told = "";
  let done = 0;
  for (let at = words.indexOf("@"); at >= 0; at = words.indexOf("@", done)) {
    let start = at;
    while (start > done && !aroundAddress.includes(words[start - 1] ?? "")) start -= 1;
    let end = at + 1;
    while (end < words.length && !aroundAddress.includes(words[end] ?? "")) end += 1;
    told += `${words.slice(done, start)}@`;
    done = end;
  }
  return told + words.slice(done);
}

const aroundAddress = " \t@<>()[]";

/** The rest of an address that began in the line before: `jane@example.com> wrote`. */
function beginsWithinAddress(words: string): boolean {
  const address = words.indexOf("@");
  const closed = address < 0 ? -1 : words.search(/[>)\]]/);
  return closed > address && !/[<([]/.test(words.slice(0, closed));
}

/** True for a date with more than its year or its day near the beginning. A date that was folded may begin with either. */
function isWholeDate(told: string): boolean {
  const found = told.slice(0, longestDate).match(numbersOrTimes) ?? [];
  return found.filter((number) => !/[:٫h+-]/.test(number)).length > 1;
}

const longestDate = 40;

/** Numbers, and `14:05:07` and `+0100`, which are of no date. */
const numbersOrTimes = /[+-]\p{Nd}{4}|\p{Nd}{1,2}[:٫h]\p{Nd}{2}(?:[:٫]\p{Nd}{2})?|\p{Nd}{1,4}/gu;

/** The words behind a leading `Jane Doe <jane@example.com>,`, or undefined if the words begin otherwise. */
function wordsBehindWriter(words: string): string | undefined {
  const writer = nameAndAddress.exec(words);
  return writer === null ? undefined : words.slice(writer[0].length);
}

const nameAndAddress =
  /^(?:[^\s@<>()[\]:;!?]{1,40} ){0,5}[<([]{1,2} ?[^\s@<>()[\]]{1,64}@[^\s@<>()[\]]{1,255}[>)\]]{1,2},? /u;

/** `Jane Doe wrote on Thu, 20 June 2024 at 14:49`. "She wrote on …" is a sentence. */
function isNameThatWroteOn({ verbs }: AttributionWords, told: string): boolean {
  return verbs.some((verb) => {
    const at = told.indexOf(` ${verb} `);
    if (at < 0) return false;
    const name = told.slice(0, at).split(" ");
    const date = told.slice(at + verb.length + 2);
    if (name.length > mostNames || notNames.has(name[0] ?? "") || /[\p{Nd}!?;:]/u.test(told.slice(0, at))) return false;
    return dateFirst.test(date) && date.split(" ").length <= mostWordsOfDate;
  });
}

const mostNames = 4;
const mostWordsOfDate = 9;

/** Pronouns and articles: a sentence that begins with one of them names no writer. */
const notNames: ReadonlySet<string> = new Set(
  "i we you he she they it who the a my our your his her their er sie es ich wir ihr man wer der die das ein eine mein unser je tu il elle on nous vous ils elles le la mon notre yo él ella ellos el un una mi nuestro eu ele ela eles o os meu nosso io lui lei loro lo mio nostro ik hij zij ze wij het de mijn onze jag han hon vi de min vår jeg hun hän minä он она они я мы вона він вони".split(
    " ",
  ),
);

/** "Jane Doe wrote" or "Quoting jane@example.com" above a `>`, as programs write it that tell no date. */
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

/** Scripts that put no space between words begin with "在" whatever is behind it. */
function isLetter(point: number | undefined, opener: string): boolean {
  if (point === undefined || /[\u3040-\u9fff]$/.test(opener) || opener.endsWith("-")) return false;
  return letter.test(String.fromCodePoint(point));
}

const letter = /\p{L}/u;

/** The languages whose word for writing stands last. Many lines are looked at, so words are found by their last letter. */
function languagesEndingIn(words: string): AttributionWords[] {
  return (closersByLetter.get(words.at(-1) ?? "") ?? [])
    .filter(({ word }) => words.endsWith(word) && isBoundary(words, words.length - word.length - 1, word))
    .map(({ language }) => language);
}

/** And those whose word may have a name or a date behind it. */
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

/** The last words of the closers. */
const lastWords: ReadonlySet<string> = new Set([...closers].map((closer) => closer.slice(closer.lastIndexOf(" ") + 1)));

/** The last two characters of them, as a number: a look that most lines end with. */
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

/** `<jane@example.com> wrote`, which needs no colon behind it. */
function endsAfterAddress(language: AttributionWords, words: string): boolean {
  return language.closers.some(
    (closer) => words.endsWith(` ${closer}`) && addressLast.test(words.slice(0, -closer.length - 1)),
  );
}

const addressLast = /@[^\s@]{1,253}$/;

/** True where a verb or a closer of the language stands first. */
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

/** True where no letter stands before the word; where words have no spaces between them, that says nothing. */
function isBoundary(words: string, at: number, word: string): boolean {
  if (/^[\u0e00-\u0e7f\u3040-\u9fff\uac00-\ud7af]/.test(word)) return true;
  return at < 0 || !letter.test(words[at] ?? "");
}
