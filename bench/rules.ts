/**
 * 10,000 rules (RULES): `bun bench/rules.ts [receiving] [accepting]`. An account whose neighbour has them, and an account that has them
 * itself, each beside a service without rules and in turns. None of the rules matches. Needs Postgres' programs.
 */
import { startDatabase } from "./support/database.ts";
import { median } from "./support/load.ts";
import { measured } from "./support/measured-sends.ts";
import { cpuMs, untilAtRest } from "./support/process-usage.ts";
import { report } from "./support/report.ts";
import { newInboxes, type SendingServer, startProgram } from "./support/sends.ts";
import { startServiceProcess } from "./support/service.ts";
import { plainMails, smtpLoad } from "./support/smtp-load.ts";

const count = Number(process.env.RULES ?? 10_000);
const rounds = Number(process.env.ROUNDS ?? 5);
const mailsARun = Number(process.env.MAILS ?? 4_000);
const seconds = Number(process.env.SECONDS ?? 5);
const sessions = 20;
const connections = 32;
const parts = { receiving, accepting };
type Part = keyof typeof parts;
const asked = process.argv.slice(2).filter((name): name is Part => name in parts);

/** The accounts that are compared: in a service without rules, beside one with rules, and with rules of its own. */
const owners = ["nobody", "neighbour", "itself"] as const;
const wanted = { neighbour: 0.98, itself: 0.95 };

const database = await startDatabase(["shared_buffers=128MB"]);
const postgres = database.server;
if (postgres === undefined) throw new Error("Cannot measure: the embedded database can't be filled from outside");
try {
  for (const part of asked.length > 0 ? asked : (["receiving", "accepting"] as const)) await parts[part]();
} finally {
  await database.remove();
}

/** One turn of a load. */
interface Turn {
  perSecond: number;
  cpuMicros: number;
}

async function receiving(): Promise<void> {
  const mail = plainMails(5 << 10);
  let sent = 0;
  const services = await Promise.all(
    owners.map(async (owner) => {
      const service = await startServiceProcess(await environmentOf(`receiving_${owner}`));
      await insertRules(`receiving_${owner}`, owner);
      const inboxes = await addressesOf(service);
      return { ...service, inboxes };
    }),
  );
  try {
    await inTurns("received", "mails/s", async (index) => {
      const { pid, smtpPort, inboxes } = services[index] ?? fail();
      const first = sent;
      sent += mailsARun;
      const before = cpuMs(pid);
      const { perSecond } = await smtpLoad({
        port: smtpPort,
        sessions,
        mails: mailsARun,
        mail: (number) => mail(first + number),
        to: (number) => inboxes[number % inboxes.length] ?? "",
      });
      const cpuMicros = ((cpuMs(pid) - before) * 1000) / mailsARun;
      await untilAtRest(services.map((each) => each.pid));
      return { perSecond, cpuMicros };
    });
  } finally {
    for (const { stop } of services) await stop();
  }
}

async function accepting(): Promise<void> {
  const programs = await Promise.all(
    owners.map(async (owner) => {
      const program = await startProgram("accepting.ts", await environmentOf(`accepting_${owner}`));
      await insertRules(`accepting_${owner}`, owner);
      return { program, inboxIds: await newInboxes(program, 64) };
    }),
  );
  try {
    await inTurns("accepted", "requests/s", (index) => {
      const { program, inboxIds } = programs[index] ?? fail();
      return measured(database, program, { inboxIds, connections, seconds });
    });
  } finally {
    for (const { program } of programs) program.stop();
  }
}

/** Runs rounds of turns. The first round warms up, and is not counted. */
async function inTurns(what: string, unit: string, turn: (index: number) => Promise<Turn>): Promise<void> {
  const turns = owners.map((): Turn[] => []);
  for (let round = 0; round <= rounds; round += 1) {
    for (const [index, measuredTurns] of turns.entries()) {
      const one = await turn(index);
      if (round > 0) measuredTurns.push(one);
    }
  }
  const of = (index: number, value: (turn: Turn) => number) => median((turns[index] ?? []).map(value));
  const cpu = (index: number) => Math.round(of(index, ({ cpuMicros }) => cpuMicros));
  for (const [index, owner] of owners.entries()) {
    if (owner === "nobody") continue;
    report({
      what: `${what} with ${count} rules of the ${owner === "itself" ? "account" : "neighbour"}`,
      value: of(index, ({ perSecond }) => perSecond),
      unit,
      beside: [{ name: "without rules", value: of(0, ({ perSecond }) => perSecond) }],
      target: { ratio: { atLeast: wanted[owner] } },
      note: `CPU ${cpu(index)} µs, without rules ${cpu(0)} µs`,
    });
  }
}

async function environmentOf(name: string): Promise<Record<string, string | undefined>> {
  await postgres?.ask(`create database ${name}`);
  return { DATABASE_URL: postgres?.url(name), DATA_DIR: undefined };
}

/** Inserts addresses, domains and subdomains as patterns, a third of each, for both directions. */
async function insertRules(name: string, owner: (typeof owners)[number]): Promise<void> {
  if (owner === "nobody") return;
  if (owner === "neighbour") {
    await postgres?.ask(
      "insert into accounts (id, name, plan, created_at) values ('acc_neighbour', 'neighbour', 'developer', now())",
      name,
    );
  }
  await postgres?.ask(
    `insert into rules (id, account_id, inbox_id, external_id, direction, action, pattern, created_at)
     select 'rul_' || lpad(number::text, 26, '0'), (select id from accounts order by name = 'neighbour' desc limit 1), '', '',
       case number / 3 % 2 when 0 then 'inbound' else 'outbound' end, 'block',
       case number % 3 when 0 then 'joe' || number || '@example.com' when 1 then 'e' || number || '.example'
         else '*.e' || number || '.example' end, now() from generate_series(1, ${count}) number`,
    name,
  );
  await postgres?.ask("vacuum analyze rules", name);
}

async function addressesOf({ apiUrl, apiKey }: Pick<SendingServer, "apiUrl" | "apiKey">): Promise<string[]> {
  const headers = { authorization: `Bearer ${apiKey}` };
  return Promise.all(
    Array.from({ length: 5 }, async () => {
      const made = await fetch(`${apiUrl}/v1/inboxes`, { method: "POST", headers });
      return ((await made.json()) as { address: string }).address;
    }),
  );
}

function fail(): never {
  throw new Error("Cannot measure: there is no such service");
}
