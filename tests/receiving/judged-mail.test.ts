import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import { query } from "../../src/database/db.ts";
import { service } from "../../src/domain/access/actor.ts";
import type { Authentication, Verdict } from "../../src/domain/receive/authentication.ts";
import { deleteInbox } from "../../src/flows/account/delete-inbox.ts";
import { prune } from "../../src/workers/prune.ts";
import { type EngineUnderTest, enginesHere, openMigrated } from "../support/engines.ts";
import { failureOf } from "../support/failure.ts";
import { faultsOfSources } from "../support/held-sources.ts";
import { mailOf } from "../support/mail.ts";
import { type ReceptionOptions, reception } from "../support/reception.ts";
import { addRule, setPolicy } from "../support/ruled.ts";
import { countEvents, countRows, storedBytes, storedMessages } from "../support/stored.ts";
import { untilAnswered } from "../support/until.ts";
import { deliver } from "../support/world.ts";

/** A sender whose mail has the header `X-Proven` is proven; the header may also name another verdict. */
async function authenticate({ raw }: { raw: Uint8Array }): Promise<Authentication> {
  const text = new TextDecoder().decode(raw);
  const [, verdict = "none"] = /^X-Proven: (\w+)\r$/m.exec(text) ?? [];
  const [, domain = ""] = /^From: .*@([^>\r]+)/m.exec(text) ?? [];
  return {
    verdict: verdict as Verdict,
    domain: domain.toLowerCase(),
    internal: false,
    spf: { result: "none", domain: null, aligned: false },
    dkim: [],
    dmarc: { result: "none", policy: null },
    arc: { result: "none", sealers: [] },
    source: "checked",
    clientAddress: "192.0.2.9",
    tls: false,
  };
}

const as = (verdict: Verdict) => ({ headers: [`X-Proven: ${verdict}`] });
const fullAtTheDoor: ReceptionOptions = {
  parse: (parse) => async (raw, entry) => (entry.signal === undefined ? undefined : parse(raw, entry)),
};

for (const engine of enginesHere()) {
  describe(`Mail is judged when it arrives (${engine})`, () => {
    let under: EngineUnderTest;
    beforeEach(async () => {
      under = await openMigrated(engine);
    });
    afterEach(() => under.remove());

    const addressOf = ({ username }: { username: string }) => `${username}@inbox.localhost`;
    const kept = (inboxId: string) =>
      query<{ id: string; reason: string; ruleId: string | null; sourceId: string; accountId: string }>(
        under.db.api,
        sql`select id, reason, rule_id as "ruleId", source_id as "sourceId", account_id as "accountId"
            from quarantine where inbox_id = ${inboxId} order by id`,
      );
    const messages = (inboxId: string) => storedMessages(under.db.api, inboxId);
    async function bytesOf(inboxId: string): Promise<number> {
      const [inbox] = await query<{ bytes: number }>(
        under.db.api,
        sql`select storage_bytes as bytes from inboxes where id = ${inboxId}`,
      );
      return inbox?.bytes ?? -1;
    }

    const senders: [string, string, Verdict, boolean][] = [
      ["the boss, signed", "boss@boss.example", "pass", true],
      ["the boss in capitals, signed", "The Boss <CEO@Boss.Example>", "pass", true],
      ["his name from anywhere else", "boss@boss.example", "none", false],
      ["his name, refused by his domain", "boss@boss.example", "fail", false],
      ["a domain that begins like his", "boss@boss.example.evil.com", "pass", false],
      ["a domain that ends like his", "boss@evil-boss.example", "pass", false],
      ["his address as a name", '"ceo@boss.example" <eve@evil.example>', "pass", false],
      ["a subdomain of his", "boss@mail.boss.example", "pass", false],
    ];

    test("an allow-list takes a proven sender, and nobody who only looks like him", async () => {
      await using world = await reception(under.db, { authenticate });
      for (const [who, from, verdict, isTaken] of senders) {
        const ada = await world.newInbox();
        await addRule(under.db.api, { accountId: ada.accountId, action: "allow", pattern: "boss.example" });
        await setPolicy(under.db.api, { accountId: ada.accountId, unlisted: "block" });
        const raw = mailOf({ from, messageId: `${ada.id}@x.example`, ...as(verdict) });
        expect([who, await deliver(world.port, raw, addressOf(ada))]).toEqual([
          who,
          expect.stringMatching(/^250 2\.0\.0/),
        ]);
        expect([who, (await messages(ada.id)).length, (await kept(ada.id)).map(({ reason }) => reason)]).toEqual([
          who,
          isTaken ? 1 : 0,
          isTaken ? [] : ["unlisted"],
        ]);
      }
    });

    test("a block and an allow of one address block, and a block also looks at the envelope", async () => {
      await using world = await reception(under.db, { authenticate });
      const ada = await world.newInbox();
      const { accountId } = ada;
      const ruleId = await addRule(under.db.api, { accountId, action: "block", pattern: "eve@evil.example" });
      await addRule(under.db.api, { accountId, inboxId: ada.id, action: "allow", pattern: "eve@evil.example" });
      const byFrom = mailOf({ from: "eve@evil.example", messageId: "1@x.example", ...as("pass") });
      const byEnvelope = mailOf({ from: "jane@example.com", messageId: "2@x.example", ...as("pass") });
      await deliver(world.port, byFrom, addressOf(ada));
      await deliver(world.port, byEnvelope, addressOf(ada), "eve@evil.example");
      await deliver(world.port, mailOf({ messageId: "3@x.example" }), addressOf(ada));
      expect(await kept(ada.id)).toMatchObject([
        { reason: "rule", ruleId },
        { reason: "rule", ruleId },
      ]);
      expect((await messages(ada.id)).map(({ rfcMessageId }) => rfcMessageId)).toEqual(["3@x.example"]);
    });

    test("a stranger who answers us gets in where only replies do, and one who invents a reference does not", async () => {
      await using world = await reception(under.db, { authenticate });
      const ada = await world.newInbox();
      await setPolicy(under.db.api, { accountId: ada.accountId, unlisted: "replies" });
      await world.send(ada, "joe@other.example");
      const [sent] = await messages(ada.id);
      const answer = (number: number, inReplyTo: string) =>
        mailOf({ from: "stranger@other.example", messageId: `${number}@x.example`, inReplyTo });
      await deliver(world.port, answer(1, sent?.rfcMessageId ?? ""), addressOf(ada));
      await deliver(world.port, answer(2, "invented@inbox.localhost"), addressOf(ada));
      // Another one who invents the same reference joins no thread either.
      await deliver(world.port, answer(3, "invented@inbox.localhost"), addressOf(ada));
      expect((await messages(ada.id)).map(({ rfcMessageId }) => rfcMessageId).slice(1)).toEqual(["1@x.example"]);
      expect((await kept(ada.id)).map(({ reason }) => reason)).toEqual(["unlisted", "unlisted"]);
    });

    test("a refusal is told at the dot if every inbox refuses, else the mail is quarantined there", async () => {
      await using world = await reception(under.db, { authenticate });
      const [ada, bob] = [await world.newInbox(), await world.newInbox()];
      const { accountId } = ada;
      await setPolicy(under.db.api, { accountId, inboxId: ada.id, unlisted: "block", blocked: "refuse" });
      const raw = mailOf({ messageId: "1@x.example" });
      expect(await deliver(world.port, raw, addressOf(ada))).toStartWith("550 5.7.1");
      expect(await countRows(under.db.api, "quarantine")).toBe(0);
      expect(await countRows(under.db.api, "source_chunks")).toBe(0);
      expect(await deliver(world.port, raw, [addressOf(ada), addressOf(bob)])).toStartWith("250 2.0.0");
      // The sender repeats it, as after a lost answer.
      expect(await deliver(world.port, raw, [addressOf(ada), addressOf(bob)])).toStartWith("250 2.0.0");
      expect(await kept(ada.id)).toHaveLength(1);
      expect(await messages(ada.id)).toEqual([]);
      expect(await messages(bob.id)).toHaveLength(1);
      expect(await kept(bob.id)).toEqual([]);
      const [mail] = await kept(ada.id);
      expect((await storedBytes(under.db.api, mail?.sourceId ?? "")).toString()).toBe(raw);
      expect(await faultsOfSources(under.db.api)).toEqual([]);
    });

    test("a copy of a mail that is stored is not refused, and is quarantined for an inbox that lacks it", async () => {
      await using world = await reception(under.db, { authenticate });
      const [ada, bob] = [await world.newInbox(), await world.newInbox()];
      const raw = mailOf({ messageId: "1@x.example" });
      expect(await deliver(world.port, raw, addressOf(ada))).toStartWith("250 2.0.0");
      for (const { accountId, id } of [ada, bob])
        await setPolicy(under.db.api, { accountId, inboxId: id, unlisted: "block", blocked: "refuse" });
      world.clock.pass(31_000);
      expect(await deliver(world.port, raw, addressOf(bob))).toStartWith("550 5.7.1");
      const other = raw.replace("Hello Ada", "Hello Bob");
      expect(await deliver(world.port, other, addressOf(ada))).toStartWith("550 5.7.1");
      expect(await deliver(world.port, raw, addressOf(ada))).toStartWith("250 2.0.0");
      expect(await countRows(under.db.api, "quarantine")).toBe(0);
      expect(await deliver(world.port, raw, [addressOf(ada), addressOf(bob)])).toStartWith("250 2.0.0");
      expect([await messages(ada.id), await kept(bob.id)].map((rows) => rows.length)).toEqual([1, 1]);
      expect([await countRows(under.db.api, "messages"), await countRows(under.db.api, "quarantine")]).toEqual([1, 1]);
      expect(await faultsOfSources(under.db.api)).toEqual([]);
    });

    test("a sender who is not checked in time comes again, if that decides", async () => {
      await using world = await reception(under.db, { authenticate });
      const [ada, bob] = [await world.newInbox(), await world.newInbox()];
      await setPolicy(under.db.api, { accountId: ada.accountId, inboxId: ada.id, unauthenticated: "block" });
      const raw = mailOf({ messageId: "1@x.example", ...as("temperror") });
      expect(await deliver(world.port, raw, addressOf(ada))).toStartWith("451 4.7.0");
      expect(await deliver(world.port, raw, [addressOf(ada), addressOf(bob)])).toStartWith("451 4.7.0");
      expect([await countRows(under.db.api, "quarantine"), await countRows(under.db.api, "messages")]).toEqual([0, 0]);
      expect(await deliver(world.port, raw, addressOf(bob))).toStartWith("250 2.0.0");
    });

    test("mail that was acknowledged before it was parsed is never refused, and waits an hour for a verdict", async () => {
      await using world = await reception(under.db, { authenticate, ...fullAtTheDoor });
      const [ada, bob] = [await world.newInbox(), await world.newInbox()];
      const refusing = { unlisted: "block", blocked: "refuse" } as const;
      await setPolicy(under.db.api, { accountId: ada.accountId, inboxId: ada.id, ...refusing });
      await setPolicy(under.db.api, { accountId: bob.accountId, inboxId: bob.id, unauthenticated: "block" });
      const doubtful = mailOf({ messageId: "2@x.example", ...as("temperror") });
      expect(await deliver(world.port, mailOf({ messageId: "1@x.example" }), addressOf(ada))).toStartWith("250");
      expect(await deliver(world.port, doubtful, addressOf(bob))).toStartWith("250");
      await world.parseKept();
      await untilAnswered(async () => ((await kept(ada.id)).length === 1 ? true : undefined));
      await untilAnswered(async () => {
        const [row] = await query<{ attempt: number }>(
          under.db.api,
          sql`select attempt from outbox where kind = 'parse' and state <> 'running' and attempt > 0`,
        );
        return row;
      });
      expect(await kept(bob.id)).toEqual([]);
      await untilAnswered(async () => {
        world.clock.pass(600_000);
        return (await kept(bob.id))[0];
      });
      expect(await kept(bob.id)).toMatchObject([{ reason: "unauthenticated" }]);
      expect(await countRows(under.db.api, "unparsed_mails")).toBe(0);
      expect(await faultsOfSources(under.db.api)).toEqual([]);
    });

    test("quarantined mail changes no total but the bytes, and is no correspondence", async () => {
      await using world = await reception(under.db, { authenticate });
      const ada = await world.newInbox();
      await world.send(ada, "jane@example.com");
      await setPolicy(under.db.api, { accountId: ada.accountId, unlisted: "block" });
      const [sent] = await messages(ada.id);
      const inbox = async () =>
        (
          await query<Record<string, unknown>>(
            under.db.api,
            sql`select message_count, inbound_count, thread_count, unread_count, last_message_id, last_message_at
                from inboxes where id = ${ada.id}`,
          )
        )[0];
      const before = await inbox();
      const bytes = await bytesOf(ada.id);
      const raws = Array.from({ length: 40 }, (_, number) =>
        mailOf({ messageId: `${number}@x.example`, inReplyTo: sent?.rfcMessageId ?? "" }),
      );
      await Promise.all(raws.map((raw) => deliver(world.port, raw, addressOf(ada))));
      expect(await inbox()).toEqual(before);
      expect(await bytesOf(ada.id)).toBe(bytes + raws.reduce((sum, raw) => sum + raw.length, 0));
      expect(await countRows(under.db.api, "correspondents")).toBe(0);
      expect(await countRows(under.db.api, "awaited_parents")).toBe(0);
      expect(await countEvents(under.db.api, "message.blocked")).toBe(40);
      expect(await countEvents(under.db.api, "message.received")).toBe(0);
      // A message behind it is filed by the totals as they are now.
      await addRule(under.db.api, {
        accountId: ada.accountId,
        action: "allow",
        pattern: "jane@example.com",
        evenUnauthenticated: true,
      });
      world.clock.pass(31_000);
      const later = mailOf({ messageId: "later@x.example" });
      await deliver(world.port, later, addressOf(ada));
      await deliver(world.port, mailOf({ messageId: "last@x.example" }), addressOf(ada));
      expect(await messages(ada.id)).toHaveLength(3);
      expect(await faultsOfSources(under.db.api)).toEqual([]);
    });

    test("twenty copies at once are quarantined once, and a copy that a new rule would take is none", async () => {
      await using world = await reception(under.db, { authenticate });
      const ada = await world.newInbox();
      await setPolicy(under.db.api, { accountId: ada.accountId, unlisted: "block" });
      const raw = mailOf({ messageId: "1@x.example" });
      const replies = await Promise.all(Array.from({ length: 20 }, () => deliver(world.port, raw, addressOf(ada))));
      expect(replies.every((reply) => reply.startsWith("250"))).toBe(true);
      expect(await kept(ada.id)).toHaveLength(1);
      await query(under.db.api, sql`delete from policies`);
      world.clock.pass(31_000);
      // Once by what is read, and once by what is remembered of the inbox from the mail before.
      for (const mail of [raw, mailOf({ messageId: "2@x.example" }), raw])
        expect(await deliver(world.port, mail, addressOf(ada))).toStartWith("250");
      expect((await messages(ada.id)).map(({ rfcMessageId }) => rfcMessageId)).toEqual(["2@x.example"]);
      expect(await kept(ada.id)).toHaveLength(1);
    });

    test("a release makes one message, however many ask at once and whatever it was that arrived", async () => {
      await using world = await reception(under.db, { authenticate });
      const ada = await world.newInbox();
      await setPolicy(under.db.api, { accountId: ada.accountId, unlisted: "block" });
      const large = mailOf({ messageId: "large@x.example", text: `${"Lorem ipsum ".repeat(6)}\r\n`.repeat(20_000) });
      for (const raw of [mailOf({ messageId: "1@x.example" }), large]) {
        await deliver(world.port, raw, addressOf(ada));
        const { id, accountId } = (await kept(ada.id)).at(-1) ?? { id: "", accountId: "" };
        const ask = () => world.release({ accountId, actor: service }, id);
        const answers = await Promise.all([ask(), ask(), ask(), ask()]);
        answers.push(await ask());
        expect(new Set(answers.map(({ messageId, threadId }) => `${messageId} ${threadId}`)).size).toBe(1);
        const last = (await messages(ada.id)).at(-1);
        expect(last).toMatchObject({ id: answers[0]?.messageId, threadId: answers[0]?.threadId });
        expect((await storedBytes(under.db.api, last?.sourceId ?? "")).toString()).toBe(raw);
        expect(await deliver(world.port, raw, addressOf(ada))).toStartWith("250");
      }
      expect(await messages(ada.id)).toHaveLength(2);
      expect(await countEvents(under.db.api, "message.received")).toBe(2);
      expect(await faultsOfSources(under.db.api)).toEqual([]);
    });

    test("nothing is released into a deleted inbox", async () => {
      await using world = await reception(under.db, { authenticate });
      const ada = await world.newInbox();
      const { accountId } = ada;
      await setPolicy(under.db.api, { accountId, unlisted: "block" });
      await deliver(world.port, mailOf({ messageId: "1@x.example" }), addressOf(ada));
      const [mail] = await kept(ada.id);
      const id = mail?.id ?? "";
      const [released] = await Promise.allSettled([
        world.release({ accountId, actor: service }, id),
        deleteInbox(world.deps, { accountId, actor: service }, ada.id),
      ]);
      expect(String(await failureOf(world.release({ accountId, actor: service }, id)))).toContain(
        "no such quarantined mail",
      );
      expect(await messages(ada.id)).toHaveLength(released.status === "fulfilled" ? 1 : 0);
      expect(await faultsOfSources(under.db.api)).toEqual([]);
    });

    test("an inbox keeps 10,000 quarantined mails, and the oldest go", async () => {
      await using world = await reception(under.db, { authenticate });
      const ada = await world.newInbox();
      await setPolicy(under.db.api, { accountId: ada.accountId, unlisted: "block" });
      await deliver(world.port, mailOf({ messageId: "1@x.example" }), addressOf(ada));
      await query(
        under.db.api,
        sql`insert into quarantine select 'qua_0' || lpad(number::text, 25, '0'), account_id, inbox_id, reason, rule_id,
              gen_random_uuid(), content_hash, 'none', envelope_from, client, to_addr, from_addr, from_name, subject, preview,
              0, authentication, spam, received_at, expires_at
            from quarantine cross join generate_series(1, 10002) as number`,
      );
      await prune(world.deps);
      const left = await kept(ada.id);
      expect([left.length, left[0]?.id]).toEqual([10_000, "qua_00000000000000000000000004"]);
    });

    test("quarantined mail is removed with its bytes when its time is over, and with its inbox", async () => {
      await using world = await reception(under.db, { authenticate });
      const [ada, bob] = [await world.newInbox(), await world.newInbox()];
      await setPolicy(under.db.api, { accountId: ada.accountId, unlisted: "block" });
      if (bob.accountId !== ada.accountId)
        await setPolicy(under.db.api, { accountId: bob.accountId, unlisted: "block" });
      await deliver(world.port, mailOf({ messageId: "1@x.example" }), [addressOf(ada), addressOf(bob)]);
      await deleteInbox(world.deps, { accountId: bob.accountId, actor: service }, bob.id);
      world.clock.pass(120_000);
      await prune(world.deps);
      expect([(await kept(bob.id)).length, (await kept(ada.id)).length]).toEqual([0, 1]);
      expect(await faultsOfSources(under.db.api)).toEqual([]);
      world.clock.pass(30 * 24 * 3_600_000);
      await prune(world.deps);
      expect(await kept(ada.id)).toEqual([]);
      expect(await bytesOf(ada.id)).toBe(0);
      expect(await countRows(under.db.api, "source_chunks")).toBe(0);
    });
  });
}
