import { isAlphabetic, isLetter } from "../word-finder.ts";

/** A number or word that looks like a code, whatever the text around it says. */
export interface Candidate {
  start: number;
  end: number;
  /** The code without spaces and hyphens, as people type it. */
  code: string;
  form: "digits" | "mixed" | "capitals";
  /** True if the number may also be a year or a date. */
  doubtful: boolean;
}

/** The most candidates of each kind that are examined. Mail with more numbers rarely has a code. */
const mostCandidates = 250;

/** The candidates of a text, in order. */
export function candidatesIn(shape: string): Candidate[] {
  const digits = digitCandidates(shape);
  const columns = columnCandidates(shape);
  const words = wordCandidates(shape);
  return [...digits, ...columns, ...words].toSorted((one, other) => one.start - other.start);
}

function digitCandidates(shape: string): Candidate[] {
  const candidates: Candidate[] = [];
  for (const { 0: run, index } of shape.matchAll(/\d+(?:[ -]\d+)*/g)) {
    if (candidates.length >= mostCandidates) break;
    if (run.length < 4) continue;
    for (const { start, text } of partsOf(run, index)) {
      const candidate = digitCandidate(shape, start, text);
      if (candidate !== undefined) candidates.push(candidate);
    }
  }
  return candidates;
}

/** Splits a run of digit groups at its spaces if one group has five digits or more. Otherwise the run is one number. */
function partsOf(run: string, index: number): { start: number; text: string }[] {
  if (!run.includes(" ") || !/\d{5}/.test(run)) return [{ start: index, text: run }];
  return Array.from(run.matchAll(/[^ ]+/g), (part) => ({ start: index + part.index, text: part[0] }));
}

function digitCandidate(shape: string, start: number, text: string): Candidate | undefined {
  if (text.length > 19) return undefined;
  const code = text.replaceAll(/[ -]/g, "");
  // Zeros alone are a placeholder.
  if (code.length < 4 || code.length > 10 || /^0+$/.test(code)) return undefined;
  if (text !== code && !isGrouped(text)) return undefined;
  const end = start + text.length;
  if (isGluedBefore(shape, start) || isGluedBehind(shape, end) || isAmount(shape, start, end)) return undefined;
  return { start, end, code, form: "digits", doubtful: isDate(code, text) };
}

/**
 * True for two or three groups of two to four digits with the same separator, or for single digits with spaces. Groups of 3, 3 and 4 digits
 * are a telephone number.
 */
function isGrouped(text: string): boolean {
  if (/^\d(?: \d){3,7}$/.test(text)) return true;
  if (!/^\d{2,4}([ -])\d{2,4}(?:\1\d{2,4})?$/.test(text)) return false;
  return !/^\d{3}.\d{3}.\d{4}$/.test(text) && !isWrittenDate(text);
}

function isWrittenDate(text: string): boolean {
  const [first = 0, second = 0, third] = text.split(/[ -]/).map(Number);
  if (third === undefined) return isYear(first) && second >= 1 && second <= 12;
  if (isYear(first)) return second <= 12 && third <= 31;
  return (isYear(third) || third < 100) && Math.min(first, second) <= 12 && Math.max(first, second) <= 31;
}

function isYear(number: number): boolean {
  return number >= 1900 && number <= 2099;
}

/** True if the number may be a year or a date: `2026`, `20260331`, `31032026`. */
function isDate(code: string, text: string): boolean {
  if (code.length === 4) return text === code && isYear(Number(code));
  return /^(?:(?:19|20)\d\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])|(?:0[1-9]|[12]\d|3[01])(?:0[1-9]|1[0-2])(?:19|20)\d\d)$/.test(
    code,
  );
}

function isGluedBefore(shape: string, start: number): boolean {
  const before = shape[start - 1] ?? " ";
  if (
    before === "#" ||
    before === "_" ||
    before === "\\" ||
    before === "+" ||
    before === "=" ||
    isAlphabetic(shape, start - 1)
  )
    return true;
  if (".,:/-'".includes(before)) {
    const other = shape[start - 2] ?? " ";
    if (/\d/.test(other) || (before !== ":" && before !== "." && before !== "'" && isLetter(shape, start - 2)))
      return true;
  }
  // `****4471`, `XX4471`, `•• 4471`: the end of a hidden number.
  const hidden = shape.slice(Math.max(0, start - 4), start);
  if (/[•●∙·…]{2} ?$|\.\.\. ?$|\( ?\d{2,4} ?\) ?$|\) ?$/.test(hidden)) return /[•●∙·…]|\.\.\.|\d ?\) ?$/.test(hidden);
  return before === "*" && shape[start - 2] === "*" && shape[start - 3] === "*";
}

function isGluedBehind(shape: string, end: number): boolean {
  const behind = shape[end] ?? " ";
  if (behind === "_" || behind === "\u0001" || behind === "=" || behind === "#" || isAlphabetic(shape, end))
    return true;
  if (!".,:/-".includes(behind)) return false;
  const next = shape[end + 1] ?? " ";
  if (behind === "-") return /[A-Za-z0-9]/.test(next);
  if (!/\d/.test(next)) return false;
  // In Chinese and Korean a comma without a space may end a clause.
  return behind !== "," || !/^,\d{1,3}[\p{Script=Han}\p{Script=Hangul}]/u.test(shape.slice(end, end + 5));
}

const currencySigns = "[$€£¥₹₽₩₪฿₫₺₴₦₱₸₾֏]";
const currencyCodes =
  "EUR|USD|GBP|CHF|JPY|CNY|RMB|INR|BRL|MXN|PLN|CZK|SEK|NOK|DKK|RUB|UAH|TRY|KRW|VND|THB|IDR|MYR|SAR|AED|ILS|AUD|CAD|NZD|SGD|HKD|TWD|HUF|RON|BGN|ZAR|NGN|KES|PHP|COP|ARS|CLP|PEN|Rs|Rp|RM|NT|kr|TL|BTC";
const currencyBefore = new RegExp(`(?:${currencySigns}|(?:${currencyCodes})\\.?) ?$`);
const currencyBehind = new RegExp(
  `^ ?(?:${currencySigns}|(?:${currencyCodes}|Ft|lei|đ)(?!\\p{L})|[%‰°]|Kč|zł|ден|грн|руб|บาท|円|元|원|圓|ريال|دينار|درهم|تومان|ریال)`,
  "u",
);
const unitBehind =
  /^ ?(?:points?|punkte|(?:px|km|kg|kwh|[mg]b|min|uhr)(?![a-z])|minut|minuut|seco?n?d|segundo|sekund|saniye|dakika|hour|days|stunde|tage|people|lines|user|word|character|секунд|минут|хвилин|часов|นาที|分钟|分鐘|分間|秒|年|년|초|분)/i;

/** True if a currency or a unit stands directly before or after the number. */
function isAmount(shape: string, start: number, end: number): boolean {
  const behind = shape.slice(end, end + 12);
  return (
    currencyBehind.test(behind) ||
    unitBehind.test(behind) ||
    currencyBefore.test(shape.slice(Math.max(0, start - 5), start))
  );
}

/** Digits on consecutive lines, which is what remains of a table with one digit in each cell. */
function columnCandidates(shape: string): Candidate[] {
  const candidates: Candidate[] = [];
  let code = "";
  let start = 0;
  let end = 0;
  const finish = () => {
    if (code.length >= 4 && code.length <= 8) candidates.push({ start, end, code, form: "digits", doubtful: false });
    code = "";
  };
  for (let at = 0; at < shape.length && candidates.length < mostCandidates; ) {
    const lineEnd = shape.indexOf("\n", at);
    const stop = lineEnd === -1 ? shape.length : lineEnd;
    // A longer line counts as words, even if it is one digit and white space.
    const line = stop - at <= 12 ? shape.slice(at, stop).trim() : "-";
    if (/^\d$/.test(line)) {
      if (code === "") start = shape.indexOf(line, at);
      code += line;
      end = shape.indexOf(line, at) + 1;
    } else if (line !== "") {
      finish();
    }
    at = stop + 1;
  }
  finish();
  return candidates;
}

function wordCandidates(shape: string): Candidate[] {
  const candidates: Candidate[] = [];
  let done = 0;
  // The search begins at digits and capitals: looking at every word takes several times as long.
  for (const { index } of shape.matchAll(/\d|[A-Z]{3}/g)) {
    if (candidates.length >= mostCandidates) break;
    if (index < done) continue;
    const start = startOfWord(shape, index, done);
    const end = endOfWord(shape, index);
    done = end;
    if (end - start < 4 || end - start > 18) continue;
    const word = shape.slice(start, end);
    if (!isLikely.test(word) || !/[A-Za-z]/.test(word) || word.endsWith("-")) continue;
    const prefixed = /^[A-Z]{1,2}-(\d{4,10})$/.exec(word)?.[1];
    const form = prefixed === undefined ? formOf(word) : "digits";
    if (form === undefined || isGluedWord(shape, start, end)) continue;
    const code = prefixed ?? word.replaceAll("-", "");
    candidates.push({ start, end, code, form, doubtful: prefixed !== undefined && isDate(prefixed, prefixed) });
  }
  return candidates;
}

/** Matches a word that may be a code: with a digit among its first twelve characters, or with three capitals at its beginning. */
const isLikely = /^(?:[A-Z]{3}|[A-Za-z][A-Za-z-]{0,10}\d|\d)/;

function startOfWord(shape: string, at: number, from: number): number {
  let start = at;
  while (start > from && isOfWord(shape.charCodeAt(start - 1))) start--;
  return start;
}

function endOfWord(shape: string, at: number): number {
  let end = at + 1;
  while (end < shape.length && isOfWord(shape.charCodeAt(end))) end++;
  return end;
}

/** True for an ASCII letter, a digit or a hyphen. */
function isOfWord(unit: number): boolean {
  const small = unit | 0x20;
  return (small >= 0x61 && small <= 0x7a) || (unit >= 0x30 && unit <= 0x39) || unit === 0x2d;
}

function formOf(word: string): Candidate["form"] | undefined {
  // `XX4471` is the visible end of a number that is otherwise hidden.
  if (/^[Xx]{2,}\d/.test(word)) return undefined;
  if (/^[A-Z]{4,8}$|^[A-Z]{3,4}(?:-[A-Z]{3,4}){1,2}$/.test(word)) return "capitals";
  const groups = word.split("-");
  if (groups.length === 1) {
    // `30min` and `1200px` are a number with its unit.
    return word.length <= 10 && /\d/.test(word) && !/^\d{1,4}(?:[a-z]{1,5}|[A-Z])$/.test(word) ? "mixed" : undefined;
  }
  if (groups.length > 3 || !/\d/.test(word) || /^[A-Z]+-\d+$/.test(word)) return undefined;
  const capitals = groups.every((group) => /^[A-Z0-9]{3,4}$/.test(group));
  const small = groups.every((group) => /^[a-z0-9]{3,5}$/.test(group) && /\d/.test(group) && /[a-z]/.test(group));
  return capitals || small ? "mixed" : undefined;
}

function isGluedWord(shape: string, start: number, end: number): boolean {
  const [before = " ", behind = " "] = [shape[start - 1], shape[end]];
  if ("#_@$%&+=/\\\u0001".includes(before) || isAlphabetic(shape, start - 1)) return true;
  if ("_@=/\\\u0001%".includes(behind) || isAlphabetic(shape, end)) return true;
  return (
    (/[.,:'-]/.test(before) && /[\p{L}\d]/u.test(shape[start - 2] ?? " ") && before !== ":") ||
    /^[.,:'-][\p{L}\d]/u.test(shape.slice(end, end + 2))
  );
}
