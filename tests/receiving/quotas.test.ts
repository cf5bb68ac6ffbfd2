import { afterAll, beforeAll, expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import { query } from "../../src/database/db.ts";
import { createAccount } from "../../src/flows/account/manage-accounts.ts";
import { mailOf } from "../support/mail.ts";
import { newAccount, newInbox, send } from "../support/sends.ts";
import { untilAnswered } from "../support/until.ts";
import { startWorld, type World } from "../support/world.ts";

let world: World;
beforeAll(async () => {
  world = await startWorld({ env: { INBOXES_PER_ACCOUNT: "3", INBOX_BYTES: "2000" } });
}, 60_000);
afterAll(() => world[Symbol.asyncDispose]());

let mails = 0;

/** A new mail of 500 bytes. */
function mail(): string {
  mails += 1;
  const raw = mailOf({ messageId: `<quota-${mails}@x.example>`, text: "" });
  return `${raw}${"x".repeat(498 - raw.length)}\r\n`;
}

/** Gives an account these limits instead of those of its plan, as the operator does. */
async function setLimits(accountId: string, limits: object): Promise<void> {
  await query(
    world.service.deps.db.api,
    sql`update accounts set limits = ${JSON.stringify(limits)}::jsonb where id = ${accountId}`,
  );
}

async function idOf(apiKey: string): Promise<string> {
  return (await world.api("/v1/account", { apiKey })).body.id;
}

const messages = async (inboxId: string, apiKey = world.apiKey) =>
  (await world.api(`/v1/inboxes/${inboxId}/messages`, { apiKey })).body.total;

test("an account has as many inboxes at a time as its quota says", async () => {
  const apiKey = await newAccount(world);
  const [first] = [await newInbox(world, apiKey), await newInbox(world, apiKey), await newInbox(world, apiKey)];
  const { status, body, headers } = await world.api("/v1/inboxes", { method: "POST", body: {}, apiKey });
  expect([status, body.code, body.resource, body.limit, body.used]).toEqual([422, "quota_exceeded", "inboxes", 3, 3]);
  expect(headers.get("retry-after")).toBeNull();
  await world.api(`/v1/inboxes/${first}`, { method: "DELETE", apiKey });
  await newInbox(world, apiKey);
});

test("mail for a full inbox waits at its sender until there is room, and none is lost", async () => {
  const apiKey = await newAccount(world);
  const inboxId = await newInbox(world, apiKey, "filled");
  const other = await newInbox(world, apiKey, "writer");
  const replies = await Promise.all(Array.from({ length: 20 }, () => world.deliver(mail(), "filled@inbox.localhost")));
  const stored = replies.filter((reply) => reply.startsWith("250")).length;
  expect(stored).toBeGreaterThanOrEqual(4);
  expect(new Set(replies.map((reply) => reply.slice(0, 9)))).toEqual(
    new Set(stored < 20 ? ["250 2.0.0", "452 4.2.2"] : ["250 2.0.0"]),
  );
  expect(await messages(inboxId, apiKey)).toBe(stored);
  // A process remembers for 2 seconds how much room an inbox had.
  world.clock.pass(2_000);
  expect(await world.deliver(mail(), "filled@inbox.localhost")).toStartWith("452 4.2.2");

  const refused = await send(world, inboxId, {}, { apiKey });
  expect(refused.body).toMatchObject({
    code: "quota_exceeded",
    resource: "storage_bytes",
    limit: 2000,
    used: stored * 500,
  });
  const { body: own } = await send(world, other, { to: "filled@inbox.localhost" }, { apiKey, waits: true });
  expect(own).toMatchObject({ status: "pending" });

  await setLimits(await idOf(apiKey), { inboxBytes: 100_000 });
  expect(await world.deliver(mail(), "filled@inbox.localhost")).toStartWith("250");
  world.clock.pass(3_600_000);
  await untilAnswered(async () => ((await messages(inboxId, apiKey)) === stored + 2 ? true : undefined));
});

test("an inbox takes no mail while its account is full, however much room the inbox has", async () => {
  const { deps } = world.service;
  const { account, apiKey } = await createAccount(deps, { name: "full", plan: "free" });
  await setLimits(account.id, { storageBytes: 900, inboxBytes: 0 });
  await newInbox(world, apiKey, "roomy");
  const other = await newInbox(world, apiKey, "other-room");
  for (const number of [1, 2]) {
    expect([number, await world.deliver(mail(), "roomy@inbox.localhost")]).toEqual([number, "250 2.0.0 Ok: queued"]);
  }
  // The bytes of accounts are added up in the background.
  const reply = await untilAnswered(async () => {
    const said = await world.deliver(mail(), "other-room@inbox.localhost");
    return said.startsWith("250") ? undefined : said;
  });
  expect(reply).toStartWith("452 4.2.2");
  const { body } = await send(world, other, {}, { apiKey });
  expect(body).toMatchObject({ code: "quota_exceeded", resource: "storage_bytes", limit: 900 });
});
