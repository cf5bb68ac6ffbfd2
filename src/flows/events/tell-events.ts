import { type IncludedOfMessage, type ToldEvent, toldEvent } from "../../domain/events/payload.ts";
import type { IncludeWord } from "../../domain/events/subscription.ts";
import { tagOf } from "../../standards/address.ts";
import type { ToldEventRow } from "../../store/events/told.ts";
import type { ListedAttachment } from "../../store/mail/attachments.ts";
import type { IncludedRow } from "../../store/mail/included.ts";
import { type AttachmentLinks, linkedAttachments } from "../read/attachment-links.ts";
import { type ExtractingDeps, extractedOf } from "../read/extracted.ts";

export interface TellDeps extends ExtractingDeps {
  links: Pick<AttachmentLinks, "attachmentUrl">;
}

/** An event with all that is to be told of it; `bodyText` is null where there is no message. */
export type WholeEvent = ToldEventRow & {
  id: string;
  accountId: string;
  attachments: readonly ListedAttachment[];
  /** Read where something is asked for beside the event itself. */
  included: IncludedRow | undefined;
};

/** What goes over the wire of an event, with links that are fresh at this instant. Undefined where what it tells of is gone. */
export async function tellEvent(
  deps: TellDeps,
  event: WholeEvent,
  include: readonly IncludeWord[],
  at: Date,
): Promise<ToldEvent | undefined> {
  // One by one: a row has many more, and each delivery would copy them.
  const { id, type, occurredAt, inboxId, externalId, threadId, data, messageId, bodyText } = event;
  const facts = { id, type, occurredAt, inboxId, externalId, threadId, data };
  if (messageId === null || bodyText === null) return toldEvent({ ...facts, message: undefined }, nothingShown);
  const attachments = await linkedAttachments(deps.links, messageId, event.attachments, at);
  const message = {
    id: messageId,
    rfcMessageId: event.rfcMessageId ?? "",
    metadata: event.metadata,
    fromAddr: event.fromAddr ?? "",
    toAddr: event.toAddr ?? "",
    cc: event.cc ?? [],
    subject: event.subject ?? "",
    bodyText,
    createdAt: event.receivedAt ?? event.occurredAt,
  };
  const included = await includedOf(deps, event, message, include);
  return toldEvent({ ...facts, message }, { attachments, included });
}

async function includedOf(
  deps: ExtractingDeps,
  { accountId, included: row }: Pick<WholeEvent, "accountId" | "included">,
  { toAddr, subject, bodyText }: { toAddr: string; subject: string; bodyText: string },
  include: readonly IncludeWord[],
): Promise<IncludedOfMessage> {
  if (row === undefined) return {};
  const { bodyHtml, fromName, replyTo, automated, toAddrs, direction } = row;
  return {
    ...(include.includes("html") && { html: { bodyHtml, fromName, replyTo } }),
    ...(include.includes("extracted") && {
      extracted: await extractedOf(deps, accountId, { ...row, subject, bodyText }),
    }),
    ...(include.includes("automated") && { automated: { automated } }),
    ...(include.includes("recipients") && {
      recipients: { toList: toAddrs ?? [toAddr], tag: direction === "inbound" ? tagOf(toAddr) : null },
    }),
  };
}

const nothingShown = { attachments: [], included: {} };
