import type { TSchema } from "@sinclair/typebox";

/** A symbol, so that it is no part of the document. */
const aliasKey = Symbol("alias");

/**
 * A field or parameter that is taken under a second spelling too. It has one name everywhere else, in the value that handlers get, in a
 * fingerprint and in the document, whose description says the other.
 */
export function alsoNamed<Schema extends TSchema>(alias: string, schema: Schema): Schema {
  const description = [schema.description, `Also taken as \`${alias}\``].filter(Boolean).join(". ");
  return { ...schema, description, [aliasKey]: alias };
}

export function aliasOf(schema: TSchema): string | undefined {
  return schema[aliasKey as unknown as string] as string | undefined;
}
