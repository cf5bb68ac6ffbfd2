import { afterEach, describe, expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import { type Db, query } from "../../../src/database/db.ts";
import { enginesHere } from "../../support/engines.ts";
import { fairly } from "../../support/fair-time.ts";
import { outboxWorld } from "../../support/outbox-world.ts";
import { answer, hang, type Receiver, startReceiver } from "../../support/receiver.ts";
import { setUpEngine } from "../../support/set-up-engine.ts";

type World = Awaited<ReturnType<typeof outboxWorld>>;
type Inbox = Awaited<ReturnType<World["newInbox"]>>;

/** Each is a destination of its own: all of 127.0.0.0/8 is this machine. */
const ownAddress = (number: number) => `127.${1 + Math.floor(number / 250)}.0.${1 + (number % 250)}`;

for (const engine of enginesHere()) {
  describe(`Receivers don't wait for each other, with the ${engine} database`, () => {
    const bad = engine === "postgres" ? 1_000 : 100;
    const pending = engine === "postgres" ? 100_000 : 5_000;
    const under = setUpEngine(engine);
    let world: World;
    const receivers: Receiver[] = [];

    afterEach(async () => {
      await world.stop(0);
      for (const receiver of receivers.splice(0)) await receiver.close();
      await query(under.db.api, sql`truncate outbox`);
    });

    async function receiverAt(options: Parameters<typeof startReceiver>[0]): Promise<Receiver> {
      const receiver = await startReceiver(options);
      receivers.push(receiver);
      return receiver;
    }

    test(`${bad} that are dead or hang: a healthy one has its events within a second`, async () => {
      world = await outboxWorld(under.db);
      const silent = await receiverAt({ address: "0.0.0.0", behaviour: hang });
      const gone = await startReceiver({ address: "0.0.0.0" });
      await gone.close();
      const healthy = await receiverAt({ behaviour: answer(200) });
      const inboxes: Inbox[] = [];
      for (let from = 0; from < bad; from += 20) {
        const some = Array.from({ length: 20 }, async (_, index) => {
          const inbox = await world.newInbox();
          const port = index % 2 === 0 ? silent.port : gone.port;
          await world.setWebhook(inbox.accountId, `http://${ownAddress(from + index)}:${port}/hook`);
          return inbox;
        });
        inboxes.push(...(await Promise.all(some)));
      }
      const mine = await world.newInbox();
      await world.setWebhook(mine.accountId, healthy.url);
      // The first claim of an engine is planned and compiled, which is no waiting for anybody.
      await world.receive(mine);
      await world.start();
      await healthy.request(1);
      await world.stop();
      for (let from = 0; from < bad; from += 100) {
        const [first, ...others] = inboxes.slice(from, from + 100);
        if (first !== undefined) await world.receive(first, {}, others);
      }
      await world.start();

      const tookMs: number[] = [];
      for (let count = 1; count <= 50; count += 1) {
        await world.receive(mine);
        tookMs.push((await fairly(() => healthy.request(1 + count))).fairMs);
      }
      expect(Math.max(...tookMs)).toBeLessThan(1_000);
      // They did get their tries, or nothing was shown.
      expect(silent.connections()).toBeGreaterThan(10);
    });

    test(`${pending} events that wait: the newest comes within five seconds`, { timeout: 120_000 }, async () => {
      world = await outboxWorld(under.db);
      const busy = await receiverAt({ behaviour: answer(200) });
      const inbox = await world.newInbox();
      await world.setWebhook(inbox.accountId, busy.url);
      await putInLine(under.db.api, inbox, pending);
      const other = await world.newInbox(inbox.accountId);
      await world.start();
      await busy.request(1);

      const { fairMs } = await fairly(async () => {
        await world.receive(other, { subject: "The newest" });
        for (let number = 1; ; number += 1) {
          const { body } = await busy.request(number);
          if (body.includes("The newest")) break;
        }
      });
      expect(fairMs).toBeLessThan(5_000);
      expect(busy.requests.length).toBeLessThan(pending);
    });
  });
}

/** Events of an inbox as a long outage leaves them. */
async function putInLine(db: Db, { id, accountId }: Inbox, count: number): Promise<void> {
  const numbered = sql`select n, lpad(n::text, 26, '0') as id, timestamptz '2026-03-20' + n * interval '1 ms' as at
    from generate_series(1, ${count}::int) n`;
  await query(
    db,
    sql`insert into messages (id, inbox_id, thread_id, seq, direction, direction_seq, status, created_at, rfc_message_id,
          message_id_hash, from_addr, to_addr, to_addrs, cc, subject, body_text, size_bytes, attachment_count)
        select 'msg_' || id, ${id}, 'thr_' || id, n, 'inbound', n, 'received', at, id || '@mail.example',
          gen_random_uuid(), 'jane@mail.example', 'bot@inbox.localhost', '{bot@inbox.localhost}', '{}', 'Old', 'Hello', 5, 0 from (${numbered}) numbered`,
  );
  await query(
    db,
    sql`insert into events (id, account_id, inbox_id, thread_id, message_id, type, occurred_at)
        select 'evt_' || id, ${accountId}, ${id}, 'thr_' || id, 'msg_' || id, 'message.received', at from (${numbered}) numbered`,
  );
  await query(
    db,
    sql`insert into outbox (subject_id, kind, account_id, inbox_id, lane, event_id, due_at, created_at)
        select 'evt_' || id, 'webhook', ${accountId}, ${id}, ${accountId}, 'evt_' || id, at, at from (${numbered}) numbered`,
  );
}
