/**
 * Values as both engines write and read them. A parameter goes out as text (or, for bytes, in the binary
 * format, so that they are neither doubled to hex nor copied through a string), its type left for the server to
 * infer; a column comes back by its type. Neither engine's own tables are used: they differ in what a `date`,
 * a `bigint` or an array becomes, and the rest of the code must not be able to tell which engine it has.
 */
import { type SQL, sql } from "drizzle-orm";

export type WireValue = string | Uint8Array | null;

/**
 * An array parameter of one type: `from unnest(${arrayOf("text", ids)}, ${arrayOf("bytea", raws)}) as …`.
 * The statement is the same text for any number of elements, so it is prepared once per connection,
 * which `in ($1, $2, …)` is not.
 */
export function arrayOf<Type extends keyof ElementOf>(type: Type, values: readonly (ElementOf[Type] | null)[]): SQL {
  const param = type === "bytea" ? byteaArray(values as readonly (Uint8Array | null)[]) : values.map(toWire);
  return sql`${sql.param(param)}::${sql.raw(type)}[]`;
}

/** One `jsonb` parameter. */
export function jsonb(value: unknown): SQL {
  return sql`${JSON.stringify(value)}::jsonb`;
}

interface ElementOf {
  text: string;
  bytea: Uint8Array;
  timestamptz: Date;
  int4: number;
  int8: number;
  float8: number;
  bool: boolean;
  jsonb: object;
}

/** A JavaScript value as a parameter of a statement. */
export function toWire(value: unknown): WireValue {
  if (typeof value === "string") return value;
  if (value === null || value === undefined) return null;
  if (value instanceof Uint8Array) return value;
  if (value instanceof Date) return value.toISOString();
  if (Array.isArray(value)) return arrayLiteral(value);
  if (typeof value === "object") return JSON.stringify(value);
  return String(value);
}

/** How each type of column is read; a type that is not here stays text. */
export const readers: Readonly<Record<number, (text: string) => unknown>> = {
  16: readBoolean,
  17: readBytes,
  20: Number,
  21: Number,
  23: Number,
  26: Number,
  700: Number,
  701: Number,
  114: (text) => JSON.parse(text),
  3802: (text) => JSON.parse(text),
  1184: readInstant,
  1000: readArray(readBoolean),
  1001: readArray(readBytes),
  1005: readArray(Number),
  1007: readArray(Number),
  1016: readArray(Number),
  1021: readArray(Number),
  1022: readArray(Number),
  1009: readArray((text) => text),
  1015: readArray((text) => text),
  1185: readArray(readInstant),
  199: readArray((text) => JSON.parse(text)),
  3807: readArray((text) => JSON.parse(text)),
};

function readBoolean(text: string): boolean {
  return text === "t";
}

/** `bytea_output` is `hex`: `\x` and two digits a byte. */
function readBytes(text: string): Uint8Array {
  return Uint8Array.fromHex(text.slice(2));
}

/** Each connection speaks UTC and ISO: `2026-03-21 10:05:00.123+00`. */
function readInstant(text: string): Date {
  return new Date(`${text.slice(0, 10)}T${text.slice(11, -3)}Z`);
}

/** Reads the text form of an array of one dimension: `{a,"b \"c\"",NULL}`. */
function readArray<Item>(readItem: (text: string) => Item): (text: string) => (Item | null)[] {
  return (text) => {
    const items: (Item | null)[] = [];
    let at = text.indexOf("{") + 1;
    while (at < text.length - 1) {
      let item = "";
      const quoted = text[at] === '"';
      if (quoted) {
        for (at++; text[at] !== '"'; at++) {
          if (text[at] === "\\") at++;
          item += text[at];
        }
        at++;
      } else {
        const comma = text.indexOf(",", at);
        const end = comma === -1 ? text.length - 1 : comma;
        item = text.slice(at, end);
        at = end;
      }
      items.push(!quoted && item === "NULL" ? null : readItem(item));
      at++;
    }
    return items;
  };
}

function arrayLiteral(values: readonly unknown[]): string {
  const items = values.map((value) => {
    const text = toWire(value);
    if (text === null) return "NULL";
    if (typeof text !== "string") throw new TypeError("Cannot write an array: bytes need arrayOf");
    return `"${text.replace(/["\\]/g, "\\$&")}"`;
  });
  return `{${items.join(",")}}`;
}

const byteaOid = 17;

/**
 * An array of bytes in the binary format (the server's `array_recv`): dimensions, whether a null is there, the
 * element's type, then length and lower bound of the one dimension, then each element after its length.
 */
function byteaArray(values: readonly (Uint8Array | null)[]): Uint8Array {
  const sizeBytes = values.reduce((sum, value) => sum + 4 + (value?.length ?? 0), values.length === 0 ? 12 : 20);
  const bytes = new Uint8Array(sizeBytes);
  const view = new DataView(bytes.buffer);
  view.setInt32(0, values.length === 0 ? 0 : 1);
  view.setInt32(4, values.includes(null) ? 1 : 0);
  view.setInt32(8, byteaOid);
  if (values.length === 0) return bytes;
  view.setInt32(12, values.length);
  view.setInt32(16, 1);
  let at = 20;
  for (const value of values) {
    view.setInt32(at, value === null ? -1 : value.length);
    at += 4;
    if (value === null) continue;
    bytes.set(value, at);
    at += value.length;
  }
  return bytes;
}
