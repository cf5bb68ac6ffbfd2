import { beforeAll, describe, expect, test } from "bun:test";
import { DatabaseUnavailable, type Db, openDatabase } from "../../../src/database/db.ts";
import { service } from "../../../src/domain/access/actor.ts";
import { deleteInbox } from "../../../src/flows/account/delete-inbox.ts";
import { localChanges, sharedChanges } from "../../../src/flows/changes.ts";
import type { WaitResult } from "../../../src/flows/read/wait-for-mail.ts";
import { enginesHere } from "../../support/engines.ts";
import { failureOf } from "../../support/failure.ts";
import { outboxWorld } from "../../support/outbox-world.ts";
import { setUpEngine } from "../../support/set-up-engine.ts";
import { until } from "../../support/until.ts";
import { raceOfWaits } from "../../support/wait-race.ts";
import { deafChanges, waitsOn } from "../../support/waits.ts";
import { watchedDb } from "../../support/watched-db.ts";

const subjectOf = (result: WaitResult) => (result.end === "found" ? result.message.subject : result.end);
const code = (number: number) => ({ bodyText: `Your code ${number}` });

describe.each(enginesHere())("Waiting for mail (%s)", (engine) => {
  const under = setUpEngine(engine);
  let world: Awaited<ReturnType<typeof outboxWorld>>;
  beforeAll(async () => {
    world = await outboxWorld(under.db);
  });

  /** The database with a callback before and after each statement. An error thrown before it is like a failure of the database. */
  const watched = (onStatement: (text: string) => unknown, onAnswer: (text: string) => unknown = () => undefined) => {
    const on = (db: Db) =>
      watchedDb(
        db,
        ({ text }) => onStatement(text),
        ({ text }) => onAnswer(text),
      );
    return { ...under.db, api: on(under.db.api), work: on(under.db.work) };
  };
  const isRead = (text: string) => text.includes('as "lastNumber"');

  test("finds each of 300 mails that arrive just before, during and just after the start of a wait", async () => {
    const waits = waitsOn(world);
    const { missed, tookMs } = await raceOfWaits({ world, waits, rounds: 300 });
    expect([missed, tookMs.length, waits.count()]).toEqual([[], 300, 0]);
  }, 60_000);

  test("finds each of 60 mails, even if every notification is lost", async () => {
    const waits = waitsOn(world, { changes: deafChanges });
    const { missed, tookMs } = await raceOfWaits({ world, waits, rounds: 60 });
    expect([missed, tookMs.length, waits.count()]).toEqual([[], 60, 0]);
  }, 60_000);

  test.skipIf(engine === "embedded")(
    "finds mail received by another process, with or without a notification",
    async () => {
      const other = await openDatabase(under.options);
      const waiter = await outboxWorld(other);
      const [told, heard] = [await sharedChanges(world.deps), await sharedChanges(waiter.deps)];
      const sender = await outboxWorld(under.db, { deps: { changes: told } });
      for (const changes of [heard, deafChanges]) {
        const { missed } = await raceOfWaits({ world: sender, waits: waitsOn(waiter, { changes }), rounds: 40 });
        expect(missed).toEqual([]);
      }
      await Promise.all([told.close(), heard.close()]);
      await other.close();
    },
    60_000,
  );

  test("returns the newest mail at first, and after a seen number only newer ones", async () => {
    const waits = waitsOn(world);
    const inbox = await world.newInbox();
    await world.receive(inbox, code(111));
    world.clock.pass(20_000);
    const asked = { hasCode: true };
    const { seen } = await waits.wait(inbox, { timeoutMs: 0 });
    const sentAgain = waits.wait(inbox, { ...asked, seen });
    await world.receive(inbox, { bodyText: "We have sent it again" });
    await world.receive(inbox, code(222));
    const behind = await sentAgain;
    expect(behind.end === "found" && behind.message.bodyText).toBe("Your code 222");
    const newest = await waits.wait(inbox, asked);
    expect(newest.end === "found" && newest.message.bodyText).toBe("Your code 222");
    expect(newest.seen).toBe(3);
  });

  test("searches the newest 1,000 at first, and after a seen number all", async () => {
    const waits = waitsOn(world);
    const inbox = await world.newInbox();
    await world.receive(inbox, { subject: "The first" });
    for (let sent = 0; sent < 1000; sent += 100) {
      await Promise.all(Array.from({ length: 100 }, () => world.receive(inbox, { subject: "Others" })));
    }
    const asked = { subject: "the first", timeoutMs: 0 };
    expect(await waits.wait(inbox, asked)).toEqual({ end: "timeout", seen: 1001 });
    expect(await waits.wait(inbox, { ...asked, seen: 0 })).toMatchObject({ end: "found", seen: 1 });
    expect(await waits.wait(inbox, { ...asked, subject: "nothing", seen: 0 })).toEqual({
      end: "timeout",
      seen: 1001,
    });
  }, 60_000);

  test("gives all mail in order to each of two loops whose waits are aborted again and again", async () => {
    const inbox = await world.newInbox();
    const count = 200;
    const loop = async () => {
      const found: string[] = [];
      let seen = 0;
      let waits = waitsOn(world);
      for (let asked = 0; found.length < count; asked += 1) {
        // A wait whose time ended before the database answered is repeated, as after a 503.
        const waiting = waits.wait(inbox, { seen, timeoutMs: (asked * 7) % 20 }).catch((error: unknown) => {
          if (error instanceof DatabaseUnavailable) return { end: "timeout" as const, seen };
          throw error;
        });
        // Like a process that ends its waits, with another one that takes over.
        if (asked % 5 === 0) {
          waits.stop();
          waits = waitsOn(world);
        }
        const result = await waiting;
        seen = result.seen;
        if (result.end === "found") found.push(result.message.subject);
      }
      return found;
    };
    const loops = Promise.all([loop(), loop()]);
    for (let mail = 0; mail < count; mail += 1) await world.receive(inbox, { subject: `Queue ${mail}` });
    const wanted = Array.from({ length: count }, (_, mail) => `Queue ${mail}`);
    expect(await loops).toEqual([wanted, wanted]);
  }, 60_000);

  test("examines a mail once for many waits, and reads its inbox once", async () => {
    const inbox = await world.newInbox();
    const looked: string[] = [];
    const reads: string[] = [];
    const answered: string[] = [];
    const db = watched(
      (text) => isRead(text) && reads.push(text),
      (text) => isRead(text) && answered.push(text),
    );
    const extract = async (_account: string, { id }: { id: string }) => {
      looked.push(id);
      return { codes: [{}], links: [] };
    };
    const waits = waitsOn(world, { db, extract });
    const waiting = Array.from({ length: 50 }, () => waits.wait(inbox, { hasCode: true }));
    // One read for each wait before it sleeps, and more if a read finds the mail itself.
    await until(() => answered.length === 50);
    await world.receive(inbox, code(1));
    const results = await Promise.all(waiting);
    expect(new Set(results.map(subjectOf)).size).toBe(1);
    expect(looked).toHaveLength(1);
    expect(reads.length).toBeLessThanOrEqual(52);
  });

  test.each([
    ["a client that has left", 30_000],
    ["a client that has left and only looked", 0],
    ["a wait whose time is over", 20],
  ])("examines no other mail for %s", async (_, timeoutMs) => {
    const inbox = await world.newInbox();
    for (let mail = 0; mail < 5; mail += 1) await world.receive(inbox, { subject: `Without ${mail}` });
    const leaving = new AbortController();
    const isOver = Promise.withResolvers<void>();
    const looked: string[] = [];
    const waits = waitsOn(world, {
      async extract(_account, { subject }) {
        looked.push(subject);
        if (looked.length === 2 && timeoutMs !== 20) leaving.abort();
        if (looked.length === 2) await isOver.promise;
        return { codes: [], links: [] };
      },
    });
    const waiting = waits.wait(inbox, { hasCode: true, timeoutMs, signal: leaving.signal });
    if (timeoutMs !== 0) await waiting;
    isOver.resolve();
    await waiting;
    // Runs after all statements in progress.
    expect((await waits.wait(inbox, { timeoutMs: 0, subject: "Without 4" })).end).toBe("found");
    expect(looked).toEqual(["Without 4", "Without 3"]);
  });

  test("runs one statement a second for all inboxes with waits", async () => {
    const inboxes = await Promise.all(Array.from({ length: 30 }, () => world.newInbox()));
    const seen: string[] = [];
    const waits = waitsOn(world, { db: watched((text) => void seen.push(text)), changes: deafChanges });
    const waiting = inboxes.map((inbox) => waits.wait(inbox));
    await until(() => seen.filter(isRead).length === 30);
    seen.length = 0;
    await until(() => seen.length === 2);
    expect(seen.every((text) => text.includes("unnest"))).toBe(true);
    waits.stop();
    await Promise.all(waiting);
  });

  test("continues while the database is unavailable, and reports it at its end if it never answered", async () => {
    const inbox = await world.newInbox();
    let isAway = true;
    let tried = 0;
    const db = watched(() => {
      tried += 1;
      if (isAway) throw new DatabaseUnavailable("away");
    });
    const waits = waitsOn(world, { db });
    expect(await failureOf(waits.wait(inbox, { timeoutMs: 100 }))).toBeInstanceOf(DatabaseUnavailable);
    expect(await failureOf(waits.wait(inbox, { timeoutMs: 0 }))).toBeInstanceOf(DatabaseUnavailable);
    const waiting = waits.wait(inbox);
    const before = tried;
    await until(() => tried > before + 1);
    await world.receive(inbox, { subject: "Meanwhile" });
    isAway = false;
    expect(subjectOf(await waiting)).toBe("Meanwhile");
    // A wait that has seen the inbox once ends with a time-out.
    const { seen } = await waits.wait(inbox, { timeoutMs: 0 });
    const read = tried;
    const later = waits.wait(inbox, { seen, timeoutMs: 1500 });
    await until(() => tried >= read + 2);
    isAway = true;
    expect(await later).toEqual({ end: "timeout", seen });
    expect(waits.count()).toBe(0);
  }, 30_000);

  test("ends at once if its client disconnects, and with the next look if its inbox is deleted", async () => {
    const inbox = await world.newInbox();
    const waits = waitsOn(world, { changes: deafChanges });
    const gone = new AbortController();
    const waiting = waits.wait(inbox, { signal: gone.signal });
    await until(() => waits.count() === 1);
    gone.abort();
    expect((await waiting).end).toBe("gone");
    expect(waits.count()).toBe(0);
    expect((await waits.wait(inbox, { signal: gone.signal })).end).toBe("gone");
    const deaf = waits.wait(inbox);
    await until(() => waits.count() === 1);
    await deleteInbox(
      { ...world.deps, changes: localChanges() },
      { accountId: inbox.accountId, actor: service },
      inbox.id,
    );
    expect(await failureOf(deaf)).toMatchObject({ reason: "not_found", details: { extra: { resource: "inbox" } } });
  });

  test("matches links by kind, and attachments", async () => {
    const inbox = await world.newInbox();
    const waits = waitsOn(world);
    const waiting = waits.wait(inbox, { hasLink: true });
    await world.receive(inbox, { subject: "Bare", bodyText: "https://example.com" });
    await world.receive(inbox, { subject: "Verify", bodyText: "https://example.com/verify" });
    expect(subjectOf(await waiting)).toBe("Verify");
    expect(subjectOf(await waits.wait(inbox, { hasAttachment: true, timeoutMs: 0 }))).toBe("timeout");
  });

  test("keeps 2,000 waits apart, and removes them all at their end", async () => {
    const waits = waitsOn(world);
    const inbox = await world.newInbox();
    const other = await world.newInbox(inbox.accountId);
    const gone = new AbortController();
    const waiting = Array.from({ length: 2000 }, () => waits.wait(other, { signal: gone.signal, timeoutMs: 60_000 }));
    const found = waits.wait(inbox);
    await until(() => waits.count() === 2001);
    await world.receive(inbox);
    expect((await found).end).toBe("found");
    gone.abort();
    expect(new Set((await Promise.all(waiting)).map(({ end }) => end))).toEqual(new Set(["gone"]));
    expect(waits.count()).toBe(0);
  }, 30_000);
});
