import { type SQL, sql } from "drizzle-orm";
import { arrayOf, type Db, jsonb, query, transaction } from "../../database/db.ts";
import type { Reach, SentReach } from "../../domain/access/access.ts";
import type { Limits, Plan } from "../../domain/limits.ts";
import type { Metadata } from "../../domain/metadata.ts";
import type { SendPolicy } from "../../domain/policy.ts";
import type { AcceptedSends } from "../../domain/send/accepted-sends.ts";
import type { Rejection } from "../../domain/send/approval.ts";
import { type Draft, type DraftFact, type DraftState, openStates, waitingStates } from "../../domain/send/draft.ts";
import { columnNames, fieldsOf, replaced, selected } from "../columns.ts";
import { lockNumber } from "../locks.ts";
import { sharesReleased } from "../mail/shares.ts";
import { isReached } from "../reach.ts";
import { recordSet } from "../rows.ts";
import { drafts } from "../schema.ts";

/*
 * The statements about drafts. Every change of a draft raises the revision of its inbox in the same transaction. So a dispatch, which is
 * written only if the revision is as it was read, and a cancellation, which locks the inbox, never both succeed.
 */

export const draftFields = [
  "id",
  "accountId",
  "inboxId",
  "threadId",
  "answeredId",
  "rfcMessageId",
  "state",
  "version",
  "content",
  "sendAt",
  "dueAt",
  "acceptedAt",
  "acceptedInboundSeq",
  "madeRead",
  "requestedBy",
  "approval",
  "fingerprint",
  "failure",
  "createdAt",
  "updatedAt",
] as const satisfies readonly (keyof Draft)[];

const shownFields = selected(drafts, "d", draftFields);
/** Whether a draft `d` is open. */
export const isOpenDraft = isIn(openStates);

/** Whether a draft `d` is in one of these states. */
function isIn(states: readonly DraftState[]): SQL {
  return sql.raw(`d.state in (${states.map((state) => `'${state}'`).join(", ")})`);
}

/** Parts of the statement that writes sends (sending.ts), for those that are drafts. Empty without any, so that the statement stays short. */
export function draftsWriting({ drafts: kept, dispatched }: Pick<AcceptedSends, "drafts" | "dispatched">): SQL {
  const written =
    kept.length === 0
      ? sql``
      : sql`draft as (insert into drafts (${columnNames(drafts, draftFields)}) select ${fieldsOf("row", draftFields)}
            from ${recordSet(drafts, kept, draftFields)} where row."inboxId" in (select id from sender)
            on conflict (id) do update set ${replaced(drafts, draftFields)}, leased_until = null),`;
  const taken =
    dispatched.length === 0
      ? sql``
      : sql`taken as (update drafts set state = 'sent', due_at = null, leased_until = null, updated_at = row."updatedAt"
            from ${recordSet(drafts, dispatched, ["id", "inboxId", "updatedAt"])}
            where drafts.id = row.id and row."inboxId" in (select id from sender)),`;
  return sql`${written} ${taken}`;
}

/** Lists the present states of drafts. */
export async function listDraftFacts(db: Db, ids: readonly string[]): Promise<DraftFact[]> {
  if (ids.length === 0) return [];
  return query<DraftFact>(
    db,
    sql`select d.id, d.state, d.version, d.approval, m.status as "messageStatus" from drafts d
        left join messages m on m.id = d.id where d.id = any(${arrayOf("text", ids)})`,
  );
}

export async function listDrafts(db: Db, ids: readonly string[]): Promise<Draft[]> {
  if (ids.length === 0) return [];
  return query<Draft>(db, sql`select ${shownFields} from drafts d where d.id = any(${arrayOf("text", ids)})`);
}

/** Counts the open drafts of these inboxes. */
export async function countOpenDrafts(db: Db, inboxIds: readonly string[]): Promise<Map<string, number>> {
  if (inboxIds.length === 0) return new Map();
  const counts = await query<{ inboxId: string; count: number }>(
    db,
    sql`select d.inbox_id as "inboxId", count(*) as count from drafts d
        where d.inbox_id = any(${arrayOf("text", inboxIds)}) and ${isOpenDraft} group by d.inbox_id`,
  );
  return new Map(counts.map(({ inboxId, count }) => [inboxId, count]));
}

export function countOpenDraftsByState(db: Db): Promise<{ state: DraftState; count: number }[]> {
  return query(db, sql`select d.state, count(*) as count from drafts d where ${isOpenDraft} group by d.state`);
}

/** Lists the drafts in these threads whose sending was accepted, and that are not sent yet. */
export async function listWaitingIn(db: Db, threadIds: readonly string[]): Promise<Pick<Draft, "id" | "threadId">[]> {
  if (threadIds.length === 0) return [];
  return query(
    db,
    sql`select d.id, d.thread_id as "threadId" from drafts d
        where d.thread_id = any(${arrayOf("text", threadIds)}) and ${isIn(waitingStates)} order by d.id`,
  );
}

/** Lists the drafts in these threads that have no message. */
export function listUnsentIn(db: Db, threadIds: readonly string[]): Promise<Draft[]> {
  return query<Draft>(
    db,
    sql`select ${shownFields} from drafts d where d.thread_id = any(${arrayOf("text", threadIds)}) and d.state <> 'sent' order by d.id`,
  );
}

/** Finds a draft within the reach, and among those that the caller may cancel. */
export async function findDraft(db: Db, { sentBy, ...reach }: SentReach, id: string): Promise<Draft | undefined> {
  const [draft] = await query<Draft>(
    db,
    sql`select ${shownFields} from drafts d join inboxes i on i.id = d.inbox_id
        where d.id = ${id} and ${isReached(reach)} ${sentBy === undefined ? sql`` : sql`and d.requested_by = ${sentBy}`}`,
  );
  return draft;
}

export interface DraftPage {
  reach: Reach;
  states: readonly DraftState[];
  inboxId: string | undefined;
  threadId: string | undefined;
  /** Only drafts with a lower id. */
  before: string | undefined;
  limit: number;
}

/** Lists drafts within a reach, newest first. */
export function listDraftsOfPage(
  db: Db,
  { reach, states, inboxId, threadId, before, limit }: DraftPage,
): Promise<(Draft & { username: string })[]> {
  const conditions = [
    sql`d.account_id = ${reach.accountId}`,
    isReached(reach),
    sql`d.state = any(${arrayOf("text", states)})`,
  ];
  if (inboxId !== undefined) conditions.push(sql`d.inbox_id = ${inboxId}`);
  if (threadId !== undefined) conditions.push(sql`d.thread_id = ${threadId}`);
  if (before !== undefined) conditions.push(sql`d.id < ${before}`);
  return query(
    db,
    sql`select ${shownFields}, i.username from drafts d join inboxes i on i.id = d.inbox_id
        where ${sql.join(conditions, sql` and `)} order by d.id desc limit ${limit}`,
  );
}

/** Finds a draft with the username of its inbox, if that is within the reach. */
export async function findDraftOfInbox(
  db: Db,
  reach: Reach,
  id: string,
): Promise<(Draft & { username: string }) | undefined> {
  const [draft] = await query<Draft & { username: string }>(
    db,
    sql`select ${shownFields}, i.username from drafts d join inboxes i on i.id = d.inbox_id
        where d.id = ${id} and ${isReached(reach)}`,
  );
  return draft;
}

/** Lists drafts for the events about them, with the usernames of their inboxes and the metadata of their threads. */
export async function listDraftsOfEvents(
  db: Db,
  ids: readonly string[],
): Promise<(Draft & { username: string; threadMetadata: Metadata | null })[]> {
  if (ids.length === 0) return [];
  return query(
    db,
    sql`select ${shownFields}, i.username, (select metadata from threads where id = d.thread_id) as "threadMetadata"
        from drafts d join inboxes i on i.id = d.inbox_id where d.id = any(${arrayOf("text", ids)})`,
  );
}

/** Removes the rows of the attachments of drafts, which get others. Returns the sources, once for each share, to release afterwards. */
export async function removeFilesOfDrafts(tx: Db, ids: readonly string[]): Promise<string[]> {
  if (ids.length === 0) return [];
  const shares = await query<{ sourceId: string }>(
    tx,
    sql`with attached as (delete from attachments where message_id = any(${arrayOf("text", ids)}) returning source_id, message_id)
        select distinct source_id as "sourceId", message_id from attached`,
  );
  return shares.map(({ sourceId }) => sourceId);
}

/** Removes drafts, with the attachments of those that have no message. Returns how many. */
export async function removeDrafts(tx: Db, ids: readonly string[]): Promise<number> {
  if (ids.length === 0) return 0;
  const gone = await query(
    tx,
    sql`with gone as (delete from drafts where id = any(${arrayOf("text", ids)}) returning id, state),
        attached as (delete from attachments
          where message_id = any(array(select id from gone where state <> 'sent')) returning source_id, message_id),
        ${releasedShares}
        select id from gone`,
  );
  return gone.length;
}

const releasedShares = sharesReleased(
  sql`select source_id, count(distinct message_id) as holders from attached group by source_id`,
);

/** Lists up to `limit` drafts of an inbox. */
export async function listDraftIdsOf(tx: Db, inboxId: string, limit: number): Promise<string[]> {
  const rows = await query<{ id: string }>(tx, sql`select id from drafts where inbox_id = ${inboxId} limit ${limit}`);
  return rows.map(({ id }) => id);
}

/** Removes drafts that nobody has sent or changed since `before`. Returns how many. */
export async function removeForgottenDrafts(tx: Db, before: Date, limit: number): Promise<number> {
  const rows = await query<{ id: string; inboxId: string }>(
    tx,
    sql`select id, inbox_id as "inboxId" from drafts where content is not null and updated_at < ${before} and state = 'draft'
        order by updated_at limit ${limit} for update`,
  );
  await query(
    tx,
    sql`update inboxes set revision = revision + 1 where id = any(${arrayOf("text", [...new Set(rows.map(({ inboxId }) => inboxId))].sort())})`,
  );
  return removeDrafts(
    tx,
    rows.map(({ id }) => id),
  );
}

/** Removes the content of drafts that became final before an instant. What became of them stays. Returns how many. */
export function removeContentOfFinalDrafts(tx: Db, before: Date, limit: number): Promise<number> {
  return removeContent(
    tx,
    sql`select id, state from drafts d where content is not null and updated_at < ${before} and not (${isOpenDraft})
        order by updated_at limit ${limit} for update`,
  );
}

export function removeContentOfDrafts(tx: Db, ids: readonly string[]): Promise<number> {
  return removeContent(tx, sql`select id, state from drafts where id = any(${arrayOf("text", ids)})`);
}

/** Removes the content of the drafts that `chosen` selects, and the attachments of those that have no message. Returns how many. */
async function removeContent(tx: Db, chosen: SQL): Promise<number> {
  const emptied = await query(
    tx,
    sql`with old as materialized (${chosen}),
        emptied as (
          update drafts d set content = null,
            approval = case when jsonb_typeof(d.approval) = 'object' then d.approval || '{"newRecipients": []}' end
          from old where d.id = old.id returning d.id
        ),
        attached as (delete from attachments
          where message_id = any(array(select id from old where state <> 'sent')) returning source_id, message_id),
        ${releasedShares}
        select id from emptied`,
  );
  return emptied.length;
}

/** A due draft, with what its requester may do now. */
export interface DueDraft extends Draft {
  plan: Plan;
  limits: Partial<Limits>;
  /** Whether its account is suspended. Such drafts are found only once their time has passed by `longestDelayMs`. */
  isSuspended: boolean;
  /** The policies of the key that asked for it, and of the granter of that key. */
  sendPolicies: SendPolicy[];
  /** The inbox and the tenant that the key reaches. */
  onlyInboxId: string | null;
  onlyExternalId: string | null;
}

export interface Claim {
  now: Date;
  leaseMs: number;
  limit: number;
  /** Scheduled drafts of suspended accounts with a time before this are claimed too. */
  overdueBefore: Date;
}

/**
 * Claims due drafts, in the order of their times: scheduled ones, and those that expire while they wait for a person. It claims none of an
 * inbox that another process is dispatching: two processes would mix up the order of its mails. A lock makes claims of several processes
 * run one after the other, because each must see the leases of the others. If it is taken, nothing is claimed.
 */
export function claimDueDrafts(db: Db, { now, leaseMs, limit, overdueBefore }: Claim): Promise<DueDraft[]> {
  const leasedUntil = new Date(now.getTime() + leaseMs);
  return transaction(db, async (tx) => {
    const [lock] = await query<{ ours: boolean }>(
      tx,
      sql`select pg_try_advisory_xact_lock(${lockNumber("dispatching")}) as ours`,
    );
    if (!lock?.ours) return [];
    const claimed = await query<DueDraft>(
      tx,
      sql`with due as materialized (
            select d.id, a.plan, a.limits, a.suspended is not null as is_suspended from drafts d join accounts a on a.id = d.account_id
            where d.due_at <= ${now} and a.deleted_at is null
              and (a.suspended is null or (a.suspended <> 'moving' and (d.send_at < ${overdueBefore} or d.state = 'awaiting_approval')))
              and not exists (select from drafts other where other.inbox_id = d.inbox_id and other.leased_until > ${now})
            order by d.due_at, d.send_at, d.id limit ${limit}
          ),
          claimed as (
            update drafts d set leased_until = ${leasedUntil} from due
            where d.id = due.id and d.due_at <= ${now}
            returning ${shownFields}, due.plan, due.limits, due.is_suspended as "isSuspended"
          )
          select claimed.*, array_remove(array[k.send_policy, granter.send_policy], null) as "sendPolicies",
            k.inbox_id as "onlyInboxId", k.external_id as "onlyExternalId"
          from claimed left join api_keys k on k.id = claimed."requestedBy" left join api_keys granter on granter.id = k.granted_by
          order by claimed.state = 'scheduled', claimed."sendAt", claimed.id`,
    );
    return claimed;
  });
}

/** Finds the time at which the next draft is due. */
export async function findNextDueDraft(db: Db): Promise<Date | undefined> {
  const [next] = await query<{ dueAt: Date | null }>(
    db,
    sql`select min(due_at) as "dueAt" from drafts where due_at is not null`,
  );
  return next?.dueAt ?? undefined;
}

/** The time for which the oldest due draft waits, by the clock of the server; 0 if there is none. Drafts of suspended accounts may wait. */
export async function findDispatchLagSeconds(db: Db): Promise<number> {
  const [lag] = await query<{ seconds: number }>(
    db,
    sql`select coalesce(extract(epoch from clock_timestamp() - min(d.due_at)), 0)::float8 as seconds
        from drafts d join accounts a on a.id = d.account_id
        where d.state = 'scheduled' and d.due_at < clock_timestamp() and a.suspended is null and a.deleted_at is null`,
  );
  return lag?.seconds ?? 0;
}

/** Delays drafts that are claimed until `dueAt`, and ends their leases. A draft with another version has been changed, and stays. */
export async function postponeDrafts(
  db: Db,
  postponed: readonly { id: string; version: number; dueAt: Date }[],
): Promise<void> {
  if (postponed.length === 0) return;
  await query(
    db,
    sql`update drafts set due_at = case when drafts.version = row.version then row."dueAt" else drafts.due_at end, leased_until = null
        from ${recordSet(drafts, postponed, ["id", "version", "dueAt"])} where drafts.id = row.id and drafts.state = 'scheduled'`,
  );
}

/** Finds a draft again, behind the lock on its inbox. */
export async function findLockedDraft(tx: Db, id: string): Promise<Draft | undefined> {
  const [draft] = await listDrafts(tx, [id]);
  return draft;
}

/** Writes the new state of a draft. The caller has locked its inbox, and raises its revision. */
export async function markDraft(
  tx: Db,
  { id, state, approval, failure, sendAt, dueAt, updatedAt }: Omit<Draft, "content">,
): Promise<void> {
  await query(
    tx,
    sql`update drafts set state = ${state}, approval = ${jsonb(approval)}, failure = ${jsonb(failure)}, send_at = ${sendAt},
          due_at = ${dueAt}, leased_until = null, updated_at = ${updatedAt} where id = ${id}`,
  );
}

/** Notes that a mail of an inbox was rejected, for `Sender.rejectedAt`. The caller has locked the inbox. */
export async function markRejectedIn(tx: Db, inboxId: string, at: Date): Promise<void> {
  await query(tx, sql`update inboxes set rejected_at = ${at}, revision = revision + 1 where id = ${inboxId}`);
}

/** Lists the mails of these inboxes that a person has rejected since an instant. */
export async function listRejections(db: Db, inboxIds: readonly string[], since: Date): Promise<Rejection[]> {
  if (inboxIds.length === 0) return [];
  return query<Rejection>(
    db,
    sql`select d.inbox_id as "inboxId", d.id as "draftId", d.fingerprint, d.requested_by as "requestedBy", d.approval->>'reason' as reason
        from drafts d where d.inbox_id = any(${arrayOf("text", inboxIds)}) and d.state = 'rejected' and d.updated_at > ${since}`,
  );
}
