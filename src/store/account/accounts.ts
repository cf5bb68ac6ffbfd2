import { and, asc, desc, eq, isNull, sql } from "drizzle-orm";
import { type Db, query } from "../../database/db.ts";
import type { Plan } from "../../domain/limits.ts";
import { lockNumber } from "../locks.ts";
import { recordSet } from "../rows.ts";
import { accounts, apiKeys } from "../schema.ts";

export interface Account {
  id: string;
  name: string;
  plan: Plan;
  createdAt: Date;
}

const accountFields = { id: accounts.id, name: accounts.name, plan: accounts.plan, createdAt: accounts.createdAt };

/** Held to the end of the transaction, so that of many first starts at once one makes the first account. */
export async function lockFirstStart(tx: Db): Promise<void> {
  await query(tx, sql`select pg_advisory_xact_lock(${lockNumber("firstStart")})`);
}

export async function findFirstAccount(db: Db): Promise<Account | undefined> {
  const [account] = await db.select(accountFields).from(accounts).orderBy(asc(accounts.id)).limit(1);
  return account;
}

export async function findAccountByName(db: Db, name: string): Promise<Account | undefined> {
  const [account] = await db.select(accountFields).from(accounts).where(eq(accounts.name, name));
  return account;
}

export async function listAccounts(db: Db): Promise<(Account & { inboxCount: number })[]> {
  return db
    .select({ ...accountFields, inboxCount: accounts.inboxCount })
    .from(accounts)
    .orderBy(asc(accounts.id));
}

/** False when the name is taken. */
export async function insertAccount(db: Db, account: Account): Promise<boolean> {
  const made = await db.insert(accounts).values(account).onConflictDoNothing().returning({ id: accounts.id });
  return made.length === 1;
}

export interface ApiKey {
  id: string;
  accountId: string;
  hash: string;
  prefix: string;
  lastFour: string;
  createdAt: Date;
}

/** Passes over a key that is known already. */
export async function insertApiKey(db: Db, key: ApiKey): Promise<void> {
  await db.insert(apiKeys).values(key).onConflictDoNothing();
}

/** The account that a key opens, with the key's id; a revoked key opens nothing. */
export async function findAccountOfKey(db: Db, hash: string): Promise<(Account & { keyId: string }) | undefined> {
  const [account] = await db
    .select({ ...accountFields, keyId: apiKeys.id })
    .from(apiKeys)
    .innerJoin(accounts, eq(accounts.id, apiKeys.accountId))
    .where(and(eq(apiKeys.hash, hash), isNull(apiKeys.revokedAt)));
  return account;
}

export interface ApiKeyInfo {
  id: string;
  prefix: string;
  lastFour: string;
  createdAt: Date;
  lastUsedAt: Date | null;
  revokedAt: Date | null;
}

export async function listApiKeys(db: Db, accountId: string): Promise<ApiKeyInfo[]> {
  return db
    .select({
      id: apiKeys.id,
      prefix: apiKeys.prefix,
      lastFour: apiKeys.lastFour,
      createdAt: apiKeys.createdAt,
      lastUsedAt: apiKeys.lastUsedAt,
      revokedAt: apiKeys.revokedAt,
    })
    .from(apiKeys)
    .where(eq(apiKeys.accountId, accountId))
    .orderBy(desc(apiKeys.id));
}

/** The hash of the key that was revoked now; undefined when there is none with this id or it was revoked before. */
export async function markKeyRevoked(db: Db, id: string, revokedAt: Date): Promise<string | undefined> {
  const [key] = await db
    .update(apiKeys)
    .set({ revokedAt })
    .where(and(eq(apiKeys.id, id), isNull(apiKeys.revokedAt)))
    .returning({ hash: apiKeys.hash });
  return key?.hash;
}

/** One statement for all keys that were used since the last. */
export async function markKeysUsed(db: Db, used: readonly { id: string; lastUsedAt: Date }[]): Promise<void> {
  await query(
    db,
    sql`update api_keys set last_used_at = row."lastUsedAt" from ${recordSet(apiKeys, used, ["id", "lastUsedAt"])}
        where api_keys.id = row.id and (last_used_at is null or last_used_at < row."lastUsedAt")`,
  );
}

/** What an account has made today, read under the lock that also guards its number of inboxes. */
export async function lockAccount(
  tx: Db,
  id: string,
): Promise<{ inboxCount: number; inboxesMadeOn: string | null; inboxesMade: number } | undefined> {
  const [account] = await tx
    .select({
      inboxCount: accounts.inboxCount,
      inboxesMadeOn: accounts.inboxesMadeOn,
      inboxesMade: accounts.inboxesMade,
    })
    .from(accounts)
    .where(eq(accounts.id, id))
    .for("update");
  return account;
}

export async function markInboxMade(tx: Db, id: string, day: string): Promise<void> {
  await tx
    .update(accounts)
    .set({
      inboxCount: sql`${accounts.inboxCount} + 1`,
      inboxesMade: sql`case when ${accounts.inboxesMadeOn} = ${day}::date then ${accounts.inboxesMade} + 1 else 1 end`,
      inboxesMadeOn: day,
    })
    .where(eq(accounts.id, id));
}

export async function markInboxGone(tx: Db, id: string): Promise<void> {
  await tx
    .update(accounts)
    .set({ inboxCount: sql`${accounts.inboxCount} - 1` })
    .where(eq(accounts.id, id));
}
