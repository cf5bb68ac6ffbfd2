import { type SQL, sql } from "drizzle-orm";
import { type Db, query } from "../../database/db.ts";
import type { Reach } from "../../domain/access/access.ts";
import type { Suspension } from "../../domain/access/suspension.ts";
import type { ListedKind } from "../../domain/outbox-item.ts";
import type { SendPolicy } from "../../domain/policy.ts";
import type { SearchWords } from "../../domain/search.ts";
import { type Selected, selected } from "../columns.ts";
import { lockNumber } from "../locks.ts";
import { itemCount } from "../outbox/listed-items.ts";
import { isReached } from "../reach.ts";
import { insertRow } from "../rows.ts";
import { accounts } from "../schema.ts";

const accountFields = selected(accounts, "a", ["id", "name", "plan", "createdAt", "limits"]);

export type Account = Selected<typeof accountFields>;

/** Takes the advisory lock of first starts until the end of the transaction, so that only one of them makes the first account. */
export async function lockFirstStart(tx: Db): Promise<void> {
  await query(tx, sql`select pg_advisory_xact_lock(${lockNumber("firstStart")})`);
}

export async function findFirstAccount(db: Db): Promise<Account | undefined> {
  const [account] = await query<Account>(
    db,
    sql`select ${accountFields} from accounts a where a.deleted_at is null order by a.id limit 1`,
  );
  return account;
}

export async function findAccountByName(db: Db, name: string): Promise<Account | undefined> {
  const [account] = await query<Account>(db, sql`select ${accountFields} from accounts a where a.name = ${name}`);
  return account;
}

export async function findAccountById(db: Db, id: string): Promise<Account | undefined> {
  const [account] = await query<Account>(
    db,
    sql`select ${accountFields} from accounts a where a.id = ${id} and a.deleted_at is null`,
  );
  return account;
}

export type CountedAccount = Account & { inboxCount: number; suspended: Suspension | null };

export async function listAccounts(db: Db): Promise<CountedAccount[]> {
  return query(
    db,
    sql`select ${accountFields}, a.inbox_count as "inboxCount", a.suspended from accounts a order by a.id`,
  );
}

export interface AccountCounts {
  inboxes: number;
  unreadThreads: number;
  /** Mail that waits for the approval of a person. */
  awaitingApproval: number;
  /** At most `mostCountedItems`. Null for a caller that may not list the outbox. */
  outbox: number | null;
}

export interface AccountCaller {
  reach: Reach;
  keyId: string;
  /** The kinds of items in the outbox that the caller may list; undefined if it may not list the outbox. */
  outboxKinds: readonly ListedKind[] | undefined;
}

export interface ShownAccount extends Account {
  suspended: Suspension | null;
  /** Null if the key has no name, or if the account has no such key. */
  keyName: string | null;
  retentionDays: number | null;
  sendPolicy: SendPolicy;
  /** Null for those of the plan. */
  searchWords: SearchWords | null;
  counts: AccountCounts;
}

/** Finds an account, with the name of a key, and with counts of what the caller may see. */
export async function findShownAccount(
  db: Db,
  { reach, keyId, outboxKinds }: AccountCaller,
): Promise<ShownAccount | undefined> {
  const [found] = await query<Omit<ShownAccount, "counts"> & AccountCounts>(
    db,
    sql`select ${accountFields}, a.suspended, a.retention_days as "retentionDays", a.send_policy as "sendPolicy", a.search_words as "searchWords", k.name as "keyName", counted.*, ${waitingCount(reach)} as "awaitingApproval", ${outboxKinds === undefined ? sql`null` : itemCount({ reach, kinds: outboxKinds })} as outbox
        from accounts a left join api_keys k on k.id = ${keyId} and k.account_id = a.id
        cross join lateral (
          select count(*) as inboxes, coalesce(sum(i.unread_count), 0) as "unreadThreads" from inboxes i
          where ${isReached(reach)}
        ) counted where a.id = ${reach.accountId}`,
  );
  if (found === undefined) return undefined;
  const { inboxes, unreadThreads, awaitingApproval, outbox, ...account } = found;
  return { ...account, counts: { inboxes, unreadThreads, awaitingApproval, outbox } };
}

function waitingCount(reach: Reach): SQL {
  return sql`(select count(*) from drafts d join inboxes i on i.id = d.inbox_id
              where d.account_id = ${reach.accountId} and d.state = 'awaiting_approval' and ${isReached(reach)})`;
}

/** The fields of an account that its owner may change. Those that are undefined stay. */
export interface OwnChange {
  retentionDays?: number | null | undefined;
  sendPolicy?: SendPolicy | undefined;
}

/** Changes the fields of an account that its owner may change. */
export async function markOwnChange(db: Db, id: string, { retentionDays, sendPolicy }: OwnChange): Promise<void> {
  const changes = [
    ...(retentionDays === undefined ? [] : [sql`retention_days = ${retentionDays}`]),
    ...(sendPolicy === undefined ? [] : [sql`send_policy = ${sendPolicy}`]),
  ];
  if (changes.length > 0) await query(db, sql`update accounts set ${sql.join(changes, sql`, `)} where id = ${id}`);
}

/** Inserts an account. Returns false and writes nothing if its name is taken. */
export async function insertAccount(
  db: Db,
  account: Account & { limits?: Readonly<Record<string, number>> },
): Promise<boolean> {
  return insertRow(db, accounts, account);
}

const madeFields = selected(accounts, "a", ["inboxCount", "inboxesMadeOn", "inboxesMade"]);

/** Locks an account. Returns how many inboxes it has, and how many it created on the last day on which it created any. */
export async function lockAccount(tx: Db, id: string): Promise<Selected<typeof madeFields> | undefined> {
  const [account] = await query<Selected<typeof madeFields>>(
    tx,
    sql`select ${madeFields} from accounts a where a.id = ${id} for update`,
  );
  return account;
}

/** Counts a new inbox, and the addresses that were made on a day: the one of the inbox, and aliases. */
export async function markInboxesMade(
  tx: Db,
  id: string,
  { day, inboxes, addresses }: { day: string; inboxes: number; addresses: number },
): Promise<void> {
  await query(
    tx,
    sql`update accounts set inbox_count = inbox_count + ${inboxes}::int, inboxes_made_on = ${day}::date,
          inboxes_made = case when inboxes_made_on = ${day}::date then inboxes_made else 0 end + ${addresses}::int
        where id = ${id}`,
  );
}

export async function markInboxGone(tx: Db, id: string): Promise<void> {
  await query(tx, sql`update accounts set inbox_count = inbox_count - 1 where id = ${id}`);
}
