import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import { dkimVerify } from "mailauth/lib/dkim/verify";
import { query, transaction } from "../../src/database/db.ts";
import { createAccount } from "../../src/flows/account/manage-accounts.ts";
import { ownHosts } from "../../src/flows/own-hosts.ts";
import { listProvenDomains } from "../../src/store/account/domains.ts";
import { signalToForget } from "../../src/store/channels.ts";
import { insertOwnDomain } from "../support/own-domain.ts";
import { greeted } from "../support/raw-smtp.ts";
import { type ScriptedSmtp, scriptedSmtp } from "../support/scripted-smtp.ts";
import { untilAnswered } from "../support/until.ts";
import { watchedDb } from "../support/watched-db.ts";
import { startWorld, type World } from "../support/world.ts";

let relay: ScriptedSmtp;
let world: World;
/** The account of the world, and another one, with the plans and keys that requests need. */
let ours: string;
let theirs: { id: string; key: string };

beforeAll(async () => {
  relay = await scriptedSmtp({
    answer: (command) => (command.startsWith("RCPT TO:<later@") ? "451 4.2.0 Later" : undefined),
  });
  const outbound = `smtp://127.0.0.1:${relay.port}?tls=off`;
  world = await startWorld({ env: { OPERATOR_INBOX: "operator", OUTBOUND: outbound, SENDS_PER_MINUTE: "0" } });
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
afterAll(async () => {
  await relay.close();
  await world[Symbol.asyncDispose]();
});

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
    const atOne = await listed("one.example");
    expect(atOne).toHaveLength(5);
    expect(atOne).toEqual(expect.arrayContaining([4, "a@one.example", "ada@one.example", "postmaster@one.example"]));
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

  test("of a domain that came back goes to its inboxes as before, but for addresses that others have taken", async () => {
    const { db } = world.service.deps;
    const old = await insertOwnDomain(db.api, { accountId: ours, name: "back.example" });
    const made = async (username: string, key?: string) =>
      (await create({ username, domain: "back.example" }, key)).body.id;
    const sendFrom = async (id: string) => {
      const { status, body } = await send(id, { to: "jane@elsewhere.example" });
      return status === 200 ? "accepted" : body.code;
    };
    const [ada, bob] = [await made("ada"), await made("bob")];
    await markDomain(old.id, { status: "failed" });
    const next = await insertOwnDomain(db.api, { accountId: theirs.id, name: "back.example" });
    expect(await made("ada", theirs.key)).toStartWith("inb_");
    await markDomain(next.id, { status: "failed" });
    await markDomain(old.id, { status: "verified" });
    forgetAll();

    expect([await sendFrom(ada), await sendFrom(bob)]).toEqual(["address_taken", "accepted"]);
    expect([await askedFor("ada@back.example"), await askedFor("bob@back.example")]).toEqual([
      expect.stringMatching(/^550 5\.1\.1/),
      expect.stringMatching(/^250/),
    ]);
    expect((await world.api(`/v1/inboxes/${ada}/messages`)).body.total).toBe(0);

    // The account may have the address again, in a new inbox.
    const again = await made("ada");
    forgetAll();
    expect([await sendFrom(ada), await sendFrom(again)]).toEqual(["address_taken", "accepted"]);
    expect(await askedFor("ada@back.example")).toStartWith("250");
  });
});

test("more domains than fit in memory are found one by one, and forgotten when one changes", async () => {
  const { deps } = world.service;
  await insertOwnDomain(deps.db.api, { accountId: ours, name: "many.example", subdomains: true });
  const hosts = ownHosts(deps, false, 1);
  const found = async (host: string) => (await hosts.find(host))?.hasReturnPaths;
  const wanted = { "many.example": false, "a.many.example": false, "bounces.many.example": true };
  // The second time they come from memory.
  for (const _ of [1, 2]) for (const [host, is] of Object.entries(wanted)) expect(await found(host)).toBe(is);
  expect(hosts.recall("many.example")?.isLocal).toBe(true);
  for (const _ of [1, 2]) expect(await found("new.example")).toBeUndefined();
  await insertOwnDomain(deps.db.api, { accountId: ours, name: "new.example" });
  expect(await found("new.example")).toBeUndefined();
  hosts.forget();
  expect(await found("new.example")).toBe(false);
});

test("as many domains as fit in memory cost one statement, however many foreign hosts are looked for", async () => {
  const { deps } = world.service;
  const proven = await listProvenDomains(deps.db.mail, 1_000);
  let statements = 0;
  const mail = watchedDb(deps.db.mail, () => {
    statements += 1;
  });
  const hosts = ownHosts({ ...deps, db: { ...deps.db, mail } }, false, proven.size);
  for (const host of ["a.foreign.example", "b.foreign.example", "c.foreign.example"])
    expect(await hosts.find(host)).toBeUndefined();
  expect(statements).toBe(1);
});

describe("a mail that goes out from a domain", () => {
  let domain: Awaited<ReturnType<typeof insertOwnDomain>>;
  let inbox: { id: string; address: string };

  beforeAll(async () => {
    const { db } = world.service.deps;
    domain = await insertOwnDomain(db.api, { accountId: ours, name: "out.example", subdomains: true });
    inbox = (await create({ username: "ada", domain: "out.example" })).body;
    await insertOwnDomain(db.api, { accountId: ours, name: "bare.example", recordsSeen: [] });
    await insertOwnDomain(db.api, { accountId: theirs.id, name: "open.example" });
    await create({ username: "grace", domain: "open.example" }, theirs.key);
    await create({ username: "grace", domain: "bare.example" });
    forgetAll();
  });

  /** Sends a mail, and returns it as the relay got it, with what a checker finds in its signatures. */
  async function relayed(from: string, to = "jane@elsewhere.example") {
    const before = relay.mails.length;
    const { body } = await send(from, { to });
    const [mail] = relay.mails.slice(before);
    if (mail === undefined) throw new Error(`Not relayed: ${JSON.stringify(body)}`);
    const asked: string[] = [];
    const { results } = await dkimVerify(mail.raw, {
      resolver: async (name: string) => {
        asked.push(name);
        return [[`v=DKIM1; k=rsa; p=${domain.publicKey}`]];
      },
    });
    return { mail, asked, signatures: results.map(({ signingDomain, status }) => [signingDomain, status.result]) };
  }

  const recipientsSince = (before: number) =>
    relay.commands.slice(before).flatMap((command) => /^RCPT TO:<([^>]+)>/.exec(command)?.[1] ?? []);

  test("is signed by it, and its return path is at it", async () => {
    const { mail, asked, signatures } = await relayed(inbox.id);
    expect(signatures).toEqual([["out.example", "pass"]]);
    expect(asked).toEqual([`${domain.selector}._domainkey.out.example`]);
    expect(mail.from).toMatch(/^bounce\+[0-9a-z]{26}-[0-9a-z]{12}@bounces\.out\.example$/);
  });

  test("is signed by the domain above if its address is below", async () => {
    const { body: below } = await create({ username: "ada", domain: "deep.out.example" });
    const { mail, signatures } = await relayed(below.id);
    expect(signatures).toEqual([["out.example", "pass"]]);
    expect(mail.from).toEndWith("@bounces.out.example");
    expect(mail.raw.toString()).toMatch(/^Message-ID: <msg_[0-9a-z]{26}@deep\.out\.example>/im);
  });

  test("has a return path at MAIL_DOMAIN if the domain has no record for one", async () => {
    const { body } = await world.api("/v1/inboxes?address=grace@bare.example");
    const { mail, signatures } = await relayed(body.data[0].id);
    expect(signatures).toEqual([["bare.example", "pass"]]);
    expect(mail.from).toEndWith("@inbox.localhost");
  });

  test("is not signed by it if it is from MAIL_DOMAIN", async () => {
    const { mail, signatures } = await relayed((await world.inbox()).id);
    expect(signatures).toEqual([[undefined, "none"]]);
    expect(mail.from).toEndWith("@inbox.localhost");
  });

  test("is told of the bounce that comes to its return path", async () => {
    const { mail } = await relayed(inbox.id, "gone@elsewhere.example");
    const bounce = deliveryStatus(mail.from, "gone@elsewhere.example");
    expect(await world.deliver(bounce, mail.from, "")).toStartWith("250");
    const { body } = await world.api(`/v1/inboxes/${inbox.id}/messages?direction=outbound&limit=1`);
    expect(body.data[0].delivery).toMatchObject({ state: "bounced", proof: "return_path" });
  });

  test("goes by our own door where everybody's mail comes to us, and else by the relay", async () => {
    const before = relay.commands.length;
    expect((await send(inbox.id, { to: ["grace@open.example", "grace@bare.example"] })).body.status).toBe("sent");
    expect(recipientsSince(before)).toEqual(["grace@bare.example"]);
    const { body } = await world.api("/v1/inboxes?address=grace@open.example", { apiKey: theirs.key });
    const { body: page } = await world.api(`/v1/inboxes/${body.data[0].id}/messages`, { apiKey: theirs.key });
    expect(page.data).toMatchObject([{ fromAddr: "ada@out.example", toAddr: "grace@open.example" }]);
  });

  test("leaves the inbox itself out of a reply to all", async () => {
    const raw = [
      "From: jane@elsewhere.example",
      "To: ada@out.example, bob@elsewhere.example",
      "Message-ID: <all@elsewhere.example>",
      "Subject: All",
      "",
      "Hi",
    ].join("\r\n");
    expect(await world.deliver(raw, "ada@out.example")).toStartWith("250");
    const { body: threads } = await world.api(`/v1/inboxes/${inbox.id}/threads?limit=1`);
    const before = relay.commands.length;
    const { status } = await send(inbox.id, { threadId: threads.data[0].id, replyAll: true });
    expect(status).toBe(200);
    expect(recipientsSince(before)).toEqual(["jane@elsewhere.example", "bob@elsewhere.example"]);
  });

  test("fails when its domain has failed, without another attempt", async () => {
    const { body: waiting } = await send(inbox.id, { to: "later@elsewhere.example" });
    expect(waiting.status).toBe("pending");
    const { deps } = world.service;
    const commands = relay.commands.length;
    await markDomain(domain.id, { status: "failed" });
    world.clock.pass(3_600_000);
    deps.nudge("relay");
    const failed = await untilAnswered(async () => {
      const { body } = await world.api(`/v1/messages/${waiting.messageId}`);
      return body.status === "failed" ? body : undefined;
    });
    expect(failed.failure.message).toBe("Cannot relay: the domain out.example is not verified any more");
    expect(relay.commands).toHaveLength(commands);
  });
});

/** A delivery status notification of another server (RFC 3464). */
function deliveryStatus(returnPath: string, recipient: string): string {
  return [
    "From: mailer-daemon@elsewhere.example",
    `To: ${returnPath}`,
    "Subject: Undelivered",
    `Message-ID: <bounce-${++mails}@elsewhere.example>`,
    "MIME-Version: 1.0",
    'Content-Type: multipart/report; report-type=delivery-status; boundary="b"',
    "",
    "--b",
    "Content-Type: text/plain",
    "",
    "No such user",
    "--b",
    "Content-Type: message/delivery-status",
    "",
    "Reporting-MTA: dns; elsewhere.example",
    "",
    `Final-Recipient: rfc822; ${recipient}`,
    "Action: failed",
    "Status: 5.1.1",
    "Diagnostic-Code: smtp; 550 5.1.1 No such user",
    "",
    "--b--",
    "",
  ].join("\r\n");
}

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
async function markDomain(id: string, { status }: { status: "pending" | "verified" | "failing" | "failed" }) {
  await query(world.service.deps.db.api, sql`update domains set status = ${status} where id = ${id}`);
}
