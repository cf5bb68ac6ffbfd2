import { type SQL, sql } from "drizzle-orm";
import { type Db, query } from "../../database/db.ts";
import type { AuditAction, Audited } from "../../domain/access/audit.ts";
import { columnNames, fieldsOf, type Selected, selected } from "../columns.ts";
import { recordSet } from "../rows.ts";
import { auditEntries } from "../schema.ts";

/** An entry with its id and its instant. */
export interface NewAuditEntry extends Audited {
  id: string;
  at: Date;
}

const written = [
  "id",
  "at",
  "accountId",
  "action",
  "actorType",
  "actorId",
  "targetType",
  "targetId",
  "ip",
  "requestId",
  "details",
] as const;

/**
 * Writes entries in the transaction of what they tell of. The name of the actor's key is kept in the entry, because the key may get another
 * name.
 */
export async function insertAuditEntries(tx: Db, entries: readonly NewAuditEntry[]): Promise<void> {
  if (entries.length > 0) await query(tx, auditInsertion(entries));
}

/** The statement of `insertAuditEntries`, as a part of another one. `only` is a condition: without it all entries are written. */
export function auditInsertion(entries: readonly NewAuditEntry[], only: SQL = sql`true`): SQL {
  const rows = entries.map(({ actor, target, details = {}, ...entry }) => ({
    ...entry,
    actorType: actor.type,
    actorId: actor.id,
    targetType: target.type,
    targetId: target.id,
    ip: actor.ip,
    requestId: actor.requestId,
    details,
  }));
  return sql`insert into audit_entries (${columnNames(auditEntries, written)}, actor_name)
    select ${fieldsOf("row", written)}, coalesce((select name from api_keys where id = row."actorId"),
      (select name from operator_keys where id = row."actorId"))
    from ${recordSet(auditEntries, rows, written)} where ${only}`;
}

/**
 * Writes an entry, unless the same actor has one with the same action and target behind `afterId` in the account. Ids sort by time, so the
 * index of the account finds the latest ones.
 */
export async function insertAuditEntryOnce(tx: Db, entry: NewAuditEntry, afterId: string): Promise<void> {
  const { accountId, action, actor, target } = entry;
  const already = sql`select from audit_entries e where e.account_id = ${accountId} and e.id > ${afterId} and e.action = ${action}
    and e.actor_id = ${actor.id} and e.target_id = ${target.id}`;
  await query(tx, auditInsertion([entry], sql`not exists (${already})`));
}

const shownFields = selected(auditEntries, "e");

export type AuditEntry = Selected<typeof shownFields>;

export interface AuditPage {
  /** Undefined for the entries of all accounts and of the service. */
  accountId: string | undefined;
  action: AuditAction | undefined;
  /** The id of an actor, or its type. */
  actor: string | undefined;
  targetId: string | undefined;
  since: Date | undefined;
  /** Exclusive. */
  until: Date | undefined;
  /** The page begins behind the entry with this id. */
  beforeId: string | undefined;
  limit: number;
}

/** Lists entries, newest first. */
export function listAuditEntries(db: Db, page: AuditPage): Promise<AuditEntry[]> {
  const { accountId, action, actor, targetId, since, until, beforeId, limit } = page;
  const conditions = [
    accountId === undefined ? undefined : sql`e.account_id = ${accountId}`,
    action === undefined ? undefined : sql`e.action = ${action}`,
    actor === undefined ? undefined : sql`(e.actor_id = ${actor} or e.actor_type = ${actor})`,
    targetId === undefined ? undefined : sql`e.target_id = ${targetId}`,
    since === undefined ? undefined : sql`e.at >= ${since}`,
    until === undefined ? undefined : sql`e.at < ${until}`,
    beforeId === undefined ? undefined : sql`e.id < ${beforeId}`,
  ].filter((condition) => condition !== undefined);
  const where = conditions.length === 0 ? sql`` : sql`where ${sql.join(conditions, sql` and `)}`;
  return query(db, sql`select ${shownFields} from audit_entries e ${where} order by e.id desc limit ${limit}`);
}
