import { type SQL, sql } from "drizzle-orm";
import { lockNumber } from "../locks.ts";
import type { Claim } from "./claims.ts";
import { inboxOrders } from "./inbox-order.ts";
import type { Kind } from "./kinds.ts";

/** The most lanes that one claim finds along the index (`sweep`). */
const sweepLanes = 64;
/** The number of newest rows, in any state, among which one claim looks for ready ones. */
const newestRows = 256;
/** The most inboxes of a lane that a claim looks at and skips, because they must wait. Then it stops looking in that lane. */
const mostPassedBy = 256;

/**
 * `with … claimed as (…)`: takes rows that are ready, counts their attempt and leases them. Every look-up uses an index, so the cost
 * depends on the rows taken, not on the rows that wait:
 *
 * - Lanes come from the caller (`known`), from the newest rows, and from a sweep that jumps from lane to lane along the index.
 * - In a lane the accounts alternate, and within an account its inboxes. So neither an account with hundreds of inboxes nor an inbox
 *   with thousands of rows takes the slots of others. Half of the slots go to the inboxes of the newest rows: after a long outage new
 *   mail does not wait for all old mail.
 * - If more rows are on offer than the claim may take, the rows of accounts with the fewest rows under way come first, in all lanes.
 * - The oldest rows of an inbox are taken first. How long the next ones wait depends on their kind (inbox-order.ts): mail waits until the
 *   mail before it is settled. Events wait only while another process is about to start earlier ones, at most two seconds, so that a slow
 *   receiver or a dead process does not delay the inbox for longer.
 * - One process at a time claims from a lane. A row that another process took a moment ago, which this statement's snapshot does not
 *   show, is skipped (skip locked), and so are the later rows of its inbox.
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

/** `own_lanes`: the lanes that this claim has locked, with the number of rows that may start in each. `shares`: that number by account. */
function lanesAskedFor({ kind, lanes, accounts, ...claim }: Claim, ready: SQL): SQL {
  const strangers = sql`${claim.strangers ? 1 : 0}::int`;
  return sql`known as materialized (
      select row.lane, row.slots, row.pace, row."lastAccountId" as last_account, row."lastInboxes" as last_inboxes
      from json_to_recordset(${JSON.stringify(lanes)}::json)
        as row (lane text, slots int, pace text, "lastAccountId" text, "lastInboxes" json)
    ),
    shares as materialized (
      select row."accountId" collate "C" as account_id, row.pace, row."inHand" as in_hand, row.slots as share
      from json_to_recordset(${JSON.stringify(accounts)}::json)
        as row ("accountId" text, pace text, "inHand" int, slots int)
    ),
    swept (lane, step) as (${claim.sweepAfter === undefined ? noLanes : sweep(ready, claim.sweepAfter)}),
    newest as materialized (${claim.newest ? newestInboxes(kind) : noInboxes}),
    candidates as materialized (
      select lane, slots, pace, last_account, last_inboxes,
        pg_try_advisory_xact_lock(hashtextextended(${kind.name}::text || lane, ${lockNumber("claiming")})) as ours
      from (
        select lane, coalesce(known.slots, ${strangers}) as slots, coalesce(pace, 'brisk') as pace,
          coalesce(last_account, '') collate "C" as last_account, last_inboxes
        from (select lane from swept where lane is not null union select lane from newest union select lane from known) candidate
        left join known using (lane)
        where coalesce(known.slots, ${strangers}) > 0 offset 0
      ) candidate
    ),
    own_lanes as materialized (select lane, slots, pace, last_account, last_inboxes from candidates where ours)`;
}

/**
 * `inboxes_offered`: the inboxes that may be served in each lane, by rank.
 *
 * `accounts_in_turn` walks along the accounts of a lane, from the one after the account that was served last to the end, and then from the
 * beginning. In each account it walks along the inboxes to the first one that need not wait. `inboxes_in_turn` goes on from there along the
 * inboxes of each account: as many as fill the slots if each other account takes one. A lane of one account needs only the second walk.
 */
function inboxesOnOffer(claim: Claim, ready: SQL): SQL {
  const { kind, claimer, claimNumber } = claim;
  const held = sql`exists (${inboxOrders[kind.inboxOrder].heldBy(kind, claimer)})`;
  // An account is full if it may start no more rows. The look-up for that is left out of the statement if no account is full.
  const isFull = claim.accounts.some(({ slots }) => slots <= 0)
    ? (account: SQL, lane: SQL) =>
        sql`exists (select from shares where shares.account_id = ${account} and shares.pace = ${lane}.pace and share <= 0)`
    : () => no;
  const walk = sql.raw("walk");
  /** Finds the next inbox of the walk. After the last inbox the walk begins again at the first, and ends at the one served last. */
  const nextInbox = (where: SQL) => sql`
          ${inboxBetween(ready, sql.raw("walk.leg"), sql.raw("walk.inbox_id"), sql.raw("case walk.leg when 0 then '~' else walk.last_inbox end"), where)}
          union all
          ${inboxBetween(ready, sql.raw("1"), sql.raw("''"), sql.raw("walk.last_inbox"), sql`${where} and walk.leg = 0`)}
          limit 1`;
  const lastInbox = (lane: string, account: string) =>
    sql.raw(`coalesce(${lane}.last_inboxes ->> ${account}.account_id, '') collate "C"`);
  const accounts = sql`accounts_in_turn (lane, slots, pace, last_account, last_inboxes, account_id, account_leg, last_inbox, is_full,
        inbox_id, leg, blocked, step, jump) as (
      select lane, slots, pace, last_account, last_inboxes, last_account, 0, ''::text collate "C", true,
        ''::text collate "C", 0, false, 0, 0
      from own_lanes
      union all
      select walk.lane, slots, pace, last_account, last_inboxes, o.account_id, o.account_leg, o.last_inbox, o.is_full,
        o.inbox_id, o.leg, o.blocked, step + (not o.blocked and not o.is_full)::int, jump + 1
      from accounts_in_turn walk
      cross join lateral (
        select next.*, is_entry or held as blocked from (
          select o.*, ${held} as held from (
            (select walk.lane, walk.account_id, walk.account_leg, walk.last_inbox, false as is_full, inbox_id, leg, false as is_entry
              from (${nextInbox(sql.raw("walk.blocked and not walk.is_full"))}) inbox)
            union all
            (select walk.lane, a.account_id, a.account_leg, ${lastInbox("walk", "a")}, ${isFull(sql.raw("a.account_id"), walk)},
              ${lastInbox("walk", "a")}, 0, true
              from (
                ${accountBetween(ready, walk, sql.raw("walk.account_leg"), sql.raw("walk.account_id"), sql.raw("case walk.account_leg when 0 then '~' else walk.last_account end"))}
                union all
                ${accountBetween(ready, walk, sql.raw("1"), sql.raw("''"), sql.raw("case walk.account_leg when 0 then walk.last_account else '' end"))}
                limit 1
              ) a)
            limit 1
          ) o
        ) next
      ) o
      where step < slots and jump < 2 * slots + ${mostPassedBy}::int
    )`;
  const starts = kind.hasOwnLanes
    ? sql`select own_lanes.lane, slots, a.account_id, 1::bigint, ${lastInbox("own_lanes", "a")}, ${lastInbox("own_lanes", "a")}, 0, true, 0, 0
        from own_lanes
        cross join lateral ${accountBetween(ready, sql.raw("own_lanes"), sql.raw("0"), sql.raw("''"), sql.raw("'~'"))} a
        where not ${isFull(sql.raw("a.account_id"), sql.raw("own_lanes"))}`
    : sql`select lane, slots - count(*) over (partition by lane) + 1, account_id, step::bigint, last_inbox, inbox_id, leg, false, 1, 1
        from accounts_in_turn where not blocked and not is_full`;
  return sql`${kind.hasOwnLanes ? sql.empty() : sql`${accounts},`}
    inboxes_in_turn (lane, most, account_id, account_rank, last_inbox, inbox_id, leg, blocked, nth, jump) as (
      (${starts})
      union all
      select walk.lane, most, account_id, account_rank, last_inbox, o.inbox_id, o.leg, o.held, nth + (not o.held)::int, jump + 1
      from inboxes_in_turn walk
      cross join lateral (select o.*, ${held} as held from (${nextInbox(sql.raw("true"))}) o) o
      where nth < most and jump < most + ${mostPassedBy}::int
    ),
    fresh as materialized (
      select o.lane, o.account_id, o.inbox_id, latest, ${isFull(sql.raw("o.account_id"), sql.raw("own_lanes"))} as is_full, ${held} as blocked,
        row_number() over (partition by o.lane, o.account_id order by latest desc) as nth
      from newest o join own_lanes using (lane)
    ),
    offers as (
      select lane, account_id, inbox_id, row_number() over in_lane as turn, 2 * row_number() over in_lane + ${claimNumber % 2}::int as position
      from inboxes_in_turn where not blocked window in_lane as (partition by lane order by nth, account_rank)
      union all
      select lane, account_id, inbox_id, null,
        2 * row_number() over (partition by lane order by nth, latest desc) + ${(claimNumber + 1) % 2}::int
      from fresh where not blocked and not is_full
    ),
    inboxes_offered as (
      select lane, account_id, inbox_id, min(position) as position, max(turn) as turn,
        row_number() over (partition by lane order by min(position)) as rank, count(*) over (partition by lane) as inboxes
      from offers group by lane, account_id, inbox_id
    )`;
}

/** Finds the first account of a lane with an id after `from`, up to `until`. */
function accountBetween(ready: SQL, lane: SQL, leg: SQL, from: SQL, until: SQL): SQL {
  return sql`(select o.account_id, ${leg} as account_leg from outbox o where ${ready} and o.lane = ${lane}.lane
            and o.account_id > ${from} collate "C" and o.account_id <= (${until}) collate "C" order by o.account_id limit 1)`;
}

/** Finds the first inbox of the walk's account with an id after `from`, up to `until`. */
function inboxBetween(ready: SQL, leg: SQL, from: SQL, until: SQL, where: SQL): SQL {
  return sql`(select o.inbox_id, o.lane, ${leg} as leg from outbox o where ${where} and ${ready} and o.lane = walk.lane
            and o.account_id = walk.account_id and o.inbox_id > ${from} collate "C" and o.inbox_id <= (${until}) collate "C"
            order by o.inbox_id limit 1)`;
}

/**
 * `claimed`: the rows that this process has claimed. They are first chosen and then locked, each step in its own CTE: the planner may
 * otherwise run a subquery with a LIMIT again and take more rows than it chose. A row that another process has taken since this statement
 * began still looks ready to `chosen`; `locked` looks again at what it locks, and skips it.
 */
function rowsTaken({ kind, othersSlots, claimNumber, limit, ...claim }: Claim, ready: SQL): SQL {
  const { rowsOfInbox, hasMore } = inboxOrders[kind.inboxOrder];
  return sql`offered as (
      select item.subject_id, lane, account_id, inbox_id, slots, pace, turn, rank, item.nth,
        row_number() over (partition by lane order by item.nth, rank) as position
      from inboxes_offered join own_lanes using (lane)
      cross join lateral (
        select o.subject_id, row_number() over (order by o.created_at, o.subject_id) as nth from (
          select o.subject_id, o.created_at from outbox o
          where ${ready} and o.lane = inboxes_offered.lane and o.account_id = inboxes_offered.account_id
          and o.inbox_id = inboxes_offered.inbox_id
          order by o.created_at, o.subject_id limit ${rowsOfInbox}
        ) o
      ) item
      where rank <= slots
    ),
    shared as (
      select offered.*, lot, coalesce(in_hand, 0) as in_hand,
        coalesce(share, case pace when 'brisk' then ${othersSlots.brisk}::int when 'slow' then ${othersSlots.slow}::int
          else ${othersSlots.doubtful}::int end) as share,
        row_number() over (partition by account_id, pace order by position, lot, rank) as nth_of_account
      from offered
      cross join lateral (select hashtextextended(lane, ${claimNumber}) as lot) lots
      left join shares using (account_id, pace)
      where position <= slots
    ),
    chosen as materialized (
      select subject_id, lane, inbox_id, nth, turn from shared where nth_of_account <= share
      order by in_hand + nth_of_account, position, lot, rank limit ${limit}
    ),
    locked as materialized (
      select o.subject_id from outbox o where o.subject_id = any(array(select subject_id from chosen))
      and o.state || '' = 'ready' for update skip locked
    ),
    in_order as materialized (
      select subject_id from (
        select subject_id, bool_and(subject_id in (select subject_id from locked)) over (partition by lane, inbox_id order by nth) as has_all_before
        from chosen
      ) inbox where has_all_before
    ),
    taken as (
      update outbox set state = 'running', attempt = attempt + 1, due_at = ${claim.leasedUntil},
        claimed_by = ${claim.claimer}, claimed_at = clock_timestamp()
      where subject_id = any(array(select subject_id from in_order))
      returning subject_id, account_id, inbox_id, lane, attempt, forgiven_attempts, created_at, event_id,
          ${hasMore(ready)} as has_more
    ),
    claimed as (select taken.*, chosen.turn from taken join chosen using (subject_id))`;
}

/**
 * Lists the lanes with ready rows after the lane `after`, at most 64 (`sweepLanes`). Each step finds the next lane by one look-up in the
 * index, so that the other rows of a lane are not read.
 */
function sweep(ready: SQL, after: string): SQL {
  return sql`
      select (select o.lane from outbox o where ${ready} and o.lane > ${after}::text collate "C" order by o.lane limit 1), 1
      union all
      select (select o.lane from outbox o where ${ready} and o.lane > swept.lane order by o.lane limit 1), step + 1
      from swept where swept.lane is not null and step < ${sweepLanes}::int`;
}

/**
 * Lists the inboxes of the newest ready rows. Ids sort by the time of their creation, so the newest rows of a kind are the last ones in
 * the primary key.
 */
function newestInboxes({ name, idPrefix }: Kind): SQL {
  return sql`
      select lane, account_id, inbox_id, max(subject_id) as latest
      from (select o.subject_id, o.lane, o.account_id, o.inbox_id, o.state, o.kind from outbox o
        where o.subject_id > ${idPrefix} collate "C" and o.subject_id < ${`${idPrefix}~`} collate "C"
        order by o.subject_id desc limit ${newestRows}) o
      where state = 'ready' and kind = ${name} group by lane, account_id, inbox_id`;
}

const no = sql.raw("false");
// Empty selects for the CTEs that a claim does not need. A condition with a parameter would not save their cost, because the plan of a
// prepared statement does not depend on its parameters.
const noLanes = sql.raw(
  `select ''::text collate "C", 1 where false union all select lane, step from swept where false`,
);
const noInboxes = sql.raw(
  `select ''::text as lane, ''::text as account_id, ''::text as inbox_id, ''::text as latest where false`,
);
