import { describe, expect, test } from "bun:test";
import { enginesHere } from "../support/engines.ts";
import { scriptedSmtp } from "../support/scripted-smtp.ts";
import { newInbox, send } from "../support/sends.ts";
import { watchesClock } from "../support/watches-clock.ts";
import type { World } from "../support/world.ts";
import { worldsOn } from "../support/world-on.ts";

const mails = Number(process.env.OUTAGE_MAILS ?? 1000);
const inboxCount = 20;
const minute = 60_000;
const relayHost = "127.0.0.2";

describe.each(enginesHere())("a relay that is down for an hour (%s)", (engine) => {
  const startWorld = worldsOn(engine);
  // The embedded database has one connection for all attempts.
  const pending = engine === "embedded" ? mails / 5 : mails;

  test(`${pending} mails wait, and are sent once, in order, over few connections, when it is back`, {
    ...watchesClock,
    timeout: 300_000,
  }, async () => {
    // A closed port, until the relay is back. Its address is one that no other test uses, or a relay of another test might get the port.
    const before = await scriptedSmtp({}, relayHost);
    await before.close();
    await using world = await startWorld({
      env: {
        OUTBOUND: `smtp://${relayHost}:${before.port}?tls=off`,
        SENDS_PER_MINUTE: "0",
        SENDS_PER_DAY: "0",
        COLD_RECIPIENT_DAILY: "0",
      },
    });
    const inboxIds: string[] = [];
    for (let count = 0; count < inboxCount; count += 1) inboxIds.push(await newInbox(world));

    const early = await sendAll(world, inboxIds, 0, pending / 2);
    for (let passed = 0; passed < 60; passed += 5) {
      world.clock.pass(5 * minute);
      await look(world);
    }
    const late = await sendAll(world, inboxIds, pending / 2, pending);
    expect(await waiting(world)).toBe(pending);
    // The waiting mails do not make accepting slower.
    expect(late.medianMs).toBeLessThan(early.medianMs * 4 + 20);

    let most = 0;
    const relay = await scriptedSmtp(
      {
        answer: () => {
          most = Math.max(most, relay.open());
          return undefined;
        },
      },
      relayHost,
      before.port,
    );
    while ((await waiting(world)) > 0) {
      world.clock.pass(minute);
      await look(world);
      expect(world.clock.now().getTime()).toBeLessThan(Date.parse("2026-03-23T00:00:00.000Z"));
    }
    expect(relay.mails).toHaveLength(pending);
    // Ten connections with mail; one that has sent a hundred ends while its successor opens.
    expect(most).toBeWithin(1, 21);
    const numbers = relay.mails.map(({ raw }) => Number(/^Subject: No\. (\d+)/m.exec(raw.toString())?.[1]));
    expect(new Set(numbers).size).toBe(pending);
    // The first mail is the one that probed the relay.
    const ofInbox = Map.groupBy(numbers.slice(1), (number) => number % inboxCount);
    expect(ofInbox.size).toBe(inboxCount);
    for (const inOrder of ofInbox.values()) expect(inOrder).toEqual(inOrder.toSorted((one, other) => one - other));
    const { body } = await world.api(`/v1/inboxes/${inboxIds[0]}/messages`);
    expect(body.data.every(({ status }: { status: string }) => status === "sent")).toBe(true);
    await relay.close();
  });
});

/** Sends the mails with these numbers, one at a time for each inbox. Returns the median time to accept one. */
async function sendAll(world: World, inboxIds: readonly string[], from: number, to: number) {
  const tookMs: number[] = [];
  await Promise.all(
    inboxIds.map(async (inboxId, place) => {
      for (let number = from + place; number < to; number += inboxIds.length) {
        const startMs = performance.now();
        const { status } = await send(world, inboxId, {
          subject: `No. ${number}`,
          to: `jane${number % 7}@example.com`,
        });
        expect(status).toBe(200);
        tookMs.push(performance.now() - startMs);
      }
    }),
  );
  return { medianMs: tookMs.toSorted((one, other) => one - other)[tookMs.length >> 1] ?? 0 };
}

/** Lets the worker notice the clock, and waits until there is no attempt in progress. */
async function look({ service: { deps } }: World): Promise<void> {
  deps.nudge("relay");
  const inHand = () => deps.db.api.run("select 1 from outbox where state <> 'waiting' limit 1", []);
  while ((await inHand()).length > 0) await Bun.sleep(10);
}

async function waiting({ service: { deps } }: World): Promise<number> {
  const [row] = await deps.db.api.run("select count(*) from outbox", []);
  return (row as { count: number }).count;
}
