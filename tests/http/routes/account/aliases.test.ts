import { describe, expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import { query } from "../../../../src/database/db.ts";
import { closeInboxes } from "../../../../src/store/upkeep/deleted-accounts.ts";
import { enginesHere } from "../../../support/engines.ts";
import { mailOf } from "../../../support/mail.ts";
import { insertOwnDomain } from "../../../support/own-domain.ts";
import { newAccount, tally } from "../../../support/sends.ts";
import { oneWorldOn } from "../../../support/world-on.ts";

const env = { INBOXES_PER_DAY: "30", SENDS_PER_MINUTE: "0", SENDS_PER_DAY: "0", LOOP_ECHOES: "0" };
const month = 30 * 86_400_000;

describe.each(enginesHere())("An alias (%s)", (engine) => {
  const world = oneWorldOn(engine, { env });
  let names = 0;
  const newName = () => {
    names += 1;
    return `alias-${names}`;
  };

  async function begin(fields: object = {}, apiKey?: string) {
    const key = apiKey ?? (await newAccount(world()));
    const ask = (method: string, path: string, body?: object, headers = {}) =>
      world().api(path, { method, apiKey: key, headers, ...(body && { body }) });
    const made = await ask("POST", "/v1/inboxes", fields);
    expect(made.status).toBe(201);
    const path = `/v1/inboxes/${made.body.id}`;
    const put = (name: string) => ask("PUT", `${path}/aliases/${encodeURIComponent(name)}`);
    const remove = (name: string) => ask("DELETE", `${path}/aliases/${encodeURIComponent(name)}`);
    const found = async (address: string) => {
      const { data } = (await ask("GET", `/v1/inboxes?address=${encodeURIComponent(address)}`)).body;
      return data.map(({ id }: { id: string }) => id);
    };
    const send = (body: object) =>
      ask(
        "POST",
        `${path}/send`,
        { to: "jane@example.com", subject: "Hello", body: "Hello", ...body },
        { "idempotency-key": crypto.randomUUID(), prefer: "respond-async" },
      );
    const sent = async (body: object) => (await ask("GET", `/v1/messages/${(await send(body)).body.messageId}`)).body;
    const newest = async () => (await ask("GET", `${path}/messages?limit=1`)).body.data[0];
    return { apiKey: key, inbox: made.body, path, ask, put, remove, found, send, sent, newest };
  }

  test("is another address of its inbox, whose mail tells by which it came", async () => {
    const { inbox, path, ask, put, found, newest } = await begin();
    const name = newName();
    const address = `${name}@inbox.localhost`;
    world().clock.pass(1000);
    const { status, body } = await put(name.toUpperCase());
    expect([status, body]).toEqual([200, { ...inbox, aliases: [address], updatedAt: body.updatedAt }]);
    expect(body.updatedAt > inbox.updatedAt).toBe(true);
    expect((await put(address)).body).toEqual(body);
    expect((await ask("GET", path)).body).toEqual(body);
    expect(await world().deliver(mailOf({ subject: "To the alias" }), `${name}+tag@inbox.localhost`)).toStartWith(
      "250",
    );
    expect(await newest()).toMatchObject({
      subject: "To the alias",
      toAddr: `${name}+tag@inbox.localhost`,
      tag: "tag",
    });
    for (const given of [address, `${name}+x@Inbox.localhost`, name, inbox.address.replace("@", "+y@")])
      expect([given, await found(given)]).toEqual([given, [inbox.id]]);
    expect(await found(`${name}x@inbox.localhost`)).toEqual([]);
  });

  test("that is removed is refused, and kept from others for 30 days", async () => {
    const { inbox, apiKey, put, remove, found } = await begin();
    const other = await begin({}, apiKey);
    const name = newName();
    await put(name);
    expect((await remove(name)).status).toBe(204);
    expect(await world().deliver(mailOf({}), `${name}@inbox.localhost`)).toStartWith("550 5.1.1");
    expect(await found(`${name}@inbox.localhost`)).toEqual([]);
    expect(await remove(name)).toMatchObject({ status: 404, body: { resource: "alias" } });
    expect((await other.put(name)).body.code).toBe("address_taken");
    // The inbox itself may take it back.
    expect((await put(name)).body.aliases).toEqual([`${name}@inbox.localhost`]);
    expect(await world().deliver(mailOf({}), `${name}@inbox.localhost`)).toStartWith("250");
    await remove(name);
    world().clock.pass(month - 1000);
    expect((await other.put(name)).body.code).toBe("address_taken");
    world().clock.pass(1000);
    expect((await other.put(name)).body.aliases).toEqual([`${name}@inbox.localhost`]);
    expect(await found(name)).toEqual([other.inbox.id]);
    expect((await put(name)).body.code).toBe("address_taken");
    expect(inbox.aliases).toEqual([]);
  });

  test.each([
    ["its own address", (own: string) => own.split("@")[0], 409, "address_taken"],
    ["a reserved name", () => "postmaster", 409, "address_reserved"],
    ["a name that is none", () => "a b", 400, "invalid_username"],
    ["a name at another domain", () => "ada@elsewhere.example", 400, "invalid_username"],
  ])("is not %s", async (_, nameOf, status, code) => {
    const { inbox, put } = await begin();
    expect(await put(nameOf(inbox.address) ?? "")).toMatchObject({ status, body: { code } });
  });

  test("is not the address or an alias of another inbox, also not of another account", async () => {
    const [one, two] = [await begin(), await begin()];
    const name = newName();
    await one.put(name);
    expect((await two.put(name)).body.code).toBe("address_taken");
    expect((await two.put(one.inbox.address)).body.code).toBe("address_taken");
    expect((await two.ask("POST", "/v1/inboxes", { username: name })).body.code).toBe("address_taken");
    expect(await two.ask("PUT", `${one.path}/aliases/${newName()}`)).toMatchObject({ status: 404 });
    expect(await two.ask("DELETE", `${one.path}/aliases/${name}`)).toMatchObject({ status: 404 });
  });

  test("of two inboxes that ask for it at once goes to one", async () => {
    const [one, two] = [await begin(), await begin()];
    for (let round = 0; round < 10; round += 1) {
      const name = newName();
      const answers = await Promise.all([one.put(name), two.put(name)]);
      expect(tally(answers)).toEqual({ "200": 1, "409 address_taken": 1 });
      expect([await one.found(name), await two.found(name)].flat()).toHaveLength(1);
    }
  });

  test("is one of at most 20, also of many that are asked for at once", async () => {
    const { put, path, ask } = await begin();
    const answers = await Promise.all(Array.from({ length: 25 }, () => put(newName())));
    expect(tally(answers)).toEqual({ "200": 20, "422 alias_limit": 5 });
    expect((await ask("GET", path)).body.aliases).toHaveLength(20);
  });

  test("counts for the inboxes of a day", async () => {
    const aliases = Array.from({ length: 19 }, newName);
    const { inbox, ask, put, remove } = await begin({ aliases });
    expect(inbox.aliases).toEqual(aliases.map((name) => `${name}@inbox.localhost`));
    // Those are 20 of 30.
    const refused = await ask("POST", "/v1/inboxes", { aliases: Array.from({ length: 10 }, newName) });
    expect([refused.status, refused.body.code, refused.body.used]).toEqual([429, "inbox_creation_limit", 20]);
    expect((await ask("GET", "/v1/inboxes")).body.total).toBe(1);
    const tenth = await ask("POST", "/v1/inboxes", { aliases: Array.from({ length: 9 }, newName) });
    expect(tenth.status).toBe(201);
    expect((await put(newName())).body.code).toBe("inbox_creation_limit");
    // One that the inbox has counts for nothing.
    expect((await put(aliases[0] ?? "")).status).toBe(200);
    await remove(aliases[0] ?? "");
    world().clock.pass(86_400_000);
    expect((await put(newName())).status).toBe(200);
  });

  test("of a new inbox is part of what its key of idempotency stands for", async () => {
    const name = newName();
    const { ask } = await begin();
    const make = (aliases: string[]) => ask("POST", "/v1/inboxes", { aliases }, { "idempotency-key": "once" });
    const { body } = await make([name]);
    expect((await make([`${name}@inbox.localhost`])).body).toEqual(body);
    expect((await make([newName()])).body.code).toBe("idempotency_key_reused");
    expect((await make([])).body.code).toBe("idempotency_key_reused");
  });

  test("is reserved with the address of its inbox when the inbox, or the account, is deleted", async () => {
    const [one, two, other] = [await begin(), await begin(), await begin()];
    const [first, second, removed] = [newName(), newName(), newName()];
    await one.put(first);
    await two.put(removed);
    await two.remove(removed);
    await two.put(second);
    await one.ask("DELETE", one.path);
    expect(await world().deliver(mailOf({}), `${first}@inbox.localhost`)).toStartWith("550 5.1.1");
    const { db, now } = world().service.deps;
    const { id: accountId } = (await two.ask("GET", "/v1/account")).body;
    const heldUntil = new Date(now().getTime() + month);
    world().clock.pass(86_400_000);
    expect(await closeInboxes(db.work, { accountId, now: now(), heldUntil, limit: 10 })).toBe(1);
    for (const name of [first, second, removed]) expect((await other.put(name)).body.code).toBe("address_taken");
    world().clock.pass(month - 86_400_000);
    for (const name of [first, second, removed]) expect((await other.put(name)).status).toBe(200);
  });

  test("may be the sender, with or without a tag, and no other address may", async () => {
    const { inbox, put, remove, send, sent } = await begin({ displayName: "Sales" });
    const name = newName();
    await put(name);
    for (const fromAddr of [`${name}@inbox.localhost`, `${name}+x@inbox.localhost`, inbox.address])
      expect(await sent({ fromAddr })).toMatchObject({ fromAddr, fromName: "Sales" });
    expect((await sent({})).fromAddr).toBe(inbox.address);
    expect((await send({ fromAddr: `${newName()}@inbox.localhost` })).body.code).toBe("validation_error");
    await remove(name);
    expect((await send({ fromAddr: `${name}@inbox.localhost` })).body.code).toBe("validation_error");
  });

  test("answers the mail that came to it, and the mail that went out from it", async () => {
    const { inbox, put, sent, newest } = await begin();
    const name = newName();
    const alias = `${name}@inbox.localhost`;
    await put(name);
    await world().deliver(mailOf({ messageId: `<${name}-1@x.example>` }), `${name}+tag@inbox.localhost`);
    const asked = await newest();
    const answer = await sent({ to: undefined, subject: undefined, replyToMessageId: asked.id });
    expect(answer).toMatchObject({ fromAddr: alias, threadId: asked.threadId });
    const further = await sent({ subject: undefined, threadId: asked.threadId });
    expect(further.fromAddr).toBe(alias);
    expect((await sent({ subject: undefined, threadId: asked.threadId, fromAddr: inbox.address })).fromAddr).toBe(
      inbox.address,
    );
    expect((await sent({ forwardOf: asked.id, subject: undefined, body: undefined })).fromAddr).toBe(inbox.address);
    await world().deliver(mailOf({ messageId: `<${name}-2@x.example>` }), inbox.address);
    const other = await newest();
    expect((await sent({ to: undefined, subject: undefined, replyToMessageId: other.id })).fromAddr).toBe(
      inbox.address,
    );
  });

  test("is no recipient of a reply to all", async () => {
    const { inbox, put, sent, newest } = await begin();
    const name = newName();
    await put(name);
    const to = `${inbox.address}, ${name}+x@inbox.localhost, ann@example.com`;
    const raw = mailOf({
      messageId: `<${name}@x.example>`,
      to,
      headers: [`Cc: ${name}@inbox.localhost, dan@example.com`],
    });
    await world().deliver(raw, inbox.address);
    const answer = await sent({
      to: undefined,
      subject: undefined,
      replyToMessageId: (await newest()).id,
      replyAll: true,
    });
    expect(answer).toMatchObject({ to: ["jane@example.com", "ann@example.com"], cc: ["dan@example.com"] });
  });

  test("is an address of the account for `replyTo` and for the policy `known`", async () => {
    const { put, apiKey } = await begin();
    const other = await begin({ sendPolicy: "known" }, apiKey);
    const name = newName();
    const to = `${name}@inbox.localhost`;
    expect((await other.send({ to })).body.code).toBe("recipient_not_allowed");
    await put(name);
    expect((await other.send({ to })).status).toBe(200);
    const free = await begin({}, await newAccount(world(), "free"));
    expect((await free.send({ replyTo: to })).body.code).toBe("feature_requires_paid_plan");
    const own = newName();
    await free.put(own);
    expect((await free.send({ replyTo: `${own}@inbox.localhost` })).status).toBe(200);
  });

  test("of an inbox at an own domain is at that domain, free for its holder at once, and needs the proof", async () => {
    const { apiKey, ask } = await begin();
    const { db } = world().service.deps;
    const { id: accountId } = (await ask("GET", "/v1/account")).body;
    const domain = `${newName()}.example`;
    const { id: domainId } = await insertOwnDomain(db.api, { accountId, name: domain });
    // A process reads the domains again after 5 seconds.
    world().clock.pass(5_000);
    const [one, two] = [
      await begin({ username: "ada", domain, aliases: ["a_1"] }, apiKey),
      await begin({ username: "bob", domain }, apiKey),
    ];
    expect(one.inbox.aliases).toEqual([`a_1@${domain}`]);
    expect((await one.put("postmaster")).body.aliases).toEqual([`a_1@${domain}`, `postmaster@${domain}`]);
    expect(await world().deliver(mailOf({}), `a_1+x@${domain}`)).toStartWith("250");
    expect((await one.newest()).toAddr).toBe(`a_1+x@${domain}`);
    expect((await one.sent({ fromAddr: `a_1@${domain}` })).fromAddr).toBe(`a_1@${domain}`);
    expect((await two.put("a_1")).body.code).toBe("address_taken");
    await one.remove(`a_1@${domain}`);
    expect((await two.put("a_1")).body.aliases).toEqual([`a_1@${domain}`]);
    expect(await two.found(`a_1@${domain}`)).toEqual([two.inbox.id]);
    await query(db.api, sql`update domains set status = 'failed' where id = ${domainId}`);
    expect((await two.put("a_2")).body.code).toBe("domain_not_verified");
  });
});
