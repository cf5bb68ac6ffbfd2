import { type Static, Type } from "@sinclair/typebox";
import { autoSubmittedValues } from "../../../domain/automated.ts";
import { bodyFormats } from "../../../domain/send/body-format.ts";
import { type Draft as DraftRow, draftStates } from "../../../domain/send/draft.ts";
import type { RecipientType } from "../../../domain/send/recipients/entries.ts";
import type { Deps } from "../../../flows/deps.ts";
import { type AttachmentLinks, linkedAttachments } from "../../../flows/read/attachment-links.ts";
import { listAttachments } from "../../../store/mail/attachments.ts";
import { examples } from "../../document/examples.ts";
import { named } from "../../document/schema.ts";
import { instant, nextCursor, nullable, oneOf } from "../../shell/models.ts";
import { Attachment } from "../mail/message-shape.ts";
import { Failure, toFailure } from "../mail/recipient-shape.ts";
import { Approval, toApproval } from "./approval-shape.ts";

const Addressee = named(
  "Addressee",
  Type.Object(
    {
      address: Type.String({ description: "Its address", examples: [examples.sender] }),
      name: nullable(Type.String({ examples: [examples.senderName] }), {
        description: "The name beside the address; null for none",
      }),
    },
    { description: "A recipient of a draft" },
  ),
);

export const Draft = named(
  "Draft",
  Type.Object(
    {
      id: Type.String({ description: "Id of the draft, and of its message", examples: [examples.draftId] }),
      inboxId: Type.String({ description: "Inbox that it is in", examples: [examples.inboxId] }),
      threadId: Type.String({
        description: "Thread of a reply; for others the id that the new thread will have",
        examples: [examples.threadId],
      }),
      state: oneOf(draftStates, {
        description:
          "`draft` waits for somebody to send it, `scheduled` for its time, `awaiting_approval` for a person. The others are final: the message says more about `sent`",
        examples: ["draft"],
      }),
      version: Type.Integer({ minimum: 1, description: "Counts its changes. Also its `ETag`", examples: [1] }),
      to: Type.Array(Addressee, { description: "Recipients. Those of a reply are fixed when it is written" }),
      cc: Type.Array(Addressee, { description: "Visible further recipients", examples: [[]] }),
      bcc: Type.Array(Addressee, { description: "Hidden recipients", examples: [[]] }),
      fromAddr: nullable(Type.String({ examples: [examples.address] }), {
        description: "The sender's address; null for that of the inbox",
        examples: [null],
      }),
      fromName: nullable(Type.String({ examples: ["Ada"] }), { description: "The sender's name", examples: [null] }),
      replyTo: nullable(Type.String({ examples: ["team@example.com"] }), {
        description: "Where replies go, if not to the sender",
        examples: [null],
      }),
      subject: nullable(Type.String({ examples: [`Re: ${examples.subject}`] }), {
        description: "Null if it has none yet",
      }),
      body: nullable(Type.String({ examples: [examples.answer] }), {
        description: "As it was given; null if it has none yet, or if the content of a final draft was removed",
      }),
      bodyHtml: nullable(Type.String({ examples: [`<p>${examples.answer}</p>`] }), {
        description: "The other version, if it was given",
        examples: [null],
      }),
      bodyFormat: oneOf(bodyFormats, { description: "The format of `body`", examples: ["auto"] }),
      includeQuote: Type.Boolean({ description: "Whether a reply quotes the answered message", examples: [true] }),
      replyToMessageId: nullable(Type.String({ examples: [examples.messageId] }), {
        description: "The message that it answers, also if only its thread was named",
      }),
      readUpToMessageId: nullable(Type.String({ examples: [examples.messageId] }), {
        description: "The last message that its writer had seen",
        examples: [null],
      }),
      ifUnanswered: Type.Boolean({ description: "As in `send`", examples: [false] }),
      unlessReplied: Type.Boolean({ description: "As in `send`", examples: [false] }),
      ignoreLoop: Type.Boolean({ description: "As in `send`", examples: [false] }),
      unsubscribe: Type.Boolean({ description: "As in `send`", examples: [false] }),
      autoSubmitted: nullable(oneOf(autoSubmittedValues), { description: "As in `send`", examples: [null] }),
      headers: Type.Record(Type.String(), Type.String(), { description: "Further header fields", examples: [{}] }),
      metadata: Type.Record(Type.String(), Type.String(), { description: "Your own data", examples: [{}] }),
      labels: Type.Array(Type.String({ examples: ["orders"] }), {
        description: "Labels that its thread gets when it is sent",
      }),
      forwardOf: nullable(Type.String({ examples: [examples.messageId] }), {
        description: "The message that it forwards",
        examples: [null],
      }),
      forwardAs: nullable(oneOf(["inline", "attachment"]), { description: "How it forwards it", examples: [null] }),
      attachments: Type.Array(Attachment, { description: "Its files, with newly signed URLs", examples: [[]] }),
      sendAt: nullable(instant({ examples: ["2027-01-15T08:00:00.000Z"] }), {
        description: "When it is sent; null for a draft without a time",
        examples: [null],
      }),
      approval: nullable(Approval, { description: "Null if no person was asked", examples: [null] }),
      failure: nullable(Failure, { description: "Why it was not sent", examples: [null] }),
      createdAt: instant({ description: "When it was written" }),
      updatedAt: instant({ description: "When it was changed last, or ended" }),
    },
    { description: "A message that is not sent yet, or what became of it" },
  ),
);

export const DraftPage = named(
  "DraftPage",
  Type.Object(
    { data: Type.Array(Draft, { description: "Drafts, newest first" }), nextCursor: nextCursor() },
    { description: "A page of drafts" },
  ),
);

export interface ShowingDrafts extends Pick<Deps, "db" | "now"> {
  links: AttachmentLinks;
}

/** Makes the wire shapes of drafts, with freshly signed URLs of their attachments. */
export async function toDrafts(deps: ShowingDrafts, drafts: readonly DraftRow[]): Promise<Static<typeof Draft>[]> {
  const ids = drafts.map(({ id }) => id);
  const filesOf = Map.groupBy(await listAttachments(deps.db.api, ids), ({ messageId }) => messageId);
  const now = deps.now();
  return Promise.all(
    drafts.map(async (draft) => ({
      ...shown(draft),
      attachments: await linkedAttachments(deps.links, draft.id, filesOf.get(draft.id) ?? [], now),
      sendAt: draft.sendAt?.toISOString() ?? null,
      approval: draft.approval && toApproval(draft.approval),
      failure: toFailure(draft.failure),
      createdAt: draft.createdAt.toISOString(),
      updatedAt: draft.updatedAt.toISOString(),
    })),
  );
}

function shown({ content, answeredId, id, inboxId, threadId, state, version }: DraftRow) {
  const { recipients = [], headers = [], forwardOf = null } = content ?? {};
  const of = (type: RecipientType) =>
    recipients.flatMap(({ address, name = null, ...each }) => (each.type === type ? [{ address, name }] : []));
  return {
    id,
    inboxId,
    threadId,
    state,
    version,
    to: of("to"),
    cc: of("cc"),
    bcc: of("bcc"),
    fromAddr: content?.fromAddr ?? null,
    fromName: content?.fromName ?? null,
    replyTo: content?.replyTo ?? null,
    subject: content?.subject ?? null,
    body: content?.body ?? null,
    bodyHtml: content?.bodyHtml ?? null,
    bodyFormat: content?.bodyFormat ?? ("auto" as const),
    includeQuote: content?.includeQuote ?? true,
    replyToMessageId: answeredId,
    readUpToMessageId: content?.readUpToMessageId ?? null,
    ifUnanswered: content?.ifUnanswered ?? false,
    unlessReplied: content?.unlessReplied ?? false,
    ignoreLoop: content?.ignoreLoop ?? false,
    unsubscribe: content?.unsubscribe ?? false,
    autoSubmitted: content?.autoSubmitted ?? null,
    headers: Object.fromEntries(headers.map(({ name, value }) => [name, value])),
    metadata: { ...content?.metadata },
    labels: [...(content?.labels ?? [])],
    forwardOf,
    forwardAs: forwardOf === null ? null : (content?.forwardAs ?? ("inline" as const)),
  };
}
