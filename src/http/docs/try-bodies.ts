import type { ReferenceOperation, Schema } from "./reference.ts";

/** A body that can be sent as it stands once the page has put in what the account has: `{address}` and the like. */
export interface TryBody {
  label: string;
  body: unknown;
}

/**
 * Small and honest: no field that isn't needed, no id of nobody. `{fresh}` is drawn anew for each request; `{address}` is an
 * inbox of this server, so that the first send needs no other mail server; the others are of the mail that came in last.
 */
const ownBodies: Readonly<Record<string, readonly TryBody[]>> = {
  createInbox: [{ label: "Named", body: { username: "ada-{fresh}", externalId: "user-7" } }],
  sendEmail: [
    { label: "New email", body: { to: "{address}", subject: "Hello", body: "Does it work? It does." } },
    { label: "Reply", body: { threadId: "{thread}", to: "{correspondent}", body: "Thank you, it came." } },
  ],
  markThread: [{ label: "Read", body: { is_read: true, up_to_message_id: "{message}" } }],
  setWebhook: [{ label: "On this machine", body: { url: "http://127.0.0.1:8080/hook" } }],
};

/** Of an operation that has none here: the fields that it requires, from their examples. */
export function tryBodies({ operationId, requestBody }: ReferenceOperation): readonly TryBody[] {
  const schema = Object.values(requestBody?.content ?? {})[0]?.schema;
  if (schema === undefined) return [];
  return ownBodies[operationId] ?? [{ label: "Example", body: requiredOf(schema) }];
}

function requiredOf({ properties = {}, required = [] }: Schema): Record<string, unknown> {
  return Object.fromEntries(required.map((name) => [name, exampleOf(properties[name] ?? {})]));
}

function exampleOf(schema: Schema): unknown {
  return schema.examples?.[0] ?? schema.default ?? schema.enum?.[0] ?? "";
}
