import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import { query } from "../../src/database/db.ts";
import { randomFile, sendForm } from "../support/files.ts";
import { beginRequest } from "../support/raw-body.ts";
import { newInbox } from "../support/sends.ts";
import { untilAnswered } from "../support/until.ts";
import { startWorld, type World } from "../support/world.ts";

let world: World;
let inboxId: string;
beforeAll(async () => {
  world = await startWorld({
    env: { SENDS_PER_MINUTE: "0", SENDS_PER_DAY: "0", COLD_RECIPIENT_DAILY: "0", SEND_MAX_BYTES: "6000000" },
  });
  inboxId = await newInbox(world);
});
afterAll(() => world[Symbol.asyncDispose]());

const db = () => world.service.deps.db.api;

/** Waits until all pieces without a mail are deleted. */
function nothingKept(): Promise<true> {
  return untilAnswered(async () => {
    const kept = await query(
      db(),
      sql`select 1 from uploads union all select 1 from source_chunks
          where not exists (select from attachments where source_id = source_chunks.source_id)`,
    );
    return kept.length === 0 ? (true as const) : undefined;
  });
}

let keys = 0;
const newKey = () => `form-${++keys}`;

/** A form written by hand. */
function begin(fields: readonly string[], boundary = "b") {
  return beginRequest(world, `/v1/inboxes/${inboxId}/send`, [
    `Authorization: Bearer ${world.apiKey}`,
    `Idempotency-Key: ${newKey()}`,
    "Prefer: respond-async",
    `Content-Type: multipart/form-data; boundary=${boundary}`,
    ...fields,
  ]);
}

async function answered(body: string, boundary?: string): Promise<{ status: number; code?: string }> {
  const request = begin([`Content-Length: ${Buffer.byteLength(body)}`], boundary);
  request.send(body);
  const answer = await request.answer();
  request.leave();
  const { status, code } = JSON.parse(answer.slice(answer.indexOf("\r\n\r\n") + 4));
  return typeof status === "number" ? { status, code } : { status: 200 };
}

const part = (head: string, body: string) => `--b\r\n${head}\r\n\r\n${body}\r\n`;
const field = (name: string, body: string) => part(`Content-Disposition: form-data; name="${name}"`, body);
const file = (body: string) =>
  part(
    'Content-Disposition: form-data; name="attachments"; filename="a.bin"\r\nContent-Type: application/octet-stream',
    body,
  );
const texts = field("to", "jane@example.com") + field("subject", "Hello") + field("body", "Hello Jane");

describe("a form", () => {
  test("is equivalent to JSON, with its files in their order", async () => {
    const bytes = randomFile(3_000_000, 5);
    const { status, body } = await sendForm(world, inboxId, {
      key: newKey(),
      texts: {
        to: ["jane@example.com", "joe@example.com"],
        subject: "Grüße",
        bodyHtml: '<img src="cid:logo@x">',
        body: "Hi",
        includeQuote: "false",
      },
      files: [
        ["inline:logo@x", randomFile(10), "logo.png", "image/png"],
        ["attachments", bytes, 'quo"te.bin', "application/octet-stream"],
        ["attachments", randomFile(0), "empty.txt", "text/plain"],
      ],
    });
    expect([status, body]).toEqual([200, expect.objectContaining({ status: "pending" })]);
    const message = await world.api(`/v1/messages/${body.messageId}`);
    expect(message.body).toMatchObject({
      subject: "Grüße",
      to: ["jane@example.com", "joe@example.com"],
      attachments: [
        { filename: "logo.png", contentType: "image/png", inline: true, contentId: "logo@x", sizeBytes: 10 },
        { filename: 'quo"te.bin', inline: false, sizeBytes: bytes.length },
        { filename: "empty.txt", sizeBytes: 0 },
      ],
    });
    const download = await fetch(message.body.attachments[1].url);
    expect(Buffer.compare(Buffer.from(await download.arrayBuffer()), Buffer.from(bytes))).toBe(0);
    await nothingKept();
  });

  test("that is compressed is refused before a byte of it is read, like JSON", async () => {
    const request = begin(["Content-Encoding: gzip", "Content-Length: 100000"]);
    const answer = await request.answer();
    request.leave();
    expect(answer).toStartWith("HTTP/1.1 415");
    expect(answer).toContain("unsupported_media_type");
  });

  test("that is refused, or replayed, leaves nothing", async () => {
    const key = newKey();
    const message = { to: "jane@example.com", subject: "Hello", body: "x" };
    const files = [["attachments", randomFile(2_000_000), "a.bin"]] as const;
    const refused = await sendForm(world, inboxId, { key, message: { ...message, nonsense: 1 }, files });
    expect([refused.status, refused.body.code]).toEqual([400, "validation_error"]);
    await nothingKept();
    const lost = await sendForm(world, inboxId, { key, message: { ...message, threadId: "thr_none" }, files });
    expect([lost.status, lost.body.resource]).toEqual([404, "thread"]);
    const reference = { attachments: [{ uploadId: "upl_none" }] };
    const none = await sendForm(world, inboxId, { key, message: { ...message, ...reference }, files });
    expect([none.status, none.body.resource]).toEqual([404, "upload"]);
    await nothingKept();
    const sent = await sendForm(world, inboxId, { key, message, files });
    const replayed = await sendForm(world, inboxId, { key, message, files });
    expect([sent.status, replayed.status, replayed.body.messageId]).toEqual([200, 200, sent.body.messageId]);
    await nothingKept();
  });

  test.each<[what: string, message: object[], inForm: string[], pointer: string]>([
    ["51 files", [], Array(51).fill("attachments"), "#/attachments"],
    ["50 in its message and one beside it", Array(50).fill({ uploadId: "upl_none" }), ["attachments"], "#/attachments"],
    [
      "a content id twice, in its message and beside it",
      [{ uploadId: "upl_none" }, { uploadId: "upl_none", inline: true, contentId: "c1" }],
      ["inline:c1"],
      "#/attachments/1/contentId",
    ],
  ])("with %s is refused before any query, and leaves nothing", async (_, attachments, inForm, pointer) => {
    const { status, body } = await sendForm(world, inboxId, {
      key: newKey(),
      message: { to: "jane@example.com", subject: "Hello", body: "x", ...(attachments.length > 0 && { attachments }) },
      files: inForm.map((name) => [name, randomFile(10), "a.bin"] as const),
    });
    expect([status, body.code, body.errors?.map((each: { pointer: string }) => each.pointer)]).toEqual([
      400,
      "validation_error",
      [pointer],
    ]);
    await nothingKept();
  });

  test("may have 50 files, in its message and as parts", async () => {
    const content = { content: "SGVsbG8K", filename: "a.txt" };
    const { status, body } = await sendForm(world, inboxId, {
      key: newKey(),
      message: { to: "jane@example.com", subject: "Hello", body: "x", attachments: Array(25).fill(content) },
      files: Array.from({ length: 25 }, () => ["attachments", randomFile(10), "a.bin"] as const),
    });
    expect(status).toBe(200);
    expect((await world.api(`/v1/messages/${body.messageId}`)).body.attachments).toHaveLength(50);
  });

  test("for an unknown inbox, or without an API key, is refused before a byte of it is read", async () => {
    const head = ["Content-Type: multipart/form-data; boundary=b", "Content-Length: 100000"];
    const nobody = beginRequest(world, `/v1/inboxes/${inboxId}/send`, head);
    expect(await nobody.answer()).toMatch(/^HTTP\/1.1 401 /);
    const key = `Authorization: Bearer ${world.apiKey}`;
    const nowhere = beginRequest(world, "/v1/inboxes/inb_none/send", [key, ...head]);
    expect(await nowhere.answer()).toMatch(/^HTTP\/1.1 404 /);
    const keyless = beginRequest(world, `/v1/inboxes/${inboxId}/send`, [key, ...head]);
    expect(await keyless.answer()).toMatch(/missing_idempotency_key/);
    for (const request of [nobody, nowhere, keyless]) request.leave();
  });

  test.each([
    ["that never ends", `${texts}${file("x".repeat(100_000))}`, "invalid_form"],
    ["that ends in the middle of a head", `${texts}--b\r\nContent-Dispo`, "invalid_form"],
    ["with ten thousand parts", `${field("x", "y").repeat(10_000)}--b--\r\n`, "invalid_form"],
    ["with a part without a head", `${texts}--b\r\n\r\n--b--\r\n`, "invalid_form"],
    ["with a part without a name", `${texts}${part("Content-Type: text/plain", "x")}--b--\r\n`, "invalid_form"],
    ["with a head of 20 kB", `${texts}${part(`X-A: ${"a".repeat(20_000)}`, "x")}--b--\r\n`, "invalid_form"],
    [
      "with a head a little too long",
      `${texts}${part(`Content-Disposition: form-data; name="cc"\r\nX-A: ${"a".repeat(8200)}`, "x")}--b--\r\n`,
      "invalid_form",
    ],
    [
      "that nests",
      `${texts}${part('Content-Disposition: form-data; name="attachments"\r\nContent-Type: multipart/mixed; boundary=c', "x")}--b--\r\n`,
      "invalid_form",
    ],
    ["with a field twice", `${texts}${field("subject", "again")}--b--\r\n`, "invalid_form"],
    ["with a part named __proto__", `${texts}${field("__proto__", '{"x":1}')}--b--\r\n`, "validation_error"],
    [
      "with a message and a text",
      `${texts}${part('Content-Disposition: form-data; name="message"\r\nContent-Type: application/json', "{}")}--b--\r\n`,
      "invalid_form",
    ],
    [
      "with a file of another name",
      `${texts}${part('Content-Disposition: form-data; name="file"; filename="a"', "x")}--b--\r\n`,
      "invalid_form",
    ],
    ["with a text in place of an object", `${texts}${field("headers", "{}")}--b--\r\n`, "validation_error"],
    ["without a part", "--b--\r\n", "validation_error"],
    ["with no boundary in it", "hello", "invalid_form"],
    ["with too much text", `${texts}${field("metadata", "x".repeat(2_100_000))}--b--\r\n`, "payload_too_large"],
    ["with more than a mail may have", `${texts}${file("x".repeat(11_000_000))}--b--\r\n`, "payload_too_large"],
  ])("%s is refused and leaves nothing", async (_, body, code) => {
    expect(await answered(body)).toMatchObject({ code });
    await nothingKept();
  });

  test("whose client disconnects in the middle of a file leaves nothing", async () => {
    const gone = begin(["Content-Length: 5000000"]);
    gone.send(`${texts}${file("x".repeat(2_500_000)).slice(0, -2)}`);
    await untilAnswered(async () => ((await query(db(), sql`select 1 from uploads`)).length > 0 ? true : undefined));
    gone.leave();
    await nothingKept();

    const endless = begin(["Transfer-Encoding: chunked"]);
    endless.send(`${texts.length.toString(16)}\r\n${texts}\r\n`);
    const head = file("").slice(0, -2);
    endless.send(`${head.length.toString(16)}\r\n${head}\r\n`);
    endless.sendWithoutEnd(`10000\r\n${"x".repeat(65536)}\r\n`);
    await endless.closed;
    await nothingKept();
  });
});
