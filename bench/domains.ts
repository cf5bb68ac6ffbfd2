/**
 * 10,000 own domains (DOMAINS): `bun bench/domains.ts [checks] [receiving] [foreign]`. `checks` has one process check all of them,
 * `receiving` compares mail for as many inboxes at own domains and at MAIL_DOMAIN, and `foreign` compares RCPT at random foreign
 * domains with a service without own domains. Needs Postgres' programs.
 */
import type { Answer } from "dns-packet";
import { newDkimKey } from "../src/mail/write/dkim-key.ts";
import { nameServerOf, published } from "../tests/support/published.ts";
import { greeted } from "../tests/support/raw-smtp.ts";
import { scriptedDns, zone } from "../tests/support/scripted-dns.ts";
import { startDatabase } from "./support/database.ts";
import { median } from "./support/load.ts";
import { forgetPeak, peakMb, residentMb, untilAtRest } from "./support/process-usage.ts";
import { report } from "./support/report.ts";
import { startServiceProcess } from "./support/service.ts";
import { plainMails, smtpLoad } from "./support/smtp-load.ts";

const count = Number(process.env.DOMAINS ?? 10_000);
const rounds = Number(process.env.ROUNDS ?? 5);
const mails = Number(process.env.MAILS ?? 4_000);
const sessions = 20;
const parts = { checks, receiving, foreign };
type Part = keyof typeof parts;
const asked = process.argv.slice(2).filter((name): name is Part => name in parts);

const { publicKey, privateKey } = await newDkimKey();
const database = await startDatabase(["shared_buffers=128MB"]);
const postgres = database.server;
if (postgres === undefined) throw new Error("Cannot measure: the embedded database can't be filled from outside");
try {
  for (const part of asked.length > 0 ? asked : (["checks", "receiving", "foreign"] as const)) await parts[part]();
} finally {
  await database.remove();
}

/** From the moment at which all domains are due until the last one is checked, and the memory of the process meanwhile. */
async function checks(): Promise<void> {
  await using dns = await nameServer();
  await using service = await started("checks", { DNS_SERVERS: `127.0.0.1:${dns.port}` });
  await insertDomains("checks");
  await untilAtRest([service.pid]);
  const before = residentMb(service.pid);
  await forgetPeak(service.pid);
  const startedMs = performance.now();
  await ask("checks", "update domains set next_check_at = now()");
  for (let left = count; left > 0; await Bun.sleep(100)) {
    const [row] = await ask("checks", "select count(*)::int as due from domains where next_check_at <= now()");
    left = Number(row?.due);
  }
  const perSecond = count / ((performance.now() - startedMs) / 1000);
  const [row] = await ask("checks", "select count(*)::int as verified from domains where status = 'verified'");
  report({
    what: `${count} domains checked by one process`,
    value: perSecond,
    unit: "checks/s",
    target: { value: { atLeast: 20 } },
    note: `${row?.verified} are verified`,
  });
  report({
    what: "the peak of its memory above rest",
    value: peakMb(service.pid) - before,
    unit: "MB",
    target: { value: { atMost: 20 } },
    note: `from ${Math.round(before)} MB`,
  });
}

/** Mail for as many inboxes at own domains and at MAIL_DOMAIN, in turns on one service. */
async function receiving(): Promise<void> {
  await using service = await started("receiving");
  await insertDomains("receiving");
  await fill(
    "receiving",
    `insert into inboxes (id, account_id, username, created_at, domain_id)
       select 'inb_' || lpad(n::text, 26, '0'), (select id from accounts), 'ada@${nameOf("' || n || '")}', now(), ${idOf("n")} from generate_series(1, ${count}) n;
     insert into inboxes (id, account_id, username, created_at)
       select 'inb_1' || lpad(n::text, 25, '0'), (select id from accounts), 'ada' || n, now() from generate_series(1, ${count}) n;
     insert into addresses (username, inbox_id) select username, id from inboxes`,
  );
  const mail = plainMails(5 << 10);
  const roads = {
    own: (number: number) => `ada@${nameOf(number)}`,
    shared: (number: number) => `ada${number}@inbox.localhost`,
  };
  const rates: Record<keyof typeof roads, number[]> = { own: [], shared: [] };
  let sent = 0;
  for (let round = 0; round <= rounds; round += 1) {
    // Each begins in half of the rounds.
    for (const road of round % 2 === 0 ? (["own", "shared"] as const) : (["shared", "own"] as const)) {
      const offset = sent;
      sent += mails;
      const to = (number: number) => roads[road](1 + ((offset + number) % count));
      const { perSecond } = await smtpLoad({
        port: service.smtpPort,
        sessions,
        mails,
        mail: (number) => mail(offset + number),
        to,
      });
      if (round > 0) rates[road].push(perSecond);
      await untilAtRest([service.pid, database.pid ?? 0]);
    }
  }
  report({
    what: `mail for ${count} own domains`,
    value: median(rates.own),
    unit: "mails/s",
    beside: [
      {
        name: `${count} inboxes at MAIL_DOMAIN`,
        value: median(rates.shared),
        ratio: medianRatio(rates.own, rates.shared),
      },
    ],
    target: { ratio: { atLeast: 0.95 } },
  });
}

/** RCPT at random foreign domains: a service that has own domains, and one that has none, in turns. */
async function foreign(): Promise<void> {
  await using many = await started("foreign");
  await insertDomains("foreign");
  await using none = await started("without");
  const rates: [number[], number[]] = [[], []];
  for (let round = 0; round <= rounds; round += 1) {
    for (const [index, { smtpPort }] of [many, none].entries()) {
      const perSecond = await refusals(smtpPort);
      if (round > 0) rates[index]?.push(perSecond);
    }
  }
  const [withMany, withNone] = rates;
  report({
    what: `RCPT at random foreign domains, beside ${count} own ones`,
    value: median(withMany),
    unit: "RCPT/s",
    beside: [{ name: "without own domains", value: median(withNone), ratio: medianRatio(withMany, withNone) }],
    target: { ratio: { atLeast: 0.9 } },
  });
}

/** Refused recipients a second. A connection has few of them, as the service allows. */
async function refusals(port: number): Promise<number> {
  const recipientsOfOne = 5;
  let given = 0;
  const startedMs = performance.now();
  async function session(): Promise<void> {
    while (given < mails) {
      given += recipientsOfOne;
      const client = await greeted(port);
      await client.ask("MAIL FROM:<jane@example.com>");
      for (let number = 0; number < recipientsOfOne; number += 1) {
        const reply = await client.ask(`RCPT TO:<ada@${crypto.randomUUID()}.example>`);
        if (!reply.startsWith("550 5.7.1")) throw new Error(`Cannot measure: RCPT was answered ${reply}`);
      }
      client.destroy();
    }
  }
  await Promise.all(Array.from({ length: sessions }, session));
  return (given * 1000) / (performance.now() - startedMs);
}

async function started(name: string, environment: Record<string, string> = {}) {
  await postgres?.ask(`create database "${name}"`);
  return startServiceProcess({ ...database.environment, DATABASE_URL: postgres?.url(name), ...environment });
}

async function ask(name: string, statements: string): Promise<Record<string, unknown>[]> {
  return (await postgres?.ask(statements, name)) ?? [];
}

/** VACUUM runs in no transaction, so it is a statement by itself. */
async function fill(name: string, statements: string): Promise<void> {
  await ask(name, statements);
  await ask(name, "vacuum analyze");
}

function nameOf(number: number | string): string {
  return `d${number}.example.com`;
}

function idOf(number: string): string {
  return `'dom_' || lpad(${number}::text, 26, '0')`;
}

/** Verified domains of the first account, checked in an hour. All have one key pair. */
async function insertDomains(name: string): Promise<void> {
  const sqlName = `'${nameOf("' || n || '")}'`;
  await fill(
    name,
    `insert into domains (id, account_id, name, status, return_path, zone, pending_since, verified_at, created_at, next_check_at)
       select ${idOf("n")}, (select id from accounts), ${sqlName}, 'verified', 'bounces', ${sqlName}, now(), now(), now(), now() + interval '1 hour'
       from generate_series(1, ${count}) n;
     insert into domain_keys (domain_id, selector, state, private_key, public_key, made_at, retire_days)
       select ${idOf("n")}, 'ibx-aaaaaaaa', 'active', '${privateKey}', '${publicKey}', now(), 7 from generate_series(1, ${count}) n;
     select pg_notify('inboxd_forget', '{"kind":"domain","name":"example.com"}')`,
  );
}

/** The name server of all domains. Each has the records that it wants. */
async function nameServer() {
  const dns = await scriptedDns((question) => {
    const [name] = /d\d+\.example\.com$/.exec(question.name) ?? [];
    return zone(name === undefined ? [] : recordsOf(name))(question);
  });
  return Object.assign(dns, { [Symbol.asyncDispose]: dns.close });
}

function recordsOf(name: string): Answer[] {
  return [
    nameServerOf(name),
    ...published([
      { type: "TXT", name: `ibx-aaaaaaaa._domainkey.${name}`, value: `v=DKIM1; k=rsa; p=${publicKey}`, priority: null },
      { type: "MX", name, value: "inbox.localhost", priority: 10 },
      { type: "CNAME", name: `bounces.${name}`, value: "inbox.localhost", priority: null },
      { type: "TXT", name: `_dmarc.${name}`, value: "v=DMARC1; p=none", priority: null },
    ]),
  ];
}

function medianRatio(ours: readonly number[], theirs: readonly number[]): number {
  return median(ours.map((value, index) => value / (theirs[index] ?? Number.NaN)));
}
