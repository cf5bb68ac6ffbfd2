import { sql } from "drizzle-orm";
import { type Database, query } from "../../src/database/db.ts";
import { findChunk } from "../../src/store/mail/sources.ts";
import { lostFiles, miscountedSources, uncountedPieces } from "../../tests/support/held-sources.ts";
import { checkDeliveries } from "./check-deliveries.ts";
import { checkHeard } from "./check-heard.ts";
import { checkPassingRows } from "./check-passing.ts";
import { checkDeletedRows } from "./deleting.ts";
import { relayLeaseMs } from "./leases.ts";
import { digestOf, type Ledger } from "./ledger.ts";
import { passingName } from "./passing.ts";
import { standingRules } from "./standing-rules.ts";

/** The invariants between rows, whatever happened. */
export async function checkRows(ledger: Ledger, db: Database): Promise<void> {
  for (const [invariant, what, statement] of rules) {
    for (const row of await query<Record<string, unknown>>(db.api, sql.raw(statement))) {
      ledger.violation(invariant, `${what}: ${JSON.stringify(row)}`);
    }
  }
  await checkOutbox(ledger, db);
  await checkDeliveries(ledger, db);
  await checkHeard(ledger, db);
  await checkSources(ledger, db);
  await checkPassingRows(ledger, db);
  await checkDeletedRows(ledger, db);
}

/** Messages, and drafts that ended unsent, which have the same ids and events. */
const mails = `(select id, inbox_id, thread_id, status, direction from messages
  union all select id, inbox_id, thread_id, 'failed', 'outbound' from drafts where state in ('canceled', 'rejected', 'expired', 'failed'))`;
/** Of mail that was removed, the last event of its account stays. */
const stays = "(m.id is not null or exists (select from inboxes where id = e.inbox_id and removed_count = 0))";

const rules: readonly [invariant: string, what: string, statement: string][] = [
  [
    "I6",
    "a message is in a thread of another inbox, or in none",
    "select m.id from messages m left join threads t on t.id = m.thread_id where t.inbox_id is distinct from m.inbox_id",
  ],
  [
    "I6",
    "an event is of another inbox, thread or account than its message",
    `select e.id from events e left join ${mails} m on m.id = e.message_id
       left join inboxes i on i.id = m.inbox_id
     where e.type like 'message.%' and e.type <> 'message.blocked' and ${stays} and (e.inbox_id, e.thread_id, e.account_id) is distinct from (m.inbox_id, m.thread_id, i.account_id)`,
  ],
  [
    "I6",
    "an attachment has another source than its message",
    "select a.id from attachments a left join messages m on m.id = a.message_id where m.direction = 'inbound' and m.source_id is distinct from a.source_id",
  ],
  [
    "I3",
    "an inbound message has not one event",
    `select m.id, count(e.id) from messages m left join events e on e.message_id = m.id
     where m.direction = 'inbound' group by m.id having count(e.id) <> 1`,
  ],
  [
    "I3",
    "a quarantined mail has not one event",
    `select q.id, count(e.id) from quarantine q left join events e on e.data ->> 'id' = q.id and e.type = 'message.blocked'
     group by q.id having count(e.id) <> 1`,
  ],
  [
    "I3",
    "an outbound message has not one event of what became of it",
    `select m.id, m.status, count(e.id) from ${mails} m
       left join events e on e.inbox_id = m.inbox_id and e.message_id = m.id and e.type = 'message.' || m.status
     where m.direction = 'outbound' group by m.id, m.status having count(e.id) <> (m.status in ('sent', 'failed'))::int`,
  ],
  [
    "I3",
    "what an event says of a message is not so",
    `select e.id from events e left join ${mails} m on m.id = e.message_id
     where e.type in ('message.sent', 'message.failed') and ${stays} and e.type is distinct from 'message.' || m.status
       -- Of several recipients one may have failed beside one who has it.
       and not (e.type = 'message.failed' and m.status = 'sent'
         and (select count(*) from recipients r where r.message_id = m.id) > 1)`,
  ],
  [
    "I3",
    "an inbox has not one event of its making",
    `select i.id from inboxes i left join events e on e.inbox_id = i.id and e.type = 'inbox.created' group by i.id having count(e.id) <> 1`,
  ],
  [
    "torn",
    "a message has not as many attachments as it says",
    `select m.id from messages m left join attachments a on a.message_id = m.id
     group by m.id having count(a.id) <> m.attachment_count`,
  ],
  ...standingRules().map(({ what, statement }): [string, string, string] => ["torn", what, statement]),
  [
    "usage",
    "the usage of an inbox is not its mail",
    `select i.id, u.received, i.inbound_count, u.sent, i.message_count - i.inbound_count as outbound, u.bytes, i.storage_bytes, q.bytes as quarantined, u.made
     from inboxes i left join (select inbox_id, sum(received) as received, sum(sent) as sent, sum(received_bytes + sent_bytes) as bytes,
       sum(inboxes_created) as made from usage_days group by inbox_id) u on u.inbox_id = i.id
     left join (select inbox_id, sum(size_bytes) as bytes from quarantine group by inbox_id) q on q.inbox_id = i.id
     where (u.received, u.sent, u.made) is distinct from (i.inbound_count, i.message_count - i.inbound_count, 1)
       or (i.removed_count = 0 and u.bytes + coalesce(q.bytes, 0) <> i.storage_bytes)`,
  ],
  [
    "usage",
    "an account has other bytes than its inboxes",
    `select a.id, a.storage_bytes, sum(i.storage_bytes) from accounts a left join inboxes i on i.account_id = a.id and i.deleted_at is null
     group by a.id having coalesce(sum(i.storage_bytes), 0) <> a.storage_bytes`,
  ],
  [
    "I4",
    "a key has no message",
    `select k.key from idempotency_keys k join accounts a on a.id = k.account_id left join (select id from messages union all select id from drafts) m on m.id = k.subject_id
     where k.operation = 'send' and m.id is null and a.name <> '${passingName}'`,
  ],
  [
    "I5",
    "a message is pending, and nothing will be done about it",
    "select m.id from messages m left join outbox o on split_part(o.subject_id, '.', 1) = m.id where m.status = 'pending' and o.subject_id is null",
  ],
  [
    "I5",
    "a message is settled, and will be sent still",
    `select m.id, m.status from messages m join outbox o on split_part(o.subject_id, '.', 1) = m.id
     where m.status <> 'pending' and not exists (select from recipients r where r.message_id = m.id and r.status = 'pending')`,
  ],
  [
    "I5",
    "a recipient is pending, and nothing will be done about him",
    `select r.message_id, r.position from recipients r
       left join outbox o on o.subject_id = r.message_id || case r.destination when 0 then '' else '.' || r.destination end
     where r.status = 'pending' and o.subject_id is null`,
  ],
  [
    "torn",
    "an outbound message has no recipients, or an inbound one has some",
    `select m.id from messages m left join recipients r on r.message_id = m.id
     where (m.direction = 'outbound') <> (r.message_id is not null)`,
  ],
  [
    "torn",
    "a recipient or an attachment is of no message",
    `select message_id from (select message_id from recipients union select message_id from attachments) rows
     where not exists (select from messages where id = message_id) and not exists (select from drafts where id = message_id)`,
  ],
  [
    "I5",
    "a draft is due, and is not sent",
    "select id, state, due_at from drafts where state = 'scheduled' and due_at < now() - interval '10 seconds'",
  ],
  [
    "torn",
    "a draft is sent and has no message, or has one and is not",
    `select d.id, d.state from drafts d left join messages m on m.id = d.id join inboxes i on i.id = d.inbox_id
     where (d.state = 'sent') <> (m.id is not null) and i.removed_count = 0`,
  ],
  [
    "I3",
    "a mail waits for a person, and no event asks for the approval of this version",
    `select d.id, d.version from drafts d where d.state = 'awaiting_approval' and not exists
       (select from events where message_id = d.id and type = 'approval.requested' and data->>'version' = d.version::text)`,
  ],
  [
    "I3",
    "a person has decided, and not one event says so",
    `select d.id, d.approval from drafts d where d.approval->>'decision' is not null and
       (select count(*) from events where message_id = d.id and type = 'approval.resolved'
         and data->>'version' = d.version::text and data->>'decision' = d.approval->>'decision') <> 1`,
  ],
  ["torn", "a source has not as many shares as there are who hold it", miscountedSources],
  ["torn", "a piece of a source is there without the one that counts", uncountedPieces],
  ["torn", "the bytes of a file are gone", lostFiles],
];

/** No minute has more sends of an inbox than its plan allows, whichever processes they came by. */
export async function checkLimits(ledger: Ledger, db: Database): Promise<void> {
  for (const { id, address, account } of ledger.inboxes.values()) {
    if (account.sendsPerMinute === undefined) continue;
    const [row] = await query<{ most: number }>(
      db.api,
      sql`select coalesce(max(sent), 0)::int as most from (
            select count(*) over (order by created_at range between interval '59.9 seconds' preceding and current row) as sent
            from messages where inbox_id = ${id} and direction = 'outbound'
          ) counted`,
    );
    const most = row?.most ?? 0;
    ledger.counts.set(`most sends of a minute by ${address}, at most ${account.sendsPerMinute}`, most);
    if (most > account.sendsPerMinute) ledger.violation("limits", `${address} sent ${most} mails in a minute`);
  }
}

async function checkOutbox(ledger: Ledger, db: Database): Promise<void> {
  const rows = await query<{ subjectId: string; kind: string; state: string; attempt: number; dueAt: Date }>(
    db.api,
    sql`select subject_id as "subjectId", kind, state, attempt, due_at as "dueAt" from outbox`,
  );
  const latestMs = Date.now() + relayLeaseMs;
  for (const { subjectId, kind, state, attempt, dueAt } of rows) {
    const about = `${subjectId} (${kind}, attempt ${attempt}) is ${state} until ${dueAt.toISOString()}`;
    if (dueAt.getTime() > latestMs) ledger.violation("I5", `${about}, longer than any lease`);
    else ledger.violation("I5", `${about}, after everything had time to settle`);
  }
}

/** The stored bytes are those that came. */
async function checkSources(ledger: Ledger, db: Database): Promise<void> {
  const rows = await query<{ subject: string; sourceId: string }>(
    db.api,
    sql`select distinct subject, source_id as "sourceId" from messages where direction = 'inbound'`,
  );
  for (const { subject, sourceId } of rows) {
    const mail = ledger.mails.get(subject);
    if (mail === undefined) continue;
    const pieces: Uint8Array[] = [];
    for (;;) {
      const piece = await findChunk(db.api, sourceId, 0, pieces.length);
      if (piece === undefined) break;
      pieces.push(piece);
    }
    ledger.count("raw sources compared");
    if (digestOf(Buffer.concat(pieces)) !== mail.digest)
      ledger.violation("I1", `the raw source of ${subject} is not what was sent`);
  }
}
