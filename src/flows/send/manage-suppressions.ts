import { type Db, transaction } from "../../database/db.ts";
import { type Caller, isWholeAccount, onlyForAccount, type Reach } from "../../domain/access/access.ts";
import type { Actor, ActorIn } from "../../domain/access/actor.ts";
import { cursorAtRow } from "../../domain/cursor.ts";
import { notFound, Refusal } from "../../domain/errors.ts";
import {
  endOfBounceSuppression,
  mostSuppressions,
  type SuppressionReason,
  suppressedForm,
} from "../../domain/send/suppressed.ts";
import { lockAccount } from "../../store/account/accounts.ts";
import { listOwnInboxIds } from "../../store/account/inboxes.ts";
import {
  countKnownSuppressions,
  countSuppressions,
  findSuppression,
  findSuppressionOf,
  insertSuppressions,
  listSuppressions,
  removeSuppression,
  type Suppression,
  type SuppressionPage,
} from "../../store/send/suppressions.ts";
import { audit } from "../audit.ts";
import type { Deps } from "../deps.ts";

/** A requested suppression. The address is written as in SMTP, with an ASCII domain. */
export interface AskedSuppression {
  address: string;
  /** The inbox that must not send to the address. Undefined for all inboxes of the account. */
  inboxId: string | undefined;
  reason: SuppressionReason;
  detail: string | undefined;
  /** The default is now. */
  createdAt: Date | undefined;
  /** Null: it has no end. Undefined: a bounce ends after `bounceSuppressionDays`, other reasons have no end. */
  expiresAt: Date | null | undefined;
}

export interface SuppressingDeps extends Deps {
  /** The days after which the suppression of a bounce ends; 0: it has no end. */
  bounceSuppressionDays: number;
}

/** Adds a suppression, or returns the existing one. */
export async function addSuppression(
  deps: SuppressingDeps,
  caller: Caller,
  actor: Actor,
  asked: AskedSuppression,
): Promise<{ suppression: Suppression; isNew: boolean }> {
  const at = deps.now();
  const row = rowOf(deps, caller, asked, at);
  const { isNew, suppression } = await transaction(deps.db.api, async (tx) => {
    const created = await insertWithinLimit(tx, caller.reach, [row], at);
    if (created.size === 1) {
      const entry = { accountId: row.accountId, actor, target: { type: "suppression", id: row.id } } as const;
      await audit(tx, deps, at, { ...entry, action: "suppression.added", details: { reason: row.reason } });
    }
    return { isNew: created.size === 1, suppression: (await findSuppressionOf(tx, row)) ?? row };
  });
  if (isNew) logAdded(deps, [suppression]);
  return { suppression, isNew };
}

/**
 * Adds all of these suppressions or none. If several have the same address and inbox, the first one is added. One whose end has passed is
 * left out.
 */
export async function addSuppressions(
  deps: SuppressingDeps,
  caller: Caller,
  actor: Actor,
  asked: readonly AskedSuppression[],
): Promise<{ created: number; existing: number }> {
  const at = deps.now();
  const rows = new Map<string, Suppression>();
  for (const one of asked) {
    const row = rowOf(deps, caller, one, at);
    const name = `${row.address} ${row.inboxId}`;
    if (!rows.has(name) && (row.expiresAt === null || row.expiresAt > at)) rows.set(name, row);
  }
  const each = [...rows.values()];
  const created = await transaction(deps.db.api, async (tx) => {
    const created = await insertWithinLimit(tx, caller.reach, each, at);
    const entry = { accountId: caller.id, actor, target: { type: "account", id: caller.id } } as const;
    // One entry for all of them, because there may be a thousand.
    if (created.size > 0)
      await audit(tx, deps, at, { ...entry, action: "suppression.added", details: { ids: [...created] } });
    return created;
  });
  logAdded(
    deps,
    each.filter(({ id }) => created.has(id)),
  );
  return { created: created.size, existing: each.length - created.size };
}

/**
 * Inserts these suppressions, or refuses if the account would have too many. It locks the account, so that concurrent requests are counted
 * one after the other. Returns the ids of the inserted ones.
 */
async function insertWithinLimit(tx: Db, reach: Reach, rows: readonly Suppression[], at: Date): Promise<Set<string>> {
  const { accountId } = reach;
  await lockAccount(tx, accountId);
  const inboxIds = [...new Set(rows.flatMap(({ inboxId }) => (inboxId === "" ? [] : [inboxId])))];
  const own = inboxIds.length === 0 ? new Set<string>() : await listOwnInboxIds(tx, reach, inboxIds);
  if (!inboxIds.every((id) => own.has(id))) throw notFound("inbox");
  const wanted = rows.length - (await countKnownSuppressions(tx, rows, at));
  if (wanted > 0 && (await countSuppressions(tx, accountId, at)) + wanted > mostSuppressions) throw limitReached();
  return insertSuppressions(tx, rows, at);
}

function limitReached(): Refusal {
  return new Refusal(
    "suppression_limit_reached",
    `Cannot add suppressions: the account would have more than its maximum of ${mostSuppressions}`,
    { extra: { limit: mostSuppressions } },
  );
}

function rowOf(deps: SuppressingDeps, { reach, kind }: Caller, asked: AskedSuppression, at: Date): Suppression {
  if (asked.inboxId === undefined && !isWholeAccount(reach)) throw onlyForAccount("add suppressions", kind);
  const { address, inboxId = "", reason, detail = null, createdAt = at } = asked;
  const id = deps.newId("sup", at);
  const usualEnd = reason === "bounce" ? endOfBounceSuppression(createdAt, deps.bounceSuppressionDays) : null;
  const expiresAt = asked.expiresAt === undefined ? usualEnd : asked.expiresAt;
  const made = { address: suppressedForm(address), inboxId, reason, detail, messageId: null, createdAt, expiresAt };
  return { id, accountId: reach.accountId, ...made };
}

export interface AskedSuppressions extends Omit<SuppressionPage, "at" | "before"> {
  before: string | undefined;
  /** The query that a cursor of this list belongs to. */
  question: unknown;
}

/** A page of the suppressions, newest first. */
export async function pageSuppressions(deps: Deps, { question, ...page }: AskedSuppressions) {
  const found = await listSuppressions(deps.db.api, { ...page, limit: page.limit + 1, at: deps.now() });
  const data = found.slice(0, page.limit);
  const last = found.length > page.limit ? data.at(-1) : undefined;
  return { data, nextCursor: last === undefined ? null : cursorAtRow({ number: "0", id: last.id }, question) };
}

export async function ownedSuppression(deps: Deps, reach: Reach, id: string): Promise<Suppression> {
  const found = await findSuppression(deps.db.api, { reach, id, at: deps.now() });
  if (found === undefined) throw notFound("suppression");
  return found;
}

/** Removes a suppression, even one after a complaint, because the account only risks its own reputation. Each removal is logged. */
export async function deleteSuppression(deps: Deps, { actor, ...reach }: ActorIn & Reach, id: string): Promise<void> {
  const { accountId } = reach;
  const at = deps.now();
  const removed = await transaction(deps.db.api, async (tx) => {
    const removed = await removeSuppression(tx, { reach, id, at });
    if (removed === undefined) throw notFound("suppression");
    const { reason } = removed;
    await audit(tx, deps, at, {
      action: "suppression.removed",
      accountId,
      actor,
      target: { type: "suppression", id },
      details: { reason },
    });
    return removed;
  });
  deps.log.info({ account_id: accountId, suppression_id: id, reason: removed.reason }, "suppression removed");
}

/** Logs the ids of new suppressions, but not their addresses, because addresses are personal data. */
function logAdded({ log }: Deps, added: readonly Suppression[]): void {
  for (const { id, accountId, reason } of added)
    log.info({ account_id: accountId, suppression_id: id, reason }, "suppression added");
}
