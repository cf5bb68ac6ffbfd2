/** A part of bench/sending.ts: 1,000 mails that are due at once (DRAFTS) over 100 inboxes, beside accepting as many sends, in turns. */
import { type BenchDatabase, onEngine } from "./support/database.ts";
import { median } from "./support/load.ts";
import { cpuMs } from "./support/process-usage.ts";
import { report } from "./support/report.ts";
import { headersOf, newInboxes, type SendingServer } from "./support/sends.ts";
import { startServiceProcess } from "./support/service.ts";

const inboxCount = 100;
const inParallel = 50;

export async function dispatch({ environment }: BenchDatabase, { rounds }: { rounds: number }): Promise<void> {
  const drafts = Number(process.env.DRAFTS ?? 1000);
  // Nothing listens there: going out is measured by `relay`.
  await using service = await startServiceProcess({
    ...environment,
    OUTBOUND: "smtp://127.0.0.1:1",
    OPEN_DRAFTS: "100000",
  });
  const inboxIds = await newInboxes(service, inboxCount);
  const accepted: number[] = [];
  const dispatched: { ms: number; cpuMicros: number }[] = [];
  for (let round = 0; round <= rounds; round += 1) {
    const beganMs = performance.now();
    await sendAll(service, inboxIds, drafts, {});
    const acceptedMs = performance.now() - beganMs;
    // Later than the last of them is accepted.
    const dueMs = Date.now() + 3 * acceptedMs + 2000;
    await sendAll(service, inboxIds, drafts, { sendAt: new Date(dueMs).toISOString() });
    if (Date.now() > dueMs) throw new Error("Cannot measure: the sends were due before the last was accepted");
    await Bun.sleep(dueMs - Date.now());
    const beganCpuMs = cpuMs(service.pid);
    await untilNoneWaits(service);
    // The first round warms up.
    if (round === 0) continue;
    accepted.push(acceptedMs);
    dispatched.push({ ms: Date.now() - dueMs, cpuMicros: ((cpuMs(service.pid) - beganCpuMs) * 1000) / drafts });
  }
  const perSecond = (ms: number) => (drafts * 1000) / ms;
  const rates = dispatched.map(({ ms }) => perSecond(ms));
  const cpu = median(dispatched.map(({ cpuMicros }) => cpuMicros)).toFixed(0);
  report({
    what: `${drafts} mails that are due at once, over ${inboxCount} inboxes${onEngine}`,
    value: median(rates),
    unit: "mails/s",
    beside: [
      {
        name: "accepting as many",
        value: median(accepted.map(perSecond)),
        ratio: median(rates.map((rate, index) => rate / perSecond(accepted[index] ?? Number.NaN))),
      },
    ],
    target: { ratio: { atLeast: 0.5 } },
    note: `CPU ${cpu} µs a mail`,
  });
  report({
    what: `the last of them after its time${onEngine}`,
    value: median(dispatched.map(({ ms }) => ms)),
    unit: "ms",
    target: { value: { atMost: 2000 } },
  });
}

let keys = 0;

async function sendAll(server: SendingServer, inboxIds: readonly string[], count: number, more: object) {
  let left = count;
  async function sender(): Promise<void> {
    while (left > 0) {
      left -= 1;
      keys += 1;
      const body = { to: `jane${keys % 100}@example.com`, subject: "Your order", body: "It is on its way.", ...more };
      const response = await fetch(`${server.apiUrl}/v1/inboxes/${inboxIds[keys % inboxIds.length]}/send`, {
        method: "POST",
        headers: { ...headersOf(server), prefer: "respond-async", "idempotency-key": `dispatch-${keys}` },
        body: JSON.stringify(body),
      });
      if (response.status !== 200) throw new Error(`Cannot send: ${response.status} ${await response.text()}`);
    }
  }
  await Promise.all(Array.from({ length: inParallel }, sender));
}

async function untilNoneWaits(server: SendingServer): Promise<void> {
  for (;;) {
    const response = await fetch(`${server.apiUrl}/v1/drafts?state=scheduled&limit=1`, { headers: headersOf(server) });
    const { data } = (await response.json()) as { data: unknown[] };
    if (data.length === 0) return;
    await Bun.sleep(10);
  }
}
