import type { TSchema } from "@sinclair/typebox";
import { type AnyOperation, headerObjects, type OperationName, refusalResponses } from "./refusals.ts";
import { exampleOf, isRequired, type SchemaWriter } from "./schema.ts";

/** The OpenAPI 3.1 object of one operation. */
export function operationObject(of: AnyOperation, name: OperationName, tags: readonly string[], writer: SchemaWriter) {
  return {
    operationId: operationId(of),
    tags,
    summary: of.summary,
    description: of.description,
    ...((of.access === "open" || of.security) && { security: securityOf(of) }),
    parameters: [...pathParameters(of), ...queryParameters(of, writer), ...headerParameters(of)],
    ...((of.body ?? of.ownBody ?? of.otherBodies) && {
      requestBody: {
        required: !of.bodyMayBeEmpty,
        content: {
          ...jsonBody(of, writer),
          ...of.otherBodies,
        },
      },
    }),
    responses: responses(answers(of, writer), refusalResponses(of, name, writer)),
  };
}

/** The answers and refusals by status. A page has both: HTML for people, and a problem. */
function responses(answers: Record<string, object>, refusals: Record<string, object>) {
  const both = Object.entries(answers).flatMap(([status, answer]) => {
    const refusal = refusals[status];
    if (refusal === undefined) return [];
    return [[status, { ...refusal, content: { ...contentIn(answer), ...contentIn(refusal) } }]];
  });
  return { ...answers, ...refusals, ...Object.fromEntries(both) };
}

function contentIn(response: object): object {
  return "content" in response ? (response.content as object) : {};
}

/** How an open operation authenticates its caller: by a signed URL or a key, by its own schemes, or not at all. */
function securityOf({ link, security = [] }: AnyOperation) {
  return link ? [{}, { apiKey: [] }] : security.map((scheme) => ({ [scheme]: [] }));
}

function jsonBody({ body, ownBody }: AnyOperation, writer: SchemaWriter) {
  if (body !== undefined) return { "application/json": { schema: writer.writeTaken(body), example: exampleOf(body) } };
  return ownBody && { "application/json": { schema: writer.write(ownBody), example: exampleOf(ownBody) } };
}

export function pathParameters(of: AnyOperation) {
  return Object.entries(of.path ?? {}).map(([name, { description, example }]) => ({
    name,
    in: "path",
    required: true,
    description,
    example,
    schema: { type: "string" },
  }));
}

function queryParameters({ query, link = {} }: AnyOperation, writer: SchemaWriter) {
  const judged = Object.entries(query?.properties ?? {}).map(([name, property]) => {
    const { description, ...schema } = writer.write(property);
    return { name, in: "query", required: query !== undefined && isRequired(query, name), description, schema };
  });
  const ofLink = Object.entries(link).map(([name, { description, example }]) => ({
    name,
    in: "query",
    required: false,
    description,
    example,
    schema: { type: "string" },
  }));
  return [...judged, ...ofLink];
}

function headerParameters(of: AnyOperation) {
  return Object.entries({ ...keyHeader(of), ...of.headers }).map(
    ([name, { description, required = false, example }]) => ({
      name,
      in: "header",
      required,
      description,
      example,
      schema: { type: "string" },
    }),
  );
}

function keyHeader({ idempotencyKey }: AnyOperation) {
  if (idempotencyKey === undefined) return {};
  const description = "A repeated request with the same key is answered as before and not carried out again (24 h)";
  return { "Idempotency-Key": { description, required: idempotencyKey === "required", example: "order-4711" } };
}

function answers({ answers, otherAnswers, answerHeaders }: AnyOperation, writer: SchemaWriter) {
  return Object.fromEntries(
    Object.entries(answers).map(([status, schema]) => [
      status,
      {
        description: schema.description ?? "Done",
        headers: headerObjects(answerHeaders?.[Number(status)] ?? {}),
        ...(schema.type !== "void" && {
          content: { ...contentOf(schema, writer), ...contentOf(otherAnswers?.[Number(status)], writer) },
        }),
      },
    ]),
  );
}

function contentOf(schema: TSchema | undefined, writer: SchemaWriter) {
  if (schema === undefined) return {};
  const mediaType: string = schema.contentMediaType ?? "application/json";
  // `*/*` may be a key of `content`, but not a value of `contentMediaType`.
  const shown = mediaType === "*/*" ? { ...schema, contentMediaType: undefined } : schema;
  return { [mediaType]: { schema: writer.write(shown), example: exampleOf(schema) } };
}

/** The summary as one word: "Create inbox" becomes `createInbox`. */
export function operationId({ summary }: { summary: string }): string {
  const [first = "", ...others] = summary.replaceAll(/[^A-Za-z0-9 ]/g, "").split(" ");
  return first.toLowerCase() + others.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join("");
}
