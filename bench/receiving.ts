/**
 * Receiving, beside Postfix and Haraka in the same run: `bun bench/receiving.ts [rate] [latency] [big] [memory] [idle]`.
 * Needs Postgres' programs and smtp-source of the package postfix; a peer that can't be had is skipped with a line.
 * Read the ratios: on a machine that others use as well, the rates mean little.
 */
import { existsSync, readFileSync } from "node:fs";
import { startPostgres } from "../tests/support/postgres.ts";
import { type MailPeer, startHaraka, startPostfix } from "./support/mail-peers.ts";
import { cpuMs, forgetPeak, peakMb, residentMb } from "./support/process-usage.ts";
import { type ServiceProcess, startServiceProcess } from "./support/service.ts";
import { plainMails, smtpLoad } from "./support/smtp-load.ts";

const rounds = Number(process.env.ROUNDS ?? 3);
const mailsARun = Number(process.env.MAILS ?? 4_000);
const sessions = 20;
const parts = { rate, latency, big, memory, idle };
type Part = keyof typeof parts;

const asked = process.argv.slice(2).filter((name): name is Part => name in parts);
if (!existsSync("/usr/sbin/smtp-source")) throw new Error("Cannot measure: there is no smtp-source (package postfix)");

const postgres = await startPostgres(["shared_buffers=128MB"]);
try {
  await postgres.ask("create database bench");
  for (const part of asked.length > 0 ? asked : (["rate", "latency", "big"] as const)) await parts[part]();
} finally {
  await postgres.remove();
}

async function withService(work: (service: ServiceProcess, inboxes: string[]) => Promise<void>): Promise<void> {
  await using service = await startServiceProcess({ DATABASE_URL: postgres.url("bench") });
  const inboxes = await Promise.all(Array.from({ length: 5 }, () => newInbox(service)));
  await work(service, inboxes);
}

async function newInbox({ apiUrl, apiKey }: ServiceProcess): Promise<string> {
  const response = await fetch(`${apiUrl}/v1/inboxes`, {
    method: "POST",
    headers: { authorization: `Bearer ${apiKey}`, "content-type": "application/json" },
    body: "{}",
  });
  const { address } = (await response.json()) as { address: string };
  return address;
}

/** Mails a second, every kind of load against every server in turn, and the medians' ratios. */
async function rate(): Promise<void> {
  await withService(async (service, inboxes) => {
    const ours: MailPeer = {
      name: "inboxd",
      port: service.smtpPort,
      pid: service.pid,
      settle: async () => undefined,
      [Symbol.asyncDispose]: async () => undefined,
    };
    await using postfix = await startPostfix();
    await using haraka = await startHaraka();
    const servers = [ours, postfix, haraka].filter((server) => server !== undefined);
    const loads: [string, number, string[], boolean][] = [
      ["5 KiB, connection kept", 5 << 10, inboxes, true],
      ["5 KiB, connection kept, one inbox", 5 << 10, inboxes.slice(0, 1), true],
      ["5 KiB, one connection a mail", 5 << 10, inboxes, false],
      ["100 KiB, connection kept", 100 << 10, inboxes, true],
    ];
    for (const [name, sizeBytes, to, kept] of loads) {
      const mails = sizeBytes > 50_000 ? mailsARun / 8 : mailsARun;
      await smtpSource(service.smtpPort, mails / 4, sizeBytes, to, kept);
      const rates = new Map<MailPeer, number[]>(servers.map((server) => [server, []]));
      const cpu: number[] = [];
      for (let round = 0; round < rounds; round += 1) {
        for (const server of servers) {
          const before = [cpuMs(service.pid), cpuMs(postgresPid())] as const;
          rates.get(server)?.push(await smtpSource(server.port, mails, sizeBytes, to, kept));
          if (server === ours) {
            cpu.push(
              ...[cpuMs(service.pid) - before[0], cpuMs(postgresPid()) - before[1]].map((ms) => (ms * 1000) / mails),
            );
          }
          await server.settle();
        }
      }
      const of = (server: MailPeer) => median(rates.get(server) ?? []);
      const beside = servers
        .slice(1)
        .map((server) => `${(of(ours) / of(server)).toFixed(2)} × ${server.name} (${Math.round(of(server))})`);
      const own = median(cpu.filter((_, index) => index % 2 === 0));
      const postgresOwn = median(cpu.filter((_, index) => index % 2 === 1));
      console.log(
        `${name}: ${Math.round(of(ours))} mails/s = ${beside.join(", ")}; CPU ${Math.round(own)} + ${Math.round(postgresOwn)} µs a mail`,
      );
    }
  });
}

/** A generator for each address, so that the mails go to several inboxes. */
async function smtpSource(port: number, mails: number, sizeBytes: number, to: string[], kept: boolean) {
  const startedMs = performance.now();
  const each = Math.round(mails / to.length);
  const generators = to.map((address) =>
    Bun.spawn(
      [
        ...["smtp-source", "-s", String(Math.round(sessions / to.length)), "-m", String(each), "-l", String(sizeBytes)],
        ...(kept ? ["-d"] : []),
        ...["-f", "jane@example.com", "-t", address, `inet:127.0.0.1:${port}`],
      ],
      { stderr: "pipe" },
    ),
  );
  for (const generator of generators) {
    if ((await generator.exited) !== 0) throw new Error(await new Response(generator.stderr).text());
  }
  return (each * to.length * 1000) / (performance.now() - startedMs);
}

/** From the final dot to the 250, of mails whose text is not one letter over and over. */
async function latency(): Promise<void> {
  await withService(async ({ smtpPort }, inboxes) => {
    const mail = plainMails(5 << 10);
    const to = (number: number) => inboxes[number % inboxes.length] ?? "";
    await smtpLoad({ port: smtpPort, sessions, mails: 2_000, mail: (number) => mail(number + 1e6), to });
    for (const [count, mails] of [
      [1, 1_000],
      [sessions, 2 * mailsARun],
    ] as const) {
      const own = (number: number) => mail(number + count * 1e7);
      const { perSecond, p50Ms, p99Ms } = await smtpLoad({ port: smtpPort, sessions: count, mails, mail: own, to });
      console.log(
        `dot → 250, ${count} sessions: p50 ${p50Ms.toFixed(2)} ms, p99 ${p99Ms.toFixed(2)} ms at ${Math.round(perSecond)} mails/s`,
      );
    }
  });
}

/** Eight mails of 10 MB at once. */
async function big(): Promise<void> {
  await withService(async ({ smtpPort, pid }, inboxes) => {
    const random = Buffer.from(crypto.getRandomValues(new Uint8Array(57 * 1024))).toString("base64");
    const attachment = `${random.match(/.{1,76}/g)?.join("\r\n")}\r\n`.repeat(Math.round(1e7 / 80_000));
    const mail = (number: number) =>
      `Message-ID: <big.${number}.${performance.now()}@example.com>\r\nMIME-Version: 1.0\r\n` +
      `Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n\r\nHello\r\n--b\r\nContent-Type: application/pdf; name=a.pdf\r\n` +
      `Content-Transfer-Encoding: base64\r\n\r\n${attachment}--b--\r\n`;
    const load = { port: smtpPort, sessions: 8, mails: 8, mail, to: () => inboxes[0] ?? "" };
    for (let round = 0; round < rounds; round += 1) {
      const beforeMb = residentMb(pid);
      await forgetPeak(pid);
      const { p99Ms } = await smtpLoad(load);
      console.log(
        `eight mails of 10 MB at once: peak ${Math.round(peakMb(pid))} MB (from ${Math.round(beforeMb)}), slowest ${Math.round(p99Ms)} ms`,
      );
    }
  });
}

/** Memory after 5,000 mails and after 100,000. */
async function memory(): Promise<void> {
  await withService(async ({ smtpPort, pid }, inboxes) => {
    await smtpSource(smtpPort, 5_000, 5 << 10, inboxes, true);
    const early = residentMb(pid);
    for (let count = 5_000; count < 100_000; count += 19_000)
      await smtpSource(smtpPort, 19_000, 5 << 10, inboxes, true);
    const late = residentMb(pid);
    console.log(`memory after 5,000 mails ${Math.round(early)} MB, after 100,000 ${Math.round(late)} MB`);
  });
}

/** 10,000 sessions that say nothing. They come from many addresses, since one may have only so many. */
async function idle(): Promise<void> {
  await withService(async ({ smtpPort, pid }) => {
    const beforeMb = residentMb(pid);
    const greeted: Promise<void>[] = [];
    const sockets: { end(): unknown }[] = [];
    for (let number = 0; number < 10_000; number += 1) {
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      greeted.push(promise);
      const localAddress = `127.1.${Math.floor(number / 200)}.${(number % 200) + 1}`;
      const socket = (await import("node:net")).connect({ host: "127.0.0.1", port: smtpPort, localAddress });
      socket.once("data", () => resolve());
      socket.once("error", reject);
      sockets.push(socket);
      if (number % 200 === 199) await Promise.all(greeted.splice(0));
    }
    console.log(`10,000 idle sessions: ${Math.round(residentMb(pid))} MB (from ${Math.round(beforeMb)})`);
    for (const socket of sockets) socket.end();
  });
}

function postgresPid(): number {
  const directory = new URL(postgres.url("bench")).searchParams.get("host");
  return Number(readFileSync(`${directory}/data/postmaster.pid`, "utf8").split("\n")[0]);
}

function median(values: number[]): number {
  return values.toSorted((left, right) => left - right)[Math.floor(values.length / 2)] ?? Number.NaN;
}
