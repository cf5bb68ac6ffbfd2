/** A part of bench/sending.ts: accepting sends of an account with 1,000,000 suppressions (SUPPRESSIONS), beside one without, in turns. */
import type { BenchDatabase } from "./support/database.ts";
import { median } from "./support/load.ts";
import { type Measured, measured } from "./support/measured-sends.ts";
import { report } from "./support/report.ts";
import { newInboxes, startProgram } from "./support/sends.ts";

interface How {
  rounds: number;
  seconds: number;
  inboxCount: number;
  connections: number;
}

export async function suppressed(
  database: BenchDatabase,
  { rounds, seconds, inboxCount, connections }: How,
): Promise<void> {
  const { server: postgres } = database;
  if (postgres === undefined) throw new Error("Cannot measure: the embedded database can't be filled from outside");
  const count = Number(process.env.SUPPRESSIONS ?? 1_000_000);
  await postgres.ask("create database crowded");
  const without = await startProgram("accepting.ts", database.environment);
  const crowded = await startProgram("accepting.ts", {
    ...database.environment,
    DATABASE_URL: postgres.url("crowded"),
  });
  try {
    const [few, many] = [await newInboxes(without, inboxCount), await newInboxes(crowded, inboxCount)];
    await postgres.ask(
      `insert into suppressions (id, account_id, address, inbox_id, reason, created_at, expires_at)
       select 'sup_' || lpad(number::text, 26, '0'), (select id from accounts), 'gone' || number || '@example.com', '', 'bounce',
         now(), now() + interval '90 days' from generate_series(1, ${count}) number`,
      "crowded",
    );
    await postgres.ask("vacuum analyze suppressions", "crowded");
    const [withThem, withNone]: [Measured[], Measured[]] = [[], []];
    for (let round = 0; round <= rounds; round += 1) {
      const none = await measured(database, without, { inboxIds: few, connections, seconds });
      const full = await measured(database, crowded, { inboxIds: many, connections, seconds });
      // The first round warms up both.
      if (round === 0) continue;
      withNone.push(none);
      withThem.push(full);
    }
    const ratios = withThem.map(({ perSecond }, round) => perSecond / (withNone[round]?.perSecond ?? Number.NaN));
    const rate = (of: readonly Measured[]) => median(of.map(({ perSecond }) => perSecond));
    report({
      what: `accept with ${count} suppressions, ${connections} connections, ${inboxCount} inboxes`,
      value: rate(withThem),
      unit: "requests/s",
      beside: [{ name: "without", value: rate(withNone), ratio: median(ratios) }],
      target: { ratio: { atLeast: 0.95 } },
    });
  } finally {
    without.stop();
    crowded.stop();
  }
}
