import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sql } from "drizzle-orm";
import { type Db, openDatabase, query } from "../../src/database/db.ts";
import { refused } from "../mail/report/fixtures.ts";
import { breaksPostgres, enginesHere } from "../support/engines.ts";
import { mailOf } from "../support/mail.ts";
import { type PostgresServer, startPostgres } from "../support/postgres.ts";
import { returnPathOf, signingKey } from "../support/reported.ts";
import { countEvents, countRows, storedBytes, storedMessages } from "../support/stored.ts";
import { tally } from "../support/tally.ts";
import { watchesClock } from "../support/watches-clock.ts";
import { deliver, startWorld } from "../support/world.ts";

const apiKey = "key-of-the-first-account-in-tests";

const engines = enginesHere().filter((engine) => engine === "embedded" || breaksPostgres);

describe.each(engines)("kill -9 around the commit of a mail (%s)", (engine) => {
  let server: PostgresServer | undefined;
  beforeAll(async () => {
    if (engine === "postgres") server = await startPostgres();
  }, 30_000);
  afterAll(() => server?.remove());

  test.each(["before", "after"] as const)(
    "%s it: the sender keeps the mail, sends it again, and it is there once with one event",
    async (moment) => {
      const dataDir = mkdtempSync(join(tmpdir(), "ibx-kill-"));
      if (server) await server.ask(`create database killed_${moment}`);
      const databaseUrl = server?.url(`killed_${moment}`);
      const env = {
        DATA_DIR: dataDir,
        ...(databaseUrl !== undefined && { DATABASE_URL: databaseUrl }),
        PORT: "0",
        SMTP_PORT: "0",
        API_KEY: apiKey,
        WEBHOOK_URL: "http://127.0.0.1:65535/",
      };
      const raw = mailOf({ messageId: "a@b.example" });
      try {
        const dying = await startReceiver(moment, env);
        const response = await fetch(new URL("/v1/inboxes", dying.apiUrl), {
          method: "POST",
          headers: { authorization: `Bearer ${apiKey}`, "content-type": "application/json" },
          body: "{}",
        });
        const inbox = (await response.json()) as { id: string; address: string };
        await expect(deliver(dying.smtpPort, raw, inbox.address)).rejects.toThrow("ended before a reply");
        expect(await dying.exited).not.toBe(0);
        await onDatabase(databaseUrl, dataDir, async (db) => {
          expect(await storedMessages(db, inbox.id)).toHaveLength(moment === "after" ? 1 : 0);
          expect(await countRows(db, "source_chunks")).toBe(moment === "after" ? 1 : 0);
        });

        const living = await startReceiver("never", env);
        expect(await deliver(living.smtpPort, raw, inbox.address)).toStartWith("250");
        living.kill();
        await living.exited;
        await onDatabase(databaseUrl, dataDir, async (db) => {
          const [message, ...more] = await storedMessages(db, inbox.id);
          expect(more).toEqual([]);
          expect((await storedBytes(db, message?.sourceId ?? "")).toString()).toBe(raw);
          expect(await countEvents(db, "message.received", inbox.id)).toBe(1);
          expect(await countRows(db, "source_chunks")).toBe(1);
        });
      } finally {
        rmSync(dataDir, { recursive: true, force: true });
      }
    },
    120_000,
  );
});

describe.each(engines)("kill -9 around the commit of a report (%s)", (engine) => {
  let server: PostgresServer | undefined;
  beforeAll(async () => {
    if (engine === "postgres") server = await startPostgres();
  }, 30_000);
  afterAll(() => server?.remove());

  test.each(["before", "after"] as const)(
    "%s it: its sender has no answer, sends it again, and there is one report with one event",
    async (moment) => {
      const dataDir = mkdtempSync(join(tmpdir(), "ibx-kill-"));
      if (server) await server.ask(`create database reported_${moment}`);
      const databaseUrl = server?.url(`reported_${moment}`);
      const env = {
        ...{ DATA_DIR: dataDir, PORT: "0", SMTP_PORT: "0", API_KEY: apiKey, SIGNING_KEY: signingKey },
        ...(databaseUrl !== undefined && { DATABASE_URL: databaseUrl }),
      };
      const raw = refused("smtp; 550 5.1.1 User unknown", "5.1.1").replaceAll("\n", "\r\n");
      try {
        const dying = await startReceiver(`${moment} report`, env);
        const ask = async (path: string, body: object) => {
          const headers = { authorization: `Bearer ${apiKey}`, "content-type": "application/json" };
          const init = { method: "POST", headers: { ...headers, "idempotency-key": path }, body: JSON.stringify(body) };
          return (await fetch(new URL(path, dying.apiUrl), init)).json() as Promise<Record<string, string>>;
        };
        const inbox = await ask("/v1/inboxes", {});
        const mail = { to: "jane@example.com", subject: "Hello", body: "Hello" };
        const { messageId = "" } = await ask(`/v1/inboxes/${inbox.id}/send`, mail);
        const returnPath = await returnPathOf(messageId);
        await expect(deliver(dying.smtpPort, raw, returnPath, "")).rejects.toThrow("ended before a reply");
        expect(await dying.exited).not.toBe(0);
        await onDatabase(databaseUrl, dataDir, async (db) => {
          expect(await countRows(db, "reports")).toBe(moment === "after" ? 1 : 0);
        });

        const living = await startReceiver("never", env);
        expect(await deliver(living.smtpPort, raw, returnPath, "")).toStartWith("250");
        living.kill();
        await living.exited;
        await onDatabase(databaseUrl, dataDir, async (db) => {
          expect(await countRows(db, "reports")).toBe(1);
          expect(await countRows(db, "suppressions")).toBe(1);
          expect(await countEvents(db, "message.bounced", inbox.id ?? "")).toBe(1);
          expect(await countRows(db, "source_chunks")).toBe(1);
        });
      } finally {
        rmSync(dataDir, { recursive: true, force: true });
      }
    },
    120_000,
  );
});

describe.skipIf(!breaksPostgres)("a Postgres that goes", () => {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await startPostgres();
    await server.ask("create database gone");
    await server.ask("create database killed");
  }, 30_000);
  afterAll(() => server.remove());

  const worldOn = (name: string) =>
    startWorld({ database: { url: server.url(name), drop: async () => undefined }, env: { INBOXES_PER_DAY: "0" } });

  test("has mail answered 451 while it is away, and taken within two seconds of its coming back", {
    ...watchesClock,
    timeout: 60_000,
  }, async () => {
    await using world = await worldOn("gone");
    const ada = await world.inbox("ada");
    expect(await world.deliver(mailOf({ messageId: "a@b.example" }), ada.address)).toStartWith("250");
    await server.stop();
    // Ada's name is remembered, so that the mail gets as far as its final dot; Bob's can't be looked up.
    expect(await world.deliver(mailOf({ messageId: "c@b.example" }), ada.address)).toStartWith("451 4.3.0");
    expect(await world.deliver(mailOf(), "bob@inbox.localhost")).toStartWith("451 4.3.0");
    await server.start();
    const backMs = performance.now();
    let reply = "";
    while (!reply.startsWith("250")) reply = await world.deliver(mailOf({ messageId: "c@b.example" }), ada.address);
    expect(performance.now() - backMs).toBeLessThan(2_000);
    const stored = await storedMessages(world.service.deps.db.api, ada.id);
    expect(stored.map(({ rfcMessageId }) => rfcMessageId)).toEqual(["a@b.example", "c@b.example"]);
  });

  test("or whose backends are killed over and over: each 250 is there once and whole, nothing else is", async () => {
    await using world = await worldOn("killed");
    const inboxes = await Promise.all(Array.from({ length: 4 }, () => world.inbox()));
    const acknowledged = new Set<string>();
    const taken = tally();
    let over = false;
    const senders = Array.from({ length: 8 }, async (_, sender) => {
      for (let number = 0; !over; number += 1) {
        const messageId = `m${sender}.${number}@b.example`;
        const raw = mailOf({ messageId, text: `Text of ${messageId}\r\n` });
        // As a sender does: the same mail again until it is taken.
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
  }, 60_000);
});

async function startReceiver(
  moment: "before" | "after" | "before report" | "after report" | "never",
  env: Record<string, string>,
) {
  const child = Bun.spawn([process.execPath, join(import.meta.dir, "../support/dying-receiver.ts"), moment], {
    env: { PATH: process.env.PATH ?? "", ...env },
    stdout: "pipe",
    stderr: "inherit",
  });
  const reader = child.stdout.getReader();
  let text = "";
  while (!text.includes("\n")) {
    const { value, done } = await reader.read();
    if (done) throw new Error("Cannot start the receiver: it ended");
    text += new TextDecoder().decode(value);
  }
  const { smtpPort, apiUrl } = JSON.parse(text) as { smtpPort: number; apiUrl: string };
  return { smtpPort, apiUrl, exited: child.exited, kill: () => child.kill("SIGKILL") };
}

/** What a crash left, read by someone who comes after it. */
async function onDatabase(url: string | undefined, dataDir: string, work: (db: Db) => Promise<void>): Promise<void> {
  const db = await openDatabase({ url, dataDir });
  await work(db.api).finally(db.close);
}
