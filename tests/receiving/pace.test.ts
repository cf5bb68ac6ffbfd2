import { afterAll, beforeAll, expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import { query } from "../../src/database/db.ts";
import { mailOf } from "../support/mail.ts";
import { newAccount, newInbox, send } from "../support/sends.ts";
import { untilAnswered } from "../support/until.ts";
import { startWorld, type World } from "../support/world.ts";

let world: World;
beforeAll(async () => {
  world = await startWorld({ env: { RECEIVES_PER_MINUTE: "2,enterprise=0" } });
});
afterAll(() => world[Symbol.asyncDispose]());

/** Gives an account these limits instead of those of its plan, as the operator does. */
async function setLimits(accountId: string, limits: object): Promise<void> {
  await query(
    world.service.deps.db.api,
    sql`update accounts set limits = ${JSON.stringify(limits)}::jsonb where id = ${accountId}`,
  );
}

let mails = 0;

function deliver(to: string): Promise<string> {
  mails += 1;
  return world.deliver(mailOf({ messageId: `<pace-${mails}@x.example>` }), `${to}@inbox.localhost`);
}

const busy = "450 4.2.1 The mailbox gets too many mails a minute, try again later";
const stored = "250 2.0.0 Ok: queued";

test("an inbox receives as many mails in any 60 seconds as its limit says, and other inboxes go on", async () => {
  const apiKey = await newAccount(world);
  await newInbox(world, apiKey, "busy");
  await newInbox(world, apiKey, "quiet");
  expect([await deliver("busy"), await deliver("quiet")]).toEqual([stored, stored]);
  world.clock.pass(30_000);
  expect([await deliver("busy"), await deliver("busy"), await deliver("quiet")]).toEqual([stored, busy, stored]);
  world.clock.pass(29_999);
  expect(await deliver("busy")).toBe(busy);
  // The first mail is 60 seconds old, the second one 30.
  world.clock.pass(1);
  expect([await deliver("busy"), await deliver("busy")]).toEqual([stored, busy]);
});

test("an address sends as many mails in a minute as SMTP_MAILS_PER_MINUTE_PER_ADDRESS says", async () => {
  await using limited = await startWorld({ env: { SMTP_MAILS_PER_MINUTE_PER_ADDRESS: "2" } });
  const { address } = await limited.inbox();
  const replies: string[] = [];
  for (const messageId of ["1@x.example", "2@x.example", "3@x.example"])
    replies.push((await limited.deliver(mailOf({ messageId }), address)).slice(0, 9));
  expect(replies).toEqual(["250 2.0.0", "250 2.0.0", "451 4.7.1"]);
});

test("our own mail to a busy inbox waits, and is not lost", async () => {
  const apiKey = await newAccount(world);
  const inboxId = await newInbox(world, apiKey, "waits");
  const writer = await newInbox(world, apiKey, "writes");
  for (const _ of [1, 2]) await deliver("waits");
  const { body } = await send(world, writer, { to: "waits@inbox.localhost" }, { apiKey, waits: true });
  expect(body).toMatchObject({ status: "pending" });
  world.clock.pass(3_600_000);
  const messages = () => world.api(`/v1/inboxes/${inboxId}/messages`, { apiKey });
  await untilAnswered(async () => ((await messages()).body.total === 3 ? true : undefined));
});

test("an account of another plan has the limit of that plan, and one of its own from the operator", async () => {
  const apiKey = await newAccount(world, "enterprise");
  await newInbox(world, apiKey, "free-of-limits");
  const limit = async () => (await world.api("/v1/account", { apiKey })).body.limits.receivesPerMinute;
  expect(await limit()).toBe(0);
  for (const _ of [1, 2, 3]) expect(await deliver("free-of-limits")).toBe(stored);
  const accountId = (await world.api("/v1/account", { apiKey })).body.id;
  await setLimits(accountId, { receivesPerMinute: 1 });
  expect(await limit()).toBe(1);
  // A process remembers an inbox for 30 seconds.
  world.clock.pass(30_000);
  expect(await deliver("free-of-limits")).toBe(busy);
});
