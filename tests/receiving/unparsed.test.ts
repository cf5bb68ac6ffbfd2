import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sql } from "drizzle-orm";
import { openDatabase, query } from "../../src/database/db.ts";
import { service } from "../../src/domain/access/actor.ts";
import { deleteInbox } from "../../src/flows/account/delete-inbox.ts";
import { exportAccount } from "../../src/flows/move/export-account.ts";
import { exportEverything } from "../../src/flows/move/export-everything.ts";
import { importEverything } from "../../src/flows/move/import-everything.ts";
import { authenticationOf } from "../support/arrivals.ts";
import { emptyDatabase } from "../support/database.ts";
import { type EngineUnderTest, enginesHere, openMigrated } from "../support/engines.ts";
import { failureOf } from "../support/failure.ts";
import { startInboxd } from "../support/inboxd.ts";
import { mailOf } from "../support/mail.ts";
import { inData } from "../support/raw-smtp.ts";
import { type ReceptionOptions, reception, spinning } from "../support/reception.ts";
import { countEvents, countRows, storedAttachments, storedBytes, storedMessages } from "../support/stored.ts";
import { untilAnswered } from "../support/until.ts";
import { deliver } from "../support/world.ts";

/** Large enough for the parser process. */
const padding = `${"Lorem ipsum dolor sit amet ".repeat(2)}\r\n`.repeat(5200);
const bomb = (number: number) =>
  mailOf({ messageId: `bomb${number}@x.example`, headers: [spinning], text: `${number}\r\n${padding}` });
const letter = (messageId = "letter@x.example") => mailOf({ messageId, text: padding });

const pdf = Buffer.from(Array.from({ length: 300_000 }, (_, index) => (index * index + (index >> 8)) % 256));
const withPdf = mailOf({
  messageId: "pdf@x.example",
  headers: ["MIME-Version: 1.0", "Content-Type: multipart/mixed; boundary=b"],
  text: `--b\r\n\r\nSee file\r\n--b\r\nContent-Type: application/pdf; name=file.pdf\r\nContent-Transfer-Encoding: base64\r\n\r\n${pdf
    .toString("base64")
    .replace(/.{76}/g, "$&\r\n")}\r\n--b--\r\n`,
});

/** No mail gets a turn with the parser while it arrives, only later. */
const fullAtTheDoor: ReceptionOptions = {
  parse: (parse) => async (raw, entry) => (entry.signal === undefined ? undefined : parse(raw, entry)),
};

for (const engine of enginesHere()) {
  describe(`Mail that cannot be parsed at once (${engine})`, () => {
    let under: EngineUnderTest;
    beforeEach(async () => {
      under = await openMigrated(engine);
    });
    afterEach(() => under.remove());

    const rows = (table: string) => countRows(under.db.api, table);
    const events = () => countEvents(under.db.api, "message.received");
    const addressOf = ({ username }: { username: string }) => `${username}@inbox.localhost`;

    async function promises() {
      return query(
        under.db.api,
        sql`select kind, lane, state, attempt, account_id as "accountId", inbox_id as "inboxId" from outbox`,
      );
    }

    test("from another sender is stored whole while 80 bombs are queued", async () => {
      const hasLetter = new AbortController();
      const patience = () => AbortSignal.any([hasLetter.signal, AbortSignal.timeout(8000)]);
      await using world = await reception(under.db, {
        parser: { timeoutMs: 500 },
        parse: (parse) => (raw, entry) => parse(raw, { ...entry, signal: patience() }),
      });
      const ada = await world.newInbox();
      const eve = await world.newInbox();
      const bombs = Array.from({ length: 80 }, (_, number) => deliver(world.port, bomb(number), addressOf(eve)));
      expect(await Promise.race(bombs)).toStartWith("250");
      const reply = await deliver(world.port, withPdf, addressOf(ada), "jane@example.com", "127.0.0.2");
      expect(reply).toStartWith("250 2.0.0");
      // Behind all the bombs, it would have had its turn only after they had waited too long.
      expect(await rows("unparsed_mails")).toBe(0);
      const [message, ...more] = await storedMessages(under.db.api, ada.id);
      expect(more).toEqual([]);
      expect(message).toMatchObject({ rfcMessageId: "pdf@x.example", bodyText: "See file", attachmentCount: 1 });
      const [file] = await storedAttachments(under.db.api, message?.id ?? "");
      expect(file).toMatchObject({ filename: "file.pdf", sizeBytes: pdf.length });
      expect((await storedBytes(under.db.api, file?.sourceId ?? "", file?.part)).equals(pdf)).toBe(true);
      // The other bombs need not wait any longer, with both processes at work. A mail whose parsing was ended is listed by its header; one
      // without a turn is stored unparsed.
      hasLetter.abort();
      for (const answer of await Promise.all(bombs)) expect(answer).toStartWith("250 2.0.0");
      const listed = await rows("messages");
      expect(listed).toBeGreaterThan(1);
      expect(await rows("unparsed_mails")).toBe(81 - listed);
      const told = world.log.filter(({ msg }) => msg === "mail received");
      expect(told.filter(({ truncated }) => truncated === true)).toHaveLength(listed - 1);
    });

    test("is acknowledged once it is stored, hidden at first, and then filed for all its inboxes", async () => {
      await using world = await reception(under.db, fullAtTheDoor);
      const [ada, bob] = [await world.newInbox(), await world.newInbox()];
      const to = [addressOf(ada), `${bob.username}+x@inbox.localhost`, addressOf(bob)];
      expect(await deliver(world.port, withPdf, to)).toStartWith("250 2.0.0");
      for (const table of ["messages", "threads"]) expect(await rows(table)).toBe(0);
      expect(await events()).toBe(0);
      const [promise, ...more] = await promises();
      expect(more).toEqual([]);
      expect(promise).toMatchObject({ kind: "parse", lane: "127.0.0.1", state: "ready", attempt: 0 });
      expect([ada, bob]).toContainEqual(
        expect.objectContaining({ id: promise?.inboxId, accountId: promise?.accountId }),
      );
      const [kept] = await query(under.db.api, sql`select * from unparsed_mails`);
      expect(kept).toMatchObject({
        envelope_from: "jane@example.com",
        size_bytes: withPdf.length,
        recipients: [
          { inboxId: ada.id, toAddr: to[0] },
          { inboxId: bob.id, toAddr: to[1] },
        ],
        client: {
          address: "127.0.0.1",
          network: "127.0.0.1",
          heloName: "client.example",
          secure: false,
          isProxy: false,
        },
      });

      await world.parseKept();
      await world.emptied();
      expect(await rows("unparsed_mails")).toBe(0);
      for (const [inbox, toAddr] of [[ada, to[0]] as const, [bob, to[1]] as const]) {
        const [message, ...others] = await storedMessages(under.db.api, inbox.id);
        expect(others).toEqual([]);
        expect(message).toMatchObject({ toAddr, bodyText: "See file", sourceId: kept?.source_id });
        expect((await storedBytes(under.db.api, message?.sourceId ?? "")).toString()).toBe(withPdf);
        const [file] = await storedAttachments(under.db.api, message?.id ?? "");
        expect((await storedBytes(under.db.api, file?.sourceId ?? "", file?.part)).equals(pdf)).toBe(true);
        expect(await countEvents(under.db.api, "message.received", inbox.id)).toBe(1);
      }
      const [{ shares } = {}] = await query(
        under.db.api,
        sql`select shares from source_chunks where shares is not null`,
      );
      expect(shares).toBe(2);
      expect(world.warnings()).toEqual([]);
    });

    test("is kept for the inboxes that are not disabled, and filed although one is disabled later", async () => {
      await using world = await reception(under.db, fullAtTheDoor);
      const [ada, bob, eve] = [await world.newInbox(), await world.newInbox(), await world.newInbox()];
      const disable = (id: string) =>
        query(under.db.api, sql`update inboxes set disabled = true, revision = revision + 1 where id = ${id}`);
      const client = await inData(world.port, [ada, bob].map(addressOf));
      await disable(bob.id);
      client.send(`${letter("kept@x.example")}\r\n.\r\n`);
      expect(await client.reply()).toStartWith("250 2.0.0");
      client.destroy();
      const late = await inData(world.port, addressOf(eve));
      await disable(eve.id);
      late.send(`${letter("late@x.example")}\r\n.\r\n`);
      expect(await late.reply()).toStartWith("550 5.2.1");
      late.destroy();
      await disable(ada.id);
      await world.parseKept();
      await world.emptied();
      const idsOf = async (id: string) =>
        (await storedMessages(under.db.api, id)).map(({ rfcMessageId }) => rfcMessageId);
      expect(await Promise.all([ada, bob, eve].map(({ id }) => idsOf(id)))).toEqual([["kept@x.example"], [], []]);
      const [{ shares } = {}] = await query(under.db.api, sql`select sum(shares) as shares from source_chunks`);
      expect(Number(shares)).toBe(1);
    }, 20_000);

    test("has its sender authenticated when it is filed, by the client that it came from", async () => {
      const asked: unknown[] = [];
      await using world = await reception(under.db, {
        ...fullAtTheDoor,
        authenticate: async ({ envelope: { from, client }, raw }) => {
          asked.push([from, client?.address, client?.heloName, raw.length]);
          return authenticationOf({ clientAddress: client?.address ?? null });
        },
      });
      const ada = await world.newInbox();
      await deliver(world.port, letter(), addressOf(ada));
      await world.parseKept();
      await world.emptied();
      const seen = ["jane@example.com", "127.0.0.1", "client.example", letter().length];
      // Once at the door, where the parser had no time, and once later.
      expect(asked).toEqual([seen, seen]);
      const messages = await query(under.db.api, sql`select authentication from messages`);
      expect(messages).toEqual([{ authentication: authenticationOf({ clientAddress: "127.0.0.1" }) }]);
    });

    test("is one message if its sender sends it again meanwhile", async () => {
      await using world = await reception(under.db, fullAtTheDoor);
      const ada = await world.newInbox();
      for (let copy = 0; copy < 3; copy += 1) {
        expect(await deliver(world.port, letter(), addressOf(ada))).toStartWith("250");
      }
      await world.parseKept();
      await world.emptied();
      expect(await rows("unparsed_mails")).toBe(0);
      expect(await rows("messages")).toBe(1);
      expect(await events()).toBe(1);
      expect(await rows("source_chunks")).toBe(1);
    });

    test("is filed for the inboxes that still exist, and deleted if none does", async () => {
      await using world = await reception(under.db, fullAtTheDoor);
      const [ada, bob] = [await world.newInbox(), await world.newInbox()];
      await deliver(world.port, letter("both@x.example"), [addressOf(ada), addressOf(bob)]);
      await deliver(world.port, letter("bob@x.example"), addressOf(bob));
      await deleteInbox(world.deps, { accountId: bob.accountId, actor: service }, bob.id);
      await world.parseKept();
      await world.emptied();
      expect((await storedMessages(under.db.api, ada.id)).map(({ rfcMessageId }) => rfcMessageId)).toEqual([
        "both@x.example",
      ]);
      for (const table of ["messages", "source_chunks"]) expect(await rows(table)).toBe(1);
      expect(await events()).toBe(1);
      expect(await rows("unparsed_mails")).toBe(0);
      const [{ shares } = {}] = await query(under.db.api, sql`select shares from source_chunks`);
      expect(shares).toBe(1);
    });

    test("moves with an export, and is filed after the import", async () => {
      let lines = "";
      {
        await using world = await reception(under.db, fullAtTheDoor);
        await deliver(world.port, withPdf, addressOf(await world.newInbox()));
        await exportEverything(under.db, { id: "one", version: "0.1.0", now: new Date(0) }, async (line) => {
          lines += line;
        });
      }
      const target = await openMigrated(engine);
      try {
        await importEverything({ db: target.db, mailDomain: "inbox.localhost" }, async function* () {
          yield* lines.trimEnd().split("\n");
        });
        await using world = await reception(target.db);
        await world.parseKept();
        await world.emptied();
        const [message, ...more] = await query(target.db.api, sql`select body_text, attachment_count from messages`);
        expect(more).toEqual([]);
        expect(message).toEqual({ body_text: "See file", attachment_count: 1 });
        expect(await countRows(target.db.api, "unparsed_mails")).toBe(0);
      } finally {
        await target.remove();
      }
    });

    test("moves with each account of its recipients, for the inboxes of this account alone", async () => {
      await using world = await reception(under.db, fullAtTheDoor);
      const [ada, bob] = [await world.newInbox(), await world.newInbox()];
      await deliver(world.port, letter("both@x.example"), [addressOf(ada), addressOf(bob)]);
      for (const { id: inboxId, accountId } of [ada, bob]) {
        const rows: Record<string, Record<string, unknown>[]> = {};
        const options = { id: "one", version: "0.1.0", now: new Date(0), accountId, actor: service };
        await exportAccount(world.deps, options, async (line) => {
          const { table, rows: read } = JSON.parse(line);
          if (table !== undefined) rows[table] = read;
        });
        expect(rows.unparsed_mails).toMatchObject([{ recipients: [{ inboxId }] }]);
        expect(rows.outbox).toMatchObject([{ kind: "parse", accountId, inboxId }]);
        expect(rows.source_chunks).toMatchObject([{ shares: 1 }]);
      }
    });

    test("is delayed if it cannot be stored", async () => {
      await using world = await reception(under.db, fullAtTheDoor);
      const ada = await world.newInbox();
      await query(under.db.api, sql`alter table unparsed_mails rename to away`);
      expect(await deliver(world.port, letter(), addressOf(ada))).toStartWith("451 4.3.0");
      expect(await rows("source_chunks")).toBe(0);
      expect(await promises()).toEqual([]);
    });

    test("is released at once by a process that stops", async () => {
      const waits = Promise.withResolvers<void>();
      await using world = await reception(under.db, {
        parse:
          () =>
          (_raw, { signal }) => {
            if (signal === undefined) return Promise.resolve(undefined);
            waits.resolve();
            return new Promise((resolve) => signal.addEventListener("abort", () => resolve(undefined)));
          },
      });
      const ada = await world.newInbox();
      await deliver(world.port, letter(), addressOf(ada));
      await world.parseKept();
      await waits.promise;
      await world.stop(0);
      const [promise] = await world.waiting();
      expect(promise).toMatchObject({ state: "waiting", attempt: 1, dueAt: world.clock.now() });
      expect(await rows("unparsed_mails")).toBe(1);
    });

    test("is retried later if no parser can be started, and listed by its header after 20 attempts", async () => {
      await using world = await reception(under.db, { parser: { command: ["/no/such/program"] } });
      const ada = await world.newInbox();
      expect(await deliver(world.port, letter(), addressOf(ada))).toStartWith("250");
      await world.parseKept();
      await world.rested();
      const [promise] = await world.waiting();
      expect(promise).toMatchObject({ state: "waiting", attempt: 1 });
      expect(promise?.dueAt.getTime()).toBe(world.clock.now().getTime() + 2000);
      await query(under.db.api, sql`update outbox set attempt = 20`);
      world.clock.pass(2000);
      world.deps.nudge("parse");
      await world.emptied();
      const [message] = await storedMessages(under.db.api, ada.id);
      expect(message).toMatchObject({ subject: "Hello", bodyText: "" });
    });
  });

  describe(`Kill -9 of a process that has acknowledged an unparsed mail (${engine})`, () => {
    test.each(["kept", "parsed", "filed"])(
      "while the mail is %s: the next process files it, once",
      async (moment) => {
        const database = engine === "embedded" ? undefined : await emptyDatabase();
        const dataDir = mkdtempSync(join(tmpdir(), "ibx-unparsed-"));
        const env = {
          DATA_DIR: dataDir,
          API_KEY: "key-of-the-first-account",
          ...(database && { DATABASE_URL: database.url }),
        };
        try {
          const before = await startInboxd({ env });
          const ada = (await (await before.request("POST", "/v1/inboxes", {})).json()) as {
            id: string;
            address: string;
          };
          await before.stop();
          const dying = await startDying(moment, env);
          expect(await deliver(dying.port, withPdf, ada.address)).toStartWith("250");
          if (moment === "kept") dying.kill("SIGKILL");
          await dying.exited;
          const db = await openDatabase({ url: database?.url, dataDir });
          expect(await countRows(db.api, "messages")).toBe(moment === "filed" ? 1 : 0);
          expect(await countRows(db.api, "unparsed_mails")).toBe(moment === "filed" ? 0 : 1);
          await db.close();

          const after = await startInboxd({ env });
          const rowsAt = async (path: string) => {
            const { data } = (await (await after.request("GET", path)).json()) as { data: { id?: string }[] };
            return data.length === 0 ? undefined : data;
          };
          const [message, ...more] = await untilAnswered(() => rowsAt(`/v1/inboxes/${ada.id}/messages`));
          expect(more).toEqual([]);
          expect(message).toMatchObject({ bodyText: "See file", attachments: [{ filename: "file.pdf" }] });
          const raw = await after.request("GET", `/v1/messages/${message?.id}/raw`);
          expect(await raw.text()).toBe(withPdf);
          const history = await rowsAt(`/v1/messages/${message?.id}/history`);
          expect(history).toMatchObject([
            { what: "received", eventId: null, envelope: { to: ada.address } },
            { what: "parsed_later" },
          ]);
          // The log shows nothing newer than the oldest transaction of the server, and other tests have transactions too.
          expect(await untilAnswered(() => rowsAt("/v1/events"))).toHaveLength(1);
          await after.stop();
        } finally {
          await database?.drop();
          rmSync(dataDir, { recursive: true, force: true });
        }
      },
      60_000,
    );

    test("before its 250: an inbox that refuses the sender takes the repeated mail, and has it once", async () => {
      const database = engine === "embedded" ? undefined : await emptyDatabase();
      const dataDir = mkdtempSync(join(tmpdir(), "ibx-unparsed-"));
      const env = {
        DATA_DIR: dataDir,
        API_KEY: "key-of-the-first-account",
        ...(database && { DATABASE_URL: database.url }),
      };
      try {
        const before = await startInboxd({ env });
        const made = await before.request("POST", "/v1/inboxes", {});
        const { id, address } = (await made.json()) as { id: string; address: string };
        const inbound = { unlisted: "block", blocked: "refuse" };
        expect((await before.request("PUT", `/v1/inboxes/${id}/policy`, { inbound })).status).toBe(200);
        await before.stop();
        const dying = await startDying("unanswered", env);
        expect(String(await failureOf(deliver(dying.port, letter(), address)))).toContain("ended before a reply");
        await dying.exited;

        const db = await openDatabase({ url: database?.url, dataDir });
        try {
          await using world = await reception(db);
          expect(await countRows(db.api, "unparsed_mails")).toBe(1);
          expect(await deliver(world.port, letter("other@x.example"), address)).toStartWith("550 5.7.1");
          expect(await deliver(world.port, letter(), address)).toStartWith("250");
          await world.parseKept();
          await world.emptied();
          expect([await countRows(db.api, "messages"), await countRows(db.api, "quarantine")]).toEqual([0, 1]);
          expect(await countRows(db.api, "unparsed_mails")).toBe(0);
          expect(await deliver(world.port, letter(), address)).toStartWith("250");
          expect(await countRows(db.api, "quarantine")).toBe(1);
        } finally {
          await db.close();
        }
      } finally {
        await database?.drop();
        rmSync(dataDir, { recursive: true, force: true });
      }
    }, 60_000);
  });

  test.skipIf(engine === "embedded")("Two processes on one Postgres parse each mail once", async () => {
    const under = await openMigrated(engine);
    const besides = await openDatabase(under.options);
    try {
      let parsed = 0;
      const counting: ReceptionOptions = {
        parse: (parse) => async (raw, entry) => {
          if (entry.signal === undefined) return undefined;
          parsed += 1;
          return parse(raw, entry);
        },
      };
      await using one = await reception(under.db, counting);
      await using other = await reception(besides, counting);
      const ada = await one.newInbox();
      for (let number = 0; number < 20; number += 1) {
        const from = `127.0.0.${1 + (number % 5)}`;
        await deliver(
          one.port,
          letter(`${number}@x.example`),
          `${ada.username}@inbox.localhost`,
          "jane@x.example",
          from,
        );
      }
      await Promise.all([one.parseKept(), other.parseKept()]);
      await one.emptied();
      expect(parsed).toBe(20);
      expect(await storedMessages(under.db.api, ada.id)).toHaveLength(20);
      expect(await countRows(under.db.api, "source_chunks")).toBe(20);
    } finally {
      await besides.close();
      await under.remove();
    }
  });
}

/** Starts a process that dies at a moment of a mail that cannot be parsed at once. */
async function startDying(moment: string, env: Record<string, string>) {
  const dying = Bun.spawn([process.execPath, join(import.meta.dir, "../support/dying-parser.ts"), moment], {
    env: { PATH: process.env.PATH ?? "", ...env },
    stdout: "pipe",
    stderr: "inherit",
  });
  const { value } = await dying.stdout.getReader().read();
  return Object.assign(dying, { port: Number(new TextDecoder().decode(value)) });
}
