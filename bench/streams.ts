/**
 * `bun bench/streams.ts`: streams of events on Postgres (DATABASE=embedded for the other one): one event to a thousand streams beside a bare
 * Bun server that writes the same bytes to as many, a long replay over one connection beside the log read by pages, and how soon a
 * stream hears beside a webhook. LISTENERS=1000 and EVENTS=100000 say how many.
 */
import { connect, type Socket } from "node:net";
import { sql } from "drizzle-orm";
import { openDatabase, query } from "../src/database/db.ts";
import { rawSmtp } from "../tests/support/raw-smtp.ts";
import { deliver } from "../tests/support/world.ts";
import { engine, onEngine, startDatabase } from "./support/database.ts";
import { median } from "./support/load.ts";
import { forgetPeak, peakMb, residentMb, untilAtRest } from "./support/process-usage.ts";
import { report, reportSkipped } from "./support/report.ts";
import { seedInbox } from "./support/seed.ts";
import { startServiceProcess } from "./support/service.ts";

const listeners = Number(process.env.LISTENERS ?? 1_000);
const events = Number(process.env.EVENTS ?? (engine === "embedded" ? 20_000 : 100_000));
const rounds = Number(process.env.ROUNDS ?? 5);
const newline = 10;
const mail = `From: jane@example.com\r\nTo: ada@example.org\r\nSubject: One event\r\n\r\n${"A line of some words.\r\n".repeat(20)}`;
const metricsToken = "token-of-the-metrics-in-benchmarks";

if (process.argv[2] === "bare") bareServer();
else await main();

async function main(): Promise<void> {
  const database = await startDatabase(["shared_buffers=1GB"]);
  await (await startServiceProcess(database.environment)).stop();
  await seedLog();
  const service = await startServiceProcess({
    ...database.environment,
    METRICS_TOKEN: metricsToken,
    EVENT_RETENTION_DAYS: "3650",
  });
  const headers = { authorization: `Bearer ${service.apiKey}` };
  try {
    await untilAtRest([service.pid]);
    await replay();
    await broadcast();
    await latency();
  } finally {
    await service.stop();
    await database.remove();
  }

  /** A log of this length, of one inbox. */
  async function seedLog(): Promise<void> {
    const db = await openDatabase({
      url: database.url,
      dataDir: database.dataDir,
      timeouts: { statementMs: 0, deadlineMs: 0, acquireMs: 600_000 },
    });
    const [account] = await query<{ id: string }>(db.work, sql`select id from accounts`);
    const accountId = account?.id ?? "";
    await db.maintain(async (own) => {
      await seedInbox(own.script, { accountId, number: 1, messages: Math.ceil(events / 0.9) });
      await query(
        own,
        sql`insert into events (id, account_id, inbox_id, thread_id, message_id, type, occurred_at)
            select 'evt' || substr(id, 4), ${accountId}, inbox_id, thread_id, id, 'message.received', created_at
            from messages where direction = 'inbound' order by seq limit ${events}`,
      );
    });
    await db.close();
  }

  async function replay(): Promise<void> {
    const [streamed, paged]: [number[], number[]] = [[], []];
    let grownMb = 0;
    for (let round = 0; round < rounds; round += 1) {
      paged.push(await perSecond(byPages));
      const beforeMb = residentMb(service.pid);
      await forgetPeak(service.pid);
      streamed.push(await perSecond(byStream));
      grownMb = Math.max(grownMb, peakMb(service.pid) - beforeMb);
    }
    report({
      what: `replay of ${events} events over one connection${onEngine}`,
      value: median(streamed),
      unit: "events/s",
      beside: [{ name: "the log read by pages of 100", value: median(paged) }],
      target: { ratio: { atLeast: 0.7 } },
      note: `${grownMb.toFixed(0)} MB more memory at most, 30 wanted`,
    });
  }

  async function byPages(): Promise<void> {
    for (let after = "start", hasMore = true; hasMore; ) {
      const page = await fetch(`${service.apiUrl}/v1/events?limit=100&after=${after}`, { headers });
      if (!page.ok) throw new Error(`The log answered ${page.status}: ${await page.text()}`);
      const body = (await page.json()) as { data: { event_id: string }[]; hasMore: boolean };
      after = body.data.at(-1)?.event_id ?? after;
      hasMore = body.hasMore;
    }
  }

  async function byStream(): Promise<void> {
    const leaving = new AbortController();
    const answer = await fetch(`${service.apiUrl}/v1/events/stream?after=start`, { headers, signal: leaving.signal });
    let told = 0;
    for await (const chunk of answer.body ?? []) {
      for (let at = chunk.indexOf(newline); at !== -1; at = chunk.indexOf(newline, at + 1))
        if (chunk[at + 1] === newline) told += 1;
      // Two frames come before the first event; a frame's end that is split in two is not counted.
      if (told >= events - 10) break;
    }
    leaving.abort();
  }

  async function broadcast(): Promise<void> {
    const what = `one event to ${listeners} streams, from its commit to the last of them${onEngine}`;
    // There the streams have the event before the sender has read its 250, where the time starts.
    if (engine === "embedded") return reportSkipped(what, "all of them have it before the mail's 250 is read");
    const { id, address } = await newInbox();
    const bare = Bun.spawn([process.execPath, import.meta.path, "bare"], { stdout: "pipe", stderr: "inherit" });
    const bareUrl = new TextDecoder().decode((await bare.stdout.getReader().read()).value).trim();
    const [ours, theirs]: [number[], number[]] = [[], []];
    let reads = 0;
    try {
      const streams = await openAll(service.apiUrl, `/v1/events/stream?inbox_id=${id}`, service.apiKey);
      const plain = await openAll(bareUrl, "/", "");
      for (let round = 0; round < rounds * 3; round += 1) {
        const before = await feedReads();
        const size = streams.sizeOfNext();
        await deliver(service.smtpPort, mail, address);
        const startedMs = performance.now();
        await streams.untilAllHave(1);
        ours.push(performance.now() - startedMs);
        reads = Math.max(reads, (await feedReads()) - before);
        const bytes = size();
        const bareMs = performance.now();
        await fetch(bareUrl, { method: "POST", body: "x".repeat(bytes) });
        await plain.untilAllHave(bytes);
        theirs.push(performance.now() - bareMs);
      }
      streams.close();
      plain.close();
    } finally {
      bare.kill();
    }
    report({
      what,
      value: (listeners * 1_000) / median(ours),
      unit: "streams/s",
      beside: [{ name: "a bare Bun broadcast of the same bytes", value: (listeners * 1_000) / median(theirs) }],
      target: { ratio: { atLeast: 0.5 } },
      note: `${reads} feed reads for an event at most, that of each second counted`,
    });
  }

  async function latency(): Promise<void> {
    const { id, address } = await newInbox();
    let hook = Promise.withResolvers<number>();
    const receiver = Bun.serve({
      port: 0,
      fetch() {
        hook.resolve(performance.now());
        return new Response();
      },
    });
    await fetch(`${service.apiUrl}/v1/webhook`, {
      method: "PUT",
      headers: { ...headers, "content-type": "application/json" },
      body: JSON.stringify({ url: receiver.url.href }),
    });
    const stream = await openAll(service.apiUrl, `/v1/events/stream?inbox_id=${id}`, service.apiKey, 1);
    const [heard, hooked, committed]: [number[], number[], number[]] = [[], [], []];
    for (let count = 0; count < 40 * rounds; count += 1) {
      hook = Promise.withResolvers();
      const session = await rawSmtp(service.smtpPort);
      await session.reply();
      for (const word of ["EHLO bench.example", "MAIL FROM:<jane@example.com>", `RCPT TO:<${address}>`, "DATA"])
        await session.ask(word);
      stream.sizeOfNext();
      const startedMs = performance.now();
      session.send(Buffer.from(`${mail}.\r\n`));
      const [, heardMs, hookedMs] = await Promise.all([
        session.reply().then(() => committed.push(performance.now() - startedMs)),
        stream.untilAllHave(1).then(() => performance.now()),
        hook.promise,
      ]);
      heard.push(heardMs - startedMs);
      hooked.push(hookedMs - startedMs);
      session.destroy();
    }
    stream.close();
    await receiver.stop(true);
    report({
      what: `from the final dot of a mail to a stream, p50${onEngine}`,
      value: median(heard),
      unit: "ms",
      beside: [{ name: "to a webhook's receiver", value: median(hooked) }],
      target: { ratio: { atMost: 1.5 } },
      note: `its 250 came after ${median(committed).toFixed(2)} ms`,
    });
  }

  async function newInbox(): Promise<{ id: string; address: string }> {
    const init = { method: "POST", headers: { ...headers, "content-type": "application/json" }, body: "{}" };
    return (await (await fetch(`${service.apiUrl}/v1/inboxes`, init)).json()) as { id: string; address: string };
  }

  async function feedReads(): Promise<number> {
    const init = { headers: { authorization: `Bearer ${metricsToken}` } };
    const text = await (await fetch(`${service.apiUrl}/metrics`, init)).text();
    return Number(/^inboxd_feed_reads_total (\d+)$/m.exec(text)?.[1]);
  }
}

async function perSecond(work: () => Promise<void>): Promise<number> {
  const startedMs = performance.now();
  await work();
  return events / ((performance.now() - startedMs) / 1_000);
}

/** Minimal connections, so that the server causes nearly all of the cost. */
async function openAll(origin: string, path: string, apiKey: string, count = listeners) {
  const url = new URL(origin);
  const got = new Float64Array(count);
  let wanted = Number.POSITIVE_INFINITY;
  let missing = 0;
  let isThere = Promise.withResolvers<void>();
  const sockets: Socket[] = [];
  for (let index = 0; index < count; index += 1) {
    await new Promise<void>((begun) => {
      const socket = connect(Number(url.port), url.hostname, () => {
        socket.write(`GET ${path} HTTP/1.1\r\nHost: ${url.host}\r\nAuthorization: Bearer ${apiKey}\r\n\r\n`);
      });
      socket.on("data", (data) => {
        begun();
        const before = got[index] ?? 0;
        got[index] = before + data.length;
        if (before < wanted && before + data.length >= wanted) {
          missing -= 1;
          if (missing === 0) isThere.resolve();
        }
      });
      sockets.push(socket);
    });
  }
  // The beginning of a stream may come in two pieces.
  await Bun.sleep(500);
  return {
    /** Restarts the count; returns how much the first has got since. */
    sizeOfNext() {
      got.fill(0);
      return () => got[0] ?? 0;
    },
    /** Resolves when each has got this much since; then restarts the count. */
    async untilAllHave(bytes: number) {
      missing = got.reduce((sum, has) => sum + (has < bytes ? 1 : 0), 0);
      wanted = bytes;
      isThere = Promise.withResolvers();
      if (missing > 0) await isThere.promise;
      wanted = Number.POSITIVE_INFINITY;
      if (bytes > 1) got.fill(0);
    },
    close() {
      for (const socket of sockets) socket.destroy();
    },
  };
}

/** Keeps its clients, and writes each posted body to all of them. */
function bareServer(): void {
  const open = new Set<ReadableStreamDefaultController<Uint8Array>>();
  const server = Bun.serve({
    port: 0,
    idleTimeout: 0,
    async fetch(request) {
      if (request.method === "POST") {
        const bytes = await request.bytes();
        for (const each of open) each.enqueue(bytes);
        return new Response();
      }
      const stream = new ReadableStream<Uint8Array>({
        start(controller) {
          open.add(controller);
          controller.enqueue(new Uint8Array(1));
        },
      });
      return new Response(stream, { headers: { "content-type": "text/event-stream" } });
    },
  });
  console.log(server.url.href);
}
