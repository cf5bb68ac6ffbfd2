/**
 * Receiving, beside Postfix and Haraka in the same run: `bun bench/receiving.ts [rate] [latency] [big] [heard] [senders] [silent]
 * [memory] [idle]`;
 * DATABASE=embedded for the other database. Needs Postgres' programs and smtp-source of the package postfix; a peer that
 * can't be had is skipped with a line. Read the ratios: on a machine that others use as well, the rates mean little.
 */
import { generateKeyPairSync } from "node:crypto";
import { existsSync } from "node:fs";
import { dkimSign } from "mailauth/lib/dkim/sign";
import { inStrings } from "../tests/support/published.ts";
import { scriptedDns, zone } from "../tests/support/scripted-dns.ts";
import { onEngine, startDatabase } from "./support/database.ts";
import { median } from "./support/load.ts";
import { type MailPeer, startHaraka, startPostfix } from "./support/mail-peers.ts";
import { cpuMs, forgetPeak, peakMb, residentMb, untilAtRest } from "./support/process-usage.ts";
import { report } from "./support/report.ts";
import { type ServiceProcess, startServiceProcess } from "./support/service.ts";
import { plainMails, type SmtpLoadResult, smtpLoad } from "./support/smtp-load.ts";

const rounds = Number(process.env.ROUNDS ?? 5);
const mailsARun = Number(process.env.MAILS ?? 4_000);
const sessions = 20;
const parts = { rate, latency, big, heard, senders, silent, memory, idle };
type Part = keyof typeof parts;

const asked = process.argv.slice(2).filter((name): name is Part => name in parts);
if (!existsSync("/usr/sbin/smtp-source")) throw new Error("Cannot measure: there is no smtp-source (package postfix)");

const database = await startDatabase(["shared_buffers=128MB"]);
try {
  for (const part of asked.length > 0 ? asked : (["rate", "latency", "big"] as const)) await parts[part]();
} finally {
  await database.remove();
}

async function withService(work: (service: ServiceProcess, inboxes: string[]) => Promise<void>): Promise<void> {
  await using service = await startServiceProcess(database.environment);
  const inboxes = await Promise.all(Array.from({ length: 5 }, () => newInbox(service)));
  await work(service, inboxes);
}

async function newInbox(service: ServiceProcess): Promise<string> {
  const response = await callApi(service, "POST", "/v1/inboxes", {});
  const { address } = (await response.json()) as { address: string };
  return address;
}

/** Our server and the available peers. */
async function withServers(
  work: (ours: MailPeer & { pid: number }, peers: MailPeer[], inboxes: string[]) => Promise<void>,
): Promise<void> {
  await withService(async ({ smtpPort, pid }, inboxes) => {
    const ours = {
      name: "inboxd",
      port: smtpPort,
      pid,
      // Work that follows the mail must not slow down the next turn.
      settle: () => untilAtRest(database.pid === undefined ? [pid] : [pid, database.pid]),
      [Symbol.asyncDispose]: async () => undefined,
    };
    await using postfix = await startPostfix();
    await using haraka = await startHaraka();
    const peers = [postfix, haraka].filter((server) => server !== undefined);
    await work(ours, peers, inboxes);
  });
}

/**
 * Mails a second, every kind of load against every server in turn, and the medians' ratios. Before the first round each server gets
 * as many mails as five rounds have, and the first round of each kind is not counted: a server that runs has warmed up long
 * ago, and what JavaScript does is compiled while it is done, some of it only after tens of thousands of times.
 */
async function rate(): Promise<void> {
  await withServers(async (ours, peers, inboxes) => {
    for (const server of [ours, ...peers]) {
      await smtpSource(server.port, 5 * mailsARun, 5 << 10, inboxes, true);
      await server.settle();
    }
    // The last numbers are the wanted ratios to Postfix and Haraka.
    const loads: [string, number, string[], boolean, ...number[]][] = [
      ["5 KiB, connection kept", 5 << 10, inboxes, true, ...(database.pid === undefined ? [1] : [4.5, 2])],
      ["5 KiB, connection kept, one inbox", 5 << 10, inboxes.slice(0, 1), true],
      ["5 KiB, one connection a mail", 5 << 10, inboxes, false, ...(database.pid === undefined ? [] : [2.3, 1.9])],
      ["100 KiB, connection kept", 100 << 10, inboxes, true, ...(database.pid === undefined ? [] : [2.5])],
    ];
    for (const [name, sizeBytes, to, kept, ...wanted] of loads) {
      const mails = sizeBytes > 50_000 ? mailsARun / 4 : mailsARun;
      const rates = new Map<MailPeer, number[]>([ours, ...peers].map((server) => [server, []]));
      const micros: number[] = [];
      const postgresMicros: number[] = [];
      for (let round = 0; round <= rounds; round += 1) {
        for (const [server, measured] of rates) {
          const before = [cpuMs(ours.pid), postgresCpuMs()] as const;
          const perSecond = await smtpSource(server.port, mails, sizeBytes, to, kept);
          if (round > 0) measured.push(perSecond);
          if (round > 0 && server === ours) {
            micros.push(((cpuMs(ours.pid) - before[0]) * 1000) / mails);
            postgresMicros.push(((postgresCpuMs() - before[1]) * 1000) / mails);
          }
          await server.settle();
        }
      }
      const postgresShare = database.pid === undefined ? "" : ` + Postgres ${Math.round(median(postgresMicros))} µs`;
      report({
        what: `${name}${onEngine}`,
        value: median(rates.get(ours) ?? []),
        unit: "mails/s",
        beside: peers.map((peer) => ({ name: peer.name, value: median(rates.get(peer) ?? []) })),
        target: { ratio: wanted.map((atLeast) => ({ atLeast })) },
        note: `CPU ${Math.round(median(micros))} µs${postgresShare} a mail`,
      });
    }
  });
}

/** The cost of webhooks for received mail: none, one endpoint and three, in turns on one service, whose receiver answers at once. */
async function heard(): Promise<void> {
  await withService(async (service, inboxes) => {
    const receiver = Bun.spawn(["bun", `${import.meta.dir}/webhooks.ts`, "receiver"], { stdout: "pipe" });
    const { value } = await receiver.stdout.getReader().read();
    const url = new TextDecoder().decode(value).trim();
    const pids = database.pid === undefined ? [service.pid] : [service.pid, database.pid];
    const rates = new Map<number, number[]>([0, 1, 3].map((count) => [count, []]));
    const ids = await Promise.all(Array.from({ length: 3 }, () => newEndpoint(service, url)));
    try {
      await smtpSource(service.smtpPort, mailsARun, 5 << 10, inboxes, true);
      for (let round = 0; round <= rounds; round += 1) {
        for (const [count, measured] of rates) {
          for (const [index, id] of ids.entries())
            await callApi(service, "PATCH", `/v1/webhooks/${id}`, { disabled: index >= count });
          const perSecond = await smtpSource(service.smtpPort, mailsARun, 5 << 10, inboxes, true);
          if (round > 0) measured.push(perSecond);
          await untilAtRest(pids);
        }
      }
    } finally {
      receiver.kill();
    }
    const [nobody = 0, one = 0, three = 0] = [...rates.values()].map(median);
    report({
      what: `mail with one webhook endpoint${onEngine}`,
      value: one,
      unit: "mails/s",
      beside: [{ name: "with none", value: nobody }],
    });
    report({
      what: `mail with three webhook endpoints${onEngine}`,
      value: three,
      unit: "mails/s",
      beside: [{ name: "with one", value: one }],
      target: { ratio: { atLeast: 0.8 } },
    });
  });
}

/**
 * The cost of authenticating senders (AUTHENTICATE), in turns: `off`, `auto` from loopback, and `always` for unsigned mail and for mail
 * with one RSA-2048 signature. The name server is beside the load, and its answers are remembered after the first mails.
 */
async function senders(): Promise<void> {
  const { privateKey, publicKey } = generateKeyPairSync("rsa", {
    modulusLength: 2048,
    privateKeyEncoding: { type: "pkcs8", format: "pem" },
    publicKeyEncoding: { type: "spki", format: "der" },
  });
  const txt = (name: string, text: string) => ({ name, type: "TXT" as const, ttl: 3600, data: inStrings(text, 255) });
  const dns = await scriptedDns(
    zone([
      txt("example.com", "v=spf1 ip4:127.0.0.1 -all"),
      txt("_dmarc.example.com", "v=DMARC1; p=reject"),
      txt("s1._domainkey.example.com", `v=DKIM1; k=rsa; p=${publicKey.toString("base64")}`),
    ]),
  );
  const plain = plainMails(5 << 10);
  const signed = async (number: number) => {
    const mail = plain(number);
    const signatureData = [{ signingDomain: "example.com", selector: "s1", privateKey }];
    const { signatures } = await dkimSign(mail, { canonicalization: "relaxed/relaxed", signatureData } as never);
    return signatures + mail;
  };
  const start = async (choice: string) => {
    const service = await startServiceProcess({
      ...database.environment,
      AUTHENTICATE: choice,
      DNS_SERVERS: `127.0.0.1:${dns.port}`,
      OUTBOUND: "smtp://127.0.0.1:9",
    });
    return { service, inboxes: await Promise.all(Array.from({ length: 5 }, () => newInbox(service))) };
  };
  const [off, auto, always] = [await start("off"), await start("auto"), await start("always")];
  const turns = [
    { name: "off, unsigned", at: off, make: plain, target: undefined },
    { name: "off, signed", at: off, make: signed, target: undefined },
    { name: "auto from loopback", at: auto, make: plain, target: 0.98 },
    { name: "unsigned", at: always, make: plain, target: 0.85 },
    { name: "one RSA-2048 signature", at: always, make: signed, target: 0.55 },
  ];
  const results = turns.map(() => [] as (SmtpLoadResult & { cpuMicros: number })[]);
  let sent = 0;
  try {
    for (let round = 0; round <= rounds; round += 1) {
      // Every other round goes backwards, so that none always comes behind the same one.
      const order = [...turns.entries()];
      for (const [index, { at, make }] of round % 2 === 0 ? order : order.reverse()) {
        const first = sent;
        // The first round warms up, and is not counted. Each service then has had as many mails, two of them in two turns.
        const count = round === 0 ? (at === auto ? 6 : 3) * mailsARun : mailsARun;
        sent += count;
        const mails = await Promise.all(Array.from({ length: count }, (_, number) => make(first + number)));
        const before = cpuMs(at.service.pid);
        const result = await smtpLoad({
          port: at.service.smtpPort,
          sessions,
          mails: count,
          mail: (number) => mails[number] ?? "",
          to: (number) => at.inboxes[number % at.inboxes.length] ?? "",
        });
        const cpuMicros = ((cpuMs(at.service.pid) - before) * 1000) / count;
        if (round > 0) results[index]?.push({ ...result, cpuMicros });
        await untilAtRest(database.pid === undefined ? [at.service.pid] : [at.service.pid, database.pid]);
      }
    }
  } finally {
    for (const { service } of [off, auto, always]) await service.stop();
    await dns.close();
  }
  const of = (index: number, value: (result: SmtpLoadResult & { cpuMicros: number }) => number) =>
    median((results[index] ?? []).map(value));
  for (const [index, { name, target }] of turns.entries()) {
    if (target === undefined) continue;
    const peer = name.includes("signature") ? 1 : 0;
    report({
      what: `mail whose sender is checked: ${name}${onEngine}`,
      value: of(index, ({ perSecond }) => perSecond),
      unit: "mails/s",
      beside: [{ name: "with off", value: of(peer, ({ perSecond }) => perSecond) }],
      target: { ratio: { atLeast: target } },
      note: `CPU ${Math.round(of(index, ({ cpuMicros }) => cpuMicros))} µs a mail, with off ${Math.round(of(peer, ({ cpuMicros }) => cpuMicros))}; p50 ${of(index, ({ p50Ms }) => p50Ms).toFixed(2)} ms, with off ${of(peer, ({ p50Ms }) => p50Ms).toFixed(2)}`,
    });
  }
}

/**
 * Checking senders while the name server never answers, beside AUTHENTICATE=off: the first answers, and the rate from five seconds later on.
 * Each mail has another domain in its envelope, or all have the same one.
 */
async function silent(): Promise<void> {
  for (const domains of ["one domain", "as many domains"]) {
    await using dns = await silentDns();
    await using off = await startServiceProcess({ ...database.environment, AUTHENTICATE: "off" });
    await using always = await startServiceProcess({
      ...database.environment,
      AUTHENTICATE: "always",
      DNS_SERVERS: `127.0.0.1:${dns.port}`,
      OUTBOUND: "smtp://127.0.0.1:9",
    });
    const inboxes = await Promise.all(Array.from({ length: 5 }, () => newInbox(off)));
    const mail = plainMails(5 << 10);
    let sent = 0;
    const loaded = (service: ServiceProcess, mails: number) => {
      const first = sent;
      sent += mails;
      return smtpLoad({
        port: service.smtpPort,
        sessions,
        mails,
        mail: (number) => mail(first + number),
        to: (number) => inboxes[number % inboxes.length] ?? "",
        from: (number) => (domains === "one domain" ? "jane@example.com" : `jane@d${first + number}.example`),
      });
    };
    await loaded(off, mailsARun);
    const startedMs = performance.now();
    const { p99Ms } = await loaded(always, sessions);
    await loaded(always, sessions);
    await Bun.sleep(Math.max(0, 5_000 - (performance.now() - startedMs)));
    const rates = { off: [] as number[], always: [] as number[] };
    for (let round = 0; round < rounds; round += 1) {
      rates.always.push((await loaded(always, mailsARun)).perSecond);
      rates.off.push((await loaded(off, mailsARun)).perSecond);
    }
    report({
      what: `a silent name server, ${domains}: the last of the first ${sessions} answers`,
      value: p99Ms,
      unit: "ms",
      target: { value: { atMost: 3_500 } },
    });
    report({
      what: `a silent name server, ${domains}: mails after five seconds`,
      value: median(rates.always),
      unit: "mails/s",
      beside: [{ name: "with off", value: median(rates.off) }],
      target: { ratio: { atLeast: 0.5 } },
      note: `in turns ${rates.always.map(Math.round).join(", ")}`,
    });
  }
}

async function silentDns() {
  const dns = await scriptedDns(() => "silence");
  return { port: dns.port, [Symbol.asyncDispose]: dns.close };
}

async function newEndpoint(service: ServiceProcess, url: string): Promise<string> {
  const response = await callApi(service, "POST", "/v1/webhooks", { url });
  return ((await response.json()) as { id: string }).id;
}

async function callApi({ apiUrl, apiKey }: ServiceProcess, method: string, path: string, body?: object) {
  const response = await fetch(`${apiUrl}${path}`, {
    method,
    headers: { authorization: `Bearer ${apiKey}`, ...(body && { "content-type": "application/json" }) },
    ...(body && { body: JSON.stringify(body) }),
  });
  if (!response.ok) throw new Error(`${method} ${path} was answered ${response.status}: ${await response.text()}`);
  return response;
}

function postgresCpuMs(): number {
  return database.pid === undefined ? 0 : cpuMs(database.pid);
}

/** A load generator for each address, so that the mails go to several inboxes. */
async function smtpSource(port: number, mails: number, sizeBytes: number, to: string[], kept: boolean) {
  const startedMs = performance.now();
  const each = Math.round(mails / to.length);
  const generators = to.map((address) =>
    Bun.spawn(
      [
        "smtp-source",
        "-s",
        String(Math.round(sessions / to.length)),
        "-m",
        String(each),
        "-l",
        String(sizeBytes),
        ...(kept ? ["-d"] : []),
        "-f",
        "jane@example.com",
        "-t",
        address,
        `inet:127.0.0.1:${port}`,
      ],
      { stderr: "pipe" },
    ),
  );
  for (const generator of generators) {
    if ((await generator.exited) !== 0) throw new Error(await new Response(generator.stderr).text());
  }
  return (each * to.length * 1000) / (performance.now() - startedMs);
}

/** From the final dot to the 250, for mails of real words. Each server gets as many mails before as in `rate`. */
async function latency(): Promise<void> {
  await withServers(async (ours, peers, inboxes) => {
    const mail = plainMails(5 << 10);
    const to = (number: number) => inboxes[number % inboxes.length] ?? "";
    let sent = 0;
    const loaded = async (server: MailPeer, count: number, mails: number) => {
      const offset = sent;
      sent += mails;
      const load = { port: server.port, sessions: count, mails, mail: (number: number) => mail(offset + number), to };
      const result = await smtpLoad(load);
      await server.settle();
      return result;
    };
    for (const server of [ours, ...peers]) await loaded(server, sessions, 5 * mailsARun);
    for (const [count, mails] of [
      [1, Math.ceil(mailsARun / 8)],
      [sessions, mailsARun],
    ] as const) {
      const results = new Map<MailPeer, SmtpLoadResult[]>([ours, ...peers].map((server) => [server, []]));
      for (let round = 0; round < rounds; round += 1) {
        for (const [server, measured] of results) measured.push(await loaded(server, count, mails));
      }
      const of = (server: MailPeer, value: (result: SmtpLoadResult) => number) =>
        median((results.get(server) ?? []).map(value));
      report({
        what: `dot → 250, ${count === 1 ? "1 session" : `${count} sessions`}, p50${onEngine}`,
        value: of(ours, ({ p50Ms }) => p50Ms),
        unit: "ms",
        beside: peers.map((peer) => ({ name: peer.name, value: of(peer, ({ p50Ms }) => p50Ms) })),
        ...(database.pid !== undefined && { target: { ratio: { atMost: 1.2 } } }),
        note: `at ${Math.round(of(ours, ({ perSecond }) => perSecond))} mails/s`,
      });
      report({
        what: `dot → 250, ${count === 1 ? "1 session" : `${count} sessions`}, p99${onEngine}`,
        value: of(ours, ({ p99Ms }) => p99Ms),
        unit: "ms",
        beside: peers.map((peer) => ({ name: peer.name, value: of(peer, ({ p99Ms }) => p99Ms) })),
        ...(database.pid !== undefined && { target: { value: { atMost: 15 } } }),
      });
    }
  });
}

/** Eight mails of 10 MB at once, and their peak of memory; Postfix is left out, since it has many processes. */
async function big(): Promise<void> {
  await withServers(async (ours, peers, inboxes) => {
    const random = Buffer.from(crypto.getRandomValues(new Uint8Array(57 * 1024))).toString("base64");
    const attachment = `${random.match(/.{1,76}/g)?.join("\r\n")}\r\n`.repeat(Math.round(1e7 / 80_000));
    const mail = (number: number) =>
      `Message-ID: <big.${number}.${performance.now()}@example.com>\r\nMIME-Version: 1.0\r\n` +
      `Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n\r\nHello\r\n--b\r\nContent-Type: application/pdf; name=a.pdf\r\n` +
      `Content-Transfer-Encoding: base64\r\n\r\n${attachment}--b--\r\n`;
    const servers = [ours, ...peers.filter(({ pid }) => pid !== undefined)];
    const results = new Map<MailPeer, { peak: number; before: number; slowestMs: number }[]>(
      servers.map((server) => [server, []]),
    );
    for (let round = 0; round < rounds; round += 1) {
      for (const [server, measured] of results) {
        const pid = server.pid ?? 0;
        const before = residentMb(pid);
        await forgetPeak(pid);
        const { p99Ms } = await smtpLoad({
          port: server.port,
          sessions: 8,
          mails: 8,
          mail,
          to: () => inboxes[0] ?? "",
        });
        measured.push({ peak: peakMb(pid), before, slowestMs: p99Ms });
        await server.settle();
      }
    }
    const of = (server: MailPeer, name: "peak" | "before" | "slowestMs") =>
      median((results.get(server) ?? []).map((each) => each[name]));
    report({
      what: `eight mails of 10 MB at once, peak of memory${onEngine}`,
      value: of(ours, "peak"),
      unit: "MB",
      beside: servers.slice(1).map((peer) => ({ name: peer.name, value: of(peer, "peak") })),
      note: `from ${Math.round(of(ours, "before"))} MB; the slowest mail took ${Math.round(of(ours, "slowestMs"))} ms`,
    });
  });
}

/**
 * Memory while 100,000 mails come (TOTAL): in the last fifth of them, beside the first. It is the median of many moments, because up to
 * 70 MB of it is garbage, which is collected every few seconds.
 */
async function memory(): Promise<void> {
  await withService(async ({ smtpPort, pid }, inboxes) => {
    const fifth = Number(process.env.TOTAL ?? 100_000) / 5;
    const usual: number[] = [];
    for (let part = 0; part < 5; part += 1) {
      const seen: number[] = [];
      const timer = setInterval(() => seen.push(residentMb(pid)), 100);
      await smtpSource(smtpPort, fifth, 5 << 10, inboxes, true).finally(() => clearInterval(timer));
      usual.push(median([...seen, residentMb(pid)]));
    }
    report({
      what: `memory while it receives, the last ${fifth} of ${5 * fifth} mails${onEngine}`,
      value: usual.at(-1) ?? Number.NaN,
      unit: "MB",
      beside: [{ name: `the first ${fifth}`, value: usual[0] ?? Number.NaN }],
    });
  });
}

/** 10,000 idle sessions (IDLE) from many addresses, since each has a limit. */
async function idle(): Promise<void> {
  await withService(async ({ smtpPort, pid }) => {
    const count = Number(process.env.IDLE ?? 10_000);
    const beforeMb = residentMb(pid);
    const greeted: Promise<void>[] = [];
    const sockets: { end(): unknown }[] = [];
    for (let number = 0; number < count; number += 1) {
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      greeted.push(promise);
      const localAddress = `127.1.${Math.floor(number / 200)}.${(number % 200) + 1}`;
      const socket = (await import("node:net")).connect({ host: "127.0.0.1", port: smtpPort, localAddress });
      socket.once("data", () => resolve());
      socket.once("error", reject);
      sockets.push(socket);
      if (number % 200 === 199 || number === count - 1) await Promise.all(greeted.splice(0));
    }
    report({
      what: `memory with ${count} idle sessions${onEngine}`,
      value: residentMb(pid),
      unit: "MB",
      beside: [{ name: "with none", value: beforeMb }],
    });
    for (const socket of sockets) socket.end();
  });
}
