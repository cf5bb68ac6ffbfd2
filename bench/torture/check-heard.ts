import { sql } from "drizzle-orm";
import { type Database, query } from "../../src/database/db.ts";
import { isWanted, type Ledger, type LedgerAccount, type LoggedEvent } from "./ledger.ts";
import { ask, type World } from "./world.ts";

/** The whole log of each account, once nothing is in progress. */
export async function readLogs(world: World): Promise<void> {
  for (const account of world.accounts) world.ledger.logs.set(account.name, await logOf(world, account));
}

async function logOf(world: World, account: LedgerAccount): Promise<LoggedEvent[]> {
  const log: LoggedEvent[] = [];
  for (let after = "start"; ; ) {
    const { status, body } = await ask(world, account, "GET", `/events?types=*&limit=100&after=${after}`);
    if (status !== 200)
      throw new Error(`Cannot check: the log of ${account.name} behind ${after} was answered ${status}`);
    const page = body.data as { event_id: string; event: string; inbox_id: string | null; occurred_at: string }[];
    for (const { event_id: id, event: type, inbox_id: inboxId, occurred_at: occurredAt } of page)
      log.push({ id, type, inboxId, occurredAt });
    if (body.hasMore !== true) return log;
    after = String(body.last);
  }
}

/** Each listener got all events, once and in order. */
export async function checkHeard(ledger: Ledger, db: Database): Promise<void> {
  for (const [name, log] of ledger.logs) {
    const rows = await query<{ id: string }>(
      db.api,
      sql`select e.id from events e join accounts a on a.id = e.account_id where a.name = ${name} order by e.written_by, e.id`,
    );
    compare(ledger, "A5", `the log of ${name}`, log.map(idOf), rows.map(idOf));
  }
  for (const { name, account, subscription, seen } of ledger.listeners) {
    const wanted = (ledger.logs.get(account.name) ?? []).filter((event) => isWanted(subscription, event));
    ledger.count("events heard by listeners", seen.length);
    compare(ledger, "A7", `the ${name}`, seen, wanted.map(idOf));
  }
  for (const { inbox, seen } of ledger.waiters) {
    const rows = await query<{ id: string }>(
      db.api,
      sql`select id from messages where inbox_id = ${inbox.id} and direction = 'inbound' order by seq`,
    );
    ledger.count("mails that were waited for", seen.length);
    compare(ledger, "A4", `who waited for mail of ${inbox.address}`, seen, rows.map(idOf));
  }
}

const idOf = ({ id }: { id: string }) => id;

/** Reports the first difference. */
function compare(
  ledger: Ledger,
  invariant: string,
  who: string,
  seen: readonly string[],
  all: readonly string[],
): void {
  const at = all.findIndex((id, index) => id !== seen[index]);
  if (at === -1 && seen.length === all.length) return;
  const index = at === -1 ? all.length : at;
  const [got, wanted] = [seen[index], all[index]];
  const what =
    got === undefined
      ? "ends there"
      : seen.indexOf(got) < index
        ? `has ${got} a second time`
        : wanted !== undefined && !seen.includes(wanted)
          ? `leaves ${wanted} out and has ${got}`
          : `has ${got} where ${wanted ?? "nothing"} is`;
  ledger.violation(invariant, `${who} ${what}, behind ${index} of ${all.length} (it has ${seen.length})`);
}
