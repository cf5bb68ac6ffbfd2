import { type SQL, sql } from "drizzle-orm";
import { type Db, query } from "../../database/db.ts";
import type { Reach } from "../../domain/access/access.ts";
import type { GrantedAccess } from "../../domain/connect/authorization.ts";
import { type Selected, selected } from "../columns.ts";
import { insertRows } from "../rows.ts";
import { apiKeys, grants } from "../schema.ts";
import { isInForce, isKeyReached } from "./keys.ts";

export type NewGrant = typeof grants.$inferInsert;

export function insertGrant(tx: Db, grant: NewGrant): Promise<void> {
  return insertRows(tx, grants, [grant]);
}

const grantFields = selected(grants, "g", ["id", "accountId", "clientId", "clientName", "clientHost", "createdAt"]);
const keyFields = selected(apiKeys, "k", ["access", "inboxId", "externalId", "lastUsedAt"]);

/** A grant as its account sees it. */
export type Grant = Selected<typeof grantFields> & WithGrantedAccess<Selected<typeof keyFields>>;

/** A key of a grant has one of the accesses that people grant. */
type WithGrantedAccess<Fields> = Omit<Fields, "access"> & { access: GrantedAccess };

export interface GrantPage {
  reach: Reach;
  /** The page begins behind the grant with this id. */
  beforeId: string | undefined;
  limit: number;
  now: Date;
}

/** Lists the grants whose code was exchanged, newest first. */
export function listGrants(db: Db, { reach, beforeId, limit, now }: GrantPage): Promise<Grant[]> {
  const before = beforeId === undefined ? sql`` : sql`and g.id < ${beforeId}`;
  return query(
    db,
    sql`select ${grantFields}, ${keyFields} from grants g join api_keys k on k.id = g.key_id
        where g.account_id = ${reach.accountId} and g.turn > 0 and ${isKeyReached(reach)} and ${isInForce(now)} ${before}
        order by g.id desc limit ${limit}`,
  );
}

const turnFields = selected(grants, "g", [
  ...(["id", "accountId", "keyId", "clientId", "redirectUri", "challenge"] as const),
  ...(["turn", "turnedAt", "turnEndsAt"] as const),
]);
const rightFields = selected(apiKeys, "k", ["access", "inboxId", "externalId"]);

/** A grant with all that its codes and refresh tokens are judged by. */
export type GrantTurns = Selected<typeof turnFields> & WithGrantedAccess<Selected<typeof rightFields>>;

/** Finds a living grant within a reach. */
export async function findGrant(db: Db, reach: Reach, id: string, now: Date): Promise<GrantTurns | undefined> {
  const [grant] = await query<GrantTurns>(db, grantsWhere(isShown(reach, id, now)));
  return grant;
}

/** Locks a grant whose key has not ended, in an account that is open. */
export function lockGrant(tx: Db, id: string, now: Date): Promise<GrantTurns | undefined> {
  return lockedGrant(tx, sql`g.id = ${id} and ${isInForce(now)}`);
}

export function lockGrantOfKey(tx: Db, keyId: string): Promise<GrantTurns | undefined> {
  return lockedGrant(tx, sql`g.key_id = ${keyId}`);
}

export function lockGrantInReach(tx: Db, reach: Reach, id: string, now: Date): Promise<GrantTurns | undefined> {
  return lockedGrant(tx, isShown(reach, id, now));
}

function isShown(reach: Reach, id: string, now: Date): SQL {
  return sql`g.id = ${id} and g.turn > 0 and ${isKeyReached(reach)} and ${isInForce(now)}`;
}

function grantsWhere(where: SQL): SQL {
  return sql`select ${turnFields}, ${rightFields} from grants g join api_keys k on k.id = g.key_id
    join accounts a on a.id = g.account_id where a.deleted_at is null and ${where}`;
}

async function lockedGrant(tx: Db, where: SQL): Promise<GrantTurns | undefined> {
  const [grant] = await query<GrantTurns>(tx, sql`${grantsWhere(where)} for update of g`);
  return grant;
}

export async function markTurned(
  tx: Db,
  id: string,
  { turn, turnedAt, turnEndsAt }: Pick<GrantTurns, "turn" | "turnedAt" | "turnEndsAt">,
): Promise<void> {
  await query(
    tx,
    sql`update grants set turn = ${turn}, turned_at = ${turnedAt}, turn_ends_at = ${turnEndsAt} where id = ${id}`,
  );
}

/** Locks grants whose code or refresh token has ended, the oldest first. */
export function lockEndedGrants(
  tx: Db,
  now: Date,
  limit: number,
): Promise<Pick<GrantTurns, "id" | "keyId" | "accountId">[]> {
  return query(
    tx,
    sql`select id, key_id as "keyId", account_id as "accountId" from grants where turn_ends_at <= ${now}
        order by turn_ends_at limit ${limit} for update skip locked`,
  );
}

export async function removeGrant(tx: Db, id: string): Promise<void> {
  await query(tx, sql`delete from grants where id = ${id}`);
}
