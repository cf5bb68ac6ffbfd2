import { sql } from "drizzle-orm";
import { arrayOf, type Db, query } from "../../database/db.ts";
import type { Reach } from "../../domain/access/access.ts";
import type { Suspension } from "../../domain/access/suspension.ts";
import type { ListedKind } from "../../domain/outbox-item.ts";
import { type Selected, selected } from "../columns.ts";
import { lockNumber } from "../locks.ts";
import { itemCount } from "../outbox/listed-items.ts";
import { isReached } from "../reach.ts";
import { insertNewRows, insertRow, recordSet } from "../rows.ts";
import { accounts, apiKeys } from "../schema.ts";

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

export async function listAccounts(db: Db): Promise<(Account & { inboxCount: number })[]> {
  return query(db, sql`select ${accountFields}, a.inbox_count as "inboxCount" from accounts a order by a.id`);
}

export interface AccountCounts {
  inboxes: number;
  unreadThreads: number;
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
  counts: AccountCounts;
}

/** Finds an account, with the name of a key, and with counts of what the caller may see. */
export async function findShownAccount(
  db: Db,
  { reach, keyId, outboxKinds }: AccountCaller,
): Promise<ShownAccount | undefined> {
  const [found] = await query<Omit<ShownAccount, "counts"> & AccountCounts>(
    db,
    sql`select ${accountFields}, a.suspended, a.retention_days as "retentionDays", k.name as "keyName", counted.*, ${outboxKinds === undefined ? sql`null` : itemCount({ reach, kinds: outboxKinds })} as outbox
        from accounts a left join api_keys k on k.id = ${keyId} and k.account_id = a.id
        cross join lateral (
          select count(*) as inboxes, coalesce(sum(i.unread_count), 0) as "unreadThreads" from inboxes i
          where ${isReached(reach)}
        ) counted where a.id = ${reach.accountId}`,
  );
  if (found === undefined) return undefined;
  const { inboxes, unreadThreads, outbox, ...account } = found;
  return { ...account, counts: { inboxes, unreadThreads, outbox } };
}

/** Sets the days after which mail of an account is removed. */
export async function markRetention(db: Db, id: string, days: number | null): Promise<void> {
  await query(db, sql`update accounts set retention_days = ${days} where id = ${id}`);
}

/** Inserts an account. Returns false and writes nothing if its name is taken. */
export async function insertAccount(
  db: Db,
  account: Account & { limits?: Readonly<Record<string, number>> },
): Promise<boolean> {
  return insertRow(db, accounts, account);
}

export type ApiKey = Pick<
  typeof apiKeys.$inferSelect,
  "id" | "accountId" | "name" | "hash" | "prefix" | "lastFour" | "createdAt"
>;

/** Inserts an API key, unless it exists already. */
export function insertApiKey(db: Db, key: ApiKey): Promise<void> {
  return insertNewRows(db, apiKeys, [key]);
}

/** Finds the account of the key with this hash, and the id of the key. Undefined if the key is unknown or revoked. */
export async function findAccountOfKey(db: Db, hash: string): Promise<(Account & { keyId: string }) | undefined> {
  const [account] = await query<Account & { keyId: string }>(
    db,
    sql`select ${accountFields}, k.id as "keyId" from api_keys k join accounts a on a.id = k.account_id
        where k.hash = ${hash} and k.revoked_at is null and a.deleted_at is null`,
  );
  return account;
}

/** Finds the hash of a key by its id, even if the key is revoked. */
export async function findKeyHash(db: Db, id: string): Promise<string | undefined> {
  const [key] = await query<{ hash: string }>(db, sql`select hash from api_keys where id = ${id}`);
  return key?.hash;
}

/** Finds the id of the newest key of an account, without revoked keys. */
export async function findNewestLivingKey(db: Db, accountId: string): Promise<string | undefined> {
  const [key] = await query<{ id: string }>(
    db,
    sql`select id from api_keys where account_id = ${accountId} and revoked_at is null order by id desc limit 1`,
  );
  return key?.id;
}

/** Lists the keys among these that are not revoked, and whose account is open. The key of an operator has no account. */
export async function listLivingKeys(db: Db, ids: readonly string[]): Promise<string[]> {
  const living = await query<{ id: string }>(
    db,
    sql`select k.id from api_keys k join accounts a on a.id = k.account_id
        where k.id = any(${arrayOf("text", ids)}) and k.revoked_at is null
          and a.deleted_at is null and coalesce(a.suspended, 'sending') = 'sending'
        union all
        select id from operator_keys where id = any(${arrayOf("text", ids)}) and revoked_at is null
          and (expires_at is null or expires_at > now())`,
  );
  return living.map(({ id }) => id);
}

const shownKeyFields = selected(apiKeys, "k", [
  "id",
  "name",
  "prefix",
  "lastFour",
  "createdAt",
  "lastUsedAt",
  "revokedAt",
]);

export type ApiKeyInfo = Selected<typeof shownKeyFields>;

export function listApiKeys(db: Db, accountId: string): Promise<ApiKeyInfo[]> {
  return query(db, sql`select ${shownKeyFields} from api_keys k where k.account_id = ${accountId} order by k.id desc`);
}

/** Revokes a key. Returns its hash and its account; undefined if there is no such key, or if it was revoked before. */
export async function markKeyRevoked(
  db: Db,
  id: string,
  revokedAt: Date,
): Promise<{ hash: string; accountId: string } | undefined> {
  const [key] = await query<{ hash: string; accountId: string }>(
    db,
    sql`update api_keys set revoked_at = ${revokedAt} where id = ${id} and revoked_at is null
        returning hash, account_id as "accountId"`,
  );
  return key;
}

/** Counts the keys of an account, without revoked ones. */
export async function countLivingKeys(db: Db, accountId: string): Promise<number> {
  const [counted] = await query<{ keys: number }>(
    db,
    sql`select count(*) as keys from api_keys where account_id = ${accountId} and revoked_at is null`,
  );
  return counted?.keys ?? 0;
}

/** Writes the time of the last use of each of these keys, in one statement. */
export async function markKeysUsed(db: Db, used: readonly { id: string; lastUsedAt: Date }[]): Promise<void> {
  await query(
    db,
    sql`update api_keys set last_used_at = row."lastUsedAt" from ${recordSet(apiKeys, used, ["id", "lastUsedAt"])}
        where api_keys.id = row.id and (last_used_at is null or last_used_at < row."lastUsedAt")`,
  );
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

export async function markInboxMade(tx: Db, id: string, day: string): Promise<void> {
  await query(
    tx,
    sql`update accounts set inbox_count = inbox_count + 1, inboxes_made_on = ${day}::date,
          inboxes_made = case when inboxes_made_on = ${day}::date then inboxes_made + 1 else 1 end
        where id = ${id}`,
  );
}

export async function markInboxGone(tx: Db, id: string): Promise<void> {
  await query(tx, sql`update accounts set inbox_count = inbox_count - 1 where id = ${id}`);
}
