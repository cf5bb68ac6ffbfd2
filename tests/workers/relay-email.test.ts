import { afterEach, describe, expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import { DatabaseUnavailable, openDatabase, query } from "../../src/database/db.ts";
import { parseOutbound } from "../../src/domain/outbound.ts";
import type { RelayOutcome } from "../../src/domain/outcome.ts";
import { type Relay, smtpRelay } from "../../src/relay/relay.ts";
import { kinds } from "../../src/store/outbox/kinds.ts";
import { markDueReady } from "../../src/store/outbox/outbox-rows.ts";
import type { WorkerDeps } from "../../src/workers/scheduler.ts";
import { enginesHere } from "../support/engines.ts";
import {
  accepted,
  nobodyAnswers,
  type OutboxWorldOptions,
  outboxWorld,
  type RecordedMail,
} from "../support/outbox-world.ts";
import { scriptedSmtp } from "../support/scripted-smtp.ts";
import { setUpEngine } from "../support/set-up-engine.ts";
import { until, untilAnswered } from "../support/until.ts";

type World = Awaited<ReturnType<typeof outboxWorld>>;

const minuteMs = 60_000;
const refused: RelayOutcome = {
  kind: "failed",
  failure: { code: 550, enhancedCode: "5.1.1", message: "No such user" },
};
const greylisted: RelayOutcome = {
  kind: "retry",
  failure: { code: 451, enhancedCode: "4.7.1", message: "Try later" },
  maybeAccepted: false,
};

for (const engine of enginesHere()) {
  describe(`Mail on its way out, with the ${engine} database`, () => {
    const under = setUpEngine(engine);
    const worlds: World[] = [];

    afterEach(async () => {
      for (const world of worlds.splice(0)) await world.stop(0);
      await query(under.db.api, sql`truncate outbox`);
    });

    async function newWorld(options: OutboxWorldOptions = {}): Promise<World> {
      const world = await outboxWorld(under.db, options);
      worlds.push(world);
      return world;
    }

    async function begin(options: OutboxWorldOptions = {}) {
      const world = await newWorld(options);
      const inbox = await world.newInbox();
      return { world, inbox, workers: await world.start() };
    }

    const failureOf = async (id: string) =>
      (await query<{ failure: unknown }>(under.db.api, sql`select failure from messages where id = ${id}`))[0]?.failure;

    test("is relayed once, and sent when the relay has said 250", async () => {
      const { world, inbox, workers } = await begin();
      const id = await world.send(inbox, "jane@example.com");
      await workers.settled(id, 5000);
      expect(world.relay.mails.map(({ to, envelopeFrom }) => [to, envelopeFrom])).toEqual([
        ["jane@example.com", `${inbox.username}@inbox.localhost`],
      ]);
      expect(await world.message(id)).toMatchObject({ status: "sent", providerMessageId: "Q1" });
      expect(await world.waiting()).toEqual([]);
      expect(world.warnings()).toEqual([]);
    });

    test("is sent over a real connection, and has the id that the relay gave it", async () => {
      const server = await scriptedSmtp({
        answer: (command) => (command === "." ? "250 2.0.0 Ok: queued as 4F5xQ21zT9" : undefined),
      });
      const outbound = parseOutbound(`smtp://127.0.0.1:${server.port}?tls=off`);
      if (typeof outbound === "string" || outbound.kind !== "smtp") throw new Error("Not a relay");
      const relay = smtpRelay(outbound, { hostname: "inbox.localhost" });
      const { world, inbox, workers } = await begin({ deps: { relay } });
      const id = await world.send(inbox, "jane@example.com");
      await workers.settled(id, 5000);
      expect(await world.message(id)).toMatchObject({ status: "sent", providerMessageId: "4F5xQ21zT9" });
      expect(server.mails).toHaveLength(1);
      await relay.close();
      await server.close();
    });

    describe("that waits for the connection to its relay is not offered", () => {
      const run = (statement: ReturnType<typeof sql>) => query(under.db.api, statement);
      const suspended = new Set<string>();

      const changes: [
        what: string,
        domain: string,
        change: (accountId: string) => unknown,
        failure: string | undefined,
      ][] = [
        [
          "to a recipient who is suppressed meanwhile",
          "acme.example",
          (accountId) =>
            run(sql`insert into suppressions (id, account_id, address, inbox_id, reason, created_at)
                values ('sup_' || ${accountId}, ${accountId}, 'joe@example.com', '', 'manual', now())`),
          "Not sent: the recipient is suppressed (manual)",
        ],
        [
          "from a domain that fails meanwhile",
          "failing.example",
          (accountId) => run(sql`update domains set status = 'failed' where account_id = ${accountId}`),
          "Cannot relay: the domain failing.example is not verified any more",
        ],
        ["from an account that is suspended meanwhile", "initech.example", (id) => suspended.add(id), undefined],
      ];
      test.each(changes)("%s", async (_what, domain, change, failure) => {
        let isHeld = true;
        let nowMs = 0;
        const server = await scriptedSmtp({ answer: (line) => (line === "." && isHeld ? "silence" : undefined) });
        const outbound = { kind: "smtp", host: "127.0.0.1", port: server.port, tls: "off", login: undefined } as const;
        const one = smtpRelay(outbound, { hostname: "inbox.localhost", maxConnections: 1 });
        let offered = 0;
        const relay: Relay = {
          ...one,
          send(mail, signal) {
            offered += 1;
            return one.send(mail, signal);
          },
        };
        const closed = { suspended: () => suspended, moving: () => suspended };
        const { world, inbox, workers } = await begin({ deps: { relay, closed, attemptsNowMs: () => nowMs } });
        const other = await world.newInbox();
        const domainId = `dom_${other.accountId}`;
        const address = `ada@${domain}`;
        await run(sql`insert into domains (id, account_id, name, status, return_path, pending_since, created_at)
            values (${domainId}, ${other.accountId}, ${domain}, 'verified', 'bounces', now(), now())`);
        await run(sql`insert into domain_keys (domain_id, selector, state, private_key, public_key, made_at, retire_days)
            values (${domainId}, 's1', 'active', 'key', 'key', now(), 0)`);
        await run(sql`update inboxes set domain_id = ${domainId}, username = ${address} where id = ${other.id}`);
        await run(sql`update addresses set username = ${address} where inbox_id = ${other.id}`);

        await world.send(inbox, "jane@example.com");
        await server.seen(".");
        const id = await world.send(other, "joe@example.com");
        await until(() => offered === 2);
        await change(other.accountId);
        nowMs += 1_000;
        isHeld = false;
        const settled = workers.settled(id, 5000);
        server.cut();
        await settled;
        if (failure === undefined) {
          const row = await untilAnswered(async () => {
            const now = (await world.waiting()).find(({ subjectId }) => subjectId === id);
            return now?.state === "running" ? undefined : now;
          });
          expect(row).toMatchObject({ attempt: 1, dueAt: world.clock.now() });
        } else {
          const message = await untilAnswered(async () => {
            const now = await world.message(id);
            return now?.status === "pending" ? undefined : now;
          });
          expect(message).toMatchObject({ status: "failed" });
          expect(await failureOf(id)).toMatchObject({ message: failure });
        }
        expect(server.commands.filter((line) => line.startsWith("RCPT"))).toEqual(["RCPT TO:<jane@example.com>"]);
        await relay.close();
        await server.close();
      });
    });

    test("fails at once when it is refused for good", async () => {
      const { world, inbox, workers } = await begin();
      world.relay.answer = () => refused;
      const id = await world.send(inbox, "jane@example.com");
      await workers.settled(id, 5000);
      expect(await world.message(id)).toMatchObject({ status: "failed", providerMessageId: null });
      expect(await failureOf(id)).toEqual(
        refused.kind === "failed" ? { ...refused.failure, reason: "refused" } : undefined,
      );
      expect(await world.waiting()).toEqual([]);
    });

    test("is tried again after 1, 5, 15 and 30 minutes, every 30 until its time is up, and then fails: always the same bytes", async () => {
      const { world, inbox } = await begin({ deps: { maxQueueHours: 3 } });
      world.relay.answer = () => greylisted;
      const id = await world.send(inbox, "jane@example.com");
      const waits: number[] = [];
      for (let attempt = 1; ; attempt += 1) {
        await world.relay.mail(attempt);
        await world.rested();
        const [row] = await world.waiting();
        if (row === undefined) break;
        waits.push((row.dueAt.getTime() - world.clock.now().getTime()) / minuteMs);
        expect(await world.message(id)).toMatchObject({ status: "pending" });
        world.pass(row.dueAt.getTime() - world.clock.now().getTime());
      }
      expect(waits).toEqual([1, 5, 15, 30, 30, 30, 30, 30]);
      expect(await world.message(id)).toMatchObject({ status: "failed" });
      expect(await failureOf(id)).toMatchObject({ code: 451, message: "Try later" });
      expect(new Set(world.relay.mails.map(({ raw }) => new TextDecoder().decode(raw))).size).toBe(1);
    });

    test("that may have been accepted is logged before it is repeated", async () => {
      const { world, inbox, workers } = await begin();
      world.relay.answer = () => ({ ...nobodyAnswers, maybeAccepted: true });
      await workers.settled(await world.send(inbox, "jane@example.com"), 5000);
      expect(world.warnings()).toEqual(["mail may have been accepted: the next attempt may repeat it"]);
    });

    test("to our own domain goes in by the door, whatever the relay", async () => {
      const taken: string[] = [];
      const door: WorkerDeps["door"] = {
        recipient: async (address) =>
          address.startsWith("nobody")
            ? { kind: "unknown" }
            : { kind: "accept", accountId: "acc_1", inboxId: `inbox of ${address}` },
        async accept({ envelope, raw }) {
          const [first = { toAddr: "", inboxId: "" }] = envelope.recipients;
          const { toAddr, inboxId } = { inboxId: "", ...first };
          taken.push(`${inboxId} ${/^Subject: .*$/m.exec(new TextDecoder().decode(raw))?.[0]}`);
          expect(envelope).toMatchObject({ from: `${inbox.username}@inbox.localhost`, client: undefined });
          if (toAddr.startsWith("away")) throw new DatabaseUnavailable("test");
          return toAddr.startsWith("ada") ? "stored" : "gone";
        },
      };
      const { world, inbox, workers } = await begin({ deps: { door } });
      const [stored, unknown, gone, away] = [
        await world.send(inbox, "ada@inbox.localhost"),
        await world.send(inbox, "nobody@inbox.localhost"),
        await world.send(inbox, "gone@inbox.localhost"),
        await world.send(inbox, "away@inbox.localhost"),
      ];
      for (const id of [stored, unknown, gone, away]) await workers.settled(id, 5000);
      expect(world.relay.mails).toEqual([]);
      expect(taken).toEqual([
        "inbox of ada@inbox.localhost Subject: Mail 1",
        "inbox of gone@inbox.localhost Subject: Mail 3",
        "inbox of away@inbox.localhost Subject: Mail 4",
      ]);
      expect(await world.message(stored)).toMatchObject({ status: "sent" });
      for (const id of [unknown, gone]) {
        expect(await world.message(id)).toMatchObject({ status: "failed" });
        expect(await failureOf(id)).toMatchObject({ code: 550, enhancedCode: "5.1.1" });
      }
      expect(await world.message(away)).toMatchObject({ status: "pending" });
    });

    test("that can't be composed holds up no other, and fails in the end", async () => {
      const world = await newWorld();
      const inbox = await world.newInbox();
      const poisoned = await world.send(inbox, "jane@example.com");
      await query(under.db.api, sql`update messages set from_addr = 'a b' where id = ${poisoned}`);
      const whole = await world.send(inbox, "jane@example.com");
      const workers = await world.start();
      await workers.settled(whole, 5000);
      expect(await world.message(whole)).toMatchObject({ status: "sent" });
      expect(await world.message(poisoned)).toMatchObject({ status: "pending" });
      expect(world.warnings()).toEqual(["attempt failed: unexpected error"]);
      world.pass(48 * 60 * minuteMs);
      await world.emptied();
      expect(await world.message(poisoned)).toMatchObject({ status: "failed" });
    });

    test("all goes out when a relay answers again after an hour, in the order of its inbox", async () => {
      const { world } = await begin();
      const inboxes = await Promise.all(Array.from({ length: 4 }, () => world.newInbox()));
      world.relay.answer = () => nobodyAnswers;
      const ids: string[] = [];
      for (let mail = 0; mail < 40; mail += 1) {
        const inbox = inboxes[mail % 4];
        if (inbox) ids.push(await world.send(inbox, `jane@d${mail % 7}.example`));
      }
      for (let minute = 0; minute < 60; minute += 10) {
        world.pass(10 * minuteMs);
        await world.rested();
      }
      const attempted = world.relay.mails.length;
      let inHand = 0;
      let most = 0;
      world.relay.answer = async () => {
        inHand += 1;
        most = Math.max(most, inHand);
        await Promise.resolve();
        inHand -= 1;
        return accepted;
      };
      world.pass(30 * minuteMs);
      await world.emptied();
      const sent = world.relay.mails.slice(attempted);
      expect(sent).toHaveLength(ids.length);
      for (const inbox of inboxes) {
        for (let domain = 0; domain < 7; domain += 1) {
          const numbers = sent
            .filter((mail) => isFrom(mail, inbox) && mail.to.endsWith(`d${domain}.example`))
            .map(numberOf);
          expect(numbers).toEqual(numbers.toSorted((one, other) => one - other));
        }
      }
      expect(most).toBeLessThanOrEqual(20);
      for (const id of ids) expect(await world.message(id)).toMatchObject({ status: "sent" });
    });

    test("that waits for a relay that was down goes as soon as that answers another mail", async () => {
      const { world, inbox, workers } = await begin();
      const other = await world.newInbox();
      world.relay.answer = () => nobodyAnswers;
      const waiting = await world.send(inbox, "jane@example.com");
      await workers.settled(waiting, 5000);
      expect(await world.waiting()).toMatchObject([{ state: "waiting" }]);
      world.relay.answer = () => accepted;
      await world.send(other, "joe@example.com");
      await world.emptied();
      expect(await world.message(waiting)).toMatchObject({ status: "sent" });
    });

    test("to a relay that is down is tried one at a time", async () => {
      const { world } = await begin();
      world.relay.answer = () => nobodyAnswers;
      const inboxes = await Promise.all(Array.from({ length: 12 }, () => world.newInbox()));
      const [first] = inboxes;
      if (first) await world.send(first, "jane@example.com");
      await world.rested();
      let inHand = 0;
      let most = 0;
      world.relay.answer = async () => {
        inHand += 1;
        most = Math.max(most, inHand);
        await new Promise((resolve) => setTimeout(resolve, 1));
        inHand -= 1;
        return nobodyAnswers;
      };
      for (const [index, inbox] of inboxes.entries()) await world.send(inbox, `jane@d${index}.example`);
      await world.rested();
      expect(world.relay.mails).toHaveLength(13);
      expect(most).toBe(1);
    });

    test("is relayed once by two processes, and in the order of its inbox", async () => {
      if (under.db.engine === "embedded") return; // It belongs to one process.
      const second = await openDatabase(under.options);
      const order: RecordedMail[] = [];
      const clockOf = await newWorld();
      const [one, other] = [
        await outboxWorld(under.db, { clock: clockOf.clock }),
        await outboxWorld(second, { clock: clockOf.clock }),
      ];
      const inboxes = await Promise.all(Array.from({ length: 50 }, () => one.newInbox()));
      for (const world of [one, other]) {
        world.relay.answer = async (mail) => {
          order.push(mail);
          await new Promise((resolve) => setTimeout(resolve, 2));
          return accepted;
        };
      }
      for (let mail = 0; mail < 200; mail += 1) {
        const inbox = inboxes[mail % 50];
        if (inbox) await one.send(inbox, "jane@example.com");
      }
      await Promise.all([one.start(), other.start()]);
      await one.emptied();
      await Promise.all([one.stop(), other.stop()]);
      await second.close();
      expect(order).toHaveLength(200);
      // How the work falls to the two is chance; that nothing is done twice or out of order is not.
      expect(one.relay.mails.length + other.relay.mails.length).toBe(200);
      for (const inbox of inboxes) {
        const numbers = order.filter((mail) => isFrom(mail, inbox)).map(numberOf);
        expect(numbers).toHaveLength(4);
        expect(numbers).toEqual(numbers.toSorted((a, b) => a - b));
      }
    });

    test("that a stopped process tried before its lease ended is judged by the process that has it now", async () => {
      for (const late of [refused, greylisted, accepted]) {
        const { world, inbox } = await begin();
        const { promise: held, resolve: answerLate } = Promise.withResolvers<RelayOutcome>();
        world.relay.answer = () => held;
        const id = await world.send(inbox, "jane@example.com");
        await world.relay.mail(1);
        // It claims and renews nothing more, but has this in hand still.
        const stopped = world.stop();
        const other = await newWorld({ clock: world.clock });
        const { promise: answer, resolve: answerNow } = Promise.withResolvers<RelayOutcome>();
        other.relay.answer = () => answer;
        await other.start();
        world.clock.pass(minuteMs);
        other.deps.nudge("relay");
        await other.relay.mail(1);
        answerLate(late);
        await stopped;
        expect(world.warnings()).toContain("claim was lost: the row was claimed again or deleted");
        expect(await other.message(id)).toMatchObject({ status: "pending" });
        expect(await other.waiting()).toMatchObject([{ subjectId: id, attempt: 2, state: "running" }]);
        answerNow(accepted);
        await other.emptied();
        expect(await other.message(id)).toMatchObject({ status: "sent", providerMessageId: "Q1" });
        expect(await failureOf(id)).toBeNull();
        await other.stop();
      }
    });

    test("that one process has in hand twice is waited for until both have ended", async () => {
      const { world, inbox } = await begin();
      const answers = [Promise.withResolvers<RelayOutcome>(), Promise.withResolvers<RelayOutcome>()] as const;
      world.relay.answer = () => answers[world.relay.mails.length - 1]?.promise ?? accepted;
      const id = await world.send(inbox, "jane@example.com");
      await world.relay.mail(1);
      // Its claim was held for lost by a process that then died, and falls to itself.
      const at = new Date(world.clock.now().getTime() + minuteMs);
      await markDueReady(under.db.work, { kind: kinds.relay, now: at, inHand: [], leaseMs: minuteMs, limit: 10 });
      world.deps.nudge("relay");
      await world.relay.mail(2);
      answers[0].resolve(greylisted);
      while (!world.warnings().includes("claim was lost: the row was claimed again or deleted")) await Bun.sleep(2);
      let isStopped = false;
      const stopped = world.stop().then(() => {
        isStopped = true;
      });
      for (let look = 0; look < 20; look += 1) expect(await world.waiting()).toMatchObject([{ attempt: 2 }]);
      expect(isStopped).toBe(false);
      answers[1].resolve(accepted);
      await stopped;
      expect(await world.waiting()).toEqual([]);
      expect(await world.message(id)).toMatchObject({ status: "sent" });
    });

    test("in hand at the end is due again at once when it had to be cut off", async () => {
      const { world, inbox } = await begin();
      world.relay.answer = (_, signal) =>
        new Promise((resolve) => signal?.addEventListener("abort", () => resolve(nobodyAnswers)));
      const id = await world.send(inbox, "jane@example.com");
      await world.relay.mail(1);
      await world.stop(10);
      expect(await world.waiting()).toMatchObject([{ state: "waiting", dueAt: world.clock.now() }]);
      const next = await newWorld({ clock: world.clock });
      await next.start();
      await next.emptied();
      expect(await next.message(id)).toMatchObject({ status: "sent" });
    });
  });
}

function isFrom(mail: RecordedMail, inbox: { username: string }): boolean {
  return mail.envelopeFrom.startsWith(`${inbox.username}@`);
}

function numberOf({ raw }: RecordedMail): number {
  return Number(/^Subject: Mail (\d+)/m.exec(new TextDecoder().decode(raw))?.[1]);
}
