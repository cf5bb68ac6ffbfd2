import { type SQL, sql } from "drizzle-orm";
import type { InboxOrder, Kind } from "./kinds.ts";

/** The SQL of an order among the rows of an inbox. `o` is a row that a claim may take. */
interface OrderInSql {
  /** Selects rows that make the inbox of `o` wait. */
  heldBy(kind: Kind, claimer: number): SQL;
  /** The most rows of an inbox that one claim takes. */
  rowsOfInbox: SQL;
  /** Whether the inbox of a claimed row has more rows, which wait until that one is settled. */
  hasMore(ready: SQL): SQL;
  /** Whether new rows wait because another process is starting earlier ones. */
  behindAnother: SQL;
}

/** How long other processes wait for a claimed row to become a request on the wire. */
const startsWithinMs = 2000;

/** The slots of a lane divided by its inboxes on offer, rounded up: with this many rows each, the inboxes fill the slots. */
const fillingTheSlots = sql.raw("(slots + least(inboxes, slots) - 1) / least(inboxes, slots)");
const no = sql.raw("false");

export const inboxOrders: Readonly<Record<InboxOrder, OrderInSql>> = {
  settled: {
    heldBy: runningOfInbox,
    rowsOfInbox: sql.raw("1"),
    hasMore: (ready) => sql`exists (select from outbox o where ${ready} and o.lane = outbox.lane
          and o.account_id = outbox.account_id and o.inbox_id = outbox.inbox_id and o.subject_id <> outbox.subject_id)`,
    behindAnother: no,
  },
  begun: {
    heldBy: (kind, claimer) => sql`${runningOfInbox(kind)} and ${startedLately} and r.claimed_by <> ${claimer}`,
    rowsOfInbox: fillingTheSlots,
    hasMore: () => no,
    behindAnother: sql.raw("exists (select from fresh where blocked)"),
  },
  any: {
    heldBy: () => sql.raw("select 1 where false"),
    rowsOfInbox: fillingTheSlots,
    hasMore: () => no,
    behindAnother: no,
  },
};

const startedLately = sql.raw(`r.claimed_at > clock_timestamp() - interval '${startsWithinMs} ms'`);

/** The kind is part of the text, because a prepared plan does not depend on parameters. */
function runningOfInbox({ name }: Kind): SQL {
  return sql.raw(
    `select 1 from outbox r where r.state = 'running' and r.inbox_id = o.inbox_id and r.lane = o.lane and r.kind = '${name}'`,
  );
}
