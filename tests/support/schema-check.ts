/** The parts of a JSON schema that our document uses. */
export interface DocumentedSchema {
  type?: string;
  properties?: Record<string, DocumentedSchema>;
  required?: string[];
  items?: DocumentedSchema;
  anyOf?: DocumentedSchema[];
  oneOf?: DocumentedSchema[];
  enum?: unknown[];
  additionalProperties?: boolean;
  /** Schemas of fields by the pattern of their names. */
  patternProperties?: Record<string, DocumentedSchema>;
  const?: unknown;
  format?: string;
}

/** The differences between a value and its schema, undocumented fields included. */
export function mismatches(schema: DocumentedSchema, value: unknown, path = ""): string[] {
  const either = schema.anyOf ?? schema.oneOf;
  if (either !== undefined) {
    const tries = either.map((each) => mismatches(each, value, path));
    return tries.some((found) => found.length === 0) ? [] : (tries[0] ?? []);
  }
  if (schema.const !== undefined && value !== schema.const) return [`${path} is not ${schema.const}`];
  if (schema.enum !== undefined && !schema.enum.includes(value)) return [`${path} is none of ${schema.enum}`];
  if (schema.type !== undefined && !isOf(schema.type, value)) return [`${path} is no ${schema.type}`];
  if (schema.format === "date-time" && !/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(String(value))) {
    return [`${path} is no instant`];
  }
  if (Array.isArray(value)) return value.flatMap((item, at) => mismatches(schema.items ?? {}, item, `${path}/${at}`));
  if (typeof value !== "object" || value === null) return [];
  const { properties = {}, required = [], additionalProperties = false, patternProperties = {} } = schema;
  const byPattern = (name: string) =>
    Object.entries(patternProperties).find(([pattern]) => new RegExp(pattern).test(name))?.[1];
  return [
    ...required.filter((name) => !(name in value)).map((name) => `${path}/${name} is missing`),
    ...Object.entries(value).flatMap(([name, field]) => {
      const documented = properties[name] ?? byPattern(name);
      if (documented === undefined && additionalProperties) return [];
      return documented === undefined
        ? [`${path}/${name} is not documented`]
        : mismatches(documented, field, `${path}/${name}`);
    }),
  ];
}

function isOf(type: string, value: unknown): boolean {
  if (type === "array") return Array.isArray(value);
  if (type === "null") return value === null;
  if (type === "integer") return Number.isInteger(value);
  if (type === "object") return typeof value === "object" && value !== null && !Array.isArray(value);
  return typeof value === type;
}
