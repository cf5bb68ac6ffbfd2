import type { Static, TObject, TSchema } from "@sinclair/typebox";
import { type TypeCheck, TypeCompiler } from "@sinclair/typebox/compiler";
import { type ValueError, ValueErrorType } from "@sinclair/typebox/value";
import { type Fault, type Reason, Refusal } from "../../domain/errors.ts";
import { knownFields, type PlacedFault } from "./known-fields.ts";

type Fields = Readonly<Record<string, unknown>>;

/** Finds faults between fields. A field may have any type here, because the schema reports wrong types. */
export type FaultsOfFields = (fields: Fields) => readonly Fault[];

/** Reads fields once for their faults and their value. `value` is called only if there are no faults. */
export type ReadFields<Value> = (fields: Fields) => FieldsRead<Value>;

export interface FieldsRead<Value> {
  faults: readonly Fault[];
  value: () => Value;
}

/** Returns the fields as they are, for schemas that need no conversion. */
export function readAsTheyAre<Value>(alsoWrong: FaultsOfFields = () => []): ReadFields<Value> {
  return (fields) => ({ faults: alsoWrong(fields), value: () => fields as Value });
}

/**
 * Makes a function that validates a parsed body. It refuses unknown fields, sets defaults, and converts nothing except
 * by `readFields`. It reports all faults at once and never repeats a value. `doing` completes "Cannot …", for example
 * "create inbox".
 */
export function bodyJudge<Schema extends TSchema, Value = Static<Schema>>(
  schema: Schema,
  doing: string,
  readFields: ReadFields<Value> = readAsTheyAre(),
): (body: unknown) => Value {
  const check = TypeCompiler.Compile(schema);
  const fault = (path: string, detail: string): Fault => ({ pointer: `#${fragment(path)}`, detail });
  return (body) => {
    const { value, misplaced, spelt } = knownFields(schema, body);
    // Unknown names come first: a misspelt name is often the reason why another field is missing.
    const faults = [
      ...misplaced.map(({ path, detail }) => fault(path, detail)),
      ...faultsOf(check, value).map(({ path, detail }) => fault(spelt(path), detail)),
    ];
    const read = isFields(value) ? readFields(value) : undefined;
    refuseFaulty("validation_error", doing, onceEach(faults, read?.faults ?? []));
    return read === undefined ? (value as Value) : read.value();
  };
}

/** Adds the `further` faults of the rules to the schema's faults, except for fields that the schema already reports. */
function onceEach(faults: readonly Fault[], further: readonly Fault[]): readonly Fault[] {
  if (faults.length === 0) return further;
  const pathOf = (each: Fault) => ("pointer" in each ? each.pointer : each.parameter);
  const reported = new Set(faults.map(pathOf));
  return [...faults, ...further.filter((each) => !reported.has(pathOf(each)))];
}

/**
 * Makes a function that validates a query string. Each parameter must be known, and may be given once unless it is a
 * list. It is converted to the type of its schema.
 */
export function queryJudge<Schema extends TObject>(schema: Schema, doing: string): (query: string) => Static<Schema> {
  const check = TypeCompiler.Compile(schema);
  const properties = Object.entries(schema.properties);
  return (query) => {
    // Without a prototype, because a parameter may be called `__proto__`.
    const given: Record<string, unknown> = Object.create(null);
    const doubles = new Set<string>();
    for (const [name, text] of new URLSearchParams(query)) {
      const isList = schema.properties[name]?.type === "array";
      if (isList) given[name] = [...((given[name] as string[] | undefined) ?? []), ...text.split(",")];
      else if (name in given) doubles.add(name);
      else given[name] = text;
    }
    const { value, misplaced, spelt } = knownFields(schema, given);
    const parameters = value as Record<string, unknown>;
    for (const [name, property] of properties) {
      const text = parameters[name];
      if (typeof text === "string") parameters[name] = converted(property, text);
      const spelling = spelt(`/${name}`).slice(1);
      if (doubles.has(spelling)) misplaced.push({ path: `/${spelling}`, detail: "must be given once" });
    }
    const wrong = faultsOf(check, parameters).map(({ path, detail }) => ({ path: spelt(path), detail }));
    const faults = [...misplaced, ...wrong].map(({ path, detail }) => ({ parameter: nameIn(path), detail }));
    refuseFaulty("invalid_query", doing, faults);
    return parameters as Static<Schema>;
  };
}

/** Writes a path as the fragment of a URI (RFC 6901 §6). */
function fragment(path: string): string {
  return path.split("/").map(encodeURIComponent).join("/");
}

function nameIn(path: string): string {
  return path.slice(1).replaceAll("~1", "/").replaceAll("~0", "~");
}

export function refuseFaulty(reason: Reason, doing: string, found: readonly Fault[]): void {
  if (found.length === 0) return;
  const faults = found.slice(0, maxFaults);
  throw new Refusal(reason, sentence(doing, faults), { faults });
}

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/**
 * Converts a text to the type of a property. A text that does not fit stays a text, and the schema refuses it. `1e1`, `
 * 1` and `0x1` do not count as numbers.
 */
function converted(property: TSchema, text: string): unknown {
  if (property.type === "integer") return /^-?[0-9]{1,16}$/.test(text) ? Number(text) : text;
  if (property.type === "boolean") return text === "true" ? true : text === "false" ? false : text;
  return text;
}

/** An answer reports at most this many faults. */
const maxFaults = 100;

function faultsOf(check: TypeCheck<TSchema>, value: unknown): PlacedFault[] {
  const details = new Map<string, string>();
  for (const path of unsafeStrings(value)) details.set(path, "must be valid Unicode without NUL");
  if (!check.Check(value)) {
    for (const error of check.Errors(value)) {
      if (details.size >= maxFaults) break;
      // TypeBox reports a missing field twice, as missing and as a wrong type. The caller needs the first.
      if (!details.has(error.path)) details.set(error.path, explained(error));
    }
  }
  return Array.from(details, ([path, detail]) => ({ path, detail }));
}

/**
 * Paths of strings with NUL, which Postgres does not store, or with half a surrogate pair, which UTF-8 does not have. A
 * body may hold a million values, so paths are made only for faults, objects and arrays.
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

/** The text of a fault, made from the schema: the value is never repeated. */
function explained({ type, schema, value }: ValueError): string {
  if (type === ValueErrorType.ObjectRequiredProperty) return "is required";
  // A schema with several faults finds the one of this value.
  const fault: unknown = typeof schema.faultOf === "function" ? schema.faultOf(value) : undefined;
  if (typeof fault === "string") return fault;
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
  const name = "pointer" in first ? nameIn(decodeURIComponent(first.pointer.slice(1))) : first.parameter;
  const what = name === "" && "pointer" in first && first.pointer === "#" ? "the body" : `"${name}"`;
  const more = others.length === 0 ? "" : others.length === 1 ? "1 more fault" : `${others.length} more faults`;
  // A comma does not fit after a question such as "did you mean …?".
  const added = more === "" ? "" : first.detail.endsWith("?") ? ` (and ${more})` : `, and ${more}`;
  return `Cannot ${doing}: ${what} ${first.detail}${added}`;
}
