import { Kind, type TSchema, Type, TypeRegistry } from "@sinclair/typebox";

export interface TTexts<Value = string> extends TSchema {
  [Kind]: "Texts" | "TextsOrNull";
  static: Record<string, Value>;
}

interface Options {
  description: string;
  examples: unknown[];
}

/** The schema of an object whose values are strings. */
export function texts(options: Options): TTexts {
  return schemaOf("Texts", {
    ...options,
    additionalProperties: { type: "string" },
    error: "must be an object of strings",
  });
}

/** The schema of an object whose values are strings or null. */
export function textsOrNull(options: Options): TTexts<string | null> {
  return schemaOf("TextsOrNull", {
    ...options,
    additionalProperties: { type: ["string", "null"] },
    error: "must be an object of strings and nulls",
  });
}

function schemaOf<Value>(kind: TTexts<Value>[typeof Kind], options: object): TTexts<Value> {
  const schema = { ...options, [Kind]: kind, type: "object" };
  return Type.Unsafe<Record<string, Value>>(schema) as unknown as TTexts<Value>;
}

export function isTexts(value: unknown): value is Record<string, string> {
  return isTextsOrNull(value) && Object.values(value).every((each) => each !== null);
}

export function isTextsOrNull(value: unknown): value is Record<string, string | null> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  return Object.values(value).every((each) => each === null || typeof each === "string");
}

TypeRegistry.Set<TTexts>("Texts", (_, value) => isTexts(value));
TypeRegistry.Set<TTexts<string | null>>("TextsOrNull", (_, value) => isTextsOrNull(value));
