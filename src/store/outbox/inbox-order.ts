import { type SQL, sql } from "drizzle-orm";
import type { InboxOrder, Kind } from "./kinds.ts";

/** An order among the rows of an inbox, in the words of a claim. `o` is a row that might be taken. */
interface OrderInSql {
  /** Rows because of which the inbox of `o` has no turn now. */
  heldBy(kind: Kind, claimer: number): SQL;
  /** How many rows of an inbox one claim may take. */
  rowsOfInbox: SQL;
  /** Whether the inbox of a row just taken has more, which wait until that one is settled. */
  hasMore(ready: SQL): SQL;
  /** Whether new rows wait since another process is just starting earlier ones. */
  behindAnother: SQL;
}

/** How long a claim may take to become a request on the wire, before others need not wait for it any longer. */
const startsWithinMs = 2000;

/** So many that the inboxes on offer fill the slots of their lane together. */
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

/** The kind is part of the text: a plan that is kept knows nothing of parameters. */
function runningOfInbox({ name }: Kind): SQL {
  return sql.raw(
    `select 1 from outbox r where r.state = 'running' and r.inbox_id = o.inbox_id and r.lane = o.lane and r.kind = '${name}'`,
  );
}
