import { describe, expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import { query } from "../../src/database/db.ts";
import { holdParts, releaseParts } from "../../src/store/mail/search.ts";
import { takeIn } from "../support/arrivals.ts";
import { enginesHere } from "../support/engines.ts";
import { oneWorldOn } from "../support/world-on.ts";

for (const engine of enginesHere()) {
  describe(`The search indexer on ${engine}`, () => {
    const world = oneWorldOn(engine);

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

    /** The holder of each part whose lease is valid at an instant. */
    async function holders(at: Date): Promise<string[]> {
      const rows = await query<{ holder: string }>(
        world().service.deps.db.work,
        sql`select holder from search_indexing where leased_until > ${at} order by id`,
      );
      return rows.map(({ holder }) => holder);
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
            // The search says that it did not look into every text.
            expect([q, status, body.total, body.searched]).toEqual([q, 200, total, "head"]);
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

    test("each process fills its share of the parts, and gets those of a process that ends or dies", async () => {
      const { deps } = world().service;
      const inboxes = await Promise.all(Array.from({ length: 12 }, () => world().inbox()));
      const indexAll = async (count: number) => {
        for (const inbox of inboxes) await takeIn(deps, inbox, [{}]);
        for (const inbox of inboxes) await untilIndexed(inbox.id, count);
      };
      await indexAll(1);
      const [first = ""] = await holders(deps.now());
      expect(await holders(deps.now())).toEqual(Array.from({ length: 16 }, () => first));

      // A lease is renewed after half of its time; the statements are those of the indexer.
      const hold = (holder: string, now: Date) =>
        holdParts(deps.db.work, { holder, now, leasedUntil: new Date(now.getTime() + 120_000) });
      const countOf = async (holder: string, at: Date) => (await holders(at)).filter((each) => each === holder).length;
      const at = new Date(deps.now().getTime() + 1_000);
      expect((await hold("second", at)).parts).toEqual([]);
      expect((await hold(first, at)).parts).toHaveLength(8);
      const taken = await hold("second", at);
      expect([taken.parts.length, taken.isShareFull]).toEqual([8, true]);
      expect(await hold("third", at)).toMatchObject({ parts: [], isShareFull: false });
      expect([(await hold(first, at)).parts.length, (await hold("second", at)).parts.length]).toEqual([6, 6]);
      expect((await hold("third", at)).parts.length).toBe(4);

      await releaseParts(deps.db.work, "second", at);
      expect((await hold("third", at)).parts.length).toBe(8);
      expect([await countOf(first, at), await countOf("third", at)]).toEqual([6, 8]);
      // The first one has died when its leases are over.
      const late = new Date(at.getTime() + 120_000);
      const alone = await hold("fourth", late);
      expect([alone.parts.length, alone.isShareFull]).toEqual([16, true]);
      await releaseParts(deps.db.work, "fourth", at);
    }, 20_000);
  });
}
