import { beforeAll, describe, expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import { type Db, query, transaction } from "../../src/database/db.ts";
import { service } from "../../src/domain/access/actor.ts";
import type { ThreadChange } from "../../src/domain/filing.ts";
import { fileThreads } from "../../src/flows/read/file-threads.ts";
import { indexMessages } from "../../src/flows/read/index-messages.ts";
import { pageBetween, pageMessages } from "../../src/flows/read/page-messages.ts";
import { lockInboxes } from "../../src/store/account/inboxes.ts";
import { findInboxTotals } from "../../src/store/mail/message-pages.ts";
import { emptyRemovedThreads, messageExpirer, trashEmptier } from "../../src/workers/remove-mail.ts";
import { takeIn } from "../support/arrivals.ts";
import { enginesHere } from "../support/engines.ts";
import { outboxWorld } from "../support/outbox-world.ts";
import { setUpEngine } from "../support/set-up-engine.ts";
import { untilSo } from "../support/until.ts";

const dayMs = 86_400_000;

for (const engine of enginesHere()) {
  describe(`The retention of mail on ${engine}`, () => {
    const under = setUpEngine(engine);
    let world: Awaited<ReturnType<typeof outboxWorld>>;
    beforeAll(async () => {
      world = await outboxWorld(under.db);
    });

    type Inbox = Awaited<ReturnType<typeof world.newInbox>>;

    const run = (messageRetentionDays = 0) => messageExpirer({ ...world.deps, messageRetentionDays })();
    const keepFor = (table: "inboxes" | "accounts", id: string, days: number | null) =>
      query(under.db.api, sql`update ${sql.identifier(table)} set retention_days = ${days} where id = ${id}`);

    async function subjects(inbox: Inbox): Promise<string[]> {
      const rows = await query<{ subject: string }>(
        under.db.api,
        sql`select subject from messages where inbox_id = ${inbox.id} order by seq`,
      );
      return rows.map(({ subject }) => subject);
    }

    const rows = async (table: string, where: ReturnType<typeof sql>) => {
      const [counted] = await query<{ count: number }>(
        under.db.api,
        sql`select count(*) as count from ${sql.identifier(table)} where ${where}`,
      );
      return counted?.count;
    };

    test("counts by the fewest days of the inbox, its account and the service", async () => {
      const table: [name: string, inbox: number | null, account: number | null, kept: number[]][] = [
        ["that of the service", null, null, [6, 4]],
        ["that of the account", null, 2, [2, 2]],
        ["that of the inbox", 1, 2, [1, 1]],
        ["that of the service, below the others", 5, 6, [5, 4]],
      ];
      const inboxes: Inbox[] = [];
      for (const [, ofInbox, ofAccount] of table) {
        const inbox = await world.newInbox();
        await keepFor("inboxes", inbox.id, ofInbox);
        await keepFor("accounts", inbox.accountId, ofAccount);
        inboxes.push(inbox);
      }
      for (let day = 0; day < 6; day += 1) {
        for (const inbox of inboxes) await world.receive(inbox, { subject: `day ${day}` });
        world.clock.pass(dayMs);
      }
      // A mail that is exactly as old as the retention is kept.
      for (const [index, service] of [0, 4].entries()) {
        await run(service);
        for (const [number, [name, , , kept]] of table.entries()) {
          const left = await subjects(inboxes[number] as Inbox);
          expect([name, left]).toEqual([
            name,
            Array.from({ length: kept[index] ?? 0 }, (_, day) => `day ${6 - (kept[index] ?? 0) + day}`),
          ]);
        }
      }
      await query(under.db.api, sql`update inboxes set retention_days = null`);
      await query(under.db.api, sql`update accounts set retention_days = null`);
    });

    test("leaves no row of a removed message, mends its thread, and keeps what is not sent or told yet", async () => {
      const inbox = await world.newInbox();
      await keepFor("inboxes", inbox.id, 1);
      const attachment = { filename: "a.pdf", contentType: "application/pdf", contentId: undefined, inline: false };
      await world.receive(inbox, { subject: "old", attachments: [{ ...attachment, bytes: new Uint8Array(10) }] });
      await world.receive(inbox, {
        messageId: "first@mail.example",
        subject: "thread",
        from: { address: "ann@mail.example", name: "Ann" },
        references: ["unknown@mail.example"],
        bodyText: "first",
      });
      const pending = await world.send(inbox, "joe@example.com");
      await world.setWebhook(inbox.accountId, "http://127.0.0.1:9/hook");
      await world.receive(inbox, { subject: "untold" });
      world.clock.pass(dayMs);
      await query(under.db.api, sql`update endpoints set url = null`);
      const reply = { subject: "Re: thread", inReplyTo: ["first@mail.example"], bodyText: "last" };
      await world.receive(inbox, { ...reply, messageId: "second@mail.example" });
      world.clock.pass(1);
      expect(await run()).toBe(2);
      expect(await subjects(inbox)).toEqual(["Mail 1", "untold", "Re: thread"]);
      const [thread] = await query<{ id: string; people: { address: string }[] }>(
        under.db.api,
        sql`select id, message_count as count, preview, people, has_attachments as files from threads where inbox_id = ${inbox.id} and subject = 'Re: thread'`,
      );
      expect(thread).toMatchObject({ count: 1, preview: "last", files: false });
      expect(thread?.people.map(({ address }) => address)).toEqual(["jane@mail.example"]);
      // The thread still waits for what its first mail has named.
      expect(await rows("awaited_parents", sql`thread_id = ${thread?.id}`)).toBe(1);
      expect(await rows("threads", sql`inbox_id = ${inbox.id}`)).toBe(4 - 1);
      expect(await rows("attachments", sql`not exists (select from messages where id = message_id)`)).toBe(0);
      const left = sql`not exists (select from messages m where m.source_id = source_chunks.source_id)`;
      expect(await rows("source_chunks", left)).toBe(0);
      const stray = sql`inbox_id = ${inbox.id} and type = 'message.received' and not exists (select from messages where id = message_id)`;
      expect(await rows("events", stray)).toBe(0);
      // A reply that names the removed mail first joins by the nearest one that is there.
      const references = ["first@mail.example", "second@mail.example", "unseen@mail.example"];
      await world.receive(inbox, { subject: "Re: Re: thread", references });
      expect(await rows("messages", sql`thread_id = ${thread?.id}`)).toBe(2);

      await world.start();
      await world.emptied();
      await world.stop();
      world.clock.pass(2 * dayMs);
      // The last event of an account stays.
      await world.newInbox(inbox.accountId);
      expect(await run()).toBe(4);
      expect(await subjects(inbox)).toEqual([]);
      expect(await world.message(pending)).toBe(undefined);
      expect(await rows("recipients", sql`message_id = ${pending}`)).toBe(0);
      expect(await rows("events", sql`message_id = ${pending}`)).toBe(0);
      for (const table of ["threads", "awaited_parents"])
        expect(await rows(table, sql`inbox_id = ${inbox.id}`)).toBe(0);
      const [totals] = await query(
        under.db.api,
        sql`select message_count - removed_count as messages, thread_count as threads, unread_count as unread, storage_bytes as bytes,
              last_message_at as last from inboxes where id = ${inbox.id}`,
      );
      expect(totals).toEqual({ messages: 0, threads: 0, unread: 0, bytes: 0, last: null });
      // A mail that names only removed mail starts a new thread.
      await world.receive(inbox, { subject: "Re: thread", inReplyTo: ["second@mail.example"] });
      expect(await rows("threads", sql`inbox_id = ${inbox.id} and message_count = 1`)).toBe(1);
    });

    test("goes on with the next inbox where one fails, and tries that one again", async () => {
      const [broken, whole] = [await world.newInbox(), await world.newInbox()];
      for (const inbox of [broken, whole]) {
        await keepFor("inboxes", inbox.id, 1);
        await world.receive(inbox);
      }
      world.clock.pass(2 * dayMs);
      const script = (statement: string) => under.db.maintain((runner) => runner.script(statement));
      await script(`create function refuse_removal() returns trigger language plpgsql as $$ begin raise 'not this one'; end $$;
        create trigger refuse_removal before delete on messages for each row when (old.inbox_id = '${broken.id}')
          execute function refuse_removal()`);
      await run();
      expect([(await subjects(broken)).length, (await subjects(whole)).length]).toEqual([1, 0]);
      expect(world.warnings()).toContain("mail of an inbox not removed: going on with the next");
      await script("drop trigger refuse_removal on messages; drop function refuse_removal");
      await run();
      expect(await subjects(broken)).toEqual([]);
    });

    const empty = async (trashDays: number) => {
      let removed = 0;
      await trashEmptier({ ...world.deps, trashDays })();
      await emptyRemovedThreads(world.deps, (messages) => {
        removed += messages;
      });
      return removed;
    };

    test("keeps a thread in the trash while mail of it waits to be sent", async () => {
      const inbox = await world.newInbox();
      const pending = await world.send(inbox, "joe@example.com");
      await query(
        under.db.api,
        sql`with trashed as (update threads set folder = 'trash', trashed_at = ${world.clock.now()} where inbox_id = ${inbox.id})
            update inboxes set trash_count = 1 where id = ${inbox.id}`,
      );
      world.clock.pass(10 * dayMs + 1);
      expect(await empty(10)).toBe(0);
      expect((await world.message(pending))?.status).toBe("pending");
      expect(await rows("threads", sql`inbox_id = ${inbox.id}`)).toBe(1);
      await world.start();
      await world.emptied();
      await world.stop();
      expect(await empty(10)).toBe(1);
      expect(await rows("threads", sql`inbox_id = ${inbox.id}`)).toBe(0);
    });

    test.skipIf(engine === "embedded")("keeps a thread that changes while the trash is emptied", async () => {
      const inbox = await world.newInbox();
      await world.receive(inbox);
      const threads = await query<{ id: string }>(
        under.db.api,
        sql`select id from threads where inbox_id = ${inbox.id}`,
      );
      const filing = { ...inbox, inboxId: inbox.id, actor: service, threads };
      await fileThreads(world.deps, { ...filing, change: { folder: "trash" } });
      world.clock.pass(10 * dayMs + 1);
      const waiting = sql`datname = current_database() and wait_event_type = 'Lock'`;
      const change = (db: Db, changes: string) =>
        query(db, sql`update threads set ${sql.raw(changes)} where inbox_id = ${inbox.id}`);
      // A mail of ours does not take it out of the trash.
      for (const [changes, undone] of [
        ["last_seq = 2", "last_seq = 1"],
        ["folder = 'inbox', trashed_at = null", "folder = 'trash', trashed_at = created_at"],
      ] as const) {
        const [emptying] = await transaction(under.db.api, async (tx) => {
          await lockInboxes(tx, [inbox.id]);
          const emptying = empty(10);
          await untilSo(async () => (await rows("pg_stat_activity", waiting)) === 1);
          await change(tx, changes);
          return [emptying];
        });
        expect([changes, await emptying]).toEqual([changes, 0]);
        await change(under.db.api, undone);
      }
      expect(await empty(10)).toBe(1);
    });

    test("empties the trash, with its labels, and nothing else", async () => {
      const inbox = await world.newInbox();
      const named = (subject: string) => `${subject}.${inbox.id}@mail.example`;
      for (const subject of ["trashed", "archived", "back", "later"])
        await world.receive(inbox, { subject, messageId: named(subject) });
      await takeIn(
        world.deps,
        { ...inbox, address: "bot@inbox.localhost" },
        Array.from({ length: 600 }, () => ({ subject: "Re: trashed", inReplyTo: [named("trashed")] })),
      );
      const threads = await query<{ id: string; subject: string }>(
        under.db.api,
        sql`select id, subject from threads where inbox_id = ${inbox.id}`,
      );
      const file = (subjects: string[], change: ThreadChange) => {
        const asked = threads.filter(({ subject }) => subjects.includes(subject));
        return fileThreads(world.deps, { ...inbox, inboxId: inbox.id, actor: service, threads: asked, change });
      };
      await file(["trashed", "archived", "back", "later"], { addLabels: ["orders"] });
      await file(["archived"], { folder: "archive" });
      await file(["trashed", "back"], { folder: "trash" });
      const left = async () => [...new Set(await subjects(inbox))].toSorted();
      world.clock.pass(10 * dayMs);
      await world.receive(inbox, { subject: "Re: back", inReplyTo: [named("back")] });
      // Trash is not older than ten days.
      await file(["later"], { folder: "trash" });
      expect([await empty(0), await empty(10), (await left()).length]).toEqual([0, 0, 6]);
      world.clock.pass(1);
      expect(await empty(10)).toBe(601);
      expect(await left()).toEqual(["Re: back", "archived", "back", "later"]);
      const totals = await findInboxTotals(under.db.api, { accountId: inbox.accountId }, inbox.id);
      expect(totals).toMatchObject({
        threadCount: 3,
        unreadCount: 1,
        archiveCount: 1,
        trashCount: 1,
        removedCount: 601,
      });
      expect(await rows("thread_labels", sql`inbox_id = ${inbox.id}`)).toBe(2);
      world.clock.pass(10 * dayMs);
      await file(["archived", "back"], { folder: "trash" });
      expect(await empty(10)).toBe(1);
      expect(await rows("label_counts", sql`inbox_id = ${inbox.id}`)).toBe(0);
      world.clock.pass(10 * dayMs + 1);
      expect(await empty(10)).toBe(3);
      expect(await rows("threads", sql`inbox_id = ${inbox.id}`)).toBe(0);
    });

    test("removes a thousand of twelve hundred messages while others come, and each list is right after it", async () => {
      const inbox = { ...(await world.newInbox()), address: "bot@inbox.localhost" };
      const { deps } = world;
      await query(under.db.api, sql`update inboxes set retention_days = null`);
      for (let sent = 0; sent < 4; sent += 1) await world.send(inbox, `friend${sent}@example.com`);
      await world.start();
      await world.emptied();
      await world.stop();
      // It waits to be sent, so it stays below the removed ones.
      await world.send(inbox, "late@example.com");
      const mails = (count: number) => Array.from({ length: count }, (_, number) => ({ subject: `${number}` }));
      await takeIn(deps, inbox, mails(995));
      world.clock.pass(2 * dayMs);
      await takeIn(deps, inbox, mails(200));
      await indexMessages({ ...deps, db: under.db.work }, inbox.id, 0, 1_200, () => true);
      await keepFor("inboxes", inbox.id, 1);

      const removing = run();
      for (let mail = 0; mail < 10; mail += 1) await takeIn(deps, inbox, [{ subject: `new ${mail}` }]);
      expect(await removing).toBe(999);
      const asked = {
        reach: { accountId: inbox.accountId },
        inboxId: inbox.id,
        threadId: undefined,
        since: undefined,
        until: undefined,
      };
      for (const [direction, total] of [
        [undefined, 211],
        ["inbound", 210],
        ["outbound", 1],
      ] as const) {
        const totals = await findInboxTotals(under.db.api, { accountId: inbox.accountId }, inbox.id);
        if (totals === undefined) throw new Error("Cannot read: the inbox is gone");
        for (const since of [undefined, new Date(0)]) {
          const read = (page: { limit: number; offset: number; after: number | undefined }) =>
            since === undefined
              ? pageMessages(under.db.api, { ...asked, direction, ...page })
              : pageBetween(under.db.api, totals, { ...asked, since, direction, ...page });
          const left = Math.min(5, total);
          const end = await read({ limit: 10, offset: total - left, after: undefined });
          expect([direction, end?.total, end?.messages.length, end?.next]).toEqual([direction, total, left, undefined]);
          expect((await read({ limit: 10, offset: total, after: undefined }))?.messages).toEqual([]);
          if (total === 1) continue;
          // The page of the lowest message, by its cursor and by its offset.
          const above = await read({ limit: total - 1, offset: 0, after: undefined });
          const lowest = await read({ limit: 10, offset: 0, after: above?.next });
          expect(lowest?.messages).toHaveLength(1);
          expect(lowest).toEqual(await read({ limit: 10, offset: total - 1, after: undefined }));
        }
      }
      expect(await rows("threads", sql`inbox_id = ${inbox.id}`)).toBe(211);
      expect(await rows("message_search", sql`inbox_id = ${inbox.id}`)).toBe(201);
      expect(await rows("events", sql`inbox_id = ${inbox.id} and type like 'message.%'`)).toBe(210);
      const [usage] = await query(
        under.db.api,
        sql`select sum(received) as received, sum(sent) as sent from usage_days where inbox_id = ${inbox.id}`,
      );
      expect(usage).toMatchObject({ sent: 5 });
      const [stored] = await query(
        under.db.api,
        sql`select i.storage_bytes = (select sum(size_bytes) from messages where inbox_id = i.id) as "isRight",
              a.storage_bytes <= i.storage_bytes as "isCounted" from inboxes i join accounts a on a.id = i.account_id where i.id = ${inbox.id}`,
      );
      expect(stored).toEqual({ isRight: true, isCounted: true });
    });
  });
}
