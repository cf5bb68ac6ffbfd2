import { type SQL, sql } from "drizzle-orm";
import { arrayOf, type Db, query } from "../../database/db.ts";
import type { Reach } from "../../domain/access/access.ts";
import type { ListedKind } from "../../domain/outbox-item.ts";
import { endpointOfLane } from "../events/fan-out.ts";
import { andInReach } from "../reach.ts";
import type { OutboxItem, OutboxKind } from "./items.ts";

/** The items that a caller may see. */
export interface VisibleItems {
  reach: Reach;
  kinds: readonly ListedKind[];
}

export interface ListedItem extends Pick<OutboxItem, "state" | "attempt" | "createdAt" | "dueAt"> {
  id: string;
  kind: ListedKind;
  messageId: string | null;
  eventId: string | null;
  /** Null for an event without an inbox. */
  inboxId: string | null;
  /** The pending recipients of this row; or the URL of the webhook, if there is one. */
  to: string[];
  lastError: string | null;
}

export interface ItemsPage extends VisibleItems {
  state: OutboxItem["state"] | undefined;
  inboxId: string | undefined;
  after: Pick<ListedItem, "id" | "createdAt"> | undefined;
  limit: number;
}

/** Lists rows of the outbox, the oldest first. */
export function listItems(db: Db, { state, inboxId, after, limit, ...visible }: ItemsPage): Promise<ListedItem[]> {
  const filters = [
    state && sql`o.state = ${state}`,
    inboxId && sql`o.inbox_id = ${inboxId}`,
    after && sql`(o.created_at, o.subject_id) > (${after.createdAt}, ${after.id}::text collate "C")`,
  ].flatMap((filter) => (filter ? [sql` and ${filter}`] : []));
  return shown(
    db,
    sql`select * from outbox o where ${isVisible(visible)}${sql.join(filters)}
        order by o.created_at, o.subject_id limit ${limit}`,
  );
}

/** The most rows that `itemCount` counts: an account has few rows in the outbox, unless a receiver of its mail or events is down. */
export const mostCountedItems = 1_000;

/**
 * The number of these rows in the outbox, at most `mostCountedItems`. It reads the table until it has found this many rows: an
 * outbox with a million rows of other accounts took 0.4 s on a busy machine. An index by account would add 280 to the 1,380 bytes of WAL
 * that each row writes on its way through the outbox.
 */
export function itemCount(visible: VisibleItems): SQL {
  return sql`(select count(*) from (
    select from outbox o where ${isVisible(visible)} limit ${mostCountedItems}
  ) items)`;
}

export interface ItemsDepth {
  count: number;
  /** When the oldest item was added; null if there is none. */
  oldestAt: Date | null;
}

/** Counts rows of the outbox. It reads the whole table. */
export async function findItemsDepth(db: Db, visible: VisibleItems): Promise<ItemsDepth> {
  const [depth] = await query<ItemsDepth>(
    db,
    sql`select count(*) as count, min(created_at) as "oldestAt" from outbox o
        where ${isVisible(visible)}`,
  );
  return depth ?? { count: 0, oldestAt: null };
}

export async function findItem(db: Db, visible: VisibleItems, id: string): Promise<ListedItem | undefined> {
  const [item] = await shown(db, sql`select * from outbox o where ${isItem(visible, id)}`);
  return item;
}

/** Makes a waiting row ready. Its schedule of retries and its deadline stay. Returns its kind, or undefined if it was not waiting. */
export async function markItemReady(db: Db, visible: VisibleItems, id: string): Promise<OutboxKind | undefined> {
  const [row] = await query<{ kind: OutboxKind }>(
    db,
    sql`update outbox o set state = 'ready' where ${isItem(visible, id)} and o.state = 'waiting' returning o.kind`,
  );
  return row?.kind;
}

/** Deletes a delivery that is not running. Its attempts stay in the log. Returns whether it was deleted. */
export async function deleteDelivery(db: Db, visible: VisibleItems, id: string): Promise<boolean> {
  const rows = await query(
    db,
    sql`delete from outbox o where ${isItem(visible, id)} and o.kind = 'webhook' and o.state <> 'running' returning 1`,
  );
  return rows.length > 0;
}

function isItem(visible: VisibleItems, id: string): SQL {
  return sql`o.subject_id = ${id} and ${isVisible(visible)}`;
}

function isVisible({ reach, kinds }: VisibleItems): SQL {
  return sql`o.account_id = ${reach.accountId} and o.kind = any(${arrayOf("text", kinds)}) ${andInReach(sql`o.inbox_id`, reach)}`;
}

/**
 * Reads rows of the outbox as `ListedItem`. The destination is compared as text, because a cast to a number would fail for deliveries,
 * which have an endpoint's id after the dot.
 */
function shown(db: Db, items: SQL): Promise<ListedItem[]> {
  return query<ListedItem>(
    db,
    sql`select o.subject_id as id, o.state, o.attempt, o.created_at as "createdAt", o.due_at as "dueAt",
          nullif(o.inbox_id, o.account_id) as "inboxId", coalesce(details.receivers, '{}') as "to", details.*
        from (${items}) o cross join lateral (
          select 'relay' as kind, m.id as "messageId", null::text as "eventId", o.last_error as "lastError",
            (select array_agg(r.address order by r.position) from recipients r where r.message_id = m.id
              and r.status = 'pending' and r.destination::text = coalesce(nullif(split_part(o.subject_id, '.', 2), ''), '0')) as receivers
          from messages m where o.kind = 'relay' and m.id = split_part(o.subject_id, '.', 1)
          union all
          select 'webhook', null, o.event_id,
            (select d.error from deliveries d where d.event_id = o.event_id and d.lane = o.lane order by d.attempt desc limit 1),
            (select array[w.url] from (${endpointOfLane("o.lane")}) w where w.url is not null)
          where o.kind = 'webhook'
        ) details
        order by o.created_at, o.subject_id`,
  );
}
