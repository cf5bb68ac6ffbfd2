import { afterAll, beforeAll, expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import { query } from "../../../../src/database/db.ts";
import { mailOf } from "../../../support/mail.ts";
import { addRule, quarantinedMail, setPolicy } from "../../../support/ruled.ts";
import { newAccount } from "../../../support/sends.ts";
import { startWorld, type World } from "../../../support/world.ts";

let world: World;
beforeAll(async () => {
  world = await startWorld();
});
afterAll(() => world[Symbol.asyncDispose]());

const get = async (path: string) => (await world.api(path)).body;
const release = (id: string, apiKey = world.apiKey) =>
  world.api(`/v1/quarantine/${id}/release`, { method: "POST", apiKey });

test("blocked mail is listed newest first, by inbox and by reason, page by page", async () => {
  const [ada, bob] = [await world.inbox(), await world.inbox()];
  const mine = [await quarantinedMail(world, ada), await quarantinedMail(world, ada)];
  const his = await quarantinedMail(world, bob);
  const ids = async (search: string) =>
    (await get(`/v1/quarantine?${search}`)).data.map(({ id }: { id: string }) => id);
  expect(await ids("limit=3")).toEqual([his, ...mine.toReversed()]);
  expect(await ids(`inbox_id=${ada.id}`)).toEqual(mine.toReversed());
  expect(await ids(`inboxId=${ada.id}&reason=unlisted`)).toEqual([]);
  const { nextCursor } = await get(`/v1/quarantine?inbox_id=${ada.id}&limit=1`);
  const rest = await get(`/v1/quarantine?inbox_id=${ada.id}&limit=1&cursor=${nextCursor}`);
  expect([rest.data[0].id, rest.nextCursor]).toEqual([mine[0], null]);
  expect((await world.api("/v1/quarantine?reason=other")).status).toBe(400);
  const stranger = await newAccount(world);
  expect((await world.api("/v1/quarantine", { apiKey: stranger })).body).toEqual({ data: [], nextCursor: null });
  for (const path of ["", "/raw"])
    expect((await world.api(`/v1/quarantine/${his}${path}`, { apiKey: stranger })).body).toMatchObject({
      code: "not_found",
      resource: "quarantined_mail",
    });
  expect((await release(his, stranger)).status).toBe(404);
});

test("a blocked mail shows who wrote what to whom, and its bytes as they came", async () => {
  const ada = await world.inbox();
  const from = "Eve Example <eve@blocked.example>";
  const raw = mailOf({ from, subject: "Cheap", messageId: "shown@blocked.example", text: "Buy now\r\n" });
  const id = await quarantinedMail(world, ada, { raw });
  const shown = await get(`/v1/quarantine/${id}`);
  expect(shown).toEqual({
    id,
    inboxId: ada.id,
    reason: "rule",
    ruleId: expect.stringMatching(/^rul_/),
    fromAddr: "eve@blocked.example",
    fromName: "Eve Example",
    envelopeFrom: "eve@blocked.example",
    toAddr: ada.address,
    subject: "Cheap",
    preview: "Buy now",
    sizeBytes: raw.length,
    authentication: null,
    spam: null,
    receivedAt: world.clock.now().toISOString(),
    expiresAt: new Date(world.clock.now().getTime() + 30 * 24 * 3_600_000).toISOString(),
    messageId: null,
  });
  const answer = await world.fetch(`/v1/quarantine/${id}/raw`);
  expect([answer.headers.get("content-type"), answer.headers.get("content-security-policy")]).toEqual([
    "message/rfc822",
    "sandbox",
  ]);
  expect(await answer.text()).toBe(raw);
  const head = await world.fetch(`/v1/quarantine/${id}/raw`, { method: "HEAD" });
  expect(head.headers.get("content-length")).toBe(String(raw.length));
  const { data } = await get(`/v1/events?types=message.blocked&inbox_id=${ada.id}`);
  expect(data).toMatchObject([
    {
      event: "message.blocked",
      inbox_id: ada.id,
      thread_id: null,
      quarantined: {
        id,
        reason: "rule",
        rule_id: shown.ruleId,
        from: "eve@blocked.example",
        to: ada.address,
        subject: "Cheap",
        received_at: shown.receivedAt,
      },
    },
  ]);
  expect(JSON.stringify(data)).not.toContain("Buy now");
  const logged = world.log.filter(({ msg, inbox_id: inbox }) => msg === "mail blocked" && inbox === ada.id);
  expect(logged).toMatchObject([{ reason: "rule", rule_id: shown.ruleId, answer: "quarantined" }]);
  expect(JSON.stringify(logged)).not.toContain("@");
});

test("1,000 blocked mails change no list, page, total, search or read flag", async () => {
  const ada = await world.inbox();
  const ids = ["read@x.example", "unread@x.example"];
  for (const messageId of ids) await world.deliver(mailOf({ subject: "Taken", messageId }), ada.address);
  const [, { threadId }] = (await get(`/v1/inboxes/${ada.id}/messages`)).data;
  expect((await world.api(`/v1/threads/${threadId}`, { method: "PATCH", body: { isRead: true } })).status).toBe(200);
  const { nextCursor } = await get(`/v1/inboxes/${ada.id}/messages?limit=1`);
  const paths = [
    `/v1/inboxes/${ada.id}`,
    `/v1/inboxes/${ada.id}/messages`,
    `/v1/inboxes/${ada.id}/messages?limit=1&cursor=${nextCursor}`,
    `/v1/inboxes/${ada.id}/threads`,
    `/v1/inboxes/${ada.id}/threads?is_read=false`,
    `/v1/threads/${threadId}/messages`,
    "/v1/messages?q=buy",
    `/v1/events?inbox_id=${ada.id}`,
    "/v1/account",
  ];
  const shown = async () => {
    const answers = await Promise.all(paths.map((path) => world.api(path)));
    expect(answers.map(({ status }) => status)).toEqual(paths.map(() => 200));
    return answers.map(({ body }) => body);
  };
  const rule = { direction: "inbound", action: "block", pattern: "blocked.example", inboxId: ada.id };
  expect((await world.api("/v1/rules", { method: "POST", body: rule })).status).toBe(201);
  const before = await shown();
  expect(before[3].data.map(({ isRead }: { isRead: boolean }) => isRead)).toEqual([false, true]);
  const from = "eve@blocked.example";
  const headers = { "content-type": "message/rfc822", "envelope-to": ada.address, "envelope-from": from };
  for (let batch = 0; batch < 10; batch += 1) {
    const posts = Array.from({ length: 100 }, (_, number) => {
      // Each one answers a mail that is there.
      const answering = { inReplyTo: ids[number % 2] ?? "", messageId: `${batch}.${number}@blocked.example` };
      const body = mailOf({ from, subject: "Buy", ...answering });
      return world.api("/v1/inbound", { method: "POST", headers, body });
    });
    for (const { body } of await Promise.all(posts)) expect(body.recipients).toMatchObject([{ status: "quarantined" }]);
  }
  const counted = sql`select count(*) from quarantine where inbox_id = ${ada.id}`;
  expect(await query(world.service.deps.db.api, counted)).toEqual([{ count: 1_000 }]);
  expect(await shown()).toEqual(before);
});

test("a released mail is an ordinary message that is dated now, with its files, and further releases find it", async () => {
  const ada = await world.inbox();
  const raw = [
    "From: eve@blocked.example",
    "Subject: A file",
    "Message-ID: <file@blocked.example>",
    "MIME-Version: 1.0",
    "Content-Type: multipart/mixed; boundary=b",
    "",
    "--b",
    "",
    "Here it is",
    "--b",
    "Content-Disposition: attachment; filename=a.txt",
    "",
    "the file",
    "--b--",
    "",
  ].join("\r\n");
  const id = await quarantinedMail(world, ada, { raw });
  world.clock.pass(3_600_000);
  const at = world.clock.now().toISOString();
  const answers = await Promise.all([release(id), release(id), release(id)]);
  answers.push(await release(id));
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
  const { messageId, threadId } = answers[0]?.body ?? {};
  for (const { body } of answers) expect(body).toEqual({ messageId, threadId });
  const { data } = await get(`/v1/inboxes/${ada.id}/messages`);
  expect(data).toMatchObject([{ id: messageId, threadId, subject: "A file", createdAt: at }]);
  const { pathname, search } = new URL(data[0].attachments[0].url);
  expect(await (await world.fetch(`${pathname}${search}`)).text()).toBe("the file");
  expect(await (await world.fetch(`/v1/messages/${messageId}/raw`)).text()).toBe(raw);
  expect((await get(`/v1/events?inbox_id=${ada.id}`)).data).toMatchObject([{ message: { id: messageId } }]);
  expect(await get(`/v1/quarantine/${id}`)).toMatchObject({ id, messageId });
  // Its sender repeats it: the inbox has it already.
  expect(await world.deliver(raw, ada.address, "eve@blocked.example")).toStartWith("250");
  expect((await get(`/v1/inboxes/${ada.id}/messages`)).total).toBe(1);
  // The message does not need the quarantine.
  expect((await world.api(`/v1/quarantine/${id}`, { method: "DELETE" })).status).toBe(204);
  expect(await (await world.fetch(`/v1/messages/${messageId}/raw`)).text()).toBe(raw);
  expect((await release(id)).status).toBe(404);
});

test.skipIf(!process.env.TEST_DATABASE_URL)(
  "two processes that release one mail at once make one message",
  async () => {
    await using other = await world.another();
    const ada = await world.inbox();
    for (let number = 0; number < 5; number += 1) {
      const id = await quarantinedMail(world, ada);
      const path = `/v1/quarantine/${id}/release`;
      const answers = await Promise.all([world, other, world, other].map((each) => each.api(path, { method: "POST" })));
      expect(new Set(answers.map(({ status, body }) => `${status} ${body.messageId}`)).size).toBe(1);
    }
    expect((await get(`/v1/inboxes/${ada.id}/messages`)).total).toBe(5);
  },
);

test("a mail whose bytes are removed during its release or its download is not found", async () => {
  const id = await quarantinedMail(world, await world.inbox());
  const { api: db } = world.service.deps.db;
  const chunks = sql`source_chunks where source_id = (select source_id from quarantine where id = ${id})`;
  await query(db, sql`delete from ${chunks}`);
  const { status, body } = await release(id);
  expect([status, body.resource]).toEqual([404, "quarantined_mail"]);
  const raw = await world.api(`/v1/quarantine/${id}/raw`);
  expect([raw.status, raw.body.resource]).toEqual([404, "quarantined_mail"]);
  await query(db, sql`delete from quarantine where id = ${id}`);
});

test("a deleted one is gone with its bytes, which count for the storage but not as received", async () => {
  const ada = await world.inbox();
  const bytes = async () =>
    (
      await query<{ bytes: number }>(
        world.service.deps.db.api,
        sql`select storage_bytes as bytes from inboxes where id = ${ada.id}`,
      )
    )[0]?.bytes;
  const id = await quarantinedMail(world, ada);
  // The last event of an account stays.
  await world.inbox();
  await world.deliver(mailOf({ messageId: "later@x.example" }), (await world.inbox()).address);
  const { sizeBytes } = await get(`/v1/quarantine/${id}`);
  expect(await bytes()).toBe(sizeBytes);
  expect((await world.api(`/v1/quarantine/${id}`, { method: "DELETE" })).status).toBe(204);
  expect((await world.api(`/v1/quarantine/${id}`, { method: "DELETE" })).status).toBe(404);
  expect(await bytes()).toBe(0);
  // Nothing else tells of it.
  const told = (await get("/v1/events?types=*&limit=100&order=desc")).data;
  expect(JSON.stringify(told)).not.toContain(id);
  const stored = await query(
    world.service.deps.db.api,
    sql`select from source_chunks c where not exists (select from messages where source_id = c.source_id)
        and not exists (select from quarantine where source_id = c.source_id)
        and not exists (select from attachments where source_id = c.source_id)`,
  );
  expect(stored).toEqual([]);
});

test("the quarantine of a deleted inbox is gone at once, and its events too", async () => {
  const ada = await world.inbox();
  const id = await quarantinedMail(world, ada);
  await world.api(`/v1/inboxes/${ada.id}`, { method: "DELETE" });
  expect((await release(id)).status).toBe(404);
  expect((await world.api(`/v1/quarantine/${id}`)).status).toBe(404);
  expect((await get("/v1/quarantine")).data.map((mail: { id: string }) => mail.id)).not.toContain(id);
  const told = (await get("/v1/events?types=*&limit=100&order=desc")).data;
  expect(JSON.stringify(told)).not.toContain(id);
});

test("mail of one of our own inboxes is judged too, as proven, and its refusal is a failure of the send", async () => {
  const [ada, bob] = [await world.inbox(), await world.inbox()];
  const [account] = await query<{ id: string }>(
    world.service.deps.db.api,
    sql`select account_id as id from inboxes where id = ${ada.id}`,
  );
  const { api: db } = world.service.deps.db;
  const policy = { accountId: account?.id ?? "", inboxId: ada.id, unlisted: "block", blocked: "refuse" } as const;
  await setPolicy(db, policy);
  world.clock.pass(30_000);
  const sent = async () => {
    const body = { to: ada.address, subject: "Hello", body: "Hello" };
    const headers = { "idempotency-key": crypto.randomUUID() };
    return (await world.api(`/v1/inboxes/${bob.id}/send`, { method: "POST", body, headers })).body;
  };
  expect(await sent()).toMatchObject({ status: "failed" });
  const rule = { accountId: account?.id ?? "", inboxId: ada.id, action: "allow", pattern: bob.address } as const;
  await addRule(db, rule);
  world.clock.pass(30_000);
  expect(await sent()).toMatchObject({ status: "sent" });
  expect((await get(`/v1/inboxes/${ada.id}/messages`)).total).toBe(1);
});
