/**
 * `bun bench/torture/wait-race.ts [rounds]`: in each round a mail is committed between 50 ms before and 50 ms after a wait for it
 * begins; on the embedded database, on Postgres, by two processes' worth of it, and with every notification thrown away. Each mail must
 * be found, at the latest 1.2 s after its commit.
 */
import { openDatabase } from "../../src/database/db.ts";
import { sharedChanges } from "../../src/flows/changes.ts";
import { migrate } from "../../src/store/migrate.ts";
import { emptyDatabase } from "../../tests/support/database.ts";
import { type EngineName, openEngine } from "../../tests/support/engines.ts";
import { outboxWorld } from "../../tests/support/outbox-world.ts";
import { raceOfWaits } from "../../tests/support/wait-race.ts";
import { deafChanges, waitsOn } from "../../tests/support/waits.ts";
import { percentile } from "../support/load.ts";

const rounds = Number(process.argv[2] ?? 10_000);
const latestMs = 1_200;
/** A round without notifications takes one second. */
const atOnce = 100;
let failed = false;

for (const engine of ["embedded", "postgres"] as const) {
  await raceOn(engine, "notifications of the same process", false);
  await raceOn(engine, "every notification thrown away", true);
}
await raceOfTwo("notified by the other process", false);
await raceOfTwo("every notification of the other process thrown away", true);
process.exit(failed ? 1 : 0);

async function raceOn(engine: EngineName, how: string, isDeaf: boolean): Promise<void> {
  const under = await openEngine(engine);
  await migrate(under.db);
  const world = await outboxWorld(under.db);
  const waits = waitsOn(world, isDeaf ? { changes: deafChanges } : {});
  say(`${engine}, ${how}`, await raceOfWaits({ world, waits, rounds, atOnce }));
  await under.remove();
}

/** Each with its own connections: one receives the mail, the other waits for it. */
async function raceOfTwo(how: string, isDeaf: boolean): Promise<void> {
  const made = await emptyDatabase();
  const [one, other] = [
    await openDatabase({ url: made.url, dataDir: "" }),
    await openDatabase({ url: made.url, dataDir: "" }),
  ];
  await migrate(one);
  const receiver = await outboxWorld(one);
  const changesOfOne = await sharedChanges(receiver.deps);
  const world = await outboxWorld(one, { deps: { changes: changesOfOne } });
  const waiter = await outboxWorld(other);
  const changesOfOther = await sharedChanges(waiter.deps);
  const waits = waitsOn(waiter, { changes: isDeaf ? deafChanges : changesOfOther });
  say(`two on one Postgres, ${how}`, await raceOfWaits({ world, waits, rounds, atOnce }));
  for (const changes of [changesOfOne, changesOfOther]) await changes.close();
  for (const db of [one, other]) await db.close();
  await made.drop();
}

function say(where: string, { missed, tookMs }: Awaited<ReturnType<typeof raceOfWaits>>): void {
  const sorted = tookMs.toSorted((left, right) => left - right);
  const [p50, p99, most] = [percentile(sorted, 0.5), percentile(sorted, 0.99), sorted.at(-1) ?? 0];
  const late = tookMs.filter((ms) => ms > latestMs).length;
  if (missed.length > 0 || late > 0) failed = true;
  console.log(
    `${where}: ${tookMs.length} rounds, ${missed.length} missed, ${late} later than ${latestMs} ms; p50 ${p50.toFixed(1)}, p99 ${p99.toFixed(1)}, latest ${most.toFixed(0)} ms`,
  );
}
