import type { NewEvent } from "../../domain/events/event-types.ts";
import { inboxAddress } from "../../standards/address.ts";
import type { InboxIdentity } from "../../store/account/inboxes.ts";
import type { Deps } from "../deps.ts";

/** The event that an inbox was created or deleted. It has the data of the inbox, whose row may be deleted before the event is read. */
export function inboxEvent(
  { newId, mailDomain }: Pick<Deps, "newId" | "mailDomain">,
  type: "inbox.created" | "inbox.deleted",
  { id, accountId, username, externalId, createdAt }: InboxIdentity,
  occurredAt: Date,
): NewEvent {
  const address = inboxAddress(username, mailDomain);
  return {
    id: newId("evt", occurredAt),
    accountId,
    inboxId: id,
    threadId: null,
    messageId: null,
    type,
    occurredAt,
    data: { address, externalId, createdAt: createdAt.toISOString() },
  };
}
