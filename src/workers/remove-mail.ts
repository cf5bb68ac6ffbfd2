import { setTimeout as sleep } from "node:timers/promises";
import { askedTooMuch, DatabaseUnavailable, type Db, transaction } from "../database/db.ts";
import { service } from "../domain/access/actor.ts";
import {
  countMail,
  type RemovalStep,
  removeOfThread,
  removeOldest,
  removeTrashed,
} from "../flows/account/remove-messages.ts";
import { audit } from "../flows/audit.ts";
import type { Deps } from "../flows/deps.ts";
import { lockCounting } from "../store/account/usage.ts";
import {
  deleteEmptyInbox,
  findInboxToEmpty,
  findInboxToErase,
  type InboxToErase,
  markInboxEmptied,
  pruneStep,
  removeEventsOfInbox,
  removeInboxRows,
} from "../store/upkeep/pruning.ts";
import { findRemovedThread, listInboxesToExpire, listInboxesWithTrash } from "../store/upkeep/removal.ts";

type RemovingDeps = Pick<Deps, "db" | "now" | "log">;
type ErasingDeps = RemovingDeps & Pick<Deps, "newId">;

export interface ExpiringDeps extends RemovingDeps {
  /** The days after which mail is removed; 0: never. */
  messageRetentionDays: number;
  /** Called with the number of messages that the retention has removed. */
  expired?: ((messages: number) => void) | undefined;
}

export interface TrashDeps extends ErasingDeps {
  /** The days after which a thread in the trash is removed; 0: never. */
  trashDays: number;
}

/**
 * The most messages of one step. A step that takes longer than `stepMs` makes the next one smaller, so that requests, which may wait for a
 * step, do not wait long.
 */
const mostMessages = 1_000;
const firstMessages = 250;
const leastMessages = 20;
const stepMs = 40;
/** The pause after each step, as a multiple of its duration. So a removal uses one connection for half of the time. */
const rests = 1;
const stepRows = 500;
/** How long one run may take. The rest waits for the next run, so that other rows are pruned in between. */
const runMs = 300_000;
/** How long after its deletion an inbox is emptied. By then, work that was under way in it has ended. */
const settleMs = 60_000;
/**
 * How long after its deletion the last rows of an inbox are removed: its events, which a reader of the log or a webhook may still be behind,
 * and its own row.
 */
const lastRowsMs = 23 * 3_600_000;
const inboxesAtOnce = 1_000;
const walkMs = 3_600_000;
const dayMs = 24 * walkMs;

type IsStopping = () => boolean;

/** A pace for steps: chooses their size, and rests after each. */
function pacing() {
  let limit = firstMessages;
  return async <Result>(step: (limit: number) => Promise<Result>): Promise<Result> => {
    const startedMs = performance.now();
    const result = await step(limit);
    const tookMs = Math.max(1, performance.now() - startedMs);
    const fitting = Math.round(limit * Math.min(2, stepMs / tookMs));
    limit = Math.min(mostMessages, Math.max(leastMessages, fitting));
    await sleep(tookMs * rests);
    return result;
  };
}

/**
 * Removes the oldest messages of an inbox step by step. Returns false if it has not come to the end, because another process works in the
 * inbox or the run is over.
 */
function emptyInbox(
  deps: RemovingDeps,
  { inboxId, daysOfService }: { inboxId: string; daysOfService: number },
  ...run: Run
): Promise<boolean> {
  return removeInSteps(deps, inboxId, (place) => removeOldest(deps, { inboxId, daysOfService, ...place }), ...run);
}

type Run = [pace: ReturnType<typeof pacing>, isOver: IsStopping, removed: (messages: number) => void];

interface Place {
  afterSeq: number;
  limit: number;
}

/** Removes mail of an inbox step by step. Returns false if it has not come to the end. */
async function removeInSteps(
  deps: RemovingDeps,
  inboxId: string,
  remove: (place: Place) => Promise<RemovalStep | undefined>,
  ...[pace, isOver, removed]: Run
): Promise<boolean> {
  // Removed mail stays in the usage, so it is counted first if it was not yet.
  await countMail(deps, inboxId);
  for (let afterSeq = 0; !isOver(); ) {
    const behind = afterSeq;
    const step = await pace((limit) => remove({ afterSeq: behind, limit }));
    if (step === undefined) return false;
    if (step.removed > 0) removed(step.removed);
    if (step.next === undefined) {
      // The account has fewer bytes at once.
      await countMail(deps, inboxId);
      return true;
    }
    afterSeq = step.next;
  }
  return false;
}

function runOf(isStopping: IsStopping): IsStopping {
  const startedMs = performance.now();
  return () => isStopping() || performance.now() - startedMs > runMs;
}

/**
 * Removes the mail of deleted inboxes and all their other rows, one inbox after the other. An inbox with mail that waits to be sent keeps
 * that mail, since it was accepted. Returns the number of removed rows.
 */
export async function eraseInboxes(deps: ErasingDeps, isStopping: IsStopping = () => false): Promise<number> {
  const isOver = runOf(isStopping);
  const now = deps.now();
  const { work } = deps.db;
  const pace = pacing();
  let count = 0;
  for (let after = ""; !isOver(); ) {
    const inbox = await findInboxToEmpty(work, new Date(now.getTime() - settleMs), after);
    if (inbox === undefined) break;
    after = inbox.id;
    await passingOver(deps, inbox.id, async () => {
      const isThrough = await emptyInbox(deps, { inboxId: inbox.id, daysOfService: 0 }, pace, isOver, (messages) => {
        count += messages;
      });
      if (!isThrough) return;
      const others = await inSteps(deps, isOver, (tx) => removeInboxRows(tx, inbox.id, stepRows));
      count += others.rows;
      if (!others.isThrough) return;
      const erasesAt = new Date(Math.max(now.getTime(), inbox.deletedAt.getTime() + lastRowsMs));
      await markInboxEmptied(work, inbox.id, erasesAt);
    });
  }
  for (let after: InboxToErase | undefined; !isOver(); ) {
    const inbox = await findInboxToErase(work, now, after);
    if (inbox === undefined) break;
    after = inbox;
    await passingOver(deps, inbox.id, async () => {
      count += (await inSteps(deps, isOver, (tx) => removeEventsOfInbox(tx, inbox.id, stepRows))).rows;
      if (await eraseInbox(deps, inbox.id)) count += 1;
    });
  }
  return count;
}

/** Removes the messages of removed threads. Messages that wait to be sent again stay until the next run. */
export async function emptyRemovedThreads(
  deps: RemovingDeps,
  removed: (messages: number) => void,
  isStopping: IsStopping = () => false,
): Promise<void> {
  const isOver = runOf(isStopping);
  const pace = pacing();
  for (let after = ""; !isOver(); ) {
    const thread = await findRemovedThread(deps.db.work, after);
    if (thread === undefined) return;
    const { threadId, inboxId } = thread;
    after = threadId;
    await passingOver(deps, inboxId, async () => {
      const remove = (place: { afterSeq: number; limit: number }) => removeOfThread(deps, { threadId, ...place });
      await removeInSteps(deps, inboxId, remove, pace, isOver, removed);
    });
  }
}

/** Logs the error of one inbox, so that the others have their turn: the next run tries again. Throws the error of an outage. */
async function passingOver({ log }: RemovingDeps, inboxId: string, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (err) {
    if (err instanceof DatabaseUnavailable && !askedTooMuch(err)) throw err;
    log.warn({ err, inbox_id: inboxId }, "mail of an inbox not removed: going on with the next");
  }
}

/** Deletes the row of an inbox as its last one, and writes down what was erased. Returns false if other rows of it are left. */
function eraseInbox(deps: ErasingDeps, id: string): Promise<boolean> {
  return transaction(deps.db.work, async (tx) => {
    // A count that has read the inbox would write its row again.
    await lockCounting(tx);
    const erased = await deleteEmptyInbox(tx, id);
    if (erased === undefined) return false;
    const { accountId, ...details } = erased;
    const target = { type: "inbox", id } as const;
    await audit(tx, deps, deps.now(), { action: "inbox.erased", accountId, actor: service, target, details });
    return true;
  });
}

/**
 * Runs a step until it finds nothing more to remove. Returns the number of removed rows. `isThrough` is false if it has not come to the end,
 * because another process prunes or the run is over.
 */
async function inSteps(
  { db }: Pick<Deps, "db">,
  isOver: IsStopping,
  step: (tx: Db) => Promise<number>,
): Promise<{ rows: number; isThrough: boolean }> {
  for (let removed = 0; ; ) {
    const rows = isOver() ? undefined : await pruneStep(db.work, step);
    if (rows === undefined || rows === 0) return { rows: removed, isThrough: rows === 0 };
    removed += rows;
  }
}

/**
 * Makes the function that removes mail whose retention is over. It looks at all inboxes once an hour, in pieces, and a run goes on where the
 * last one has stopped. Returns the number of removed messages.
 */
export function messageExpirer(deps: ExpiringDeps): (isStopping?: IsStopping) => Promise<number> {
  let after = "";
  let nextWalkAt = 0;

  return async (isStopping = () => false) => {
    const isOver = runOf(isStopping);
    const now = deps.now();
    const pace = pacing();
    let count = 0;
    if (after === "") {
      if (now.getTime() < nextWalkAt) return 0;
      nextWalkAt = now.getTime() + walkMs;
    }
    const daysOfService = deps.messageRetentionDays || null;
    while (!isOver()) {
      const piece = { after, daysOfService, now, limit: inboxesAtOnce };
      const { ids, last } = await pace(() => listInboxesToExpire(deps.db.work, piece));
      for (const id of ids) {
        if (isOver()) return count;
        const request = { inboxId: id, daysOfService: deps.messageRetentionDays };
        await passingOver(deps, id, async () => {
          await emptyInbox(deps, request, pace, isOver, (messages) => {
            count += messages;
            deps.expired?.(messages);
          });
        });
        after = id;
      }
      after = last ?? "";
      if (last === undefined) break;
    }
    return count;
  };
}

/**
 * Makes the function that removes threads that have been in the trash for too long: they are gone at once, and `emptyRemovedThreads` removes
 * their messages. It looks at the trash of all inboxes once an hour, and again at once if a run had no time for all.
 */
export function trashEmptier(deps: TrashDeps): (isStopping?: IsStopping) => Promise<void> {
  let nextWalkAt = 0;

  return async (isStopping = () => false) => {
    const isOver = runOf(isStopping);
    const now = deps.now();
    if (deps.trashDays === 0 || now.getTime() < nextWalkAt) return;
    const before = new Date(now.getTime() - deps.trashDays * dayMs);
    const pace = pacing();
    for (let after = ""; !isOver(); ) {
      const ids = await pace(() => listInboxesWithTrash(deps.db.work, before, after, inboxesAtOnce));
      for (const inboxId of ids) {
        if (isOver()) return;
        await passingOver(deps, inboxId, async () => {
          for (let afterSeq: number | undefined = 0; afterSeq !== undefined && !isOver(); ) {
            const behind: number = afterSeq;
            afterSeq = await pace((limit) => removeTrashed(deps, { inboxId, before, afterSeq: behind, limit }));
          }
        });
      }
      after = ids.at(-1) ?? "";
      if (ids.length < inboxesAtOnce) {
        nextWalkAt = now.getTime() + walkMs;
        break;
      }
    }
  };
}
