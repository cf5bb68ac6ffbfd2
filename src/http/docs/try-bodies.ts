import type { Parameter, ReferenceOperation, Schema } from "./reference.ts";

/** An example body. The page replaces `{address}` and other placeholders by values of the account. */
export interface TryBody {
  label: string;
  text: string;
}

/**
 * Example bodies with few fields, by operation. `{fresh}` is random for each request. `{address}` is an inbox of this
 * server, so that the first send needs no other mail server. The values of the other placeholders come from the latest
 * mail, preferably an inbound one.
 */
const ownBodies: Readonly<Record<string, readonly { label: string; body: object }[]>> = {
  createInbox: [{ label: "Named", body: { username: "ada-{fresh}", externalId: "user-7" } }],
  sendEmail: [
    { label: "New email", body: { to: "{address}", subject: "Hello", body: "Does it work? It does." } },
    { label: "Reply", body: { threadId: "{thread}", to: "{correspondent}", body: "Thank you, it came." } },
  ],
  changeThread: [
    { label: "Read", body: { is_read: true, up_to_message_id: "{message}" } },
    { label: "Archive", body: { folder: "archive", up_to_message_id: "{message}" } },
    { label: "Label", body: { add_labels: ["orders"] } },
  ],
  addSuppressions: [
    { label: "One address", body: { address: "gone-{fresh}@example.com", detail: "asked us by phone" } },
  ],
  addRule: [
    { label: "Block a domain", body: { direction: "inbound", action: "block", pattern: "spam-{fresh}.example" } },
  ],
  changePolicy: [{ label: "Replies alone", body: { inbound: { unlisted: "replies" } } }],
  changeInboxPolicy: [{ label: "Replies alone", body: { inbound: { unlisted: "replies" } } }],
  setWebhook: [{ label: "On this machine", body: { url: "http://127.0.0.1:8080/hook" } }],
};

/**
 * The example bodies of an operation. An operation without own ones gets a body with its required fields, or a text if
 * it does not take JSON. Empty if it takes no body.
 */
export function tryBodies({ operationId, requestBody }: ReferenceOperation): readonly TryBody[] {
  const [type, content] = Object.entries(requestBody?.content ?? {})[0] ?? [];
  if (content?.schema === undefined) return [];
  if (type === "message/rfc822") return [{ label: "Mail", text: "Subject: Hello\n\nDoes it work? It does.\n" }];
  if (type !== "application/json") return [{ label: "Text", text: "Hello, this is a file." }];
  const bodies = ownBodies[operationId] ?? [{ label: "Example", body: requiredOf(content.schema) }];
  return bodies.map(({ label, body }) => ({ label, text: JSON.stringify(body, null, 2) }));
}

/** The `Content-Type` of the example bodies. */
export function tryType({ requestBody }: ReferenceOperation): string {
  const [type = "application/json"] = Object.keys(requestBody?.content ?? {});
  return type === "*/*" ? "text/plain" : type;
}

/** The example value of a required query parameter. */
export function tryQuery({ name, schema }: Parameter): string {
  return name === "filename" ? "hello.txt" : String(schema?.examples?.[0] ?? "");
}

function requiredOf({ properties = {}, required = [] }: Schema): Record<string, unknown> {
  return Object.fromEntries(required.map((name) => [name, exampleOf(properties[name] ?? {})]));
}

function exampleOf(schema: Schema): unknown {
  return schema.examples?.[0] ?? schema.default ?? schema.enum?.[0] ?? "";
}
