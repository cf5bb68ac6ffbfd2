import { parseInstant } from "../standards/instant.ts";
import { plainQuestion, type SearchWords } from "./search.ts";

/** A condition of a search. A message must meet all conditions. */
export type SearchCondition =
  /** `question` is in the syntax of Postgres' `websearch_to_tsquery`, as `plainQuestion` returns it. */
  | { kind: "words"; field: SearchField; question: string }
  | { kind: "attachment"; is: boolean }
  | { kind: "unread"; is: boolean }
  | { kind: "direction"; is: "inbound" | "outbound" }
  | { kind: "thread"; id: string };

/** Where words are searched. `any` is the subject, the addresses and the text. */
export type SearchField = "any" | "from" | "to" | "subject";

/** A search as a person types it, in parts. */
export interface SearchQuestion {
  conditions: SearchCondition[];
  /** Only messages at this instant or later. */
  since: Date | undefined;
  /** Only messages before this instant. */
  until: Date | undefined;
}

/**
 * Reads a search such as `invoice from:"Jane Doe" has:attachment after:2026-03-01`. A name such as `from:` without a value behind it is a
 * word. Returns a fault as the end of a sentence that begins with the name of the parameter.
 */
export function readQuestion(text: string): SearchQuestion | { fault: string } {
  if (text.length > longestQuestion) return { fault: `must have at most ${longestQuestion} characters` };
  const terms = Array.from(text.matchAll(termShape), ([, sign = "", name, phrase, bare = ""]): Term => {
    const written = phrase === undefined ? bare : `"${phrase}"`;
    return {
      name: (name?.toLowerCase() ?? "any") as Term["name"],
      isNegated: sign !== "",
      value: phrase ?? bare,
      written,
    };
  });
  const question: SearchQuestion = { conditions: [], since: undefined, until: undefined };
  for (const field of searchFields) {
    const own = terms.filter((term, index) => (isOr(term) ? fieldOfOr(terms, index) : term.name) === field);
    if (own.length === 0) continue;
    const plain = plainQuestion(own.map(({ isNegated, written }) => (isNegated ? `-${written}` : written)).join(" "));
    if (plain !== undefined) question.conditions.push({ kind: "words", field, question: plain });
    else if (field !== "any") return { fault: `must have a letter or a digit behind "${field}:"` };
  }
  for (const [index, term] of terms.entries()) {
    const fault = isOr(term) ? faultOfOr(terms, index) : noteFilter(question, term);
    if (fault !== undefined) return { fault };
  }
  const { conditions, since, until } = question;
  if (conditions.length === 0 && since === undefined && until === undefined) {
    return { fault: "must have a letter or a digit" };
  }
  return question;
}

/**
 * Which words a search looked at, if it asks for others too: those that are indexed of every searched message. Undefined if it looked at all
 * words that it asks for. `from:`, `to:` and `subject:` ask only for words of the head.
 */
export function partSearched(
  conditions: readonly SearchCondition[],
  indexed: SearchWords,
): Exclude<SearchWords, "all"> | undefined {
  const fields = conditions.flatMap((each) => (each.kind === "words" ? [each.field] : []));
  if (indexed === "off") return fields.length === 0 ? undefined : indexed;
  return indexed === "head" && fields.includes("any") ? indexed : undefined;
}

export const longestQuestion = 500;

const searchFields = ["any", "from", "to", "subject"] as const;

/** A word or a phrase of a search, with the name before it. */
interface Term {
  name: SearchField | "has" | "is" | "before" | "after";
  isNegated: boolean;
  value: string;
  /** The value, with the quotes of a phrase. */
  written: string;
}

const termShape = /(-?)(?:(from|to|subject|has|is|before|after):(?=\S))?(?:"([^"]*)"?|([^\s"]+))/gi;

function isOr({ name, isNegated, written }: Term): boolean {
  return name === "any" && !isNegated && /^or$/i.test(written);
}

/** The field of the words that an `or` joins. At an end of the search it joins nothing, and counts as one of the plain words. */
function fieldOfOr(terms: readonly Term[], index: number): Term["name"] {
  return terms[index + 1] === undefined ? "any" : (terms[index - 1]?.name ?? "any");
}

function faultOfOr(terms: readonly Term[], index: number): string | undefined {
  const [before, after] = [terms[index - 1], terms[index + 1]];
  if (before === undefined || after === undefined) return undefined;
  const joinsWords = searchFields.some((field) => field === before.name);
  if (joinsWords && before.name === after.name) return undefined;
  return 'must have "or" only between words, or between two values of "from:", of "to:" or of "subject:"';
}

/** Adds a term that is not a word to the question. Returns its fault if it has one. */
function noteFilter(question: SearchQuestion, { name, isNegated, value }: Term): string | undefined {
  const lower = value.toLowerCase();
  if (name === "has") {
    if (lower !== "attachment") return 'must have "attachment" behind "has:"';
    question.conditions.push({ kind: "attachment", is: !isNegated });
  }
  if (name === "is") {
    if (lower !== "unread") return 'must have "unread" behind "is:"';
    question.conditions.push({ kind: "unread", is: !isNegated });
  }
  if (name === "before" || name === "after") {
    const at = parseInstant(value);
    if (at === undefined) return `must have a day such as 2026-03-21, or an instant, behind "${name}:"`;
    if ((name === "after") !== isNegated) question.since = latest(question.since, at);
    else question.until = earliest(question.until, at);
  }
  return undefined;
}

export function latest(one: Date | undefined, other: Date | undefined): Date | undefined {
  return one === undefined || (other !== undefined && other > one) ? other : one;
}

export function earliest(one: Date | undefined, other: Date | undefined): Date | undefined {
  return one === undefined || (other !== undefined && other < one) ? other : one;
}
