import { sql } from "drizzle-orm";
import house from "../../drizzle/0000_house.sql" with { type: "text" };
import storage from "../../drizzle/0001_storage.sql" with { type: "text" };
import eventLog from "../../drizzle/0002_event_log.sql" with { type: "text" };
import claimers from "../../drizzle/0003_claimers.sql" with { type: "text" };
import beyondCore from "../../drizzle/0004_beyond_core.sql" with { type: "text" };
import inboxRevision from "../../drizzle/0005_inbox_revision.sql" with { type: "text" };
import mailClient from "../../drizzle/0006_mail_client.sql" with { type: "text" };
import keyNames from "../../drizzle/0007_key_names.sql" with { type: "text" };
import eventsAndEndpoints from "../../drizzle/0008_events_and_endpoints.sql" with { type: "text" };
import recipientsAndReports from "../../drizzle/0009_recipients_reports.sql" with { type: "text" };
import outboxErrors from "../../drizzle/0010_outbox_errors.sql" with { type: "text" };
import usedTokens from "../../drizzle/0011_used_tokens.sql" with { type: "text" };
import eventPositions from "../../drizzle/0012_event_positions.sql" with { type: "text" };
import accountsInLine from "../../drizzle/0013_accounts_in_line.sql" with { type: "text" };
import answeredEndpoints from "../../drizzle/0014_answered_endpoints.sql" with { type: "text" };
import journal from "../../drizzle/meta/_journal.json" with { type: "json" };
import { type Database, type Db, query, transaction } from "../database/db.ts";
import { lockNumber } from "./locks.ts";

/** One step of the schema: the name of its file in `drizzle/`, and its text. */
export interface Migration {
  tag: string;
  text: string;
}

/** The text of each file in `drizzle/`, imported so that the binary carries it; a test compares it with the journal. */
const texts: Readonly<Record<string, string>> = {
  "0000_house": house,
  "0001_storage": storage,
  "0002_event_log": eventLog,
  "0003_claimers": claimers,
  "0004_beyond_core": beyondCore,
  "0005_inbox_revision": inboxRevision,
  "0006_mail_client": mailClient,
  "0007_key_names": keyNames,
  "0008_events_and_endpoints": eventsAndEndpoints,
  "0009_recipients_reports": recipientsAndReports,
  "0010_outbox_errors": outboxErrors,
  "0011_used_tokens": usedTokens,
  "0012_event_positions": eventPositions,
  "0013_accounts_in_line": accountsInLine,
  "0014_answered_endpoints": answeredEndpoints,
};

export const migrations: readonly Migration[] = journal.entries.map(({ tag }) => {
  const text = texts[tag];
  if (text === undefined) throw new Error(`Cannot migrate: ${tag} is in the journal but not in migrate.ts`);
  return { tag, text };
});

/**
 * Brings the schema to what this program knows. Each step is one transaction that takes the lock first and then
 * looks whether it is still to be done: so any number of processes may start at once, and one that dies half
 * way leaves a step either done or untouched.
 */
export async function migrate(db: Database, steps: readonly Migration[] = migrations): Promise<void> {
  await db.maintain(async (own) => {
    for (let done = await countDone(own, steps); done < steps.length; ) {
      done = await takeNextStep(own, steps);
    }
  });
}

async function takeNextStep(db: Db, steps: readonly Migration[]): Promise<number> {
  return transaction(db, async (tx) => {
    await query(tx, sql`select pg_advisory_xact_lock(${lockNumber("migrating")})`);
    await query(tx, makeLedger);
    const done = await countDone(tx, steps);
    const step = steps[done];
    if (!step) return done;
    await tx.script(step.text);
    await query(tx, sql`insert into schema_steps (step, tag) values (${done}, ${step.tag})`);
    return done + 1;
  });
}

/** How many steps the database has taken. Throws when they are not the first of ours. */
async function countDone(db: Db, steps: readonly Migration[]): Promise<number> {
  const [ledger] = await query<{ exists: boolean }>(db, sql`select to_regclass('schema_steps') is not null as exists`);
  if (ledger?.exists !== true) return 0;
  const rows = await query<{ tag: string }>(db, sql`select tag from schema_steps order by step`);
  const tags = rows.map(({ tag }) => tag);
  const unknown = tags.find((tag, step) => steps[step]?.tag !== tag);
  if (unknown !== undefined) {
    throw new Error(
      `Cannot use this database: its schema is newer than this inboxd (it has step ${unknown}, which this version does not know); start the version that made it, or a later one`,
    );
  }
  return tags.length;
}

const makeLedger = sql`create table if not exists schema_steps (
  step integer primary key,
  tag text not null,
  done_at timestamptz not null default now()
)`;
