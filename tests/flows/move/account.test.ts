import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sql } from "drizzle-orm";
import { openDatabase, query } from "../../../src/database/db.ts";
import { service } from "../../../src/domain/access/actor.ts";
import { exportAccount } from "../../../src/flows/move/export-account.ts";
import { writeChanges } from "../../../src/flows/move/export-changes.ts";
import { type ImportTask, importAccount } from "../../../src/flows/move/import-account.ts";
import { importEverything } from "../../../src/flows/move/import-everything.ts";
import { findAccountOfKey } from "../../../src/store/account/keys.ts";
import { migrate } from "../../../src/store/migrate.ts";
import { emptyDatabase } from "../../support/database.ts";
import { enginesHere } from "../../support/engines.ts";
import { failureOf } from "../../support/failure.ts";
import { mailOf } from "../../support/mail.ts";
import { insertOwnDomain } from "../../support/own-domain.ts";
import { quarantinedMail } from "../../support/ruled.ts";
import { newAccount, newInbox, send } from "../../support/sends.ts";
import { untilAnswered } from "../../support/until.ts";
import { startWorld, type World } from "../../support/world.ts";

/** Both services make the same links and cursors. */
const env = { SIGNING_KEY: "a".repeat(64), ENCRYPTION_KEY: "b".repeat(64) };
const withFile = Buffer.from(
  [
    "From: Jane <jane@example.com>\r\nMessage-ID: <file@x.example>\r\nSubject: A file\r\nMIME-Version: 1.0",
    "Content-Type: multipart/mixed; boundary=b\r\n",
    "--b\r\nContent-Type: text/plain\r\n",
    "See file",
    '--b\r\nContent-Type: application/pdf; name="a.pdf"\r\nContent-Transfer-Encoding: base64\r\n',
    btoa("%PDF".repeat(50_000)).replace(/(.{76})/g, "$1\r\n"),
    "--b--\r\n",
  ].join("\r\n"),
);

interface Account {
  id: string;
  key: string;
  inboxId: string;
}

async function usedAccount(world: World, username: string): Promise<Account> {
  const key = await newAccount(world);
  const found = await findAccountOfKey(world.service.deps.db.api, (await keysOf(world, key))[0].id);
  return { id: found?.id ?? "", key, inboxId: await newInbox(world, key, username) };
}

const keysOf = async (world: World, key: string) => (await world.api("/v1/keys", { apiKey: key })).body.data;

describe("The export of one account", () => {
  let from: World;
  let ada: Account;
  let bob: Account;
  let lines: string[];

  beforeAll(async () => {
    from = await startWorld({ env });
    ada = await usedAccount(from, "ada");
    bob = await usedAccount(from, "bob");
    const { id: domainId } = await insertOwnDomain(from.service.deps.db.api, {
      accountId: ada.id,
      name: "ada.example",
    });
    expect(domainId).toStartWith("dom_");
    const post = (path: string, body: object, apiKey = ada.key) => from.api(path, { method: "POST", apiKey, body });
    await post("/v1/inboxes", { username: "own", domain: "ada.example" });
    const settings = {
      displayName: "Ada",
      metadata: { plan: "gold" },
      expiresAt: "2030-01-01T00:00:00.000Z",
      approvers: ["boss@example.org"],
      searchWords: "all",
    };
    const change = { method: "PATCH", apiKey: ada.key, body: settings };
    expect((await from.api(`/v1/inboxes/${ada.inboxId}`, change)).body).toMatchObject(settings);
    for (const name of ["lovelace", "byron"])
      await from.api(`/v1/inboxes/${ada.inboxId}/aliases/${name}`, { method: "PUT", apiKey: ada.key });
    await from.api(`/v1/inboxes/${ada.inboxId}/aliases/byron`, { method: "DELETE", apiKey: ada.key });
    await post("/v1/keys", { name: "reader", access: "read", inboxId: ada.inboxId });
    for (const { key } of [ada, bob]) {
      await post("/v1/suppressions", { address: "gone@example.com" }, key);
      const hook = { url: "https://hook.example.com/inboxd", eventTypes: ["message.bounced"] };
      expect((await post("/v1/webhooks", hook, key)).status).toBe(201);
    }
    await post("/v1/rules", { direction: "outbound", action: "block", pattern: "rival.example", inboxId: ada.inboxId });
    const tenant = { method: "PUT", apiKey: ada.key, body: { sendPolicy: "known", inbound: { dmarc: "honour" } } };
    expect((await from.api("/v1/policy?external_id=user-7", tenant)).status).toBe(200);
    const both = ["ada@inbox.localhost", "bob@inbox.localhost"];
    await from.deliver(withFile, both);
    await from.deliver(mailOf({ messageId: "bob@x.example", subject: "For Bob alone" }), both[1] ?? "");
    await from.deliver(mailOf({ messageId: "own@x.example", subject: "Own" }), "own@ada.example");
    for (const [number, { inboxId, key }] of [ada, bob].entries()) {
      const inbox = { id: inboxId, address: both[number] ?? "" };
      await quarantinedMail(from, inbox, { apiKey: key });
    }
    for (const { inboxId, key } of [ada, bob]) {
      await send(from, inboxId, { body: "From us", labels: ["sent"] }, { apiKey: key, waits: true });
      const attachments = [{ filename: "later.txt", content: Buffer.from(`later ${inboxId}`).toString("base64") }];
      const later = await send(from, inboxId, { sendAt: "2026-12-01T00:00:00Z", attachments }, { apiKey: key });
      expect(later.body.state).toBe("scheduled");
      const asking = { access: "agent", sendPolicy: "approve_all" };
      const { body: agent } = await post("/v1/keys", asking, key);
      const { body: waiting } = await send(from, inboxId, { subject: "Waits" }, { apiKey: agent.key });
      expect(waiting.state).toBe("awaiting_approval");
      const [thread] = (await from.api(`/v1/inboxes/${inboxId}/threads`, { apiKey: key })).body.data;
      const filed = { folder: "archive", add_labels: ["moved"], metadata: { order: "4711" } };
      await from.api(`/v1/threads/${thread.id}`, { method: "PATCH", body: filed, apiKey: key });
    }
    const ofAda = (await from.api("/v1/drafts?state=awaiting_approval", { apiKey: ada.key })).body.data[0];
    const edited = { method: "PATCH", apiKey: ada.key, body: { to: "new@example.com" } };
    expect((await from.api(`/v1/drafts/${ofAda.id}`, edited)).body.approval.edited).toBe(true);
    // As if an approved mail had been sent.
    await query(
      from.service.deps.db.api,
      sql`insert into approved_recipients (inbox_id, address) values (${ada.inboxId}, 'met@example.com'), (${bob.inboxId}, 'other@example.com')`,
    );
    lines = await exported(from, ada.id);
  });
  afterAll(() => from[Symbol.asyncDispose]());

  async function exported(world: World, accountId: string, id = "one"): Promise<string[]> {
    let text = "";
    const options = { id, version: "0.1.0", now: world.clock.now(), accountId, actor: service };
    await exportAccount(world.service.deps, options, async (line) => {
      text += line;
    });
    return text.trimEnd().split("\n");
  }

  const reader = (read: readonly string[]) =>
    async function* () {
      yield* read;
    };

  const importInto = (world: World, read = lines, task?: ImportTask) =>
    importAccount(world.service.deps, reader(read), task);

  /** The export of what has changed in Ada's account since an earlier export. */
  async function changesSince(earlier: readonly string[], later: readonly string[]): Promise<string[]> {
    let text = "";
    const options = { id: "changes", version: "0.1.0", now: from.clock.now() };
    await writeChanges(options, { earlier: reader(earlier), later: reader(later)() }, async (line) => {
      text += line;
    });
    return text.trimEnd().split("\n");
  }

  const startTarget = () => startWorld({ env, clock: from.clock });

  /** Everything that the API shows of an account. */
  async function shownBy(world: World, { key }: Account) {
    const ask = async (path: string) => {
      const { status, body } = await world.api(path, { apiKey: key });
      expect([path, status]).toEqual([path, 200]);
      return body;
    };
    const { data: inboxes } = await ask("/v1/inboxes");
    const mail = inboxes.map(async ({ id }: { id: string }) => {
      const { data: messages } = await ask(`/v1/inboxes/${id}/messages?limit=100`);
      const threads = await ask(`/v1/inboxes/${id}/threads?folder=all`);
      const labels = await ask(`/v1/inboxes/${id}/labels`);
      const whole = messages.map(async (message: { id: string; attachments: { filename: string; url: string }[] }) => {
        const raw = await (await world.fetch(`/v1/messages/${message.id}/raw`, { apiKey: key })).bytes();
        const files = message.attachments.map(async ({ filename, url }) => {
          const { pathname, search } = new URL(url);
          const bytes = await (await world.fetch(`${pathname}${search}`, { apiKey: null })).bytes();
          return { filename, sha256: new Bun.CryptoHasher("sha256").update(bytes).digest("hex"), size: bytes.length };
        });
        return { ...message, attachments: await Promise.all(files), raw: Buffer.from(raw).toString("latin1") };
      });
      return { threads, labels, messages: await Promise.all(whole) };
    });
    const withRaw = async (mail: { id: string }) => {
      const raw = await world.fetch(`/v1/quarantine/${mail.id}/raw`, { apiKey: key });
      return { ...mail, raw: await raw.text() };
    };
    const withFiles = async (draft: { id: string; attachments: { filename: string }[] }) => {
      const texts = draft.attachments.map(async ({ filename }) =>
        (await world.fetch(`/v1/attachments/${draft.id}/${filename}`, { apiKey: key })).text(),
      );
      return { ...draft, attachments: await Promise.all(texts) };
    };
    const { data: events } = await ask("/v1/events?types=*&after=start&limit=100");
    const { data: entries } = await ask("/v1/audit?limit=100");
    return {
      inboxes,
      mail: await Promise.all(mail),
      // The signature of a link has the port of its server in front.
      events: JSON.parse(JSON.stringify(events).replaceAll(/http:\/\/[^/"]*/g, "")),
      keys: (await keysOf(world, key)).map(({ lastUsedAt: _, ...each }: { lastUsedAt: unknown }) => each),
      domains: (await ask("/v1/domains")).data,
      webhooks: (await ask("/v1/webhooks")).data,
      suppressions: (await ask("/v1/suppressions")).data,
      rules: (await ask("/v1/rules")).data,
      policy: await ask("/v1/policy?external_id=user-7"),
      drafts: await Promise.all((await ask("/v1/drafts")).data.map(withFiles)),
      quarantine: await Promise.all((await ask("/v1/quarantine")).data.map(withRaw)),
      audit: entries.filter(({ action }: { action: string }) => action !== "account.imported"),
    };
  }

  const usageOf = async (world: World, { key }: Account) =>
    (await world.api("/v1/usage?group_by=inbox", { apiKey: key })).body;

  const countRows = async (world: World, table: string) =>
    (
      await query<{ rows: number }>(
        world.service.deps.db.api,
        sql`select count(*)::int as rows from ${sql.identifier(table)}`,
      )
    )[0]?.rows;

  test("has nothing of another account", () => {
    const text = lines.join("\n");
    for (const id of [bob.id, bob.inboxId, "For Bob alone"]) expect(text).not.toContain(id);
  });

  test("is imported beside other accounts, and the API shows the same as before", async () => {
    await untilAnswered(async () => {
      const { received, sent } = (await usageOf(from, ada)).totals;
      return (received === 2 && sent === 1) || undefined;
    });
    const before = await shownBy(from, ada);
    const latest = await exported(from, ada.id, "latest");
    await using to = await startTarget();
    const other = await usedAccount(to, "other");
    await to.deliver(mailOf({ messageId: "1@x.example" }), "other@inbox.localhost");
    const { rows } = await importInto(to, latest);
    expect(rows).toBe(JSON.parse(latest.at(-1) ?? "").rows);
    const after = await shownBy(to, ada);
    expect({ ...after, audit: after.audit.slice(1) }).toEqual(before);
    expect(after.drafts.map(({ state }) => state)).toEqual(["awaiting_approval", "scheduled"]);
    expect(await countRows(to, "approved_recipients")).toBe(1);
    expect(after.audit[0].action).toBe("export.read");
    expect((await usageOf(to, ada)).totals).toEqual((await usageOf(from, ada)).totals);
    expect((await shownBy(to, other)).mail[0].messages).toHaveLength(1);

    const last = before.events.at(-1).event_id;
    await to.deliver(mailOf({ messageId: "later@x.example", subject: "Later" }), "lovelace@inbox.localhost");
    const taken = { method: "POST", apiKey: other.key, body: { username: "byron" } };
    expect((await to.api("/v1/inboxes", taken)).body.code).toBe("address_taken");
    const { body } = await to.api(`/v1/events?types=*&after=${last}`, { apiKey: ada.key });
    expect(body.data.map(({ event }: { event: string }) => event)).toEqual(["message.received"]);
    const found = await to.api(`/v1/inboxes/${ada.inboxId}/messages?q=file`, { apiKey: ada.key });
    expect(found.body.total).toBe(1);
  });

  describe("is imported ahead", () => {
    /** Everything that the API shows of Ada's account after her changes, and the export of these. */
    let before: Awaited<ReturnType<typeof shownBy>>;
    let changes: string[];
    let latest: string[];
    beforeAll(async () => {
      const ask = (method: string, path: string, body?: object) => from.api(path, { method, apiKey: ada.key, body });
      const [thread] = (await ask("GET", `/v1/inboxes/${ada.inboxId}/threads?folder=all`)).body.data;
      const [own] = (await ask("GET", "/v1/inboxes")).body.data.filter(({ id }: { id: string }) => id !== ada.inboxId);
      const [gone] = (await ask("GET", `/v1/inboxes/${own.id}/messages`)).body.data;
      const [suppression] = (await ask("GET", "/v1/suppressions")).body.data;
      expect((await ask("DELETE", `/v1/messages/${gone.id}`)).status).toBe(204);
      // The new row has the address of the one that is gone, which only one row may have.
      expect((await ask("DELETE", `/v1/suppressions/${suppression.id}`)).status).toBe(204);
      expect((await ask("POST", "/v1/suppressions", { address: suppression.address })).status).toBe(201);
      expect((await ask("PATCH", `/v1/threads/${thread.id}`, { add_labels: ["late"], folder: "trash" })).status).toBe(
        200,
      );
      expect((await ask("POST", "/v1/inboxes", { username: "late" })).status).toBe(201);
      for (const name of ["ada", "late"]) {
        const mail = Buffer.from(withFile.toString().replace("<file@", `<late-${name}@`));
        expect(await from.deliver(mail, `${name}@inbox.localhost`)).toStartWith("250");
      }
      before = await shownBy(from, ada);
      latest = await exported(from, ada.id, "latest");
      changes = await changesSince(lines, latest);
    });

    const rowsIn = (read: readonly string[], table: string) =>
      read.flatMap((line) => {
        const { table: of, rows } = JSON.parse(line);
        return of === table ? rows : [];
      });

    test("and completed by what has changed since", async () => {
      const messages = new Set(rowsIn(lines, "messages").map(({ id }) => id));
      expect(rowsIn(changes, "messages").filter(({ id }) => !messages.has(id))).toHaveLength(2);
      const sources = new Set(rowsIn(lines, "source_chunks").map(({ sourceId }) => sourceId));
      const stored = changes.filter((line) => line.startsWith('{"table":"source_chunks"') && !line.includes('"gone"'));
      expect(rowsIn(stored, "source_chunks").filter(({ sourceId }) => sources.has(sourceId))).toEqual([]);

      await using to = await startTarget();
      const other = await usedAccount(to, "other");
      await importInto(to, lines, "ahead");
      expect(await to.api("/v1/account", { apiKey: ada.key })).toMatchObject({ status: 401 });
      expect(await to.deliver(mailOf({ messageId: "early@x.example" }), "ada@inbox.localhost")).toStartWith("550");
      expect(String(await failureOf(importInto(to, latest)))).toContain("an import of this account from another file");

      // It stays as far as it has come, and is continued.
      let readings = 0;
      const cutOff = async function* () {
        readings += 1;
        const end = changes.findIndex((line) => line.startsWith('{"table":"attachments"'));
        yield* readings < 4 ? changes : changes.slice(0, end);
        if (readings >= 4) throw new Error("cut off");
      };
      expect(String(await failureOf(importAccount(to.service.deps, cutOff)))).toContain("cut off");
      expect(await to.api("/v1/account", { apiKey: ada.key })).toMatchObject({ status: 401 });
      const { rows, resumedAfter } = await importInto(to, changes);
      expect(rows).toBe(JSON.parse(changes.at(-1) ?? "").rows);
      expect(resumedAfter).toBeGreaterThan(0);

      const after = await shownBy(to, ada);
      expect({ ...after, audit: after.audit.slice(1) }).toEqual(before);
      expect((await shownBy(to, other)).mail[0].messages).toHaveLength(0);
      for (const table of ["messages", "source_chunks", "suppressions", "removed_messages", "thread_labels"])
        expect([table, await countRows(to, table)]).toEqual([table, rowsIn(latest, table).length]);
      const last = before.events.at(-1).event_id;
      await to.deliver(mailOf({ messageId: "later@x.example", subject: "Later" }), "late@inbox.localhost");
      const { body } = await to.api(`/v1/events?types=*&after=${last}`, { apiKey: ada.key });
      expect(body.data.map(({ event }: { event: string }) => event)).toEqual(["message.received"]);
      await untilAnswered(async () => {
        const found = await to.api(`/v1/inboxes/${ada.inboxId}/messages?q=file`, { apiKey: ada.key });
        return found.body.total === 2 || undefined;
      });
    });

    test("or not, and then nothing is left of it", async () => {
      await using to = await startTarget();
      expect(String(await failureOf(importInto(to, changes)))).toContain("import that one first, with --ahead");
      expect(String(await failureOf(importInto(to, lines, "undo")))).toContain("nothing of this file is imported");
      await importInto(to, lines, "ahead");
      await importInto(to, changes, "ahead");
      await importInto(to, changes, "undo");
      expect(String(await failureOf(importInto(to, changes)))).toContain("from another file was begun");
      await importInto(to, lines, "undo");
      for (const table of ["messages", "source_chunks", "events", "threads", "suppressions", "idempotency_keys"])
        expect([table, await countRows(to, table)]).toEqual([table, 0]);
      await importInto(to, latest);
      expect((await shownBy(to, ada)).mail.flatMap(({ messages }) => messages)).toHaveLength(4);
    });

    test("and what has changed is told only since a whole export of the same account", async () => {
      const refusal = async (earlier: readonly string[], later: readonly string[]) =>
        String(await failureOf(changesSince(earlier, later)));
      expect(await refusal(changes, latest)).toContain("has only changes");
      expect(await refusal(await exported(from, bob.id), latest)).toContain("is that of another account");
      expect(await refusal(lines.slice(0, -1), latest)).toContain("its end is missing");
      expect(await refusal(lines, latest.slice(0, -1))).toContain("its end is missing");
    });
  });

  test("counts the shares of a mail for itself alone", async () => {
    await using to = await startTarget();
    await importInto(to);
    await importInto(to, await exported(from, bob.id));
    const shares = await query<{ shares: number }>(
      to.service.deps.db.api,
      sql`select shares from source_chunks where shares is not null`,
    );
    expect(shares.map((each) => each.shares)).toEqual([1, 1, 1, 1, 1, 1, 1, 1]);
    expect((await shownBy(to, bob)).mail).toHaveLength(1);
  });

  test("comes behind the log of its new service, whose new events come behind it", async () => {
    await using to = await startTarget();
    const far = lines.map((line) =>
      line.replaceAll(/"writtenBy":"\d+"/g, (each) => each.replace('"writtenBy":"', "$&7000")),
    );
    await importInto(to, closedAgain(far));
    await to.deliver(mailOf({ messageId: "later@x.example" }), "ada@inbox.localhost");
    const { body } = await to.api("/v1/events?types=*&after=start&limit=100", { apiKey: ada.key });
    expect(body.data.at(-1).message.rfc_message_id ?? body.data.at(-1).message.rfcMessageId).toContain(
      "later@x.example",
    );
  });

  /** The lines with a new digest at their end. */
  function closedAgain(changed: readonly string[]): string[] {
    const text = changed.slice(0, -1).map((line) => `${line}\n`);
    const sha256 = new Bun.CryptoHasher("sha256").update(text.join("")).digest("hex");
    return [...changed.slice(0, -1), JSON.stringify({ ...JSON.parse(changed.at(-1) ?? ""), sha256 })];
  }

  describe("is refused, and nothing is written", () => {
    let to: World;
    beforeAll(async () => {
      to = await startTarget();
    });
    afterAll(() => to[Symbol.asyncDispose]());

    async function refusal(read: readonly string[]): Promise<string> {
      const counts = () =>
        Promise.all(["messages", "source_chunks", "events", "api_keys"].map((table) => countRows(to, table)));
      const before = await counts();
      const error = String(await failureOf(importAccount(to.service.deps, reader(read))));
      expect(await counts()).toEqual(before);
      const marks = await query(to.service.deps.db.api, sql`select name from settings where name like 'import%'`);
      expect(marks).toEqual([]);
      return error;
    }

    test("if it is damaged", async () => {
      expect(await refusal(lines.slice(0, -1))).toContain("its end is missing");
      expect(await refusal(lines.map((line) => line.replace("From us", "From me")))).toContain(
        "its checksum does not match",
      );
    });

    test("if it has rows of another account, or of the service", async () => {
      const foreign = lines.map((line) =>
        line.startsWith('{"table":"suppressions"') ? line.replaceAll(ada.id, bob.id) : line,
      );
      expect(await refusal(closedAgain(foreign))).toContain("it has rows of another account");
      const setting = '{"table":"settings","rows":[{"name":"signing_key","value":"x"}]}';
      const counted = [...lines.slice(0, -1), setting, lines.at(-1) ?? ""];
      expect(await refusal(closedAgain(counted))).toContain("no table settings");
    });

    test("if its own domain is the MAIL_DOMAIN of the other service", async () => {
      const ours = lines.map((line) => line.replaceAll("ada.example", "inbox.localhost"));
      expect(await refusal(closedAgain(ours))).toContain("its own domain inbox.localhost is the MAIL_DOMAIN");
    });

    test("if another ENCRYPTION_KEY has sealed its secrets", async () => {
      const sealed = lines.map((line) => line.replaceAll(/ibs1\.[^.]*\./g, "ibs1.other."));
      expect(await refusal(closedAgain(sealed))).toContain("another ENCRYPTION_KEY");
    });

    test("if a row of its mail is there already, found only when it is written", async () => {
      const twice = lines.flatMap((line) => (line.startsWith('{"table":"recipients"') ? [line, line] : line));
      const rows = JSON.parse(lines.find((line) => line.startsWith('{"table":"recipients"')) ?? "").rows.length;
      const end = JSON.parse(lines.at(-1) ?? "");
      const read = closedAgain([...twice.slice(0, -1), JSON.stringify({ ...end, rows: end.rows + rows })]);
      expect(await refusal(read)).toContain("has some of its rows already");
    });

    test("by an import of whole services, as a whole export is by this one", async () => {
      const { db } = to.service.deps;
      expect(String(await failureOf(importEverything({ db, mailDomain: "inbox.localhost" }, reader(lines))))).toContain(
        "--beside",
      );
      const whole = closedAgain(lines.map((line) => line.replace(`,"account":"${ada.id}"`, "")));
      expect(await refusal(whole)).toContain("without --beside");
    });

    test("if names, addresses, keys or domains are taken, which it names", async () => {
      const own = await usedAccount(to, "ada");
      await insertOwnDomain(to.service.deps.db.api, { accountId: own.id, name: "ada.example" });
      const error = await refusal(lines);
      expect(error).toContain("this service has already: domain ada.example, address ada");
    });
  });

  test("is undone first if undoing it was interrupted, and refused once it is there", async () => {
    await using to = await startTarget();
    let readings = 0;
    const cutOff = async function* () {
      readings += 1;
      const end = readings < 3 ? lines.length : lines.findIndex((line) => line.startsWith('{"table":"recipients"'));
      yield* lines.slice(0, readings > 3 ? 0 : end);
      if (readings >= 3) throw new Error("cut off");
    };
    expect(String(await failureOf(importAccount(to.service.deps, cutOff)))).toContain("cut off");
    expect(await countRows(to, "messages")).toBe(3);
    expect(await to.api("/v1/account", { apiKey: ada.key })).toMatchObject({ status: 401 });
    expect((await importInto(to)).resumedAfter).toBe(0);
    expect(String(await failureOf(importInto(to)))).toContain(`this service has already: account ${ada.id}`);
    expect((await shownBy(to, ada)).mail.flatMap(({ messages }) => messages)).toHaveLength(3);
  });

  for (const engine of enginesHere()) {
    test(`is continued on ${engine} where a killed process has left it`, async () => {
      const made = engine === "postgres" ? await emptyDatabase() : undefined;
      const dataDir = mkdtempSync(join(tmpdir(), "ibx-moved-"));
      const options = { dataDir: join(dataDir, "data"), url: made?.url };
      const empty = await openDatabase(options);
      await migrate(empty);
      await empty.close();
      const file = join(dataDir, "account.jsonl");
      writeFileSync(file, `${lines.join("\n")}\n`);
      const command = [
        "bun",
        join(import.meta.dir, "../../support/dying-import.ts"),
        file,
        options.url ?? "",
        options.dataDir,
      ];
      const child = Bun.spawn(command, { stdout: "pipe", stderr: "inherit", env: { ...process.env, ...env } });
      expect(Buffer.from((await child.stdout.getReader().read()).value ?? []).toString()).toBe("half\n");
      child.kill("SIGKILL");
      await child.exited;
      const again = await openDatabase(options);
      const countIn = async (table: string) =>
        (await query<{ rows: number }>(again.api, sql`select count(*)::int as rows from ${sql.identifier(table)}`))[0]
          ?.rows;
      expect([await countIn("messages"), await countIn("inboxes")]).toEqual([3, 0]);
      const imported = await importAccount({ ...from.service.deps, db: again }, reader(lines));
      expect(imported.resumedAfter).toBeGreaterThan(3);
      expect([await countIn("messages"), await countIn("inboxes")]).toEqual([3, 2]);
      await again.close();
      await made?.drop();
      rmSync(dataDir, { recursive: true, force: true });
    });
  }
});
