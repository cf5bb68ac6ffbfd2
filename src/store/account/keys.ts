import { type SQL, sql } from "drizzle-orm";
import { arrayOf, type Db, query } from "../../database/db.ts";
import { isWholeAccount, type Reach } from "../../domain/access/access.ts";
import type { SendPolicy } from "../../domain/policy.ts";
import { type Selected, selected } from "../columns.ts";
import { isReached } from "../reach.ts";
import { insertNewRows, recordSet } from "../rows.ts";
import { accounts, apiKeys } from "../schema.ts";

export type ApiKey = Omit<typeof apiKeys.$inferSelect, "lastUsedAt" | "revokedAt">;

/** Inserts an API key, unless it exists already. */
export function insertApiKey(db: Db, key: ApiKey): Promise<void> {
  return insertNewRows(db, apiKeys, [key]);
}

const holderFields = selected(accounts, "a", ["id", "plan", "limits"]);
const rightsFields = selected(apiKeys, "k", ["access", "inboxId", "externalId", "allowedIps"]);

/** The account of a key, and what the key may do in it. */
export type KeyHolder = Selected<typeof holderFields> &
  Selected<typeof rightsFields> & {
    keyId: string;
    expiresAt: Date | null;
    /** The policies of the key and of its granter. */
    sendPolicies: SendPolicy[];
  };

/** Finds the holder of the key with this hash. Undefined if the key is unknown or revoked. The key of a grant ends with that of its granter. */
export async function findKeyHolder(db: Db, hash: string): Promise<KeyHolder | undefined> {
  const [holder] = await query<KeyHolder>(
    db,
    sql`select ${holderFields}, ${rightsFields}, k.id as "keyId", least(k.expires_at, granter.expires_at) as "expiresAt",
          array_remove(array[k.send_policy, granter.send_policy], null) as "sendPolicies"
        from api_keys k join accounts a on a.id = k.account_id left join api_keys granter on granter.id = k.granted_by
        where k.hash = ${hash} and k.revoked_at is null and granter.revoked_at is null and a.deleted_at is null`,
  );
  return holder;
}

/** Finds the hash of a key by its id, even if the key is revoked. */
export async function findKeyHash(db: Db, id: string): Promise<string | undefined> {
  const [key] = await query<{ hash: string }>(db, sql`select hash from api_keys where id = ${id}`);
  return key?.hash;
}

const accountFields = selected(accounts, "a", ["id", "name", "plan", "createdAt", "limits"]);

/** Finds the account of a key by the key's id, even if the key is revoked. */
export async function findAccountOfKey(db: Db, id: string): Promise<Selected<typeof accountFields> | undefined> {
  const [account] = await query<Selected<typeof accountFields>>(
    db,
    sql`select ${accountFields} from api_keys k join accounts a on a.id = k.account_id where k.id = ${id} and a.deleted_at is null`,
  );
  return account;
}

/** Finds the id of the newest key of an account that may do everything in it, and has not ended. */
export async function findNewestWholeKey(db: Db, accountId: string, now: Date): Promise<string | undefined> {
  const [key] = await query<{ id: string }>(
    db,
    sql`select k.id from api_keys k where k.account_id = ${accountId} and ${isWhole} and (k.expires_at is null or k.expires_at > ${now})
        order by k.id desc limit 1`,
  );
  return key?.id;
}

/** Whether a key `k` may do everything in its account, and is not revoked. */
const isWhole = sql`k.access = 'full' and k.inbox_id is null and k.external_id is null and k.revoked_at is null`;

/** Whether a key `k` is neither revoked nor over, and likewise the key of its granter. */
export function isInForce(now: Date): SQL {
  const isOwn = (key: SQL) =>
    sql`${key}.revoked_at is null and (${key}.expires_at is null or ${key}.expires_at > ${now})`;
  return sql`${isOwn(sql`k`)} and (k.granted_by is null or exists (
    select from api_keys granter where granter.id = k.granted_by and ${isOwn(sql`granter`)}
  ))`;
}

/** Lists the keys among these that are neither revoked nor over, and whose account is open. The key of an operator has no account. */
export async function listLivingKeys(db: Db, ids: readonly string[], now: Date): Promise<LivingKey[]> {
  return query<LivingKey>(
    db,
    sql`select k.id, k.allowed_ips as "allowedIps", least(k.expires_at, granter.expires_at) as "expiresAt"
        from api_keys k join accounts a on a.id = k.account_id left join api_keys granter on granter.id = k.granted_by
        where k.id = any(${arrayOf("text", ids)}) and ${isInForce(now)}
          and a.deleted_at is null and coalesce(a.suspended, 'sending') = 'sending'
        union all
        select id, array[]::text[], expires_at from operator_keys where id = any(${arrayOf("text", ids)}) and revoked_at is null
          and (expires_at is null or expires_at > ${now})`,
  );
}

/** Whether a key is in force and may decide about the mail of an inbox. The key of an operator may, in all accounts. */
export async function mayKeyDecide(
  db: Db,
  id: string,
  { accountId, inboxId, externalId }: { accountId: string; inboxId: string; externalId: string | null },
  now: Date,
): Promise<boolean> {
  const found = await query(
    db,
    sql`select 1 from api_keys k where k.id = ${id} and k.account_id = ${accountId} and k.access = 'full'
          and (k.inbox_id is null or k.inbox_id = ${inboxId})
          and (k.external_id is null or k.external_id = ${externalId}::text) and ${isInForce(now)}
        union all
        select 1 from operator_keys where id = ${id} and revoked_at is null and (expires_at is null or expires_at > ${now})`,
  );
  return found.length > 0;
}

export type LivingKey = Pick<ApiKey, "id" | "allowedIps" | "expiresAt">;

const shownFields = selected(apiKeys, "k", [
  ...(["id", "accountId", "name", "access", "inboxId", "externalId", "allowedIps", "prefix", "lastFour"] as const),
  ...(["createdAt", "createdBy", "lastUsedAt", "expiresAt", "revokedAt", "sendPolicy"] as const),
]);

export type ApiKeyInfo = Selected<typeof shownFields>;

/** Whether a key `k` is within a reach: within that of a tenant are its keys, and those of its inboxes. */
export function isKeyReached(reach: Reach): SQL {
  if (isWholeAccount(reach)) return sql`k.account_id = ${reach.accountId}`;
  const ofTenant = reach.externalId === undefined ? sql`false` : sql`k.external_id = ${reach.externalId}`;
  return sql`k.account_id = ${reach.accountId}
    and (${ofTenant} or k.inbox_id in (select i.id from inboxes i where ${isReached(reach)}))`;
}

export interface KeyPage {
  reach: Reach;
  inboxId: string | undefined;
  externalId: string | undefined;
  /** Only revoked keys, or only others. */
  isRevoked: boolean | undefined;
  limit: number;
  offset: number;
}

/** Lists keys, newest first. */
export function listApiKeys(db: Db, page: KeyPage): Promise<ApiKeyInfo[]> {
  return query(
    db,
    sql`select ${shownFields} from api_keys k where ${isOfPage(page)} order by k.id desc limit ${page.limit} offset ${page.offset}`,
  );
}

export async function countApiKeys(db: Db, page: KeyPage): Promise<number> {
  const [counted] = await query<{ total: number }>(
    db,
    sql`select count(*) as total from api_keys k where ${isOfPage(page)}`,
  );
  return counted?.total ?? 0;
}

/** Whether a key `k` is one that people hold, and not that of a grant. */
const isHeld = sql`k.granted_by is null`;

function isOfPage({ reach, inboxId, externalId, isRevoked }: KeyPage): SQL {
  const conditions = [isKeyReached(reach), isHeld];
  if (inboxId !== undefined) conditions.push(sql`k.inbox_id = ${inboxId}`);
  if (externalId !== undefined) conditions.push(sql`k.external_id = ${externalId}`);
  if (isRevoked !== undefined) conditions.push(sql`(k.revoked_at is not null) = ${isRevoked}::boolean`);
  return sql.join(conditions, sql` and `);
}

export async function findApiKey(db: Db, reach: Reach, id: string): Promise<ApiKeyInfo | undefined> {
  const [key] = await query<ApiKeyInfo>(
    db,
    sql`select ${shownFields} from api_keys k where k.id = ${id} and ${isHeld} and ${isKeyReached(reach)}`,
  );
  return key;
}

/**
 * Whether another key could still manage the account if this one ended: it may do everything, and does not end before it. The caller has
 * locked the account.
 */
export async function isOtherWholeKey(
  tx: Db,
  { id, accountId, expiresAt }: Pick<ApiKeyInfo, "id" | "accountId" | "expiresAt">,
): Promise<boolean> {
  const found = await query(
    tx,
    sql`select from api_keys k where k.account_id = ${accountId} and k.id <> ${id} and ${isWhole}
          and (k.expires_at is null or k.expires_at >= ${expiresAt}::timestamptz) limit 1`,
  );
  return found.length === 1;
}

export interface KeyChange {
  name?: string | null | undefined;
  allowedIps?: readonly string[] | undefined;
  expiresAt?: Date | null | undefined;
  sendPolicy?: SendPolicy | null | undefined;
}

/** Changes a key that is not revoked. */
export async function markKeyChanged(
  db: Db,
  reach: Reach,
  id: string,
  { name, allowedIps, expiresAt, sendPolicy }: KeyChange,
): Promise<ApiKeyInfo | undefined> {
  const changes = [
    ...(name === undefined ? [] : [sql`name = ${name}`]),
    ...(allowedIps === undefined ? [] : [sql`allowed_ips = ${arrayOf("text", allowedIps)}`]),
    ...(expiresAt === undefined ? [] : [sql`expires_at = ${expiresAt}`]),
    ...(sendPolicy === undefined ? [] : [sql`send_policy = ${sendPolicy}`]),
  ];
  const [changed] = await query<ApiKeyInfo>(
    db,
    sql`update api_keys k set ${changes.length === 0 ? sql`name = name` : sql.join(changes, sql`, `)}
        where k.id = ${id} and ${isHeld} and ${isKeyReached(reach)} and k.revoked_at is null returning ${shownFields}`,
  );
  return changed;
}

/** Revokes the keys of an inbox. Returns their ids. */
export async function markInboxKeysRevoked(tx: Db, inboxId: string, revokedAt: Date): Promise<string[]> {
  const revoked = await query<{ id: string }>(
    tx,
    sql`update api_keys set revoked_at = ${revokedAt} where inbox_id = ${inboxId} and revoked_at is null returning id`,
  );
  return revoked.map(({ id }) => id);
}

/** Revokes a key. Returns the id of its account; undefined if there is no such key, or if it was revoked before. */
export async function markKeyRevoked(db: Db, id: string, revokedAt: Date): Promise<string | undefined> {
  const [key] = await query<{ accountId: string }>(
    db,
    sql`update api_keys set revoked_at = ${revokedAt} where id = ${id} and revoked_at is null
        returning account_id as "accountId"`,
  );
  return key?.accountId;
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
