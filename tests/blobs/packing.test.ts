import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import { query } from "../../src/database/db.ts";
import { type PackingDeps, packSources, sweepSegments } from "../../src/flows/pack-sources.ts";
import { prune } from "../../src/workers/prune.ts";
import { randomFile } from "../support/files.ts";
import { faultsOfSources } from "../support/held-sources.ts";
import { away, haveObjectStore, type ObjectStore, passing, startObjectStore } from "../support/object-store.ts";
import { startWorld, type World } from "../support/world.ts";

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

describe.if(haveObjectStore())("Raw mail in an object store", () => {
  let store: ObjectStore;
  let world: World;
  let inbox: { id: string; address: string };
  beforeAll(async () => {
    store = await startObjectStore();
    world = await startWorld({ env: { ...store.env, SMTP_MAX_BYTES: "40000000" } });
    inbox = await world.inbox();
  });
  beforeEach(() => store.treat(passing));
  afterAll(async () => {
    await world?.[Symbol.asyncDispose]();
    await store?.[Symbol.asyncDispose]();
  });

  test("is read byte for byte: whole, in ranges, its attachments, several pieces", async () => {
    const file = randomFile(2_300_000, 3);
    const mails = [mail("short"), mail("long", "x".repeat(200_000)), withFile("file", file)];
    for (const raw of mails) expect(await world.deliver(raw, inbox.address)).toStartWith("250");
    const before = await allRaw(world, inbox.id);
    await packAll(world);
    expect(await inDatabase(world)).toBe(0);
    expect(await allRaw(world, inbox.id)).toEqual(before);

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
    await packAll(world);
    store.treat(away);
    const { body } = await world.api(`/v1/inboxes/${inbox.id}/messages`);
    const { id } = body.data.find(({ subject }: { subject: string }) => subject === "short");
    const answer = await world.api(`/v1/messages/${id}/raw`);
    expect(answer.status).toBe(503);
    expect(answer.headers.get("retry-after")).toBe("10");
    expect(answer.body).toMatchObject({ code: "service_unavailable" });

    expect(await world.deliver(mail("meanwhile"), inbox.address)).toStartWith("250");
    expect((await world.api(`/v1/messages/${id}`)).status).toBe(200);
    world.clock.pass(3 * hourMs);
    await expect(pack(world)).rejects.toThrow("Cannot write to the object store: it answered 503");
    expect(await inDatabase(world)).toBe(1);
    const fresh = await world.deliver(mail("fresh"), inbox.address);
    expect(fresh).toStartWith("250");

    store.treat(passing);
    await packAll(world);
    expect(await inDatabase(world)).toBe(0);
    expect((await world.api(`/v1/messages/${id}/raw`)).status).toBe(200);
  });

  test("bytes of removed mail are unreadable at once, and their segment is gone two days later", async () => {
    await using other = await startWorld({ env: store.env });
    const { id, address } = await other.inbox();
    const before = store.names();
    expect(await other.deliver(mail("secret"), address)).toStartWith("250");
    await packAll(other);
    const [segment = ""] = store.names().filter((name) => !before.includes(name));
    const { body } = await other.api(`/v1/inboxes/${id}/messages`);
    expect((await other.api(`/v1/messages/${body.data[0].id}`, { method: "DELETE" })).status).toBe(204);
    const db = other.service.deps.db.api;
    await erased(other);
    expect(await query(db, sql`select 1 from source_chunks`)).toEqual([]);
    expect(store.names()).toContain(segment);

    for (const days of [1, 2]) {
      other.clock.pass(dayMs + hourMs);
      await sweep(other);
      expect([days, store.names().includes(segment)]).toEqual([days, days === 1]);
    }
    expect(await query(db, sql`select 1 from segments`)).toEqual([]);
  });

  test("a half-dead segment is packed anew, and its mail is read from the new one", async () => {
    await using other = await startWorld({ env: store.env });
    const { id, address } = await other.inbox();
    for (let number = 0; number < 6; number += 1) {
      expect(await other.deliver(mail(`mail ${number}`, `${number}`.repeat(3000)), address)).toStartWith("250");
    }
    const known = store.names();
    await packAll(other);
    const [old = ""] = store.names().filter((name) => !known.includes(name));
    const { body } = await other.api(`/v1/inboxes/${id}/messages`);
    for (const message of body.data.slice(0, 4)) {
      expect((await other.api(`/v1/messages/${message.id}`, { method: "DELETE" })).status).toBe(204);
    }
    await erased(other);
    const before = await allRaw(other, id);
    expect(before.size).toBe(2);
    other.clock.pass(dayMs + hourMs);
    await sweep(other);
    const [fresh = ""] = store.names().filter((name) => ![...known, old].includes(name));
    expect(fresh).not.toBe("");
    store.requests.length = 0;
    expect(await allRaw(other, id)).toEqual(before);
    expect(store.requests).toEqual([`GET ${fresh}`, `GET ${fresh}`]);
    for (const _ of [1, 2]) {
      other.clock.pass(dayMs + hourMs);
      await sweep(other);
    }
    expect(store.names().includes(old)).toBe(false);
    expect(await allRaw(other, id)).toEqual(before);
    expect(await faultsOfSources(other.service.deps.db.api)).toEqual([]);
  });
});

function mail(subject: string, text = "Hello.") {
  return `From: jane@example.com\r\nTo: ada@inbox.localhost\r\nSubject: ${subject}\r\nMessage-ID: <${crypto.randomUUID()}@example.com>\r\n\r\n${text}\r\n`;
}

function withFile(subject: string, file: Uint8Array) {
  const lines = file.toBase64().replace(/.{76}/g, "$&\r\n");
  const head = `From: jane@example.com\r\nSubject: ${subject}\r\nMIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n`;
  return `${head}--b\r\nContent-Type: text/plain\r\n\r\nSee the file.\r\n--b\r\nContent-Type: application/octet-stream\r\nContent-Disposition: attachment; filename=a.bin\r\nContent-Transfer-Encoding: base64\r\n\r\n${lines}\r\n--b--\r\n`;
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
