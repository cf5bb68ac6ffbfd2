import { Kind, type TSchema, Type, TypeRegistry } from "@sinclair/typebox";
import { parseSendAddress } from "../../../standards/address.ts";

export interface TEmailAddress extends TSchema {
  [Kind]: "EmailAddress";
  static: string;
  type: "string";
  [ownDomainKey]: string;
}

/** A symbol, so that the document leaves it out. */
const ownDomainKey = Symbol("own domain");

/** The schema of an address without a name. Its domain needs a dot, unless it is `ownDomain`. */
export function emailAddress(ownDomain: string, options: { description: string; examples: string[] }): TEmailAddress {
  const schema = {
    ...options,
    [Kind]: "EmailAddress",
    type: "string",
    maxLength: 254,
    error: "must be one email address",
  };
  return Type.Unsafe<string>({ ...schema, [ownDomainKey]: ownDomain }) as unknown as TEmailAddress;
}

TypeRegistry.Set<TEmailAddress>(
  "EmailAddress",
  (schema, value) => typeof value === "string" && parseSendAddress(value, schema[ownDomainKey]) !== undefined,
);
