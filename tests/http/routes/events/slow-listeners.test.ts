import { expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { makeDatabase } from "../../../support/database.ts";
import { openStream } from "../../../support/event-stream.ts";
import { fairly } from "../../../support/fair-time.ts";
import { type RunningInboxd, startInboxd } from "../../../support/inboxd.ts";
import { untilAnswered } from "../../../support/until.ts";
import { watchesClock } from "../../../support/watches-clock.ts";
import { deliver } from "../../../support/world.ts";

const apiKey = "key-of-the-first-account-in-tests";
const metricsToken = "token-of-the-metrics-in-tests";
const mebibyte = 1 << 20;
/** More than the kernel takes for one connection. */
const log = { mails: 150, bodyBytes: 60_000 };
const tooSlow = 300;
/** They read 120 KiB a minute. The kernel buffers more than that, so the service sees some of them read nothing for a minute. */
const slow2KiB = 100;

/*
 * Half of the readers are streams and half are sockets. Of those that are too slow half read nothing, and half 512 bytes a second; the
 * others read 2 KiB a second. All ask for the whole log. Memory is that of the process as Linux counts it.
 */
test("400 slow readers take at most 64 MiB, at least 300 end as slow, and a good one beside them is served at once", {
  ...watchesClock,
  timeout: 300_000,
}, async () => {
  await using started = await startOnDatabase();
  const { inboxd } = started;
  const { id, address } = await (await inboxd.request("POST", "/v1/inboxes", {})).json();
  for (let number = 0; number < log.mails; number += 1) await mail(inboxd, address, `number ${number}`);
  const restBytes = await atRest(inboxd);
  await Bun.write(`/proc/${inboxd.pid}/clear_refs`, "5");

  const slow = Array.from({ length: tooSlow + slow2KiB }, (_, number) => {
    const bytesASecond = number >= tooSlow ? 2_048 : number % 4 < 2 ? 0 : 512;
    return slowReader(new URL(inboxd.api), { isSocket: number % 2 === 0, bytesASecond });
  });
  await untilAnswered(async () => ((await closes(inboxd)).open >= slow.length ? true : undefined));
  const good = await openStream(new URL(`/v1/events/stream?inbox_id=${id}`, inboxd.api), {
    authorization: `Bearer ${apiKey}`,
  });
  await good.frame(({ event }) => event === "ready");
  await mail(inboxd, address, "to the good reader");
  const { fairMs: heardMs } = await fairly(() => good.frame(({ data = "" }) => data.includes("to the good reader")));

  const grown: number[] = [];
  await untilAnswered(async () => {
    await Bun.sleep(500);
    const { slow: ended } = await closes(inboxd);
    if (ended === 0) grown.push(memoryOf(inboxd, "VmRSS") - restBytes);
    return ended >= tooSlow ? true : undefined;
  });
  const middle = grown.sort((one, other) => one - other)[grown.length >> 1] ?? Number.POSITIVE_INFINITY;
  const most = memoryOf(inboxd, "VmHWM") - restBytes;
  const inMiB = (bytes: number) => (bytes / mebibyte).toFixed(0);
  console.log(
    `400 slow readers: + ${inMiB(middle)} MiB, at most ${inMiB(most)}; a good one heard in ${heardMs.toFixed(0)} ms`,
  );
  expect(middle).toBeLessThan(64 * mebibyte);
  // It is the rush of the first seconds: a gigabyte that the kernel takes for them, and what the collector has yet to see of it.
  expect(most).toBeLessThan(160 * mebibyte);
  expect(heardMs).toBeLessThan(2_000);

  good.close();
  for (const socket of slow) socket.destroy();
  const goneMs = performance.now();
  await untilAnswered(async () => {
    await Bun.sleep(500);
    return memoryOf(inboxd, "VmRSS") - restBytes < 24 * mebibyte ? true : undefined;
  });
  expect(performance.now() - goneMs).toBeLessThan(30_000);
});

async function startOnDatabase() {
  const server = process.env.TEST_DATABASE_URL;
  const database = server ? await makeDatabase(server) : undefined;
  const dataDir = mkdtempSync(join(tmpdir(), "ibx-slow-"));
  const inboxd = await startInboxd({
    env: { DATA_DIR: dataDir, API_KEY: apiKey, METRICS_TOKEN: metricsToken, DATABASE_URL: database?.url },
  });
  return {
    inboxd,
    async [Symbol.asyncDispose]() {
      await inboxd.stop();
      await database?.drop();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

async function mail({ smtpPort }: RunningInboxd, address: string, subject: string): Promise<void> {
  const body = `${"long line ".repeat(7)}\r\n`.repeat(log.bodyBytes / 72);
  const reply = await deliver(smtpPort, `From: jane@example.com\r\nSubject: ${subject}\r\n\r\n${body}`, address);
  expect(reply).toStartWith("250");
}

/** What it has once it does nothing: the least of ten seconds, as the index of the search is filled behind the mail. */
async function atRest(inboxd: RunningInboxd): Promise<number> {
  const seen: number[] = [];
  for (let second = 0; second < 10; second += 1) {
    await Bun.sleep(1_000);
    seen.push(memoryOf(inboxd, "VmRSS"));
  }
  return Math.min(...seen);
}

function memoryOf({ pid }: RunningInboxd, field: "VmRSS" | "VmHWM"): number {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  return Number(new RegExp(`${field}:\\s+(\\d+)`).exec(status)?.[1]) * 1024;
}

/** The number of open listeners, and of those that ended as slow. */
async function closes({ api }: RunningInboxd): Promise<{ open: number; slow: number }> {
  const headers = { authorization: `Bearer ${metricsToken}` };
  const text = await (await fetch(new URL("/metrics", api), { headers })).text();
  const sum = (pattern: RegExp) => [...text.matchAll(pattern)].reduce((all, [, count]) => all + Number(count), 0);
  return {
    open: sum(/^inboxd_listeners\{kind="(?:sse|ws)"\} (\d+)$/gm),
    slow: sum(/^inboxd_stream_closes_total\{reason="slow"\} (\d+)$/gm),
  };
}

function slowReader({ host, hostname, port }: URL, { isSocket = false, bytesASecond = 0 }): Socket {
  const socket = connect(Number(port), hostname);
  const head = (path: string, more: string) =>
    `GET ${path} HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${apiKey}\r\n${more}\r\n`;
  socket.on("error", () => undefined);
  socket.on("data", ({ length }) => {
    socket.pause();
    if (bytesASecond > 0) setTimeout(() => socket.resume(), (length / bytesASecond) * 1_000).unref();
  });
  if (isSocket) {
    const upgrade = `Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${btoa("0123456789abcdef")}\r\n`;
    socket.write(head("/v1/ws", upgrade));
    socket.once("data", () => socket.write(frameOf(JSON.stringify({ type: "subscribe", last_event_id: "start" }))));
  } else {
    socket.write(head("/v1/events/stream?types=*&after=start", ""));
  }
  return socket;
}

/** A short text as a client sends it: masked, with a mask that changes nothing. */
function frameOf(text: string): Buffer {
  return Buffer.concat([Buffer.from([0x81, 0x80 | text.length, 0, 0, 0, 0]), Buffer.from(text)]);
}
