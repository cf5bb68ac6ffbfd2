import { afterAll, beforeAll, expect, test } from "bun:test";
import { addKey, byCommandLine } from "../../../../src/flows/account/manage-keys.ts";
import { findFirstAccount } from "../../../../src/store/account/accounts.ts";
import { startWorld, type World } from "../../../support/world.ts";

let world: World;
beforeAll(async () => {
  world = await startWorld({ env: { TRUSTED_PROXIES: "127.0.0.1" } });
});
afterAll(() => world[Symbol.asyncDispose]());

async function ask(method: string, path: string, body?: unknown, apiKey = world.apiKey) {
  const answer = await world.api(path, { method, ...(body !== undefined && { body }), apiKey });
  return { status: answer.status, body: answer.body, code: answer.body?.code };
}

async function newKey(body: object = {}, apiKey = world.apiKey) {
  const { status, body: made } = await ask("POST", "/v1/keys", body, apiKey);
  expect(status).toBe(201);
  return made as { id: string; key: string };
}

async function newInbox(externalId?: string): Promise<string> {
  return (await ask("POST", "/v1/inboxes", { externalId })).body.id;
}

const statusWith = async (apiKey: string, from?: string) =>
  (await world.fetch("/v1/account", { apiKey, ...(from && { headers: { "x-forwarded-for": from } }) })).status;

test("a key is shown once, with its access, its reach and its end, and is listed without its secret", async () => {
  const inboxId = await newInbox("globex");
  const own = (await ask("GET", "/v1/account")).body.key.id;
  const { key, ...made } = await newKey({ name: "agent", access: "agent", inboxId, expiresInSeconds: 60 });
  expect<object>(made).toEqual({
    id: expect.stringMatching(/^key_/),
    name: "agent",
    access: "agent",
    inboxId,
    externalId: null,
    allowedIps: [],
    prefix: key.slice(0, 8),
    lastFour: key.slice(-4),
    createdAt: expect.any(String),
    createdBy: own,
    lastUsedAt: null,
    expiresAt: "2026-03-21T10:06:00.000Z",
    revokedAt: null,
    sendPolicy: null,
  });
  expect((await ask("GET", `/v1/keys/${made.id}`)).body).toEqual(made);
  expect((await ask("GET", `/v1/keys?inbox_id=${inboxId}`)).body).toEqual({ data: [made], total: 1 });
  const caller = (await ask("GET", "/v1/account", undefined, key)).body.key;
  expect(caller).toEqual({
    id: made.id,
    name: "agent",
    access: "agent",
    inboxId,
    externalId: null,
    expiresAt: "2026-03-21T10:06:00.000Z",
  });
  expect((await ask("GET", "/v1/audit?action=key.created&limit=1")).body.data[0]).toMatchObject({
    target: { type: "key", id: made.id },
    details: { access: "agent", inboxId },
  });
});

test("faults of a key are told by their fields", async () => {
  const inboxId = await newInbox();
  const cases: [object, string][] = [
    [{ inboxId }, "#/access"],
    [{ inboxId, access: "read", externalId: "globex" }, "#/externalId"],
    [{ expiresAt: "2026-03-21T10:00:00Z" }, "#/expiresAt"],
    [{ expiresAt: "tomorrow" }, "#/expiresAt"],
    [{ expiresAt: "2027-03-21T10:00:00Z", expiresInSeconds: 5 }, "#/expiresInSeconds"],
    [{ allowedIps: ["10.0.0.0/33"] }, "#/allowedIps/0"],
    [{ allowedIps: ["::/0", "x"] }, "#/allowedIps/1"],
    [{ access: "root" }, "#/access"],
  ];
  for (const [body, pointer] of cases) {
    const { status, body: answer } = await ask("POST", "/v1/keys", body);
    expect([body, status, answer.errors?.map((fault: { pointer: string }) => fault.pointer)]).toEqual([
      body,
      400,
      [pointer],
    ]);
  }
  expect((await ask("POST", "/v1/keys", { inboxId: "inb_01km57j4m0eh7awf6pjemv292z", access: "read" })).status).toBe(
    404,
  );
});

test("a rotated key ends after the overlap, an ended or revoked key is refused, and so is one from elsewhere", async () => {
  const old = await newKey({ access: "read", allowedIps: ["192.0.2.0/24", "2001:db8::/32"] });
  for (const [from, status] of [
    ["192.0.2.7", 200],
    ["2001:db8::7", 200],
    ["198.51.100.7", 401],
    ["192.0.2.7, 198.51.100.7", 401],
    [undefined, 401],
  ] as const)
    expect([from, await statusWith(old.key, from)]).toEqual([from, status]);
  expect((await ask("PATCH", `/v1/keys/${old.id}`, { allowedIps: [] })).body.allowedIps).toEqual([]);
  const next = (await ask("POST", `/v1/keys/${old.id}/rotate`, { overlapSeconds: 60 })).body;
  expect(next).toMatchObject({ access: "read", allowedIps: [], expiresAt: null });
  expect([await statusWith(old.key), await statusWith(next.key)]).toEqual([200, 200]);
  world.clock.pass(60_000);
  expect([await statusWith(old.key), await statusWith(next.key)]).toEqual([401, 200]);
  expect((await ask("POST", `/v1/keys/${old.id}/rotate`)).code).toBe("not_found");
  expect((await ask("DELETE", `/v1/keys/${next.id}`)).status).toBe(204);
  expect((await ask("DELETE", `/v1/keys/${next.id}`)).status).toBe(204);
  let status = 200;
  while (status === 200) status = await statusWith(next.key);
  expect(status).toBe(401);
});

test("the keys of an inbox have paths of their own, as other services have them", async () => {
  const [inbox, other] = [await newInbox(), await newInbox()];
  const made = (await ask("POST", `/v1/inboxes/${inbox}/api-keys`, { name: "robot" })).body;
  expect(made).toMatchObject({ name: "robot", access: "agent", inboxId: inbox });
  expect([made.token, made.tokenPrefix, made.last4]).toEqual([made.key, made.key.slice(0, 8), made.key.slice(-4)]);
  const list = async () => (await ask("GET", `/v1/inboxes/${inbox}/api-keys`)).body;
  expect(await list()).toMatchObject({ total: 1, data: [{ id: made.id }] });
  expect((await ask("DELETE", `/v1/inboxes/${other}/api-keys/${made.id}`)).code).toBe("not_found");
  expect((await ask("DELETE", `/v1/inboxes/${inbox}/api-keys/${made.id}`)).status).toBe(204);
  expect(await list()).toEqual({ total: 0, data: [] });
});

test("the last key that manages the account cannot be revoked or made to end, but be rotated", async () => {
  const { deps } = world.service;
  const account = await findFirstAccount(deps.db.api);
  if (account === undefined) throw new Error("There is no account");
  const own = (await ask("GET", "/v1/account")).body.key.id;
  await newKey({ access: "full", expiresInSeconds: 3_600 });
  await newKey({ access: "full", externalId: "globex" });
  const tries = [
    ["DELETE", undefined],
    ["PATCH", { expiresAt: "2027-01-01T00:00:00Z" }],
  ] as const;
  for (const [method, body] of tries)
    expect(await ask(method, `/v1/keys/${own}`, body)).toMatchObject({ status: 409, code: "last_key" });
  const { info: second } = await addKey(deps, byCommandLine(account), "second");
  expect((await ask("PATCH", `/v1/keys/${own}`, { expiresAt: "2027-01-01T00:00:00Z" })).status).toBe(200);
  expect((await ask("DELETE", `/v1/keys/${second.id}`)).code).toBe("last_key");
  expect((await ask("PATCH", `/v1/keys/${own}`, { expiresAt: null })).status).toBe(200);
  expect((await ask("DELETE", `/v1/keys/${second.id}`)).status).toBe(204);
});

test("the key of a tenant manages the keys of the tenant and of its inboxes alone", async () => {
  const [inbox, other] = [await newInbox("initech"), await newInbox("globex")];
  const tenant = await newKey({ externalId: "initech" });
  const foreign = await newKey({ externalId: "globex" });
  const made = await newKey({ name: "made" }, tenant.key);
  const ofInbox = await newKey({ access: "read", inboxId: inbox }, tenant.key);
  expect((await ask("GET", `/v1/keys/${made.id}`)).body).toMatchObject({ externalId: "initech", createdBy: tenant.id });
  const listed = (await ask("GET", "/v1/keys", undefined, tenant.key)).body;
  expect([listed.total, listed.data.map(({ id }: { id: string }) => id)]).toEqual([
    3,
    [ofInbox.id, made.id, tenant.id],
  ]);
  for (const [method, path, body, status] of [
    ["POST", "/v1/keys", { externalId: "globex" }, 403],
    ["POST", "/v1/keys", { access: "read", inboxId: other }, 404],
    ["GET", `/v1/keys/${foreign.id}`, undefined, 404],
    ["PATCH", `/v1/keys/${foreign.id}`, { name: "mine" }, 404],
    ["DELETE", `/v1/keys/${foreign.id}`, undefined, 404],
    ["POST", `/v1/keys/${foreign.id}/rotate`, {}, 404],
    ["DELETE", `/v1/keys/${made.id}`, undefined, 204],
  ] as const)
    expect([method, path, (await ask(method, path, body, tenant.key)).status]).toEqual([method, path, status]);
  expect((await ask("DELETE", `/v1/inboxes/${inbox}`)).status).toBe(204);
  expect((await ask("GET", `/v1/keys/${ofInbox.id}`)).body.revokedAt).not.toBeNull();
  let status = 200;
  while (status === 200) status = await statusWith(ofInbox.key);
  expect(status).toBe(401);
});
