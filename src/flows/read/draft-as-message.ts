import type { Reach } from "../../domain/access/access.ts";
import { resolveBodies } from "../../domain/send/body-format.ts";
import { type Draft, isWaiting, recipientsOfDraft, statusOfDraft, type WaitingState } from "../../domain/send/draft.ts";
import { textOfHtml } from "../../mail/html/html.ts";
import { inboxAddress } from "../../standards/address.ts";
import { type ListedAttachment, listAttachments } from "../../store/mail/attachments.ts";
import { findMessage, type StoredMessage } from "../../store/mail/message-pages.ts";
import { findDraftOfInbox } from "../../store/send/drafts.ts";
import type { Deps } from "../deps.ts";

/** A message that the API shows alone: one with a row, or one that is not sent yet. */
export type ShownAlone = StoredMessage & { state: WaitingState | null };

/**
 * Finds a message, or the draft that is to become it. A draft counts as a message from the moment at which its sending is accepted. Its
 * bodies have no quote yet, unless it waits for a person.
 */
export async function findMessageOrDraft(
  deps: Pick<Deps, "db" | "mailDomain">,
  reach: Reach,
  id: string,
): Promise<ShownAlone | undefined> {
  const { api: db } = deps.db;
  const message = await findMessage(db, reach, id);
  if (message !== undefined) return { ...message, state: null };
  const draft = await findDraftOfInbox(db, reach, id);
  if (draft?.acceptedAt == null) return undefined;
  if (draft.state === "sent") {
    const sent = await findMessage(db, reach, id);
    return sent && { ...sent, state: null };
  }
  const attachments = await listAttachments(db, [id]);
  return messageOfDraft(draft, inboxAddress(draft.username, deps.mailDomain), attachments);
}

/** A draft whose sending was accepted, as a message. `address` is that of its inbox. */
export function messageOfDraft(draft: Draft, address: string, attachments: ListedAttachment[]): ShownAlone {
  const { content, state } = draft;
  const recipients = recipientsOfDraft(draft);
  const addressesOf = (type: "to" | "cc") => recipients.flatMap((each) => (each.type === type ? [each.address] : []));
  const { body, bodyHtml, bodyFormat } = content ?? { body: "", bodyHtml: undefined, bodyFormat: undefined };
  const { text, html } = resolveBodies({ body, bodyHtml, bodyFormat }, { textOfHtml, markdownHtml: undefined });
  return {
    id: draft.id,
    threadId: draft.threadId,
    inboxId: draft.inboxId,
    direction: "outbound",
    status: statusOfDraft(draft),
    state: isWaiting(state) ? state : null,
    fromAddr: content?.composedFrom ?? content?.fromAddr ?? address,
    fromName: content?.fromName ?? null,
    toAddr: recipients[0]?.address ?? "",
    toAddrs: addressesOf("to"),
    cc: addressesOf("cc"),
    replyTo: content?.replyTo ?? null,
    subject: content?.subject ?? "",
    bodyText: content?.composedText ?? text,
    bodyHtml: html ?? null,
    attachments: attachments.length === 0 ? null : attachments,
    recipients,
    rfcMessageId: draft.rfcMessageId,
    providerMessageId: null,
    failure: draft.failure,
    createdAt: draft.createdAt.toISOString(),
    envelopeFrom: null,
    truncated: false,
    automated: null,
    inReplyTo: null,
    metadata: content?.metadata === undefined ? null : { ...content.metadata },
    forwardOf: content?.forwardOf ?? null,
    delivery: null,
    authentication: null,
    spam: null,
    position: 0,
    sourceId: null,
    sizeBytes: 0,
    referenceIds: null,
    autoSubmitted: content?.autoSubmitted ?? null,
    headers: null,
  };
}
