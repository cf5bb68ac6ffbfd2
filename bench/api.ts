/**
 * `bun bench/api.ts`: `GET /v1/inboxes/{id}` over HTTP on Postgres, against a bare Elysia route with one prepared
 * select, in turns within one run. Five rounds, medians, the ratio first.
 */
import { join } from "node:path";
import { startFlushingPostgres } from "./support/database.ts";
import { load, median } from "./support/load.ts";
import { report } from "./support/report.ts";
import { startServiceProcess } from "./support/service.ts";

const connections = 32;
const seconds = Number(process.env.SECONDS ?? 3);
const rounds = Number(process.env.ROUNDS ?? 5);

const server = await startFlushingPostgres();
await server.ask("create database bench");
const url = server.url("bench");
const service = await startServiceProcess({ DATABASE_URL: url });
const bare = Bun.spawn([process.execPath, join(import.meta.dir, "bare-elysia.ts")], {
  env: { ...process.env, DATABASE_URL: url },
  stdout: "pipe",
  stderr: "inherit",
});
try {
  const { value: port } = await bare.stdout.pipeThrough(new TextDecoderStream()).getReader().read();
  const headers = { authorization: `Bearer ${service.apiKey}` };
  const made = await fetch(`${service.apiUrl}/v1/inboxes`, { method: "POST", headers });
  const { id } = (await made.json()) as { id: string };

  const rates: Record<"inboxd" | "bare", number[]> = { inboxd: [], bare: [] };
  for (let round = 0; round <= rounds; round++) {
    const inboxd = await load({ url: `${service.apiUrl}/v1/inboxes/${id}`, headers, connections, seconds });
    const peer = await load({ url: `http://127.0.0.1:${port?.trim()}/v1/inboxes/${id}`, connections, seconds });
    // The first round warms up both.
    if (round === 0) continue;
    rates.inboxd.push(inboxd.perSecond);
    rates.bare.push(peer.perSecond);
    if (inboxd.statuses["200"] !== inboxd.requests) throw new Error(`not all 200: ${JSON.stringify(inboxd.statuses)}`);
  }
  const ratios = rates.inboxd.map((rate, index) => rate / (rates.bare[index] ?? Number.NaN));
  report({
    what: `GET /v1/inboxes/{id}, ${connections} connections`,
    value: median(rates.inboxd),
    unit: "requests/s",
    beside: [{ name: "bare Elysia + select", value: median(rates.bare), ratio: median(ratios) }],
    target: { ratio: { atLeast: 1 } },
  });
} finally {
  bare.kill();
  await service.stop();
  await server.remove();
}
