import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mostInboxRules, mostRules } from "../../../../src/domain/rules.ts";
import { insertRows } from "../../../../src/store/rows.ts";
import { rules as rulesTable } from "../../../../src/store/schema.ts";
import { newAccount, newInbox } from "../../../support/sends.ts";
import { startWorld, type World } from "../../../support/world.ts";

let world: World;
beforeAll(async () => {
  world = await startWorld();
});
afterAll(() => world[Symbol.asyncDispose]());

const blocked = { direction: "inbound", action: "block", pattern: "spam.example" };
const unknownId = `rul_${"0".repeat(26)}`;

function add(body: object, apiKey = world.apiKey) {
  return world.api("/v1/rules", { method: "POST", body: { ...blocked, ...body }, apiKey });
}

async function listed(query = "", apiKey = world.apiKey) {
  const { body } = await world.api(`/v1/rules${query}`, { apiKey });
  return { total: body.total, patterns: body.data.map(({ pattern }: { pattern: string }) => pattern) };
}

async function keyOf(body: object, apiKey = world.apiKey): Promise<string> {
  return (await world.api("/v1/keys", { method: "POST", body, apiKey })).body.key;
}

/** Inserts this many rules without the API. */
async function fill(apiKey: string, count: number, inboxId = ""): Promise<void> {
  const { db, newId, now } = world.service.deps;
  const { id: accountId } = (await world.api("/v1/account", { apiKey })).body;
  const shared = { accountId, inboxId, externalId: "", direction: "inbound", action: "allow", note: null } as const;
  const rows = Array.from({ length: count }, () => {
    const id = newId("rul", now());
    return { ...shared, id, pattern: `${id}.example`, createdAt: now() };
  });
  await insertRows(db.api, rulesTable, rows);
}

describe("a rule", () => {
  test("is added once, listed with filters, and deleted", async () => {
    const apiKey = await newAccount(world);
    const inboxId = await newInbox(world, apiKey);
    const made = await add({ pattern: "Bücher.Example", note: "sells books" }, apiKey);
    expect([made.status, made.body]).toEqual([
      201,
      {
        id: expect.stringMatching(/^rul_/),
        ...blocked,
        pattern: "xn--bcher-kva.example",
        inboxId: null,
        externalId: null,
        evenUnauthenticated: false,
        note: "sells books",
        createdAt: expect.any(String),
      },
    ]);
    const again = await add({ pattern: "bücher.EXAMPLE", note: "another note" }, apiKey);
    expect([again.status, again.body]).toEqual([200, made.body]);
    expect((await add({ pattern: "a.example", inboxId }, apiKey)).status).toBe(201);
    expect((await add({ pattern: "b.example", externalId: "user-7" }, apiKey)).status).toBe(201);
    expect((await add({ pattern: "*.c.example", action: "allow", evenUnauthenticated: true }, apiKey)).status).toBe(
      201,
    );
    expect((await add({ pattern: "d@d.example", direction: "outbound" }, apiKey)).status).toBe(201);

    const all = ["d@d.example", "*.c.example", "b.example", "a.example", "xn--bcher-kva.example"];
    expect(await listed("", apiKey)).toEqual({ total: 5, patterns: all });
    expect(await listed("?limit=2&offset=1", apiKey)).toEqual({ total: 5, patterns: all.slice(1, 3) });
    expect(await listed(`?inbox_id=${inboxId}`, apiKey)).toEqual({ total: 1, patterns: ["a.example"] });
    expect(await listed("?external_id=user-7", apiKey)).toEqual({ total: 1, patterns: ["b.example"] });
    expect(await listed("?direction=outbound", apiKey)).toEqual({ total: 1, patterns: ["d@d.example"] });
    expect(await listed("?action=allow&direction=inbound", apiKey)).toEqual({ total: 1, patterns: ["*.c.example"] });

    const remove = () => world.api(`/v1/rules/${made.body.id}`, { method: "DELETE", apiKey });
    expect((await remove()).status).toBe(204);
    expect([(await remove()).status, (await remove()).body.resource]).toEqual([404, "rule"]);
    expect((await listed("", apiKey)).total).toBe(4);
    expect(await listed()).toEqual({ total: 0, patterns: [] });
    const changes = world.log.filter(({ msg }) => msg === "rule changed");
    expect(changes).toHaveLength(6);
    expect(JSON.stringify(changes)).not.toContain("example");
  });

  test.each<[what: string, body: object, pointer: string]>([
    ["a pattern that is none", { pattern: "jane" }, "#/pattern"],
    ["a pattern for all addresses of a domain in other words", { pattern: "*@example.com" }, "#/pattern"],
    ["a pattern that is too long", { pattern: `${"a".repeat(330)}.example` }, "#/pattern"],
    ["no direction", { direction: undefined }, "#/direction"],
    ["an unknown action", { action: "hold" }, "#/action"],
    ["an inbox and a tenant", { inboxId: "inb_1", externalId: "user-7" }, "#/externalId"],
    ["an empty tenant", { externalId: "" }, "#/externalId"],
    ["a block that also holds for unproven senders", { evenUnauthenticated: true }, "#/evenUnauthenticated"],
    [
      "an outbound rule for unproven senders",
      { direction: "outbound", action: "allow", evenUnauthenticated: true },
      "#/evenUnauthenticated",
    ],
    ["a long note", { note: "n".repeat(501) }, "#/note"],
  ])("with %s is refused", async (_, body, pointer) => {
    const { status, body: problem } = await add(body);
    expect([status, problem.errors.map((fault: { pointer: string }) => fault.pointer)]).toEqual([400, [pointer]]);
  });

  test("of an inbox that is not there, or of another account, is not found", async () => {
    const inboxId = await newInbox(world, await newAccount(world));
    for (const id of [inboxId, `inb_${"0".repeat(26)}`, "inbox"]) {
      const { status, body } = await add({ inboxId: id });
      expect([status, body.resource]).toEqual([404, "inbox"]);
    }
    expect((await world.api(`/v1/rules?inbox_id=${inboxId}`)).status).toBe(404);
    expect((await world.api(`/v1/rules/${unknownId}`, { method: "DELETE" })).status).toBe(404);
  });

  test("is one of at most 10,000 in an account and 1,000 in an inbox, also if several are added at once", async () => {
    const apiKey = await newAccount(world);
    const inboxId = await newInbox(world, apiKey);
    await fill(apiKey, mostInboxRules - 2, inboxId);
    const outcomes = async (count: number, body: object) => {
      const all = await Promise.all(
        Array.from({ length: count }, (_, n) => add({ pattern: `n${n}.example`, ...body }, apiKey)),
      );
      return all.map(({ status }) => status).toSorted();
    };
    expect(await outcomes(6, { inboxId })).toEqual([201, 201, 422, 422, 422, 422]);
    const over = await add({ pattern: "last.example", inboxId }, apiKey);
    expect(over.body).toMatchObject({ code: "rule_limit_reached", limit: mostInboxRules });
    await fill(apiKey, mostRules - mostInboxRules - 1);
    expect(await outcomes(4, {})).toEqual([201, 422, 422, 422]);
    const full = await add({ pattern: "last.example" }, apiKey);
    expect(full.body).toMatchObject({ code: "rule_limit_reached", limit: mostRules });
    // The same one is still found.
    const [there] = (await world.api("/v1/rules?limit=1", { apiKey })).body.data;
    expect((await add({ pattern: there.pattern }, apiKey)).body.id).toBe(there.id);
  });
});

describe("a key of a tenant", () => {
  test("sees and changes the rules of its tenant and of its inboxes alone", async () => {
    const apiKey = await newAccount(world);
    const own = (await world.api("/v1/inboxes", { method: "POST", body: { externalId: "one" }, apiKey })).body.id;
    const other = await newInbox(world, apiKey);
    const tenant = await keyOf({ externalId: "one" }, apiKey);
    const ofAccount = await add({ pattern: "account.example" }, apiKey);
    const ofOther = await add({ pattern: "other.example", inboxId: other }, apiKey);
    await add({ pattern: "two.example", externalId: "two" }, apiKey);

    // Without a tenant the rule is for its own one.
    const made = await add({ pattern: "forced.example" }, tenant);
    expect([made.status, made.body.externalId]).toEqual([201, "one"]);
    expect((await add({ pattern: "own.example", inboxId: own }, tenant)).body).toMatchObject({
      inboxId: own,
      externalId: null,
    });
    expect((await add({ pattern: "x.example", externalId: "two" }, tenant)).body).toMatchObject({
      code: "forbidden",
      required_access: "full",
    });
    expect((await add({ pattern: "x.example", inboxId: other }, tenant)).status).toBe(404);
    expect(await listed("", tenant)).toEqual({ total: 2, patterns: ["own.example", "forced.example"] });
    expect((await listed("?external_id=two", tenant)).total).toBe(0);
    for (const { body } of [ofAccount, ofOther])
      expect((await world.api(`/v1/rules/${body.id}`, { method: "DELETE", apiKey: tenant })).status).toBe(404);
    expect((await world.api(`/v1/rules/${made.body.id}`, { method: "DELETE", apiKey: tenant })).status).toBe(204);
    expect((await listed("", apiKey)).total).toBe(4);
  });

  test("changes the policy of its tenant, but not what it may send", async () => {
    const apiKey = await newAccount(world);
    const tenant = await keyOf({ externalId: "one" }, apiKey);
    const policy = (method: string, body?: object, key = tenant, query = "") =>
      world.api(`/v1/policy${query}`, { method, body, apiKey: key });
    const put = await policy("PUT", { sendPolicy: "known" }, apiKey, "?external_id=one");
    expect(put.body).toMatchObject({ inherited: null, sendPolicy: "known" });

    expect((await policy("PUT", { sendPolicy: "open" })).body).toMatchObject({ code: "forbidden" });
    const own = await policy("PUT", { inbound: { unlisted: "block" } });
    expect(own.body).toMatchObject({ inherited: null, inbound: { unlisted: "block" }, sendPolicy: "known" });
    // The same word is no change.
    expect((await policy("PUT", { sendPolicy: "known" })).status).toBe(200);
    expect((await policy("GET", undefined, tenant, "?external_id=two")).status).toBe(403);
    expect((await policy("DELETE", undefined, tenant, "?external_id=one")).status).toBe(204);
    expect((await policy("GET")).body).toMatchObject({ inherited: "account", sendPolicy: "known" });
    expect((await policy("DELETE", undefined, apiKey, "?external_id=one")).status).toBe(204);
    expect((await policy("GET")).body).toMatchObject({ inherited: "account", sendPolicy: "open" });
    expect(
      (await world.api("/v1/account", { method: "PATCH", body: { sendPolicy: "open" }, apiKey: tenant })).status,
    ).toBe(403);
  });
});

describe("a policy", () => {
  const defaults = {
    unlisted: "accept",
    unauthenticated: "accept",
    dmarc: "ignore",
    spam: "ignore",
    blocked: "quarantine",
  };

  test("is replaced as a whole, and the nearest counts", async () => {
    const apiKey = await newAccount(world);
    const inbox = (await world.api("/v1/inboxes", { method: "POST", body: { externalId: "one" }, apiKey })).body.id;
    const ask = async (method: string, path: string, body?: object) =>
      (await world.api(path, { method, body, apiKey })).body;
    const ofInbox = `/v1/inboxes/${inbox}/policy`;
    expect(await ask("GET", "/v1/policy")).toEqual({ inherited: null, inbound: defaults });
    expect(await ask("GET", ofInbox)).toEqual({ inherited: "account", inbound: defaults });

    const inbound = { ...defaults, unlisted: "replies", dmarc: "honour" };
    expect(await ask("PUT", "/v1/policy", { inbound: { unlisted: "replies", dmarc: "honour" } })).toEqual({
      inherited: null,
      inbound,
    });
    expect(await ask("GET", "/v1/policy?external_id=one")).toEqual({
      inherited: "account",
      inbound,
      sendPolicy: "open",
    });
    expect(await ask("PUT", "/v1/policy", { inbound: { blocked: "refuse" } })).toEqual({
      inherited: null,
      inbound: { ...defaults, blocked: "refuse" },
    });
    await ask("PUT", "/v1/policy?external_id=one", { inbound: { spam: "block" } });
    expect(await ask("GET", ofInbox)).toEqual({ inherited: "tenant", inbound: { ...defaults, spam: "block" } });
    expect(await ask("PUT", ofInbox, {})).toEqual({ inherited: null, inbound: defaults });
    expect(await ask("GET", ofInbox)).toEqual({ inherited: null, inbound: defaults });
    await ask("DELETE", ofInbox);
    expect((await ask("GET", ofInbox)).inherited).toBe("tenant");
    await ask("DELETE", "/v1/policy?external_id=one");
    expect(await ask("GET", ofInbox)).toEqual({ inherited: "account", inbound: { ...defaults, blocked: "refuse" } });
    // Removing it again changes nothing.
    expect((await world.api(ofInbox, { method: "DELETE", apiKey })).status).toBe(204);
  });

  test.each<[what: string, method: string, path: string, body: object | undefined, name: string]>([
    ["an unknown sendPolicy", "PUT", "/v1/policy?external_id=one", { sendPolicy: "approve" }, "#/sendPolicy"],
    ["sendPolicy of the account", "PUT", "/v1/policy", { sendPolicy: "known" }, "#/sendPolicy"],
    ["sendPolicy of an inbox", "PUT", "/v1/inboxes/ID/policy", { sendPolicy: "known" }, "#/sendPolicy"],
    ["an unknown word", "PUT", "/v1/policy", { inbound: { dmarc: "block" } }, "#/inbound/dmarc"],
    ["an unknown field", "PUT", "/v1/policy", { inbound: { virus: "block" } }, "#/inbound/virus"],
    ["no tenant to remove it of", "DELETE", "/v1/policy", undefined, "external_id"],
  ])("with %s is refused", async (_, method, path, body, name) => {
    const asked = path.replace("ID", (await world.inbox()).id);
    const { status, body: problem } = await world.api(asked, { method, body });
    expect([status, problem.errors[0].pointer ?? problem.errors[0].parameter]).toEqual([400, name]);
  });
});

describe("sendPolicy", () => {
  test("of account, inbox and key is shown and changed", async () => {
    const apiKey = await newAccount(world);
    const inbox = (await world.api("/v1/inboxes", { method: "POST", body: {}, apiKey })).body;
    const change = async (path: string, sendPolicy: unknown) =>
      (await world.api(path, { method: "PATCH", body: { sendPolicy }, apiKey })).body;
    expect([inbox.sendPolicy, (await world.api("/v1/account", { apiKey })).body.sendPolicy]).toEqual(["open", "open"]);
    expect((await change("/v1/account", "known")).sendPolicy).toBe("known");
    expect((await change(`/v1/inboxes/${inbox.id}`, "closed")).sendPolicy).toBe("closed");
    expect((await world.api(`/v1/inboxes/${inbox.id}`, { apiKey })).body.sendPolicy).toBe("closed");
    expect((await change("/v1/account", "approve_all")).sendPolicy).toBe("approve_all");
    expect((await change("/v1/account", "approve")).code).toBe("validation_error");
    const key = (await world.api("/v1/keys", { method: "POST", body: { sendPolicy: "known" }, apiKey })).body;
    expect(key.sendPolicy).toBe("known");
    expect((await change(`/v1/keys/${key.id}`, null)).sendPolicy).toBeNull();
    expect((await world.api("/v1/keys", { method: "POST", body: {}, apiKey })).body.sendPolicy).toBeNull();
  });

  test("of a key binds the keys that it makes, changes and rotates", async () => {
    const apiKey = await newAccount(world);
    const whole = (await world.api("/v1/keys", { method: "POST", body: {}, apiKey })).body;
    const bound = (await world.api("/v1/keys", { method: "POST", body: { sendPolicy: "known" }, apiKey })).body;
    const make = (body: object) => world.api("/v1/keys", { method: "POST", body, apiKey: bound.key });
    expect((await make({})).body.sendPolicy).toBe("known");
    expect((await make({ sendPolicy: "closed" })).body.sendPolicy).toBe("closed");
    expect((await make({ sendPolicy: "open" })).body.code).toBe("forbidden");
    for (const sendPolicy of ["open", null]) {
      const init = { method: "PATCH", body: { sendPolicy }, apiKey: bound.key };
      expect((await world.api(`/v1/keys/${bound.id}`, init)).body.code).toBe("forbidden");
    }
    const rotated = (id: string) => world.api(`/v1/keys/${id}/rotate`, { method: "POST", apiKey: bound.key });
    expect((await rotated(whole.id)).body.code).toBe("forbidden");
    expect((await rotated(bound.id)).body.sendPolicy).toBe("known");
  });
});
