import { beforeAll, describe, expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import { type Db, query } from "../../../../src/database/db.ts";
import { service } from "../../../../src/domain/access/actor.ts";
import { createOperator, revokeOperator } from "../../../../src/flows/account/operators.ts";
import { prune } from "../../../../src/workers/prune.ts";
import { mailOf } from "../../../support/mail.ts";
import { newAccount } from "../../../support/sends.ts";
import { untilAnswered } from "../../../support/until.ts";
import { oneWorldOn } from "../../../support/world-on.ts";

/** The tables that have one of these ids in a row. */
async function tablesNaming(db: Db, ids: readonly string[]): Promise<string[]> {
  const tables = await query<{ name: string }>(
    db,
    // The counter of usage notes how far it has come, by the last id.
    sql`select tablename as name from pg_tables where schemaname = 'public' and tablename <> 'usage_counting' order by tablename`,
  );
  const found: string[] = [];
  for (const { name } of tables) {
    const isThere = sql.join(
      ids.map((id) => sql`strpos(t::text, ${id}) > 0`),
      sql` or `,
    );
    const rows = await query(db, sql`select from ${sql.identifier(name)} t where ${isThere} limit 1`);
    if (rows.length > 0) found.push(name);
  }
  return found;
}

describe("an operator", () => {
  const world = oneWorldOn("embedded");
  let key: string;
  let names = 0;
  beforeAll(async () => {
    key = (await newOperator("ops")).key;
  });

  const newOperator = (name: string, expiresAt?: Date) =>
    createOperator(world().service.deps, service, { name, expiresAt });

  const ask = (method: string, path: string, body?: unknown, apiKey = key, headers: Record<string, string> = {}) =>
    world().api(path, { method, body, apiKey, headers });

  async function createAccount(fields: object = {}) {
    names += 1;
    const { status, body } = await ask("POST", "/v1/admin/accounts", { name: `tenant ${names}`, ...fields });
    expect(status).toBe(201);
    return body;
  }

  const auditOf = async (accountId: string) =>
    (await ask("GET", "/v1/admin/audit")).body.data.filter(
      (entry: { accountId: string }) => entry.accountId === accountId,
    );

  test("has a key that opens /v1/admin, until it is revoked or expires", async () => {
    const { clock } = world();
    const soon = await newOperator("soon", new Date(clock.now().getTime() + 1000));
    const revoked = await newOperator("revoked");
    expect(soon.key).toMatch(/^ibo_[0-9A-Za-z]{43}$/);
    const statusOf = async (apiKey: string) => (await ask("GET", "/v1/admin/system", undefined, apiKey)).status;
    expect([await statusOf(soon.key), await statusOf(revoked.key)]).toEqual([200, 200]);
    await revokeOperator(world().service.deps, service, "revoked");
    clock.pass(1000);
    expect([await statusOf(soon.key), await statusOf(revoked.key), await statusOf(key)]).toEqual([401, 401, 200]);
  });

  test.each([
    ["a key of an account finds nothing at /v1/admin", () => world().apiKey, "/v1/admin/accounts", 404],
    ["nor at an unknown path of it", () => world().apiKey, "/v1/admin/unknown", 404],
    ["an unknown key is refused there", () => "ibo_unknown", "/v1/admin/accounts", 401],
    ["its key opens no other path by itself", () => key, "/v1/inboxes", 401],
    ["nor a path that is not there", () => key, "/v1/unknown", 401],
    ["an unknown path of /v1/admin is not found", () => key, "/v1/admin/unknown", 404],
    ["an unknown account is not found", () => key, "/v1/admin/accounts/acc_unknown", 404],
  ])("%s", async (_, apiKey, path, status) => {
    expect((await ask("GET", path, undefined, apiKey())).status).toBe(status);
  });

  test("creates, lists, finds and changes accounts", async () => {
    const created = await createAccount({ plan: "enterprise", limits: { sendsPerDay: 7, inboxesPerDay: null } });
    const { key: accountKey, ...account } = created;
    expect(account).toMatchObject({
      plan: "enterprise",
      limits: { sendsPerDay: 7 },
      overrides: { sendsPerDay: 7 },
      suspended: null,
      inboxCount: 0,
      deletedAt: null,
    });
    expect((await ask("GET", "/v1/account", undefined, accountKey)).body).toMatchObject({ id: account.id });
    expect((await ask("GET", `/v1/admin/accounts/${account.id}`)).body).toEqual(account);
    const path = `/v1/admin/accounts/${account.id}`;
    const changed = await ask("PATCH", path, { name: "renamed", limits: { sendsPerDay: null, inboxesPerDay: 3 } });
    expect(changed.body).toMatchObject({ name: "renamed", overrides: { inboxesPerDay: 3 } });
    const listed = async (query: string) => (await ask("GET", `/v1/admin/accounts?${query}`)).body;
    expect(await listed("q=RENAM")).toEqual({ data: [changed.body], total: 1 });
    expect((await listed(`q=${account.id}&suspended=true`)).total).toBe(0);
    await ask("PATCH", path, { suspended: "all", reason: "unpaid" });
    expect((await listed(`q=${account.id}&suspended=true`)).data).toMatchObject([
      { suspended: "all", reason: "unpaid" },
    ]);
    expect((await ask("PATCH", path, { suspended: null })).body).toMatchObject({ suspended: null, reason: null });
    const shownToOwner = async () => (await ask("GET", "/v1/account", undefined, accountKey)).body.searchWords;
    expect((await ask("PATCH", path, { searchWords: "head" })).body.searchWords).toBe("head");
    expect((await ask("PATCH", path, { name: "renamed" })).body.searchWords).toBe("head");
    expect(await shownToOwner()).toBe("head");
    expect((await ask("PATCH", path, { searchWords: null })).body.searchWords).toBe(null);
    expect(await shownToOwner()).toBe("all");
    const actions = (await auditOf(account.id)).map(
      ({ action, actor }: { action: string; actor: { type: string } }) => [action, actor.type],
    );
    expect(actions).toEqual([
      ["account.changed", "operator"],
      ["account.changed", "operator"],
      ["account.changed", "operator"],
      ["account.resumed", "operator"],
      ["account.suspended", "operator"],
      ["account.changed", "operator"],
      ["account.created", "operator"],
    ]);
  });

  test.each([
    ["a name that another has", { name: "default" }, 400],
    ["an unknown limit", { limits: { unknown: 1 } }, 400],
    ["a limit below 0", { limits: { sendsPerDay: -1 } }, 400],
    ["an unknown suspension", { suspended: "some" }, 400],
    ["unknown words to search", { searchWords: "body" }, 400],
  ])("gives no account %s", async (_, change, status) => {
    const { id } = await createAccount();
    expect((await ask("PATCH", `/v1/admin/accounts/${id}`, change)).status).toBe(status);
  });

  test("deletes an account: it is refused at once, its name is free, and its rows go in steps", async () => {
    const { id, name, key: apiKey } = await createAccount();
    const inbox = (await ask("POST", "/v1/inboxes", { username: "leaving" }, apiKey)).body;
    await ask("POST", "/v1/suppressions", { address: "eve@example.net" }, apiKey);
    await world().deliver(mailOf({ subject: "Kept for a day" }), inbox.address);
    const path = `/v1/admin/accounts/${id}`;
    expect((await ask("DELETE", `${path}?confirm=other`)).body.errors).toMatchObject([{ parameter: "confirm" }]);
    const deleted = await ask("DELETE", `${path}?confirm=${encodeURIComponent(name)}`);
    expect([deleted.status, deleted.body.deletedAt]).toEqual([202, world().clock.now().toISOString()]);
    await untilAnswered(async () =>
      (await ask("GET", "/v1/account", undefined, apiKey)).status === 401 ? true : undefined,
    );
    // The door for mail reads the closed accounts again within a second.
    const late = () => world().deliver(mailOf({ subject: "Too late" }), inbox.address);
    await untilAnswered(async () => ((await late()).startsWith("550 5.1.1") ? true : undefined));
    expect((await ask("GET", "/v1/inboxes", undefined, key, { "x-inboxd-account": id })).status).toBe(404);
    expect((await ask("PATCH", path, { name: "back" })).status).toBe(404);
    expect((await ask("POST", "/v1/admin/accounts", { name })).status).toBe(201);

    const { deps } = world().service;
    for (const hours of [1, 25]) {
      world().clock.pass(hours * 3_600_000);
      while ((await prune({ ...deps, eventRetentionDays: 30 })) > 0);
    }
    expect((await ask("GET", path)).status).toBe(404);
    expect(await tablesNaming(deps.db.api, [id, inbox.id])).toEqual(["addresses", "audit_entries"]);
    expect((await auditOf(id))[0]).toMatchObject({ action: "inbox.erased" });
  });

  test("makes a key of any account, within the limits of the account", async () => {
    const { id } = await createAccount({ limits: { keys: 2 } });
    const path = `/v1/admin/accounts/${id}/keys`;
    const made = await ask("POST", path, { name: "found again", access: "read" });
    expect([made.status, made.body.createdBy, made.headers.get("location")]).toEqual([
      201,
      "operator",
      `/v1/keys/${made.body.id}`,
    ]);
    expect((await ask("GET", "/v1/account", undefined, made.body.key)).body).toMatchObject({
      id,
      key: { access: "read" },
    });
    expect((await auditOf(id))[0]).toMatchObject({
      action: "key.created",
      actor: { type: "operator", name: "ops" },
      target: { id: made.body.id },
    });
    expect((await ask("POST", path)).body).toMatchObject({ code: "quota_exceeded", resource: "keys" });
    expect((await ask("POST", path, { inboxId: "inb_x" })).status).toBe(400);
    expect((await ask("POST", "/v1/admin/accounts/acc_x/keys", { wrong: 1 })).status).toBe(404);
    expect((await ask("POST", path, {}, world().apiKey)).status).toBe(404);
  });

  test("exports any account, which its audit tells", async () => {
    const { id, key: apiKey } = await createAccount();
    await ask("POST", "/v1/inboxes", { username: "exported" }, apiKey);
    await world().deliver(mailOf({ subject: "In the export" }), "exported@inbox.localhost");
    const path = `/v1/admin/accounts/${id}/export`;
    const get = (method: string, path: string) => world().fetch(path, { method, apiKey: key });
    expect((await get("HEAD", path)).status).toBe(200);
    const answer = await get("GET", path);
    expect(answer.headers.get("content-type")).toBe("application/x-ndjson");
    const text = await answer.text();
    expect(Number(answer.headers.get("content-length"))).toBe(Buffer.byteLength(text));
    const lines = text.trimEnd().split("\n");
    expect(JSON.parse(lines[0] ?? "")).toMatchObject({ inboxd: "export", account: id });
    const sha256 = new Bun.CryptoHasher("sha256").update(text.slice(0, text.lastIndexOf('{"end"'))).digest("hex");
    expect(JSON.parse(lines.at(-1) ?? "")).toMatchObject({ end: true, sha256 });
    expect(text).toContain("In the export");
    const entries = (await auditOf(id)).filter(({ action }: { action: string }) => action === "export.read");
    expect(entries).toMatchObject([{ actor: { type: "operator" }, target: { type: "account", id } }]);
    expect((await get("GET", "/v1/admin/accounts/acc_x/export")).status).toBe(404);
    expect((await ask("GET", path, undefined, world().apiKey)).status).toBe(404);
  });

  test("acts in an account as its unbound key, which the audit notes once an hour for each route", async () => {
    const apiKey = await newAccount(world());
    const { body: account } = await ask("GET", "/v1/account", undefined, apiKey);
    const as = { "x-inboxd-account": account.id };
    const made = await ask("POST", "/v1/inboxes", {}, key, as);
    expect(made.status).toBe(201);
    for (const _ of [1, 2]) expect((await ask("GET", "/v1/inboxes", undefined, key, as)).body.total).toBe(1);
    expect((await ask("GET", "/v1/account", undefined, key, as)).body).toMatchObject({
      id: account.id,
      key: { access: "full", inboxId: null },
    });
    expect((await ask("POST", "/v1/tokens", {}, key, as)).status).toBe(403);
    const { body } = await ask("GET", "/v1/audit?actor=operator", undefined, apiKey);
    const seen = body.data.map(({ action, target }: { action: string; target: { id: string } }) => [action, target.id]);
    expect(seen).toEqual([
      ["operator.acted", "POST /v1/tokens"],
      ["operator.acted", "GET /v1/account"],
      ["operator.acted", "GET /v1/inboxes"],
      ["inbox.created", made.body.id],
      ["operator.acted", "POST /v1/inboxes"],
    ]);
    expect(body.data[0].actor.name).toBe("ops");
    world().clock.pass(3_600_000);
    await ask("GET", "/v1/inboxes", undefined, key, as);
    expect((await ask("GET", "/v1/audit?actor=operator", undefined, apiKey)).body.data).toHaveLength(6);
  });

  test("names an account that is there, and other keys name none", async () => {
    const other = await createAccount();
    expect((await ask("GET", "/v1/inboxes", undefined, key, { "x-inboxd-account": "acc_unknown" })).status).toBe(404);
    const ignored = await ask("GET", "/v1/account", undefined, world().apiKey, { "x-inboxd-account": other.id });
    expect(ignored.body.name).toBe("default");
  });

  test("sees the mail of all accounts, by account and by day", async () => {
    const made = [await createAccount(), await createAccount()];
    for (const [index, { key: apiKey }] of made.entries()) {
      const { address } = (await ask("POST", "/v1/inboxes", {}, apiKey)).body;
      for (let count = 0; count <= index; count += 1) await world().deliver(mailOf({ subject: `${count}` }), address);
    }
    const received = (data: { accountId: string; received: number }[]) =>
      made.map(({ id }) => data.find(({ accountId }) => accountId === id)?.received);
    const byAccount = await untilAnswered(async () => {
      const { body } = await ask("GET", "/v1/admin/usage");
      return Bun.deepEquals(received(body.data), [1, 2]) ? body : undefined;
    });
    const byDay = (await ask("GET", "/v1/admin/usage?group_by=day")).body;
    expect(byDay.totals).toEqual(byAccount.totals);
    const sum = (data: { received: number }[]) => data.reduce((all, each) => all + each.received, 0);
    expect([sum(byAccount.data), sum(byDay.data)]).toEqual([byDay.totals.received, byDay.totals.received]);
  });

  test("adds and removes a domain that all accounts may use", async () => {
    const added = await ask("POST", "/v1/admin/domains", { domain: "shared.test", shared: true });
    expect([added.status, added.body]).toMatchObject([201, { domain: "shared.test", shared: true, status: "pending" }]);
    expect(added.body.records.length).toBeGreaterThan(2);
    const path = `/v1/admin/domains/${added.body.id}`;
    expect((await ask("GET", path)).body.id).toBe(added.body.id);
    expect((await ask("GET", "/v1/admin/domains")).body).toMatchObject({ data: [{ id: added.body.id }], total: 1 });
    const seen = await ask("GET", "/v1/domains", undefined, world().apiKey);
    expect(seen.body.data).toMatchObject([{ shared: true, records: [] }]);
    const claimed = await ask("POST", "/v1/domains", { domain: "shared.test" }, world().apiKey);
    expect(claimed.body.code).toBe("domain_reserved");
    expect((await ask("DELETE", path)).status).toBe(204);
    expect((await ask("GET", path)).status).toBe(404);
    const { data } = (await ask("GET", `/v1/admin/audit?target=${added.body.id}`)).body;
    expect(data.map(({ action, accountId }: { action: string; accountId: null }) => [action, accountId])).toEqual([
      ["domain.removed", null],
      ["domain.added", null],
    ]);
  });

  test("sees the state of the service", async () => {
    const { body } = await ask("GET", "/v1/admin/system");
    expect(body).toMatchObject({ engine: "embedded", schemaStep: "0000_schema", domainsFailing: 0 });
    expect(body.outbox).toBeArray();
  });
});
