import { type Static, type TObject, type TSchema, Type } from "@sinclair/typebox";
import { automatedKinds } from "../domain/automated.ts";
import { verdicts } from "../domain/receive/authentication.ts";

/** One of several words, as an `enum`: models read it better than a union of constants. */
export function oneOf<const Value extends string>(values: readonly Value[], description?: string) {
  return Type.Unsafe<Value>({ type: "string", enum: values, ...(description !== undefined && { description }) });
}

/** A union with null. A list of types would be shorter, but some clients cannot convert it. */
export function nullable<Schema extends TSchema>(schema: Schema) {
  return Type.Unsafe<Static<Schema> | null>({ anyOf: [schema, { type: "null" }] });
}

/** The schema of a tool's arguments, which allows no others. */
export function argumentsOf<Fields extends Record<string, TSchema>>(fields: Fields): TObject<Fields> {
  return Type.Object(fields, { additionalProperties: false });
}

export const inboxArgument = Type.String({ description: "Address, username or id of the inbox", maxLength: 320 });
export const threadArgument = Type.String({ description: "Id of the thread (thr_…)", maxLength: 64 });
export const messageArgument = Type.String({ description: "Id of the message (msg_…)", maxLength: 64 });

export function limitArgument(fallback: number, most: number) {
  return Type.Optional(Type.Integer({ minimum: 1, maximum: most, default: fallback }));
}

export const offsetArgument = Type.Optional(Type.Integer({ minimum: 0, default: 0 }));

export const textOffset = Type.Optional(
  Type.Integer({ minimum: 0, default: 0, description: "next_offset of the previous call, to continue its text" }),
);

/** The first field of every result with texts of outsiders. */
export const noticed = { notice: Type.String() };

export const Inbox = {
  id: Type.String(),
  address: Type.String(),
  externalId: nullable(Type.String()),
  createdAt: Type.String(),
  unreadThreads: Type.Integer(),
  lastMessageAt: nullable(Type.String()),
  displayName: nullable(Type.String()),
  aliases: Type.Array(Type.String()),
};

/** Whether the domain of the sender sent a mail; null if that was not checked. */
export const Verdict = nullable(oneOf(verdicts));

const Automated = nullable(Type.Object({ kind: oneOf(automatedKinds), reasons: Type.Array(Type.String()) }));

export const Code = Type.Object({
  code: Type.String(),
  domain: nullable(Type.String()),
  source: Type.String(),
});

export const Link = Type.Object({
  url: Type.String(),
  text: Type.String(),
  kind: nullable(Type.String()),
  misleading: Type.Boolean(),
});

export const Attachment = Type.Object({
  filename: Type.String(),
  contentType: Type.String(),
  sizeBytes: Type.Integer(),
});

/** The fields of a message without its text. */
export const MessageHead = {
  id: Type.String(),
  threadId: Type.String(),
  direction: oneOf(["inbound", "outbound"]),
  status: Type.String(),
  fromAddr: Type.String(),
  fromName: nullable(Type.String()),
  toAddr: Type.String(),
  subject: Type.String(),
  createdAt: Type.String(),
  automated: Automated,
  verdict: Verdict,
  codes: Type.Array(Code),
  attachments: Type.Array(Attachment),
  moreAttachments: Type.Optional(Type.Integer()),
};

export const MarkedText = {
  text: Type.String(),
  truncated: Type.Boolean(),
  next_offset: Type.Optional(Type.Integer()),
};

/** A whole message, with its text and links. */
export const MessageWhole = Type.Object({
  ...MessageHead,
  inboxId: Type.String(),
  cc: Type.Array(Type.String()),
  replyTo: nullable(Type.String()),
  failure: nullable(Type.String()),
  links: Type.Array(Link),
  moreLinks: Type.Optional(Type.Integer()),
  ...MarkedText,
});
