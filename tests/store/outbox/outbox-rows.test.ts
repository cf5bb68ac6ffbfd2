import { beforeEach, describe, expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import { openDatabase, query } from "../../../src/database/db.ts";
import { findActivity } from "../../../src/store/mail/search.ts";
import { claimStatement } from "../../../src/store/outbox/claim-statement.ts";
import {
  type Claim,
  type ClaimedItem,
  type ClaimedRow,
  claimedFields,
  claimedOf,
  type Pace,
} from "../../../src/store/outbox/claims.ts";
import { settleDeliveries } from "../../../src/store/outbox/delivery-settlements.ts";
import type { NewOutboxItem } from "../../../src/store/outbox/items.ts";
import { kinds } from "../../../src/store/outbox/kinds.ts";
import {
  claimReady,
  insertOutboxItems,
  markDueReady,
  markLanesReady,
  releaseItems,
  renewLeases,
} from "../../../src/store/outbox/outbox-rows.ts";
import { settleRelays } from "../../../src/store/send/relaying.ts";
import { enginesHere } from "../../support/engines.ts";
import { setUpEngine } from "../../support/set-up-engine.ts";
import { untilSo } from "../../support/until.ts";

const start = new Date("2026-03-21T10:05:00.000Z");
const after = (ms: number) => new Date(start.getTime() + ms);
const leaseMs = 30_000;
const noShares = { accounts: [], othersSlots: { brisk: 100, slow: 100, doubtful: 100 } };

for (const engine of enginesHere()) {
  describe(`The line of the outbox, with the ${engine} database`, () => {
    const under = setUpEngine(engine);
    let rows = 0;
    beforeEach(async () => {
      await query(under.db.work, sql`truncate outbox, deliveries`);
    });

    /**
     * Rows one millisecond apart: `"A1 A1 B2 A3:x"` are two of lane A, inbox 1, one of lane B, inbox 2, and one of lane A, inbox 3 of
     * account x. The account is the lane's where there is no other.
     */
    async function line(names: string, kind: NewOutboxItem["kind"] = "webhook"): Promise<string[]> {
      const items = names.split(" ").map((name) => {
        rows += 1;
        const subjectId = `${kinds[kind].idPrefix}${String(rows).padStart(8, "0")}`;
        return {
          subjectId,
          kind,
          eventId: kind === "webhook" ? subjectId : null,
          accountId: name.split(":")[1] ?? name.slice(0, 1),
          inboxId: name.slice(1).split(":")[0] ?? "",
          lane: name.slice(0, 1),
          dueAt: start,
          createdAt: after(rows),
        };
      });
      await insertOutboxItems(under.db.work, items);
      return items.map(({ subjectId }) => subjectId);
    }

    let claimNumber = 0;
    function claimOf(own: Partial<Claim>): Claim {
      claimNumber += 1;
      return {
        kind: kinds.webhook,
        claimer: 1,
        limit: 100,
        leasedUntil: after(leaseMs),
        lanes: [],
        strangers: true,
        ...noShares,
        newest: true,
        sweepAfter: "",
        claimNumber,
        ...own,
      };
    }
    const claim = async (own: Partial<Claim> = {}, db = under.db.work) => (await claimReady(db, claimOf(own))).items;

    /** A lane whose rows are of the account with its name. */
    const known = (lane: string, slots: number, lastInboxId = "", pace: Pace = "brisk") => ({
      lane,
      slots,
      pace,
      lastAccountId: lane,
      lastInboxes: { [lane]: lastInboxId },
    });
    const placesOf = (items: { lane: string; inboxId: string }[]) => items.map(({ lane, inboxId }) => lane + inboxId);
    const idsOf = (items: { subjectId: string }[]) => items.map(({ subjectId }) => subjectId);
    const states = () =>
      query<{ id: string; state: string; attempt: number; dueAt: Date }>(
        under.db.work,
        sql`select subject_id as id, state, attempt, due_at as "dueAt" from outbox order by subject_id`,
      );

    test("gives each row to one claim, with its attempt counted and a lease", async () => {
      const [id = ""] = await line("A1");
      const [item] = await claim();
      expect(item).toMatchObject({ subjectId: id, attempt: 1, lane: "A", inboxId: "1", forgivenAttempts: 0 });
      expect(await claim()).toEqual([]);
      expect(await states()).toEqual([{ id, state: "running", attempt: 1, dueAt: after(leaseMs) }]);
    });

    test("gives the rows of an inbox in the order of arrival", async () => {
      const ids = await line(Array(30).fill("A1").join(" "));
      const taken: string[] = [];
      for (let count = 0; count < 6; count += 1) taken.push(...idsOf(await claim({ lanes: [known("A", 5)] })));
      expect(taken).toEqual(ids);
    });

    test("gives a lane no more than its slots, a stranger one row, and a blocked lane none", async () => {
      await line("A1 A2 A3 B1 B2 C1 C2");
      const items = await claim({ lanes: [known("A", 2), known("B", 0)] });
      expect(items.map(({ lane }) => lane).sort()).toEqual(["A", "A", "C"]);
      expect(await claim({ lanes: [known("A", 0), known("B", 0)], strangers: false })).toEqual([]);
    });

    test("passes by the accounts that have their share, whether their rows are old or new, and gives the others theirs", async () => {
      await line("A1:full A2:other B1:full C1:full C2:other", "relay");
      const lanes = [known("A", 5), known("B", 5)];
      const accounts = [{ accountId: "full", pace: "brisk" as const, inHand: 9, slots: 0 }];
      const narrow = [{ ...known("A", 1), lastAccountId: "" }];
      const [first] = await claim({ kind: kinds.relay, lanes: narrow, strangers: false, newest: false, accounts });
      expect(first).toMatchObject({ lane: "A", inboxId: "2" });
      await query(under.db.work, sql`update outbox set state = 'ready', attempt = 0`);
      const passingBy = await claim({ kind: kinds.relay, lanes, accounts });
      expect(placesOf(passingBy).sort()).toEqual(["A2", "C2"]);
      expect(await claim({ kind: kinds.relay, lanes, newest: false, accounts })).toEqual([]);
      expect(placesOf(await claim({ kind: kinds.relay, lanes })).sort()).toEqual(["A1", "B1", "C1"]);
    });

    test("gives an account no more than its share of the lanes of one pace, and others theirs", async () => {
      await line("A1:x A2:x A3:x A4:x A5:y A6:y A7:y B1:x B2:x B3:y", "relay");
      const lanes = [known("A", 20), known("B", 20, "", "slow")];
      const accounts = [
        { accountId: "x", pace: "brisk" as const, inHand: 5, slots: 3 },
        { accountId: "x", pace: "slow" as const, inHand: 9, slots: 1 },
      ];
      const othersSlots = { brisk: 2, slow: 100, doubtful: 100 };
      const items = await claim({ kind: kinds.relay, lanes, accounts, othersSlots });
      const taken = items.map(({ lane, accountId }) => lane + accountId).sort();
      expect(taken).toEqual(["Ax", "Ax", "Ax", "Ay", "Ay", "Bx", "By"]);
    });

    test("lets the accounts of a lane take turns, and the inboxes of each", async () => {
      const busy = Array.from({ length: 100 }, (_, number) => `A${String(number).padStart(3, "0")}:busy`);
      await line([...busy, ...busy, "Azzz:quiet", "Azzz:quiet", "A1:another", "A1:another"].join(" "), "parse");
      const taken: string[] = [];
      let last = { ...known("A", 1), lastAccountId: "busy", lastInboxes: {} };
      for (let count = 0; count < 8; count += 1) {
        const [item] = await claim({ kind: kinds.parse, lanes: [last], newest: false });
        if (item === undefined) throw new Error("Not claimed");
        taken.push(`${item.accountId} ${item.inboxId}`);
        const lastInboxes = { ...last.lastInboxes, [item.accountId]: item.inboxId };
        last = { ...last, lastAccountId: item.accountId, lastInboxes };
      }
      expect(taken).toEqual([
        "quiet zzz",
        "another 1",
        "busy 000",
        "quiet zzz",
        "another 1",
        "busy 001",
        "busy 002",
        "busy 003",
      ]);
    });

    test("passes by an account of which each inbox must wait, and takes the next one's", async () => {
      await line("A1:x A1:x A2:x A2:x A3:y A3:y", "relay");
      const lane = { ...known("A", 1), lastAccountId: "", lastInboxes: {} };
      const next = async () => placesOf(await claim({ kind: kinds.relay, lanes: [lane], newest: false }));
      expect([await next(), await next(), await next(), await next()]).toEqual([["A1"], ["A2"], ["A3"], []]);
    });

    test("fills the slots of a lane, however unevenly its accounts have rows", async () => {
      await line(`A1:x A2:y ${Array.from({ length: 30 }, (_, number) => `A${100 + number}:z`).join(" ")}`, "relay");
      const items = await claim({ kind: kinds.relay, lanes: [known("A", 20)], newest: false });
      expect(Map.groupBy(items, ({ accountId }) => accountId).get("z")).toHaveLength(18);
    });

    test("takes rows of the account with the fewest under way first, whatever lanes they are in", async () => {
      const busy = Array.from({ length: 50 }, (_, number) => String.fromCodePoint(0x100 + number));
      await line(`${busy.map((lane) => `${lane}1:busy`).join(" ")} A1:quiet A2:quiet B1:another`, "relay");
      const accounts = [{ accountId: "busy", pace: "brisk" as const, inHand: 1, slots: 50 }];
      const claimOf = async (limit: number) => {
        const items = await claim({ kind: kinds.relay, limit, lanes: [known("A", 5)], accounts });
        return items.map(({ accountId }) => accountId).sort();
      };
      expect(await claimOf(2)).toEqual(["another", "quiet"]);
      expect(await claimOf(3)).toEqual(["busy", "busy", "quiet"]);
    });

    test("gives no more than asked for, and each lane its first before any its second", async () => {
      await line("A1 A1 A1 B1 B1 B1 C1 C1 C1");
      const lanes = [known("A", 3), known("B", 3), known("C", 3)];
      expect(placesOf(await claim({ limit: 3, lanes })).sort()).toEqual(["A1", "B1", "C1"]);
    });

    test("lets the inboxes of a lane take turns", async () => {
      await line(`${Array(200).fill("A1").join(" ")} A2 A3 A4`);
      const taken: string[] = [];
      let last = "";
      for (let count = 0; count < 8; count += 1) {
        const items = await claim({ lanes: [known("A", 1, last)] });
        last = items.findLast(({ turn }) => turn !== null)?.inboxId ?? last;
        taken.push(...placesOf(items));
      }
      expect(new Set(taken)).toEqual(new Set(["A1", "A2", "A3", "A4"]));
    });

    test("lets new mail pass an old crowd of other inboxes, but not what its own inbox has before it", async () => {
      const crowd = Array.from({ length: 300 }, (_, number) => `A${String(number).padStart(4, "0")}`).join(" ");
      await line(crowd);
      const fresh = await line("A9998 A9999 A9999");
      const taken: string[] = [];
      for (let count = 0; count < 4; count += 1) taken.push(...idsOf(await claim({ lanes: [known("A", 2, "0100")] })));
      expect(taken).toContain(fresh[0] ?? "");
      expect(taken.indexOf(fresh[1] ?? "")).not.toBe(-1);
      expect(taken.indexOf(fresh[1] ?? "")).toBeLessThan(
        taken.includes(fresh[2] ?? "") ? taken.indexOf(fresh[2] ?? "") : 99,
      );
    });

    test("is walked along lane by lane by a sweep, past any number of blocked ones", async () => {
      const lanes = Array.from({ length: 200 }, (_, number) => String.fromCodePoint(0x100 + number));
      await line(lanes.map((lane) => `${lane}1`).join(" "));
      // Of the newest rows all are blocked too: only the walk can find the one that is not.
      const blocked = lanes.filter((_, number) => number !== 150).map((lane) => known(lane, 0));
      let sweepAfter: string | undefined = "";
      const taken: string[] = [];
      while (sweepAfter !== undefined) {
        const claimed = await claimReady(under.db.work, {
          kind: kinds.webhook,
          claimer: 1,
          limit: 10,
          leasedUntil: after(leaseMs),
          lanes: blocked,
          strangers: true,
          ...noShares,
          newest: true,
          sweepAfter,
          claimNumber: 1,
        });
        sweepAfter = claimed.sweptTo;
        taken.push(...placesOf(claimed.items));
      }
      expect(taken).toEqual([`${lanes[150]}1`]);
    });

    test("gives mail to parse to whoever asks, also beside more of its inbox that is in hand, and to nobody else", async () => {
      const ids = await line("A1 A1 B1", "parse");
      expect(await claim()).toEqual([]);
      const unswept = { kind: kinds.parse, sweepAfter: undefined };
      expect(idsOf(await claim(unswept))).toEqual([String(ids[0]), String(ids[2])]);
      expect(idsOf(await claim({ ...unswept, claimer: 2 }))).toEqual([String(ids[1])]);
    });

    test("gives mail of one inbox in one lane one by one", async () => {
      const ids = await line("A1 A1 A2 B1", "relay");
      const lanes = [known("A", 9), known("B", 9)];
      const first = await claim({ kind: kinds.relay, lanes });
      expect(idsOf(first).sort()).toEqual([ids[0], ids[2], ids[3]].map(String).sort());
      expect(idsOf(first.filter(({ hasMore }) => hasMore))).toEqual([String(ids[0])]);
      expect(await claim({ kind: kinds.relay, lanes })).toEqual([]);
      const [sent] = first.filter(({ subjectId }) => subjectId === ids[0]);
      if (sent === undefined) throw new Error("Not claimed");
      const nothing = {
        isShared: false,
        at: after(0),
        sentEventId: "evt_0",
        failedEventId: "evt_1",
        dueAt: null,
        outcomes: [],
        isUntried: false,
        isUnsure: false,
        lastError: null,
      };
      const { subjectId } = sent;
      await settleRelays(under.db.work, [{ subjectId, messageId: subjectId, attempt: 1, ...nothing }]);
      expect(idsOf(await claim({ kind: kinds.relay, lanes }))).toEqual([String(ids[1])]);
    });

    test("gives what comes later in an inbox to whoever is just starting what was before it, for two seconds", async () => {
      const ids = await line("A1");
      expect(idsOf(await claim())).toEqual(ids);
      const [later = "", elsewhere = ""] = await line("A1 A2");
      const lanes = [known("A", 9)];
      const asked = {
        kind: kinds.webhook,
        limit: 9,
        leasedUntil: after(leaseMs),
        strangers: true,
        ...noShares,
        newest: true,
      };
      const other = await claimReady(under.db.work, {
        ...asked,
        claimer: 2,
        lanes,
        sweepAfter: undefined,
        claimNumber: 1,
      });
      expect(other).toMatchObject({ items: [{ subjectId: elsewhere }], behindAnother: true, contended: false });
      expect(idsOf(await claim({ lanes }))).toEqual([later]);

      const [last = ""] = await line("A1");
      expect(await claim({ lanes, claimer: 2 })).toEqual([]);
      await query(under.db.work, sql`update outbox set claimed_at = claimed_at - interval '2001 ms'`);
      expect(idsOf(await claim({ lanes, claimer: 2 }))).toEqual([last]);
    });

    test("says whether somebody has just taken something, to those whose work can wait", async () => {
      const isCarryingOut = async () => (await findActivity(under.db.work, 1000)).isCarryingOut;
      await line("A1");
      expect(await isCarryingOut()).toBe(false);
      await claim();
      expect(await isCarryingOut()).toBe(true);
      await query(under.db.work, sql`update outbox set claimed_at = claimed_at - interval '1001 ms'`);
      expect(await isCarryingOut()).toBe(false);
    });

    test("lets any number of inboxes that are being started elsewhere be passed by", async () => {
      const inboxes = Array.from({ length: 100 }, (_, number) => String(number).padStart(3, "0"));
      await line(inboxes.map((inbox) => `A${inbox}`).join(" "));
      expect(await claim({ lanes: [known("A", 100)] })).toHaveLength(100);
      const [fresh = ""] = await line("A999");
      await line(inboxes.map((inbox) => `A${inbox}`).join(" "));
      expect(idsOf(await claim({ lanes: [known("A", 1)], claimer: 2, newest: false }))).toEqual([fresh]);
    });

    test("gives nothing of an inbox behind a row that another is taking at that moment", async () => {
      if (under.db.engine === "embedded") return; // It belongs to one process.
      const [first = "", , elsewhere = ""] = await line("A1 A1 A2");
      const lanes = [known("A", 9)];
      const taking = Promise.withResolvers<void>();
      const taken = Promise.withResolvers<void>();
      const other = under.db.work.transaction(async (tx) => {
        await query(tx, sql`select from outbox where subject_id = ${first} for update`);
        taken.resolve();
        await taking.promise;
      });
      await taken.promise;
      expect(idsOf(await claim({ lanes }))).toEqual([elsewhere]);
      taking.resolve();
      await other;
      expect(idsOf(await claim({ lanes }))).toHaveLength(2);
    });

    test("gives no row that another has taken since the claim began, and nothing of its inbox behind it", async () => {
      if (under.db.engine === "embedded") return; // It belongs to one process.
      const [first = "", , elsewhere = ""] = await line("A1 A1 A2");
      const gate = sql`pg_advisory_xact_lock(1)`;
      const opening = Promise.withResolvers<void>();
      const closed = Promise.withResolvers<void>();
      const gateKeeper = under.db.api.transaction(async (tx) => {
        await query(tx, sql`select ${gate}`);
        closed.resolve();
        await opening.promise;
      });
      await closed.promise;
      // The statement sees the table as it is now, and chooses its rows once the gate is open.
      const behindGate = sql`select ${claimedFields} from claimed where (select true from (select ${gate} offset 0) gate)`;
      const late = query<ClaimedItem & ClaimedRow>(
        under.db.work,
        claimStatement(claimOf({ lanes: [known("A", 9)] }), behindGate),
      );
      const waiting = sql`select from pg_stat_activity where datname = current_database() and wait_event = 'advisory'`;
      await untilSo(async () => (await query(under.db.work, waiting)).length === 1);
      const taken = await claim({ lanes: [known("A", 1)], claimer: 2, newest: false });
      opening.resolve();
      await gateKeeper;
      expect(idsOf(taken)).toEqual([first]);
      expect(idsOf(claimedOf(await late).items)).toEqual([elsewhere]);
    });

    test("gives no row twice to many who ask at once", async () => {
      if (under.db.engine === "embedded") return; // It belongs to one process.
      const ids = await line(
        Array.from({ length: 600 }, (_, number) => `${"ABCDEF"[number % 6]}${number % 7}`).join(" "),
      );
      const other = await openDatabase(under.options);
      const taken: string[] = [];
      const lanes = [..."ABCDEF"].map((lane) => known(lane, 20));
      for (let empty = 0; empty < 3; ) {
        const claims = await Promise.all(
          [under.db.work, other.work, under.db.work, other.work].map((db) => claim({ lanes }, db)),
        );
        taken.push(...claims.flat().map(({ subjectId }) => subjectId));
        empty = claims.flat().length === 0 ? empty + 1 : 0;
      }
      await other.close();
      expect(taken.toSorted()).toEqual(ids.toSorted());
    });

    describe("A claim", () => {
      const settle = {
        webhook: async (subjectId: string, attempt: number, dueAt: Date | null) => {
          const outcome = { eventId: subjectId, lane: "A", isForgiven: false, logged: null, answer: null };
          return (await settleDeliveries(under.db.work, [{ subjectId, attempt, dueAt, ...outcome }])).inForce;
        },
        relay: async (subjectId: string, attempt: number, dueAt: Date | null) => {
          const outcome = {
            isShared: false,
            at: after(0),
            sentEventId: "evt_0",
            failedEventId: "evt_1",
            outcomes: [],
            isUntried: false,
            isUnsure: false,
            lastError: null,
          };
          return (await settleRelays(under.db.work, [{ subjectId, messageId: subjectId, attempt, dueAt, ...outcome }]))
            .inForce;
        },
      };

      test.each(["webhook", "relay"] as const)("that was lost can change nothing any more: %s", async (kind) => {
        const [id = ""] = await line("A1", kind);
        await claim({ kind: kinds[kind] });
        await markDueReady(under.db.work, { kind: kinds[kind], now: after(leaseMs), inHand: [], leaseMs, limit: 10 });
        await claim({ kind: kinds[kind], leasedUntil: after(2 * leaseMs) });
        expect(await settle[kind](id, 1, null)).toEqual(new Set());
        expect(await settle[kind](id, 1, after(9 * leaseMs))).toEqual(new Set());
        await releaseItems(under.db.work, [{ subjectId: id, attempt: 1 }]);
        await renewLeases(under.db.work, [{ subjectId: id, attempt: 1 }], after(9 * leaseMs));
        expect(await states()).toEqual([{ id, state: "running", attempt: 2, dueAt: after(2 * leaseMs) }]);
        expect(await settle[kind](id, 2, null)).toEqual(new Set([id]));
        expect(await states()).toEqual([]);
      });

      test("of a process that died falls due at the end of its lease, and the log has the attempt", async () => {
        const [id = ""] = await line("A1");
        await claim();
        const promotion = { kind: kinds.webhook, inHand: [], leaseMs, limit: 10 };
        expect(await markDueReady(under.db.work, { ...promotion, now: after(leaseMs - 1) })).toBe(0);
        expect(await markDueReady(under.db.work, { ...promotion, now: after(leaseMs) })).toBe(1);
        expect((await states())[0]).toMatchObject({ state: "ready", attempt: 1 });
        const log = await query(
          under.db.work,
          sql`select attempt, attempted_at, status, error from deliveries where event_id = ${id}`,
        );
        expect(log).toEqual([
          {
            attempt: 1,
            attempted_at: start,
            status: null,
            error: "no outcome was recorded: the process ended during the attempt",
          },
        ]);
      });

      test("of a dead process falls due at once where only one can be alive, and what waits or is claimed here does not", async () => {
        const [orphan = "", own = "", waiting = ""] = await line("A1 B1 C1");
        await claim({ lanes: [known("A", 1)], claimer: 2 });
        await claim({ lanes: [known("B", 1), known("C", 1)], claimer: 1 });
        await settle.webhook(waiting, 1, after(2 * leaseMs));
        const promotion = { kind: kinds.webhook, now: after(1), inHand: [own], leaseMs, limit: 10 };
        expect(await markDueReady(under.db.work, promotion)).toBe(0);
        expect(await markDueReady(under.db.work, { ...promotion, onlyClaimer: 1 })).toBe(1);
        expect((await states()).map(({ id, state }) => [id, state])).toEqual([
          [orphan, "ready"],
          [own, "running"],
          [waiting, "waiting"],
        ]);
        const log = await query(under.db.work, sql`select attempted_at from deliveries where event_id = ${orphan}`);
        expect(log).toEqual([{ attempted_at: start }]);
      });

      test("that is still in hand here is not taken away by a clock that jumps", async () => {
        const [id = ""] = await line("A1");
        await claim();
        const jumped = { kind: kinds.webhook, now: after(3_600_000), inHand: [id], leaseMs, limit: 10 };
        expect(await markDueReady(under.db.work, jumped)).toBe(0);
      });

      test("that is renewed holds on, and one that is released is as if it had never been", async () => {
        const [id = ""] = await line("A1");
        await claim();
        await renewLeases(under.db.work, [{ subjectId: id, attempt: 1 }], after(5 * leaseMs));
        expect((await states())[0]).toMatchObject({ dueAt: after(5 * leaseMs) });
        await releaseItems(under.db.work, [{ subjectId: id, attempt: 1 }]);
        expect((await states())[0]).toMatchObject({ state: "ready", attempt: 0 });
      });
    });

    test("takes back what waits in lanes that answer again, the oldest first", async () => {
      const ids = await line("A1 A2 A3 B1");
      const items = await claim({ lanes: [known("A", 9), known("B", 9)] });
      const later = items.map(({ subjectId, lane, attempt }) => ({
        subjectId,
        eventId: subjectId,
        lane,
        attempt,
        dueAt: after(1_800_000),
        isForgiven: false,
        logged: null,
        answer: null,
      }));
      await settleDeliveries(under.db.work, later);
      expect(await markLanesReady(under.db.work, "webhook", ["A"], 2)).toBe(2);
      const ready = (await states()).filter(({ state }) => state === "ready").map(({ id }) => id);
      expect(ready).toEqual(ids.slice(0, 2));
    });
  });
}
