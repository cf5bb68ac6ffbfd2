import { sql } from "drizzle-orm";
import { arrayOf, type Db, query } from "../../database/db.ts";
import type { SentReach } from "../../domain/access/access.ts";
import type { RetriedMessage } from "../../domain/send/retrying.ts";
import { asJson, selected } from "../columns.ts";
import { isReached } from "../reach.ts";
import { recordSet } from "../rows.ts";
import { messages, outbox, recipients } from "../schema.ts";
import { recipientsOf } from "./recipients.ts";

const fields = selected(messages, "m", [
  "inboxId",
  "threadId",
  "fromAddr",
  "direction",
  "status",
  "createdAt",
  "retries",
]);
const ofRecipient = asJson(recipients, "r", ["position", "address", "destination", "status", "failure"]);

/** Finds a message within the reach, with its recipients. */
export async function findMessageToRetry(
  tx: Db,
  { sentBy, ...reach }: SentReach,
  id: string,
): Promise<RetriedMessage | undefined> {
  const [message] = await query<RetriedMessage>(
    tx,
    sql`select ${fields}, ${recipientsOf("m", ofRecipient)} as recipients
        from messages m join inboxes i on i.id = m.inbox_id
        where m.id = ${id} and ${isReached(reach)} ${sentBy === undefined ? sql`` : sql`and m.sent_by = ${sentBy}`}`,
  );
  return message;
}

export interface Retry {
  messageId: string;
  inboxId: string;
  accountId: string;
  /** The recipients to send to again, by position. */
  positions: readonly number[];
  /** The rows of the outbox. */
  rows: readonly { subjectId: string; lane: string }[];
  sentOn: string;
  sentCount: number;
  at: Date;
}

/** Puts a message into the outbox again, in one statement. The caller has locked its inbox. */
export async function markRetried(tx: Db, retry: Retry): Promise<void> {
  const { messageId, inboxId, accountId, positions, sentOn, sentCount, at } = retry;
  const rows = retry.rows.map((row) => ({ ...row, accountId, inboxId, dueAt: at, createdAt: at }));
  const rowFields = ["subjectId", "accountId", "inboxId", "lane", "dueAt", "createdAt"] as const;
  await query(
    tx,
    sql`with again as (
          update recipients set status = 'pending', failure = null
          where message_id = ${messageId} and position = any(${arrayOf("int4", positions)})
        ),
        message as (
          update messages m set retries = m.retries + 1,
            status = case when m.status = 'sent' then 'sent' else 'pending' end,
            failure = (select r.failure from recipients r where r.message_id = m.id and r.status = 'failed'
              and r.position <> all(${arrayOf("int4", positions)}) order by r.position limit 1)
          where m.id = ${messageId}
        ),
        counted as (
          update inboxes set sent_on = ${sentOn}, sent_count = ${sentCount}, revision = revision + 1 where id = ${inboxId}
        )
        insert into outbox (subject_id, account_id, inbox_id, lane, due_at, created_at, kind, unsure)
        select row."subjectId", row."accountId", row."inboxId", row.lane, row."dueAt", row."createdAt", 'relay',
          exists (select from recipients r where r.message_id = ${messageId} and r.position = any(${arrayOf("int4", positions)})
            and r.failure @> '{"mayHaveBeenSent": true}')
        from ${recordSet(outbox, rows, rowFields)}`,
  );
}
