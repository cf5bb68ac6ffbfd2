import { sql } from "drizzle-orm";
import { arrayOf, type Db, query } from "../../database/db.ts";
import type { MailHead } from "../../domain/mail-filter.ts";
import { selected } from "../columns.ts";
import { messages } from "../schema.ts";

/** An inbound mail. `number` is its number among the inbound mails of its inbox. */
export interface NumberedMail extends MailHead {
  id: string;
  number: number;
}

const headFields = selected(messages, "m", [
  ...(["id", "threadId", "fromAddr", "fromName", "toAddr", "subject", "attachmentCount"] as const),
]);

const beyondAll = 2 ** 31;

export interface MailRange {
  inboxId: string;
  /** Lists mails with a number above this one. */
  behind: number;
  /** Lists mails with a number below this one; undefined: up to the last one. */
  before?: number;
  order: "oldest first" | "newest first";
  limit: number;
}

/**
 * Lists inbound mails of an inbox with the fields that filters need, without bodies. Also returns the number of the last inbound mail, read
 * at the same instant. Undefined if the inbox does not exist.
 */
export async function listMailInRange(
  db: Db,
  { inboxId, behind, before, order, limit }: MailRange,
): Promise<{ lastNumber: number; mails: NumberedMail[] } | undefined> {
  const direction = sql.raw(order === "oldest first" ? "" : " desc");
  const rows = await query<NumberedMail & { lastNumber: number }>(
    db,
    sql`select i.inbound_count as "lastNumber", m.* from inboxes i left join lateral (
          select ${headFields}, m.automated is not null as "isAutomated", m.direction_seq as number from messages m
          where m.inbox_id = ${inboxId} and m.direction = 'inbound' and m.direction_seq > ${behind}
            and m.direction_seq < ${before ?? beyondAll}::int8
          order by m.direction_seq${direction} limit ${limit}
        ) m on true
        where i.id = ${inboxId} and i.deleted_at is null order by m.number${direction}`,
  );
  const [first] = rows;
  return first && { lastNumber: first.lastNumber, mails: rows.filter(({ id }) => id !== null) };
}

/**
 * Counts the inbound mails of an inbox up to one of its messages. Up to an outbound message, this is its number among all messages less
 * its number among outbound ones, since both are numbered without gaps.
 */
export async function findNumberAt(db: Db, inboxId: string, messageId: string): Promise<number | undefined> {
  const [found] = await query<{ number: number }>(
    db,
    sql`select case when direction = 'inbound' then direction_seq else seq - direction_seq end as number
        from messages where id = ${messageId} and inbox_id = ${inboxId}`,
  );
  return found?.number;
}

/** Lists the inboxes with mail after the seen number, and those that do not exist (`lives` is false). Each costs one look-up by key. */
export async function listChangedInboxes(
  db: Db,
  seen: ReadonlyMap<string, number>,
): Promise<{ id: string; lives: boolean }[]> {
  return query<{ id: string; lives: boolean }>(
    db,
    sql`select seen.id, i.inbound_count is not null as lives
        from unnest(${arrayOf("text", [...seen.keys()])}, ${arrayOf("int4", [...seen.values()])}) as seen (id, number)
        left join lateral (
          select inbound_count from inboxes where inboxes.id = seen.id and deleted_at is null limit 1
        ) i on true
        where i.inbound_count is null or i.inbound_count > seen.number`,
  );
}
