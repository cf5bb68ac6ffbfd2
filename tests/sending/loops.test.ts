import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { sql } from "drizzle-orm";
import { query } from "../../src/database/db.ts";
import { enginesHere } from "../support/engines.ts";
import { mailOf } from "../support/mail.ts";
import { type ScriptedSmtp, scriptedSmtp } from "../support/scripted-smtp.ts";
import { type SendOptions, send, tally } from "../support/sends.ts";
import { untilAnswered } from "../support/until.ts";
import type { Answer, World, WorldInbox } from "../support/world.ts";
import { worldsOn } from "../support/world-on.ts";

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

for (const engine of enginesHere()) {
  describe(`a reply to a robot, with the ${engine} database`, () => {
    const start = worldsOn(engine);
    /** For tests with inboxes of their own and the usual settings. */
    let world: World;
    /** A world without the other limits, which sends by `other`. */
    let unlimited: World;
    let other: ScriptedSmtp;
    beforeAll(async () => {
      other = await scriptedSmtp();
      const limits = { SENDS_PER_MINUTE: "0", SENDS_PER_DAY: "0", COLD_RECIPIENT_DAILY: "0" };
      world = await start();
      unlimited = await start({ env: { ...limits, OUTBOUND: `smtp://127.0.0.1:${other.port}?tls=off` } });
    }, 60_000);
    afterAll(async () => {
      await world?.[Symbol.asyncDispose]();
      await unlimited?.[Symbol.asyncDispose]();
      await other?.close();
    }, 60_000);

    /** A first mail to the robot, with its thread. */
    async function withRobot(world: World) {
      const inbox = await world.inbox();
      let last = await send(world, inbox.id, { to: "robot@example.com" });
      const { threadId } = last.body;
      let told = 0;

      return {
        inbox,
        /** A reply of the robot to our last mail. */
        async tells(headers: readonly string[], subject = "Re: Hello"): Promise<void> {
          told += 1;
          const raw = mailOf({
            from: "Robot <robot@example.com>",
            to: inbox.address,
            subject,
            headers,
            messageId: `robot-${told}-${threadId}@example.com`,
            inReplyTo: last.body.providerMessageId.slice(1, -1),
          });
          expect(await world.deliver(raw, inbox.address, "")).toStartWith("250");
        },
        async answers(): Promise<void> {
          await this.tells(["Auto-Submitted: auto-replied"]);
        },
        async reply(body: object = {}, options: SendOptions = {}): Promise<Answer> {
          const answer = await this.parallel(world, body, options);
          if (answer.status === 200) last = answer;
          return answer;
        },
        parallel: (from: World, body: object = {}, options: SendOptions = {}) =>
          send(from, inbox.id, { to: "robot@example.com", threadId, subject: undefined, ...body }, options),
      };
    }

    test("an autoresponder and an agent that replies to everything stop after three echoes", async () => {
      const robot = await withRobot(world);
      let refused: Answer | undefined;
      let echoes = 0;
      while (refused === undefined && echoes < 10) {
        world.clock.pass(1000);
        await robot.answers();
        echoes += 1;
        const reply = await robot.reply();
        if (reply.status !== 200) refused = reply;
      }
      expect(echoes).toBe(3);
      expect(refused?.status).toBe(429);
      expect(refused?.body).toMatchObject({ code: "loop_detected", limit: 3, used: 3 });
      const retrySeconds = (Date.parse(refused?.body.resets_at) - world.clock.now().getTime()) / 1000;
      expect(refused?.headers.get("retry-after")).toBe(String(Math.ceil(retrySeconds)));
      expect(refused?.headers.get("ratelimit-policy")).toContain('"burst"');

      expect((await robot.reply({ ignoreLoop: false })).body.code).toBe("loop_detected");
      expect((await robot.reply({ to: "jane@example.com" })).status).toBe(200);
      expect((await robot.reply({ ignoreLoop: true }, { key: "all-the-same" })).status).toBe(200);
      expect((await robot.reply()).body.code).toBe("loop_detected");
      expect(
        (await robot.reply({ ignoreLoop: true }, { key: "all-the-same" })).headers.get("idempotent-replayed"),
      ).toBe("true");
      world.clock.pass(24 * hourMs);
      expect((await robot.reply()).status).toBe(200);
    });

    /** The automatic reply of a program: its address, its reverse path, and further fields. */
    type Answerer = (count: number) => { from: string; reversePath: string; headers?: string[] };

    /** The number of mails that an agent writes to a program if both reply to everything, over SMTP. */
    async function roundsWith(answerer: Answerer): Promise<{ sent: number; code: string }> {
      const { id, address } = await unlimited.inbox();
      const before = other.mails.length;
      const { body: first } = await send(unlimited, id, { to: answerer(0).from }, { waits: true });
      for (let count = 1; count <= 20; count += 1) {
        const ours = other.mails.at(-1)?.raw.toString() ?? "";
        const { from, reversePath, headers = [] } = answerer(count);
        const inReplyTo = /^Message-ID: <(.*)>/m.exec(ours)?.[1] ?? "";
        const mail = {
          from,
          to: address,
          subject: "Ticket",
          messageId: `${id}-${count}@robot.example`,
          inReplyTo,
          headers,
        };
        expect(await unlimited.deliver(mailOf(mail), address, reversePath)).toStartWith("250");
        const { threadId } = first;
        const reply = await send(unlimited, id, { to: from, threadId, subject: undefined }, { waits: true });
        if (reply.status !== 200) return { sent: other.mails.length - before, code: reply.body.code };
      }
      return { sent: other.mails.length - before, code: "goes on" };
    }

    const robot = "robot@example.com";
    const autoReplied = ["Auto-Submitted: auto-replied"];
    const programs: [string, Answerer, string][] = [
      [
        "Precedence: bulk beside no reverse path",
        () => ({ from: robot, reversePath: "", headers: ["Precedence: bulk"] }),
        "stops",
      ],
      [
        "Precedence: junk beside no reverse path",
        () => ({ from: robot, reversePath: "", headers: ["Precedence: junk"] }),
        "stops",
      ],
      ["Precedence: bulk alone", () => ({ from: robot, reversePath: robot, headers: ["Precedence: bulk"] }), "stops"],
      [
        "the fields of a list beside Auto-Submitted",
        () => ({
          from: robot,
          reversePath: robot,
          headers: ["List-Id: <a.example>", "Auto-Submitted: auto-generated"],
        }),
        "stops",
      ],
      [
        "another tag each time",
        (count) => ({ from: `ticket+${count}@example.com`, reversePath: robot, headers: autoReplied }),
        "stops",
      ],
      [
        "another number each time",
        (count) => ({ from: `ticket-${count}.a${count * 7}@example.com`, reversePath: "", headers: [] }),
        "stops",
      ],
      [
        "the fields of a list alone, which goes on",
        () => ({ from: robot, reversePath: robot, headers: ["List-Id: <a.example>"] }),
        "goes on",
      ],
      [
        "an address that takes no answers, goes on",
        () => ({ from: "no-reply@example.com", reversePath: robot }),
        "goes on",
      ],
    ];
    test.each(programs)("a program that replies with %s", async (_, answerer, outcome) => {
      const { sent, code } = await roundsWith(answerer);
      expect([sent, code]).toEqual(outcome === "stops" ? [3, "loop_detected"] : [21, "goes on"]);
    });

    test.each([
      ["to ourselves", "own address", "sender", 3],
      ["to somebody who sends them back", "robot@example.com", "sender", 4],
      ["to somebody who sends them back, and whom the agent names,", "robot@example.com", "recipient", 3],
    ] as const)("our own mails %s stop after three", async (_, to, answered, stopsAfter) => {
      const { id, address } = await unlimited.inbox();
      const inbound = async () => (await unlimited.api(`/v1/inboxes/${id}/messages?direction=inbound`)).body;
      let sentBack = other.mails.length;
      const { body: first } = await send(unlimited, id, { to: to === "own address" ? address : to }, { waits: true });
      let code = "goes on";
      for (let count = 1; count <= 20 && code === "goes on"; count += 1) {
        for (const { raw } of other.mails.slice(sentBack)) {
          expect(await unlimited.deliver(raw, address, "robot@example.com")).toStartWith("250");
          sentBack += 1;
        }
        const { data } = await untilAnswered(async () => {
          const page = await inbound();
          return page.total === count ? page : undefined;
        });
        const reply = {
          to: answered === "sender" ? data[0].fromAddr : to,
          threadId: first.threadId,
          subject: undefined,
        };
        const { status, body } = await send(unlimited, id, reply, { waits: true });
        if (status !== 200) code = body.code;
      }
      expect([(await inbound()).total, code]).toEqual([stopsAfter, "loop_detected"]);
    });

    test("a mail by a person in between resets the count", async () => {
      const robot = await withRobot(world);
      for (let echo = 1; echo <= 3; echo += 1) await robot.answers();
      expect((await robot.reply()).body.code).toBe("loop_detected");
      const person = mailOf({ from: "robot@example.com", to: robot.inbox.address, messageId: "person@example.com" });
      const { body } = await world.api(`/v1/inboxes/${robot.inbox.id}/messages?direction=outbound`);
      const threaded = person.replace("\r\n\r\n", `\r\nIn-Reply-To: ${body.data[0].rfcMessageId}\r\n\r\n`);
      expect(await world.deliver(threaded, robot.inbox.address)).toStartWith("250");
      expect((await robot.reply()).status).toBe(200);
      await robot.answers();
      expect((await robot.reply()).status).toBe(200);
    });

    test("a ticket system that writes hours later never counts", async () => {
      const robot = await withRobot(world);
      for (let told = 1; told <= 6; told += 1) {
        world.clock.pass(2 * hourMs);
        await robot.tells(["Auto-Submitted: auto-generated", "X-Auto-Response-Suppress: All"], "[A-1] Hello");
        expect((await robot.reply()).status).toBe(200);
      }
    });

    test("50 replies at the same time are judged alike, also over two processes", async () => {
      await using world = await start({ env: { SENDS_PER_DAY: "0", COLD_RECIPIENT_DAILY: "0" } });
      await using second = engine === "postgres" ? await world.another() : undefined;
      const robot = await withRobot(world);
      const fifty = () =>
        Promise.all(
          Array.from({ length: 50 }, (_, index) => robot.parallel(index % 2 === 0 ? world : (second ?? world))),
        );
      await robot.answers();
      await robot.answers();
      world.clock.pass(2 * minuteMs);
      expect(tally(await fifty())).toEqual({ "200": 10, "429 rate_limit_exceeded": 40 });
      world.clock.pass(2 * minuteMs);
      await robot.answers();
      expect(tally(await fifty())).toEqual({ "429 loop_detected": 50 });
    });

    test("LOOP_ECHOES is a number, one for each plan, or 0 for no limit", async () => {
      await using world = await start({ env: { LOOP_ECHOES: "1,enterprise=0" } });
      const robot = await withRobot(world);
      await robot.answers();
      const { body } = await robot.reply();
      expect([body.code, body.limit, body.used]).toEqual(["loop_detected", 1, 1]);
      await using without = await start({ env: { LOOP_ECHOES: "0" } });
      const echoed = await withRobot(without);
      for (let echo = 1; echo <= 4; echo += 1) await echoed.answers();
      expect((await echoed.reply()).status).toBe(200);
    });

    test("two agents of this service that declare themselves stop each other", async () => {
      const ada = await world.inbox();
      const bob = await world.inbox();
      const newest = async (of: WorldInbox, count: number) => {
        const { body } = await world.api(`/v1/inboxes/${of.id}/messages?direction=inbound`);
        return body.total === count ? body.data[0] : undefined;
      };
      await send(world, ada.id, { to: bob.address, autoSubmitted: "auto-generated" });
      const answered: string[] = [];
      const counts = new Map([
        [ada, 0],
        [bob, 0],
      ]);
      for (let [from, to] = [bob, ada]; answered.at(-1) !== "loop_detected"; [from, to] = [to, from]) {
        const count = (counts.get(from) ?? 0) + 1;
        counts.set(from, count);
        const { threadId, automated } = await untilAnswered(() => newest(from, count));
        expect(automated).not.toBeNull();
        const reply = await send(world, from.id, { to: to.address, threadId, autoSubmitted: "auto-replied" });
        answered.push(reply.status === 200 ? "sent" : reply.body.code);
      }
      // Bob replies three times, Ada twice, because the first mail was not a reply.
      expect(answered).toEqual(["sent", "sent", "sent", "sent", "sent", "loop_detected"]);
    });

    test("a request without these fields has the same fingerprint as one with their defaults", async () => {
      const { id } = await world.inbox();
      const asked = { to: "jane@example.com", subject: "Hello", body: "Hello Jane" };
      const once = (more: object) => send(world, id, { ...asked, ...more }, { key: "once" });
      expect((await once({})).status).toBe(200);
      const [row] = await query<{ fingerprint: string }>(
        world.service.deps.db.api,
        sql`select fingerprint from idempotency_keys where key = 'once'`,
      );
      const canonical = `${id}\n{"body":"Hello Jane","includeQuote":true,"subject":"Hello","to":"jane@example.com"}`;
      expect(row?.fingerprint).toBe(createHash("sha256").update(canonical).digest("hex"));
      expect((await once({ ignoreLoop: false })).headers.get("idempotent-replayed")).toBe("true");
      expect((await once({ ignoreLoop: true })).body.code).toBe("idempotency_key_reused");
      expect((await once({ autoSubmitted: "auto-replied" })).body.code).toBe("idempotency_key_reused");
    });

    test("autoSubmitted is one of two words", async () => {
      const { id } = await world.inbox();
      const { status, body } = await send(world, id, { autoSubmitted: "no" });
      expect([status, body.code, body.errors[0].pointer]).toEqual([400, "validation_error", "#/autoSubmitted"]);
      const { body: sent } = await send(world, id, { autoSubmitted: "auto-generated" });
      const raw = await (await world.fetch(`/v1/messages/${sent.messageId}/raw`)).text();
      expect(raw).toContain("\r\nAuto-Submitted: auto-generated\r\nX-Auto-Response-Suppress: OOF, AutoReply\r\n");
      const { body: plain } = await send(world, id);
      expect(await (await world.fetch(`/v1/messages/${plain.messageId}/raw`)).text()).not.toContain("Auto");
    });
  });
}
