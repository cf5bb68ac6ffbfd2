import { and, desc, eq, isNull, type SQL, sql } from "drizzle-orm";
import { type Db, query } from "../../database/db.ts";
import { prepared } from "../../database/prepared.ts";
import type { InboxTotals } from "../../domain/conversation.ts";
import { recordSet } from "../rows.ts";
import { accounts, addresses, inboxes } from "../schema.ts";

export interface Inbox {
  id: string;
  accountId: string;
  username: string;
  externalId: string | null;
  createdAt: Date;
}

const inboxFields = {
  id: inboxes.id,
  accountId: inboxes.accountId,
  username: inboxes.username,
  externalId: inboxes.externalId,
  createdAt: inboxes.createdAt,
};

const inboxOfAccount = prepared((db) =>
  db
    .select(inboxFields)
    .from(inboxes)
    .where(
      and(
        eq(inboxes.id, sql.placeholder("id")),
        eq(inboxes.accountId, sql.placeholder("accountId")),
        isNull(inboxes.deletedAt),
      ),
    )
    .prepare("find_inbox"),
);

export async function findInbox(db: Db, accountId: string, id: string): Promise<Inbox | undefined> {
  const [inbox] = await inboxOfAccount(db).execute({ id, accountId });
  return inbox;
}

/** The living inbox that takes mail for a name. */
export async function findInboxByUsername(db: Db, username: string): Promise<Inbox | undefined> {
  const [inbox] = await inboxOfUsername(db).execute({ username });
  return inbox;
}

const inboxOfUsername = prepared((db) =>
  db
    .select(inboxFields)
    .from(addresses)
    .innerJoin(inboxes, eq(inboxes.id, addresses.inboxId))
    .where(and(eq(addresses.username, sql.placeholder("username")), isNull(inboxes.deletedAt)))
    .prepare("find_inbox_by_username"),
);

export interface InboxPage {
  accountId: string;
  externalId: string | undefined;
  limit: number;
  offset: number;
}

export async function listInboxes(db: Db, page: InboxPage): Promise<Inbox[]> {
  return db
    .select(inboxFields)
    .from(inboxes)
    .where(livingOf(page))
    .orderBy(desc(inboxes.id))
    .limit(page.limit)
    .offset(page.offset);
}

/** The kept number of an account's inboxes; those of one `externalId` are few and are counted. */
export async function countInboxes(db: Db, page: InboxPage): Promise<number> {
  if (page.externalId === undefined) {
    const [account] = await db
      .select({ total: accounts.inboxCount })
      .from(accounts)
      .where(eq(accounts.id, page.accountId));
    return account?.total ?? 0;
  }
  const [counted] = await db.select({ total: sql<number>`count(*)` }).from(inboxes).where(livingOf(page));
  return counted?.total ?? 0;
}

function livingOf({ accountId, externalId }: InboxPage): SQL | undefined {
  const ofAccount = and(eq(inboxes.accountId, accountId), isNull(inboxes.deletedAt));
  return externalId === undefined ? ofAccount : and(ofAccount, eq(inboxes.externalId, externalId));
}

/**
 * Takes a name for an inbox: a new one, or one whose quarantine is over. False when it is another's. The unique
 * key decides between two that come at once.
 */
export async function insertAddress(tx: Db, username: string, inboxId: string, now: Date): Promise<boolean> {
  const taken = await query(
    tx,
    sql`insert into addresses (username, inbox_id) values (${username}, ${inboxId})
        on conflict (username) do update set inbox_id = excluded.inbox_id, held_until = null
        where addresses.held_until <= ${now} returning username`,
  );
  return taken.length === 1;
}

export async function insertInbox(tx: Db, inbox: Inbox): Promise<void> {
  await tx.insert(inboxes).values(inbox);
}

/** False when it is gone already. */
export async function markInboxDeleted(tx: Db, accountId: string, id: string, deletedAt: Date): Promise<boolean> {
  const deleted = await tx
    .update(inboxes)
    .set({ deletedAt })
    .where(and(eq(inboxes.id, id), eq(inboxes.accountId, accountId), isNull(inboxes.deletedAt)))
    .returning({ id: inboxes.id });
  return deleted.length === 1;
}

export async function markAddressHeld(tx: Db, inboxId: string, username: string, heldUntil: Date): Promise<void> {
  await tx
    .update(addresses)
    .set({ heldUntil })
    .where(and(eq(addresses.username, username), eq(addresses.inboxId, inboxId)));
}

/** Locks in the order of ids, so that two batches that share inboxes wait for each other instead of dying. */
export async function lockInboxes(tx: Db, ids: readonly string[]): Promise<InboxTotals[]> {
  return query<InboxTotals & Record<string, unknown>>(
    tx,
    sql`select id, account_id as "accountId", username, message_count as "messageCount", inbound_count as "inboundCount",
          thread_count as "threadCount", unread_count as "unreadCount", last_message_at as "lastMessageAt",
          last_message_id as "lastMessageId", sent_on::text as "sentOn", sent_count as "sentCount",
          exists (select from webhooks where webhooks.account_id = inboxes.account_id and url is not null
            and disabled_at is null) as "hasWebhook"
        from inboxes where id in (select json_array_elements_text(${JSON.stringify(ids)}::json)) and deleted_at is null
        order by id for update`,
  );
}

/** Locks those that nobody else has locked, and answers the others that live. */
export async function lockFreeInboxes(db: Db, ids: readonly string[]): Promise<string[]> {
  const held = await query<{ id: string }>(
    db,
    sql`with asked as materialized (select json_array_elements_text(${JSON.stringify(ids)}::json) as id),
        free as materialized (select id from inboxes where id in (select id from asked) and deleted_at is null
          order by id for update skip locked)
        select id from inboxes where id in (select id from asked) and deleted_at is null and id not in (select id from free)`,
  );
  return held.map(({ id }) => id);
}

const totals = [
  "id",
  "messageCount",
  "inboundCount",
  "threadCount",
  "unreadCount",
  "lastMessageAt",
  "lastMessageId",
  "sentOn",
  "sentCount",
];

/** Writes what was decided under the lock. */
export async function markInboxTotals(tx: Db, states: readonly InboxTotals[]): Promise<void> {
  if (states.length === 0) return;
  await query(
    tx,
    sql`update inboxes set message_count = row."messageCount", inbound_count = row."inboundCount",
          thread_count = row."threadCount", unread_count = row."unreadCount", last_message_at = row."lastMessageAt",
          last_message_id = row."lastMessageId", sent_on = row."sentOn", sent_count = row."sentCount"
        from ${recordSet(inboxes, states, totals)} where inboxes.id = row.id`,
  );
}
