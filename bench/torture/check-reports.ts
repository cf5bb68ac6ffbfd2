import { sql } from "drizzle-orm";
import { type Database, query } from "../../src/database/db.ts";
import type { Ledger } from "./ledger.ts";
import { isRefused } from "./relay.ts";

/** Each report with a 250 is stored once, with its event, its message's delivery and its suppression. */
export async function checkReports(ledger: Ledger, db: Database): Promise<void> {
  await checkTold(ledger, db);
  await checkSuppressed(ledger, db);
  for (const [what, statement] of rules) {
    for (const row of await query(db.api, sql.raw(statement)))
      ledger.violation("T2", `${what}: ${JSON.stringify(row)}`);
  }
}

interface StoredReport {
  recipient: string;
  kind: string;
}

async function checkTold(ledger: Ledger, db: Database): Promise<void> {
  const stored = await query<StoredReport>(db.api, sql`select recipient, kind from reports`);
  const counted = Map.groupBy(stored, ({ recipient, kind }) => `${recipient} ${kind}`);
  const told = Map.groupBy(ledger.reports, ({ address, kind }) => `${address} ${kind}`);
  for (const [name, reports] of told) {
    const count = counted.get(name)?.length ?? 0;
    const wanted = reports.some(({ acknowledged }) => acknowledged) ? 1 : 0;
    const most = reports.some(({ open }) => open) ? 1 : 0;
    if (count < wanted) ledger.violation("T2", `the report ${name}, answered 250, is not there`);
    if (count > most) ledger.violation("T2", `the report ${name} is there ${count} times`);
  }
  for (const name of counted.keys()) if (!told.has(name)) ledger.violation("T2", `nobody told of ${name}`);
  ledger.count("reports there", stored.length);
}

/** The expected suppressions: recipients that were refused, or bounced for good as the only one of their mail. */
async function checkSuppressed(ledger: Ledger, db: Database): Promise<void> {
  const rows = await query<{ address: string }>(db.api, sql`select address from suppressions`);
  const suppressed = new Set(rows.map(({ address }) => address));
  const bounced = ledger.reports.filter(({ kind }) => kind === "bounced");
  // Recipients who share a return path are not suppressed by its reports.
  const several = await query<{ address: string }>(
    db.api,
    sql`select address from recipients where message_id in
          (select message_id from recipients group by message_id having count(*) > 1)`,
  );
  const sharing = new Set(several.map(({ address }) => address));
  const alone = bounced.filter(({ address }) => !sharing.has(address));
  for (const { address, acknowledged } of alone)
    if (acknowledged && !suppressed.has(address)) ledger.violation("T5", `${address} bounced, and is not suppressed`);
  const mayBe = new Set(bounced.flatMap(({ address, open }) => (open ? [address] : [])));
  for (const address of suppressed) {
    const [token = ""] = address.split("@");
    if (!mayBe.has(address) && !isRefused(token)) ledger.violation("T5", `${address} is suppressed for nothing`);
  }
  ledger.count("suppressions there", rows.length);
}

const ranks = "array['delayed', 'delivered', 'bounced', 'complained']";

const rules: readonly [what: string, rowsThatBreakIt: string][] = [
  [
    "a report has not one event",
    `select r.id, count(e.id) from reports r
     left join events e on e.type = 'message.' || r.kind and e.data->'report'->>'id' = r.id group by r.id having count(e.id) <> 1`,
  ],
  [
    "an automatic suppression has not one event",
    `select s.id, count(e.id) from suppressions s
     left join events e on e.type = 'suppression.added' and e.data->'suppression'->>'id' = s.id
     where s.reason <> 'manual' group by s.id having count(e.id) <> 1`,
  ],
  [
    "a message does not show the worst of what was reported",
    `select m.id, m.delivery->>'state', max(array_position(${ranks}, r.kind)) from messages m join reports r on r.message_id = m.id
     group by m.id having array_position(${ranks}, m.delivery->>'state') is distinct from max(array_position(${ranks}, r.kind))`,
  ],
  [
    "a message shows what nobody reported",
    `select m.id from messages m where m.delivery is not null and not exists (select from reports r where r.message_id = m.id)`,
  ],
  [
    "a recipient does not show the worst of what was reported of him",
    `select r.message_id, r.address, r.delivery->>'state' from recipients r
     left join reports p on p.message_id = r.message_id and p.recipient = r.address
     group by r.message_id, r.position, r.address, r.delivery
     having array_position(${ranks}, r.delivery->>'state') is distinct from max(array_position(${ranks}, p.kind))`,
  ],
  [
    "a report has no bytes",
    `select r.id from reports r where not exists (select from source_chunks c where c.source_id = r.source_id)`,
  ],
];
