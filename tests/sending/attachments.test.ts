import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import { query } from "../../src/database/db.ts";
import { prune } from "../../src/workers/prune.ts";
import { randomFile, sendForm, sha256, upload } from "../support/files.ts";
import { newAccount, newInbox, send } from "../support/sends.ts";
import { countRows, storedAttachments, storedBytes } from "../support/stored.ts";
import { startWorld, type World } from "../support/world.ts";

const base64 = (text: string) => Buffer.from(text).toString("base64");
const hourMs = 3_600_000;

let world: World;
let inboxId: string;
beforeAll(async () => {
  world = await startWorld({ env: { SENDS_PER_MINUTE: "0", SENDS_PER_DAY: "0", COLD_RECIPIENT_DAILY: "0" } });
  inboxId = await newInbox(world);
});
afterAll(() => world[Symbol.asyncDispose]());

const db = () => world.service.deps.db.api;
const pruned = () => prune({ ...world.service.deps, eventRetentionDays: 30 });
const shared = async (sourceId: string) =>
  (
    await query<{ shares: number }>(
      db(),
      sql`select shares from source_chunks where source_id = ${sourceId} and part = 0 and seq = 0`,
    )
  )[0]?.shares;

describe("attachments of a send", () => {
  test("are shown, downloaded, searched for and counted like received ones", async () => {
    const text = "hello ".repeat(1000);
    const { status, body } = await send(world, inboxId, {
      attachments: [
        { filename: "notes.txt", content: base64(text) },
        { filename: "notes.txt", content: base64("two"), contentType: "Text/Markdown" },
        { filename: "logo.png", content: base64("png"), inline: true, contentId: "logo@x" },
      ],
      body: '<p>Hi <img src="cid:logo@x"></p>',
    });
    expect(status).toBe(200);
    const message = await world.api(`/v1/messages/${body.messageId}`);
    expect(message.body.attachments).toMatchObject([
      { filename: "notes.txt", contentType: "text/plain", sizeBytes: text.length, inline: false, contentId: null },
      { filename: "notes-2.txt", contentType: "text/markdown", sizeBytes: 3, inline: false },
      { filename: "logo.png", contentType: "image/png", inline: true, contentId: "logo@x" },
    ]);
    const download = await fetch(message.body.attachments[0].url);
    expect(await download.text()).toBe(text);
    const found = await world.api(`/v1/inboxes/${inboxId}/messages?has_attachment=true`);
    expect(found.body.data.map(({ id }: { id: string }) => id)).toContain(body.messageId);
    const threads = await world.api(`/v1/inboxes/${inboxId}/threads`);
    expect(threads.body.data[0]).toMatchObject({ id: body.threadId, hasAttachments: true });
    const [first] = await storedAttachments(db(), body.messageId);
    expect(await shared(first?.sourceId ?? "")).toBe(1);
  });

  test("as JSON, as a form and by an upload are one message with one key", async () => {
    const file = new TextEncoder().encode("the same file");
    const key = "three-ways";
    const json = await send(
      world,
      inboxId,
      { attachments: [{ filename: "a.pdf", content: base64("the same file") }] },
      { key },
    );
    expect(json.status).toBe(200);
    const { body: uploaded } = await upload(world, file, { filename: "a.pdf" });
    const byUpload = await send(world, inboxId, { attachments: [{ uploadId: uploaded.id }] }, { key });
    const form = { to: "jane@example.com", subject: "Hello", body: "Hello Jane" };
    const byForm = await sendForm(world, inboxId, {
      key,
      texts: form,
      files: [["attachments", file, "a.pdf", "application/pdf"]],
    });
    const byMessage = await sendForm(world, inboxId, {
      key,
      message: form,
      files: [["attachments", file, "a.pdf", "application/pdf"]],
    });
    for (const { status, body, headers } of [byUpload, byForm, byMessage]) {
      expect([status, body.messageId, headers.get("idempotent-replayed")]).toEqual([200, json.body.messageId, "true"]);
    }
    const another = await sendForm(world, inboxId, { key, texts: form, files: [["attachments", file, "b.pdf"]] });
    expect([another.status, another.body.code]).toEqual([422, "idempotency_key_reused"]);

    // A replay works after the upload is deleted; a new send with it does not.
    expect((await world.api(`/v1/uploads/${uploaded.id}`, { method: "DELETE" })).status).toBe(204);
    const replayed = await send(world, inboxId, { attachments: [{ uploadId: uploaded.id }] }, { key });
    expect([replayed.status, replayed.body.messageId]).toEqual([200, json.body.messageId]);
    const anew = await send(world, inboxId, { attachments: [{ uploadId: uploaded.id }] });
    expect([anew.status, anew.body.resource]).toEqual([404, "upload"]);
    expect(await query(db(), sql`select id from uploads where completed_at is null`)).toEqual([]);
  });

  test("by an upload are stored once for all their messages, and stay after the upload expires", async () => {
    const bytes = randomFile(2_500_000, 7);
    const { body: uploaded } = await upload(world, bytes);
    const sent = await Promise.all(
      Array.from({ length: 20 }, () => send(world, inboxId, { attachments: [{ uploadId: uploaded.id }] })),
    );
    expect(sent.map(({ status }) => status)).toEqual(Array(20).fill(200));
    const [attachment] = await storedAttachments(db(), sent[0]?.body.messageId);
    const sourceId = attachment?.sourceId ?? "";
    expect([attachment?.digest, await shared(sourceId)]).toEqual([sha256(bytes), 21]);
    await world.api(`/v1/uploads/${uploaded.id}`, { method: "DELETE" });
    expect(await shared(sourceId)).toBe(20);
    expect(Buffer.compare(await storedBytes(db(), sourceId), Buffer.from(bytes))).toBe(0);
  });

  test("of another account, or unknown ones, are not found", async () => {
    const apiKey = await newAccount(world);
    const { body: uploaded } = await upload(world, "secret", { apiKey });
    const theirs = await newInbox(world, apiKey);
    const { body: message } = await send(world, theirs, { attachments: [{ uploadId: uploaded.id }] }, { apiKey });
    const named = [
      [{ uploadId: uploaded.id }, "upload"],
      [{ uploadId: "upl_none" }, "upload"],
      [{ messageId: message.messageId, filename: "invoice.pdf" }, "attachment"],
      [{ messageId: "msg_none", filename: "invoice.pdf" }, "attachment"],
    ] as const;
    for (const [attachment, resource] of named) {
      const { status, body } = await send(world, inboxId, { attachments: [attachment] });
      expect([status, body.resource]).toEqual([404, resource]);
    }
    expect(
      (
        await send(
          world,
          theirs,
          { attachments: [{ messageId: message.messageId, filename: "invoice.pdf" }] },
          { apiKey },
        )
      ).status,
    ).toBe(200);
  });

  test("that are wrong are named by their position", async () => {
    const { status, body } = await send(world, inboxId, {
      attachments: [
        { content: "no base64!", filename: "a" },
        { uploadId: "x", messageId: "y" },
        { content: "", inline: true },
        7,
      ],
    });
    expect(status).toBe(400);
    expect(body.errors.map(({ pointer }: { pointer: string }) => pointer)).toContain("#/attachments/3");
    const own = await send(world, inboxId, { attachments: [{ content: "no base64!", filename: "a" }] });
    expect(own.body.errors).toEqual([
      { pointer: "#/attachments/0/content", detail: "must be base64 with its padding and without white space" },
    ]);
  });
});

describe("a forward", () => {
  const raw = (to: string) =>
    `From: Joe <joe@example.com>\r\nTo: ${to}\r\nSubject: The plan\r\nMessage-ID: <plan@example.com>\r\nMIME-Version: 1.0\r\n` +
    `Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\nContent-Type: text/plain\r\n\r\nSee the file.\r\n` +
    `--b\r\nContent-Type: application/pdf\r\nContent-Disposition: attachment; filename=plan.pdf\r\n\r\n%PDF-1.7 plan\r\n--b--\r\n`;

  async function received() {
    const inbox = await world.inbox();
    expect(await world.deliver(raw(inbox.address), inbox.address)).toMatch(/^250/);
    const { body } = await world.api(`/v1/inboxes/${inbox.id}/messages`);
    return { inbox, id: body.data[0].id as string };
  }

  test("includes the attachments, which stay until both messages are deleted", async () => {
    const { inbox, id } = await received();
    const forwarding = await newInbox(world);
    const { status, body } = await send(world, forwarding, { forwardOf: id, subject: undefined, body: "FYI" });
    expect(status).toBe(200);
    const message = await world.api(`/v1/messages/${body.messageId}`);
    expect(message.body).toMatchObject({ subject: "Fwd: The plan", forwardOf: id });
    expect(message.body.bodyText).toMatch(/^FYI\n\n-+ Forwarded message -+\nFrom: Joe/);
    expect(message.body.attachments).toMatchObject([{ filename: "plan.pdf", contentType: "application/pdf" }]);
    const [{ sourceId = "" } = {}] = await storedAttachments(db(), body.messageId);
    expect(await shared(sourceId)).toBe(2);

    await world.api(`/v1/inboxes/${inbox.id}`, { method: "DELETE" });
    world.clock.pass(2 * hourMs);
    await pruned();
    expect(await shared(sourceId)).toBe(1);
    const link = (await world.api(`/v1/messages/${body.messageId}`)).body.attachments[0].url;
    expect(await (await fetch(link)).text()).toBe("%PDF-1.7 plan");

    await query(db(), sql`update messages set status = 'sent' where id = ${body.messageId}`);
    await query(db(), sql`delete from outbox where subject_id = ${body.messageId}`);
    await world.api(`/v1/inboxes/${forwarding}`, { method: "DELETE" });
    world.clock.pass(2 * hourMs);
    await pruned();
    expect(await query(db(), sql`select 1 from source_chunks where source_id = ${sourceId}`)).toEqual([]);
  });

  test("as an attachment is the raw mail, and without attachments only its text", async () => {
    const { inbox, id } = await received();
    const whole = await send(world, inboxId, {
      forwardOf: id,
      forwardAs: "attachment",
      subject: undefined,
      body: undefined,
    });
    expect(whole.status).toBe(200);
    const [file] = (await world.api(`/v1/messages/${whole.body.messageId}`)).body.attachments;
    expect(file).toMatchObject({ filename: "The plan.eml", contentType: "message/rfc822" });
    const source = await world.fetch(`/v1/messages/${id}/raw`);
    expect(await (await fetch(file.url)).text()).toBe(await source.text());

    const bare = await send(world, inboxId, { forwardOf: id, includeAttachments: false, body: undefined });
    expect((await world.api(`/v1/messages/${bare.body.messageId}`)).body.attachments).toEqual([]);
    const again = await send(world, inboxId, { forwardOf: whole.body.messageId, forwardAs: "attachment", body: "x" });
    const [ours] = (await world.api(`/v1/messages/${again.body.messageId}`)).body.attachments;
    expect(ours).toMatchObject({ filename: "Fwd: The plan.eml" });
    expect(await (await fetch(ours.url)).text()).toContain(`Message-ID: <${whole.body.messageId}@`);
    expect(await query(db(), sql`select id from uploads where completed_at is null`)).toEqual([]);
    await world.api(`/v1/inboxes/${inbox.id}`, { method: "DELETE" });
  });

  test.each([
    ["a plain mail", {}],
    [
      "a mail to several, with names, a field and a file",
      {
        to: ["ann@example.com", { address: "bob@example.org", name: "Bøb" }],
        cc: ["eve@example.net"],
        bcc: ["dan@example.net"],
        headers: { "X-Ref": "7" },
        fromName: "Ada",
        attachments: [{ filename: "notes.txt", content: base64("two") }],
      },
    ],
  ])("of %s of ours as an attachment is what its raw mail is", async (_, mail) => {
    const { body: ours } = await send(world, inboxId, mail);
    const whole = await send(world, inboxId, { forwardOf: ours.messageId, forwardAs: "attachment", body: undefined });
    const [file] = (await world.api(`/v1/messages/${whole.body.messageId}`)).body.attachments;
    const source = await world.fetch(`/v1/messages/${ours.messageId}/raw`);
    expect(await (await fetch(file.url)).text()).toBe(await source.text());
  });

  test("has HTML if the original has, unless it is requested as text", async () => {
    const { messageId } = (await send(world, inboxId, { body: "<p>Hello</p>" })).body;
    const forwarded = async (bodyFormat: string) => {
      const { body } = await send(world, inboxId, { forwardOf: messageId, body: "FYI", bodyFormat });
      return (await world.api(`/v1/messages/${body.messageId}`)).body;
    };
    expect((await forwarded("auto")).bodyHtml).toContain("<p>Hello</p>");
    const text = await forwarded("text");
    expect(text).toMatchObject({ bodyHtml: null, bodyText: expect.stringContaining("Hello") });
    expect(await (await world.fetch(`/v1/messages/${text.id}/raw`)).text()).not.toContain("text/html");
  });

  test("of our own mail does not count towards the limit of uploads", async () => {
    const { messageId } = (await send(world, inboxId)).body;
    const { body: uploaded } = await upload(world, "all the room");
    await query(db(), sql`update uploads set size_bytes = ${2 ** 30} where id = ${uploaded.id}`);
    expect((await upload(world, "x")).status).toBe(429);
    expect((await send(world, inboxId, { forwardOf: messageId, forwardAs: "attachment" })).status).toBe(200);
    await world.api(`/v1/uploads/${uploaded.id}`, { method: "DELETE" });
  });

  test("of a very long text says that it is cut", async () => {
    const { inbox, id } = await received();
    await query(db(), sql`update messages set body_text = repeat('word ', 500000) where id = ${id}`);
    const { body } = await send(world, inbox.id, { forwardOf: id, body: undefined });
    const { bodyText } = (await world.api(`/v1/messages/${body.messageId}`)).body;
    expect(bodyText).toEndWith("\n[...]");
    expect(bodyText.length).toBeGreaterThan(1_000_000);
    expect(bodyText.length).toBeLessThan(1_100_000);
  });

  test("of an unknown message, or of another account's, is not found, but a replay is checked first", async () => {
    const apiKey = await newAccount(world);
    const { id } = await received();
    const theirs = await newInbox(world, apiKey);
    const { status, body } = await send(world, theirs, { forwardOf: id }, { apiKey });
    expect([status, body.resource]).toEqual([404, "message"]);
  });
});

describe("an attachment without a message", () => {
  test("has no stored pieces", async () => {
    const orphans = await query(
      db(),
      sql`select distinct c.source_id from source_chunks c
          where not exists (select from messages where source_id = c.source_id)
            and not exists (select from attachments where source_id = c.source_id)
            and not exists (select from uploads where source_id = c.source_id)`,
    );
    expect(orphans).toEqual([]);
    expect(await countRows(db(), "attachments")).toBeGreaterThan(0);
  });
});
