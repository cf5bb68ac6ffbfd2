import { sql } from "drizzle-orm";
import { eventTypes, isOfQuarantine, isOfMessage as tellsOfMessage } from "../../domain/events/event-types.ts";
import { type Selected, selected } from "../columns.ts";
import { eventBody } from "../mail/bodies.ts";
import { events, type inboxes, messages } from "../schema.ts";

/*
 * The columns of an event `e` for a delivery, the log or a stream. Events about the messages of a deleted inbox are not shown. A mail that
 * was never sent has no row of a message: its content is read from its draft (flows/events/unsent-mails.ts).
 */

const ofEvent = selected(events, "e", ["type", "inboxId", "threadId", "occurredAt", "data"]);
const ofMessage = selected(messages, "m", ["rfcMessageId", "fromAddr", "toAddr", "cc", "subject", "metadata"]);

/** The `externalId` of the inbox of an event `e`, as it is now. An event about an inbox that is gone has it in its data. */
export const externalIdOfEvent = sql.raw(
  `(select case when i.id is null then e.data->>'externalId' else i.external_id end
    from (select) one left join inboxes i on i.id = e.inbox_id)`,
);

/** The select list of `EventContent`. It leaves out the event's id, to which each statement gives its own name. */
export const contentFields = sql`${ofEvent}, case when i.id is null then e.data->>'externalId' else i.external_id end as "externalId",
  coalesce(m.id, d.id) as "messageId", d.id is not null as "isUnsent", ${ofMessage}, m.created_at as "receivedAt",
  coalesce(m.attachment_count, (select count(*) from attachments where message_id = d.id)) as "attachmentCount",
  octet_length(m.body_html) as "htmlBytes", ${eventBody}`;

/**
 * Joins the event's inbox `i`, unless the inbox is deleted, and the event's message `m`, or else the draft `d` of a mail that was never
 * sent. The draft is looked up by null beside a message, which costs nothing.
 */
export const contentJoins = sql`left join inboxes i on i.id = e.inbox_id and i.deleted_at is null
  left join messages m on m.id = e.message_id and m.inbox_id = i.id
  left join drafts d on d.id = case when m.id is null then e.message_id end and d.inbox_id = i.id and d.state <> 'sent'`;

/** The fields of a message are null for an event that is not about a message. */
export type EventContent = Selected<typeof ofEvent> &
  Pick<typeof inboxes.$inferSelect, "externalId"> &
  Nullable<Selected<typeof ofMessage> & { messageId: string; receivedAt: Date; bodyText: string }> & {
    /** Whether its message was never sent. Only its id is in the row then. */
    isUnsent: boolean;
    attachmentCount: number | null;
    htmlBytes: number | null;
    /** The size of the text in octets, if the text is too long to be read with the row, or is that of a draft; else null. */
    longBody: number | null;
  };

export type Nullable<Fields> = { [Name in keyof Fields]: Fields[Name] | null };

/** Whether the message of an event `e` exists, or the event is about none. The statement has `contentJoins`. */
export const isTellable = sql`(m.id is not null or d.id is not null or not ${isOneOf(tellsOfMessage)})`;

/** Whether an event `e` is about a message or a quarantined mail. Such an event is hidden once its inbox is deleted. */
export const isOfMail = isOneOf((type) => tellsOfMessage(type) || isOfQuarantine(type));

function isOneOf(isWanted: (type: string) => boolean) {
  const types = eventTypes.filter(isWanted).map((type) => `'${type}'`);
  return sql.raw(`e.type in (${types.join(", ")})`);
}
