import { Kind, type TSchema, Type, TypeRegistry } from "@sinclair/typebox";

export interface TTexts extends TSchema {
  [Kind]: "Texts";
  static: Record<string, string>;
}

/** The schema of an object whose values are strings. */
export function texts(options: { description: string; examples: unknown[] }): TTexts {
  const schema = {
    ...options,
    [Kind]: "Texts",
    type: "object",
    additionalProperties: { type: "string" },
    error: "must be an object of strings",
  };
  return Type.Unsafe<Record<string, string>>(schema) as unknown as TTexts;
}

export function isTexts(value: unknown): value is Record<string, string> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  return Object.values(value).every((each) => typeof each === "string");
}

TypeRegistry.Set<TTexts>("Texts", (_, value) => isTexts(value));
