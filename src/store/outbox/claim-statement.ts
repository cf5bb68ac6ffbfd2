import { type SQL, sql } from "drizzle-orm";
import { arrayOf } from "../../database/db.ts";
import { lockNumber } from "../locks.ts";
import type { Claim } from "./claims.ts";
import { inboxOrders } from "./inbox-order.ts";
import type { Kind } from "./kinds.ts";

/** Lanes that one claim walks along, and newest rows that it looks at: those that are in line are few or all. */
const sweepLanes = 64;
const newestRows = 256;
/** How many inboxes that can't have their turn one claim passes by, beside those that can. */
const mostPassedBy = 256;

/**
 * `with … claimed as (…)`: takes rows that are ready, counts their attempt and leases them. What is asked for is looked up by
 * index, never counted off, so the cost is that of the rows taken, however many wait:
 *
 * - Lanes come from the caller (`known`), from the newest rows, and from a walk along the index that jumps from lane to lane.
 * - In a lane the inboxes take turns, so that one with thousands of rows leaves slots to the others, and half of
 *   them go to the inboxes of the newest rows: after a long outage new mail doesn't wait for all of the old.
 * - Of an inbox the oldest rows are taken, so its rows start in the order of arrival. While a process is about to start
 *   some, no other takes later ones: it would be a race on the way to the receiver. What is slow to be answered, or whose
 *   process has died, holds nothing back for longer than that takes (inbox-order.ts).
 * - Of two processes one at a time claims from a lane. A row that the other took a moment ago, which is not to be seen in
 *   this statement's snapshot, is passed over (skip locked), and so are the later ones of its inbox.
 */
export function claimStatement(claim: Claim, claimedRows: SQL): SQL {
  const { behindAnother } = inboxOrders[claim.kind.inboxOrder];
  const ready = sql`o.kind = ${claim.kind.name} and o.state = 'ready'`;
  return sql`with recursive
    ${lanesAskedFor(claim, ready)},
    ${inboxesOnOffer(claim, ready)},
    ${rowsTaken(claim, ready)}
    select (select lane from swept where step = ${sweepLanes}) as "sweptTo",
      exists (select from candidates where not ours) or (select count(*) from in_order) < (select count(*) from chosen) as contended,
      ${behindAnother} as "behindAnother", found.*
    from (select) one left join (${claimedRows}) found on true`;
}

/** `own_lanes`: the lanes that this claim has for itself, and how many rows of each may start. */
function lanesAskedFor({ kind, lanes, ...claim }: Claim, ready: SQL): SQL {
  const strangers = sql`${claim.strangers ? 1 : 0}::int`;
  return sql`known as materialized (
      select row.lane, row.slots, row."lastInboxId" as last_inbox
      from json_to_recordset(${JSON.stringify(lanes)}::json) as row (lane text, slots int, "lastInboxId" text)
    ),
    swept (lane, step) as (${claim.sweepAfter === undefined ? noLanes : sweep(ready, claim.sweepAfter)}),
    newest as materialized (${claim.newest ? newestInboxes(kind) : noInboxes}),
    candidates as materialized (
      select lane, slots, last_inbox,
        pg_try_advisory_xact_lock(hashtextextended(${kind.name}::text || lane, ${lockNumber("claiming")})) as ours
      from (
        select lane, coalesce(known.slots, ${strangers}) as slots, coalesce(known.last_inbox, '') collate "C" as last_inbox
        from (select lane from swept where lane is not null union select lane from newest union select lane from known) candidate
        left join known using (lane)
        where coalesce(known.slots, ${strangers}) > 0 offset 0
      ) candidate
    ),
    own_lanes as materialized (select lane, slots, last_inbox from candidates where ours)`;
}

/** `inboxes_offered`: those that may have their turn in each lane, by rank. */
function inboxesOnOffer(claim: Claim, ready: SQL): SQL {
  const { kind, claimer, fullAccounts = [] } = claim;
  const held = inboxOrders[kind.inboxOrder].heldBy(kind, claimer);
  const blocked = fullAccounts.length === 0 ? held : sql`${held} union all ${inboxOfOne(fullAccounts)}`;
  return sql`turns (lane, slots, inbox_id, blocked, until_inbox, leg, step, jump) as (
      select lane, slots, first.inbox_id, first.blocked, leg.until_inbox, leg.number, (not first.blocked)::int, 1
      from own_lanes
      cross join lateral (values (0, last_inbox, '~'), (1, '', last_inbox)) as leg (number, from_inbox, until_inbox)
      cross join lateral (select o.inbox_id, exists (${blocked}) as blocked from (
        select o.inbox_id, o.lane from outbox o where ${ready} and o.lane = own_lanes.lane
        and o.inbox_id > leg.from_inbox collate "C" and o.inbox_id <= leg.until_inbox collate "C" order by o.inbox_id limit 1) o) first
      union all
      select turns.lane, slots, next.inbox_id, next.blocked, until_inbox, leg, step + (not next.blocked)::int, jump + 1
      from turns
      cross join lateral (select o.inbox_id, exists (${blocked}) as blocked from (
        select o.inbox_id, o.lane from outbox o where ${ready} and o.lane = turns.lane
        and o.inbox_id > turns.inbox_id and o.inbox_id <= turns.until_inbox collate "C" order by o.inbox_id limit 1) o) next
      where step < slots and jump < slots + ${mostPassedBy}::int
    ),
    fresh as materialized (
      select o.lane, o.inbox_id, latest, exists (${blocked}) as blocked from newest o join own_lanes using (lane)
    ),
    offers as (
      select lane, inbox_id, true as in_turn,
        2 * row_number() over (partition by lane order by leg, step) + ${claim.claimNumber % 2}::int as position
      from turns where not blocked
      union all
      select lane, inbox_id, false, 2 * row_number() over (partition by lane order by latest desc) + ${(claim.claimNumber + 1) % 2}::int
      from fresh where not blocked
    ),
    inboxes_offered as (
      select lane, inbox_id, min(position) as position, bool_or(in_turn) as in_turn,
        row_number() over (partition by lane order by min(position)) as rank, count(*) over (partition by lane) as inboxes
      from offers group by lane, inbox_id
    )`;
}

/**
 * `claimed`: the rows that are this process's now. They are chosen first and locked then, in a CTE: the planner may otherwise run
 * a LIMITed subquery anew and take more than it chose.
 */
function rowsTaken(claim: Claim, ready: SQL): SQL {
  const { rowsOfInbox, hasMore } = inboxOrders[claim.kind.inboxOrder];
  return sql`offered as (
      select item.subject_id, lane, inbox_id, slots, in_turn, rank, item.nth,
        row_number() over (partition by lane order by item.nth, rank) as position
      from inboxes_offered join own_lanes using (lane)
      cross join lateral (
        select o.subject_id, row_number() over (order by o.created_at, o.subject_id) as nth from (
          select o.subject_id, o.created_at from outbox o
          where ${ready} and o.lane = inboxes_offered.lane and o.inbox_id = inboxes_offered.inbox_id
          order by o.created_at, o.subject_id limit ${rowsOfInbox}
        ) o
      ) item
      where rank <= slots
    ),
    chosen as materialized (
      select subject_id, lane, inbox_id, nth, in_turn from offered where position <= slots
      order by position, hashtextextended(lane, ${claim.claimNumber}), rank limit ${claim.limit}
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
      returning subject_id, account_id, inbox_id, lane, attempt, forgiven_attempts, created_at, event_id, endpoint_id,
          ${hasMore(ready)} as has_more
    ),
    claimed as (select taken.*, chosen.in_turn from taken join chosen using (subject_id))`;
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
function newestInboxes({ name, idPrefix }: Kind): SQL {
  return sql`
      select lane, inbox_id, max(subject_id) as latest
      from (select o.subject_id, o.lane, o.inbox_id, o.state, o.kind from outbox o
        where o.subject_id > ${idPrefix} collate "C" and o.subject_id < ${`${idPrefix}~`} collate "C"
        order by o.subject_id desc limit ${newestRows}) o
      where state = 'ready' and kind = ${name} group by lane, inbox_id`;
}

function inboxOfOne(accountIds: readonly string[]): SQL {
  const accounts = arrayOf("text", accountIds);
  // What belongs to no inbox stands in line under its account's id.
  return sql`select 1 from inboxes i where i.id = o.inbox_id and i.account_id = any(${accounts})
    union all select 1 where o.inbox_id = any(${accounts})`;
}

// Texts without what isn't asked for, rather than parameters that switch it off: a plan that is kept knows nothing of parameters.
const noLanes = sql.raw(
  `select ''::text collate "C", 1 where false union all select lane, step from swept where false`,
);
const noInboxes = sql.raw(`select ''::text as lane, ''::text as inbox_id, ''::text as latest where false`);
