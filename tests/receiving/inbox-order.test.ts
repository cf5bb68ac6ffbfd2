import { describe, expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import { type Db, query } from "../../src/database/db.ts";
import { takeIn } from "../support/arrivals.ts";
import { databaseApart } from "../support/database.ts";
import { enginesHere } from "../support/engines.ts";
import { openStream } from "../support/event-stream.ts";
import { lockInbox } from "../support/lock-inbox.ts";
import { mailOf } from "../support/mail.ts";
import { startReceiver } from "../support/receiver.ts";
import { untilAnswered } from "../support/until.ts";
import { startWorld, type World } from "../support/world.ts";
import { worldsOn } from "../support/world-on.ts";

describe.each(enginesHere())("The order of an inbox (%s)", (engine) => {
  const startWorld = worldsOn(engine);

  test("is that of the message numbers in the log, in streams and in the outbox, for the mails of one batch", async () => {
    // The receiver never answers, so the deliveries stay in the outbox.
    const receiver = await startReceiver({ behaviour: () => undefined });
    await using world = await startWorld({ env: { WEBHOOK_URL: receiver.url } });
    try {
      const inbox = await world.inbox();
      const stream = await openStream(new URL("/v1/events/stream?after=start", world.service.apiUrl), {
        authorization: `Bearer ${world.apiKey}`,
      });
      // Each mail replies to the next one, so they are numbered from the last to the first.
      const chain = Array.from({ length: 20 }, (_, number) => ({
        messageId: `${number}@x.example`,
        inReplyTo: [`${number + 1}@x.example`],
      }));
      await takeIn(world.service.deps, inbox, chain);
      const numbered = await numberedIds(world, inbox.id);
      expect(numbered).toHaveLength(20);
      expect(await loggedIds(world, inbox.id)).toEqual(numbered);
      await stream.untilTold(20);
      stream.close();
      expect(stream.frames.flatMap(({ data = "{}" }) => JSON.parse(data).message?.id ?? [])).toEqual(numbered);
      expect(await idsInLine(world.service.deps.db.work)).toEqual(numbered);
    } finally {
      await receiver.close();
    }
  }, 30_000);
});

describe.skipIf(!enginesHere().includes("postgres"))("The order of an inbox with two processes", () => {
  test("is that of the message numbers if one of them has waited for another inbox", async () => {
    await using world = await startWorld({ database: await databaseApart() });
    await using other = await world.another();
    const made = [await world.inbox(), await world.inbox()];
    const [first, second] = made.toSorted((left, right) => (left.id < right.id ? -1 : 1));
    if (first === undefined || second === undefined) throw new Error("Cannot test: there are no inboxes");
    const { db } = world.service.deps;

    for (let round = 0; round < 5; round += 1) {
      const release = await lockInbox(db.work, second.id);
      // The mail of this process waits for the locked inbox first, and is numbered first.
      const early = other.deliver(mailOf({ messageId: `early.${round}@x.example` }), second.address);
      await untilWaiting(db.work, 1);
      const late = world.deliver(mailOf({ messageId: `late.${round}@x.example` }), [first.address, second.address]);
      await untilWaiting(db.work, 2);
      await release();
      expect(await Promise.all([early, late])).toEqual(["250 2.0.0 Ok: queued", "250 2.0.0 Ok: queued"]);
    }

    const numbered = await numberedIds(world, second.id);
    expect(numbered).toHaveLength(10);
    expect(await loggedIds(world, second.id)).toEqual(numbered);
  }, 60_000);
});

/** The ids of the messages of an inbox in the order of their numbers. */
async function numberedIds(world: World, inboxId: string): Promise<string[]> {
  const { body } = await world.api(`/v1/inboxes/${inboxId}/messages?limit=100`);
  return body.data.map(({ id }: { id: string }) => id).toReversed();
}

/** The ids of the messages of an inbox in the order of the log. */
async function loggedIds(world: World, inboxId: string): Promise<string[]> {
  const { body } = await world.api(`/v1/events?inbox_id=${inboxId}&types=message.received&limit=100`);
  return body.data.map(({ message }: { message: { id: string } }) => message.id);
}

/** The ids of the messages whose deliveries wait, in the order in which the deliveries start. */
async function idsInLine(db: Db): Promise<string[]> {
  const rows = await query<{ id: string }>(
    db,
    sql`select e.message_id as id from outbox o join events e on e.id = o.subject_id order by o.created_at, o.subject_id`,
  );
  return rows.map(({ id }) => id);
}

/** Resolves once this many transactions wait for a lock, or more: a worker that comes to the inbox waits for it too. */
async function untilWaiting(db: Db, count: number): Promise<void> {
  await untilAnswered(async () => {
    const [waiting] = await query<{ count: number }>(
      db,
      sql`select count(distinct pid)::int as count from pg_locks where not granted`,
    );
    return (waiting?.count ?? 0) >= count ? true : undefined;
  });
}
