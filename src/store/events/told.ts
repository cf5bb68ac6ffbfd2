import { sql } from "drizzle-orm";
import { eventTypes, isOfMessage as tellsOfMessage } from "../../domain/events/event-types.ts";
import { type Selected, selected } from "../columns.ts";
import { eventBody } from "../mail/bodies.ts";
import { events, type inboxes, messages } from "../schema.ts";

/*
 * What is read of an event `e` that is to be told, wherever that is: in a delivery, in the log, in a stream. Of an inbox that was deleted
 * only its own events are told.
 */

const ofEvent = selected(events, "e", ["type", "inboxId", "threadId", "occurredAt", "data"]);
const ofMessage = selected(messages, "m", [
  ...(["rfcMessageId", "fromAddr", "toAddr", "cc", "subject", "attachmentCount", "metadata"] as const),
]);

/** Beside the event's own id, which claims name otherwise. */
export const toldFields = sql`${ofEvent}, coalesce(i.external_id, e.data->>'externalId') as "externalId",
  m.id as "messageId", ${ofMessage}, m.created_at as "receivedAt", octet_length(m.body_html) as "htmlBytes", ${eventBody}`;

/** Its inbox `i` where that lives, and its message `m` there. */
export const toldJoins = sql`left join inboxes i on i.id = e.inbox_id and i.deleted_at is null
  left join messages m on m.id = coalesce(e.message_id, e.data->>'messageId') and m.inbox_id = i.id`;

/** Of an event that tells of no message, the fields of a message are null. */
export type ToldEventRow = Selected<typeof ofEvent> &
  Pick<typeof inboxes.$inferSelect, "externalId"> &
  Nullable<Selected<typeof ofMessage> & { messageId: string; receivedAt: Date; bodyText: string }> & {
    htmlBytes: number | null;
    /** In octets, of a text that is too long to come with its row. */
    longBody: number | null;
  };

export type Nullable<Fields> = { [Name in keyof Fields]: Fields[Name] | null };

const typesOfMessages = eventTypes.filter(tellsOfMessage);

/** Whether an event `e` tells of a message: it goes with its inbox. */
export const isOfMessage = sql.raw(`e.type in (${typesOfMessages.map((type) => `'${type}'`).join(", ")})`);
