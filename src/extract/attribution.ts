import { type AttributionWords, attributionWords } from "./attribution-words.ts";
import type { TextLine } from "./reply-lines.ts";
import { withoutMarkup } from "./reply-lines.ts";

/** Where the line above a quote begins and ends ("On Tuesday … Jane wrote:"), as indexes of lines. */
export interface Attribution {
  from: number;
  /** Behind its last line. */
  to: number;
  /** True where lines with `>` follow, else the quote is all that is behind. */
  hasMarkedQuote: boolean;
  strength: number;
}

/** How sure its beginning is: a name may be the end of a sentence, "on" is hardly that. */
const strengths = { byName: 1, byDate: 2, byOpener: 3 };

/**
 * The attribution that begins at this line, in any language of the table. It has a date in it, and an address or a time, or is
 * followed by a `>`: "On Monday he wrote:" is something that people write too.
 */
export function attributionAt(lines: readonly TextLine[], from: number): Attribution | undefined {
  const most = Math.min(lines.length, from + mostLines);
  let length = 0;
  for (let at = from; at < most; at += 1) {
    const line = lines[at];
    if (line === undefined || line.isBlank) return undefined;
    if (line.isQuoted && !(at > from && endsAddress(lines[at - 1]?.words ?? "", line.words))) return undefined;
    length += line.words.length + 1;
    if (length > mostCharacters) return undefined;
    if (!mayEnd(line.words)) continue;
    const hasMarkedQuote = quoteFollows(lines, at + 1);
    if (!hasMarkedQuote && !hasDigit(lines, from, at + 1)) continue;
    const joined = joinedWords(lines, from, at + 1);
    const strength = strengthOf(joined, hasMarkedQuote);
    if (strength === 0) continue;
    // The last words of an answer may stand right above it, and are none of it.
    const later = at > from ? attributionAt(lines, from + 1) : undefined;
    return later !== undefined && later.strength >= strength
      ? undefined
      : { from, to: at + 1, hasMarkedQuote, strength };
  }
  return undefined;
}

/** Of the words of an attribution, in lower case and on one line; 0 where they are none. */
export function strengthOf(written: string, hasMarkedQuote: boolean): number {
  if (!mayEnd(written)) return 0;
  const words = withoutMarkup(withoutColon(written));
  if (words.length < 4 || words.length > mostCharacters) return 0;
  const isDated = digit.test(words);
  if (!hasMarkedQuote && !(isDated && (words.includes("@") || time.test(words)))) return 0;
  // A date, an address and then a quote say enough in any language, and nothing but this line depends on it.
  const isPlain = hasMarkedQuote && address.test(words) && (time.test(words) || year.test(words));
  const writing = languagesThatWrote(words);
  if (writing.length === 0 && isPlain) return strengths.byName;
  const isAddressLast = endsWithAddress.test(words);
  if (writing.length === 0 && !isAddressLast && !words.startsWith("quoting ") && !words.startsWith("zitat ")) return 0;
  const hasAddress = isAddressLast || address.test(words);
  if (!isDated) return hasMarkedQuote && namesWriter(words, hasAddress) ? strengths.byName : 0;
  const hasTime = time.test(words);
  // "On Tuesday at 14:05 he wrote:" tells a time and no day.
  const hasDay = year.test(words) || shortDate.test(words) || (hasTime && digit.test(words.replace(time, "")));
  if (!hasMarkedQuote && !(hasAddress && (hasDay || hasTime)) && !(hasTime && hasDay)) return 0;
  const hasDate = hasTime || hasDay;
  const beginsWithDate = dateFirst.test(words);
  if (beginsWithDate && isAddressLast && hasDate) return strengths.byOpener;
  if (writing.length === 0) return 0;
  if (writing.some((language) => opens(language, words))) return strengths.byOpener;
  if (beginsWithDate) return strengths.byDate;
  return (hasAddress || hasMarkedQuote) && hasDate ? strengths.byName : 0;
}

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

function joinedWords(lines: readonly TextLine[], from: number, to: number): string {
  let joined = lines[from]?.words ?? "";
  for (let at = from + 1; at < to; at += 1) joined += ` ${lines[at]?.words ?? ""}`;
  return joined;
}

/** Without one lines above no quote are no attribution, and need not be joined. */
function hasDigit(lines: readonly TextLine[], from: number, to: number): boolean {
  for (let at = from; at < to; at += 1) if (digit.test(lines[at]?.words ?? "")) return true;
  return false;
}

/** Cheap, since it is asked of every line: most have neither sign at their end. */
function mayEnd(words: string): boolean {
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

/** "Jane Doe wrote" or "Quoting jane@example.com" above a `>`, as programs write it that tell no date. */
function namesWriter(words: string, hasAddress: boolean): boolean {
  const count = words.split(" ").length;
  if (!hasAddress && count > 4) return false;
  if (hasAddress && words.startsWith("quoting ")) return true;
  if (hasAddress && words.startsWith("zitat von ")) return true;
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

/** The languages whose word for writing stands where it should. Asked of many lines, so the ends are looked up by their last letter. */
function languagesThatWrote(words: string): AttributionWords[] {
  const atEnd = closersByLetter.get(words.at(-1) ?? "") ?? [];
  const ended = atEnd.filter(
    ({ word }) => words.endsWith(word) && isBoundary(words, words.length - word.length - 1, word),
  );
  if (ended.length > 0 && ended.some(({ language }) => opens(language, words)))
    return ended.map(({ language }) => language);
  const within = verbs.filter(({ word }) => words.includes(word) && hasWord(words, word));
  return [...ended, ...within].map(({ language }) => language);
}

const closersByLetter = Map.groupBy(
  languages.flatMap((language) => language.closers.map((word) => ({ language, word }))),
  ({ word }) => word.at(-1),
);

const verbs = languages.flatMap((language) => language.verbs.map((word) => ({ language, word })));

function endsWith({ closers }: AttributionWords, words: string): boolean {
  return closers.some(
    (closer) => words.endsWith(closer) && isBoundary(words, words.length - closer.length - 1, closer),
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
