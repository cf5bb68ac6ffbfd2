/** The parts of an OpenAPI document that the page shows, in reading order. */
export interface Reference {
  groups: Group[];
  events: EventShape[];
  schemas: [name: string, schema: Schema][];
}

export interface Group {
  name: string;
  description: string | undefined;
  operations: ReferenceOperation[];
}

export interface ReferenceOperation extends DocumentOperation {
  method: string;
  path: string;
  /** Whether it needs an API key. */
  needsKey: boolean;
}

export interface EventShape {
  /** For example `message.received`. */
  name: string;
  summary: string;
  description: string | undefined;
  content: Content | undefined;
}

/** The part of OpenAPI 3.1 that our document uses. */
export interface Document {
  tags?: readonly { name: string; description?: string }[];
  security?: readonly object[];
  paths: Record<string, Record<string, DocumentOperation>>;
  webhooks?: Record<string, Record<string, DocumentOperation>>;
  components?: { schemas?: Record<string, Schema> };
}

interface DocumentOperation {
  operationId: string;
  tags?: readonly string[];
  summary?: string;
  description?: string;
  security?: readonly object[];
  parameters?: readonly Parameter[];
  requestBody?: { required?: boolean; content: Record<string, Content> };
  responses?: Record<string, Answer>;
}

export interface Parameter {
  name: string;
  in: string;
  required?: boolean;
  description?: string;
  example?: unknown;
  schema?: Schema;
}

export interface Answer {
  description?: string;
  content?: Record<string, Content>;
}

export interface Content {
  schema?: Schema;
  example?: unknown;
  examples?: Record<string, { value?: unknown }>;
}

export interface Schema {
  $ref?: string;
  type?: string | readonly string[];
  description?: string;
  properties?: Record<string, Schema>;
  required?: readonly string[];
  items?: Schema;
  anyOf?: readonly Schema[];
  oneOf?: readonly Schema[];
  allOf?: readonly Schema[];
  enum?: readonly unknown[];
  const?: unknown;
  default?: unknown;
  examples?: readonly unknown[];
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  maxItems?: number;
}

const readingOrder = ["Inboxes", "Sending", "Messages", "Threads", "Attachments", "Webhooks", "Webhook", "Events"];

/** The order of operations in a group: first those that create, then those that read. `rankOf` puts DELETE last. */
const verbOrder = ["create", "set", "send", "list", "get", "mark", "download"];

export function referenceOf(document: Document): Reference {
  const schemas = document.components?.schemas ?? {};
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]): ReferenceOperation => {
      const security = operation.security ?? document.security ?? [];
      return { ...withBody(operation, schemas), method: method.toUpperCase(), path, needsKey: security.length > 0 };
    }),
  );
  const byTag = Map.groupBy(operations, ({ tags }) => tags?.[0] ?? "Other");
  const about = new Map(document.tags?.map(({ name, description }) => [name, description]));
  const names = [...new Set([...readingOrder, ...about.keys(), ...byTag.keys()])].filter((name) => byTag.has(name));
  return {
    groups: names.map((name) => ({
      name,
      description: about.get(name),
      operations: (byTag.get(name) ?? []).toSorted((one, other) => rankOf(one) - rankOf(other)),
    })),
    events: Object.entries(document.webhooks ?? {}).flatMap(([name, methods]) =>
      Object.values(methods).map((operation) => {
        const { summary = name, description, requestBody } = withBody(operation, schemas);
        return { name, summary, description, content: firstContent(requestBody?.content)?.[1] };
      }),
    ),
    schemas: Object.entries(schemas).map(([name, schema]) => [name, opened(schema, schemas)]),
  };
}

/** Puts the whole schema of a body into the operation, in place of a reference. */
function withBody(operation: DocumentOperation, schemas: Record<string, Schema>): DocumentOperation {
  if (operation.requestBody === undefined) return operation;
  const content = Object.entries(operation.requestBody.content).map(([type, one]): [string, Content] => [
    type,
    one.schema === undefined ? one : { ...one, schema: opened(one.schema, schemas) },
  ]);
  return { ...operation, requestBody: { ...operation.requestBody, content: Object.fromEntries(content) } };
}

/** Resolves a reference to a schema. References inside the schema stay. */
function opened(schema: Schema, schemas: Record<string, Schema>): Schema {
  const named = schema.$ref === undefined ? undefined : schemas[refName(schema.$ref)];
  if (named !== undefined) return opened(named, schemas);
  return schema.allOf ? { ...schema, allOf: schema.allOf.map((part) => opened(part, schemas)) } : schema;
}

export function firstContent(content: Record<string, Content> | undefined): [type: string, Content] | undefined {
  return Object.entries(content ?? {})[0];
}

/** The example of a body or an answer: its only one, the first of several, or that of its schema. */
export function exampleIn({ example, examples, schema }: Content): unknown {
  return example ?? Object.values(examples ?? {})[0]?.value ?? schema?.examples?.[0];
}

/** The name that a `$ref` points to. */
export function refName(ref: string): string {
  return ref.slice(ref.lastIndexOf("/") + 1);
}

function rankOf({ operationId, method }: ReferenceOperation): number {
  if (method === "DELETE") return verbOrder.length + 1;
  const rank = verbOrder.findIndex((verb) => operationId.startsWith(verb));
  return rank === -1 ? verbOrder.length : rank;
}
