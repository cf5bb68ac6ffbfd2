import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { createKey, revokeKey } from "../../../../src/flows/account/manage-accounts.ts";
import { findFirstAccount } from "../../../../src/store/account/accounts.ts";
import { startWorld, type World, type WorldInbox } from "../../../support/world.ts";

let world: World;
let ada: WorldInbox;
let bob: WorldInbox;
const mail = (subject: string) =>
  [
    "From: jane@example.com",
    `Subject: ${subject}`,
    "MIME-Version: 1.0",
    "Content-Type: multipart/mixed; boundary=b",
    "",
    "--b",
    "",
    "Hello",
    "--b",
    "Content-Disposition: attachment; filename=a.txt",
    "",
    "file",
    "--b--",
    "",
  ].join("\r\n");

beforeAll(async () => {
  world = await startWorld();
  ada = await world.inbox("ada");
  bob = await world.inbox("bob");
  for (const { address } of [ada, bob]) expect(await world.deliver(mail(`To ${address}`), address)).toStartWith("250");
}, 60_000);
afterAll(() => world[Symbol.asyncDispose]());

async function token(body: object = {}, apiKey = world.apiKey): Promise<string> {
  const answer = await world.api("/v1/tokens", { method: "POST", body, apiKey });
  expect(answer.status).toBe(201);
  return answer.body.token;
}

async function mailOf(inbox: WorldInbox) {
  const { body } = await world.api(`/v1/inboxes/${inbox.id}/messages`);
  const { body: events } = await world.api(`/v1/events?inbox_id=${inbox.id}`);
  const [{ id: messageId, threadId, attachments }] = body.data;
  return { messageId, threadId, eventId: events.data[0].event_id, file: new URL(attachments[0].url).pathname };
}

async function statusAndCode(path: string, init: Parameters<World["api"]>[1]) {
  const { status, body } = await world.api(path, init);
  return [status, body.code ?? null, body.resource ?? null];
}

describe("A token", () => {
  test("lasts fifteen minutes unless it is told otherwise, and is not to be kept", async () => {
    const usual = await world.api("/v1/tokens", { method: "POST" });
    expect(usual.body).toEqual({ token: expect.stringMatching(/^ibt_/), expiresAt: "2026-03-21T10:20:00.000Z" });
    expect(usual.headers.get("cache-control")).toBe("no-store");
    const short = await world.api("/v1/tokens", { method: "POST", body: { ttlSeconds: 60 } });
    expect(short.body.expiresAt).toBe("2026-03-21T10:06:00.000Z");
    for (const ttlSeconds of [59, 86_401])
      expect(await statusAndCode("/v1/tokens", { method: "POST", body: { ttlSeconds } })).toEqual([
        400,
        "validation_error",
        null,
      ]);
  });

  test("is of an inbox that the account has, or is not made", async () => {
    const inboxId = "inb_01km57j4m0eh7awf6pjemv292z";
    expect(await statusAndCode("/v1/tokens", { method: "POST", body: { inboxId } })).toEqual([
      404,
      "not_found",
      "inbox",
    ]);
  });

  test("of the account reads all of it", async () => {
    const apiKey = await token();
    const { messageId, threadId, eventId, file } = await mailOf(bob);
    const inboxes = await world.api("/v1/inboxes", { apiKey });
    expect(inboxes.body.total).toBe(2);
    for (const path of [
      `/v1/inboxes/${ada.id}`,
      `/v1/inboxes/${ada.id}/messages`,
      `/v1/inboxes/${ada.id}/threads`,
      `/v1/threads/${threadId}/messages`,
      `/v1/messages/${messageId}`,
      `/v1/messages/${messageId}/raw`,
      `/v1/events?inbox_id=${ada.id}`,
      `/v1/events/${eventId}`,
      file,
    ])
      expect([path, (await world.api(path, { apiKey })).status]).toEqual([path, 200]);
    expect((await world.api("/v1/events", { apiKey })).body.data).toHaveLength(2);
  });

  test("of an inbox sees that inbox alone: all else is not there", async () => {
    const apiKey = await token({ inboxId: ada.id });
    const own = await mailOf(ada);
    const others = await mailOf(bob);
    const inboxes = await world.api("/v1/inboxes", { apiKey });
    expect(inboxes.body).toMatchObject({ data: [{ id: ada.id }], total: 1 });
    const events = await world.api("/v1/events", { apiKey });
    expect(events.body.data.map((event: { inbox_id: string }) => event.inbox_id)).toEqual([ada.id]);
    const paths = ({ messageId, threadId, eventId, file }: typeof own, inbox: WorldInbox) => [
      [`/v1/inboxes/${inbox.id}`, "inbox"],
      [`/v1/inboxes/${inbox.id}/messages`, "inbox"],
      [`/v1/inboxes/${inbox.id}/threads`, "inbox"],
      [`/v1/threads/${threadId}/messages`, "thread"],
      [`/v1/messages/${messageId}`, "message"],
      [`/v1/messages/${messageId}/raw`, "message"],
      [`/v1/events?inbox_id=${inbox.id}`, "inbox"],
      [`/v1/events/${eventId}`, "event"],
      [file, "attachment"],
    ];
    for (const [path = ""] of paths(own, ada))
      expect([path, (await world.api(path, { apiKey })).status]).toEqual([path, 200]);
    for (const [path = "", resource] of paths(others, bob))
      expect([path, ...(await statusAndCode(path, { apiKey }))]).toEqual([path, 404, "not_found", resource]);
  });

  test("only reads: what changes something is forbidden, and so are webhooks, and tokens of its own", async () => {
    const apiKey = await token();
    const { threadId, eventId } = await mailOf(ada);
    const asked: [string, string, unknown?][] = [
      ["POST", "/v1/inboxes", {}],
      ["DELETE", `/v1/inboxes/${ada.id}`],
      ["POST", `/v1/inboxes/${ada.id}/send`, { to: "jane@example.com", subject: "s", body: "b" }],
      ["PATCH", `/v1/threads/${threadId}`, { is_read: true }],
      ["POST", `/v1/events/${eventId}/redeliver`],
      // They show what the receivers of webhooks answered.
      ["GET", `/v1/events/${eventId}/deliveries`],
      ["GET", "/v1/webhook"],
      ["PUT", "/v1/webhook", { url: "https://example.com" }],
      ["POST", "/v1/webhook/test"],
      ["POST", "/v1/tokens", {}],
    ];
    for (const [method, path, body] of asked)
      expect([method, path, ...(await statusAndCode(path, { method, body, apiKey }))]).toEqual([
        method,
        path,
        403,
        "forbidden",
        null,
      ]);
    expect((await world.api(`/v1/inboxes/${ada.id}`)).status).toBe(200);
  });

  test("has the access that was asked for, up to that of its key, and never full", async () => {
    const made = async (body: object) => (await world.api("/v1/keys", { method: "POST", body })).body.key as string;
    const [agent, reader, sender] = [
      await made({ access: "agent" }),
      await made({ access: "read" }),
      await made({ access: "send" }),
    ];
    for (const [key, access, status] of [
      [agent, "agent", 201],
      [agent, "send", 201],
      [reader, "read", 201],
      [reader, "send", 403],
      [reader, "agent", 403],
      [sender, "send", 403],
      [world.apiKey, "full", 400],
      [world.apiKey, "ingest", 400],
    ] as const) {
      const answer = await world.api("/v1/tokens", { method: "POST", body: { access }, apiKey: key });
      expect([access, answer.status]).toEqual([access, status]);
    }
    const mail = { to: "jane@example.com", subject: "s", body: "b" };
    const send = (inbox: WorldInbox, apiKey: string) =>
      statusAndCode(`/v1/inboxes/${inbox.id}/send`, {
        method: "POST",
        body: mail,
        apiKey,
        headers: { "idempotency-key": crypto.randomUUID() },
      });
    const ofAda = await token({ access: "send", inboxId: ada.id });
    expect(await send(ada, ofAda)).toEqual([200, null, null]);
    expect(await send(bob, ofAda)).toEqual([404, "not_found", "inbox"]);
    expect(await statusAndCode("/v1/messages", { apiKey: ofAda })).toEqual([403, "forbidden", null]);
    const streamed = await world.fetch(`/v1/events/stream?token=${ofAda}`, { apiKey: null });
    expect(streamed.status).toBe(401);
    await streamed.body?.cancel();
  });

  test("of a tenant reaches the inboxes of that tenant, also those that come later", async () => {
    const externalId = "tenant with a blank – and a dash";
    const apiKey = await token({ externalId });
    const inboxes = async () => (await world.api("/v1/inboxes", { apiKey })).body.total;
    expect(await inboxes()).toBe(0);
    await world.api("/v1/inboxes", { method: "POST", body: { externalId } });
    expect(await inboxes()).toBe(1);
    const both = { externalId, inboxId: ada.id };
    expect((await world.api("/v1/tokens", { method: "POST", body: both })).status).toBe(400);
  });

  test("that was changed is none", async () => {
    const [claims = "", signature = ""] = (await token({ inboxId: ada.id })).slice("ibt_00".length).split(".");
    const { inbox: _, ...wider } = JSON.parse(Buffer.from(claims, "base64url").toString());
    const forged = Buffer.from(JSON.stringify(wider)).toString("base64url");
    for (const apiKey of [`ibt_00${forged}.${signature}`, `ibt_00${claims}.${"A".repeat(43)}`, `ibt_00${claims}`])
      expect((await world.api("/v1/inboxes", { apiKey })).status).toBe(401);
  });

  test("dies with the key that made it", async () => {
    const { deps } = world.service;
    const account = await findFirstAccount(deps.db.api);
    const parent = await createKey(deps, deps.db.api, { accountId: account?.id ?? "" });
    const apiKey = await token({}, parent.key);
    expect((await world.api("/v1/inboxes", { apiKey })).status).toBe(200);
    await revokeKey(deps, parent.id);
    let status = 200;
    while (status === 200) ({ status } = await world.api("/v1/inboxes", { apiKey }));
    expect(status).toBe(401);
  });

  test("is taken in the address of no other path than those of streams", async () => {
    const apiKey = await token();
    expect(await statusAndCode(`/v1/inboxes?token=${apiKey}`, { apiKey: null })).toEqual([401, "unauthorized", null]);
  });

  test("ends", async () => {
    const apiKey = await token({ ttlSeconds: 60 });
    world.clock.pass(59_999);
    expect((await world.api("/v1/inboxes", { apiKey })).status).toBe(200);
    world.clock.pass(1);
    expect((await world.api("/v1/inboxes", { apiKey })).status).toBe(401);
  });
});
