import { Kind, type SchemaOptions, type TSchema, Type, TypeRegistry } from "@sinclair/typebox";
import { isCursor, type RowKey, type RowNumber, rowOf, seqOf } from "../../domain/cursor.ts";
import { Refusal } from "../../domain/errors.ts";
import { plainQuestion } from "../../domain/search.ts";
import { longestQuestion, readQuestion } from "../../domain/search-question.ts";
import { parseInstant } from "../../standards/instant.ts";
import { examples } from "../document/examples.ts";

/** A query parameter that stays a string and is validated by a function. `error` says what it must be. */
interface TParameter extends TSchema {
  [Kind]: "Parameter";
  static: string;
  type: "string";
  isGood: (text: string) => boolean;
}

export function parameter(isGood: (text: string) => boolean, options: SchemaOptions & { error: string }): TParameter {
  return Type.Unsafe<string>({ ...options, [Kind]: "Parameter", type: "string", isGood }) as unknown as TParameter;
}

TypeRegistry.Set<TParameter>("Parameter", ({ isGood }, value) => typeof value === "string" && isGood(value));

export function instantParameter(description: string) {
  return parameter((text) => parseInstant(text) !== undefined, {
    error: "must be a day such as 2026-03-21, or an instant such as 2026-03-21T10:05:00Z",
    description: `${description}: a day (UTC) or an RFC 3339 date-time`,
    examples: ["2026-03-21T10:05:00Z"],
  });
}

export function wordsParameter(description: string, example: string) {
  return parameter((text) => text.length <= longestQuestion && plainQuestion(text) !== undefined, {
    error: `must have a letter or a digit, and at most ${longestQuestion} characters`,
    description,
    examples: [example],
  });
}

/** The parameter with a search as a person types it (domain/search-question.ts). */
export function questionParameter(description: string, example: string) {
  const faultOf = (text: string) => {
    const question = readQuestion(text);
    return "fault" in question ? question.fault : undefined;
  };
  const schema = parameter((text) => faultOf(text) === undefined, {
    error: "must have a letter or a digit",
    description,
    examples: [example],
  });
  return Object.assign(schema, { faultOf });
}

/** A query parameter with a comma list of fixed `words`. */
export function wordListParameter(description: string, words: readonly string[]) {
  const shown = words.map((word) => `\`${word}\``).join(", ");
  return parameter((text) => text.split(",").every((word) => words.includes(word)), {
    error: `must be one or more of ${words.map((word) => `"${word}"`).join(", ")}, with commas between`,
    description: `${description}: ${shown}, with commas between`,
    examples: [words[0]],
  });
}

/** A query parameter with a position in an inbox: the id of a message, or the `cursor` of a wait. */
export function placeParameter(description: string) {
  return parameter((text) => text.startsWith("msg_") || isCursor(text), {
    error: "must be the id of a message, or the `cursor` of a wait",
    description,
    examples: [examples.messageId],
  });
}

export function cursorParameter() {
  return parameter(isCursor, {
    error: "must be the `nextCursor` of a page of this list",
    description: "`nextCursor` of the previous page: continues after it, also if items arrived meanwhile",
    examples: [examples.cursor],
  });
}

/** The `include` parameter of an operation. `meanings` has the fields that each word adds. */
export function includeParameter(meanings: Readonly<Record<string, string>>) {
  const words = Object.keys(meanings);
  const told = Object.entries(meanings).map(([word, meaning]) => `\`${word}\`: ${meaning}`);
  return parameter((text) => includedWords(text).every((word) => words.includes(word)), {
    error: `must be a comma list of ${words.map((word) => `\`${word}\``).join(", ")}`,
    description: `Adds fields, as a comma list. ${told.join("; ")}`,
    examples: [words.join(",")],
  });
}

/** The words of an `include` parameter; none if it is left out. */
export function includedWords(text: string | undefined): string[] {
  return (text ?? "")
    .split(",")
    .map((word) => word.trim())
    .filter((word) => word !== "");
}

/** The number in a cursor. A refusal if the cursor belongs to another list or to other filters. */
export function cursorSeq(cursor: string, question: unknown, doing: string): number | Refusal {
  return seqOf(cursor, question) ?? wrongParameter("cursor", ofAnotherList, doing);
}

/**
 * The row in a cursor of a list whose rows have no unique number. A refusal if the cursor belongs to another list or to
 * other filters.
 */
export function cursorRow(cursor: string, question: unknown, numbered: RowNumber, doing: string): RowKey | Refusal {
  return rowOf(cursor, question, numbered) ?? wrongParameter("cursor", ofAnotherList, doing);
}

const ofAnotherList = "must come from a page of the same list, with the same filters";

/** The refusal of one query parameter, for a fault that its schema cannot find. `doing` completes "Cannot …". */
export function wrongParameter(name: string, detail: string, doing: string): Refusal {
  return new Refusal("invalid_query", `Cannot ${doing}: "${name}" ${detail}`, {
    faults: [{ parameter: name, detail }],
  });
}
