import type { TObject, TSchema } from "@sinclair/typebox";

/** Symbols, so that no judge of values takes them for keywords. */
const schemaName = Symbol("name in the document");
const shownToo = Symbol("keywords of the document alone");

/** A schema that the document has once, under this name, and refers to wherever it stands. */
export function named<Schema extends TSchema>(name: string, schema: Schema): Schema {
  return { ...schema, [schemaName]: name };
}

/** A schema of which the document says more than is judged: what we write ourselves needs no judge. */
export function shownWith<Schema extends TSchema>(schema: Schema, keywords: Readonly<Record<string, unknown>>): Schema {
  return { ...schema, [shownToo]: keywords };
}

export type Written = Record<string, unknown>;

/** Where the document has a schema that has a name. */
export function placeOf(schema: TSchema): string {
  return placeOfName(String(nameOf(schema)));
}

function nameOf(schema: TSchema): unknown {
  return schema[schemaName as unknown as string];
}

function placeOfName(name: string): string {
  return `#/components/schemas/${name}`;
}

export interface SchemaWriter {
  /** The schema as the document has it in this place: whole, or as a reference where it has a name. */
  write(schema: TSchema): Written;
  /** The same for what is taken from callers, of which unknown fields are refused. */
  writeTaken(schema: TSchema): Written;
  /** All that was referred to, by name. */
  definitions(): Record<string, Written>;
}

/** Writes schemas as JSON Schema has them: without TypeBox's symbols, functions, and our own words for a fault. */
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
    return { $ref: placeOfName(name) };
  }

  function writeWhole(schema: TSchema, isTaken: boolean): Written {
    const written: Written = {};
    for (const [keyword, value] of Object.entries(schema)) {
      if (keyword === "error" || value === undefined || typeof value === "function") continue;
      written[keyword] = writeKeyword(keyword, value, schema, isTaken);
    }
    if (Array.isArray(written.required) && written.required.length === 0) delete written.required;
    if (isTaken) Object.assign(written, takenKeywords(written));
    return Object.assign(written, schema[shownToo as unknown as string]);
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
 * Of a body unknown fields are refused. A default is told in words there: generators of clients take a field that has one
 * for a field that is always there, and would have callers send it.
 */
function takenKeywords({ properties, description, default: preset }: Written): Written {
  if (properties !== undefined) return { additionalProperties: false };
  if (preset === undefined) return {};
  return { default: undefined, description: `${description} (unless given: ${JSON.stringify(preset)})` };
}

/** What has a default may be left out, though whoever reads what was judged always finds it. */
export function isRequired({ required, properties }: TObject, name: string): boolean {
  return (required ?? []).includes(name) && properties[name]?.default === undefined;
}

/** An example of a schema: its own, else one put together from those of its fields. */
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
