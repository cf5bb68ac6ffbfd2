import { sql } from "drizzle-orm";
import { arrayOf, type Db, query } from "../../database/db.ts";
import { insertRows, recordSet } from "../rows.ts";
import { outbox } from "../schema.ts";
import { claimStatement } from "./claim-statement.ts";
import { type Claim, type Claimed, type ClaimedItem, type ClaimedRow, claimedFields, claimedOf } from "./claims.ts";
import type { NewOutboxItem, OutboxItem, OutboxKind } from "./items.ts";
import type { Kind } from "./kinds.ts";

export function insertOutboxItems(tx: Db, items: readonly NewOutboxItem[]): Promise<void> {
  return insertRows(tx, outbox, items);
}

/** Claims rows that are ready (claim-statement.ts). */
export async function claimReady(db: Db, claim: Claim): Promise<Claimed<ClaimedItem>> {
  const rows = await query<ClaimedItem & ClaimedRow>(
    db,
    claimStatement(claim, sql`select ${claimedFields} from claimed`),
  );
  return claimedOf(rows);
}

export interface Promotion {
  kind: Kind;
  now: Date;
  /** The rows that this process still works on. They are skipped, because its clock may have jumped past their leases. */
  inHand: readonly string[];
  leaseMs: number;
  limit: number;
  /** Given if no other process is alive: the number of this process. Then the claims of all other numbers are due at once. */
  onlyClaimer?: number | undefined;
}

/**
 * Makes rows ready that are due: retries, and claims of a process that died. An attempt without a known result is recorded, since it may
 * have been carried out: a delivery in the log of deliveries, so that the log has no gap, and any other in its row. Returns how many rows
 * there were.
 */
export async function markDueReady(db: Db, promotion: Promotion): Promise<number> {
  const { kind, now, inHand, leaseMs, limit, onlyClaimer } = promotion;
  const isOrphan = onlyClaimer === undefined ? sql`` : sql`or state = 'running' and claimed_by <> ${onlyClaimer}`;
  const [row] = await query<{ count: number }>(
    db,
    sql`with due as materialized (
          select subject_id, event_id, lane, attempt, state, due_at from outbox
          where kind = ${kind.name} and state <> 'ready' and (due_at <= ${now} ${isOrphan})
          and not exists (select from json_array_elements_text(${JSON.stringify(inHand)}::json) held where held = subject_id)
          order by due_at limit ${limit} for update skip locked
        ),
        lost as (
          insert into deliveries (event_id, lane, attempt, attempted_at, error)
          select event_id, lane, attempt, due_at - ${leaseMs} * interval '1 ms', ${lostAttempt}
          from due where state = 'running' and ${kind.isLogged}::boolean on conflict do nothing
        ),
        readied as (
          update outbox set state = 'ready', unsure = unsure or state = 'running',
            last_error = case when state = 'running' and not ${kind.isLogged}::boolean then ${lostAttempt}::text else last_error end
          where subject_id = any(array(select subject_id from due)) returning 1
        )
        select count(*) from readied`,
  );
  return row?.count ?? 0;
}

/** Identifies a claim: its row and attempt number. A later claim of the same row has a higher number. */
export type ClaimKey = Pick<ClaimedItem, "subjectId" | "attempt">;

/** Releases claims that were not started: their rows are ready again, at their old position, and the attempt is not counted. */
export async function releaseItems(db: Db, claims: readonly ClaimKey[]): Promise<void> {
  if (claims.length === 0) return;
  await query(
    db,
    sql`update outbox set state = 'ready', attempt = outbox.attempt - 1
        from ${recordSet(outbox, claims.map(keyOf), claimKey)}
        where outbox.subject_id = row."subjectId" and outbox.attempt = row.attempt and outbox.state = 'running'`,
  );
}

/** Renews the leases of claimed rows that this process still works on, unless another process has claimed them since. */
export async function renewLeases(db: Db, claims: readonly ClaimKey[], leasedUntil: Date): Promise<void> {
  if (claims.length === 0) return;
  await query(
    db,
    sql`update outbox set due_at = ${leasedUntil} from ${recordSet(outbox, claims.map(keyOf), claimKey)}
        where outbox.subject_id = row."subjectId" and outbox.attempt = row.attempt and outbox.state = 'running'`,
  );
}

/** Makes at most `limit` waiting rows of lanes ready, the oldest first, because the servers of the lanes answer again. Returns how many. */
export async function markLanesReady(
  db: Db,
  kind: OutboxKind,
  lanes: readonly string[],
  limit: number,
): Promise<number> {
  const [row] = await query<{ count: number }>(
    db,
    sql`with waiting as materialized (
          select o.subject_id from unnest(${arrayOf("text", lanes)}) as answering (lane)
          cross join lateral (
            select subject_id, created_at from outbox
            where kind = ${kind} and outbox.lane = answering.lane and state = 'waiting' order by created_at limit ${limit}
          ) o order by o.created_at limit ${limit}
        ),
        readied as (
          update outbox set state = 'ready'
          where subject_id = any(array(select subject_id from waiting)) and state || '' = 'waiting' returning 1
        )
        select count(*) from readied`,
  );
  return row?.count ?? 0;
}

/** Whether an attempt to send mail of an account, or to deliver one of its events, is under way in any process. */
export async function hasAttempts(db: Db, accountId: string): Promise<boolean> {
  const rows = await query(
    db,
    sql`select from outbox where state = 'running' and account_id = ${accountId} and kind <> 'parse' limit 1`,
  );
  return rows.length > 0;
}

/** Finds the earliest `dueAt` of the running and waiting rows of a kind. */
export async function findNextDueAt(db: Db, kind: OutboxKind): Promise<Date | undefined> {
  const [row] = await query<{ dueAt: Date }>(
    db,
    sql`select due_at as "dueAt" from outbox where kind = ${kind} and state <> 'ready' order by due_at limit 1`,
  );
  return row?.dueAt;
}

export type OutboxDepth = Pick<OutboxItem, "kind" | "state"> & { count: number; oldestAt: Date };

/** Counts the rows of the outbox by kind and state. Kinds and states without rows are left out. */
export function listOutboxDepths(db: Db): Promise<OutboxDepth[]> {
  return query<OutboxDepth>(
    db,
    sql`select kind, state, count(*) as count, min(created_at) as "oldestAt" from outbox group by kind, state`,
  );
}

const claimKey = ["subjectId", "attempt"];
const lostAttempt = "no outcome was recorded: the process ended during the attempt";

function keyOf({ subjectId, attempt }: ClaimKey): ClaimKey {
  return { subjectId, attempt };
}
