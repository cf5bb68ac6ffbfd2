import { beforeAll, describe, expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import { query } from "../../../src/database/db.ts";
import { threadBlock } from "../../../src/domain/thread-blocks.ts";
import { pageThreads } from "../../../src/flows/read/page-threads.ts";
import { findInboxTotals } from "../../../src/store/mail/message-pages.ts";
import { insertRows } from "../../../src/store/rows.ts";
import { inboxes, threads } from "../../../src/store/schema.ts";
import { enginesHere } from "../../support/engines.ts";
import { setUpEngine } from "../../support/set-up-engine.ts";

const id = "inb_a";
const messageCount = 8 * threadBlock + 100;
/** The numbers of the last messages of the threads: all in one block, every third one elsewhere, the first ones removed. */
const numbers = Array.from({ length: messageCount + 1 }, (_, seq) => seq).filter(
  (seq) => seq > threadBlock / 2 && (Math.floor(seq / threadBlock) === 3 || seq % 3 === 0),
);
const folderOf = (seq: number) => (seq % 7 === 0 ? "archive" : seq % 11 === 0 ? "trash" : "inbox");
const isReadOf = (seq: number) => folderOf(seq) !== "inbox" || seq % 5 > 0;

for (const engine of enginesHere()) {
  describe(`A page of threads at any offset on ${engine}`, () => {
    const under = setUpEngine(engine);
    beforeAll(async () => {
      const countOf = (isCounted: (seq: number) => boolean) => numbers.filter(isCounted).length;
      await insertRows(under.db.api, inboxes, [
        {
          id,
          accountId: "acc",
          username: "a",
          createdAt: new Date(0),
          messageCount,
          threadCount: numbers.length,
          unreadCount: countOf((seq) => !isReadOf(seq)),
          archiveCount: countOf((seq) => folderOf(seq) === "archive"),
          trashCount: countOf((seq) => folderOf(seq) === "trash"),
        },
      ]);
      for (let start = 0; start < numbers.length; start += 1_000)
        await insertRows(under.db.api, threads, numbers.slice(start, start + 1_000).map(threadOf));
    }, 30_000);

    test("is that of the whole list, also while blocks are not counted yet", async () => {
      const asked = { label: undefined, limit: 20, after: undefined };
      const counted = async () => (await query(under.db.api, sql`select from thread_blocks`)).length;
      expect(await counted()).toBe(0);
      for (const folder of ["inbox", "all", "archive", "trash"] as const)
        for (const isRead of [undefined, true, false]) {
          const totals = await findInboxTotals(under.db.api, { accountId: "acc" }, id);
          if (totals === undefined) throw new Error("Cannot page: the inbox is gone");
          const list = numbers
            .filter((seq) => folder === "all" || folderOf(seq) === folder)
            .filter((seq) => isRead === undefined || isReadOf(seq) === isRead)
            .reverse();
          for (let offset = 0; offset <= list.length + 40; offset += 389) {
            const page = await pageThreads(under.db.api, totals, { ...asked, folder, isRead, offset });
            const shown = page.threads.map(({ lastSeq }) => lastSeq);
            expect([folder, isRead, offset, page.total, shown]).toEqual([
              folder,
              isRead,
              offset,
              list.length,
              list.slice(offset, offset + 20),
            ]);
            expect(page.next).toBe(offset + 20 < list.length ? list[offset + 19] : undefined);
          }
        }
      expect(await counted()).toBe(8);
    }, 60_000);
  });
}

function threadOf(seq: number): typeof threads.$inferInsert {
  const at = new Date(seq * 1_000);
  const folder = folderOf(seq);
  return {
    id: `thr_${seq}`,
    inboxId: id,
    subject: "",
    isRead: isReadOf(seq),
    messageCount: 1,
    createdAt: at,
    lastMessageAt: at,
    lastMessageId: `msg_${seq}`,
    lastSeq: seq,
    lastInboundSeq: seq,
    people: [],
    preview: "",
    hasAttachments: false,
    folder,
    trashedAt: folder === "trash" ? at : null,
  };
}
