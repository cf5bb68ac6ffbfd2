import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import { query, transaction } from "../../src/database/db.ts";
import { createAccount } from "../../src/flows/account/manage-accounts.ts";
import { signalToForget } from "../../src/store/channels.ts";
import { insertOwnDomain } from "../support/own-domain.ts";
import { greeted } from "../support/raw-smtp.ts";
import { untilAnswered } from "../support/until.ts";
import { startWorld, type World } from "../support/world.ts";

let world: World;
/** The account of the world, and another one, with the plans and keys that requests need. */
let ours: string;
let theirs: { id: string; key: string };

beforeAll(async () => {
  world = await startWorld({ env: { OPERATOR_INBOX: "operator" } });
  const { db } = world.service.deps;
  ours = (await world.api("/v1/account")).body.id;
  const { account, apiKey } = await createAccount(world.service.deps, { name: "theirs", plan: "developer" });
  theirs = { id: account.id, key: apiKey };
  const insert = (name: string, given: object = {}) => insertOwnDomain(db.api, { accountId: ours, name, ...given });
  await insert("one.example");
  await insert("wide.example", { subdomains: true });
  await insert("pending.example", { status: "pending" });
  await insert("failed.example", { status: "failed", failedReason: "proof_gone" });
  await insert("shared.example", { accountId: null });
  await insert("theirs.example", { accountId: theirs.id });
}, 30_000);
afterAll(() => world[Symbol.asyncDispose]());

function create(body: object, apiKey = world.apiKey, headers = {}) {
  return world.api("/v1/inboxes", { method: "POST", body, apiKey, headers });
}

describe("an inbox at a domain", () => {
  test.each([
    ["of the account", { username: "Ada", domain: "One.Example" }, "ada@one.example"],
    [
      "with a name that MAIL_DOMAIN reserves",
      { username: "postmaster", domain: "one.example" },
      "postmaster@one.example",
    ],
    ["with a name of one character", { username: "a", domain: "one.example" }, "a@one.example"],
    ["with a random name", { domain: "one.example" }, expect.stringMatching(/^[a-z2-9]{10}@one\.example$/)],
    ["below one that takes names below it", { username: "ada", domain: "a.b.wide.example" }, "ada@a.b.wide.example"],
    ["that is shared", { username: "ada", domain: "shared.example" }, "ada@shared.example"],
    ["of the service", { username: "grace", domain: "Inbox.localhost" }, "grace@inbox.localhost"],
  ])("%s", async (_what, body, address) => {
    const { status, body: inbox } = await create(body);
    expect([status, inbox.address]).toEqual([201, address]);
    const { body: found } = await world.api(`/v1/inboxes?address=${encodeURIComponent(inbox.address)}`);
    expect(found).toMatchObject({ total: 1, data: [{ id: inbox.id }] });
  });

  const foreign = [400, "validation_error", "#/domain"];
  test.each([
    ["that nobody has", { domain: "nobody.example" }, foreign],
    ["of another account", { domain: "theirs.example" }, foreign],
    ["below one that does not take names below it", { domain: "below.one.example" }, foreign],
    ["of return paths", { domain: "bounces.wide.example" }, foreign],
    ["that is no domain", { domain: "-" }, foreign],
    ["that is not verified yet", { domain: "pending.example" }, [422, "domain_not_verified", "pending"]],
    ["that has failed", { domain: "failed.example" }, [422, "domain_not_verified", "failed"]],
    ["with a taken name", { username: "ADA", domain: "one.example" }, [409, "address_taken", undefined]],
    ["with two dots", { username: "a..b", domain: "one.example" }, [400, "invalid_username", "#/username"]],
  ])("is refused: %s", async (_what, asked, expected) => {
    const { status, body } = await create({ username: "ada", ...asked });
    expect([status, body.code, body.errors?.[0]?.pointer ?? body.domain_status]).toEqual(expected);
  });

  test("is listed by its domain", async () => {
    const listed = async (domain: string) => {
      const { data, total } = (await world.api(`/v1/inboxes?domain=${domain}`)).body;
      return [total, ...data.map(({ address }: { address: string }) => address).toSorted()];
    };
    expect(await listed("a.b.wide.example")).toEqual([1, "ada@a.b.wide.example"]);
    expect(await listed("wide.example")).toEqual([0]);
    expect(await listed("inbox.localhost")).toEqual([1, "grace@inbox.localhost"]);
    expect((await listed("one.example")).slice(0, 4)).toEqual([
      4,
      "a@one.example",
      "ada@one.example",
      expect.any(String),
    ]);
  });

  test("is another one to its idempotency key than one at another domain", async () => {
    const key = { "idempotency-key": "own-domain-1" };
    const made = await create({ domain: "one.example" }, world.apiKey, key);
    expect((await create({ domain: "one.example" }, world.apiKey, key)).body).toEqual(made.body);
    expect((await create({}, world.apiKey, key)).body.code).toBe("idempotency_key_reused");
  });

  test("frees its address as soon as it is deleted", async () => {
    const { body: first } = await create({ username: "again", domain: "one.example" });
    await world.api(`/v1/inboxes/${first.id}`, { method: "DELETE" });
    const { status, body: second } = await create({ username: "again", domain: "one.example" });
    expect([status, second.address]).toEqual([201, first.address]);
  });
});

describe("a mail from an inbox at a domain", () => {
  test("has the domain in its sender and in its Message-ID", async () => {
    const { body: inbox } = await create({ username: "sender", domain: "one.example" });
    const { status, body } = await send(inbox.id, { to: "jane@elsewhere.example" });
    expect(status).toBe(200);
    const { body: message } = await world.api(`/v1/messages/${body.messageId}`);
    expect(message).toMatchObject({ fromAddr: "sender@one.example", rfcMessageId: `<${body.messageId}@one.example>` });
  });

  test("may have a tag in its sender, but no other address of the domain", async () => {
    const { body: inbox } = await create({ username: "tagged", domain: "one.example" });
    const from = (fromAddr: string) => send(inbox.id, { to: "jane@elsewhere.example", fromAddr });
    expect((await from("tagged+x@one.example")).status).toBe(200);
    for (const other of ["ada@one.example", "tagged@inbox.localhost"])
      expect((await from(other)).body.errors).toMatchObject([{ pointer: "#/fromAddr" }]);
  });

  test.each([
    ["failing", 200],
    ["failed", 422],
    ["pending", 422],
  ] as const)("is taken or refused by the state of the domain: %s", async (status, expected) => {
    const name = `${status}-sender.example`;
    const domain = await insertOwnDomain(world.service.deps.db.api, { accountId: ours, name });
    const { body: inbox } = await create({ username: "ada", domain: name });
    await markDomain(domain.id, { status });
    const sent = await send(inbox.id, { to: "jane@elsewhere.example" });
    expect(sent.status).toBe(expected);
    if (expected === 422)
      expect(sent.body).toMatchObject({ code: "domain_not_verified", domain: name, domain_status: status });
  });

  test("is refused if its name below a domain is proven by another account", async () => {
    const { body: inbox } = await create({ username: "ada", domain: "near.wide.example" });
    expect((await send(inbox.id, { to: "jane@elsewhere.example" })).status).toBe(200);
    await insertOwnDomain(world.service.deps.db.api, { accountId: theirs.id, name: "near.wide.example" });
    expect((await send(inbox.id, { to: "jane@elsewhere.example" })).body.domain_status).toBe("failed");
  });
});

describe("mail to a domain", () => {
  beforeAll(async () => {
    const { db } = world.service.deps;
    await world.inbox("operator");
    await insertOwnDomain(db.api, { accountId: ours, name: "mail.example", subdomains: true });
    await insertOwnDomain(db.api, { accountId: theirs.id, name: "near.mail.example" });
    const failing = await insertOwnDomain(db.api, { accountId: ours, name: "failing.example" });
    const failed = await insertOwnDomain(db.api, { accountId: ours, name: "was.example" });
    for (const domain of ["mail.example", "far.mail.example", "failing.example", "was.example"])
      await create({ username: "ada", domain });
    await create({ username: "abuse", domain: "failing.example" });
    await markDomain(failing.id, { status: "failing" });
    await markDomain(failed.id, { status: "failed" });
    forgetAll();
  });

  test.each([
    ["an inbox", "ada@mail.example", "250"],
    ["its address in other letters, with a tag", '"ADA+tag"@Mail.EXAMPLE', "250"],
    ["an inbox below a domain", "ada@far.mail.example", "250"],
    ["an inbox at a failing domain", "ada@failing.example", "250"],
    ["nobody", "nobody@mail.example", "550 5.1.1"],
    ["nobody below a domain", "ada@farther.mail.example", "550 5.1.1"],
    ["a name that no inbox can have", "a..b@mail.example", "550 5.1.1"],
    ["postmaster, who is the operator", "postmaster@mail.example", "250"],
    ["abuse, who has an inbox", "abuse@failing.example", "250"],
    ["an inbox at a domain that has failed", "ada@was.example", "550 5.7.1"],
    ["postmaster at a domain that has failed", "postmaster@was.example", "550 5.7.1"],
    ["a domain that is not verified yet", "ada@pending.example", "550 5.7.1"],
    ["a name that is proven by another account, and has nobody", "ada@near.mail.example", "550 5.1.1"],
    ["a name below one that takes none", "ada@x.near.mail.example", "550 5.7.1"],
    ["a host of return paths, which has no inboxes", "ada@bounces.mail.example", "550 5.1.1"],
    [
      "a return path with another signature",
      `bounce+${"0".repeat(26)}-${"0".repeat(12)}@bounces.mail.example`,
      "550 5.1.1",
    ],
    ["a foreign domain", "ada@nobody.example", "550 5.7.1"],
  ])("%s: %s", async (_what, address, reply) => {
    expect(await world.deliver(mailTo(address), address)).toStartWith(reply);
  });

  test("is in the inbox that has the address, and role mail is in the operator's", async () => {
    const subjects = async (address: string) => {
      const { body } = await world.api(`/v1/inboxes?address=${encodeURIComponent(address)}`);
      const { body: page } = await world.api(`/v1/inboxes/${body.data[0].id}/messages`);
      return page.data.map(({ subject, toAddr }: { subject: string; toAddr: string }) => [subject, toAddr]);
    };
    expect(await subjects("ada@far.mail.example")).toEqual([["To ada@far.mail.example", "ada@far.mail.example"]]);
    expect(await subjects("operator")).toEqual([["To postmaster@mail.example", "postmaster@mail.example"]]);
    expect(await subjects("abuse@failing.example")).toHaveLength(1);
  });

  test("is refused for the old inbox once the domain has moved, and goes to the new one", async () => {
    const { db } = world.service.deps;
    const old = await insertOwnDomain(db.api, { accountId: ours, name: "moving.example" });
    const { body: inbox } = await create({ username: "ada", domain: "moving.example" });
    forgetAll();
    const take = (subject: string) => world.deliver(mailTo(subject), "ada@moving.example");
    expect(await take("to the old holder")).toStartWith("250");
    await markDomain(old.id, { status: "failed" });
    await insertOwnDomain(db.api, { accountId: theirs.id, name: "moving.example" });
    // The other process that has moved it would tell.
    await transaction(db.api, (tx) => signalToForget(tx, { kind: "domain", name: "moving.example" }));
    await untilAnswered(async () =>
      (await askedFor("ada@moving.example")).startsWith("550 5.1.1") ? true : undefined,
    );
    const { body: taken, status } = await create({ username: "ada", domain: "moving.example" }, theirs.key);
    expect([status, taken.address]).toEqual([201, "ada@moving.example"]);
    expect(await take("to the new holder")).toStartWith("250");
    const kept = await world.api(`/v1/inboxes/${inbox.id}/messages`);
    expect(kept.body.data.map(({ subject }: { subject: string }) => subject)).toEqual(["To to the old holder"]);
    expect((await send(inbox.id, { to: "jane@elsewhere.example" })).body.domain_status).toBe("failed");
    expect((await create({ username: "ada", domain: "moving.example" }, theirs.key)).body.code).toBe("address_taken");
  });
});

/** The reply to a RCPT alone, without a mail. */
async function askedFor(address: string): Promise<string> {
  const client = await greeted(world.smtpPort);
  await client.ask("MAIL FROM:<jane@example.com>");
  const reply = await client.ask(`RCPT TO:<${address}>`);
  client.destroy();
  return reply;
}

function mailTo(what: string): string {
  return [`Subject: To ${what}`, "From: jane@example.com", `Message-ID: <${++mails}@example.com>`, "", "Hi"].join(
    "\r\n",
  );
}
let mails = 0;

/** Lets the service forget which hosts are own ones, as time does. */
function forgetAll() {
  world.clock.pass(31_000);
}

let sends = 0;
function send(inboxId: string, body: object) {
  sends += 1;
  return world.api(`/v1/inboxes/${inboxId}/send`, {
    method: "POST",
    headers: { "idempotency-key": `own-domains-${sends}` },
    body: { subject: "Hello", body: "Hi", ...body },
  });
}

/** Changes the state of a domain, as a check would. */
async function markDomain(id: string, { status }: { status: "pending" | "failing" | "failed" }) {
  await query(world.service.deps.db.api, sql`update domains set status = ${status} where id = ${id}`);
}
