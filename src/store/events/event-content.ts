import { sql } from "drizzle-orm";
import { eventTypes, isOfQuarantine, isOfMessage as tellsOfMessage } from "../../domain/events/event-types.ts";
import { type Selected, selected } from "../columns.ts";
import { eventBody } from "../mail/bodies.ts";
import { events, type inboxes, messages } from "../schema.ts";

/*
 * The columns of an event `e` for a delivery, the log or a stream. Events about the messages of a deleted inbox are not shown.
 */

const ofEvent = selected(events, "e", ["type", "inboxId", "threadId", "occurredAt", "data"]);
const ofMessage = selected(messages, "m", [
  "rfcMessageId",
  "fromAddr",
  "toAddr",
  "cc",
  "subject",
  "attachmentCount",
  "metadata",
]);

/** The `externalId` of the inbox of an event `e`, as it is now. An event about an inbox that is gone has it in its data. */
export const externalIdOfEvent = sql.raw(
  `(select case when i.id is null then e.data->>'externalId' else i.external_id end
    from (select) one left join inboxes i on i.id = e.inbox_id)`,
);

/** The select list of `EventContent`. It leaves out the event's id, to which each statement gives its own name. */
export const contentFields = sql`${ofEvent}, case when i.id is null then e.data->>'externalId' else i.external_id end as "externalId",
  m.id as "messageId", ${ofMessage}, m.created_at as "receivedAt", octet_length(m.body_html) as "htmlBytes", ${eventBody}`;

/** Joins the event's inbox `i`, unless the inbox is deleted, and the event's message `m`. */
export const contentJoins = sql`left join inboxes i on i.id = e.inbox_id and i.deleted_at is null
  left join messages m on m.id = e.message_id and m.inbox_id = i.id`;

/** The fields of a message are null for an event that is not about a message. */
export type EventContent = Selected<typeof ofEvent> &
  Pick<typeof inboxes.$inferSelect, "externalId"> &
  Nullable<Selected<typeof ofMessage> & { messageId: string; receivedAt: Date; bodyText: string }> & {
    htmlBytes: number | null;
    /** The size of the text in octets, if the text is too long to be read with the row; else null. */
    longBody: number | null;
  };

export type Nullable<Fields> = { [Name in keyof Fields]: Fields[Name] | null };

/** Whether an event `e` is about a message. */
export const isOfMessage = isOneOf(tellsOfMessage);

/** Whether an event `e` is about a message or a quarantined mail. Such an event is hidden once its inbox is deleted. */
export const isOfMail = isOneOf((type) => tellsOfMessage(type) || isOfQuarantine(type));

function isOneOf(isWanted: (type: string) => boolean) {
  const types = eventTypes.filter(isWanted).map((type) => `'${type}'`);
  return sql.raw(`e.type in (${types.join(", ")})`);
}
