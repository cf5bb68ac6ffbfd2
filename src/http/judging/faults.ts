import type { Static, TObject, TSchema } from "@sinclair/typebox";
import { type TypeCheck, TypeCompiler } from "@sinclair/typebox/compiler";
import { type ValueError, ValueErrorType } from "@sinclair/typebox/value";
import { type Fault, type Reason, Refusal } from "../../domain/errors.ts";
import { knownFields, type PlacedFault } from "./known-fields.ts";

type Fields = Readonly<Record<string, unknown>>;

/** What is wrong between fields. They may be of any shape: the schema tells that. */
export type FaultsOfFields = (fields: Fields) => readonly Fault[];

/** What fields say, and what is wrong with it, by one reading; the value is asked for only where nothing is. */
export type ReadFields<Value> = (fields: Fields) => FieldsRead<Value>;

export interface FieldsRead<Value> {
  faults: readonly Fault[];
  value: () => Value;
}

/** For fields that say no more than their schema says. */
export function readAsTheyAre<Value>(alsoWrong: FaultsOfFields = () => []): ReadFields<Value> {
  return (fields) => ({ faults: alsoWrong(fields), value: () => fields as Value });
}

/**
 * Judges a parsed body: unknown fields are refused, defaults filled in, nothing is converted but by `readFields`. All faults are told
 * at once and none repeats a value. `doing` says what is refused: "create inbox".
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
    // A name that nobody knows comes first: where a field is missing, that is most often why.
    const faults = [
      ...misplaced.map(({ path, detail }) => fault(path, detail)),
      ...faultsOf(check, value).map(({ path, detail }) => fault(spelt(path), detail)),
    ];
    const read = isFields(value) ? readFields(value) : undefined;
    refuseFaulty("validation_error", doing, onceEach(faults, read?.faults ?? []));
    return read === undefined ? (value as Value) : read.value();
  };
}

/** Of one field one fault is told, the schema's before a rule's. */
function onceEach(faults: readonly Fault[], further: readonly Fault[]): readonly Fault[] {
  if (faults.length === 0) return further;
  const placeOf = (each: Fault) => ("pointer" in each ? each.pointer : each.parameter);
  const told = new Set(faults.map(placeOf));
  return [...faults, ...further.filter((each) => !told.has(placeOf(each)))];
}

/**
 * Judges the text of a query: each parameter at most once and of a name that is known, converted to the type that its schema
 * names.
 */
export function queryJudge<Schema extends TObject>(schema: Schema, doing: string): (query: string) => Static<Schema> {
  const check = TypeCompiler.Compile(schema);
  const properties = Object.entries(schema.properties);
  return (query) => {
    // Without a prototype, since a parameter may be called `__proto__`.
    const given: Record<string, unknown> = Object.create(null);
    const doubles = new Set<string>();
    for (const [name, text] of new URLSearchParams(query)) {
      if (name in given) doubles.add(name);
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

/** The path as the fragment of a URI (RFC 6901 §6). */
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

/** A text that is no number stays a text, and so the schema refuses it. `1e1`, ` 1` and `0x1` are no numbers here. */
function converted(property: TSchema, text: string): unknown {
  if (property.type === "integer") return /^-?[0-9]{1,16}$/.test(text) ? Number(text) : text;
  if (property.type === "boolean") return text === "true" ? true : text === "false" ? false : text;
  return text;
}

/** As many as one answer tells. */
const maxFaults = 100;

function faultsOf(check: TypeCheck<TSchema>, value: unknown): PlacedFault[] {
  const details = new Map<string, string>();
  for (const path of unsafeStrings(value)) details.set(path, "must be valid Unicode without NUL");
  if (!check.Check(value)) {
    for (const error of check.Errors(value)) {
      if (details.size >= maxFaults) break;
      // A missing field is told twice, as missing and as not of its type: the first is what the caller needs.
      if (!details.has(error.path)) details.set(error.path, explained(error));
    }
  }
  return Array.from(details, ([path, detail]) => ({ path, detail }));
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
  const name = "pointer" in first ? nameIn(decodeURIComponent(first.pointer.slice(1))) : first.parameter;
  const what = name === "" && "pointer" in first && first.pointer === "#" ? "the body" : `"${name}"`;
  const more = others.length === 0 ? "" : others.length === 1 ? "1 more fault" : `${others.length} more faults`;
  // Behind a question, as "did you mean …?", a comma would not do.
  const added = more === "" ? "" : first.detail.endsWith("?") ? ` (and ${more})` : `, and ${more}`;
  return `Cannot ${doing}: ${what} ${first.detail}${added}`;
}
