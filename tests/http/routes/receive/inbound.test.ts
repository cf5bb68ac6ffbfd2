import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import { query } from "../../../../src/database/db.ts";
import { service } from "../../../../src/domain/access/actor.ts";
import { changeAccount } from "../../../../src/flows/account/change-account.ts";
import { refused } from "../../../mail/report/fixtures.ts";
import { mailOf } from "../../../support/mail.ts";
import { readMetrics } from "../../../support/metrics.ts";
import { beginRequest } from "../../../support/raw-body.ts";
import { eventsOf, sent, signingKey } from "../../../support/reported.ts";
import { addRule, setPolicy } from "../../../support/ruled.ts";
import { newAccount } from "../../../support/sends.ts";
import { untilSo } from "../../../support/until.ts";
import { startWorld, type World } from "../../../support/world.ts";

const ingestToken = "the-token-of-the-edge-worker-in-tests";
const env = {
  INGEST_TOKEN: ingestToken,
  SIGNING_KEY: signingKey,
  OPERATOR_INBOX: "operator",
  METRICS_PORT: "0",
  SMTP_MAX_BYTES: String(2 << 20),
};

let world: World;
beforeAll(async () => {
  world = await startWorld({ env });
});
afterAll(() => world[Symbol.asyncDispose]());

const bounce = refused("smtp; 550 5.1.1 <jane@example.com>: User unknown").replaceAll("\n", "\r\n");

let mails = 0;
/** A mail with a Message-ID of its own. */
const newMail = (text = "Hello\r\n") => mailOf({ messageId: `posted-${++mails}@example.com`, text });

interface Posted {
  to?: string;
  from?: string | undefined;
  apiKey?: string | null;
  headers?: Record<string, string>;
}

async function post(raw: string | Uint8Array, { to = "", from = "jane@example.com", apiKey, headers }: Posted = {}) {
  const key = apiKey === undefined ? world.apiKey : apiKey;
  const answer = await fetch(new URL("/v1/inbound", world.service.apiUrl), {
    method: "POST",
    headers: {
      "content-type": "message/rfc822",
      ...(key !== null && { authorization: `Bearer ${key}` }),
      ...(to !== "" && { "envelope-to": to }),
      ...(from !== "" && { "envelope-from": from }),
      ...headers,
    },
    body: raw as string,
  });
  // biome-ignore lint/suspicious/noExplicitAny: what a test reads it compares at once
  return { status: answer.status, headers: answer.headers, body: (await answer.json()) as any };
}

async function messagesOf(inboxId: string, apiKey = world.apiKey) {
  return (await world.api(`/v1/inboxes/${inboxId}/messages`, { apiKey })).body.data;
}

async function rawOf(messageId: string): Promise<Uint8Array> {
  return (await world.fetch(`/v1/messages/${messageId}/raw`)).bytes();
}

/** A post whose body the test writes itself. */
function begin(to: string, ...fields: string[]) {
  const own = [`Authorization: Bearer ${world.apiKey}`, "Content-Type: message/rfc822", `Envelope-To: ${to}`];
  return beginRequest(world, "/v1/inbound", [...own, ...fields]);
}

const heldBytes = async () => (await readMetrics(world)).get("inboxd_smtp_held_bytes");

const stored = (address: string) => ({ address, status: "stored" });
const unknown = (address: string) => ({ address, status: "unknown" });

describe("a posted mail", () => {
  test("becomes a message with its event, as by SMTP, and its raw source is the same byte for byte", async () => {
    const { id, address } = await world.inbox();
    const odd = Buffer.concat([
      Buffer.from(newMail("bare\nLF, a \0 and a lone\r.\nCR ")),
      Buffer.from([0xe4, 0xff, 0x0a, 0x2e]),
    ]);
    expect(await post(odd, { to: address })).toMatchObject({ status: 200, body: { recipients: [stored(address)] } });
    const [message] = await messagesOf(id);
    expect(message).toMatchObject({ direction: "inbound", toAddr: address, status: "received" });
    expect(Buffer.compare(await rawOf(message.id), odd)).toBe(0);
    const [event] = (await world.api(`/v1/events?inbox_id=${id}`)).body.data;
    expect(event).toMatchObject({ event: "message.received", message: { id: message.id } });
  });

  test("in many small chunks is stored whole", async () => {
    const { id, address } = await world.inbox();
    const raw = Buffer.from(newMail("x".repeat(200_000)));
    let at = 0;
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        if (at >= raw.length) return controller.close();
        controller.enqueue(raw.subarray(at, at + 997));
        at += 997;
      },
    });
    expect((await post(body as unknown as Uint8Array, { to: address })).status).toBe(200);
    const [message] = await messagesOf(id);
    expect(Buffer.compare(await rawOf(message.id), raw)).toBe(0);
  });

  test("twice is one message with one event", async () => {
    const { id, address } = await world.inbox();
    const raw = newMail();
    const answers = await Promise.all(Array.from({ length: 20 }, () => post(raw, { to: address })));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    expect(await world.deliver(raw, address)).toStartWith("250");
    expect(await messagesOf(id)).toHaveLength(1);
    expect((await world.api(`/v1/events?inbox_id=${id}`)).body.data).toHaveLength(1);
  });

  test("for several recipients is stored for those that are there, and the others are told", async () => {
    const one = await world.inbox();
    const two = await world.inbox();
    const to = `${one.address}, nobody@inbox.localhost,ada%2Btag@elsewhere.example , ${two.address.toUpperCase()},${two.address}`;
    const { status, body } = await post(newMail(), { to });
    expect(status).toBe(200);
    expect(body.recipients).toEqual([
      stored(one.address),
      unknown("nobody@inbox.localhost"),
      unknown("ada+tag@elsewhere.example"),
      stored(two.address),
    ]);
    expect(await messagesOf(one.id)).toHaveLength(1);
    expect(await messagesOf(two.id)).toHaveLength(1);
  });

  test("for nobody is refused, and nothing is stored", async () => {
    expect(await post(newMail(), { to: "nobody@inbox.localhost" })).toMatchObject({
      status: 404,
      body: { code: "not_found", resource: "inbox" },
    });
  });

  test("has the envelope sender of its header, or the null sender", async () => {
    const { id, address } = await world.inbox();
    for (const from of ["j%C3%BCrgen@example.com", "", "J@example.com"]) {
      expect((await post(newMail(), { to: address, from })).status).toBe(200);
    }
    const rows = await query<{ from: string }>(
      world.service.deps.db.api,
      sql`select envelope_from as "from" from messages where inbox_id = ${id} order by seq`,
    );
    expect(rows.map(({ from }) => from)).toEqual(["jürgen@example.com", "", "J@example.com"]);
  });

  test("with a wrong envelope is refused", async () => {
    const { address } = await world.inbox();
    const many = Array.from({ length: 101 }, (_, number) => `nobody-${number}@inbox.localhost`).join(",");
    const cases: [Posted, string][] = [
      [{}, "Envelope-To"],
      [{ to: "%" }, "Envelope-To"],
      [{ to: "a%0d%0ab@inbox.localhost" }, "Envelope-To"],
      [{ to: `${address},` }, "Envelope-To"],
      [{ to: "a b@inbox.localhost" }, "Envelope-To"],
      [{ to: `<${address}>` }, "Envelope-To"],
      [{ to: many }, "Envelope-To"],
      [{ to: address, from: "jane" }, "Envelope-From"],
      [{ to: address, from: "%ff@example.com" }, "Envelope-From"],
      [{ to: address, apiKey: ingestToken, headers: { "client-address": "300.1.1.1" } }, "Client-Address"],
      [{ to: address, apiKey: ingestToken, headers: { "client-helo": "a b" } }, "Client-Helo"],
    ];
    for (const [posted, parameter] of cases) {
      const { status, body } = await post(newMail(), posted);
      expect([status, body.code, body.errors?.[0]?.parameter]).toEqual([400, "validation_error", parameter]);
    }
  });

  test("of another type, compressed, too big or in a loop is refused", async () => {
    const { id, address } = await world.inbox();
    const refused = async (raw: string | Uint8Array, headers: Record<string, string> = {}) => {
      const { status, body } = await post(raw, { to: address, headers });
      return [status, body.code];
    };
    expect(await refused(newMail(), { "content-type": "text/plain" })).toEqual([415, "unsupported_media_type"]);
    expect(await refused(newMail(), { "content-encoding": "gzip" })).toEqual([415, "unsupported_media_type"]);
    expect(await refused(newMail("x".repeat(2 << 20)))).toEqual([413, "payload_too_large"]);
    const received = (count: number) => `${"Received: from a by b; Sat, 21 Mar 2026 10:05:00 +0000\r\n".repeat(count)}`;
    expect(await refused(received(101) + newMail())).toEqual([422, "mail_loop"]);
    expect(await messagesOf(id)).toEqual([]);
    expect((await post(received(100) + newMail(), { to: address })).status).toBe(200);
  });

  test("that is too big while it streams is refused before its end", async () => {
    const { address } = await world.inbox();
    const tooBig = (2 << 20) + 1;
    const request = begin(address, "Transfer-Encoding: chunked");
    request.send(`${tooBig.toString(16)}\r\n${"x".repeat(tooBig)}`);
    expect(await request.answer()).toMatch(/^HTTP\/1.1 413 .*payload_too_large/s);
    await request.closed;

    const endless = begin(address, "Transfer-Encoding: chunked");
    endless.sendWithoutEnd(`10000\r\n${"x".repeat(1 << 16)}\r\n`);
    await endless.closed;
  });

  test("that breaks off is not stored, and its memory is free again", async () => {
    const { id, address } = await world.inbox();
    const before = await heldBytes();
    const request = begin(address, "Content-Length: 1000000");
    await request.sent(newMail("x".repeat(300_000)));
    await untilSo(async () => ((await heldBytes()) ?? 0) >= 300_000);
    request.leave();
    await untilSo(async () => (await heldBytes()) === before);
    expect(await messagesOf(id)).toEqual([]);
  });

  test("that the SMTP listener refuses for now gets 503", async () => {
    const apiKey = await newAccount(world);
    const suspended = (await world.api("/v1/inboxes", { method: "POST", body: {}, apiKey })).body;
    const account = (await world.api("/v1/account", { apiKey })).body;
    await changeAccount(world.service.deps, service, account.id, { suspended: "all" });
    await untilSo(async () => (await world.deliver(newMail(), suspended.address)).startsWith("450"));
    const both = `${suspended.address},${(await world.inbox()).address}`;
    const answer = await post(newMail(), { to: both, apiKey: ingestToken });
    expect([answer.status, answer.headers.get("retry-after")]).toEqual([503, "60"]);
    expect(await post(newMail(), { to: suspended.address, apiKey })).toMatchObject({
      status: 403,
      body: { code: "account_suspended" },
    });
    // Another account learns nothing of it.
    expect((await post(newMail(), { to: suspended.address })).status).toBe(404);
  });
});

describe("the reach of a key", () => {
  test("with access ingest is the inboxes that it reaches; all others are unknown", async () => {
    const mine = (await world.api("/v1/inboxes", { method: "POST", body: { externalId: "tenant-1" } })).body;
    const other = (await world.api("/v1/inboxes", { method: "POST", body: { externalId: "tenant-2" } })).body;
    const foreign = (await world.api("/v1/inboxes", { method: "POST", body: {}, apiKey: await newAccount(world) }))
      .body;
    const all = [mine, other, foreign].map(({ address }) => address);
    const reached = async (body: object) => {
      const { key } = (await world.api("/v1/keys", { method: "POST", body: { access: "ingest", ...body } })).body;
      const answer = await post(newMail(), { to: all.join(","), apiKey: key });
      return answer.body.recipients.map(({ status }: { status: string }) => status);
    };
    expect(await reached({})).toEqual(["stored", "stored", "unknown"]);
    expect(await reached({ externalId: "tenant-1" })).toEqual(["stored", "unknown", "unknown"]);
    expect(await reached({ inboxId: other.id })).toEqual(["unknown", "stored", "unknown"]);
    expect((await post(newMail(), { to: foreign.address })).status).toBe(404);
    const full = await post(newMail(), { to: "nobody@inbox.localhost" });
    const outOfReach = await post(newMail(), { to: foreign.address });
    expect({ ...outOfReach.body, request_id: "" }).toEqual({ ...full.body, request_id: "" });
  });

  test("has no return path, and a key without the access may not hand in mail", async () => {
    const { id } = await world.inbox();
    const { returnPath } = await sent(world, id);
    expect((await post(bounce, { to: returnPath, from: "" })).status).toBe(404);
    const { key } = (await world.api("/v1/keys", { method: "POST", body: { access: "agent" } })).body;
    expect(await post(newMail(), { apiKey: key })).toMatchObject({ status: 403, body: { required_access: "ingest" } });
    expect((await post(newMail(), { apiKey: null })).status).toBe(401);
    expect((await post(newMail(), { apiKey: `${ingestToken}x` })).status).toBe(401);
  });

  test("an inbox without room is told so", async () => {
    const apiKey = await newAccount(world);
    const { address } = (await world.api("/v1/inboxes", { method: "POST", body: {}, apiKey })).body;
    await query(
      world.service.deps.db.api,
      sql`update accounts set limits = '{"inboxBytes": 1}' where id = ${(await world.api("/v1/account", { apiKey })).body.id}`,
    );
    expect((await post(newMail(), { to: address, apiKey })).status).toBe(200);
    expect(await post(newMail(), { to: address, apiKey })).toMatchObject({
      status: 507,
      body: { code: "storage_full" },
    });
    const answer = await post(newMail(), { to: `${address},${(await world.inbox()).address}`, apiKey: ingestToken });
    expect(answer.body.recipients.map(({ status }: { status: string }) => status)).toEqual(["full", "stored"]);
  });
});

describe("INGEST_TOKEN", () => {
  test("reaches the inboxes of all accounts, roles and return paths, and nothing else of the API", async () => {
    const operator = await world.inbox("operator");
    const foreign = (await world.api("/v1/inboxes", { method: "POST", body: {}, apiKey: await newAccount(world) }))
      .body;
    const to = `${foreign.address},postmaster@inbox.localhost,abuse@inbox.localhost`;
    const { body } = await post(newMail(), { to, apiKey: ingestToken });
    expect(body.recipients).toEqual(to.split(",").map(stored));
    expect(await messagesOf(operator.id)).toHaveLength(1);
    expect((await world.api("/v1/account", { apiKey: ingestToken })).status).toBe(401);
    expect((await world.api("/v1/inbound", { apiKey: ingestToken })).status).toBe(405);
  });

  test("turns a bounce at a return path into a report", async () => {
    const { id } = await world.inbox();
    const { id: messageId, returnPath } = await sent(world, id);
    expect(await post(bounce, { to: returnPath, from: "", apiKey: ingestToken })).toMatchObject({
      status: 200,
      body: { recipients: [stored(returnPath)] },
    });
    expect((await world.api(`/v1/messages/${messageId}`)).body.delivery).toMatchObject({ state: "bounced" });
    expect((await eventsOf(world, "message.bounced"))[0]).toMatchObject({ message: { id: messageId } });
    expect(await messagesOf(id)).toHaveLength(1);
    const two = `${returnPath},${(await sent(world, id)).returnPath}`;
    expect((await post(bounce, { to: two, from: "", apiKey: ingestToken })).status).toBe(400);
  });
});

describe("rules and policies", () => {
  const blocks = async (inbox: { id: string }, blocked: "quarantine" | "refuse") => {
    const { api: db } = world.service.deps.db;
    const accountId = (await world.api("/v1/account")).body.id;
    await addRule(db, { accountId, inboxId: inbox.id, action: "block", pattern: "eve.example" });
    await setPolicy(db, { accountId, inboxId: inbox.id, blocked });
    // Rules of an account are remembered for 30 seconds.
    world.clock.pass(30_000);
  };

  test("quarantine a mail for those who block it, and each recipient's status says so", async () => {
    const [open, blocking, refusing] = [await world.inbox(), await world.inbox(), await world.inbox()];
    await blocks(blocking, "quarantine");
    await blocks(refusing, "refuse");
    const statuses = async (...to: { address: string }[]) => {
      const posted = { to: to.map(({ address }) => address).join(","), from: "eve@eve.example" };
      const { status, body } = await post(newMail(), posted);
      return body.recipients?.map((one: { status: string }) => one.status) ?? [status, body.code];
    };
    expect(await statuses(open, blocking)).toEqual(["stored", "quarantined"]);
    expect(await statuses(blocking)).toEqual(["quarantined"]);
    expect(await statuses(refusing)).toEqual([403, "sender_refused"]);
    // One answer for all: a mail that one inbox takes is quarantined for the one that would refuse it.
    expect(await statuses(refusing, open, { address: "nobody@inbox.localhost" })).toEqual([
      "quarantined",
      "stored",
      "unknown",
    ]);
    expect(await messagesOf(open.id)).toHaveLength(2);
    expect(await messagesOf(blocking.id)).toEqual([]);
  });

  test("a bounce is stored at its return path, and quarantined for an inbox beside it that would refuse it", async () => {
    const [inbox, refusing] = [await world.inbox(), await world.inbox()];
    await blocks(refusing, "refuse");
    const { returnPath } = await sent(world, inbox.id);
    const to = `${refusing.address},${returnPath}`;
    const { status, body } = await post(bounce, { to, from: "eve@eve.example", apiKey: ingestToken });
    expect([status, ...(body.recipients ?? []).map((one: { status: string }) => one.status)]).toEqual([
      200,
      "quarantined",
      "stored",
    ]);
  });
});

test("posts are counted by outcome, and mails by way", async () => {
  const before = await readMetrics(world);
  const { address } = await world.inbox();
  await post(newMail(), { to: address });
  await post(newMail(), { to: "nobody@inbox.localhost" });
  const after = await readMetrics(world);
  const more = (name: string) => (after.get(name) ?? 0) - (before.get(name) ?? 0);
  expect(more('inboxd_inbound_posts_total{outcome="taken"}')).toBe(1);
  expect(more('inboxd_inbound_posts_total{outcome="not_found"}')).toBe(1);
  expect(more('inboxd_mails_received_total{way="http",outcome="stored"}')).toBe(1);
});
