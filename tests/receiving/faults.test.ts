import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sql } from "drizzle-orm";
import { type Db, openDatabase, query } from "../../src/database/db.ts";
import { refused } from "../mail/report/fixtures.ts";
import { breaksPostgres, enginesHere } from "../support/engines.ts";
import { failureOf } from "../support/failure.ts";
import { fairly } from "../support/fair-time.ts";
import { faultsOfSources } from "../support/held-sources.ts";
import { startInboxd } from "../support/inboxd.ts";
import { mailOf } from "../support/mail.ts";
import { type PostgresServer, startPostgres } from "../support/postgres.ts";
import { returnPathOf, signingKey } from "../support/reported.ts";
import { countEvents, countRows, storedBytes, storedMessages } from "../support/stored.ts";
import { tally } from "../support/tally.ts";
import { deliver, startWorld } from "../support/world.ts";

const apiKey = "key-of-the-first-account-in-tests";

const engines = enginesHere().filter((engine) => engine === "embedded" || breaksPostgres);

describe.each(engines)("kill -9 around the commit (%s)", (engine) => {
  let server: PostgresServer | undefined;
  beforeAll(async () => {
    if (engine === "postgres") server = await startPostgres();
  });
  afterAll(() => server?.remove());

  /** A separate database, and the settings of a receiver on it. */
  async function onNew(name: string, run: (place: Place) => Promise<void>): Promise<void> {
    const dataDir = mkdtempSync(join(tmpdir(), "ibx-kill-"));
    if (server) await server.ask(`create database ${name}`);
    const databaseUrl = server?.url(name);
    const env = {
      DATA_DIR: dataDir,
      PORT: "0",
      SMTP_PORT: "0",
      API_KEY: apiKey,
      ...(databaseUrl !== undefined && { DATABASE_URL: databaseUrl }),
    };
    dataDirs.push(dataDir);
    await run({ env, look: (at) => onDatabase(databaseUrl, dataDir, at) });
  }

  const dataDirs: string[] = [];
  // After a failure, a receiver may still run.
  afterEach(async () => {
    for (const receiver of receivers.splice(0)) await receiver.kill();
    for (const directory of dataDirs.splice(0)) rmSync(directory, { recursive: true, force: true });
  });

  test.each(["before", "after"] as const)(
    "%s the commit of a mail: the sender tries again, and it is stored once with one event",
    (moment) =>
      onNew(`killed_${moment}`, async ({ env, look }) => {
        const hooked = { ...env, WEBHOOK_URL: "http://127.0.0.1:65535/" };
        const raw = mailOf({ messageId: "a@b.example" });
        const dying = await startReceiver(moment, hooked);
        const inbox = await asked<{ id: string; address: string }>(dying, "/v1/inboxes", {});
        expect(String(await failureOf(deliver(dying.smtpPort, raw, inbox.address)))).toContain("ended before a reply");
        expect(await dying.exited).not.toBe(0);
        await look(async (db) => {
          expect(await storedMessages(db, inbox.id)).toHaveLength(moment === "after" ? 1 : 0);
          expect(await countRows(db, "source_chunks")).toBe(moment === "after" ? 1 : 0);
        });

        const living = await startLiving(hooked);
        expect(await deliver(living.smtpPort, raw, inbox.address)).toStartWith("250");
        await living.kill();
        await look(async (db) => {
          const [message, ...more] = await storedMessages(db, inbox.id);
          expect(more).toEqual([]);
          expect((await storedBytes(db, message?.sourceId ?? "")).toString()).toBe(raw);
          expect(await countEvents(db, "message.received", inbox.id)).toBe(1);
          expect(await countRows(db, "source_chunks")).toBe(1);
        });
      }),
    120_000,
  );

  test.each(["before", "after"] as const)(
    "%s the commit of a report: the sender tries again, and there is one report with one event",
    (moment) =>
      onNew(`reported_${moment}`, async ({ env, look }) => {
        const signed = { ...env, SIGNING_KEY: signingKey };
        const raw = refused("smtp; 550 5.1.1 User unknown", "5.1.1").replaceAll("\n", "\r\n");
        const dying = await startReceiver(`${moment} report`, signed);
        const inbox = await asked<{ id: string }>(dying, "/v1/inboxes", {});
        const mail = { to: "jane@example.com", subject: "Hello", body: "Hello" };
        const { messageId } = await asked<{ messageId: string }>(dying, `/v1/inboxes/${inbox.id}/send`, mail);
        const returnPath = await returnPathOf(messageId);
        expect(String(await failureOf(deliver(dying.smtpPort, raw, returnPath, "")))).toContain("ended before a reply");
        expect(await dying.exited).not.toBe(0);
        await look(async (db) => {
          expect(await countRows(db, "reports")).toBe(moment === "after" ? 1 : 0);
        });

        const living = await startLiving(signed);
        expect(await deliver(living.smtpPort, raw, returnPath, "")).toStartWith("250");
        await living.kill();
        await look(async (db) => {
          expect(await countRows(db, "reports")).toBe(1);
          expect(await countRows(db, "suppressions")).toBe(1);
          expect(await countEvents(db, "message.bounced", inbox.id)).toBe(1);
          expect(await countRows(db, "source_chunks")).toBe(1);
        });
      }),
    120_000,
  );

  test.each(["before", "after"] as const)(
    "%s the commit of a report to an inbox that refuses its sender: the repeated mail is quarantined, and the report is there once",
    (moment) =>
      onNew(`blocked_report_${moment}`, async ({ env, look }) => {
        const dying = await startReceiver(`${moment} report`, env);
        const inbox = await asked<{ id: string; address: string }>(dying, "/v1/inboxes", {});
        const mail = { to: "jane@example.com", subject: "Hello", body: "Hello" };
        const { messageId } = await asked<{ messageId: string }>(dying, `/v1/inboxes/${inbox.id}/send`, mail);
        const inbound = { unlisted: "block", blocked: "refuse" };
        await asked(dying, `/v1/inboxes/${inbox.id}/policy`, { inbound }, "PUT");
        const raw = refused("smtp; 550 5.1.1 User unknown", "5.1.1")
          .replaceAll("m1@mail.example", `${messageId}@inbox.localhost`)
          .replaceAll("\n", "\r\n");
        expect(String(await failureOf(deliver(dying.smtpPort, raw, inbox.address, "")))).toContain(
          "ended before a reply",
        );
        expect(await dying.exited).not.toBe(0);
        await look(async (db) => {
          expect(await countRows(db, "reports")).toBe(moment === "after" ? 1 : 0);
          expect(await countRows(db, "quarantine")).toBe(0);
        });

        const living = await startLiving(env);
        const other = mailOf({ messageId: "other@b.example" });
        expect(await deliver(living.smtpPort, other, inbox.address, "")).toStartWith("550 5.7.1");
        expect(await deliver(living.smtpPort, raw, inbox.address, "")).toStartWith("250");
        await living.kill();
        await look(async (db) => {
          expect([await countRows(db, "reports"), await countRows(db, "quarantine")]).toEqual([1, 1]);
          expect(await countEvents(db, "message.bounced", inbox.id)).toBe(1);
          expect(await faultsOfSources(db)).toEqual([]);
        });
      }),
    120_000,
  );

  test.each(["before", "after"] as const)(
    "%s the commit of a mail that one inbox takes and another quarantines: the repeated mail is there once in each",
    (moment) =>
      onNew(`parted_${moment}`, async ({ env, look }) => {
        const raw = mailOf({ from: "eve@blocked.example", messageId: "parted@blocked.example" });
        const dying = await startReceiver(moment, env);
        const taking = await asked<{ id: string; address: string }>(dying, "/v1/inboxes", { username: "taking" });
        const blocking = await blockingInbox(dying);
        const to = [taking.address, blocking.address];
        expect(String(await failureOf(deliver(dying.smtpPort, raw, to)))).toContain("ended before a reply");
        expect(await dying.exited).not.toBe(0);
        const once = moment === "after" ? 1 : 0;
        await look(async (db) => {
          expect([await countRows(db, "messages"), await countRows(db, "quarantine")]).toEqual([once, once]);
          expect(await countRows(db, "source_chunks")).toBe(once);
        });

        const living = await startLiving(env);
        for (const _ of "12") expect(await deliver(living.smtpPort, raw, to)).toStartWith("250");
        await living.kill();
        await look(async (db) => {
          expect([await countRows(db, "messages"), await countRows(db, "messages", taking.id)]).toEqual([1, 1]);
          expect([await countRows(db, "quarantine"), await countRows(db, "quarantine", blocking.id)]).toEqual([1, 1]);
          expect([await countEvents(db, "message.received"), await countEvents(db, "message.blocked")]).toEqual([1, 1]);
          expect(await countRows(db, "source_chunks")).toBe(1);
          expect(await faultsOfSources(db)).toEqual([]);
        });
      }),
    120_000,
  );

  test.each(["before", "after"] as const)(
    "%s the commit of a release: the repeated release is one message with one event, and later ones answer its ids",
    (moment) =>
      onNew(`released_${moment}`, async ({ env, look }) => {
        const raw = mailOf({ from: "eve@blocked.example", messageId: "released@blocked.example" });
        const dying = await startReceiver(`${moment} release`, env);
        const inbox = await blockingInbox(dying);
        expect(await deliver(dying.smtpPort, raw, inbox.address)).toStartWith("250");
        const listed = await asked<{ data: { id: string }[] }>(dying, "/v1/quarantine");
        const release = `/v1/quarantine/${listed.data[0]?.id}/release`;
        expect(await failureOf(asked(dying, release, {}))).toBeInstanceOf(Error);
        expect(await dying.exited).not.toBe(0);
        const ids = (db: Db) =>
          query<ReleasedIds>(db, sql`select id as "messageId", thread_id as "threadId" from messages`);
        let before: ReleasedIds[] = [];
        await look(async (db) => {
          before = await ids(db);
          expect(before).toHaveLength(moment === "after" ? 1 : 0);
        });

        const living = await startLiving(env);
        const answers = [await asked<ReleasedIds>(living, release, {}), await asked<ReleasedIds>(living, release, {})];
        expect(await deliver(living.smtpPort, raw, inbox.address)).toStartWith("250");
        await living.kill();
        const again = await startLiving(env);
        answers.push(await asked<ReleasedIds>(again, release, {}));
        await again.kill();
        await look(async (db) => {
          const [released, ...more] = await ids(db);
          expect(more).toEqual([]);
          for (const answered of [...answers, ...before]) expect(answered).toEqual(released as ReleasedIds);
          expect(await countRows(db, "quarantine")).toBe(1);
          expect([await countEvents(db, "message.received"), await countEvents(db, "message.blocked")]).toEqual([1, 1]);
          const entries = await query(db, sql`select from audit_entries where action = 'quarantine.released'`);
          expect(entries).toHaveLength(1);
          expect(await faultsOfSources(db)).toEqual([]);
        });
      }),
    120_000,
  );
});

interface ReleasedIds extends Record<string, unknown> {
  messageId: string;
  threadId: string;
}

/** An inbox with a rule that blocks a sender. */
async function blockingInbox(service: { apiUrl: string }): Promise<{ id: string; address: string }> {
  const inbox = await asked<{ id: string; address: string }>(service, "/v1/inboxes", { username: "blocking" });
  const rule = { direction: "inbound", action: "block", pattern: "blocked.example", inboxId: inbox.id };
  await asked(service, "/v1/rules", rule);
  return inbox;
}

interface Place {
  env: Record<string, string>;
  /** Queries the database while no process uses it. */
  look(at: (db: Db) => Promise<void>): Promise<void>;
}

/** Reads a resource, or posts a body. */
async function asked<Answer>(
  { apiUrl }: { apiUrl: string },
  path: string,
  body?: object,
  method = "POST",
): Promise<Answer> {
  const headers = { authorization: `Bearer ${apiKey}`, "content-type": "application/json" };
  const posted = body && {
    method,
    headers: { ...headers, ...(path.endsWith("/send") && { "idempotency-key": path }) },
    body: JSON.stringify(body),
  };
  const response = await fetch(new URL(path, apiUrl), { headers, ...posted });
  return (await response.json()) as Answer;
}

describe.skipIf(!breaksPostgres)("while Postgres fails,", () => {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await startPostgres();
    await server.ask("create database gone");
    await server.ask("create database killed");
  });
  afterAll(() => server.remove());

  const worldOn = (name: string) =>
    startWorld({ database: { url: server.url(name), drop: async () => undefined }, env: { INBOXES_PER_DAY: "0" } });

  test("mail is answered 451, and accepted within two seconds after Postgres is back", async () => {
    await using world = await worldOn("gone");
    const ada = await world.inbox("ada");
    expect(await world.deliver(mailOf({ messageId: "a@b.example" }), ada.address)).toStartWith("250");
    await server.stop();
    // Ada's inbox is cached, so that her mail gets as far as the final dot; Bob's cannot be looked up.
    expect(await world.deliver(mailOf({ messageId: "c@b.example" }), ada.address)).toStartWith("451 4.3.0");
    expect(await world.deliver(mailOf(), "bob@inbox.localhost")).toStartWith("451 4.3.0");
    await server.start();
    const { fairMs } = await fairly(async () => {
      let reply = "";
      while (!reply.startsWith("250")) reply = await world.deliver(mailOf({ messageId: "c@b.example" }), ada.address);
    });
    expect(fairMs).toBeLessThan(2_000);
    const stored = await storedMessages(world.service.deps.db.api, ada.id);
    expect(stored.map(({ rfcMessageId }) => rfcMessageId)).toEqual(["a@b.example", "c@b.example"]);
  });

  test("each mail answered 250 is stored once and whole, and no other, although backends are killed again and again", async () => {
    await using world = await worldOn("killed");
    const inboxes = await Promise.all(Array.from({ length: 4 }, () => world.inbox()));
    const acknowledged = new Set<string>();
    const taken = tally();
    let over = false;
    const senders = Array.from({ length: 8 }, async (_, sender) => {
      for (let number = 0; !over; number += 1) {
        const messageId = `m${sender}.${number}@b.example`;
        const raw = mailOf({ messageId, text: `Text of ${messageId}\r\n` });
        // Like a sender, repeats the same mail until it is accepted.
        for (let reply = ""; !reply.startsWith("250"); ) {
          reply = await world.deliver(raw, inboxes[number % 4]?.address ?? "");
          expect(reply).toMatch(/^(250|451)/);
        }
        acknowledged.add(messageId);
        taken.add();
      }
    });
    for (let round = 0; round < 12; round += 1) {
      await server.ask(
        "select pg_terminate_backend(pid) from pg_stat_activity where datname = 'killed' and pid <> pg_backend_pid()",
      );
      await taken.more(5);
    }
    over = true;
    await Promise.all(senders);

    const db = world.service.deps.db.api;
    const stored = (await Promise.all(inboxes.map(({ id }) => storedMessages(db, id)))).flat();
    expect(stored.map(({ rfcMessageId }) => rfcMessageId).toSorted()).toEqual([...acknowledged].toSorted());
    expect(stored.length).toBeGreaterThan(20);
    for (const { bodyText, rfcMessageId } of stored) expect(bodyText).toBe(`Text of ${rfcMessageId}`);
    expect(await countEvents(db, "message.received")).toBe(stored.length);
    expect(await countRows(db, "threads")).toBe(stored.length);
    expect(await countRows(db, "source_chunks")).toBe(stored.length);
    const torn = await query(
      db,
      sql`select i.id from inboxes i where message_count <> (select count(*) from messages where inbox_id = i.id)
            or unread_count <> (select count(*) from threads where inbox_id = i.id and not is_read)`,
    );
    expect(torn).toEqual([]);
  });
});

const receivers: { kill(): Promise<unknown> }[] = [];

/** The service that goes on after one that died. */
async function startLiving(env: Record<string, string>) {
  const { api: apiUrl, smtpPort, exited, signal } = await startInboxd({ env });
  const kill = () => {
    signal("SIGKILL");
    return exited;
  };
  receivers.push({ kill });
  return { smtpPort, apiUrl, kill };
}

async function startReceiver(
  moment: "before" | "after" | `${"before" | "after"} ${"report" | "release"}`,
  env: Record<string, string>,
) {
  const child = Bun.spawn([process.execPath, join(import.meta.dir, "../support/dying-receiver.ts"), moment], {
    env: { PATH: process.env.PATH ?? "", ...env },
    stdout: "pipe",
    stderr: "inherit",
  });
  const kill = () => {
    child.kill("SIGKILL");
    return child.exited;
  };
  receivers.push({ kill });
  const reader = child.stdout.getReader();
  let text = "";
  while (!text.includes("\n")) {
    const { value, done } = await reader.read();
    if (done) throw new Error("Cannot start the receiver: it ended");
    text += new TextDecoder().decode(value);
  }
  const { smtpPort, apiUrl } = JSON.parse(text) as { smtpPort: number; apiUrl: string };
  return { smtpPort, apiUrl, exited: child.exited, kill };
}

/** Reads what the crash left, in a new process. */
async function onDatabase(url: string | undefined, dataDir: string, work: (db: Db) => Promise<void>): Promise<void> {
  const db = await openDatabase({ url, dataDir });
  await work(db.api).finally(db.close);
}
