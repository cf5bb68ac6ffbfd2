import { Kind, type TSchema, Type, TypeRegistry } from "@sinclair/typebox";
import type { AskedEntry } from "../../../domain/send/recipients/entries.ts";
import { longestNamedAddress } from "../../../standards/address.ts";

export type Entries = string | AskedEntry[];

export interface TEntries extends TSchema {
  [Kind]: "RecipientEntries";
  static: Entries;
}

/**
 * The schema of recipients: one address, bare or as `Jane Doe <jane@example.com>`, or a list of these and of objects
 * with an address and a name. The domain validates the addresses.
 */
export function recipientEntries(options: { description: string; examples: unknown[]; atLeast: 0 | 1 }): TEntries {
  const { atLeast, ...shown } = options;
  const address = { type: "string", maxLength: 254 };
  const text = { type: "string", maxLength: longestNamedAddress };
  const name = { type: "string", minLength: 1, maxLength: 100 };
  const properties = { address, name };
  const entry = { type: "object", required: ["address"], properties, additionalProperties: false };
  const items = { oneOf: [text, entry] };
  const schema = {
    ...shown,
    [Kind]: "RecipientEntries",
    oneOf: [text, { type: "array", minItems: atLeast, items }],
    error: "must be one email address, or an array of addresses and of objects with an address and a name",
  };
  return Type.Unsafe<Entries>(schema) as unknown as TEntries;
}

export function isEntries(value: unknown): value is Entries {
  return typeof value === "string" || (Array.isArray(value) && value.every(isEntry));
}

TypeRegistry.Set<TEntries>("RecipientEntries", (_, value) => isEntries(value));

function isEntry(value: unknown): value is AskedEntry {
  if (typeof value === "string") return true;
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  const { address, name, ...others } = value as Record<string, unknown>;
  const isName = name === undefined || typeof name === "string";
  return typeof address === "string" && isName && Object.keys(others).length === 0;
}
