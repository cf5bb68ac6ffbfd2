import { sql } from "drizzle-orm";
import { arrayOf, type Database, query } from "../../src/database/db.ts";
import { keptMs } from "./early-work.ts";
import type { Ledger, LedgerAccount, PassingInbox, RecipientState } from "./ledger.ts";
import { marginMs } from "./passing.ts";
import { ask, type World } from "./world.ts";

/** Waits until all mail that is due is removed, and every deleted inbox erased. */
export async function settlePassing(world: World, account: LedgerAccount, settleMs: number): Promise<void> {
  const endMs = Date.now() + keptMs + settleMs;
  // Its event is the last of the account, which stays.
  await ask(world, account, "POST", "/inboxes", { body: { username: "last" } });
  for (const inbox of world.ledger.passing) {
    const isDone = () => (inbox.deletedMs === undefined ? isEmpty(world, inbox) : isErased(world, inbox));
    while (!(await isDone().catch(() => false))) {
      if (Date.now() > endMs) {
        const what = inbox.deletedMs === undefined ? "has mail that was due" : "was deleted, and is not erased";
        world.ledger.violation("P3.3", `${inbox.id} ${what}`);
        break;
      }
      await Bun.sleep(300);
    }
  }
}

async function isEmpty(world: World, { id, account }: PassingInbox): Promise<boolean> {
  const { status, body } = await ask(world, account, "GET", `/inboxes/${id}/messages?limit=1`);
  return status === 200 && body.total === 0;
}

async function isErased(world: World, { id, account }: PassingInbox): Promise<boolean> {
  const { body } = await ask(world, account, "GET", `/audit?action=inbox.erased&target=${id}`);
  return Array.isArray(body.data) && body.data.length > 0;
}

export async function checkPassingRows(ledger: Ledger, db: Database): Promise<void> {
  const [erased = [], retained = []] = [true, false].map((isDeleted) =>
    ledger.passing.filter(({ deletedMs }) => (deletedMs !== undefined) === isDeleted),
  );
  for (const inbox of retained) await checkUsage(ledger, db, inbox);
  for (const inbox of erased) await checkErasure(ledger, db, inbox);
  await checkLeftRows(ledger, db, erased);
}

/** Removed mail stays in the usage: it has all mail of the ledger. A mail that is repeated after its removal is another one. */
async function checkUsage(ledger: Ledger, db: Database, inbox: PassingInbox): Promise<void> {
  const [row] = await query<{ received: number; sent: number }>(
    db.api,
    sql`select coalesce(sum(received), 0)::int as received, coalesce(sum(sent), 0)::int as sent from usage_days where inbox_id = ${inbox.id}`,
  );
  const { received = 0, sent = 0 } = row ?? {};
  ledger.count("retention: mails removed", received + sent);
  const [least] = mailsOf(inbox);
  const most = inbox.mails.reduce((sum, { recipients }) => sum + copiesOf(recipients.get(inbox.address)), 0);
  if (received < least || received > most)
    ledger.violation("P3.1", `${inbox.id} got ${least} to ${most} mails, and its usage says ${received}`);
  const certain = inbox.sends.filter(({ messageIds }) => messageIds.size > 0).length;
  const open = inbox.sends.filter((send) => send.open).length;
  if (sent < certain || sent > open)
    ledger.violation("P3.1", `${inbox.id} sent ${certain} to ${open} mails, and its usage says ${sent}`);
}

/** The numbers of mails that were answered 250, and of those that may be stored. */
function mailsOf({ mails, address }: PassingInbox): [least: number, most: number] {
  const states = mails.flatMap(({ recipients }) => recipients.get(address) ?? []);
  return [states.filter(({ acknowledged }) => acknowledged).length, states.filter(({ open }) => open).length];
}

/** How often a mail may be stored in an inbox that removes it: once, and again by each attempt that ended after a removal. */
function copiesOf(state: RecipientState | undefined): number {
  let count = 0;
  let storedMs = Number.NEGATIVE_INFINITY;
  for (const { fromMs, untilMs } of state?.attempts ?? []) {
    if (untilMs < storedMs + keptMs - marginMs) continue;
    count += 1;
    storedMs = fromMs;
  }
  return count;
}

async function checkErasure(ledger: Ledger, db: Database, inbox: PassingInbox): Promise<void> {
  const entries = await query<{ messages: number }>(
    db.api,
    sql`select (details->>'messages')::int as messages from audit_entries where action = 'inbox.erased' and target_id = ${inbox.id}`,
  );
  ledger.count("inboxes erased", entries.length);
  if (entries.length !== 1)
    ledger.violation("P3.4", `${inbox.id} was erased, and the audit says so ${entries.length} times`);
  const [least, most] = mailsOf(inbox);
  const sent = inbox.sends.filter((send) => send.open).length;
  for (const { messages } of entries)
    if (messages < least || messages > most + sent)
      ledger.violation("P3.4", `${inbox.id} had ${least} to ${most + sent} messages, and was erased with ${messages}`);
}

/** All tables with rows of inboxes, but for the address, which stays reserved, the keys, and the usage. */
async function checkLeftRows(ledger: Ledger, db: Database, erased: readonly PassingInbox[]): Promise<void> {
  const tables = await query<{ name: string }>(
    db.api,
    sql`select table_name as name from information_schema.columns
        where table_schema = 'public' and column_name = 'inbox_id' and table_name not in ('addresses', 'api_keys', 'usage_days')
        and not exists (select from pg_class where relname = table_name and relispartition)
        union select 'inboxes'`,
  );
  const ids = arrayOf(
    "text",
    erased.map(({ id }) => id),
  );
  for (const { name } of tables) {
    const column = name === "inboxes" ? sql`id` : sql`inbox_id`;
    const chosen = name === "events" ? notLast : sql`true`;
    const left = await query<{ id: string; count: number }>(
      db.api,
      sql`select ${column} as id, count(*)::int as count from ${sql.identifier(name)} where ${column} = any(${ids}) and ${chosen} group by 1`,
    );
    for (const { id, count } of left) ledger.violation("P3.4", `${id} was erased, and ${name} has ${count} rows of it`);
  }
}

/** The last event of the account stays, as it was when the inbox was erased: by a clock that is 23 hours ahead. */
const notLast = sql`exists (select from audit_entries erased join events later on later.account_id = events.account_id
  where erased.target_id = events.inbox_id and erased.action = 'inbox.erased'
    and (later.written_by, later.id) > (events.written_by, events.id)
    and later.occurred_at < erased.at - interval '23 hours')`;
