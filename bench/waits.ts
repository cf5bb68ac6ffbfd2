/**
 * `bun bench/waits.ts`: the time from a mail to the answer of a wait, beside its webhook and in another process, and the cost of
 * 5,000 idle waits (WAITS), with the memory once they have gone. DATABASE=embedded for the other database, which has one process.
 */
import { join } from "node:path";
import { connectRaw } from "../tests/support/raw-http.ts";
import { rawSmtp } from "../tests/support/raw-smtp.ts";
import { startReceiver } from "../tests/support/receiver.ts";
import { onEngine, startDatabase } from "./support/database.ts";
import { median } from "./support/load.ts";
import { cpuMs, residentMb, untilAtRest } from "./support/process-usage.ts";
import { report } from "./support/report.ts";
import { benchKey, type ServiceProcess, startServiceProcess } from "./support/service.ts";

const mails = Number(process.env.MAILS ?? 300);
const waits = Number(process.env.WAITS ?? 5_000);
const metricsToken = "token-of-the-metrics-in-benchmarks";
/** The time in which a process that rests gives memory back. */
const collectedMs = 20_000;
const idleSeconds = Number(process.env.SECONDS ?? 10);

interface Inbox {
  id: string;
  address: string;
}

const database = await startDatabase();
const environment = {
  ...database.environment,
  LISTENERS_PER_ACCOUNT: "100000",
  LISTENERS_PER_PROCESS: "100000",
  METRICS_TOKEN: metricsToken,
};
try {
  await using service = await startServiceProcess(environment);
  await measureWaking(service);
  await measureIdle(service);
} finally {
  await database.remove();
}

async function measureWaking(service: ServiceProcess): Promise<void> {
  const receiver = await startReceiver();
  await ask(service, "PUT", "/v1/webhook", { url: receiver.url });
  const inbox = await newInbox(service);
  const here = await wakeTimes(service, service, inbox, () => receiver.request(receiver.requests.length + 1));
  const toldMs = median(here.told);
  report({
    what: `Commit to answer of a wait, same process, p50${onEngine}`,
    value: median(here.waited),
    unit: "ms",
    // On the embedded database both may come before the sender has read its 250.
    ...(toldMs > 0 && {
      beside: [{ name: "commit to webhook receiver", value: toldMs }],
      target: { ratio: { atMost: 1.5 } },
    }),
    note: "the commit is the 250 that the sender of the mail reads",
  });
  if (database.url !== undefined) {
    await using other = await startServiceProcess(environment);
    const there = await wakeTimes(service, other, inbox, async () => undefined);
    report({
      what: "Commit to answer of a wait in another process, p50",
      value: median(there.waited),
      unit: "ms",
      target: { value: { atMost: 10 } },
    });
  }
  await receiver.close();
  await ask(service, "DELETE", "/v1/webhook");
}

/** One mail after the other to a wait; times from the 250. */
async function wakeTimes(
  receiving: ServiceProcess,
  waiting: ServiceProcess,
  inbox: Inbox,
  toldOf: () => Promise<unknown>,
): Promise<{ waited: number[]; told: number[] }> {
  const times = { waited: [] as number[], told: [] as number[] };
  const client = await rawSmtp(receiving.smtpPort);
  await client.reply();
  await client.ask("EHLO bench.example");
  let cursor = (await waitFor(waiting, inbox, "timeout=0")).cursor;
  for (let mail = 0; mail < mails; mail += 1) {
    const answer = waitFor(waiting, inbox, `timeout=60&after=${cursor}`).then((body) => ({
      body,
      atMs: performance.now(),
    }));
    const told = toldOf().then(() => performance.now());
    // Lets the wait sleep and earlier work finish.
    await Bun.sleep(100);
    for (const command of ["MAIL FROM:<jane@example.com>", `RCPT TO:<${inbox.address}>`, "DATA"])
      await client.ask(command);
    await client.ask(
      `From: jane@example.com\r\nSubject: Mail ${mail}\r\nMessage-ID: <${mail}@${waiting.pid}>\r\n\r\nHello\r\n.`,
    );
    const committedMs = performance.now();
    const { body, atMs } = await answer;
    cursor = body.cursor;
    times.waited.push(Math.max(0, atMs - committedMs));
    times.told.push(Math.max(0, (await told) - committedMs));
  }
  client.destroy();
  return times;
}

async function measureIdle(service: ServiceProcess): Promise<void> {
  const inboxes: Inbox[] = [];
  while (inboxes.length < waits) {
    inboxes.push(...(await Promise.all(Array.from({ length: 50 }, () => newInbox(service)))));
  }
  const pids = [service.pid];
  await untilAtRest(pids);
  const [restCpu, restMb] = [await cpuOver(service.pid), residentMb(service.pid)];
  const connections = await waitsOn(service, inboxes);
  await untilAtRest(pids);
  const [waitingCpu, waitingMb] = [await cpuOver(service.pid), residentMb(service.pid)];
  const leftMs = await leave(service, connections);
  await Bun.sleep(collectedMs);
  const leftMb = residentMb(service.pid);
  const bareKib = await bareKibOfEach(inboxes);
  report({
    what: `${inboxes.length} waits on as many inboxes, no mail: CPU of the process${onEngine}`,
    value: waitingCpu - restCpu,
    unit: "% of a core",
    target: { value: { atMost: 2 } },
    note: `${restCpu.toFixed(1)} % at rest`,
  });
  report({
    what: `${inboxes.length} waits on as many inboxes: memory of each${onEngine}`,
    value: ((waitingMb - restMb) * 1024) / inboxes.length,
    unit: "KiB",
    beside: [{ name: "a bare route of Elysia", value: bareKib }],
    target: { value: { atMost: 12 } },
    note: `${restMb.toFixed(0)} MB before, ${waitingMb.toFixed(0)} MB while they wait`,
  });
  report({
    what: `${inboxes.length} waits whose clients leave, until none is left${onEngine}`,
    value: leftMs,
    unit: "ms",
    target: { value: { atMost: 1_000 } },
  });
  report({
    what: `${inboxes.length} waits whose clients have left: memory after ${collectedMs / 1000} s${onEngine}`,
    value: leftMb,
    unit: "MB",
    beside: [{ name: "before they came", value: restMb }],
    target: { ratio: { atMost: 1.1 } },
  });
}

/** The memory of each request in a server that does nothing else. */
async function bareKibOfEach(inboxes: readonly Inbox[]): Promise<number> {
  const bare = Bun.spawn([process.execPath, join(import.meta.dir, "bare-waits.ts")], { stdout: "pipe" });
  try {
    const { value } = await bare.stdout.getReader().read();
    await untilAtRest([bare.pid]);
    const restMb = residentMb(bare.pid);
    const connections = await waitsOn(
      { apiUrl: `http://127.0.0.1:${new TextDecoder().decode(value).trim()}` },
      inboxes,
    );
    await untilAtRest([bare.pid]);
    const waitingMb = residentMb(bare.pid);
    for (const connection of connections) connection.end();
    return ((waitingMb - restMb) * 1024) / inboxes.length;
  } finally {
    bare.kill();
    await bare.exited;
  }
}

/** The time until the service holds none of them. */
async function leave(service: ServiceProcess, connections: readonly { end(): void }[]): Promise<number> {
  const startedMs = performance.now();
  for (const connection of connections) connection.end();
  while ((await openWaits(service)) > 0) await Bun.sleep(10);
  return performance.now() - startedMs;
}

async function openWaits({ apiUrl }: ServiceProcess): Promise<number> {
  const response = await fetch(`${apiUrl}/metrics`, { headers: { authorization: `Bearer ${metricsToken}` } });
  const count = /^inboxd_listeners\{kind="wait"\} (\d+)$/m.exec(await response.text())?.[1];
  if (count === undefined) throw new Error("The metrics do not say how many wait");
  return Number(count);
}

/** Over raw connections, since Bun's client has at most 256. */
async function waitsOn(
  { apiUrl, apiKey = benchKey }: Pick<ServiceProcess, "apiUrl"> & { apiKey?: string },
  inboxes: readonly Inbox[],
) {
  const target = { port: Number(new URL(apiUrl).port) };
  const connections: Awaited<ReturnType<typeof connectRaw>>[] = [];
  for (const { id } of inboxes) {
    const connection = await connectRaw(target);
    const head = `GET /v1/inboxes/${id}/wait?timeout=60 HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${apiKey}`;
    connection.send(`${head}\r\n\r\n`);
    connections.push(connection);
  }
  return connections;
}

/** In per cent of a core. */
async function cpuOver(pid: number): Promise<number> {
  const before = cpuMs(pid);
  await Bun.sleep(idleSeconds * 1000);
  return (cpuMs(pid) - before) / (idleSeconds * 10);
}

async function newInbox(service: ServiceProcess): Promise<Inbox> {
  return (await ask(service, "POST", "/v1/inboxes", {})) as Inbox;
}

async function waitFor(
  service: ServiceProcess,
  inbox: Inbox,
  query: string,
): Promise<{ message: unknown; cursor: string }> {
  const path = `/v1/inboxes/${inbox.id}/wait?${query}`;
  return (await ask(service, "GET", path)) as { message: unknown; cursor: string };
}

async function ask({ apiUrl, apiKey }: ServiceProcess, method: string, path: string, body?: object): Promise<unknown> {
  const response = await fetch(`${apiUrl}${path}`, {
    method,
    headers: { authorization: `Bearer ${apiKey}`, "content-type": "application/json" },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path} was answered ${response.status}: ${text}`);
  return text === "" ? undefined : JSON.parse(text);
}
