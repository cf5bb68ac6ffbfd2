import { afterAll, describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sql } from "drizzle-orm";
import {
  checkClock,
  checkConnections,
  checkDatabase,
  checkDispatch,
  checkDomains,
  checkDurability,
  checkLog,
  checkPartitions,
  checkSchema,
  checkSenders,
  checkServer,
} from "../../src/commands/doctor/database.ts";
import type { Finding } from "../../src/commands/doctor/finding.ts";
import { mostConnections, openDatabase, query } from "../../src/database/db.ts";
import { lockDirectory } from "../../src/database/directory-lock.ts";
import { beginningOfIds } from "../../src/domain/ids.ts";
import type { Partition, Partitions } from "../../src/domain/partitions.ts";
import { migrate, migrations } from "../../src/store/migrate.ts";
import type { DatabaseFacts } from "../../src/store/upkeep/diagnosis.ts";
import { breaksPostgres } from "../support/engines.ts";
import { insertOwnDomain } from "../support/own-domain.ts";
import { startPostgres } from "../support/postgres.ts";

const directory = mkdtempSync(join(tmpdir(), "ibx-doctor-db-"));
afterAll(() => rmSync(directory, { recursive: true }));

const at = new Date("2026-03-21T10:05:00.000Z");
const later = (ms: number) => new Date(at.getTime() + ms);
const dayMs = 86_400_000;

const right: DatabaseFacts = {
  version: "16.4 (Debian 16.4-1)",
  encoding: "UTF8",
  synchronousCommit: "on",
  fsync: "on",
  fullPageWrites: "on",
  serverAt: at,
  logLagSeconds: 0,
  dispatchLagSeconds: 0,
  askedAt: at,
  isInRecovery: false,
  isReadOnly: false,
  connections: 97,
  stepsToDo: [],
  unknownSteps: [],
  refusedStep: undefined,
  webhookUrls: [],
  serviceId: undefined,
  hasSegments: false,
  domains: { proven: 0, failing: [], elsewhere: [] },
  senders: { mails: 0, checked: 0, addresses: [] },
  partitioning: { partitions: new Map(), bounded: [], relations: 0, locks: 6400, locksEach: 64 },
};

const connectionsOf = (processes: number) => (facts: DatabaseFacts) => checkConnections(facts, processes);
type Check = (facts: DatabaseFacts) => Finding;
const cases: readonly [what: string, check: Check, differs: Partial<DatabaseFacts>, level: string, says: string][] = [
  ["a server that will do", checkServer, {}, "ok", "Postgres 16.4"],
  ["the oldest that will do", checkServer, { version: "15.0" }, "ok", "Postgres 15.0"],
  ["one that is too old", checkServer, { version: "14.12" }, "fail", "Postgres 15 or later"],
  ["another encoding", checkServer, { encoding: "SQL_ASCII" }, "fail", "encoding SQL_ASCII"],
  ["a standby", checkServer, { isInRecovery: true }, "fail", "standby"],
  ["a read-only server", checkServer, { isReadOnly: true }, "fail", "default_transaction_read_only"],
  ["commits that reach the disk", checkDurability, {}, "ok", "synchronous_commit=on, fsync=on, full_page_writes=on"],
  [
    "commits that reach the disk alone",
    checkDurability,
    { synchronousCommit: "local" },
    "ok",
    "synchronous_commit=local",
  ],
  ["commits that don't wait", checkDurability, { synchronousCommit: "off" }, "fail", "SET synchronous_commit = on;"],
  ["no flushes", checkDurability, { fsync: "off" }, "fail", "SET fsync = on;"],
  ["torn pages", checkDurability, { fullPageWrites: "off" }, "fail", "SET full_page_writes = on;"],
  ["a schema of ours", checkSchema, {}, "ok", "up to date"],
  ["an older schema", checkSchema, { stepsToDo: ["0001_more"] }, "warn", "inboxd migrate"],
  ["a newer schema that only adds", checkSchema, { unknownSteps: ["0009_later"] }, "warn", "0009_later, with which"],
  [
    "a newer schema that removes",
    checkSchema,
    { unknownSteps: ["0009_later", "0010_last"], refusedStep: "0010_last" },
    "fail",
    "0009_later, 0010_last",
  ],
  ["one clock", checkClock, { serverAt: later(-120) }, "ok", "120 ms behind"],
  ["a log that is up to date", checkLog, {}, "ok", "up to date"],
  ["a log that waits", checkLog, { logLagSeconds: 7.2 }, "warn", "behind by 7 s"],
  ["scheduled mail that is sent in time", checkDispatch, {}, "ok", "none is late"],
  ["scheduled mail that is late", checkDispatch, { dispatchLagSeconds: 90.4 }, "warn", "due for 90 s"],
  ["two clocks", checkClock, { serverAt: later(2_500) }, "warn", "2500 ms ahead of"],
  ["many connections", connectionsOf(1), {}, "ok", "max_connections is 97"],
  ["connections for one", connectionsOf(1), { connections: 2 * mostConnections - 1 }, "warn", "enough for one process"],
  ["too few connections", connectionsOf(1), { connections: mostConnections - 1 }, "fail", "max_connections"],
  ["connections for three", connectionsOf(3), { connections: 4 * mostConnections }, "ok", "the 3 processes of one"],
  ["connections for just three", connectionsOf(3), { connections: 3 * mostConnections }, "warn", "for them alone"],
  ["too few for three", connectionsOf(3), { connections: 3 * mostConnections - 1 }, "fail", "for each process"],
];

test.each(cases)("%s", (_what, check, differs, level, says) => {
  const finding = check({ ...right, ...differs });
  expect(finding.level).toBe(level as Finding["level"]);
  expect(`${finding.seen} ${finding.todo}`).toContain(says);
  expect(finding.todo === undefined).toBe(level === "ok");
});

test("domains whose mail comes here are counted, and without domains there is nothing to say", () => {
  expect(checkDomains(right)).toEqual([]);
  const [finding] = checkDomains({ ...right, domains: { proven: 3, failing: [], elsewhere: [] } });
  expect(finding).toEqual({ check: "domains", level: "ok", seen: "3 verified, and their mail comes here" });
});

describe("partitions", () => {
  const until = (ms: number): Partition[] => [{ name: "p", from: undefined, to: beginningOfIds("evt", later(ms)) }];
  const ahead = until(8 * dayMs);
  const both = (own: Partition[]): Partitions => new Map([["events", own] as const, ["deliveries", own] as const]);
  const alone: Partitions = new Map([["events", ahead] as const]);
  const rows: [what: string, differs: Partial<DatabaseFacts["partitioning"]>, level: string, says: string][] = [
    ["with time ahead", { partitions: both(ahead) }, "ok", "events, deliveries, until 2026-03-29T10:05:00.000Z"],
    ["that end soon", { partitions: both(until(dayMs - 1)) }, "warn", "they end at 2026-03-22"],
    ["that have ended", { partitions: both(until(0)) }, "fail", "mail is refused"],
    ["of events alone", { partitions: alone }, "warn", "none is dropped"],
    [
      "with too many locks",
      { partitions: both(ahead), relations: 500 },
      "warn",
      "Set max_locks_per_transaction to 78 ",
    ],
    ["of a table that is on its way", { bounded: ["messages"] }, "warn", "messages_partition_bound"],
  ];
  test.each(rows)("%s", (_what, differs, level, says) => {
    const found = checkPartitions({ ...right, partitioning: { ...right.partitioning, ...differs } }, 1);
    expect(found).toHaveLength(1);
    expect(found[0]?.level).toBe(level as Finding["level"]);
    expect(`${found[0]?.seen} ${found[0]?.todo}`).toContain(says);
  });

  test("that are not there are not mentioned", () => {
    expect(checkPartitions(right, 1)).toEqual([]);
  });
});

describe("the senders of mail", () => {
  const rows: [what: string, senders: DatabaseFacts["senders"], level: string | undefined, says: string][] = [
    ["too few to say", { mails: 19, checked: 0, addresses: [] }, undefined, ""],
    ["several", { mails: 100, checked: 90, addresses: ["192.0.2.9", null] }, "ok", "several addresses"],
    ["none that was checked", { mails: 100, checked: 0, addresses: [] }, "warn", "private addresses"],
    ["one address", { mails: 100, checked: 100, addresses: ["10.0.0.5"] }, "warn", "all came from 10.0.0.5"],
    ["no known address", { mails: 100, checked: 50, addresses: [null] }, "warn", "last 50 mails are unknown"],
  ];
  test.each(rows)("%s", (_what, senders, level, says) => {
    const [finding] = checkSenders({ ...right, senders });
    expect(finding?.level as string | undefined).toBe(level);
    expect(finding?.seen ?? "").toContain(says);
    expect(finding?.todo ?? "SMTP_PROXY_PROTOCOL=1").toContain("SMTP_PROXY_PROTOCOL=1");
  });
});

const nobody = () => Promise.reject(new Error("nobody is there"));

describe("The embedded database", () => {
  test("is checked, and not created, if there is none", async () => {
    const dataDir = join(directory, "none");
    const { findings } = await checkDatabase({
      processes: 1,
      isAuthenticating: true,
      databaseUrl: undefined,
      dataDir,
      now: () => at,
      askServer: nobody,
    });
    expect(findings).toMatchObject([{ level: "ok", seen: expect.stringContaining("none yet") }]);
    expect(() => lockDirectory(dataDir).release()).not.toThrow();
  });

  test("is reported as missing, and not created again", async () => {
    const dataDir = join(directory, "lost");
    lockDirectory(dataDir).release();
    const { findings } = await checkDatabase({
      processes: 1,
      isAuthenticating: true,
      databaseUrl: undefined,
      dataDir,
      now: () => at,
      askServer: nobody,
    });
    expect(findings).toMatchObject([{ level: "fail", seen: expect.stringContaining("is missing in") }]);
    expect(existsSync(join(dataDir, "pg"))).toBe(false);
  });

  test("is opened directly if no process has opened it, and its schema stays as it is", async () => {
    const dataDir = join(directory, "free");
    const empty = await openDatabase({ dataDir });
    await query(empty.api, sql`drop schema public cascade`);
    await query(empty.api, sql`create schema public`);
    await empty.close();
    const question = {
      processes: 1,
      isAuthenticating: true,
      databaseUrl: undefined,
      dataDir,
      now: () => at,
      askServer: nobody,
    };
    for (const _ of [1, 2]) {
      const { findings } = await checkDatabase(question);
      expect(findings.map(({ level, check }) => `${level} ${check}`)).toEqual([
        "ok database",
        "ok database durability",
        "warn database schema",
      ]);
    }
    const db = await openDatabase({ dataDir });
    await migrate(db);
    const one = { accountId: "acc_1", recordsSeen: [] };
    await insertOwnDomain(db.api, { ...one, name: "failing.example", status: "failing" });
    const { id } = await insertOwnDomain(db.api, { ...one, name: "elsewhere.example" });
    await insertOwnDomain(db.api, { ...one, name: "without-inboxes.example" });
    await query(
      db.api,
      sql`insert into inboxes (id, account_id, username, created_at, domain_id) values ('1', 'acc_1', 'a@elsewhere.example', now(), ${id})`,
    );
    await db.close();
    const { findings } = await checkDatabase(question);
    expect(findings.slice(2)).toEqual([
      { check: "database schema", level: "ok", seen: "up to date" },
      {
        check: "domains",
        level: "warn",
        seen: "their DKIM records are gone, and they will fail: failing.example",
        todo: expect.stringContaining("GET /v1/domains"),
      },
      {
        check: "domains",
        level: "warn",
        seen: "mail to their inboxes goes to another server by MX: elsewhere.example",
        todo: expect.stringContaining("MX records"),
      },
    ]);
  });

  test("gives a warning if the process that has opened it does not answer", async () => {
    const dataDir = join(directory, "mute");
    mkdirSync(join(dataDir, "pg"), { recursive: true });
    const lock = lockDirectory(dataDir);
    try {
      const { findings } = await checkDatabase({
        processes: 1,
        isAuthenticating: true,
        databaseUrl: undefined,
        dataDir,
        now: () => at,
        askServer: nobody,
      });
      expect(findings).toMatchObject([{ level: "warn", seen: expect.stringContaining("another process") }]);
    } finally {
      lock.release();
    }
  });
});

test("a Postgres that is away is a failure, without its password", async () => {
  const databaseUrl = "postgres://inboxd:hunter2@127.0.0.1:1/inboxd";
  const { findings } = await checkDatabase({
    processes: 1,
    isAuthenticating: true,
    databaseUrl,
    dataDir: directory,
    now: () => at,
    askServer: nobody,
  });
  expect(findings).toMatchObject([{ check: "database", level: "fail" }]);
  expect(JSON.stringify(findings)).not.toContain("hunter2");
});

describe.skipIf(!breaksPostgres)("A Postgres", () => {
  test("gives its settings, clock, connections, schema and webhook addresses", async () => {
    const server = await startPostgres(["synchronous_commit=off", "max_connections=20"]);
    try {
      await server.ask("create database ibx");
      const databaseUrl = server.url("ibx");
      const question = {
        isAuthenticating: true,
        databaseUrl,
        processes: 1,
        dataDir: directory,
        now: () => new Date(),
        askServer: nobody,
      };
      const before = await checkDatabase(question);
      expect(before.findings.map(({ level, check }) => `${level} ${check}`)).toEqual([
        "ok database",
        "fail database durability",
        "warn database schema",
        "ok database clock",
        "fail database connections",
        "ok event log",
        "ok scheduled mail",
      ]);
      expect(before.findings[1]?.seen).toStartWith("synchronous_commit=off, fsync=off, full_page_writes=on");
      expect(before.findings[2]?.seen).toContain(migrations.map(({ tag }) => tag).join(", "));

      const db = await openDatabase({ url: databaseUrl, dataDir: directory });
      await migrate(db);
      await db.close();
      await server.ask(
        `insert into accounts (id, name, plan, created_at) values ('a', 'a', 'free', now()), ('b', 'b', 'free', now());
         insert into endpoints (id, account_id, is_default, url, secret, created_at, disabled_at, event_types, skip_automated, include) values
           ('1', 'a', true, 'https://hooks.ada.works/', 's', now(), null, '{*}', false, '{}'),
           ('2', 'b', true, 'https://off.ada.works/', 's', now(), now(), '{*}', false, '{}');
         insert into schema_steps (step, tag, kind) values (99, '0099_later', 'contract')`,
        "ibx",
      );
      const after = await checkDatabase({ ...question, now: () => new Date(Date.now() - 60_000) });
      expect(after.findings[2]).toMatchObject({ level: "fail", seen: expect.stringContaining("0099_later") });
      expect(after.findings[3]).toMatchObject({ level: "warn", seen: expect.stringMatching(/^\d{5} ms ahead of/) });
      expect(after.webhookUrls).toEqual(["https://hooks.ada.works/"]);
    } finally {
      await server.remove();
    }
  });
});
