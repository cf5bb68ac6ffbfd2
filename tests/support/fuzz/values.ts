import type { Chance } from "../chance.ts";
import type { DocumentedSchema } from "../schema-check.ts";

/** Existing values that requests may name; without them nearly all would get 404. */
export interface Known {
  /** An existing value of this name, if there is one: an id, a cursor, an address. */
  named(name: string): unknown;
}

export interface ShownSchema extends DocumentedSchema {
  anyOf?: ShownSchema[];
  oneOf?: ShownSchema[];
  properties?: Record<string, ShownSchema>;
  items?: ShownSchema;
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  minItems?: number;
  pattern?: string;
  examples?: unknown[];
  default?: unknown;
}

/** A value that fits the schema. */
export function goodValue(schema: ShownSchema, name: string, known: Known, chance: Chance): unknown {
  const real = known.named(name);
  if (real !== undefined && chance.is(0.9)) return real;
  // Recipients: an address alone, or entries, whose rules are not all in the schema.
  if (schema.oneOf !== undefined) return schema.examples?.[0];
  if (schema.anyOf !== undefined) return goodValue(chance.pick(schema.anyOf), name, known, chance);
  if (schema.enum !== undefined) return chance.pick(schema.enum);
  if (Array.isArray(schema.type)) return goodValue({ ...schema, type: chance.pick(schema.type) }, name, known, chance);
  switch (schema.type) {
    case "object":
      return goodObject(schema, known, chance);
    case "array":
      return Array.from({ length: chance.whole(schema.minItems ?? 0, 3) }, () =>
        goodValue(schema.items ?? {}, name, known, chance),
      );
    case "boolean":
      return chance.is(0.5);
    case "integer":
      return edge(schema.minimum ?? -1_000_000, schema.maximum ?? 1_000_000, chance);
    case "string":
      return goodText(schema, chance);
    case "null":
      return null;
    default:
      return chance.pick(oddValues);
  }
}

/** Second names of fields: both together are refused as a duplicate. */
const aliases: ReadonlySet<string> = new Set(["mailboxName", "isRead", "cursor"]);

function goodObject({ properties = {}, required = [] }: ShownSchema, known: Known, chance: Chance) {
  const kept = Object.entries(properties).filter(
    ([name]) => required.includes(name) || (!aliases.has(name) && chance.is(0.35)),
  );
  return Object.fromEntries(kept.map(([name, field]) => [name, goodValue(field, name, known, chance)]));
}

function goodText({ minLength, maxLength = 40, pattern, examples = [] }: ShownSchema, chance: Chance): unknown {
  // A text without a minimum length is an id, a date or an address, whose form is not in its schema.
  if (minLength === undefined) return examples.length > 0 ? chance.pick(examples) : "text";
  const text = oddText(Math.max(1, edge(minLength, Math.min(maxLength, 3000), chance)), chance);
  return pattern === undefined || new RegExp(pattern, "u").test(text)
    ? text
    : text.replaceAll(/[\r\n\u2028\u2029]/g, "-");
}

/** A value that does not fit the schema. */
export function badValue(schema: ShownSchema, chance: Chance): unknown {
  const types = (schema.anyOf ?? [schema]).flatMap(({ type }) => type);
  const wrongType = oddValues.filter(
    (value) => !types.some((type) => isOfType(type, value)) && !(mayBeEmpty(schema) && isEmptyList(value)),
  );
  const { minimum, maximum, minLength, maxLength } = schema;
  return chance.pick([
    chance.pick(wrongType),
    ...(minimum === undefined ? [] : [minimum - 1]),
    ...(maximum === undefined || maximum >= Number.MAX_SAFE_INTEGER ? [] : [maximum + 1]),
    ...(minLength === undefined || minLength < 1 ? [] : [""]),
    ...(maxLength === undefined || maxLength > 5000 ? [] : ["x".repeat(maxLength + 1)]),
    ...(schema.enum === undefined ? [] : [`${schema.enum[0]}x`]),
  ]);
}

/** Whether recipients may be an empty list. No other odd value is right for them. */
function mayBeEmpty({ oneOf = [] }: ShownSchema): boolean {
  return oneOf.some(({ type, minItems = 0 }) => type === "array" && minItems === 0);
}

function isEmptyList(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0;
}

/** Anything at all. */
export function oddValue(chance: Chance): unknown {
  return chance.is(0.5) ? chance.pick(oddValues) : oddText(chance.whole(0, 300), chance);
}

const oddValues: readonly unknown[] = [
  null,
  true,
  false,
  0,
  -1,
  1.5,
  1e308,
  -0,
  2 ** 53,
  "",
  "0",
  "null",
  "\0",
  "\ud800",
  [],
  {},
  [[]],
  [null],
  { "": "" },
  { __proto__: null, constructor: 1 },
  JSON.parse('{"__proto__": {"x": 1}}'),
  "a".repeat(300),
  "💥".repeat(200),
  "\u202e\u0000",
  "'; drop table messages --",
  "../../etc/passwd",
  "%00",
  "\r\nX: y",
];

function isOfType(type: string | undefined, value: unknown): boolean {
  if (type === "null") return value === null;
  if (type === "integer") return Number.isInteger(value);
  if (type === "array") return Array.isArray(value);
  if (type === "object") return typeof value === "object" && value !== null && !Array.isArray(value);
  // A NUL is refused with another code.
  return typeof value === type;
}

function edge(least: number, most: number, chance: Chance): number {
  const edges = [least, most, least + 1, most - 1].filter((value) => value >= least && value <= most);
  return chance.is(0.3) ? chance.pick(edges) : chance.whole(least, Math.min(most, least + 100));
}

/** Text of this many code points, of many scripts. */
export function oddText(length: number, chance: Chance): string {
  const alphabet = chance.pick(alphabets);
  return Array.from({ length }, () => chance.pick(alphabet)).join("");
}

const alphabets: readonly (readonly string[])[] = [
  [..."abcdefghijklmnopqrstuvwxyz"],
  [..."ABC abc 012 .,-_<>@&\"'"],
  [..."äöüßéñøåЖдמשعあ漢字"],
  [..."💥👩‍💻🏳️‍🌈é\u0301\u200b\u202e\ufeff\u2028"],
  [..."\t\u0001\u007f\r\n x"],
];
