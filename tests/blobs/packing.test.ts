import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import { query } from "../../src/database/db.ts";
import { exportEverything } from "../../src/flows/move/export-everything.ts";
import { importEverything } from "../../src/flows/move/import-everything.ts";
import { type PackingDeps, packSources, sweepSegments } from "../../src/flows/pack-sources.ts";
import { findChunk } from "../../src/store/mail/sources.ts";
import { prune } from "../../src/workers/prune.ts";
import { enginesHere, openMigrated } from "../support/engines.ts";
import { failureOf } from "../support/failure.ts";
import { randomFile } from "../support/files.ts";
import { faultsOfSources } from "../support/held-sources.ts";
import { away, type ObjectStore, objectServersHere, passing, startObjectStore } from "../support/object-store.ts";
import { untilSo } from "../support/until.ts";
import { startWorld, type World } from "../support/world.ts";

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

describe.each(objectServersHere())("Raw mail in an object store (%s)", (server) => {
  let store: ObjectStore;
  let world: World;
  let inbox: { id: string; address: string };
  // Swift starts four servers.
  beforeAll(async () => {
    store = await startObjectStore(server);
    world = await startWorld({ env: { ...store.env, SMTP_MAX_BYTES: "40000000" } });
    inbox = await world.inbox();
  }, 60_000);
  beforeEach(() => store.treat(passing));
  afterAll(async () => {
    store.treat(passing);
    await world?.[Symbol.asyncDispose]();
    await store?.[Symbol.asyncDispose]();
  });

  test("is read byte for byte: whole, in ranges, its attachments, several pieces", async () => {
    const file = randomFile(2_300_000, 3);
    const long = Array.from({ length: 3000 }, (_, line) => `Line ${line} of a long text.`).join("\r\n");
    const mails = new Map([
      ["short", mail("short")],
      ["long", mail("long", long)],
      ["file", withFile("file", file)],
    ]);
    for (const raw of mails.values()) expect(await world.deliver(raw, inbox.address)).toStartWith("250");
    // Nothing is read before, since a large answer is sent from a file that is kept for a second.
    await packAll(world);
    expect(await inDatabase(world)).toBe(0);
    expect(await allRaw(world, inbox.id)).toEqual(mails);

    const { body } = await world.api(`/v1/inboxes/${inbox.id}/messages`);
    const [attachment] = body.data.flatMap(({ attachments }: { attachments: { url: string }[] }) => attachments);
    const whole = await (await fetch(attachment.url)).bytes();
    expect(Buffer.compare(whole, file)).toBe(0);
    const range = await fetch(attachment.url, { headers: { range: "bytes=1048570-1048589" } });
    expect(range.status).toBe(206);
    expect(Buffer.from(await range.arrayBuffer())).toEqual(Buffer.from(file.subarray(1_048_570, 1_048_590)));
  });

  test("younger mail stays in the database, and a segment that is not full waits for more", async () => {
    expect(await world.deliver(mail("young"), inbox.address)).toStartWith("250");
    world.clock.pass(0.9 * hourMs);
    await pack(world);
    expect(await inDatabase(world)).toBe(1);
    world.clock.pass(1 * hourMs);
    await pack(world);
    expect(await inDatabase(world)).toBe(1);
    world.clock.pass(0.2 * hourMs);
    await pack(world);
    expect(await inDatabase(world)).toBe(0);
  });

  test("is 503 while the store is away, and mail comes in meanwhile; then the backlog is packed", async () => {
    // A mail that was not read before, since the file of a large answer is kept for a second.
    expect(await world.deliver(withFile("unread", randomFile(2_000_000, 4)), inbox.address)).toStartWith("250");
    await packAll(world);
    store.treat(away);
    const { body } = await world.api(`/v1/inboxes/${inbox.id}/messages`);
    const { id } = body.data.find(({ subject }: { subject: string }) => subject === "short");
    const answer = await world.api(`/v1/messages/${id}/raw`);
    expect(answer.status).toBe(503);
    expect(answer.headers.get("retry-after")).toBe("10");
    expect(answer.body).toMatchObject({ code: "service_unavailable" });
    const large = body.data.find(({ subject }: { subject: string }) => subject === "unread");
    expect((await world.fetch(`/v1/messages/${large.id}/raw`)).status).toBe(503);
    expect((await fetch(large.attachments[0].url)).status).toBe(503);

    expect(await world.deliver(mail("meanwhile"), inbox.address)).toStartWith("250");
    expect((await world.api(`/v1/messages/${id}`)).status).toBe(200);
    world.clock.pass(3 * hourMs);
    expect(await failureOf(pack(world))).toMatchObject({
      message: "Cannot write to the object store: it answered 503",
    });
    expect(await inDatabase(world)).toBe(1);
    const fresh = await world.deliver(mail("fresh"), inbox.address);
    expect(fresh).toStartWith("250");

    store.treat(passing);
    await packAll(world);
    expect(await inDatabase(world)).toBe(0);
    expect((await world.api(`/v1/messages/${id}/raw`)).status).toBe(200);
  });

  test("a reply goes out while the store is away, to all addresses of an older Reply-To", async () => {
    const raw = mail("to several").replace(
      "Subject:",
      "Reply-To: team@example.com, Ada <boss@example.com>\r\nSubject:",
    );
    expect(await world.deliver(raw, inbox.address)).toStartWith("250");
    await packAll(world);
    store.treat(away);
    const { body: page } = await world.api(`/v1/inboxes/${inbox.id}/messages`);
    const { id } = page.data.find(({ subject }: { subject: string }) => subject === "to several");
    const { body } = await world.api(`/v1/inboxes/${inbox.id}/send`, {
      method: "POST",
      headers: { "idempotency-key": "several", prefer: "respond-async" },
      body: { replyToMessageId: id, body: "Yes." },
    });
    expect(body.code).toBeUndefined();
    const sent = await world.api(`/v1/messages/${body.messageId}`);
    expect(sent.body.to).toEqual(["team@example.com", "boss@example.com"]);
  });

  test.each([
    ["elsewhere", () => "jane@example.com", "attempt put off: the object store is away"],
    ["to an inbox here", () => inbox.address, "our own mail put off: the object store is away"],
  ])(
    "mail with an older file %s waits while the store is away, and goes out when it is back",
    async (_, to, logged) => {
      const { body: page } = await world.api(`/v1/inboxes/${inbox.id}/messages?limit=100`);
      const withFile = page.data.find(({ subject }: { subject: string }) => subject === "file");
      store.treat(away);
      const { body } = await world.api(`/v1/inboxes/${inbox.id}/send`, {
        method: "POST",
        headers: { "idempotency-key": `older-file-${to().split("@")[1]}`, prefer: "respond-async" },
        body: { to: to(), subject: "again", body: "See it.", forwardOf: withFile.id },
      });
      const { id } = (await world.api(`/v1/messages/${body.messageId}`)).body;
      const status = async () => (await world.api(`/v1/messages/${id}`)).body.status;
      await untilSo(() => world.log.some(({ msg }) => msg === logged));
      expect(await status()).toBe("pending");
      store.treat(passing);
      await untilSo(async () => {
        world.clock.pass(60_000);
        return (await status()) === "sent";
      });
    },
  );

  test("an export has all bytes, and another service has them without the store", async () => {
    await packAll(world);
    const { db } = world.service.deps;
    let text = "";
    await exportEverything(db, { id: "all", version: "1", now: world.clock.now() }, async (line) => {
      text += line;
    });
    await using other = await openApart();
    await importEverything({ db: other.db, mailDomain: world.service.deps.mailDomain }, async function* () {
      yield* text.trimEnd().split("\n");
    });
    expect(await query(other.db.api, sql`select 1 from source_chunks where segment_id is not null`)).toEqual([]);
    const names = await query<{ id: string; part: number; seq: number }>(
      db.api,
      sql`select source_id as id, part, seq from source_chunks`,
    );
    expect(names.length).toBeGreaterThan(5);
    for (const { id, part, seq } of names) {
      const [here, there] = await Promise.all([
        findChunk(db.api, id, part, seq),
        findChunk(other.db.api, id, part, seq),
      ]);
      expect(Buffer.compare(here ?? new Uint8Array(), there ?? new Uint8Array(1))).toBe(0);
    }
  });

  test("bytes of removed mail are unreadable at once, and their segment is gone two days later", async () => {
    await using other = await startWorld({ env: store.env });
    const { id, address } = await other.inbox();
    const before = await store.names();
    expect(await other.deliver(mail("secret"), address)).toStartWith("250");
    await packAll(other);
    const [segment = ""] = (await store.names()).filter((name) => !before.includes(name));
    const { body } = await other.api(`/v1/inboxes/${id}/messages`);
    expect((await other.api(`/v1/messages/${body.data[0].id}`, { method: "DELETE" })).status).toBe(204);
    const db = other.service.deps.db.api;
    await erased(other);
    expect(await query(db, sql`select 1 from source_chunks`)).toEqual([]);
    expect(await store.names()).toContain(segment);

    for (const days of [1, 2]) {
      other.clock.pass(dayMs + hourMs);
      await sweep(other);
      expect([days, (await store.names()).includes(segment)]).toEqual([days, days === 1]);
    }
    expect(await query(db, sql`select 1 from segments`)).toEqual([]);
  });

  test("a half-dead segment is packed anew, and its mail is read from the new one", async () => {
    await using other = await startWorld({ env: store.env });
    const { id, address } = await other.inbox();
    for (let number = 0; number < 6; number += 1) {
      expect(await other.deliver(mail(`mail ${number}`, `${number}`.repeat(3000)), address)).toStartWith("250");
    }
    const known = await store.names();
    await packAll(other);
    const [old = ""] = (await store.names()).filter((name) => !known.includes(name));
    const { body } = await other.api(`/v1/inboxes/${id}/messages`);
    for (const message of body.data.slice(0, 4)) {
      expect((await other.api(`/v1/messages/${message.id}`, { method: "DELETE" })).status).toBe(204);
    }
    await erased(other);
    const before = await allRaw(other, id);
    expect(before.size).toBe(2);
    other.clock.pass(dayMs + hourMs);
    await sweep(other);
    const [fresh = ""] = (await store.names()).filter((name) => ![...known, old].includes(name));
    expect(fresh).not.toBe("");
    store.requests.length = 0;
    expect(await allRaw(other, id)).toEqual(before);
    expect(store.requests).toEqual([`GET ${fresh}`, `GET ${fresh}`]);
    for (const _ of [1, 2]) {
      other.clock.pass(dayMs + hourMs);
      await sweep(other);
    }
    expect((await store.names()).includes(old)).toBe(false);
    expect(await allRaw(other, id)).toEqual(before);
    expect(await faultsOfSources(other.service.deps.db.api)).toEqual([]);
  });
});

/** An empty database of the engine of this run, with the schema. */
async function openApart() {
  const [engine = "embedded"] = enginesHere();
  const { db, remove } = await openMigrated(engine);
  return { db, [Symbol.asyncDispose]: remove };
}

function mail(subject: string, text = "Hello.") {
  const id = `Message-ID: <${crypto.randomUUID()}@example.com>`;
  return `From: jane@example.com\r\nTo: ada@inbox.localhost\r\nSubject: ${subject}\r\n${id}\r\n\r\n${text}\r\n`;
}

function withFile(subject: string, file: Uint8Array) {
  const lines = [
    "From: jane@example.com",
    `Subject: ${subject}`,
    "MIME-Version: 1.0",
    "Content-Type: multipart/mixed; boundary=b",
    "",
    "--b",
    "Content-Type: text/plain",
    "",
    "See the file.",
    "--b",
    "Content-Type: application/octet-stream",
    "Content-Disposition: attachment; filename=a.bin",
    "Content-Transfer-Encoding: base64",
    "",
    file.toBase64().replace(/.{76}/g, "$&\r\n"),
    "--b--",
  ];
  return `${lines.join("\r\n")}\r\n`;
}

/** The raw mail of all messages of an inbox, by their subjects. */
async function allRaw(world: World, inboxId: string): Promise<Map<string, string>> {
  const { body } = await world.api(`/v1/inboxes/${inboxId}/messages?limit=100`);
  const found = new Map<string, string>();
  for (const { id, subject } of body.data) {
    const raw = await world.fetch(`/v1/messages/${id}/raw`);
    expect(raw.status).toBe(200);
    found.set(subject, await raw.text());
  }
  return found;
}

function depsOf({ service: { deps } }: World): PackingDeps {
  const { blobs } = deps.db.work;
  if (blobs === undefined) throw new Error("the world has no object store");
  return { ...deps, blobs, blobsAfterMinutes: 60 };
}

/** Packs all that is due. */
async function pack(world: World): Promise<void> {
  for (let next: string | undefined = ""; next !== undefined; ) next = await packSources(depsOf(world), next);
}

async function packAll(world: World): Promise<void> {
  world.clock.pass(3 * hourMs);
  await pack(world);
}

async function sweep(world: World): Promise<void> {
  while ((await sweepSegments(depsOf(world))) > 0);
}

/** Removes what was deleted, as the workers do. */
async function erased(world: World): Promise<void> {
  world.clock.pass(hourMs);
  await prune({ ...world.service.deps, eventRetentionDays: 30 });
}

/** The number of pieces whose bytes are in the database. */
async function inDatabase({ service }: World): Promise<number> {
  const [row] = await query<{ count: number }>(
    service.deps.db.api,
    sql`select count(*)::int as count from source_chunks where segment_id is null`,
  );
  return row?.count ?? -1;
}
