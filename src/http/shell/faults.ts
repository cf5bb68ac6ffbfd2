import type { Static, TObject, TSchema } from "@sinclair/typebox";
import { type TypeCheck, TypeCompiler } from "@sinclair/typebox/compiler";
import { type ValueError, ValueErrorType } from "@sinclair/typebox/value";
import { type Fault, Refusal } from "../../domain/errors.ts";

/**
 * Judges a parsed body: unknown fields are dropped, defaults filled in, nothing is converted. All faults are told at
 * once and none repeats a value. `doing` says what is refused: "create inbox".
 */
export function bodyJudge<Schema extends TSchema>(
  schema: Schema,
  doing: string,
  alsoWrong: (fields: Readonly<Record<string, unknown>>) => Fault[] = () => [],
): (body: unknown) => Static<Schema> {
  const check = TypeCompiler.Compile(schema);
  return (body) => {
    const value = known(schema, body);
    const faults = faultsOf(check, value, (path, detail) => ({ pointer: `#${path}`, detail }));
    if (isFields(value)) faults.push(...alsoWrong(value));
    if (faults.length > 0) throw new Refusal("validation_error", sentence(doing, faults), { faults });
    return value as Static<Schema>;
  };
}

/** Judges the text of a query: each parameter at most once, converted to the type that its schema names. */
export function queryJudge<Schema extends TObject>(schema: Schema, doing: string): (query: string) => Static<Schema> {
  const check = TypeCompiler.Compile(schema);
  const properties = Object.entries(schema.properties);
  return (query) => {
    const parameters = new URLSearchParams(query);
    const doubles: Fault[] = [];
    const given: Record<string, unknown> = {};
    for (const [name, property] of properties) {
      const [text, ...others] = parameters.getAll(name);
      if (text === undefined) continue;
      if (others.length > 0) doubles.push({ parameter: name, detail: "must be given once" });
      given[name] = converted(property, text);
    }
    const value = known(schema, given);
    const faults = [...doubles, ...faultsOf(check, value, (path, detail) => ({ parameter: path.slice(1), detail }))];
    if (faults.length > 0) throw new Refusal("invalid_query", sentence(doing, faults), { faults });
    return value as Static<Schema>;
  };
}

/**
 * The fields that the schema names, with the defaults of those that are left out. TypeBox's own Clean lets `__proto__`
 * and `constructor` through, as it asks whether a name is *in* the properties. An array keeps one item more than it
 * may have: enough to be refused for it, without a look at a million others.
 */
function known(schema: TSchema, value: unknown): unknown {
  if (Array.isArray(value)) {
    if (schema.type !== "array") return value;
    const kept = schema.maxItems === undefined ? value : value.slice(0, schema.maxItems + 1);
    return kept.map((item) => known(schema.items, item));
  }
  if (typeof value !== "object" || value === null || schema.properties === undefined) return value;
  const given = value as Record<string, unknown>;
  const fields: Record<string, unknown> = {};
  for (const [name, property] of Object.entries((schema as TObject).properties)) {
    if (Object.hasOwn(given, name)) fields[name] = known(property, given[name]);
    else if (property.default !== undefined) fields[name] = property.default;
  }
  return fields;
}

function isFields(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A text that is no number stays a text, and so the schema refuses it. `1e1`, ` 1` and `0x1` are no numbers here. */
function converted(property: TSchema, text: string): unknown {
  if (property.type === "integer") return /^-?[0-9]{1,15}$/.test(text) ? Number(text) : text;
  if (property.type === "boolean") return text === "true" ? true : text === "false" ? false : text;
  return text;
}

/** As many as one answer tells. */
const maxFaults = 100;

function faultsOf(check: TypeCheck<TSchema>, value: unknown, fault: (path: string, detail: string) => Fault): Fault[] {
  const details = new Map<string, string>();
  for (const path of unsafeStrings(value)) details.set(path, "must be valid Unicode without NUL");
  if (!check.Check(value)) {
    for (const error of check.Errors(value)) {
      if (details.size >= maxFaults) break;
      // A missing field is told twice, as missing and as not of its type: the first is what the caller needs.
      if (!details.has(error.path)) details.set(error.path, explained(error));
    }
  }
  return Array.from(details, ([path, detail]) => fault(path, detail));
}

/**
 * Paths of strings with NUL or half a surrogate pair: no database takes the first, no UTF-8 the second. A body may hold
 * a million values, nearly all in order, so a path is put together only for what needs one.
 */
function unsafeStrings(value: unknown, path = "", found: string[] = []): string[] {
  if (isUnsafe(value)) found.push(path);
  if (typeof value !== "object" || value === null) return found;
  for (const [key, child] of Array.isArray(value) ? value.entries() : Object.entries(value)) {
    if (found.length >= maxFaults) break;
    if (isUnsafe(child) || typeof child === "object") unsafeStrings(child, `${path}/${key}`, found);
  }
  return found;
}

function isUnsafe(value: unknown): boolean {
  return typeof value === "string" && (!value.isWellFormed() || value.includes("\0"));
}

/** In plain words, from the schema alone: the value itself is never repeated. */
function explained({ type, schema }: ValueError): string {
  if (type === ValueErrorType.ObjectRequiredProperty) return "is required";
  if (typeof schema.error === "string") return schema.error;
  if (Array.isArray(schema.enum)) return `must be one of ${schema.enum.map((word) => `"${word}"`).join(", ")}`;
  switch (schema.type) {
    case "string":
      return within("must be a string", schema.minLength, schema.maxLength, "characters");
    case "integer":
      return within("must be a whole number", schema.minimum, schema.maximum);
    case "number":
      return within("must be a number", schema.minimum, schema.maximum);
    case "boolean":
      return "must be true or false";
    case "array":
      return within("must be an array", schema.minItems, schema.maxItems, "items");
    case "object":
      return "must be an object";
    case "null":
      return "must be null";
    default:
      return "is not of the right form";
  }
}

function within(what: string, min: number | undefined, max: number | undefined, unit = ""): string {
  const upper = max === Number.MAX_SAFE_INTEGER ? undefined : max;
  const tail = unit === "" ? "" : ` ${unit}`;
  if (min !== undefined && upper !== undefined) {
    return unit === "" ? `${what} from ${min} to ${upper}` : `${what} of ${min} to ${upper}${tail}`;
  }
  if (upper !== undefined) return `${what} of at most ${upper}${tail}`;
  if (min !== undefined) return `${what} of at least ${min}${tail}`;
  return what;
}

function sentence(doing: string, [first, ...others]: Fault[]): string {
  if (first === undefined) return `Cannot ${doing}`;
  const name = "pointer" in first ? first.pointer.slice(2) : first.parameter;
  const more =
    others.length === 0 ? "" : others.length === 1 ? ", and 1 more fault" : `, and ${others.length} more faults`;
  return `Cannot ${doing}: ${name === "" ? "the body" : `"${name}"`} ${first.detail}${more}`;
}
