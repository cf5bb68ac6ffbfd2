/**
 * `bun run fuzz [--requests N] [--seed S] [--database embedded|postgres]`: sends right, wrong and odd requests made from the
 * OpenAPI document, and checks each answer against it. Exits with 1 if an answer is a failure of the service or undocumented.
 */
import { parseArgs } from "node:util";
import { leaveNothing } from "../scripts/leave-nothing.ts";
import { fuzz } from "../tests/support/fuzz/run.ts";
import { startPostgres } from "../tests/support/postgres.ts";

leaveNothing();
const { values } = parseArgs({
  options: {
    requests: { type: "string", default: "30000" },
    seed: { type: "string", default: String(Date.now() % 1_000_000) },
    database: { type: "string", default: "embedded" },
  },
});
const requests = Number(values.requests);
const seed = Number(values.seed);
if (!Number.isInteger(requests) || !Number.isInteger(seed) || !["embedded", "postgres"].includes(values.database)) {
  console.error("Cannot fuzz: --requests and --seed are whole numbers, --database is embedded or postgres");
  process.exit(2);
}

console.log(`fuzz: ${requests} requests, ${values.database}, seed ${seed}`);
const startedAt = performance.now();
const server = values.database === "postgres" ? await startPostgres() : undefined;
await server?.ask("create database fuzz");
const database = server === undefined ? "embedded" : { url: server.url("fuzz"), drop: async () => undefined };
const { faults, answers } = await fuzz({ requests, seed, database });
await server?.remove();

for (const [name, count] of [...answers].sort()) console.log(`${String(count).padStart(9)}  ${name}`);
for (const [fault, { count, sample }] of faults) console.log(`\nviolation: ${fault}, ${count} times\n  ${sample}`);
console.log(`\n${faults.size} violations in ${((performance.now() - startedAt) / 1000).toFixed(1)} s`);
process.exit(faults.size === 0 ? 0 : 1);
