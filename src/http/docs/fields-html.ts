import { inline } from "./guide-html.ts";
import { type Html, html } from "./html.ts";
import { refName, type Schema } from "./reference.ts";

/** The page lists nested fields down to this depth. Deeper ones appear only in the example. */
const deepest = 4;

/** An HTML list of the fields of an object, or of the items of an array. Undefined if there are none. */
export function fieldsOf(schema: Schema | undefined, depth = 0): Html | undefined {
  const properties = Object.entries(objectIn(schema)?.properties ?? {});
  if (properties.length === 0 || depth >= deepest) return undefined;
  const required = new Set(objectIn(schema)?.required);
  return html`<ul class="fields">${properties.map(([name, field]) => fieldItem(name, field, required.has(name), depth))}</ul>`;
}

export function fieldItem(name: string, schema: Schema, isRequired: boolean, depth = 0): Html {
  return html`<li><p class="field"><code class="name" data-field>${name}</code> <span class="type">${typeOf(schema)}</span>${
    isRequired && html` <span class="required">required</span>`
  }</p>${schema.description !== undefined && html`<p>${inline(schema.description)}</p>`}${limitsOf(schema)}${fieldsOf(schema, depth + 1)}</li>`;
}

/**
 * The object in a schema: the schema itself, its merged `allOf`, the items of an array, or the first alternative with
 * fields.
 */
function objectIn(schema: Schema | undefined): Schema | undefined {
  if (schema === undefined) return undefined;
  if (schema.allOf) {
    const { allOf, ...own } = schema;
    const parts = [...allOf, own].map((part) => objectIn(part) ?? {});
    return {
      properties: Object.assign({}, ...parts.map(({ properties }) => properties)),
      required: parts.flatMap(({ required = [] }) => required),
    };
  }
  if (schema.properties) return schema;
  if (schema.items) return objectIn(schema.items);
  const choices = schema.anyOf ?? schema.oneOf;
  return choices?.map(objectIn).find((choice) => choice?.properties !== undefined);
}

function typeOf(schema: Schema): Html {
  if (schema.$ref) return html`<a href="#schema-${refName(schema.$ref)}">${refName(schema.$ref)}</a>`;
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices) return joined(choices.map(typeOf));
  if (schema.allOf) return joined(schema.allOf.filter(({ $ref }) => $ref !== undefined).map(typeOf));
  if (schema.type === "array") return html`list of ${schema.items ? typeOf(schema.items) : "anything"}`;
  if (schema.enum) return html`${schema.enum.map((value) => JSON.stringify(value)).join(" · ")}`;
  if (schema.const !== undefined) return html`${JSON.stringify(schema.const)}`;
  const type = schema.type ?? "anything";
  return html`${typeof type === "string" ? type : type.join(" or ")}`;
}

function joined(types: readonly Html[]): Html {
  return html`${types.map((type, index) => html`${index > 0 && " or "}${type}`)}`;
}

/** The limits of a value and its default. */
function limitsOf(schema: Schema): Html | undefined {
  const words = [
    bounds(schema.minimum, schema.maximum, ""),
    bounds(schema.minLength, schema.maxLength, " characters"),
    schema.maxItems === undefined ? undefined : `at most ${schema.maxItems.toLocaleString("en")} entries`,
    schema.default === undefined ? undefined : `default ${JSON.stringify(schema.default)}`,
  ].filter((word) => word !== undefined);
  return words.length === 0 ? undefined : html`<p class="bounds">${words.join(" · ")}</p>`;
}

function bounds(least: number | undefined, most: number | undefined, unit: string): string | undefined {
  const upper = most === undefined || most >= Number.MAX_SAFE_INTEGER ? undefined : most.toLocaleString("en");
  if (upper === undefined) return (least ?? 0) > 0 ? `at least ${least}${unit}` : undefined;
  return (least ?? 0) > 0 ? `${least} to ${upper}${unit}` : `at most ${upper}${unit}`;
}
