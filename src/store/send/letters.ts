import { sql } from "drizzle-orm";
import { arrayOf, type Db, query } from "../../database/db.ts";
import type { Draft } from "../../domain/send/draft.ts";
import { domainOf } from "../../domain/send/recipients/destinations.ts";
import { type Selected, selected } from "../columns.ts";
import { insertRows, recordSet } from "../rows.ts";
import { drafts, letters, outbox } from "../schema.ts";
import type { DraftToApprove } from "./drafts-to-approve.ts";

const letterFields = selected(letters, "l");

/** A letter to an approver. */
export type Letter = Selected<typeof letterFields>;

/** The account of the outbox rows of letters, which is none: a letter may be about drafts of several accounts. */
const accountOfLetters = "service";

/**
 * Locks drafts about whose version no letter is written yet. Those that another process has locked are left out, and those of
 * suspended accounts, about which letters are written when the account is open again.
 */
export function lockUnlettered(tx: Db, limit: number): Promise<Pick<DraftToApprove, "id" | "version" | "approvers">[]> {
  return query(
    tx,
    sql`select d.id, d.version, i.approvers
        from drafts d join inboxes i on i.id = d.inbox_id join accounts a on a.id = d.account_id
        where d.state = 'awaiting_approval' and d.lettered_version < d.version
          and i.deleted_at is null and a.deleted_at is null and a.suspended is null
        order by d.id limit ${limit} for update of d skip locked`,
  );
}

/** Notes that the letters about these versions are written. The caller has locked the drafts. */
export async function markLettered(tx: Db, written: readonly Pick<Draft, "id" | "version">[]): Promise<void> {
  await query(
    tx,
    sql`update drafts set lettered_version = row.version
        from ${recordSet(drafts, written, ["id", "version"])} where drafts.id = row.id`,
  );
}

/**
 * Adds drafts to the open letters of approvers, or writes new ones, which are due `pauseMs` after the last ones. Addresses are in order, so
 * that two processes cannot deadlock.
 */
export async function addToLetters(
  tx: Db,
  added: readonly Pick<Letter, "id" | "address" | "draftIds">[],
  { at, pauseMs }: { at: Date; pauseMs: number },
): Promise<void> {
  const sorted = added.toSorted((one, other) => (one.address.toLowerCase() < other.address.toLowerCase() ? -1 : 1));
  const rows = sorted.map((letter) => ({ ...letter, createdAt: at }));
  const fields = ["id", "address", "draftIds", "createdAt"];
  const made = await query<Pick<Letter, "id" | "address">>(
    tx,
    sql`insert into letters (id, address, draft_ids, created_at)
        select id, address, "draftIds", "createdAt" from ${recordSet(letters, rows, fields)}
        on conflict (lower(address collate "C")) where taken_at is null do update set draft_ids = letters.draft_ids || excluded.draft_ids
        returning id, address`,
  );
  // An open letter keeps its id.
  const newIds = new Set(added.map(({ id }) => id));
  const fresh = made.filter(({ id }) => newIds.has(id));
  const lastOf = await lastTaken(tx, fresh);
  const items = fresh.map(({ id, address }) => {
    const lastAt = lastOf.get(address.toLowerCase());
    const dueAt = lastAt === undefined ? at : new Date(Math.max(at.getTime(), lastAt.getTime() + pauseMs));
    return {
      subjectId: id,
      kind: "relay" as const,
      accountId: accountOfLetters,
      inboxId: id,
      lane: domainOf(address).toLowerCase(),
      state: dueAt > at ? ("waiting" as const) : ("ready" as const),
      dueAt,
      createdAt: at,
    };
  });
  await insertRows(tx, outbox, items);
}

/**
 * The times at which the last letters to the approvers of these new ones were taken. It is a statement of its own, because the one that adds
 * a letter may have waited until another process had taken the letter before it.
 */
async function lastTaken(tx: Db, fresh: readonly Pick<Letter, "address">[]): Promise<Map<string, Date>> {
  if (fresh.length === 0) return new Map();
  const keys = fresh.map(({ address }) => address.toLowerCase());
  const last = await query<{ key: string; takenAt: Date }>(
    tx,
    sql`select lower(address collate "C") as key, max(taken_at) as "takenAt" from letters
        where lower(address collate "C") = any(${arrayOf("text", keys)}) and taken_at is not null group by 1`,
  );
  return new Map(last.map(({ key, takenAt }) => [key, takenAt]));
}

/** Locks letters, in the order of `addToLetters`, and lists them. */
export function lockLetters(tx: Db, ids: readonly string[]): Promise<Letter[]> {
  return query(
    tx,
    sql`select ${letterFields} from letters l where l.id = any(${arrayOf("text", ids)})
        order by lower(l.address collate "C"), l.id for update`,
  );
}

/** Closes letters, to which no draft is added any more. The caller has locked them. */
export async function markLettersTaken(
  tx: Db,
  taken: readonly Pick<Letter, "id" | "draftIds">[],
  at: Date,
): Promise<void> {
  await query(
    tx,
    sql`update letters set taken_at = ${at}, draft_ids = row."draftIds"
        from ${recordSet(letters, taken, ["id", "draftIds"])} where letters.id = row.id`,
  );
}

/** Removes letters that were taken before an instant, and are not in the outbox any more. Returns how many. */
export async function removeLettersBefore(tx: Db, before: Date, limit: number): Promise<number> {
  const removed = await query(
    tx,
    sql`delete from letters where id = any(array(
          select l.id from letters l where l.taken_at < ${before} and not exists (select from outbox where subject_id = l.id)
          order by l.taken_at limit ${limit})) returning 1`,
  );
  return removed.length;
}
