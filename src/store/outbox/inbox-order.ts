import { type SQL, sql } from "drizzle-orm";
import type { InboxOrder, Kind } from "./kinds.ts";

/** The SQL of an `InboxOrder`, for the statement that claims rows. In it, `o` is a row that the claim may take. */
interface OrderInSql {
  /** Selects the rows because of which the inbox of `o` must wait. */
  heldBy(kind: Kind, claimer: number): SQL;
  /** The most rows of an inbox that one claim takes. */
  rowsOfInbox: SQL;
  /** Whether the inbox of a claimed row has more rows, which wait until that one is settled. */
  hasMore(ready: SQL): SQL;
  /** Whether new rows wait because another process is starting earlier ones. */
  behindAnother: SQL;
}

/** How long other processes wait for the process that claimed a row to send its request. */
const startsWithinMs = 2000;

/** The slots of a lane divided by the inboxes that are offered, rounded up, so that the rows of all inboxes fill the slots. */
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

/** Selects the running rows of the inbox and lane of `o`. The kind is not a parameter: the plan would not depend on it. */
function runningOfInbox({ name }: Kind): SQL {
  return sql.raw(
    `select 1 from outbox r where r.state = 'running' and r.inbox_id = o.inbox_id and r.lane = o.lane and r.kind = '${name}'`,
  );
}
