import type { Inbox } from "../../store/account/inboxes.ts";
import type { NewEvent } from "../../store/events/fan-out.ts";
import type { Deps } from "../deps.ts";

/** That an inbox was made or deleted, as it is kept: the inbox may be gone when it is told. */
export function inboxEvent(
  { newId, mailDomain }: Pick<Deps, "newId" | "mailDomain">,
  type: "inbox.created" | "inbox.deleted",
  { id, accountId, username, externalId, createdAt }: Inbox,
  occurredAt: Date,
): NewEvent {
  const address = `${username}@${mailDomain}`;
  const data = { address, externalId, createdAt: createdAt.toISOString() };
  return {
    ...{ id: newId("evt", occurredAt), accountId, inboxId: id, threadId: null, messageId: null },
    ...{ type, occurredAt, data },
  };
}
