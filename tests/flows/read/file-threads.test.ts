import { describe, expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import fc from "fast-check";
import { query } from "../../../src/database/db.ts";
import { service } from "../../../src/domain/access/actor.ts";
import type { ThreadState } from "../../../src/domain/conversation.ts";
import { Refusal } from "../../../src/domain/errors.ts";
import type { ThreadChange } from "../../../src/domain/filing.ts";
import { folders } from "../../../src/domain/folders.ts";
import { threadBlock } from "../../../src/domain/thread-blocks.ts";
import { deleteInbox } from "../../../src/flows/account/delete-inbox.ts";
import { countMail, removeOldest } from "../../../src/flows/account/remove-messages.ts";
import { accountRules } from "../../../src/flows/account-rules.ts";
import { fileThreads } from "../../../src/flows/read/file-threads.ts";
import { type MessagesQuery, pageBetween, pageMessages } from "../../../src/flows/read/page-messages.ts";
import { pageThreads } from "../../../src/flows/read/page-threads.ts";
import { mailReceiver } from "../../../src/flows/receive/receive-email.ts";
import { emailSender } from "../../../src/flows/send/send-email.ts";
import { findInboxTotals, type InboxTotals, listMessagesInRange } from "../../../src/store/mail/message-pages.ts";
import { insertThreadBlocks } from "../../../src/store/mail/thread-blocks.ts";
import { threadFields } from "../../../src/store/mail/threads.ts";
import { envelopeTo, parsedMail } from "../../support/arrivals.ts";
import { enginesHere } from "../../support/engines.ts";
import { outboxWorld } from "../../support/outbox-world.ts";
import { setUpEngine } from "../../support/set-up-engine.ts";

/** One action. Its numbers select among the mails and threads that exist by then. */
type Step =
  | { do: "receive"; inbox: number; parent: number | undefined; files: boolean; copies: number }
  | { do: "send"; inbox: number; thread: number | undefined; upTo: number | undefined }
  | { do: "file"; threads: number[]; change: ThreadChange; upTo: number | undefined }
  | { do: "remove"; inbox: number; count: number }
  | { do: "count"; inbox: number }
  | { do: "delete"; inbox: number };

const labels = ["a", "b", "c"];
const pick = fc.nat(1_000);
const maybe = fc.option(pick, { nil: undefined });
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      do: fc.constant("receive" as const),
      inbox: pick,
      parent: maybe,
      files: fc.boolean(),
      copies: fc.integer({ min: 1, max: 3 }),
    }),
  },
  { weight: 4, arbitrary: fc.record({ do: fc.constant("send" as const), inbox: pick, thread: maybe, upTo: maybe }) },
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant("file" as const),
      threads: fc.array(pick, { minLength: 1, maxLength: 3 }),
      change: fc.oneof(
        fc.record({ isRead: fc.boolean() }),
        fc.record({ folder: fc.constantFrom(...folders), addLabels: fc.subarray(labels) }),
        fc.record({ addLabels: fc.subarray(labels), removeLabels: fc.subarray(labels) }),
        fc.record({ isRead: fc.constant(true), folder: fc.constantFrom(...folders) }),
      ),
      upTo: maybe,
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant("remove" as const), inbox: pick, count: fc.integer({ min: 1, max: 4 }) }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("delete" as const), inbox: pick }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("count" as const), inbox: pick }) },
);
/** The steps of a round happen at the same time. */
const rounds = fc.array(fc.array(step, { minLength: 1, maxLength: 8 }), { minLength: 1, maxLength: 6 });

for (const engine of enginesHere()) {
  describe(`The totals on ${engine}`, () => {
    const under = setUpEngine(engine);

    test("are the same as counted totals, whatever happens at the same time", async () => {
      const world = await outboxWorld(under.db);
      // Every second mail fails during the rounds.
      let handed = 0;
      world.relay.answer = () => {
        handed += 1;
        const failure = { code: 550, enhancedCode: "5.1.1", message: "No such user" };
        return handed % 2 ? { kind: "failed", failure } : { kind: "sent", reply: "250 Ok", providerMessageId: "Q1" };
      };
      await world.start();
      try {
        await fc.assert(
          fc.asyncProperty(rounds, async (planned) => {
            const service = await servedWorld(world);
            for (const steps of planned) {
              await Promise.all(steps.map(service.carryOut));
              await service.check();
            }
            await service.end();
          }),
          { numRuns: engine === "postgres" ? 15 : 6 },
        );
      } finally {
        await world.stop();
      }
    }, 120_000);
  });

  type World = Awaited<ReturnType<typeof outboxWorld>>;

  /** Two inboxes of one account, with flows of two processes. */
  async function servedWorld({ deps, ...world }: World) {
    const rules = accountRules(deps);
    /** An inbox whose first messages are removed. Its next ones fill the first block of threads. */
    async function newInbox(accountId?: string) {
      const inbox = await world.newInbox(accountId);
      const [all, inbound] = [threadBlock - 4, threadBlock / 2];
      await query(
        deps.db.api,
        sql`update inboxes set message_count = ${all}, removed_count = ${all}, last_removed_seq = ${all}, inbound_count = ${inbound},
              removed_inbound_count = ${inbound}, last_removed_inbound_seq = ${inbound}, revision = revision + 1 where id = ${inbox.id}`,
      );
      return inbox;
    }
    const first = await newInbox();
    const { accountId } = first;
    const inboxes = [first, await newInbox(accountId)];
    const doors = [deps, deps].map((each) => ({
      receive: mailReceiver(each),
      send: emailSender({ ...each, rules }, async () => undefined),
    }));
    const rfcIds: string[] = [];
    let turn = 0;

    const one = <Item>(items: readonly Item[], choice: number): Item | undefined => items[choice % items.length];
    const door = () =>
      one(doors, turn++) ?? {
        receive: mailReceiver(deps),
        send: emailSender({ ...deps, rules }, async () => undefined),
      };
    const rowsOf = (table: "threads" | "messages") =>
      query<{ id: string; inboxId: string; threadId: string }>(
        deps.db.api,
        table === "threads"
          ? sql`select t.id, t.inbox_id as "inboxId", t.id as "threadId" from threads t join inboxes i on i.id = inbox_id where account_id = ${accountId} order by t.id`
          : sql`select m.id, m.inbox_id as "inboxId", thread_id as "threadId" from messages m join inboxes i on i.id = inbox_id where account_id = ${accountId} order by m.id`,
      );
    /** A message to name as the last one seen: usually of the thread, sometimes of another. */
    const seen = async (choice: number | undefined, threadId: string | undefined) => {
      if (choice === undefined) return undefined;
      const messages = await rowsOf("messages");
      const own = messages.filter((message) => message.threadId === threadId);
      return one(choice % 9 === 0 ? messages : own, choice)?.id;
    };

    async function carryOut(planned: Step): Promise<void> {
      try {
        await happen(planned);
      } catch (error) {
        // Refused for a deleted inbox or a message of another thread; nothing may have changed.
        if (!(error instanceof Refusal && error.reason === "not_found")) throw error;
      }
    }

    async function happen(planned: Step): Promise<void> {
      if (planned.do === "receive") {
        const parent = planned.parent === undefined ? undefined : one(rfcIds, planned.parent);
        const bytes = new Uint8Array(3);
        const file = { filename: "a.txt", contentType: "text/plain", contentId: undefined, inline: false, bytes };
        const mail = parsedMail({
          inReplyTo: parent === undefined ? [] : [parent],
          attachments: planned.files ? [file] : [],
        });
        rfcIds.push(mail.messageId);
        const raw = Buffer.from(`Message-ID: <${mail.messageId}>\r\n\r\n`);
        const inbox = one(inboxes, planned.inbox) ?? first;
        const recipients = (planned.inbox % 5 === 0 ? inboxes : [inbox]).map(({ id }) => ({
          inboxId: id,
          toAddr: "a@b",
        }));
        await Promise.all(
          Array.from({ length: planned.copies }, () => door().receive({ envelope: envelopeTo(recipients), raw, mail })),
        );
      } else if (planned.do === "send") {
        const inbox = one(inboxes, planned.inbox) ?? first;
        const threads = (await rowsOf("threads")).filter(({ inboxId }) => inboxId === inbox.id);
        const threadId = planned.thread === undefined ? undefined : one(threads, planned.thread)?.id;
        const result = await door().send({
          account: { id: accountId, keyId: "key_1", plan: "developer" },
          inboxId: inbox.id,
          idempotencyKey: deps.newId("key", deps.now()),
          recipients: [{ address: "jane@example.com", name: undefined, type: "to" }],
          subject: "Hello",
          body: "Hello",
          bodyHtml: undefined,
          threadId,
          includeQuote: true,
          replyTo: undefined,
          readUpToMessageId: threadId === undefined ? undefined : await seen(planned.upTo, threadId),
          autoSubmitted: undefined,
          ignoreLoop: undefined,
        });
        if (result.kind === "refused") throw result.refusal;
      } else if (planned.do === "file") {
        const { change } = planned;
        const all = await rowsOf("threads");
        const inboxId = one(all, planned.threads[0] ?? 0)?.inboxId;
        if (inboxId === undefined) return;
        const own = all.filter((thread) => thread.inboxId === inboxId);
        const ids = new Set(planned.threads.flatMap((choice) => one(own, choice)?.id ?? []));
        const threads = await Promise.all(
          [...ids].map(async (id) => ({ id, upToMessageId: await seen(planned.upTo, id) })),
        );
        await fileThreads(deps, { accountId, actor: service, inboxId, threads, change });
      } else if (planned.do === "count") {
        await insertThreadBlocks(deps.db.api, (one(inboxes, planned.inbox) ?? first).id);
      } else if (planned.do === "remove") {
        // All mail is older than a day then. Mail that waits to be sent stays, and leaves gaps in the numbers.
        const later = () => new Date(deps.now().getTime() + 2 * 86_400_000);
        const inboxId = (one(inboxes, planned.inbox) ?? first).id;
        await countMail(deps, inboxId);
        await removeOldest({ ...deps, now: later }, { inboxId, afterSeq: 0, limit: planned.count, daysOfService: 1 });
      } else {
        const at = planned.inbox % inboxes.length;
        const inbox = inboxes[at] ?? first;
        inboxes[at] = await newInbox(accountId);
        await deleteInbox(deps, { accountId, actor: service }, inbox.id);
      }
    }

    const whole = { limit: 1_000, skip: 0 };

    async function check(): Promise<void> {
      for (const { id } of inboxes) {
        const totals = await findInboxTotals(deps.db.api, { accountId }, id);
        if (totals === undefined) throw new Error("Cannot check: the inbox is gone");
        const { messageCount, removedCount, inboundCount, removedInboundCount } = totals;
        const { threadCount, unreadCount, archiveCount, trashCount } = totals;
        const shown = { messages: messageCount - removedCount, inbound: inboundCount - removedInboundCount };
        expect<unknown>({ ...shown, threadCount, unreadCount, archiveCount, trashCount }).toEqual(await counted(id));
        expect(await wrongThreads(id)).toEqual([]);
        expect(await wrongLabels(id)).toEqual([]);
        expect(await wrongBlocks(id)).toEqual([]);
        // The next round changes what is counted now.
        await insertThreadBlocks(deps.db.api, id);
        expect(await wrongBlocks(id)).toEqual([]);
        await checkLists(id, shown.messages);
        await checkThreads(totals);
        await checkPages(totals);
      }
    }

    /** The totals must also match the lists. */
    async function checkLists(id: string, messages: number): Promise<void> {
      const all = await listMessagesInRange(deps.db.api, { inboxId: id, axis: "all", first: 1, last: 10_000 }, whole);
      expect(all).toHaveLength(messages);
      expect(all.map(({ position }) => position)).toEqual(
        all.map(({ position }) => position).toSorted((a, b) => b - a),
      );
      const newestFirst = all.toSorted(
        (a, b) => Date.parse(b.createdAt) - Date.parse(a.createdAt) || (a.id < b.id ? 1 : -1),
      );
      expect(all.map((message) => message.id)).toEqual(newestFirst.map((message) => message.id));
      for (const direction of ["inbound", "outbound"] as const) {
        const own = all.filter((message) => message.direction === direction).map((message) => message.id);
        const listed = await listMessagesInRange(
          deps.db.api,
          { inboxId: id, axis: direction, first: 1, last: 10_000 },
          whole,
        );
        expect(listed.map((message) => message.id)).toEqual(own);
      }
    }

    /** Each list of threads must show those in its folder or with its label, by offset and by cursor, and their number. */
    async function checkThreads(totals: InboxTotals): Promise<void> {
      const threads = await query<ThreadState>(
        deps.db.api,
        sql`select ${threadFields} from threads t where t.inbox_id = ${totals.id} order by t.last_seq desc`,
      );
      const lists = [
        ...[...folders, "all" as const].map((folder) => ({ folder, label: undefined })),
        ...labels.map((label) => ({ folder: "inbox" as const, label })),
      ];
      for (const { folder, label } of lists) {
        const isListed = (thread: ThreadState) =>
          label === undefined
            ? folder === "all" || thread.folder === folder
            : thread.folder !== "trash" && thread.labels.includes(label);
        for (const isRead of [undefined, false, true]) {
          const list = { folder, label, isRead, limit: 3 };
          const expected = threads.filter((each) => isListed(each) && (isRead === undefined || each.isRead === isRead));
          const ids = expected.map(({ id }) => id);
          const byOffset = [];
          for (let offset = 0; offset <= ids.length; offset += 3) {
            const page = await pageThreads(deps.db.api, totals, { ...list, offset, after: undefined });
            expect({ ...list, total: page.total }).toEqual({ ...list, total: ids.length });
            byOffset.push(...page.threads.map(({ id }) => id));
          }
          expect({ ...list, ids: byOffset }).toEqual({ ...list, ids });
          const byCursor = [];
          for (let after: number | undefined, pages = 0; pages <= ids.length; pages += 1) {
            const page = await pageThreads(deps.db.api, totals, { ...list, offset: 0, after });
            byCursor.push(...page.threads.map(({ id }) => id));
            after = page.next;
            if (after === undefined) break;
          }
          expect({ ...list, ids: byCursor }).toEqual({ ...list, ids });
        }
      }
    }

    /** Each page of each list must show the messages that are there, whichever numbers are missing. */
    async function checkPages(totals: InboxTotals): Promise<void> {
      const inboxId = totals.id;
      const { db } = deps;
      for (const direction of [undefined, "inbound", "outbound"] as const) {
        const axis = direction ?? "all";
        const all = await listMessagesInRange(db.api, { inboxId, axis, first: 1, last: 10_000 }, whole);
        const ids = all.map(({ id }) => id);
        const page = { reach: { accountId }, inboxId, direction, threadId: undefined, limit: 2 };
        const [since, until] = [all.at(-2), all[1]].map((message) => message && new Date(message.createdAt));
        const isBetween = (at: Date) => (since === undefined || at >= since) && (until === undefined || at < until);
        const between = all.filter(({ createdAt }) => isBetween(new Date(createdAt))).map(({ id }) => id);
        const lists = [
          [{ since: undefined, until: undefined }, ids, (asked: MessagesQuery) => pageMessages(db.api, asked)],
          [{ since, until }, between, (asked: MessagesQuery) => pageBetween(db.api, totals, asked)],
        ] as const;
        for (const [times, expected, read] of lists) {
          const total = expected.length;
          for (let offset = 0; offset <= ids.length; offset += 1) {
            const found = await read({ ...page, ...times, offset, after: undefined });
            expect([axis, found?.total, found?.messages.map(({ id }) => id)]).toEqual([
              axis,
              total,
              expected.slice(offset, offset + 2),
            ]);
          }
          const seen = [];
          for (let after: number | undefined, pages = 0; pages <= total; pages += 1) {
            const found = await read({ ...page, ...times, offset: 0, after });
            seen.push(...(found?.messages ?? []).map(({ id }) => id));
            after = found?.next;
            if (after === undefined) break;
          }
          expect(seen).toEqual(expected);
        }
      }
    }

    async function counted(id: string) {
      const [row] = await query<Record<string, number>>(
        deps.db.api,
        sql`select (select count(*) from messages where inbox_id = ${id}) as messages,
              (select count(*) from messages where inbox_id = ${id} and direction = 'inbound') as inbound,
              (select count(*) from threads where inbox_id = ${id}) as "threadCount",
              (select count(*) from threads where inbox_id = ${id} and not is_read) as "unreadCount",
              (select count(*) from threads where inbox_id = ${id} and folder = 'archive') as "archiveCount",
              (select count(*) from threads where inbox_id = ${id} and folder = 'trash') as "trashCount"`,
      );
      return row;
    }

    /** Threads whose totals do not match their messages. */
    const wrongThreads = (id: string) =>
      query(
        deps.db.api,
        sql`select t.id from threads t left join (select thread_id, count(*) as count, max(seq) as last, max(id) as last_id,
                coalesce(max(seq) filter (where direction = 'inbound'), 0) as last_inbound, bool_or(attachment_count > 0) as files
              from messages where inbox_id = ${id} group by thread_id) m on m.thread_id = t.id
            where t.inbox_id = ${id} and (t.message_count, t.last_seq, t.last_inbound_seq, t.has_attachments)
              is distinct from (m.count, m.last, m.last_inbound, m.files)`,
      );

    /** Counted blocks whose counts do not match their threads. */
    const wrongBlocks = (id: string) =>
      query(
        deps.db.api,
        sql`select b.*, t.* from thread_blocks b cross join lateral (
              select count(*) filter (where not is_read) as unread, count(*) filter (where is_read and folder = 'inbox') as read,
                count(*) filter (where folder = 'archive') as archived, count(*) filter (where folder = 'trash') as trashed
              from threads where inbox_id = ${id} and last_seq / ${threadBlock}::int4 = b.block) t
            where b.inbox_id = ${id}
              and (b.unread, b.read, b.archived, b.trashed) is distinct from (t.unread, t.read, t.archived, t.trashed)`,
      );

    /** Labels whose rows or counts do not match their threads. */
    const wrongLabels = (id: string) =>
      query(
        deps.db.api,
        sql`with wanted as (
              select t.id, label, t.is_read, t.last_seq from threads t cross join unnest(t.labels) as each (label)
              where t.inbox_id = ${id} and t.folder <> 'trash'
            ),
            counted as (select label, count(*) as all, count(*) filter (where not is_read) as unread from wanted group by label)
            select coalesce(w.id, l.thread_id) as id from wanted w
            full join (select * from thread_labels where inbox_id = ${id}) l
              on l.thread_id = w.id and l.label = w.label and l.is_read = w.is_read and l.last_seq = w.last_seq
            where w.id is null or l.thread_id is null
            union all
            select coalesce(w.label, c.label) from counted w
            full join (select * from label_counts where inbox_id = ${id}) c
              on c.label = w.label and c.thread_count = w.all and c.unread_count = w.unread
            where w.label is null or c.label is null`,
      );

    const end = async () => {
      for (const { id } of inboxes) await deleteInbox(deps, { accountId, actor: service }, id);
    };
    return { carryOut, check, end };
  }
}
