import { type SQL, sql } from "drizzle-orm";
import type { Reach } from "../domain/access/access.ts";
import { externalIdOfEvent } from "./events/event-content.ts";

/*
 * The reach of a caller is a condition of the statement that reads, so that nothing beyond it is ever read, counted or listed.
 */

/** Whether an inbox `i` exists and is within a reach. */
export function isReached({ accountId, ...bounds }: Reach): SQL {
  return sql`i.account_id = ${accountId} and i.deleted_at is null ${within(sql`i.id`, sql`i.external_id`, bounds)}`;
}

/** As `isReached`, for a statement that is prepared once. `reachPlaces` has its values. */
export const isPlacedInReach = sql`i.account_id = ${sql.placeholder("accountId")} and i.deleted_at is null
  and (${sql.placeholder("onlyInboxId")}::text is null or i.id = ${sql.placeholder("onlyInboxId")})
  and (${sql.placeholder("externalId")}::text is null or i.external_id = ${sql.placeholder("externalId")})`;

export function reachPlaces({ accountId, inboxId, externalId }: Reach) {
  return { accountId, onlyInboxId: inboxId ?? null, externalId: externalId ?? null };
}

/** Whether an event `e` is within a reach. Events without an inbox are within that of the whole account alone. */
export function isEventReached({ accountId, ...bounds }: Reach): SQL {
  return sql`e.account_id = ${accountId} ${within(sql`e.inbox_id`, externalIdOfEvent, bounds)}`;
}

/** A condition that begins with `and`: this inbox id is that of a living inbox within a reach. Empty for the whole account. */
export function andInReach(inboxId: SQL, reach: Reach): SQL {
  if (reach.inboxId === undefined && reach.externalId === undefined) return sql``;
  return sql`and ${inboxId} in (select i.id from inboxes i where ${isReached(reach)})`;
}

function within(id: SQL, externalId: SQL, bounds: Omit<Reach, "accountId">): SQL {
  const one = bounds.inboxId === undefined ? sql`` : sql`and ${id} = ${bounds.inboxId}`;
  return bounds.externalId === undefined ? one : sql`${one} and ${externalId} = ${bounds.externalId}`;
}
