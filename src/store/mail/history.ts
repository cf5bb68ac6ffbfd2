import { sql } from "drizzle-orm";
import { arrayOf, type Db, query } from "../../database/db.ts";
import type { Reach } from "../../domain/access/access.ts";
import type {
  EventDelivery,
  HistoryDraft,
  HistoryMessage,
  LoggedEvent,
  ThreadMark,
  TriedRecipient,
} from "../../domain/history.ts";
import { selected } from "../columns.ts";
import { isReached } from "../reach.ts";
import { auditEntries, deliveries, drafts, events, messages, recipients } from "../schema.ts";

/*
 * The rows that tell what became of a message. None is written for this alone.
 */

export interface FoundHistoryMessage extends HistoryMessage {
  threadId: string;
}

const ofMessage = selected(messages, "m", [
  "id",
  "threadId",
  "direction",
  "createdAt",
  "sourceId",
  "envelopeFrom",
  "toAddr",
  "authentication",
]);

/** Finds the message within the reach. */
export async function findHistoryMessage(db: Db, reach: Reach, id: string): Promise<FoundHistoryMessage | undefined> {
  const [message] = await query<FoundHistoryMessage>(
    db,
    sql`select ${ofMessage} from messages m join inboxes i on i.id = m.inbox_id where m.id = ${id} and ${isReached(reach)}`,
  );
  return message;
}

const ofDraft = selected(drafts, "d", ["createdAt", "acceptedAt", "sendAt", "updatedAt", "approval", "failure"]);

/** Finds the draft of a message within the reach, unless nobody has sent it. */
export async function findHistoryDraft(db: Db, reach: Reach, id: string): Promise<HistoryDraft | undefined> {
  const [draft] = await query<HistoryDraft>(
    db,
    sql`select ${ofDraft} from drafts d join inboxes i on i.id = d.inbox_id
        where d.id = ${id} and (d.accepted_at is not null or d.state = 'sent') and ${isReached(reach)}`,
  );
  return draft;
}

const triedRecipient = selected(recipients, "r", ["address", "attempts"]);

/** Lists the recipients of a message with the attempts to send to each. */
export function listTriedRecipients(db: Db, messageId: string): Promise<TriedRecipient[]> {
  return query(
    db,
    sql`select ${triedRecipient} from recipients r where r.message_id = ${messageId} order by r.position`,
  );
}

const ofEvent = selected(events, "e", ["id", "type", "occurredAt", "data"]);

/**
 * Lists the events about a message. The event of its arrival, if it is inbound, is found by its id, because the index of messages leaves it
 * out.
 */
export function listEventsOfMessage(db: Db, messageId: string, arrivalEventId = ""): Promise<LoggedEvent[]> {
  return query(
    db,
    sql`select ${ofEvent} from events e where e.message_id = ${messageId} and e.type <> 'message.received'
        union all select ${ofEvent} from events e where e.id = ${arrivalEventId} and e.message_id = ${messageId}`,
  );
}

const ofDelivery = selected(deliveries, "d", ["eventId", "attempt", "attemptedAt", "status", "error"]);

/** Lists the last attempts to deliver these events of an account. */
export function listDeliveriesOfEvents(
  db: Db,
  { accountId, eventIds, limit }: { accountId: string; eventIds: readonly string[]; limit: number },
): Promise<EventDelivery[]> {
  return query(
    db,
    sql`select ${ofDelivery}, (select type from events where id = d.event_id) as event,
          case d.lane when ${accountId} then (select id from endpoints where account_id = ${accountId} and is_default)
            else d.lane end as "webhookId"
        from deliveries d where d.event_id = any(${arrayOf("text", eventIds)})
        order by d.attempted_at desc limit ${limit}`,
  );
}

const ofMark = selected(auditEntries, "a", ["at"]);
const markedBy = sql`json_build_object('type', a.actor_type, 'id', a.actor_id, 'name', a.actor_name)`;

/** Lists the last times when a thread was marked, since an instant. */
export function listMarksOfThread(
  db: Db,
  { threadId, since, limit }: { threadId: string; since: Date; limit: number },
): Promise<ThreadMark[]> {
  return query(
    db,
    sql`select ${ofMark}, (a.details->>'isRead')::boolean as "isRead", ${markedBy} as by
        from audit_entries a where a.target_id = ${threadId} and a.action = 'thread.marked' and a.at >= ${since}
        order by a.id desc limit ${limit}`,
  );
}
