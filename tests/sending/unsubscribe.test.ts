import { describe, expect, test } from "bun:test";
import { dkimVerify } from "mailauth/lib/dkim/verify";
import { publicKeyRecord } from "../../src/mail/write/dkim.ts";
import { breaksPostgres, enginesHere } from "../support/engines.ts";
import { readMetrics } from "../support/metrics.ts";
import { insertOwnDomain } from "../support/own-domain.ts";
import { type PostgresServer, startPostgres } from "../support/postgres.ts";
import { connectRaw } from "../support/raw-http.ts";
import { eventsOf, suppressed } from "../support/reported.ts";
import { type ScriptedSmtp, scriptedSmtp } from "../support/scripted-smtp.ts";
import { newInbox, send } from "../support/sends.ts";
import { namesIn, privateKeyPem, signed, usual } from "../support/unsubscribing.ts";
import { startWorld, type World } from "../support/world.ts";
import { worldsOn } from "../support/world-on.ts";

const changed = (text: string) => text.replace(/.$/, (last) => (last === "0" ? "1" : "0"));

describe.each(enginesHere())("Unsubscribing (%s):", (engine) => {
  const startWorld = worldsOn(engine);

  /** A service that signs, and a server for its mail. */
  async function begin(
    env: Record<string, string> = {},
  ): Promise<
    AsyncDisposable & { world: World; relay: ScriptedSmtp; mailed(inboxId: string, body?: object): Promise<Mailed> }
  > {
    const relay = await scriptedSmtp();
    const outbound = { OUTBOUND: `smtp://127.0.0.1:${relay.port}?tls=off` };
    const world = await startWorld({ env: { ...usual, ...signed, ...outbound, ...env } });
    return {
      world,
      relay,
      async mailed(inboxId, body = {}) {
        const { status, body: sent } = await send(world, inboxId, { unsubscribe: true, ...body }, { waits: true });
        expect([status, sent.status]).toEqual([200, "sent"]);
        const raw = relay.mails.at(-1)?.raw ?? Buffer.of();
        return { id: sent.messageId, raw, ...namesIn(raw) };
      },
      async [Symbol.asyncDispose]() {
        await world[Symbol.asyncDispose]();
        await relay.close();
      },
    };
  }

  interface Mailed {
    id: string;
    raw: Buffer;
    token: string;
    address: string;
  }

  const visit = (world: World, token: string, init: object = {}) =>
    world.fetch(`/u/${token}`, { apiKey: null, ...init });
  const click = (world: World, token: string, body: string = "List-Unsubscribe=One-Click") =>
    visit(world, token, { method: "POST", body, headers: { "content-type": "application/x-www-form-urlencoded" } });

  test("both fields are in the mail, as signed, and another library verifies them", async () => {
    await using here = await begin();
    const { raw, token, address, id } = await here.mailed(await newInbox(here.world));
    expect(token).toMatch(/^[0-9a-z]{42}$/);
    expect(token).toStartWith(id.slice(4));
    expect(address).toMatch(new RegExp(`^bounce\\+u${id.slice(4)}-[0-9a-z]{12}@inbox\\.localhost$`));
    expect(raw.toString()).toContain("\r\nList-Unsubscribe-Post: List-Unsubscribe=One-Click\r\n");
    const { results } = await dkimVerify(raw, { resolver: async () => [[publicKeyRecord(privateKeyPem)]] });
    expect(results.map(({ status, signingHeaders }) => [status.result, fieldsIn(signingHeaders?.keys)])).toEqual([
      ["pass", ["list-unsubscribe", "list-unsubscribe-post"]],
    ]);
    // Without the fields, their names are not in `h=`: relays add fields of their own.
    const { raw: plain } = await here.mailed(await newInbox(here.world), { unsubscribe: false });
    const unsigned = await dkimVerify(plain, { resolver: async () => [[publicKeyRecord(privateKeyPem)]] });
    expect(
      unsigned.results.map(({ status, signingHeaders }) => [status.result, fieldsIn(signingHeaders?.keys)]),
    ).toEqual([["pass", []]]);
  });

  test("mail of an own domain has its address at the host of the domain's return paths, if that is valid", async () => {
    await using here = await begin({ DKIM_KEY: "", DKIM_SELECTOR: "" });
    const { world, mailed } = here;
    const { api } = world.service.deps.db;
    const accountId = (await world.api("/v1/account")).body.id;
    await insertOwnDomain(api, { accountId, name: "ada.example" });
    await insertOwnDomain(api, { accountId, name: "bob.example", recordsSeen: [] });
    const inboxAt = async (domain: string) =>
      (await world.api("/v1/inboxes", { method: "POST", body: { username: "news", domain } })).body.id;
    const ofAda = await mailed(await inboxAt("ada.example"));
    expect(ofAda.address).toEndWith("@bounces.ada.example");
    expect((await mailed(await inboxAt("bob.example"))).address).toEndWith("@inbox.localhost");
    expect(await world.deliver("Subject: unsubscribe\r\n\r\n", ofAda.address)).toStartWith("250");
    expect(await suppressed(world)).toHaveLength(1);
    // No key signs the mail of MAIL_DOMAIN here.
    const refused = await send(world, await newInbox(world), { unsubscribe: true });
    expect([refused.status, refused.body.code]).toEqual([422, "unsubscribe_unavailable"]);
  });

  test("a link that would be dead is refused, and so are several recipients and the caller's own field", async () => {
    await using here = await begin({ BASE_URL: "http://mail.example" });
    const inboxId = await newInbox(here.world);
    const asked: [body: object, status: number, said: unknown][] = [
      [{}, 422, undefined],
      [{ to: ["a@x.example", "b@x.example"] }, 400, "#/unsubscribe"],
      [{ cc: ["b@x.example"] }, 400, "#/unsubscribe"],
      [{ headers: { "list-unsubscribe": "<https://x.example/u>" } }, 400, "#/headers/list-unsubscribe"],
      [{ headers: { "List-Unsubscribe-Post": "a=b" } }, 400, "#/headers/List-Unsubscribe-Post"],
      [{ unsubscribe: "yes" }, 400, "#/unsubscribe"],
    ];
    for (const [body, status, pointer] of asked) {
      const answer = await send(here.world, inboxId, { unsubscribe: true, ...body });
      expect([answer.status, answer.body.errors?.[0]?.pointer]).toEqual([status, pointer]);
    }
    expect(here.relay.mails).toEqual([]);
  });

  test("a reply to all that goes to several is refused", async () => {
    await using here = await begin();
    const { world } = here;
    const inbox = await world.inbox();
    const to = `${inbox.address}, joe@example.com`;
    await world.deliver(`From: jane@example.com\r\nTo: ${to}\r\nSubject: Hi\r\n\r\nHello\r\n`, inbox.address);
    const [message] = (await world.api(`/v1/inboxes/${inbox.id}/messages`)).body.data;
    const reply = { to: undefined, subject: undefined, replyToMessageId: message.id, unsubscribe: true };
    const refused = await send(world, inbox.id, { ...reply, replyAll: true });
    expect([refused.status, refused.body.errors?.[0]?.pointer]).toEqual([400, "#/unsubscribe"]);
    expect((await send(world, inbox.id, reply, { waits: true })).body.status).toBe("sent");
  });

  test("fetching the link changes nothing, and neither does a changed token", async () => {
    await using here = await begin();
    const { world, mailed } = here;
    const { token } = await mailed(await newInbox(world));
    const page = await visit(world, token);
    expect([page.status, page.headers.get("content-type")]).toEqual([200, "text/html; charset=utf-8"]);
    expect(await page.text()).toContain('<form method="post">');
    expect(Object.fromEntries(page.headers)).toMatchObject({
      "cache-control": "no-store",
      "referrer-policy": "no-referrer",
      "content-security-policy": expect.stringMatching(
        /^default-src 'none'; form-action 'self'; frame-ancestors 'none'; /,
      ),
    });
    expect(page.headers.has("set-cookie")).toBe(false);
    expect((await visit(world, token, { method: "HEAD" })).status).toBe(200);
    const options = await visit(world, token, { method: "OPTIONS" });
    expect([options.status, options.headers.get("allow")]).toEqual([204, "GET, HEAD, OPTIONS, POST"]);
    expect((await visit(world, token, { method: "PUT" })).status).toBe(405);

    const wrong = [changed(token), token.toUpperCase(), token.slice(1), `${token}0`, "x", "%00", "%ff"];
    const gone = `${"0".repeat(26)}${token.slice(26)}`;
    const pages = await Promise.all([...wrong, gone].map((each) => click(world, each)));
    expect(pages.map(({ status }) => status)).toEqual(pages.map(() => 404));
    expect(new Set(await Promise.all(pages.map((each) => each.text()))).size).toBe(1);
    expect((await visit(world, changed(token))).status).toBe(404);
    expect(await suppressed(world)).toEqual([]);
  });

  test("one click suppresses the recipient for this inbox, once, and is told", async () => {
    await using here = await begin();
    const { world, mailed } = here;
    const [inboxId, other] = [await newInbox(world), await newInbox(world)];
    const { token, id } = await mailed(inboxId, { to: "Jane+news@EXAMPLE.com" });
    // RFC 8058 §8.1, with our link.
    const raw = await connectRaw({ port: Number(world.service.apiUrl.port) });
    raw.send(
      `POST /u/${token} HTTP/1.1\r\nHost: mail.example\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 26\r\n\r\nList-Unsubscribe=One-Click`,
    );
    const answer = await raw.response();
    raw.end();
    expect([answer?.status, answer?.headers.has("location"), answer?.headers.has("set-cookie")]).toEqual([
      200,
      false,
      false,
    ]);
    expect(await suppressed(world)).toEqual([
      { address: "jane+news@example.com", reason: "unsubscribe", inboxId, expiresAt: null },
    ]);

    const again = await Promise.all(Array.from({ length: 10 }, () => click(world, token)));
    expect(again.map(({ status }) => status)).toEqual(again.map(() => 200));
    expect(await eventsOf(world, "suppression.added")).toMatchObject([
      {
        inbox_id: inboxId,
        message: { id },
        suppression: { address: "jane+news@example.com", inbox_id: inboxId, reason: "unsubscribe", expires_at: null },
      },
    ]);
    const { body: audit } = await world.api("/v1/audit?action=suppression.added");
    expect(audit.data).toMatchObject([{ actor: { type: "service" }, details: { reason: "unsubscribe" } }]);
    expect((await readMetrics(world)).get('inboxd_unsubscribes_total{way="link"}')).toBe(1);
    expect(JSON.stringify(world.log)).not.toContain(token);

    const refused = await send(world, inboxId, { to: "jane+news@example.com" });
    expect([refused.status, refused.body.reason]).toEqual([422, "unsubscribe"]);
    const sent = await send(world, other, { to: "jane+news@example.com" }, { waits: true });
    expect([sent.status, sent.body.status]).toEqual([200, "sent"]);
  });

  test("any small form is accepted, a large one is not", async () => {
    await using here = await begin();
    const { world, mailed } = here;
    const inboxId = await newInbox(world);
    const { token } = await mailed(inboxId);
    const large = await click(world, token, "a".repeat(1_025));
    expect(large.status).toBe(413);
    expect(await suppressed(world)).toEqual([]);
    // RFC 8058 §8.2: a form in parts.
    const boundary = "---FormBoundaryjWmhtjORrn";
    const body = `--${boundary}\r\nContent-Disposition: form-data; name="List-Unsubscribe"\r\n\r\nOne-Click\r\n--${boundary}--\r\n`;
    const headers = { "content-type": `multipart/form-data; boundary=${boundary}` };
    expect((await visit(world, token, { method: "POST", body, headers })).status).toBe(200);
    expect(await suppressed(world)).toHaveLength(1);
    const { token: second } = await mailed(await newInbox(world));
    expect((await visit(world, second, { method: "POST" })).status).toBe(200);
    expect(await suppressed(world)).toHaveLength(2);
  });

  test("the link of a message that is deleted is not known any more; an old one works", async () => {
    await using here = await begin();
    const { world, mailed } = here;
    const [inboxId, other] = [await newInbox(world), await newInbox(world)];
    const [kept, deleted] = [await mailed(inboxId), await mailed(other)];
    await world.api(`/v1/inboxes/${other}`, { method: "DELETE" });
    world.clock.pass(2 * 365 * 86_400_000);
    expect((await click(world, deleted.token)).status).toBe(404);
    expect(await world.deliver("Subject: unsubscribe\r\n\r\n", deleted.address)).toStartWith("550");
    expect((await click(world, kept.token)).status).toBe(200);
    expect(await suppressed(world)).toMatchObject([{ inboxId }]);
  });

  test("a client may ask 60 times a minute", async () => {
    await using here = await begin({ TRUSTED_PROXIES: "127.0.0.1" });
    const { world } = here;
    const from = (address: string) => visit(world, "x", { headers: { "x-forwarded-for": address } });
    for (let count = 1; count <= 60; count += 1) expect((await from("192.0.2.1")).status).toBe(404);
    const tooMany = await from("192.0.2.1");
    expect([tooMany.status, Number(tooMany.headers.get("retry-after")) <= 60]).toEqual([429, true]);
    expect((await from("192.0.2.2")).status).toBe(404);
    world.clock.pass(60_000);
    expect((await from("192.0.2.1")).status).toBe(404);
  });

  test("a mail to the address suppresses likewise, and is no message", async () => {
    await using here = await begin();
    const { world, mailed } = here;
    const inbox = await world.inbox();
    const { address } = await mailed(inbox.id);
    expect(
      await world.deliver("Subject: x\r\n\r\n", `${changed(address.split("@")[0] ?? "")}@inbox.localhost`),
    ).toStartWith("550");
    expect(await suppressed(world)).toEqual([]);
    expect(
      await world.deliver("From: jane@example.com\r\nSubject: please no more\r\n\r\nbye\r\n", address.toUpperCase()),
    ).toStartWith("250");
    expect(await world.deliver("", address)).toStartWith("250");
    expect(await suppressed(world)).toMatchObject([{ address: "jane@example.com", inboxId: inbox.id }]);
    expect((await readMetrics(world)).get('inboxd_unsubscribes_total{way="mail"}')).toBe(1);
    const { body } = await world.api(`/v1/inboxes/${inbox.id}/messages?direction=inbound`);
    expect(body.data).toEqual([]);
  });

  test("a mail to the address that comes by HTTP suppresses likewise", async () => {
    const token = "the-token-of-the-edge-worker-in-tests";
    await using here = await begin({ INGEST_TOKEN: token });
    const { world, mailed } = here;
    const inbox = await world.inbox();
    const { address } = await mailed(inbox.id);
    const headers = { "content-type": "message/rfc822", "envelope-to": address };
    const body = "From: jane@example.com\r\nSubject: please no more\r\n\r\nbye\r\n";
    const answer = await world.fetch("/v1/inbound", { method: "POST", apiKey: token, headers, body });
    expect([answer.status, await answer.json()]).toEqual([200, { recipients: [{ address, status: "stored" }] }]);
    expect(await suppressed(world)).toMatchObject([{ address: "jane@example.com", inboxId: inbox.id }]);
    const { data } = (await world.api(`/v1/inboxes/${inbox.id}/messages?direction=inbound`)).body;
    expect(data).toEqual([]);
  });

  test("an agent with an inbox here unsubscribes by a mail of ours", async () => {
    await using here = await begin();
    const { world, relay } = here;
    const [sender, agent] = [await world.inbox(), await world.inbox()];
    await send(world, sender.id, { to: agent.address, unsubscribe: true }, { waits: true });
    const [message] = (await world.api(`/v1/inboxes/${agent.id}/messages?direction=inbound`)).body.data;
    const raw = Buffer.from(await (await world.fetch(`/v1/messages/${message.id}/raw`)).arrayBuffer());
    const { address } = namesIn(raw);
    const left = await send(world, agent.id, { to: address, subject: "unsubscribe" }, { waits: true });
    expect([left.body.status, relay.mails.length]).toEqual(["sent", 0]);
    expect(await suppressed(world)).toMatchObject([{ address: agent.address, inboxId: sender.id }]);
  });

  test("a replay needs the same choice", async () => {
    await using here = await begin();
    const inboxId = await newInbox(here.world);
    const asked = (unsubscribe?: boolean) => send(here.world, inboxId, { unsubscribe }, { key: "once" });
    const { body: first } = await asked(true);
    expect((await asked(true)).body.messageId).toBe(first.messageId);
    expect((await asked()).body.code).toBe("idempotency_key_reused");
  });
});

describe.skipIf(!breaksPostgres)("Without its database", () => {
  test("the service refuses a wrong address, and puts off the mail and the click of a right one", async () => {
    const server: PostgresServer = await startPostgres();
    const relay = await scriptedSmtp();
    try {
      await server.ask("create database world");
      const outbound = { OUTBOUND: `smtp://127.0.0.1:${relay.port}?tls=off` };
      const database = { url: server.url("world"), drop: async () => undefined };
      await using world = await startWorld({ database, env: { ...usual, ...signed, ...outbound } });
      await send(world, await newInbox(world), { unsubscribe: true }, { waits: true });
      const { token, address } = namesIn(relay.mails[0]?.raw ?? Buffer.of());
      await server.stop();
      const wrong = `${changed(address.split("@")[0] ?? "")}@inbox.localhost`;
      expect(await world.deliver("Subject: x\r\n\r\n", wrong)).toStartWith("550");
      expect(await world.deliver("Subject: x\r\n\r\n", address)).toStartWith("451");
      expect((await world.fetch(`/u/${token}`, { method: "POST", apiKey: null })).status).toBe(503);
    } finally {
      await relay.close();
      await server.remove();
    }
  });
});

/** The names of our two fields in the signed header of a mail. */
function fieldsIn(keys = ""): string[] {
  return keys
    .toLowerCase()
    .split(": ")
    .flatMap((each) => each.split(":"))
    .map((each) => each.trim())
    .filter((each) => each.startsWith("list-"));
}
