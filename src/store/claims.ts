import { type SQL, sql } from "drizzle-orm";
import type { OutboxItem } from "./outbox.ts";

/** What a process asks of the line: it takes no more than it can start at once. */
export interface Claim {
  kind: OutboxItem["kind"];
  /** Who asks: a number that no other process has. */
  claimer: number;
  /** Rows in all. */
  limit: number;
  /** Until when the rows are this process's. */
  leasedUntil: Date;
  /** Lanes of which it knows how many rows may start now (0: none). */
  lanes: readonly KnownLane[];
  /** Whether a lane that it doesn't know gets a row. */
  strangers: boolean;
  /** Whether the newest rows get their share. */
  newest: boolean;
  /** Also walks along the lanes that it does not know, behind this one; undefined: it doesn't. */
  sweepAfter: string | undefined;
  /** Counts up. Where there is room for one row, the newest and the next in turn take turns; so do lanes, where not all get one. */
  turn: number;
}

export interface KnownLane {
  lane: string;
  room: number;
  /** The inbox that had its turn last; `""` for none. */
  lastInboxId: string;
}

/** A row is in a claim's answer even if nothing was claimed: it tells how far the sweep has come. */
export interface ClaimedRow {
  /** Where the next sweep begins; null when this one has reached the end. */
  sweptTo: string | null;
  contended: boolean;
  behindAnother: boolean;
  subjectId: string | null;
}

export interface ClaimedItem {
  subjectId: string;
  accountId: string;
  inboxId: string;
  lane: string;
  attempt: number;
  forgivenAttempts: number;
  createdAt: Date;
  /** Taken because its inbox had its turn, not because it is among the newest. */
  inTurn: boolean;
  /** Its inbox has more mail for that place, which waits until this one is settled. */
  hasMore: boolean;
}

export interface Claimed<Item extends ClaimedItem> {
  items: Item[];
  sweptTo: string | undefined;
  /** Another process was claiming from a lane at the same time: ask again soon. */
  contended: boolean;
  /** New rows wait since another process is just starting earlier ones of their inbox. It will most likely take these too. */
  behindAnother: boolean;
}

/** Lanes that one claim walks along, and newest rows that it looks at: those that are in line are few or all. */
const sweepLanes = 64;
const newestRows = 256;
/** How many inboxes that can't have their turn one claim passes by, beside those that can. */
const mostPassedBy = 256;
/** How long a claim may take to become a request on the wire, before others need not wait for it any longer. */
const startsWithinMs = 2000;

/**
 * `with … claimed as (…)`: takes rows that are ready, counts their attempt and leases them. What is asked for is looked up by
 * index, never counted off, so the cost is that of the rows taken, however many wait:
 *
 * - Lanes come from the caller (`known`), from the newest rows, and from a walk along the index that jumps from lane to lane.
 * - In a lane the inboxes take turns, so that one with thousands of rows leaves room for the others, and half of the
 *   room goes to the inboxes of the newest rows: after a long outage new mail doesn't wait for all of the old.
 * - Of an inbox the oldest rows are taken, so its rows start in the order of arrival. While a process is about to start
 *   some, no other takes later ones: it would be a race on the way to the receiver. What is slow to be answered, or whose
 *   process has died, holds nothing back for longer than `startsWithinMs`.
 * - Of two processes one at a time claims from a lane. A row that the other took a moment ago, which is not to be seen in
 *   this statement's snapshot, is passed over (skip locked), and so are the later ones of its inbox.
 *
 * Rows are chosen first and locked then, in a CTE: the planner may otherwise run a LIMITed subquery anew and take more than it chose.
 */
export function claimStatement(claim: Claim, claimedRows: SQL): SQL {
  const ready = sql`o.kind = ${claim.kind} and o.state = 'ready'`;
  const blocked = claim.kind === "relay" ? runningMail : sql`${startingElsewhere} and r.claimed_by <> ${claim.claimer}`;
  const more =
    claim.kind === "relay"
      ? sql`exists (select from outbox o where ${ready} and o.lane = outbox.lane and o.inbox_id = outbox.inbox_id
          and o.subject_id <> outbox.subject_id)`
      : sql`false`;
  const strangers = sql`${claim.strangers ? 1 : 0}::int`;
  return sql`with recursive
    known as materialized (
      select row.lane, row.room, row."lastInboxId" as last_inbox
      from json_to_recordset(${JSON.stringify(claim.lanes)}::json) as row (lane text, room int, "lastInboxId" text)
    ),
    swept (lane, step) as (${claim.sweepAfter === undefined ? noLanes : sweep(ready, claim.sweepAfter)}),
    newest as materialized (${claim.newest ? newestInboxes(claim.kind) : noInboxes}),
    candidates as materialized (
      select lane, room, last_inbox,
        pg_try_advisory_xact_lock(hashtextextended(${claim.kind}::text || lane, 7521962899002002)) as ours
      from (
        select lane, coalesce(known.room, ${strangers}) as room, coalesce(known.last_inbox, '') collate "C" as last_inbox
        from (select lane from swept where lane is not null union select lane from newest union select lane from known) candidate
        left join known using (lane)
        where coalesce(known.room, ${strangers}) > 0 offset 0
      ) candidate
    ),
    rooms as materialized (select lane, room, last_inbox from candidates where ours),
    turns (lane, room, inbox_id, blocked, until_inbox, leg, step, jump) as (
      select lane, room, first.inbox_id, first.blocked, leg.until_inbox, leg.number, (not first.blocked)::int, 1
      from rooms
      cross join lateral (values (0, last_inbox, '~'), (1, '', last_inbox)) as leg (number, from_inbox, until_inbox)
      cross join lateral (select o.inbox_id, exists (${blocked}) as blocked from (
        select o.inbox_id, o.lane from outbox o where ${ready} and o.lane = rooms.lane
        and o.inbox_id > leg.from_inbox collate "C" and o.inbox_id <= leg.until_inbox collate "C" order by o.inbox_id limit 1) o) first
      union all
      select turns.lane, room, next.inbox_id, next.blocked, until_inbox, leg, step + (not next.blocked)::int, jump + 1
      from turns
      cross join lateral (select o.inbox_id, exists (${blocked}) as blocked from (
        select o.inbox_id, o.lane from outbox o where ${ready} and o.lane = turns.lane
        and o.inbox_id > turns.inbox_id and o.inbox_id <= turns.until_inbox collate "C" order by o.inbox_id limit 1) o) next
      where step < room and jump < room + ${mostPassedBy}::int
    ),
    fresh as materialized (
      select o.lane, o.inbox_id, latest, exists (${blocked}) as blocked from newest o join rooms using (lane)
    ),
    offers as (
      select lane, inbox_id, true as in_turn,
        2 * row_number() over (partition by lane order by leg, step) + ${claim.turn % 2}::int as place
      from turns where not blocked
      union all
      select lane, inbox_id, false, 2 * row_number() over (partition by lane order by latest desc) + ${(claim.turn + 1) % 2}::int
      from fresh where not blocked
    ),
    inboxes_offered as (
      select lane, inbox_id, min(place) as place, bool_or(in_turn) as in_turn,
        row_number() over (partition by lane order by min(place)) as rank, count(*) over (partition by lane) as inboxes
      from offers group by lane, inbox_id
    ),
    offered as (
      select item.subject_id, lane, inbox_id, room, in_turn, rank, item.nth,
        row_number() over (partition by lane order by item.nth, rank) as place
      from inboxes_offered join rooms using (lane)
      cross join lateral (
        select o.subject_id, row_number() over (order by o.created_at, o.subject_id) as nth from (
          select o.subject_id, o.created_at from outbox o
          where ${ready} and o.lane = inboxes_offered.lane and o.inbox_id = inboxes_offered.inbox_id
          order by o.created_at, o.subject_id limit ${rowsOfInbox(claim.kind)}
        ) o
      ) item
      where rank <= room
    ),
    chosen as materialized (
      select subject_id, lane, inbox_id, nth, in_turn from offered where place <= room
      order by place, hashtextextended(lane, ${claim.turn}), rank limit ${claim.limit}
    ),
    locked as materialized (
      select o.subject_id from outbox o where o.subject_id = any(array(select subject_id from chosen))
      and o.state || '' = 'ready' for update skip locked
    ),
    in_order as materialized (
      select subject_id from (
        select subject_id, bool_and(locked.subject_id is not null) over (partition by lane, inbox_id order by nth) as has_all_before
        from chosen left join locked using (subject_id)
      ) inbox where has_all_before
    ),
    taken as (
      update outbox set state = 'running', attempt = attempt + 1, due_at = ${claim.leasedUntil},
        claimed_by = ${claim.claimer}, claimed_at = clock_timestamp()
      where subject_id = any(array(select subject_id from in_order))
      returning subject_id, account_id, inbox_id, lane, attempt, forgiven_attempts, created_at, ${more} as has_more
    ),
    claimed as (select taken.*, chosen.in_turn from taken join chosen using (subject_id))
    select (select lane from swept where step = ${sweepLanes}) as "sweptTo",
      exists (select from candidates where not ours) or (select count(*) from in_order) < (select count(*) from chosen) as contended,
      ${claim.kind === "webhook" ? sql`exists (select from fresh where blocked)` : sql`false`} as "behindAnother", found.*
    from (select) one left join (${claimedRows}) found on true`;
}

/** Each row of `claimed`, as a `ClaimedItem`. */
export const claimedFields = sql.raw(
  `claimed.subject_id as "subjectId", claimed.account_id as "accountId", claimed.inbox_id as "inboxId", claimed.lane,
   claimed.attempt, claimed.forgiven_attempts as "forgivenAttempts", claimed.created_at as "createdAt",
   claimed.in_turn as "inTurn", claimed.has_more as "hasMore"`,
);

export function claimedOf<Item extends ClaimedItem>(rows: readonly (Item & ClaimedRow)[]): Claimed<Item> {
  const items = rows.filter(({ subjectId }) => subjectId !== null);
  const [first] = rows;
  const { sweptTo, contended = false, behindAnother = false } = first ?? {};
  return { items: items.sort(byArrival), sweptTo: sweptTo ?? undefined, contended, behindAnother };
}

function byArrival(one: ClaimedItem, other: ClaimedItem): number {
  return one.createdAt.getTime() - other.createdAt.getTime() || (one.subjectId < other.subjectId ? -1 : 1);
}

/** Jumps from lane to lane along the index. */
function sweep(ready: SQL, after: string): SQL {
  return sql`
      select (select o.lane from outbox o where ${ready} and o.lane > ${after}::text collate "C" order by o.lane limit 1), 1
      union all
      select (select o.lane from outbox o where ${ready} and o.lane > swept.lane order by o.lane limit 1), step + 1
      from swept where swept.lane is not null and step < ${sweepLanes}::int`;
}

/** Ids are made in the order of time, so that the newest rows stand at the end of the primary key. */
function newestInboxes(kind: OutboxItem["kind"]): SQL {
  const prefix = kind === "relay" ? "msg_" : "evt_";
  return sql`
      select lane, inbox_id, max(subject_id) as latest
      from (select o.subject_id, o.lane, o.inbox_id, o.state from outbox o
        where o.subject_id > ${prefix} collate "C" and o.subject_id < ${`${prefix}~`} collate "C"
        order by o.subject_id desc limit ${newestRows}) o
      where state = 'ready' group by lane, inbox_id`;
}

// Texts without what isn't asked for, rather than parameters that switch it off: a plan that is kept knows nothing of parameters.
const noLanes = sql.raw(
  `select ''::text collate "C", 1 where false union all select lane, step from swept where false`,
);
const noInboxes = sql.raw(`select ''::text as lane, ''::text as inbox_id, ''::text as latest where false`);

const runningOfInbox = "select from outbox r where r.state = 'running' and r.inbox_id = o.inbox_id and r.lane = o.lane";

/** Mail of one inbox to one place goes out one by one: relays take mail over several connections in any order. */
const runningMail = sql.raw(`${runningOfInbox} and r.kind = 'relay'`);

const startingElsewhere = sql.raw(
  `${runningOfInbox} and r.kind = 'webhook' and r.claimed_at > clock_timestamp() - interval '${startsWithinMs} ms'`,
);

/** So many that the inboxes on offer fill the room of their lane together. */
function rowsOfInbox(kind: OutboxItem["kind"]): SQL {
  return kind === "relay" ? sql`1` : sql.raw("(room + least(inboxes, room) - 1) / least(inboxes, room)");
}
