import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import { query } from "../../src/database/db.ts";
import { prune } from "../../src/workers/prune.ts";
import { enginesHere } from "../support/engines.ts";
import { newInbox, send } from "../support/sends.ts";
import { untilSo } from "../support/until.ts";
import type { Answer, World } from "../support/world.ts";
import { worldsOn } from "../support/world-on.ts";

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
const mail = { to: "jane@example.com", subject: "Hello", body: "Hello Jane" };

describe.each(enginesHere())("Drafts (%s)", (engine) => {
  const startWorld = worldsOn(engine);
  let world: World;
  let inboxId: string;

  beforeAll(async () => {
    world = await startWorld({
      env: { OPEN_DRAFTS: "40", SENDS_PER_MINUTE: "0", SENDS_PER_DAY: "0", COLD_RECIPIENT_DAILY: "0" },
    });
    inboxId = await newInbox(world);
  });
  afterAll(() => world[Symbol.asyncDispose]());

  const inMs = (ms: number) => new Date(world.clock.now().getTime() + ms).toISOString();
  const post = (path: string, body: object, key = `draft-${crypto.randomUUID()}`, headers = {}) =>
    world.api(path, { method: "POST", body, headers: { "idempotency-key": key, ...headers } });
  const create = (body: object = mail, inbox = inboxId, key?: string) => post(`/v1/inboxes/${inbox}/drafts`, body, key);
  const get = (id: string) => world.api(`/v1/drafts/${id}`);
  const message = (id: string) => world.api(`/v1/messages/${id}`);
  const patch = (id: string, body: object, headers = {}) =>
    world.api(`/v1/drafts/${id}`, { method: "PATCH", body, headers });
  const discard = (id: string) => world.api(`/v1/drafts/${id}`, { method: "DELETE" });
  const sendDraft = (id: string, body: object = {}, key?: string, headers?: object) =>
    post(`/v1/drafts/${id}/send`, body, key, headers);
  const problem = ({ status, body: { code, state, version, message_status } }: Answer) => ({
    status,
    code,
    state,
    version,
    message_status,
  });

  test("a draft is kept, changed, sent with its id, and stays readable", async () => {
    const made = await create({ to: "Jane Doe <jane@example.com>", body: "First", metadata: { order: "7" } });
    expect(made).toMatchObject({
      status: 201,
      body: { state: "draft", version: 1, subject: null, to: [{ address: "jane@example.com", name: "Jane Doe" }] },
    });
    const { id } = made.body;
    expect(made.headers.get("location")).toBe(`/v1/drafts/${id}`);
    expect(made.headers.get("etag")).toBe('"1"');
    expect((await message(id)).status).toBe(404);
    const incomplete = await sendDraft(id);
    expect(incomplete).toMatchObject({ status: 400, body: { errors: [{ pointer: "#/subject" }] } });

    const changed = await patch(id, { subject: "Hello", cc: ["joe@example.com"], metadata: null });
    expect(changed).toMatchObject({ status: 200, body: { version: 2, subject: "Hello", body: "First", metadata: {} } });
    const sent = await sendDraft(id, {}, "send-it");
    expect(sent).toMatchObject({ status: 200, body: { messageId: id, threadId: made.body.threadId } });
    expect((await message(id)).body).toMatchObject({ subject: "Hello", bodyText: "First", cc: ["joe@example.com"] });
    expect((await get(id)).body).toMatchObject({ state: "sent", version: 2, body: "First" });

    expect((await sendDraft(id, {}, "send-it")).headers.get("idempotent-replayed")).toBe("true");
    expect(problem(await sendDraft(id))).toMatchObject({
      status: 409,
      code: "draft_not_open",
      state: "sent",
      message_status: "sent",
    });
    expect(problem(await patch(id, { body: "Late" }))).toMatchObject({ status: 409, code: "draft_not_open" });
    expect(problem(await discard(id))).toMatchObject({ status: 409, code: "draft_not_open" });
  });

  test("a repeated request makes one draft, and tells its present state", async () => {
    const first = await create(mail, inboxId, "once");
    await patch(first.body.id, { subject: "Changed" });
    const again = await create(mail, inboxId, "once");
    expect(again).toMatchObject({ status: 201, body: { id: first.body.id, version: 2, subject: "Changed" } });
    expect(again.headers.get("idempotent-replayed")).toBe("true");
    expect((await create({ ...mail, body: "Other" }, inboxId, "once")).body.code).toBe("idempotency_key_reused");
    // The same key is free for sending.
    expect((await send(world, inboxId, {}, { key: "once" })).status).toBe(200);
  });

  test("If-Match holds a change, a removal and a send to one version", async () => {
    const { id } = (await create()).body;
    await patch(id, { subject: "Second" }, { "if-match": '"1"' });
    const stale = { "if-match": '"1"' };
    for (const answer of [
      await patch(id, { subject: "Third" }, stale),
      await sendDraft(id, {}, undefined, stale),
      await world.api(`/v1/drafts/${id}`, { method: "DELETE", headers: stale }),
    ])
      expect(problem(answer)).toMatchObject({ status: 412, code: "version_mismatch", version: 2 });
    expect((await get(id)).body.subject).toBe("Second");
    expect((await patch(id, { subject: "Third" }, { "if-match": '"2"' })).status).toBe(200);
  });

  test("changes at the same time are all made", async () => {
    const { id } = (await create()).body;
    const fields = [
      { subject: "New" },
      { body: "New body" },
      { cc: "a@example.com" },
      { bcc: "b@example.com" },
      { metadata: { a: "1" } },
    ];
    const answers = await Promise.all(fields.map((field) => patch(id, field)));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
    expect((await get(id)).body).toMatchObject({
      version: 6,
      subject: "New",
      body: "New body",
      cc: [{ address: "a@example.com" }],
      bcc: [{ address: "b@example.com" }],
      metadata: { a: "1" },
    });
  });

  test("of two sends at once one sends it, and the other is told so", async () => {
    const { id } = (await create()).body;
    const answers = await Promise.all([sendDraft(id), sendDraft(id)]);
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 409]);
    const { id: other } = (await create()).body;
    const same = await Promise.all([sendDraft(other, {}, "same"), sendDraft(other, {}, "same")]);
    expect(same.map(({ status, body }) => [status, body.messageId])).toEqual([
      [200, other],
      [200, other],
    ]);
  });

  test("a scheduled draft is changed, becomes a draft again, and is canceled by its removal", async () => {
    const { id } = (await create()).body;
    expect((await sendDraft(id, { sendAt: inMs(hourMs) })).body).toMatchObject({ state: "scheduled", messageId: id });
    expect((await patch(id, { subject: "Later" })).body).toMatchObject({ state: "scheduled", version: 2 });
    expect((await message(id)).body).toMatchObject({ state: "scheduled", subject: "Later" });
    expect((await patch(id, { to: null })).status).toBe(400);
    expect((await patch(id, { sendAt: null })).body).toMatchObject({ state: "draft", version: 3, sendAt: null });
    expect((await message(id)).status).toBe(404);
    expect((await sendDraft(id, { sendAt: inMs(hourMs) })).body.state).toBe("scheduled");
    expect((await patch(id, { sendAt: inMs(-1000) })).body.state).toBe("scheduled");
    await untilSo(async () => (await get(id)).body.state === "sent");

    const { id: other } = (await create()).body;
    await sendDraft(other, { sendAt: inMs(hourMs) });
    expect((await discard(other)).status).toBe(204);
    expect((await get(other)).body).toMatchObject({ state: "canceled", failure: { reason: "canceled" } });
    const { id: third } = (await create()).body;
    expect((await discard(third)).status).toBe(204);
    expect((await get(third)).status).toBe(404);
  });

  test("files are kept, replaced and sent, and their bytes go with the last use", async () => {
    const file = (filename: string, text: string) => ({ filename, content: Buffer.from(text).toString("base64") });
    const pieces = async () =>
      (
        await query<{ n: number }>(
          world.service.deps.db.api,
          sql`select count(*) as n from source_chunks where shares is not null`,
        )
      )[0]?.n ?? 0;
    const inbox = await newInbox(world);
    const before = await pieces();
    const { body } = await create({ ...mail, attachments: [file("a.txt", "first"), file("b.txt", "second")] }, inbox);
    expect(body.attachments.map(({ filename }: { filename: string }) => filename)).toEqual(["a.txt", "b.txt"]);
    expect(await (await fetch(body.attachments[0].url)).text()).toBe("first");
    expect((await patch(body.id, { subject: "Files" })).body.attachments).toHaveLength(2);
    const kept = await patch(body.id, {
      attachments: [{ messageId: body.id, filename: "b.txt" }, file("c.txt", "third")],
    });
    expect(kept.body.attachments.map(({ filename }: { filename: string }) => filename)).toEqual(["b.txt", "c.txt"]);
    await sendDraft(body.id);
    const raw = await (await world.fetch(`/v1/messages/${body.id}/raw`)).text();
    for (const name of ["b.txt", "c.txt"]) expect(raw).toContain(name);
    expect(raw).not.toContain("a.txt");
    const { body: second } = await create({ ...mail, attachments: [file("d.txt", "fourth")] }, inbox);
    expect((await patch(second.id, { attachments: null })).body.attachments).toEqual([]);
    const { body: third } = await create({ ...mail, attachments: [file("e.txt", "fifth")] }, inbox);
    await discard(third.id);
    // The first draft has its own bytes and those of the change.
    expect((await pieces()) - before).toBe(2);
  });

  test("a reply is fixed when it is written: its recipients, the answered message and the quote", async () => {
    const inbox = await world.inbox();
    await world.deliver(
      `From: jane@example.com\r\nTo: ${inbox.address}\r\nCc: joe@example.com\r\nSubject: Question\r\n\r\nWhen?\r\n`,
      inbox.address,
    );
    const first = (await world.api(`/v1/inboxes/${inbox.id}/messages`)).body.data[0];
    const { body } = await create({ threadId: first.threadId, replyAll: true, body: "Monday" }, inbox.id);
    expect(body).toMatchObject({
      to: [{ address: "jane@example.com" }],
      cc: [{ address: "joe@example.com" }],
      subject: "Re: Question",
      replyToMessageId: first.id,
      threadId: first.threadId,
    });
    world.clock.pass(1000);
    await world.deliver(
      `From: eve@example.com\r\nTo: ${inbox.address}\r\nIn-Reply-To: ${first.rfcMessageId}\r\nSubject: Re: Question\r\n\r\nA secret\r\n`,
      inbox.address,
    );
    await patch(body.id, { bcc: ["boss@example.com"] });
    await sendDraft(body.id);
    const raw = await (await world.fetch(`/v1/messages/${body.id}/raw`)).text();
    expect(raw).toContain(`In-Reply-To: ${first.rfcMessageId}`);
    expect(raw).toContain("> When?");
    expect(raw).not.toContain("secret");
    expect((await message(body.id)).body).toMatchObject({
      to: ["jane@example.com"],
      cc: ["joe@example.com"],
      bcc: ["boss@example.com"],
    });
  });

  test("a forward keeps its text and its files", async () => {
    const inbox = await world.inbox();
    await world.deliver(
      [
        `From: jane@example.com\r\nTo: ${inbox.address}\r\nSubject: Report\r\nContent-Type: multipart/mixed; boundary=b`,
        "--b\r\nContent-Type: text/plain\r\n\r\nSee below",
        "--b\r\nContent-Type: text/plain; name=r.txt\r\nContent-Disposition: attachment; filename=r.txt\r\n\r\nnumbers",
        "--b--\r\n",
      ]
        .join("\r\n\r\n")
        .replace("b\r\n\r\n--b\r\n", "b\r\n\r\n--b\r\n"),
      inbox.address,
    );
    const first = (await world.api(`/v1/inboxes/${inbox.id}/messages`)).body.data[0];
    const { body } = await create({ to: "joe@example.com", forwardOf: first.id, body: "FYI" }, inbox.id);
    expect(body).toMatchObject({ subject: "Fwd: Report", forwardOf: first.id, attachments: [{ filename: "r.txt" }] });
    await patch(body.id, { body: "Look" });
    await sendDraft(body.id);
    const { body: sent } = await message(body.id);
    expect(sent.bodyText).toContain("Look");
    expect(sent.bodyText).toContain("See below");
    expect(sent.attachments).toHaveLength(1);
  });

  test("they are listed by state, inbox and thread, page by page, and those of another key's reach are not", async () => {
    const inbox = await newInbox(world);
    const ids: string[] = [];
    for (let number = 0; number < 5; number += 1) ids.unshift((await create({ subject: `${number}` }, inbox)).body.id);
    const list = async (more: string) => (await world.api(`/v1/drafts?inbox_id=${inbox}&${more}`)).body;
    const page = await list("limit=2");
    expect(page.data.map(({ id }: { id: string }) => id)).toEqual(ids.slice(0, 2));
    const rest = await list(`limit=100&cursor=${page.nextCursor}`);
    expect([rest.data.map(({ id }: { id: string }) => id), rest.nextCursor]).toEqual([ids.slice(2), null]);
    await patch(ids[0] ?? "", mail);
    await sendDraft(ids[0] ?? "", { sendAt: inMs(hourMs) });
    expect((await list("state=scheduled")).data).toHaveLength(1);
    expect((await list("state=scheduled&state=draft")).data).toHaveLength(5);
    expect((await list("state=sent")).data).toHaveLength(0);
    expect((await world.api("/v1/drafts?state=gone")).status).toBe(400);
    const { body: key } = await world.api("/v1/keys", { method: "POST", body: { access: "agent", inboxId } });
    expect((await world.api(`/v1/drafts/${ids[1]}`, { apiKey: key.key })).status).toBe(404);
    expect(
      (await world.api("/v1/drafts", { apiKey: key.key })).body.data.some(({ id }: { id: string }) => ids.includes(id)),
    ).toBe(false);
  });

  test("an inbox has only so many open ones, scheduled mail among them", async () => {
    const inbox = await newInbox(world);
    const made = await Promise.all(Array.from({ length: 45 }, () => create(mail, inbox)));
    expect(made.filter(({ status }) => status === 201)).toHaveLength(40);
    const over = await send(world, inbox, { sendAt: inMs(hourMs) });
    expect(over).toMatchObject({ status: 429, body: { code: "open_drafts_limit", limit: 40 } });
    expect(over.headers.get("retry-after")).toBe("60");
    await discard(made.find(({ status }) => status === 201)?.body.id);
    expect((await send(world, inbox, { sendAt: inMs(hourMs) })).status).toBe(200);
    expect((await send(world, inbox)).status).toBe(200);
  });

  test("ifUnanswered counts scheduled answers, and the scheduled one itself goes out", async () => {
    const inbox = await world.inbox();
    await world.deliver(`From: jane@example.com\r\nTo: ${inbox.address}\r\nSubject: Q\r\n\r\nWhen?\r\n`, inbox.address);
    const first = (await world.api(`/v1/inboxes/${inbox.id}/messages`)).body.data[0];
    const reply = {
      threadId: first.threadId,
      to: undefined,
      subject: undefined,
      readUpToMessageId: first.id,
      ifUnanswered: true,
    };
    const scheduled = await send(world, inbox.id, { ...reply, sendAt: inMs(hourMs) });
    expect(await send(world, inbox.id, reply)).toMatchObject({
      status: 409,
      body: { code: "answered_meanwhile", messageId: scheduled.body.messageId },
    });
    world.clock.pass(hourMs);
    await untilSo(async () => (await get(scheduled.body.messageId)).body.state === "sent");
  });

  test("the content of a final one goes after 30 days, and a forgotten one after 90", async () => {
    const inbox = await newInbox(world);
    const sent = (await create(mail, inbox)).body.id;
    const canceled = (await create({ ...mail, attachments: [{ filename: "a.txt", content: "YQ==" }] }, inbox)).body.id;
    const forgotten = (await create(mail, inbox)).body.id;
    await sendDraft(sent);
    await sendDraft(canceled, { sendAt: inMs(hourMs) });
    await discard(canceled);
    const pruneNow = () => prune({ ...world.service.deps, eventRetentionDays: 30 });
    world.clock.pass(29 * dayMs);
    await pruneNow();
    expect((await get(canceled)).body).toMatchObject({ body: mail.body, attachments: [{ filename: "a.txt" }] });
    world.clock.pass(2 * dayMs);
    await pruneNow();
    expect((await get(canceled)).body).toMatchObject({ state: "canceled", body: null, to: [], attachments: [] });
    expect((await get(sent)).body).toMatchObject({ state: "sent", body: null });
    expect((await message(sent)).body.bodyText).toBe(mail.body);
    expect((await get(forgotten)).status).toBe(200);
    world.clock.pass(60 * dayMs);
    await pruneNow();
    expect((await get(forgotten)).status).toBe(404);
    expect((await get(sent)).status).toBe(200);
  });
});
