import { Kind, type TSchema, Type, TypeRegistry } from "@sinclair/typebox";

export interface TTexts extends TSchema {
  [Kind]: "Texts";
  static: Record<string, string>;
}

interface Options {
  description: string;
  examples: unknown[];
}

/** The schema of an object whose values are strings. */
export function texts(options: Options): TTexts {
  const schema = {
    ...options,
    [Kind]: "Texts",
    type: "object",
    additionalProperties: { type: "string" },
    error: "must be an object of strings",
  };
  return Type.Unsafe<Record<string, string>>(schema) as unknown as TTexts;
}

export interface TTextsPatch extends TSchema {
  [Kind]: "TextsPatch";
  static: Record<string, string | null> | null;
}

/** The schema of a merge patch of an object whose values are strings: null removes a value, and null as the patch removes all. */
export function textsPatch(options: Options): TTextsPatch {
  const schema = {
    ...options,
    [Kind]: "TextsPatch",
    type: ["object", "null"],
    additionalProperties: { type: ["string", "null"] },
    error: "must be null, or an object of strings and nulls",
  };
  return Type.Unsafe<TTextsPatch["static"]>(schema) as unknown as TTextsPatch;
}

export function isTexts(value: unknown): value is Record<string, string> {
  return value !== null && isTextsPatch(value) && Object.values(value ?? {}).every((each) => each !== null);
}

export function isTextsPatch(value: unknown): value is TTextsPatch["static"] {
  if (typeof value !== "object" || Array.isArray(value)) return false;
  return Object.values(value ?? {}).every((each) => each === null || typeof each === "string");
}

TypeRegistry.Set<TTexts>("Texts", (_, value) => isTexts(value));
TypeRegistry.Set<TTextsPatch>("TextsPatch", (_, value) => isTextsPatch(value));
