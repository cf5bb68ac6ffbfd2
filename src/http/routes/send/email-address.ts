import { Kind, type TSchema, Type, TypeRegistry } from "@sinclair/typebox";
import { parseSendAddress } from "../../../standards/address.ts";

export interface TEmailAddress extends TSchema {
  [Kind]: "EmailAddress";
  static: string;
  type: "string";
  [own]: string;
}

/** A symbol, so that it is no part of the document. */
const own = Symbol("own domain");

/** One bare address that mail can be sent to; `ownDomain` needs no dot. */
export function emailAddress(ownDomain: string, options: { description: string; examples: string[] }): TEmailAddress {
  const schema = {
    ...options,
    [Kind]: "EmailAddress",
    type: "string",
    maxLength: 254,
    error: "must be one email address",
  };
  return Type.Unsafe<string>({ ...schema, [own]: ownDomain }) as unknown as TEmailAddress;
}

TypeRegistry.Set<TEmailAddress>(
  "EmailAddress",
  (schema, value) => typeof value === "string" && parseSendAddress(value, schema[own]) !== undefined,
);
