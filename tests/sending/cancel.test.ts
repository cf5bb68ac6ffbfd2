import { afterEach, describe, expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import { openDatabase, query } from "../../src/database/db.ts";
import { service } from "../../src/domain/access/actor.ts";
import { Refusal } from "../../src/domain/errors.ts";
import type { EventData } from "../../src/domain/events/event-types.ts";
import { listedKinds } from "../../src/domain/outbox-item.ts";
import type { RelayOutcome } from "../../src/domain/outcome.ts";
import { cancelMail } from "../../src/flows/send/cancel-mail.ts";
import { giveUpItem, retryItem } from "../../src/flows/send/outbox-items.ts";
import { kinds } from "../../src/store/outbox/kinds.ts";
import { findItem, listItems } from "../../src/store/outbox/listed-items.ts";
import { markDueReady } from "../../src/store/outbox/outbox-rows.ts";
import { enginesHere } from "../support/engines.ts";
import { accepted, nobodyAnswers, outboxWorld } from "../support/outbox-world.ts";
import { setUpEngine } from "../support/set-up-engine.ts";

type World = Awaited<ReturnType<typeof outboxWorld>>;

const minuteMs = 60_000;
const races = Number(process.env.CANCEL_RACES ?? 200);
const unanswered: RelayOutcome = {
  kind: "retry",
  failure: { code: null, enhancedCode: null, message: "the connection was lost" },
  maybeAccepted: true,
};

describe.each(enginesHere())("Canceling a mail (%s)", (engine) => {
  const under = setUpEngine(engine);
  const worlds: World[] = [];

  afterEach(async () => {
    for (const world of worlds.splice(0)) await world.stop(0);
    await query(under.db.api, sql`truncate outbox, recipients, events`);
  });

  async function newWorld(db = under.db): Promise<World> {
    const world = await outboxWorld(db);
    worlds.push(world);
    return world;
  }

  interface Row {
    status: string;
    failure: Record<string, unknown> | null;
  }

  const rowOf = async (id: string) =>
    (await query<Row>(under.db.api, sql`select status, failure from messages where id = ${id}`))[0];
  const told = async (id: string) =>
    (
      await query<{ type: string }>(under.db.api, sql`select type from events where message_id = ${id} order by id`)
    ).map(({ type }) => type);

  const toldOf = async (id: string) =>
    (
      await query<{ data: EventData["message.failed"] }>(
        under.db.api,
        sql`select data from events where message_id = ${id}`,
      )
    )[0]?.data;

  /** The result of canceling, in one word. */
  const itemsOf = ({ accountId }: { accountId: string }) => ({
    reach: { accountId },
    kinds: listedKinds,
    actor: service,
  });

  async function cancel(world: World, accountId: string, id: string): Promise<string> {
    try {
      await cancelMail(world.deps, { accountId, actor: service }, id);
      return "canceled";
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      return error.reason;
    }
  }

  test("a waiting mail fails with the reason canceled, with one event", async () => {
    const world = await newWorld();
    const inbox = await world.newInbox();
    const id = await world.send(inbox, "jane@example.com");
    expect(await cancel(world, inbox.accountId, id)).toBe("canceled");
    expect(await rowOf(id)).toEqual({
      status: "failed",
      failure: { code: null, enhancedCode: null, message: "Canceled before it was sent", reason: "canceled" },
    });
    expect(await told(id)).toEqual(["message.failed"]);
    expect((await toldOf(id))?.recipients).toMatchObject([
      { address: "jane@example.com", name: null, type: "to", status: "failed", failure: { reason: "canceled" } },
    ]);
    expect(await cancel(world, inbox.accountId, id)).toBe("not_cancelable");
    await world.start();
    await world.emptied();
    expect(world.relay.mails).toEqual([]);
    expect(await told(id)).toEqual(["message.failed"]);
  });

  test("a mail of another account is not found", async () => {
    const world = await newWorld();
    const inbox = await world.newInbox();
    const stranger = await world.newInbox();
    const id = await world.send(inbox, "jane@example.com");
    expect(await cancel(world, stranger.accountId, id)).toBe("not_found");
    expect(await world.waiting()).toHaveLength(1);
  });

  test("during an attempt nothing is changed", async () => {
    const world = await newWorld();
    const inbox = await world.newInbox();
    const { promise, resolve } = Promise.withResolvers<RelayOutcome>();
    world.relay.answer = () => promise;
    const workers = await world.start();
    const id = await world.send(inbox, "jane@example.com");
    await world.relay.mail(1);
    expect(await cancel(world, inbox.accountId, id)).toBe("send_in_progress");
    expect(await rowOf(id)).toEqual({ status: "pending", failure: null });
    const settled = workers.settled(id, minuteMs);
    resolve(accepted);
    await settled;
    expect(await cancel(world, inbox.accountId, id)).toBe("not_cancelable");
    expect(await rowOf(id)).toMatchObject({ status: "sent" });
  });

  test.each([
    ["got an answer", nobodyAnswers, undefined],
    ["ended without an answer behind the final dot", unanswered, true],
  ])("the mail may have been sent if an attempt %s", async (_, outcome, mayHaveBeenSent) => {
    const world = await newWorld();
    const inbox = await world.newInbox();
    world.relay.answer = () => outcome;
    await world.start();
    const id = await world.send(inbox, "jane@example.com");
    await world.relay.mail(1);
    await world.rested();
    expect(await cancel(world, inbox.accountId, id)).toBe("canceled");
    expect((await rowOf(id))?.failure?.mayHaveBeenSent).toBe(mayHaveBeenSent as never);
  });

  test("an attempt without a reply is still remembered after a later one with a reply", async () => {
    const world = await newWorld();
    const inbox = await world.newInbox();
    world.relay.answer = () => (world.relay.mails.length === 1 ? unanswered : nobodyAnswers);
    await world.start();
    const id = await world.send(inbox, "jane@example.com");
    await world.relay.mail(1);
    await world.rested();
    await retryItem(world.deps, itemsOf(inbox), id);
    await world.relay.mail(2);
    await world.rested();
    expect(await cancel(world, inbox.accountId, id)).toBe("canceled");
    expect((await rowOf(id))?.failure?.mayHaveBeenSent).toBe(true);
  });

  test("the mail may have been sent by a process that died during the attempt", async () => {
    const world = await newWorld();
    const inbox = await world.newInbox();
    const id = await world.send(inbox, "jane@example.com");
    await query(under.db.api, sql`update outbox set state = 'running', attempt = 1 where subject_id = ${id}`);
    expect(await cancel(world, inbox.accountId, id)).toBe("send_in_progress");
    const now = new Date(world.clock.now().getTime() + minuteMs);
    expect(await markDueReady(under.db.work, { kind: kinds.relay, now, inHand: [], leaseMs: 1, limit: 10 })).toBe(1);
    expect(await findItem(under.db.api, itemsOf(inbox), id)).toMatchObject({
      attempt: 1,
      lastError: expect.stringContaining("the process ended during the attempt"),
    });
    expect(await cancel(world, inbox.accountId, id)).toBe("canceled");
    expect((await rowOf(id))?.failure?.mayHaveBeenSent).toBe(true);
  });

  describe("to several recipients", () => {
    /** Jane's copy is sent; Joe's and Bob's wait, each with its own row. */
    async function toSeveral(world: World, inbox: { id: string; accountId: string }) {
      const id = await world.send(inbox, "jane@one.example");
      await query(under.db.api, sql`update messages set status = 'sent' where id = ${id}`);
      await query(under.db.api, sql`delete from recipients where message_id = ${id}`);
      const of = sql`select * from (values (0, 'jane@one.example', 0, 'sent'), (1, 'joe@two.example', 1, 'pending'),
        (2, 'bob@three.example', 2, 'pending')) as r (position, address, destination, status)`;
      await query(
        under.db.api,
        sql`insert into recipients (message_id, position, address, type, destination, status)
            select ${id}, position, address, 'to', destination, status from (${of}) r`,
      );
      const rows = sql`select ${id} || '.' || n, 'relay', account_id, inbox_id, lane, created_at, due_at
        from outbox cross join generate_series(1, 2) n where subject_id = ${id}`;
      await query(
        under.db.api,
        sql`insert into outbox (subject_id, kind, account_id, inbox_id, lane, created_at, due_at) ${rows}`,
      );
      await query(under.db.api, sql`delete from outbox where subject_id = ${id}`);
      return id;
    }
    const everybody = { state: undefined, inboxId: undefined, after: undefined, limit: 10 };
    const recipientsOf = (id: string) =>
      query<{ status: string; failure: { reason: string } | null }>(
        under.db.api,
        sql`select status, failure from recipients where message_id = ${id} order by position`,
      );

    test("does not change recipients to whom it was sent", async () => {
      const world = await newWorld();
      const inbox = await world.newInbox();
      const id = await toSeveral(world, inbox);
      const items = await listItems(under.db.api, { ...itemsOf(inbox), ...everybody });
      expect(items.map(({ id: item, messageId, kind, to }) => [item, messageId, kind, to])).toEqual([
        [`${id}.1`, id, "relay", ["joe@two.example"]],
        [`${id}.2`, id, "relay", ["bob@three.example"]],
      ]);
      await giveUpItem(world.deps, itemsOf(inbox), `${id}.2`);
      expect(await world.waiting()).toEqual([]);
      expect(await rowOf(id)).toMatchObject({ status: "sent", failure: { reason: "canceled" } });
      expect((await recipientsOf(id)).map(({ status, failure }) => [status, failure?.reason])).toEqual([
        ["sent", undefined],
        ["failed", "canceled"],
        ["failed", "canceled"],
      ]);
      expect(await told(id)).toEqual(["message.failed"]);
    });

    test("is refused during an attempt for any of them", async () => {
      const world = await newWorld();
      const inbox = await world.newInbox();
      const id = await toSeveral(world, inbox);
      await query(under.db.api, sql`update outbox set state = 'running', attempt = 1 where subject_id = ${`${id}.1`}`);
      expect(await cancel(world, inbox.accountId, id)).toBe("send_in_progress");
      expect(await world.waiting()).toHaveLength(2);
      expect((await recipientsOf(id)).map(({ status }) => status)).toEqual(["sent", "pending", "pending"]);
    });

    test("reports the status of each, also with a name", async () => {
      const world = await newWorld();
      const inbox = await world.newInbox();
      const id = await toSeveral(world, inbox);
      const refused = sql`'{"code": 550, "enhancedCode": null, "message": "No", "reason": "refused"}'`;
      await query(
        under.db.api,
        sql`update recipients set status = 'failed', failure = ${refused}, name = 'Joe', type = 'cc'
            where message_id = ${id} and position = 1`,
      );
      await query(
        under.db.api,
        sql`update recipients set provider_message_id = '<at-relay>' where message_id = ${id} and position = 0`,
      );
      await query(under.db.api, sql`delete from outbox where subject_id = ${`${id}.1`}`);
      expect(await cancel(world, inbox.accountId, id)).toBe("canceled");
      const jane = { address: "jane@one.example", name: null, type: "to" };
      const bob = { address: "bob@three.example", name: null, type: "to" };
      const atNone = { status: "failed", providerMessageId: null };
      expect(await toldOf(id)).toMatchObject({
        status: "sent",
        failure: { code: 550, reason: "refused" },
        recipients: [
          { ...jane, status: "sent", providerMessageId: "<at-relay>", failure: null },
          { address: "joe@two.example", name: "Joe", type: "cc", ...atNone, failure: { code: 550, reason: "refused" } },
          { ...bob, ...atNone, failure: { code: null, reason: "canceled" } },
        ],
      });
      expect(await rowOf(id)).toMatchObject({ status: "sent", failure: { code: 550, reason: "refused" } });
    });

    test("keeps the failure of the first recipient that failed", async () => {
      const world = await newWorld();
      const inbox = await world.newInbox();
      const id = await toSeveral(world, inbox);
      await query(
        under.db.api,
        sql`update recipients set status = 'failed', failure = '{"reason": "refused"}' where message_id = ${id} and position = 0`,
      );
      expect(await cancel(world, inbox.accountId, id)).toBe("canceled");
      expect(await rowOf(id)).toMatchObject({ status: "failed", failure: { reason: "refused" } });
    });
  });

  test(`of ${races} mails that two processes send, none is sent after the answer "canceled"`, async () => {
    const otherDb = engine === "postgres" ? await openDatabase(under.options) : undefined;
    try {
      const world = await newWorld();
      const other = await newWorld(otherDb ?? under.db);
      const inboxes = await Promise.all(Array.from({ length: 20 }, () => world.newInbox()));
      // The first look of a process on the embedded database takes over all running rows, as if it were alone. It precedes its first mail.
      for (const by of [world, other]) {
        await by.start();
        while (by.relay.mails.length === 0) {
          await by.send(await by.newInbox(), "first@example.com");
          await by.emptied();
        }
      }
      for (const { relay } of [world, other]) relay.mails.splice(0);
      const answers: [id: string, answer: string][] = [];
      const racers = inboxes.map(async (inbox, racer) => {
        for (let number = 0; number < races / inboxes.length; number += 1) {
          const by = number % 2 === 0 ? world : other;
          const id = await by.send(inbox, `r${racer}@example.com`);
          by.deps.nudge("relay");
          // Before, during and after the claim.
          for (let turn = 0; turn < (number * 7 + racer * 3) % 50; turn += 1)
            await new Promise((go) => setImmediate(go));
          answers.push([id, await cancel(number % 4 < 2 ? world : other, inbox.accountId, id)]);
        }
      });
      await Promise.all(racers);
      await world.emptied();
      const sent = new Set([...world.relay.mails, ...other.relay.mails].map(({ raw }) => idIn(raw)));
      const canceled = answers.flatMap(([id, answer]) => (answer === "canceled" ? [id] : []));
      expect(canceled.filter((id) => sent.has(id))).toEqual([]);
      expect(canceled.length + sent.size).toBe(races);
      const statuses = await query<{ id: string; status: string }>(under.db.api, sql`select id, status from messages`);
      const statusOf = new Map(statuses.map(({ id, status }) => [id, status]));
      for (const id of canceled) expect([id, statusOf.get(id)]).toEqual([id, "failed"]);
      for (const id of sent) expect([id, statusOf.get(id)]).toEqual([id, "sent"]);
    } finally {
      for (const world of worlds.splice(0)) await world.stop(0);
      await otherDb?.close();
    }
  }, 60_000);
});

function idIn(raw: Uint8Array): string {
  return /^Message-ID: <(msg_[0-9a-z]+)@/im.exec(Buffer.from(raw).toString())?.[1] ?? "";
}
