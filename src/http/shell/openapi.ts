import { Kind, type TObject, type TSchema } from "@sinclair/typebox";
import { type AnyElysia, Elysia } from "elysia";
import { type Reason, Refusal, statusOf } from "../../domain/errors.ts";
import type { Operation } from "./described-operation.ts";
import { problemOf } from "./errors.ts";
import { Problem } from "./models.ts";

export interface Description {
  version: string;
  baseUrl: string;
}

/**
 * The document of these plugins. @elysiajs/swagger collects the routes; each operation brings its own description,
 * made from the schemas that judge its requests (below), since what the plugin makes of them is not valid OpenAPI.
 */
export async function describe(plugins: readonly AnyElysia[], { version, baseUrl }: Description) {
  // Loaded when the document is asked for: it is a good part of what a start would otherwise load.
  const { swagger } = await import("@elysiajs/swagger");
  const collector = plugins.reduce(
    (app: AnyElysia, plugin) => app.use(plugin),
    new Elysia().use(swagger({ path: "/viewer", specPath: "/openapi.json", excludeStaticFile: false })),
  );
  const answer = await collector.handle(new Request("http://localhost/openapi.json"));
  const { paths } = (await answer.json()) as { paths: Record<string, Record<string, unknown>> };
  return {
    openapi: "3.1.0",
    info: {
      title: "inboxd",
      version,
      description:
        "Real email addresses for users, workspaces and software agents: inboxes that send and receive over JSON.",
    },
    servers: [{ url: baseUrl }],
    security: [{ apiKey: [] }],
    paths,
    components: {
      schemas: { Problem: plain(Problem) },
      securitySchemes: {
        apiKey: { type: "http", scheme: "bearer", description: "The API key, as `Authorization: Bearer ibx_…`" },
      },
    },
  };
}

/** One operation as OpenAPI 3.1 has it. */
export function documented(of: Operation<TSchema, TObject, Record<number, TSchema>>): Record<string, unknown> {
  return {
    operationId: camelCase(of.summary),
    summary: of.summary,
    description: of.description,
    ...(of.open && { security: [] }),
    parameters: [
      ...Object.entries(of.path ?? {}).map(([name, { description, example }]) => ({
        ...{ name, in: "path", required: true, description, example },
        schema: { type: "string" },
      })),
      ...Object.entries(of.query?.properties ?? {}).map(([name, property]) => {
        const { description, ...schema } = plain(property);
        return { name, in: "query", required: of.query?.required?.includes(name) ?? false, description, schema };
      }),
      ...Object.entries({ ...keyHeader(of), ...of.headers }).map(
        ([name, { description, required = false, example }]) => ({
          ...{ name, in: "header", required, description, example },
          schema: { type: "string" },
        }),
      ),
    ],
    ...(of.body && {
      requestBody: { required: !of.bodyMayBeEmpty, content: json("application/json", closed(of.body)) },
    }),
    responses: { ...answers(of), ...refusals(of) },
  };
}

/** A body as it is judged: what its schema does not name is refused. */
function closed(schema: TSchema): TSchema {
  if (schema.type === "array") return { ...schema, items: closed(schema.items) };
  if (schema.type !== "object" || schema.properties === undefined) return schema;
  const fields = Object.entries((schema as TObject).properties).map(([name, field]) => [name, closed(field)]);
  return { ...schema, properties: Object.fromEntries(fields), additionalProperties: false };
}

/** An example of a schema: its own, else one put together from those of its fields. */
export function exampleOf(schema: TSchema): unknown {
  if (Array.isArray(schema.examples)) return schema.examples[0];
  if (schema.default !== undefined) return schema.default;
  if (schema.const !== undefined) return schema.const;
  if (Array.isArray(schema.enum)) return schema.enum[0];
  if (Array.isArray(schema.anyOf)) return exampleOf(schema.anyOf[0]);
  if (schema.type === "object") {
    const fields = Object.entries((schema as TObject).properties ?? {});
    return Object.fromEntries(fields.map(([name, field]) => [name, exampleOf(field)]));
  }
  if (schema.type === "array") return [exampleOf(schema.items)];
  if (schema.type === "string") return "text".slice(0, schema.maxLength);
  return { integer: schema.minimum ?? 1, number: 1, boolean: true, null: null }[String(schema.type)];
}

function answers({ answers, answerHeaders }: Operation<TSchema, TObject, Record<number, TSchema>>) {
  return Object.fromEntries(
    Object.entries(answers).map(([status, schema]) => [
      status,
      {
        description: schema.description ?? "Done",
        headers: { ...requestIdHeader, ...described(answerHeaders?.[Number(status)] ?? {}) },
        ...(schema.type !== "void" && { content: json(schema.mediaType ?? "application/json", schema) }),
      },
    ]),
  );
}

function refusals(of: Operation<TSchema, TObject, Record<number, TSchema>>) {
  const reasons = new Set<Reason>([
    ...(of.open ? [] : (["unauthorized"] as const)),
    ...(of.path ? (["not_found"] as const) : []),
    ...(of.open ? [] : (["invalid_query"] as const)),
    ...(of.body ? (["invalid_json", "validation_error", "payload_too_large", "unsupported_media_type"] as const) : []),
    ...(of.idempotencyKey === "required" ? (["missing_idempotency_key"] as const) : []),
    ...(of.idempotencyKey
      ? (["invalid_idempotency_key", "idempotency_in_progress", "idempotency_key_reused"] as const)
      : []),
    ...(of.refuses ?? []),
    "internal_error",
    "service_unavailable",
  ]);
  const byStatus = Map.groupBy(reasons, (reason) => statusOf[reason]);
  return Object.fromEntries(
    Array.from(byStatus, ([status, codes]) => [
      status,
      {
        description: codes.map((code) => `\`${code}\`: ${meanings[code]}`).join("; "),
        headers: { ...requestIdHeader, ...described(refusalHeaders[status] ?? {}) },
        content: {
          "application/problem+json": {
            schema: { $ref: "#/components/schemas/Problem" },
            examples: Object.fromEntries(codes.map((code) => [code, { value: problemExample(code, of) }])),
          },
        },
      },
    ]),
  );
}

const requestIdHeader = described({ "X-Request-Id": "Id of this request, the caller's own where one was sent" });

const refusalHeaders: Record<number, Record<string, string>> = {
  401: { "WWW-Authenticate": "`Bearer`" },
  429: { "Retry-After": "Whole seconds until the limit has room" },
  503: { "Retry-After": "Whole seconds until another try makes sense" },
};

function described(headers: Record<string, string>) {
  return Object.fromEntries(
    Object.entries(headers).map(([name, description]) => [name, { description, schema: { type: "string" } }]),
  );
}

function json(mediaType: string, schema: TSchema) {
  return { [mediaType]: { schema: plain(schema), example: exampleOf(schema) } };
}

function problemExample(code: Reason, { summary }: { summary: string }) {
  const doing = summary.charAt(0).toLowerCase() + summary.slice(1);
  const refusal = new Refusal(code, `Cannot ${doing}: ${meanings[code]}`);
  return problemOf(refusal, "/v1/inboxes", "0197f4a2-7a3e-7c55-8d1e-2f0b6a9c4e10").body;
}

function keyHeader({ idempotencyKey }: { idempotencyKey?: "required" | "optional" }) {
  if (idempotencyKey === undefined) return {};
  const description = "A request that comes again with its key is answered as before and not carried out twice (24 h)";
  return { "Idempotency-Key": { description, required: idempotencyKey === "required", example: "order-4711" } };
}

const meanings: Record<Reason, string> = {
  invalid_json: "the body is not JSON in UTF-8, or is missing",
  validation_error: "fields of the body are missing, wrong or not known",
  invalid_username: "the name is not one that an address can have",
  invalid_query: "query parameters are wrong or not known",
  missing_idempotency_key: "the header Idempotency-Key is required",
  invalid_idempotency_key: "the header Idempotency-Key is not 1 to 255 visible ASCII characters",
  no_webhook_url: "no webhook URL is set",
  unauthorized: "the API key is missing, malformed, unknown or revoked",
  forbidden: "this account may not do it",
  feature_requires_paid_plan: "the account's plan does not include it",
  invalid_signature: "the signature of the address is wrong",
  link_expired: "the address has expired",
  not_found: "there is no such thing in this account",
  method_not_allowed: "the path does not take this method",
  payload_too_large: "the body is too large",
  unsupported_media_type: "the body is not application/json",
  address_taken: "the address is taken",
  address_reserved: "the address is reserved",
  idempotency_in_progress: "the first request with this key still runs",
  idempotency_key_reused: "the key was used for another request",
  invalid_webhook_url: "the URL is not one that events may go to",
  rate_limit_exceeded: "too many within a minute",
  daily_limit_exceeded: "too many today",
  cold_outreach_limit: "too many to a recipient who has not answered yet",
  inbox_creation_limit: "too many inboxes today",
  internal_error: "something went wrong on our side",
  service_unavailable: "the database is away or too busy, or the service is shutting down",
};

/** A schema as JSON has it: without TypeBox's symbols and without our own words for a fault. */
function plain(schema: TSchema): Record<string, unknown> {
  return JSON.parse(
    JSON.stringify(schema, function (this: object, key, value) {
      return key === "error" && Kind in this ? undefined : value;
    }),
  );
}

function camelCase(summary: string): string {
  const [first = "", ...others] = summary.replaceAll(/[^A-Za-z0-9 ]/g, "").split(" ");
  return first.toLowerCase() + others.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join("");
}
