import { afterEach, describe, expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import pino from "pino";
import { query } from "../../src/database/db.ts";
import { type SearchIndexer, startSearchIndexer } from "../../src/workers/index-search.ts";
import { takeIn } from "../support/arrivals.ts";
import { enginesHere } from "../support/engines.ts";
import { oneWorldOn } from "../support/world-on.ts";

for (const engine of enginesHere()) {
  describe(`The search indexer on ${engine}`, () => {
    const world = oneWorldOn(engine);
    const started: SearchIndexer[] = [];
    afterEach(async () => {
      for (const indexer of started.splice(0)) await indexer.stop();
    });

    const indexed = async (inboxId: string) =>
      query<{ seq: number; words: string }>(
        world().service.deps.db.work,
        sql`select seq, words::text as words from message_search where inbox_id = ${inboxId} order by seq`,
      );

    async function untilIndexed(inboxId: string, count: number) {
      for (;;) {
        const rows = await indexed(inboxId);
        if (rows.length >= count) return rows;
        await Bun.sleep(20);
      }
    }

    /** The lease as the table has it. */
    async function lease() {
      const [row] = await query<{ holder: string; leasedUntil: Date }>(
        world().service.deps.db.work,
        sql`select holder, leased_until as "leasedUntil" from search_indexing`,
      );
      return row;
    }

    test("indexes what comes, unasked, each message once and in order", async () => {
      const inboxes = [await world().inbox(), await world().inbox()];
      const mails = Array.from({ length: 70 }, (_, index) => ({ subject: `unasked${index}` }));
      for (const inbox of inboxes) await takeIn(world().service.deps, inbox, mails);
      for (const inbox of inboxes) {
        const rows = await untilIndexed(inbox.id, 70);
        expect(rows.map(({ seq }) => seq)).toEqual(Array.from({ length: 70 }, (_, index) => index + 1));
        expect(rows[69]?.words).toContain("'unasked");
      }
      const [first] = inboxes;
      await takeIn(world().service.deps, first ?? { id: "", address: "" }, mails.slice(0, 3));
      expect(await untilIndexed(first?.id ?? "", 73)).toHaveLength(73);
    }, 20_000);

    test("indexes a text that is too much for the index by its head, and what comes behind it and in other inboxes whole", async () => {
      const { db } = world().service.deps;
      const run = (statement: string) => db.maintain((runner) => runner.script(statement));
      // What the server says of a statement that took too long, and of what it can't hold, as often as it is asked.
      await run(`create function refuse_words() returns trigger language plpgsql as $$ begin
          if length(new.words) > 2000 then raise 'too much' using errcode = '54000'; end if;
          if length(new.words) > 1000 then raise 'canceled' using errcode = '57014'; end if;
          return new;
        end $$;
        create trigger refuse_words before insert on message_search for each row execute function refuse_words()`);
      try {
        const inboxes = [await world().inbox(), await world().inbox()];
        const words = (count: number) => Array.from({ length: count }, (_, index) => `w${index}`).join(" ");
        const mails = Array.from({ length: 30 }, (_, index) => ({ subject: `head${index}`, bodyText: `text${index}` }));
        for (const [index, count] of [1500, 2500].entries())
          mails[index * 10 + 3] = { subject: "poison", bodyText: words(count) };
        for (const inbox of inboxes) await takeIn(world().service.deps, inbox, mails);
        for (const inbox of inboxes) {
          const search = (q: string) => world().api(`/v1/inboxes/${inbox.id}/messages?q=${q}`);
          expect((await untilIndexed(inbox.id, 30)).map(({ seq }) => seq)).toEqual(mails.map((_, index) => index + 1));
          for (const [q, total] of [
            ["poison", 2],
            ["w7", 0],
            ["text2", 1],
            ["text29", 1],
            ["head29", 1],
          ] as const) {
            const { status, body } = await search(q);
            expect([q, status, body.total]).toEqual([q, 200, total]);
          }
          const told = world().log.filter(
            (line) => line.inbox_id === inbox.id && String(line.msg).startsWith("text of a message"),
          );
          expect(new Set(told.map(({ seq }) => seq)).size).toBe(2);
        }
      } finally {
        await run("drop trigger refuse_words on message_search; drop function refuse_words");
      }
    }, 30_000);

    test("goes on with the next inbox where one fails whatever is tried", async () => {
      const { db } = world().service.deps;
      const run = (statement: string) => db.maintain((runner) => runner.script(statement));
      const [broken, whole] = [await world().inbox(), await world().inbox()];
      await run(`create function refuse_inbox() returns trigger language plpgsql as $$ begin raise 'not this one'; end $$;
        create trigger refuse_inbox before insert on message_search for each row when (new.inbox_id = '${broken.id}')
          execute function refuse_inbox()`);
      try {
        await takeIn(world().service.deps, broken, [{}]);
        await takeIn(world().service.deps, whole, [{}]);
        await untilIndexed(whole.id, 1);
        expect(await indexed(broken.id)).toEqual([]);
      } finally {
        await run("drop trigger refuse_inbox on message_search; drop function refuse_inbox");
      }
      const { body } = await world().api(`/v1/inboxes/${broken.id}/messages?q=hello`);
      expect(body.total).toBe(1);
    }, 20_000);

    test("one process has the lease, until it gives it back or it is over", async () => {
      const { deps } = world().service;
      const inbox = await world().inbox();
      await takeIn(deps, inbox, [{}]);
      await untilIndexed(inbox.id, 1);
      const held = await lease();
      expect(held?.leasedUntil.getTime()).toBeGreaterThan(deps.now().getTime());

      const log = pino({ level: "silent" });
      const another = startSearchIndexer({ ...deps, log });
      started.push(another);
      await takeIn(deps, inbox, [{}]);
      await untilIndexed(inbox.id, 2);
      expect((await lease())?.holder).toBe(held?.holder ?? "");

      // The clock of the other one says that the lease is over.
      const late = new Date((held?.leasedUntil.getTime() ?? 0) + 1);
      started.push(startSearchIndexer({ ...deps, log, now: () => late }));
      while ((await lease())?.holder === held?.holder) await Bun.sleep(20);
      await started.pop()?.stop();
      expect((await lease())?.leasedUntil).toEqual(late);
    }, 20_000);
  });
}
