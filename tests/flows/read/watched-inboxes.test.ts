import { beforeAll, describe, expect, test } from "bun:test";
import { DatabaseUnavailable } from "../../../src/database/db.ts";
import { inboxReader, type Watcher } from "../../../src/flows/read/watched-inboxes.ts";
import type { NumberedMail } from "../../../src/store/mail/waits.ts";
import { enginesHere } from "../../support/engines.ts";
import { outboxWorld } from "../../support/outbox-world.ts";
import { setUpEngine } from "../../support/set-up-engine.ts";
import { until } from "../../support/until.ts";

interface TestWatcher extends Watcher {
  begin(): Promise<number>;
  take(mails: readonly NumberedMail[]): Promise<void>;
  fail(error: unknown): void;
}

describe.each(enginesHere())("A watched inbox (%s)", (engine) => {
  const under = setUpEngine(engine);
  let world: Awaited<ReturnType<typeof outboxWorld>>;
  beforeAll(async () => {
    world = await outboxWorld(under.db);
  });

  /** A watcher that has seen the mails up to `seen` once `goOn` is called, and remembers the mails that it gets. */
  function watcher(inboxId: string, seen: number) {
    const given: string[] = [];
    const begin = Promise.withResolvers<void>();
    const failures: unknown[] = [];
    const own: TestWatcher = {
      inboxId,
      seen: undefined,
      isBeginning: false,
      begin: () => begin.promise.then(() => seen),
      async take(mails) {
        given.push(...mails.map(({ subject }) => subject));
      },
      fail: (error) => void failures.push(error),
    };
    return { own, given, failures, goOn: begin.resolve };
  }

  async function watched() {
    const made = await world.newInbox();
    const reader = inboxReader<TestWatcher>(under.db.api, world.deps.changes, {
      begin: (one) => one.begin(),
      take: (one, mails) => one.take(mails),
      fail: (one, error) => one.fail(error),
    });
    const inbox = reader.open(made.id);
    return {
      id: made.id,
      mail: (subject: string) => world.receive(made, { subject }),
      add: (one: TestWatcher) => reader.add(inbox, one),
      remove: (one: TestWatcher) => reader.remove(inbox, one),
      read: () => reader.read(inbox),
      close: inbox.close,
    };
  }

  // Nothing looks each second here: mail comes by notifications, or not at all.
  test("gives mail that comes while a watcher begins, and no mail that it had seen by then", async () => {
    const { mail, id, ...inbox } = await watched();
    await mail("Seen");
    const one = watcher(id, 1);
    inbox.add(one.own);
    await mail("Meanwhile");
    one.goOn();
    await until(() => one.given.length > 0);
    await mail("Later");
    await until(() => one.given.length > 1);
    expect([one.given, one.failures]).toEqual([["Meanwhile", "Later"], []]);
    inbox.close();
  });

  test("gives each watcher all mail that it has not seen, in order, also more than one read returns", async () => {
    const { mail, id, ...inbox } = await watched();
    const [early, late] = [watcher(id, 0), watcher(id, 250)];
    for (const one of [early, late]) {
      inbox.add(one.own);
      one.goOn();
    }
    for (let number = 1; number <= 260; number += 1) await mail(`${number}`);
    await inbox.read();
    await until(() => early.given.at(-1) === "260" && late.given.at(-1) === "260");
    const from = (first: number) => Array.from({ length: 261 - first }, (_, index) => `${first + index}`);
    expect([early.given, late.given]).toEqual([from(1), from(251)]);
    inbox.close();
  });

  test("gives no more mail to a watcher that has left, and the same mail again to one that failed to take it", async () => {
    const { mail, id, ...inbox } = await watched();
    const [gone, unlucky] = [watcher(id, 0), watcher(id, 0)];
    let isUnlucky = true;
    const take = unlucky.own.take;
    unlucky.own.take = (mails) => {
      if (!isUnlucky) return take(mails);
      isUnlucky = false;
      return Promise.reject(new DatabaseUnavailable("away"));
    };
    inbox.add(gone.own);
    inbox.add(unlucky.own);
    for (const one of [gone, unlucky]) one.goOn();
    await mail("One");
    await until(() => gone.given.length === 1);
    inbox.remove(gone.own);
    await mail("Two");
    await until(() => unlucky.given.length === 2);
    expect([gone.given, unlucky.given, unlucky.failures]).toEqual([["One"], ["One", "Two"], []]);
    inbox.close();
  });
});
