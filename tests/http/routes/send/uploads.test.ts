import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import { query } from "../../../../src/database/db.ts";
import { prune } from "../../../../src/workers/prune.ts";
import { randomFile, sha256, upload } from "../../../support/files.ts";
import { beginRequest } from "../../../support/raw-body.ts";
import { newAccount } from "../../../support/sends.ts";
import { countRows, storedBytes } from "../../../support/stored.ts";
import { untilAnswered } from "../../../support/until.ts";
import { startWorld, type World } from "../../../support/world.ts";

const hourMs = 3_600_000;
const maxBytes = 5_000_000;

let world: World;
beforeAll(async () => {
  world = await startWorld({ env: { SEND_MAX_BYTES: String(maxBytes), UPLOADS_MAX_BYTES: "12000000" } });
});
afterAll(() => world[Symbol.asyncDispose]());

const db = () => world.service.deps.db.api;
const pruned = () => prune({ ...world.service.deps, eventRetentionDays: 30 });

/** An upload whose bytes the test sends itself. */
function begin(fields: string, apiKey = world.apiKey) {
  return beginRequest(world, "/v1/uploads?filename=a.bin", [`Authorization: Bearer ${apiKey}`, fields]);
}

/** Waits until no bytes of any upload are stored. */
function nothingKept(): Promise<true> {
  return untilAnswered(async () => {
    const holding = await query(db(), sql`select id from uploads where source_id <> ''`);
    return holding.length === 0 && (await countRows(db(), "source_chunks")) === 0 ? (true as const) : undefined;
  });
}

describe("an upload", () => {
  test("is stored unchanged, and shown until it expires", async () => {
    const bytes = randomFile(3_500_001);
    const { status, headers, body } = await upload(world, bytes, { filename: "../Rechnung\u202e 1.PDF" });
    expect(status).toBe(201);
    expect(body).toMatchObject({
      filename: "Rechnung 1.PDF",
      contentType: "application/pdf",
      sizeBytes: bytes.length,
      sha256: sha256(bytes),
    });
    expect(Date.parse(body.expiresAt) - Date.parse(body.createdAt)).toBe(24 * hourMs);
    expect(headers.get("location")).toBe(`/v1/uploads/${body.id}`);
    expect((await world.api(`/v1/uploads/${body.id}`)).body).toEqual(body);
    const [row] = await query<{ source_id: string }>(db(), sql`select source_id from uploads where id = ${body.id}`);
    expect(Buffer.compare(await storedBytes(db(), row?.source_id ?? ""), Buffer.from(bytes))).toBe(0);

    expect((await world.api(`/v1/uploads/${body.id}`, { method: "DELETE" })).status).toBe(204);
    expect((await world.api(`/v1/uploads/${body.id}`)).body).toMatchObject({ code: "not_found", resource: "upload" });
    expect((await world.api(`/v1/uploads/${body.id}`, { method: "DELETE" })).status).toBe(404);
    expect(await countRows(db(), "source_chunks")).toBe(0);
  });

  test("without a type gets one by its extension, and may be empty", async () => {
    const { status, body } = await upload(world, "", { filename: "notes.txt", contentType: null });
    expect(status).toBe(201);
    expect(body).toMatchObject({ contentType: "text/plain", sizeBytes: 0, sha256: sha256("") });
    await world.api(`/v1/uploads/${body.id}`, { method: "DELETE" });
  });

  test("with curl's default form type gets one by its extension, and any other type is kept", async () => {
    for (const [said, kept] of [
      ["application/x-www-form-urlencoded", "application/pdf"],
      ["application/x-www-form-urlencoded; charset=utf-8", "application/pdf"],
      ["text/csv; charset=utf-8", "text/csv"],
      ["nonsense", "application/pdf"],
    ]) {
      const { status, body } = await upload(world, "%PDF-1.7", { contentType: said ?? "" });
      expect([said, status, body.contentType]).toEqual([said, 201, kept]);
      await world.api(`/v1/uploads/${body.id}`, { method: "DELETE" });
    }
  });

  test.skipIf(Bun.which("curl") === null)("works with curl without a type", async () => {
    const url = new URL("/v1/uploads?filename=note.txt", world.service.apiUrl).href;
    const key = ["-H", `Authorization: Bearer ${world.apiKey}`, "--noproxy", "*"];
    for (const how of [
      ["--data-binary", "@-"],
      ["-X", "POST", "-T", "-"],
    ]) {
      const curl = Bun.spawn(["curl", "-s", ...key, ...how, url], { stdin: new Blob(["Hello\n"]), stdout: "pipe" });
      const body = JSON.parse(await new Response(curl.stdout).text());
      expect([how, body.contentType, body.sizeBytes]).toEqual([how, "text/plain", 6]);
      await world.api(`/v1/uploads/${body.id}`, { method: "DELETE" });
    }
  });

  test("in a form is refused with the line to use, and one that is compressed is refused too", async () => {
    const form = new FormData();
    form.append("file", new Blob(["Hello"]), "note.txt");
    const url = new URL("/v1/uploads?filename=note.txt", world.service.apiUrl);
    const authorization = `Bearer ${world.apiKey}`;
    const ofForm = await fetch(url, { method: "POST", headers: { authorization }, body: form });
    expect(ofForm.status).toBe(415);
    expect(((await ofForm.json()) as { detail: string }).detail).toContain("curl --data-binary @FILE");
    const headers = { authorization, "content-encoding": "gzip" };
    expect((await fetch(url, { method: "POST", headers, body: Bun.gzipSync("Hello") })).status).toBe(415);
    expect(await countRows(db(), "source_chunks")).toBe(0);
  });

  test("is deleted when it expires, its row a day later", async () => {
    const { body } = await upload(world, randomFile(10));
    world.clock.pass(24 * hourMs);
    expect((await world.api(`/v1/uploads/${body.id}`)).status).toBe(404);
    await pruned();
    expect(await countRows(db(), "source_chunks")).toBe(0);
    const rows = () => query(db(), sql`select id from uploads where id = ${body.id}`);
    expect(await rows()).toHaveLength(1);
    world.clock.pass(24 * hourMs);
    await pruned();
    expect(await rows()).toHaveLength(0);
  });

  test("of another account is not found", async () => {
    const { body } = await upload(world, "secret");
    const apiKey = await newAccount(world);
    for (const method of ["GET", "DELETE"]) {
      expect((await world.api(`/v1/uploads/${body.id}`, { method, apiKey })).body).toMatchObject({
        resource: "upload",
      });
    }
    await world.api(`/v1/uploads/${body.id}`, { method: "DELETE" });
  });

  test("needs a name and a key before a byte of it is read", async () => {
    const unknown = begin("Content-Length: 4000000", "wrong");
    expect(await unknown.answer()).toMatch(/^HTTP\/1.1 401 /);
    unknown.leave();
    const { status, body } = await upload(world, "x", { filename: "" });
    expect([status, body.errors]).toEqual([400, [{ parameter: "filename", detail: "must have 1 to 1000 characters" }]]);
  });
});

describe("too much", () => {
  test("is refused by its declared length, and during the transfer", async () => {
    const declared = begin(`Content-Length: ${maxBytes + 1}`);
    expect(await declared.answer()).toMatch(/^HTTP\/1.1 413 .*payload_too_large/s);
    await declared.closed;

    const endless = begin("Transfer-Encoding: chunked");
    endless.sendWithoutEnd(`${(65536).toString(16)}\r\n${"x".repeat(65536)}\r\n`);
    await endless.closed;

    const chunked = begin("Transfer-Encoding: chunked");
    chunked.send(`${(maxBytes + 1).toString(16)}\r\n${"x".repeat(maxBytes + 1)}`);
    expect(await chunked.answer()).toMatch(/^HTTP\/1.1 413 .*connection: close/is);
    await chunked.closed;
    await nothingKept();
  });

  test("of all uploads together is refused, including those in progress", async () => {
    const apiKey = await newAccount(world);
    const coming = begin("Content-Length: 4000000", apiKey);
    await untilAnswered(async () => ((await countRows(db(), "uploads")) === 1 ? true : undefined));
    const first = await upload(world, randomFile(4_000_000), { apiKey });
    expect(first.status).toBe(201);
    const full = await upload(world, randomFile(4_000_001), { apiKey });
    expect([full.status, full.body.code, full.body.limit]).toEqual([429, "upload_limit", 12_000_000]);
    expect(Number(full.headers.get("retry-after"))).toBe(3600);
    coming.leave();
    await world.api(`/v1/uploads/${first.body.id}`, { method: "DELETE", apiKey });
    await untilAnswered(async () => {
      const { status, body } = await upload(world, randomFile(4_000_001), { apiKey });
      if (status !== 201) return undefined;
      return world.api(`/v1/uploads/${body.id}`, { method: "DELETE", apiKey });
    });
    world.clock.pass(48 * hourMs);
    await pruned();
    await nothingKept();
  });
});

describe("an upload that ends early", () => {
  test.each([
    ["with a length that it does not keep", "Content-Length: 3000000", "x".repeat(2_000_000)],
    ["in the middle of a chunk", "Transfer-Encoding: chunked", `200000\r\n${"x".repeat(2_000_000)}`],
  ])("%s leaves nothing", async (_, fields, body) => {
    const connection = begin(fields);
    connection.send(body);
    await untilAnswered(async () => ((await countRows(db(), "source_chunks")) > 0 ? true : undefined));
    connection.leave();
    await nothingKept();
  });
});
