/**
 * `bun bench/api.ts`: `GET /v1/inboxes/{id}` over HTTP on Postgres, against a bare Elysia route with one prepared
 * select, in turns within one run. Five rounds, medians, the ratio first.
 */
import { join } from "node:path";
import { startPostgres } from "../tests/support/postgres.ts";
import { load, median } from "./support/load.ts";
import { startServiceProcess } from "./support/service.ts";

const connections = 32;
const seconds = Number(process.env.SECONDS ?? 3);

const server = await startPostgres();
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
  for (let round = 0; round < 6; round++) {
    const inboxd = await load({ url: `${service.apiUrl}/v1/inboxes/${id}`, headers, connections, seconds });
    const peer = await load({ url: `http://127.0.0.1:${port?.trim()}/v1/inboxes/${id}`, connections, seconds });
    // The first round warms both up.
    if (round === 0) continue;
    rates.inboxd.push(inboxd.perSecond);
    rates.bare.push(peer.perSecond);
    if (inboxd.statuses["200"] !== inboxd.requests) throw new Error(`not all 200: ${JSON.stringify(inboxd.statuses)}`);
  }
  const ratios = rates.inboxd.map((rate, index) => rate / (rates.bare[index] ?? Number.NaN));
  process.stdout.write(
    `GET /v1/inboxes/{id}, ${connections} connections, ratio to bare Elysia + select: ${median(ratios).toFixed(2)} (target 0.50)\n` +
      `  inboxd ${median(rates.inboxd).toFixed(0)}/s, bare ${median(rates.bare).toFixed(0)}/s\n`,
  );
} finally {
  bare.kill();
  await service.stop();
  await server.remove();
}
