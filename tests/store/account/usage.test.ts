import { beforeEach, describe, expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import { query, transaction } from "../../../src/database/db.ts";
import {
  findCurrentUsage,
  findUncounted,
  foldUsageBefore,
  insertCounts,
  listUsageByDay,
  listUsageByInbox,
  lockCounting,
} from "../../../src/store/account/usage.ts";
import { enginesHere } from "../../support/engines.ts";
import { setUpEngine } from "../../support/set-up-engine.ts";

for (const engine of enginesHere()) {
  describe(`Counting usage, with the ${engine} database`, () => {
    const under = setUpEngine(engine);
    beforeEach(async () => {
      for (const table of ["messages", "inboxes", "accounts", "usage_days", "counted_inboxes"])
        await query(under.db.api, sql`delete from ${sql.identifier(table)}`);
      await query(
        under.db.api,
        sql`insert into accounts (id, name, plan, created_at) values ('acc', 'acc', 'free', '2026-01-01')`,
      );
      await query(
        under.db.api,
        sql`insert into inboxes (id, account_id, username, created_at)
            select id, 'acc', id, '2026-03-20T23:59:59.999Z' from unnest('{inb_a,inb_b}'::text[]) id`,
      );
    });

    /** Messages with these numbers, as their statement writes them: with the counters of their inbox. A message has as many bytes as its number. */
    async function write(inboxId: string, day: string, seqs: readonly number[], ids = "msg_m") {
      const last = seqs.at(-1) ?? 0;
      await transaction(under.db.api, async (tx) => {
        await query(
          tx,
          sql`insert into messages (id, inbox_id, thread_id, seq, direction, direction_seq, status, created_at, rfc_message_id,
                message_id_hash, from_addr, to_addr, to_addrs, cc, subject, body_text, size_bytes, attachment_count)
              select ${ids} || '_' || ${inboxId} || '_' || n, ${inboxId}, 'thr', n, case when n % 3 = 0 then 'outbound' else 'inbound' end, n, 'sent',
                ${day}::timestamptz, n, gen_random_uuid(), '', '', '{}', '{}', '', '', n, 0 from generate_series(${seqs[0] ?? 0}::int, ${last}::int) n`,
        );
        await query(
          tx,
          sql`update inboxes set message_count = ${last}, storage_bytes = (select sum(size_bytes) from messages where inbox_id = ${inboxId}),
                revision = revision + 1 where id = ${inboxId}`,
        );
      });
    }

    const count = (ids: readonly string[], limit = 1_000) =>
      transaction(under.db.work, async (tx) => {
        await lockCounting(tx);
        return insertCounts(tx, ids, limit);
      });

    const place = { seenMessageId: "", seenInboxId: "", passedInboxId: "" };
    const uncounted = async (after = place, passLimit = 10) => {
      const found = await findUncounted(under.db.work, { after, settledBefore: new Date(), limit: 10, passLimit });
      return found.inboxes.map(({ id }) => id).toSorted();
    };

    const asked = { reach: { accountId: "acc" }, inboxId: undefined, from: "2026-01-01", to: "2026-12-31" };
    const days = async () =>
      (await listUsageByDay(under.db.api, asked)).map(({ day, ...counts }) => [day, ...Object.values(counts)]);
    const stored = async () => {
      const [row] = await query<{ bytes: number }>(under.db.api, sql`select storage_bytes as bytes from accounts`);
      return row?.bytes;
    };

    test("counts each message and inbox once, on its day, also if several count at once or in parts", async () => {
      await write("inb_a", "2026-03-20T23:59:59.999Z", [1, 2]);
      await write("inb_a", "2026-03-21T00:00:00Z", [3, 4, 5, 6]);
      await write("inb_b", "2026-03-21T12:00:00Z", [1]);
      expect(await uncounted()).toEqual(["inb_a", "inb_b"]);
      let left = ["inb_a", "inb_b"];
      for (const parts of [["inb_a"], ["inb_a"], ["inb_a"], []]) {
        left = await count(left, 2);
        expect(left).toEqual(parts);
      }
      await Promise.all(Array.from({ length: 4 }, () => count(["inb_a", "inb_b"])));
      const expected = [
        ["2026-03-20", 2, 3, 0, 0, 2],
        ["2026-03-21", 3, 10, 2, 9, 0],
      ];
      expect(await days()).toEqual(expected);
      expect(await uncounted()).toEqual([]);
      expect(await stored()).toBe(22);
      expect(await listUsageByInbox(under.db.api, asked, 1)).toMatchObject([
        { received: 5, sent: 2, inboxesCreated: 2 },
        { inboxId: "inb_a", received: 4, sent: 2, sentBytes: 9, inboxesCreated: 1 },
      ]);
    });

    test("counts a message that is committed after others with later ids, and keeps counts of what is deleted", async () => {
      await write("inb_a", "2026-03-21T12:00:00Z", [1]);
      await count(["inb_a", "inb_b"]);
      // Its id is older than the ones that were looked at, so only the pass over all inboxes finds it.
      await write("inb_b", "2026-03-21T12:00:00Z", [1, 2], "msg_a");
      const behind = { ...place, seenMessageId: "msg_m", seenInboxId: "inb_z" };
      expect(await uncounted(behind, 0)).toEqual([]);
      expect(await uncounted(behind)).toEqual(["inb_b"]);
      await count(["inb_b"]);
      expect(await stored()).toBe(4);
      await query(under.db.api, sql`update inboxes set deleted_at = now(), revision = revision + 1 where id = 'inb_b'`);
      await count(await uncounted(behind));
      expect(await stored()).toBe(1);
      expect((await days()).at(-1)).toEqual(["2026-03-21", 3, 4, 0, 0, 0]);
      expect(await findCurrentUsage(under.db.api, asked)).toMatchObject({ inboxes: 1, messages: 1, storageBytes: 1 });
      await query(under.db.api, sql`update inboxes set removed_count = 1, revision = revision + 1 where id = 'inb_a'`);
      expect(await findCurrentUsage(under.db.api, asked)).toMatchObject({ inboxes: 1, messages: 0 });
    });

    test("adds old days of inboxes up to days of the account", async () => {
      await write("inb_a", "2026-03-21T12:00:00Z", [1]);
      await write("inb_b", "2026-03-21T12:00:00Z", [1]);
      await count(["inb_a", "inb_b"]);
      const before = await days();
      const fold = () => transaction(under.db.work, (tx) => foldUsageBefore(tx, "2026-03-22", 3));
      expect([await fold(), await fold(), await fold()]).toEqual([3, 1, 0]);
      expect(await days()).toEqual(before);
      await write("inb_b", "2026-03-21T12:00:00Z", [2]);
      await count(["inb_b"]);
      const data = await listUsageByInbox(under.db.api, asked, 5);
      expect(data.map(({ inboxId, received }) => [inboxId, received])).toEqual([
        [null, 3],
        ["", 2],
        ["inb_b", 1],
      ]);
      expect(await fold()).toBe(1);
      expect((await days()).at(-1)).toEqual(["2026-03-21", 3, 4, 0, 0, 0]);
    });
  });
}
