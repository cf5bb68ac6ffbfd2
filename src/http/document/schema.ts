import type { TObject, TSchema } from "@sinclair/typebox";

/** Keys that are symbols, so that no validator takes them for keywords of JSON Schema. */
const schemaName = Symbol("name in the document");
const documentKeywords = Symbol("keywords of the document alone");

/** Names a schema. The document has it once, under this name, and refers to it everywhere else. */
export function named<Schema extends TSchema>(name: string, schema: Schema): Schema {
  return { ...schema, [schemaName]: name };
}

/**
 * Adds keywords that only the document has. Values are not validated by them, because the service writes these values
 * itself.
 */
export function shownWith<Schema extends TSchema>(schema: Schema, keywords: Readonly<Record<string, unknown>>): Schema {
  return { ...schema, [documentKeywords]: keywords };
}

export type Written = Record<string, unknown>;

/** The reference to a named schema. */
export function refTo(schema: TSchema): string {
  return refToName(String(nameOf(schema)));
}

function nameOf(schema: TSchema): unknown {
  return schema[schemaName as unknown as string];
}

function refToName(name: string): string {
  return `#/components/schemas/${name}`;
}

export interface SchemaWriter {
  /** Writes a schema, or a reference to it if it has a name. */
  write(schema: TSchema): Written;
  /** Writes the schema of a request body like `write`, but forbids unknown fields. */
  writeTaken(schema: TSchema): Written;
  /** All schemas that were referred to, by name. */
  definitions(): Record<string, Written>;
}

/** Writes schemas as JSON Schema: without TypeBox's symbols, functions, and our `error` texts. */
export function schemaWriter(): SchemaWriter {
  const definitions = new Map<string, Written>();

  function write(schema: TSchema, isTaken: boolean): Written {
    const name = nameOf(schema);
    const written = writeWhole(schema, isTaken);
    if (typeof name !== "string") return written;
    const known = definitions.get(name);
    if (known !== undefined && !Bun.deepEquals(known, written)) {
      throw new Error(`Cannot describe: two schemas are named ${name}`);
    }
    definitions.set(name, written);
    return { $ref: refToName(name) };
  }

  function writeWhole(schema: TSchema, isTaken: boolean): Written {
    const written: Written = {};
    for (const [keyword, value] of Object.entries(schema)) {
      if (keyword === "error" || value === undefined || typeof value === "function") continue;
      written[keyword] = writeKeyword(keyword, value, schema, isTaken);
    }
    if (Array.isArray(written.required) && written.required.length === 0) delete written.required;
    if (isTaken) Object.assign(written, takenKeywords(written));
    return Object.assign(written, schema[documentKeywords as unknown as string]);
  }

  function writeKeyword(keyword: string, value: unknown, schema: TSchema, isTaken: boolean): unknown {
    switch (keyword) {
      case "properties":
        return Object.fromEntries(
          Object.entries(value as TObject["properties"]).map(([name, field]) => [name, write(field, isTaken)]),
        );
      case "items":
        return write(value as TSchema, isTaken);
      case "anyOf":
      case "oneOf":
        return (value as TSchema[]).map((each) => write(each, isTaken));
      case "required":
        return (value as string[]).filter((name) => isRequired(schema as TObject, name));
      default:
        return value;
    }
  }

  return {
    write: (schema) => write(schema, false),
    writeTaken: (schema) => write(schema, true),
    definitions: () => Object.fromEntries([...definitions].sort(([one], [other]) => (one < other ? -1 : 1))),
  };
}

/**
 * The changed keywords of a schema in a request body: an object refuses unknown fields, and a default moves into the
 * description, because client generators make a field with `default` a required one.
 */
function takenKeywords({ properties, description, default: preset }: Written): Written {
  if (properties !== undefined) return { additionalProperties: false };
  if (preset === undefined) return {};
  return { default: undefined, description: `${description} (default: ${JSON.stringify(preset)})` };
}

/**
 * Whether callers must send the field `name`. A field with a default may be left out, although handlers always find it.
 */
export function isRequired({ required, properties }: TObject, name: string): boolean {
  return (required ?? []).includes(name) && properties[name]?.default === undefined;
}

/** The example of a schema, or one that is made from its fields. */
export function exampleOf(schema: TSchema): unknown {
  if (Array.isArray(schema.examples)) return schema.examples[0];
  if (schema.default !== undefined) return schema.default;
  if (schema.const !== undefined) return schema.const;
  if (Array.isArray(schema.enum)) return schema.enum[0];
  const [first] = schema.anyOf ?? schema.oneOf ?? [];
  if (first !== undefined) return exampleOf(first);
  if (schema.type === "object") {
    const fields = Object.entries((schema as TObject).properties ?? {});
    return Object.fromEntries(fields.map(([name, field]) => [name, exampleOf(field)]));
  }
  if (schema.type === "array") return [exampleOf(schema.items)];
  if (schema.type === "string") return "text".slice(0, schema.maxLength);
  return { integer: schema.minimum ?? 1, number: 1, boolean: true, null: null }[String(schema.type)];
}
