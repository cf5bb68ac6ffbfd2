import { describe, expect, test } from "bun:test";
import { takeIn } from "../../../support/arrivals.ts";
import { enginesHere } from "../../../support/engines.ts";
import { mailOf } from "../../../support/mail.ts";
import { newAccount, send } from "../../../support/sends.ts";
import { oneWorldOn } from "../../../support/world-on.ts";

for (const engine of enginesHere()) {
  describe(`Threads on ${engine}`, () => {
    const world = oneWorldOn(engine, { env: { SENDS_PER_MINUTE: "0" } });
    const list = async (inbox: string, query = "") => (await world().api(`/v1/inboxes/${inbox}/threads${query}`)).body;
    const subjects = (body: { data: { subject: string }[] }) => body.data.map(({ subject }) => subject);
    const mark = (thread: string, body: object) => world().api(`/v1/threads/${thread}`, { method: "PATCH", body });

    /** A conversation in an inbox of its own; gives the thread and the messages, oldest first. */
    async function conversation(...texts: string[]) {
      const inbox = await world().inbox();
      const root = `${inbox.id}@example.com`;
      for (const [index, text] of texts.entries()) {
        const fields = index === 0 ? { messageId: root } : { inReplyTo: root };
        await world().deliver(mailOf({ subject: "Talk", text: `${text}\r\n`, ...fields }), inbox.address);
      }
      const [thread] = (await list(inbox.id)).data;
      const { data } = (await world().api(`/v1/threads/${thread.id}/messages`)).body;
      return { inbox, thread, messages: data as { id: string; bodyText: string }[], root };
    }

    test("A thread has the fields of the contract, in their order", async () => {
      const { inbox, thread, messages } = await conversation("first words", "last\r\n\r\n   words");
      const at = world().clock.now().toISOString();
      expect(Object.entries(thread)).toEqual(
        Object.entries({
          threadId: thread.id,
          id: expect.stringMatching(/^thr_[0-9a-z]{26}$/),
          inboxId: inbox.id,
          subject: "Talk",
          isRead: false,
          messageCount: 2,
          lastMessageAt: at,
          lastMessageId: messages[1]?.id,
          createdAt: at,
          participants: ["jane@example.com"],
          preview: "last words",
          hasAttachments: false,
          people: [{ address: "jane@example.com", name: "Jane Doe" }],
          folder: "inbox",
          labels: [],
          metadata: {},
          draftCount: 0,
        }),
      );
    });

    test("A thread has the newest name of each of its people, which stays while a mail has none", async () => {
      const inbox = await world().inbox();
      const root = `names-${inbox.id}@example.com`;
      const joins = { inReplyTo: root, subject: "Re: Names" };
      const answered = async () => {
        const [thread] = (await list(inbox.id)).data;
        expect(thread.participants).toEqual(thread.people.map(({ address }: { address: string }) => address));
        return thread.people.map(({ address, name }: { address: string; name: string | null }) => [address, name]);
      };
      await world().deliver(
        mailOf({ from: "Jane <jane@example.com>", subject: "Names", messageId: root }),
        inbox.address,
      );
      expect(await answered()).toEqual([["jane@example.com", "Jane"]]);
      await world().deliver(mailOf({ ...joins, from: "=?utf-8?q?J=C3=A4ne_Doe?= <jane@example.com>" }), inbox.address);
      await world().deliver(mailOf({ ...joins, from: "jane@example.com" }), inbox.address);
      expect(await answered()).toEqual([["jane@example.com", "Jäne Doe"]]);
      const [{ id: threadId }] = (await list(inbox.id)).data;
      const to = ["jane@example.com", { address: "bob@example.com", name: "Bob" }];
      await send(world(), inbox.id, { to, bcc: ["eve@example.com"], threadId, fromName: "Ada at work" });
      expect(await answered()).toEqual([
        ["jane@example.com", "Jäne Doe"],
        [inbox.address, "Ada at work"],
        ["bob@example.com", "Bob"],
      ]);
      const marked = await mark(threadId, { is_read: false });
      expect(marked.body.people[0]).toEqual({ address: "jane@example.com", name: "Jäne Doe" });
    });

    test("Threads are listed by their last message, in pages that have the total", async () => {
      const inbox = await world().inbox();
      for (const name of ["a", "b", "c", "d", "e"]) {
        await world().deliver(mailOf({ subject: name, messageId: `${name}-${inbox.id}@example.com` }), inbox.address);
      }
      await world().deliver(mailOf({ subject: "Re: b", inReplyTo: `b-${inbox.id}@example.com` }), inbox.address);
      const { data } = await list(inbox.id);
      await mark(data[1].id, { is_read: true });
      await mark(data[3].id, { is_read: true });
      for (const [query, names, total] of [
        ["", ["b", "e", "d", "c", "a"], 5],
        ["?limit=2", ["b", "e"], 5],
        ["?limit=2&offset=1", ["e", "d"], 5],
        ["?limit=2&offset=3", ["c", "a"], 5],
        ["?limit=2&offset=4", ["a"], 5],
        ["?offset=5", [], 5],
        ["?is_read=false", ["b", "d", "a"], 3],
        ["?isRead=false&limit=1&offset=2", ["a"], 3],
        ["?is_read=true", ["e", "c"], 2],
        ["?is_read=true&offset=1", ["c"], 2],
      ] as const) {
        const body = await list(inbox.id, query);
        expect([query, subjects(body), body.total]).toEqual([query, [...names], total]);
      }
    });

    test("A thread's messages are listed oldest first, up to a hundred at once", async () => {
      const { inbox, root } = await conversation("1");
      const numbers = Array.from({ length: 102 }, (_, index) => index + 2);
      const mails = numbers.map((number) => ({ inReplyTo: [root], bodyText: String(number) }));
      await takeIn(world().service.deps, inbox, mails);
      const [thread] = (await list(inbox.id)).data;
      for (const [query, first, last] of [
        ["", 1, 100],
        ["?offset=100", 101, 103],
        ["?limit=2&offset=1", 2, 3],
        ["?limit=3&offset=99", 100, 102],
        ["?offset=103", 104, 103],
      ] as const) {
        const { body } = await world().api(`/v1/threads/${thread.id}/messages${query}`);
        const { data, ...rest } = body;
        expect(rest).toEqual({ threadId: thread.id, subject: "Talk", isRead: false, total: 103 });
        const shown = data.map(({ bodyText }: { bodyText: string }) => Number(bodyText));
        expect([query, shown]).toEqual([query, Array.from({ length: last - first + 1 }, (_, index) => first + index)]);
      }
    });

    test("The flag goes as the contract's table says", async () => {
      const { inbox, thread, root } = await conversation("hello");
      const flag = async () => {
        const { data, total } = await list(inbox.id, "?is_read=false");
        const [all] = (await list(inbox.id)).data;
        expect([total, data.length]).toEqual(all.isRead ? [0, 0] : [1, 1]);
        return all.isRead;
      };
      expect(await flag()).toBe(false);
      expect((await mark(thread.id, { is_read: true })).body).toMatchObject({ ok: true, id: thread.id, isRead: true });
      expect(await flag()).toBe(true);
      expect((await mark(thread.id, { is_read: false })).body.isRead).toBe(false);
      expect((await mark(thread.id, { is_read: false })).body.isRead).toBe(false);
      expect(await flag()).toBe(false);
      await send(world(), inbox.id, { threadId: thread.id });
      expect(await flag()).toBe(true);
      await world().deliver(mailOf({ subject: "again", inReplyTo: root, text: "again\r\n" }), inbox.address);
      expect(await flag()).toBe(false);
    });

    test("Reading changes no flag", async () => {
      const { inbox, thread, messages } = await conversation("hello");
      for (const path of [
        `/v1/threads/${thread.id}/messages`,
        `/v1/messages/${messages[0]?.id}`,
        `/v1/messages/${messages[0]?.id}/raw`,
        `/v1/inboxes/${inbox.id}/messages`,
      ]) {
        expect((await world().api(path)).status).toBe(200);
      }
      expect((await list(inbox.id)).data[0].isRead).toBe(false);
    });

    test("Mail that came in behind the last message seen keeps the thread unread", async () => {
      const { inbox, thread, messages } = await conversation("seen", "not seen");
      const [seen, unseen] = messages;
      const late = await mark(thread.id, { is_read: true, up_to_message_id: seen?.id });
      expect(late.body).toMatchObject({ ok: true, isRead: false, reason: "newer_inbound" });
      expect((await list(inbox.id, "?is_read=false")).total).toBe(1);
      const right = await mark(thread.id, { is_read: true, up_to_message_id: unseen?.id });
      expect(right.body).toMatchObject({ ok: true, isRead: true });
      expect(right.body).not.toHaveProperty("reason");
      expect((await list(inbox.id, "?is_read=false")).total).toBe(0);
    });

    test("An answer of our own behind the last message seen is nothing new", async () => {
      const { inbox, thread, messages } = await conversation("seen");
      await send(world(), inbox.id, { threadId: thread.id });
      await mark(thread.id, { is_read: false });
      const { body } = await mark(thread.id, { is_read: true, up_to_message_id: messages[0]?.id });
      expect([body.isRead, body.reason]).toEqual([true, undefined]);
    });

    test("What can't be marked is refused", async () => {
      const { thread } = await conversation("hello");
      const other = await conversation("other");
      const stranger = await newAccount(world());
      const patch = (id: string, body: unknown, apiKey = world().apiKey) =>
        world().api(`/v1/threads/${id}`, { method: "PATCH", body, apiKey });
      for (const [answer, expected] of [
        [await patch(thread.id, {}), [400, "validation_error", "#"]],
        [await patch(thread.id, { is_read: "true" }), [400, "validation_error", "#/is_read"]],
        [
          await patch(thread.id, { is_read: true, up_to_message_id: 1 }),
          [400, "validation_error", "#/up_to_message_id"],
        ],
        [await patch(thread.id, { is_read: true, up_to_message_id: "msg_x" }), [404, "not_found", "message"]],
        [
          await patch(thread.id, { is_read: true, up_to_message_id: other.messages[0]?.id }),
          [404, "not_found", "message"],
        ],
        [await patch(thread.id, {}, stranger), [404, "not_found", "thread"]],
        [await patch("thr_x", {}), [404, "not_found", "thread"]],
        [await patch(thread.id, "{"), [400, "invalid_json", "#"]],
      ] as const) {
        const { status, body } = answer;
        expect([status, body.code, body.errors?.[0].pointer ?? body.resource]).toEqual([...expected]);
      }
      const answer = await world().api(`/v1/threads/${thread.id}/messages`, { apiKey: stranger });
      expect([answer.status, answer.body.resource]).toEqual([404, "thread"]);
    });

    test.each([
      ["threads?is_read=1", "is_read"],
      ["threads?is_read=", "is_read"],
      ["threads?isRead=yes", "isRead"],
      ["threads?is_read=true&isRead=false", "is_read"],
      ["threads?limit=101", "limit"],
      ["threads?offset=x", "offset"],
    ])("/%s is refused by the name of the parameter", async (path, name) => {
      const inbox = await world().inbox();
      const { status, body } = await world().api(`/v1/inboxes/${inbox.id}/${path}`);
      expect([status, body.code, body.errors[0].parameter]).toEqual([400, "invalid_query", name]);
    });
  });
}
