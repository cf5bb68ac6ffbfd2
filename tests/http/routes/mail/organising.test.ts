import { describe, expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import { query } from "../../../../src/database/db.ts";
import { mostLabelsOfInbox } from "../../../../src/domain/labels.ts";
import { enginesHere } from "../../../support/engines.ts";
import { mailOf } from "../../../support/mail.ts";
import { newAccount, send } from "../../../support/sends.ts";
import { oneWorldOn } from "../../../support/world-on.ts";

interface Shown {
  id: string;
  subject: string;
  isRead: boolean;
  folder: string;
  labels: string[];
  lastMessageId: string;
}

for (const engine of enginesHere()) {
  describe(`Organising threads on ${engine}`, () => {
    const world = oneWorldOn(engine, { env: { SENDS_PER_MINUTE: "0" } });
    const list = async (inbox: string, asked = "") => (await world().api(`/v1/inboxes/${inbox}/threads${asked}`)).body;
    const labels = async (inbox: string) => (await world().api(`/v1/inboxes/${inbox}/labels`)).body.data;
    const change = (thread: string, body: object) => world().api(`/v1/threads/${thread}`, { method: "PATCH", body });
    const changeAll = (inbox: string, body: object) =>
      world().api(`/v1/inboxes/${inbox}/threads`, { method: "PATCH", body });

    /** An inbox with a thread of each subject. `write` sends one more mail to a thread. */
    async function inboxWith(...subjects: string[]) {
      const inbox = await world().inbox();
      const named = (subject: string) => `${subject}-${inbox.id}@example.com`;
      for (const subject of subjects)
        await world().deliver(mailOf({ subject, messageId: named(subject) }), inbox.address);
      const threads: Record<string, Shown> = Object.fromEntries(
        (await list(inbox.id)).data.map((thread: Shown) => [thread.subject, thread]),
      );
      const write = (subject: string) =>
        world().deliver(mailOf({ subject: `Re: ${subject}`, inReplyTo: named(subject) }), inbox.address);
      const thread = (subject: string) => threads[subject] as Shown;
      const now = async (subject: string) => (await world().api(`/v1/threads/${thread(subject).id}`)).body as Shown;
      return { inbox, thread, now, write };
    }

    test("a thread goes to the archive and the trash, and mail brings it back unread", async () => {
      const { inbox, thread, now, write } = await inboxWith("a", "b", "c");
      const archived = await change(thread("a").id, { folder: "archive", up_to_message_id: thread("a").lastMessageId });
      expect(archived.body).toMatchObject({ ok: true, isRead: true, folder: "archive" });
      expect((await change(thread("b").id, { folder: "trash" })).body).toMatchObject({ isRead: true, folder: "trash" });
      const shown = async () =>
        Promise.all(
          [
            "",
            "?folder=inbox",
            "?folder=archive",
            "?folder=trash",
            "?folder=all",
            "?is_read=true",
            "?is_read=false",
          ].map(async (asked) => {
            const { data, total } = await list(inbox.id, asked);
            expect(total).toBe(data.length);
            return data.map(({ subject }: Shown) => subject).join("");
          }),
        );
      expect(await shown()).toEqual(["c", "c", "a", "b", "cba", "", "c"]);
      await write("a");
      expect(await now("a")).toMatchObject({ isRead: false, folder: "inbox" });
      expect(await shown()).toEqual(["ac", "ac", "", "b", "acb", "", "ac"]);
      await write("b");
      expect(await now("b")).toMatchObject({ isRead: false, folder: "inbox" });
      expect(await shown()).toEqual(["bac", "bac", "", "", "bac", "", "bac"]);
    });

    test("newer mail keeps a thread in the inbox, unread", async () => {
      const { thread, now, write } = await inboxWith("a");
      await write("a");
      const seen = { up_to_message_id: thread("a").lastMessageId };
      for (const folder of ["archive", "trash"]) {
        const { body } = await change(thread("a").id, { folder, ...seen, add_labels: ["seen"] });
        expect(body).toMatchObject({ isRead: false, folder: "inbox", labels: ["seen"], reason: "newer_inbound" });
      }
      expect(await now("a")).toMatchObject({ isRead: false, folder: "inbox" });
    });

    test("an answer leaves the folder, and one that has not seen all brings the thread back", async () => {
      const { inbox, thread, now, write } = await inboxWith("a");
      const { id, lastMessageId } = thread("a");
      await change(id, { folder: "archive" });
      await send(world(), inbox.id, { threadId: id });
      expect(await now("a")).toMatchObject({ isRead: true, folder: "archive" });
      await write("a");
      await change(id, { folder: "archive" });
      await send(world(), inbox.id, { threadId: id, readUpToMessageId: lastMessageId });
      expect(await now("a")).toMatchObject({ isRead: false, folder: "inbox" });
      await change(id, { folder: "trash" });
      expect((await change(id, { is_read: false })).body).toMatchObject({ isRead: false, folder: "inbox" });
      expect((await change(id, { folder: null, is_read: true })).body).toMatchObject({ isRead: true, folder: "inbox" });
    });

    test("labels are listed and counted, and a label finds its threads outside the trash", async () => {
      const { inbox, thread, now, write } = await inboxWith("a", "b", "c");
      expect(await labels(inbox.id)).toEqual([]);
      expect((await change(thread("a").id, { add_labels: [" Orders ", "VIP"] })).body.labels).toEqual([
        "orders",
        "vip",
      ]);
      await change(thread("b").id, { addLabels: ["orders"], is_read: true });
      await change(thread("c").id, { add_labels: ["orders"], folder: "archive" });
      expect(await labels(inbox.id)).toEqual([
        { label: "orders", threadCount: 3, unreadCount: 1 },
        { label: "vip", threadCount: 1, unreadCount: 1 },
      ]);
      for (const [asked, subjects] of [
        ["label=ORDERS", "cba"],
        ["label=orders&is_read=true", "cb"],
        ["label=orders&is_read=false", "a"],
        ["label=orders&limit=1&offset=1", "b"],
        ["label=vip", "a"],
        ["label=none", ""],
      ] as const) {
        const { data, total } = await list(inbox.id, `?${asked}`);
        expect([asked, data.map(({ subject }: Shown) => subject).join("")]).toEqual([asked, subjects]);
        if (!asked.includes("limit")) expect(total).toBe(subjects.length);
      }
      await write("b");
      expect((await list(inbox.id, "?label=orders")).data.map(({ subject }: Shown) => subject).join("")).toBe("bca");
      await change(thread("c").id, { folder: "trash" });
      await change(thread("a").id, { remove_labels: ["vip"] });
      expect(await now("c")).toMatchObject({ labels: ["orders"], folder: "trash" });
      expect(await labels(inbox.id)).toEqual([{ label: "orders", threadCount: 2, unreadCount: 2 }]);
      await write("c");
      expect(await labels(inbox.id)).toEqual([{ label: "orders", threadCount: 3, unreadCount: 3 }]);
    });

    test("a cursor goes through a list without repeating a thread", async () => {
      const subjects = ["a", "b", "c", "d", "e"];
      const { inbox, thread, write } = await inboxWith(...subjects);
      await changeAll(inbox.id, { ids: subjects.map((name) => thread(name).id), add_labels: ["x"] });
      for (const filter of ["", "&label=x", "&folder=all"]) {
        const first = await list(inbox.id, `?limit=2${filter}`);
        await write(first.data[1].subject.replace("Re: ", ""));
        const second = await list(inbox.id, `?limit=2${filter}&cursor=${first.nextCursor}`);
        const third = await list(inbox.id, `?limit=2${filter}&cursor=${second.nextCursor}`);
        expect(third.nextCursor).toBeNull();
        const ids = [first, second, third].flatMap(({ data }) => data.map(({ id }: Shown) => id));
        expect([ids.length, new Set(ids).size]).toEqual([5, 5]);
        expect(
          (await world().api(`/v1/inboxes/${inbox.id}/threads?is_read=true&cursor=${first.nextCursor}`)).status,
        ).toBe(400);
      }
      expect((await list(inbox.id)).nextCursor).toBeNull();
    });

    test("several threads change together, or none", async () => {
      const { inbox, thread, now, write } = await inboxWith("a", "b", "c");
      const ids = [thread("c").id, thread("a").id];
      await write("a");
      const seen = { [thread("a").id]: thread("a").lastMessageId };
      const changed = await changeAll(inbox.id, { ids, folder: "archive", add_labels: ["x"], up_to_message_ids: seen });
      expect(changed.body).toEqual({
        data: [
          { id: thread("c").id, isRead: true, folder: "archive", labels: ["x"] },
          { id: thread("a").id, isRead: false, folder: "inbox", labels: ["x"], reason: "newer_inbound" },
        ],
      });
      const other = await inboxWith("other");
      for (const id of [other.thread("other").id, "thr_00000000000000000000000000", "nothing"]) {
        const refused = await changeAll(inbox.id, { ids: [thread("b").id, id], folder: "trash" });
        expect([refused.status, refused.body.resource]).toEqual([404, "thread"]);
      }
      const strange = { [thread("b").id]: thread("c").lastMessageId };
      const refused = await changeAll(inbox.id, { ids: [thread("b").id], folder: "trash", up_to_message_ids: strange });
      expect([refused.status, refused.body.resource]).toEqual([404, "message"]);
      expect(await now("b")).toMatchObject({ isRead: false, folder: "inbox" });
    });

    test("metadata of a thread is merged by key, and stays with later mail", async () => {
      const { thread, now, write } = await inboxWith("a");
      const { id } = thread("a");
      expect((await change(id, { metadata: { order: "1", ticket: "7" } })).body.metadata).toEqual({
        order: "1",
        ticket: "7",
      });
      expect((await change(id, { metadata: { order: null, queue: "x" } })).body.metadata).toEqual({
        ticket: "7",
        queue: "x",
      });
      await write("a");
      expect(await now("a")).toMatchObject({ metadata: { ticket: "7", queue: "x" } });
      expect((await change(id, { metadata: null })).body.metadata).toEqual({});
    });

    test("what contradicts itself is refused", async () => {
      const { inbox, thread } = await inboxWith("a");
      const { id, lastMessageId } = thread("a");
      const twentyOne = Array.from({ length: 21 }, (_, index) => `l${index}`);
      for (const [body, pointer] of [
        [{}, "#"],
        [{ up_to_message_id: lastMessageId }, "#"],
        [{ is_read: false, folder: "archive" }, "#/folder"],
        [{ is_read: false, folder: "trash" }, "#/folder"],
        [{ folder: "spam" }, "#/folder"],
        [{ add_labels: ["A"], remove_labels: ["a "] }, "#/remove_labels"],
        [{ add_labels: ["x", "a,b"] }, "#/add_labels/1"],
        [{ remove_labels: [""] }, "#/remove_labels/0"],
        [{ add_labels: twentyOne }, "#/add_labels"],
        [{ metadata: { "no blank": "1" } }, "#/metadata"],
        [{ metadata: { a: 1 } }, "#/metadata"],
        [{ metadata: Object.fromEntries(twentyOne.map((key) => [key, "1"])) }, "#/metadata"],
      ] as const) {
        const one = await change(id, body);
        expect([body, one.status, one.body.errors?.[0]?.pointer]).toEqual([body, 400, pointer]);
        if (!("up_to_message_id" in body)) {
          const all = await changeAll(inbox.id, { ids: [id], ...body });
          expect([body, all.status, all.body.errors?.[0]?.pointer]).toEqual([body, 400, pointer]);
        }
      }
      for (const body of [
        { ids: [] },
        { ids: [id, id] },
        { ids: [id], up_to_message_ids: { thr_other: lastMessageId } },
      ])
        expect((await changeAll(inbox.id, { ...body, is_read: true })).status).toBe(400);
      for (const asked of ["?folder=spam", "?label=a,b", "?label=", "?label=a&folder=all", "?cursor=x"]) {
        const { status, body } = await world().api(`/v1/inboxes/${inbox.id}/threads${asked}`);
        expect([asked, status, body.code]).toEqual([asked, 400, "invalid_query"]);
      }
    });

    test("a thread has 20 labels, an inbox 1,000 different ones", async () => {
      const { inbox, thread } = await inboxWith("a", "b");
      const twenty = Array.from({ length: 20 }, (_, index) => `l${index}`);
      await change(thread("a").id, { add_labels: twenty });
      expect((await change(thread("a").id, { add_labels: ["more"] })).status).toBe(400);
      await query(
        world().service.deps.db.api,
        sql`insert into label_counts (inbox_id, label, thread_count, unread_count)
            select ${inbox.id}, 'm' || number, 1, 0 from generate_series(1, ${mostLabelsOfInbox - 20}::int) number`,
      );
      const full = await change(thread("b").id, { add_labels: ["new"] });
      expect([full.status, full.body.code, full.body.limit]).toEqual([422, "label_limit", mostLabelsOfInbox]);
      expect((await change(thread("b").id, { add_labels: ["m7", "l7"] })).status).toBe(200);
    });

    test("a send labels its thread, also in a form, and its labels are part of its idempotency", async () => {
      const { inbox, thread, now } = await inboxWith("a");
      const asked = { to: "jane@example.com", subject: "New", body: "Hello", labels: ["Orders", "vip"] };
      const made = await send(world(), inbox.id, asked, { key: `labelled-${inbox.id}` });
      const fresh = (await world().api(`/v1/threads/${made.body.threadId}`)).body;
      expect(fresh).toMatchObject({ labels: ["orders", "vip"], isRead: true });
      const again = { ...asked, labels: ["VIP ", "orders"] };
      expect((await send(world(), inbox.id, again, { key: `labelled-${inbox.id}` })).body.messageId).toBe(
        made.body.messageId,
      );
      const other = { ...asked, labels: ["orders"] };
      expect((await send(world(), inbox.id, other, { key: `labelled-${inbox.id}` })).status).toBe(422);

      await change(thread("a").id, { add_labels: ["kept"], folder: "archive" });
      await send(world(), inbox.id, { threadId: thread("a").id, labels: ["orders"] });
      expect(await now("a")).toMatchObject({ labels: ["kept", "orders"], folder: "archive" });
      const form = new FormData();
      for (const [name, value] of Object.entries({
        to: "jane@example.com",
        subject: "Form",
        body: "Hello",
        labels: "one",
      }))
        form.append(name, value);
      const posted = await fetch(new URL(`/v1/inboxes/${inbox.id}/send`, world().service.apiUrl), {
        method: "POST",
        headers: {
          authorization: `Bearer ${world().apiKey}`,
          "idempotency-key": `form-${inbox.id}`,
          prefer: "respond-async",
        },
        body: form,
      });
      expect([posted.status, (await labels(inbox.id)).map(({ label }: { label: string }) => label)]).toEqual([
        200,
        ["kept", "one", "orders", "vip"],
      ]);

      const many = Array.from({ length: 19 }, (_, index) => `l${index}`);
      for (const [body, pointer] of [
        [{ threadId: thread("a").id, labels: many }, "#/labels"],
        [{ labels: ["a,b"] }, "#/labels/0"],
        [{ labels: "orders" }, "#/labels"],
      ] as const) {
        const refused = await send(world(), inbox.id, body);
        expect([refused.status, refused.body.errors?.[0]?.pointer]).toEqual([400, pointer]);
      }
      await query(
        world().service.deps.db.api,
        sql`insert into label_counts (inbox_id, label, thread_count, unread_count)
            select ${inbox.id}, 'm' || number, 1, 0 from generate_series(1, ${mostLabelsOfInbox - 5}::int) number`,
      );
      // One label is left, so of two sends at once that each add one, one is refused.
      const both = await Promise.all(["x", "y"].map((label) => send(world(), inbox.id, { labels: [label] })));
      expect(both.map(({ status, body }) => body.code ?? status).toSorted()).toEqual([200, "label_limit"]);
    });

    test.skipIf(engine === "embedded")("archiving races with mail that another process takes in", async () => {
      const subjects = Array.from({ length: 40 }, (_, index) => `race${index}`);
      const { inbox, thread, now } = await inboxWith(...subjects);
      await changeAll(inbox.id, { ids: subjects.map((name) => thread(name).id), add_labels: ["race"] });
      await using other = await world().another();
      const outcomes = await Promise.all(
        subjects.map(async (subject, index) => {
          const reply = mailOf({ subject: `Re: ${subject}`, inReplyTo: `${subject}-${inbox.id}@example.com` });
          const { id, lastMessageId } = thread(subject);
          const seen = index % 2 === 0 ? { up_to_message_id: lastMessageId } : {};
          const [answer, said] = await Promise.all([
            change(id, { folder: index % 3 === 0 ? "trash" : "archive", ...seen }),
            other.deliver(reply, inbox.address),
          ]);
          expect([answer.status, said.slice(0, 3)]).toEqual([200, "250"]);
          return { subject, isSeenNamed: index % 2 === 0, answer: answer.body };
        }),
      );
      for (const { subject, isSeenNamed, answer } of outcomes) {
        const shown = await now(subject);
        // Filed before the mail came, it is back; with the last message seen it is never hidden.
        if (isSeenNamed || answer.messageCount === 1) expect(shown).toMatchObject({ isRead: false, folder: "inbox" });
        else expect([shown.isRead, shown.folder]).toEqual([true, answer.folder]);
      }
      for (const asked of ["folder=inbox", "folder=archive", "folder=trash", "is_read=false", "label=race"]) {
        const { data, total } = await list(inbox.id, `?limit=100&${asked}`);
        expect([asked, total]).toEqual([asked, data.length]);
      }
    });

    test("threads of another account are not found", async () => {
      const { inbox, thread } = await inboxWith("a");
      const apiKey = await newAccount(world());
      for (const [path, options] of [
        [`/v1/threads/${thread("a").id}`, {}],
        [`/v1/threads/${thread("a").id}`, { method: "PATCH", body: { folder: "trash" } }],
        [`/v1/inboxes/${inbox.id}/threads`, { method: "PATCH", body: { ids: [thread("a").id], folder: "trash" } }],
        [`/v1/inboxes/${inbox.id}/labels`, {}],
      ] as const)
        expect((await world().api(path, { ...options, apiKey })).status).toBe(404);
    });
  });
}
