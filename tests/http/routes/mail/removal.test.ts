import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { getTableName, type SQL, sql } from "drizzle-orm";
import { query } from "../../../../src/database/db.ts";
import { leftOut, portable } from "../../../../src/store/upkeep/portable.ts";
import { emptyRemovedThreads } from "../../../../src/workers/remove-mail.ts";
import { takeIn } from "../../../support/arrivals.ts";
import { enginesHere } from "../../../support/engines.ts";
import { mailOf } from "../../../support/mail.ts";
import { type ScriptedSmtp, scriptedSmtp } from "../../../support/scripted-smtp.ts";
import { newDraft, send } from "../../../support/sends.ts";
import { untilSo } from "../../../support/until.ts";
import type { World, WorldInbox } from "../../../support/world.ts";
import { worldsOn } from "../../../support/world-on.ts";

for (const engine of enginesHere()) {
  describe(`The removal of mail on request, on ${engine}`, () => {
    const start = worldsOn(engine);
    let relay: ScriptedSmtp;
    let started: World;
    const world = () => started;
    beforeAll(async () => {
      relay = await scriptedSmtp({
        answer: (command) => (command.startsWith("RCPT TO:<late@") ? "451 4.7.1 Try later" : undefined),
      });
      started = await start({
        env: {
          OUTBOUND: `smtp://127.0.0.1:${relay.port}?tls=off`,
          SENDS_PER_MINUTE: "0",
          COLD_RECIPIENT_DAILY: "0",
          ALLOW_PRIVATE_WEBHOOKS: "1",
        },
      });
    }, 60_000);
    afterAll(async () => {
      await started[Symbol.asyncDispose]();
      await relay.close();
    });
    const db = () => world().service.deps.db.api;
    const get = async (path: string) => (await world().api(path)).body;
    const remove = (path: string) => world().api(path, { method: "DELETE" });
    const status = async (path: string) => (await world().fetch(path)).status;
    const messagesOf = async (inbox: WorldInbox) => (await get(`/v1/inboxes/${inbox.id}/messages`)).data;
    const threadsOf = async (inbox: WorldInbox) => (await get(`/v1/inboxes/${inbox.id}/threads`)).data;
    const subjectsOf = async (inbox: WorldInbox) =>
      (await messagesOf(inbox)).map(({ subject }: { subject: string }) => subject);

    async function rows(table: string, where: SQL): Promise<number> {
      const [counted] = await query<{ count: number }>(
        db(),
        sql`select count(*) as count from ${sql.identifier(table)} where ${where}`,
      );
      return counted?.count ?? 0;
    }

    /** The events about a message that still have their data. */
    const eventsOf = (id: string) => rows("events", sql`message_id = ${id} and data is not null`);

    /** The tables in which a text stands. */
    async function tablesWith(text: string): Promise<string[]> {
      const found: string[] = [];
      for (const name of [...portable, ...leftOut].map(({ table }) => getTableName(table))) {
        const hex = Buffer.from(text).toString("hex");
        const row = sql`${sql.identifier(name)}::text`;
        if ((await rows(name, sql`${row} ilike ${`%${text}%`} or ${row} like ${`%${hex}%`}`)) > 0) found.push(name);
      }
      return found;
    }

    test("A removed message leaves no byte, and its thread is made anew from the others", async () => {
      const inbox = await world().inbox();
      await world().api("/v1/webhook", { method: "PUT", body: { url: "http://127.0.0.1:18113/hook" } });
      const root = `${inbox.id}@example.com`;
      await world().deliver(
        mailOf({ subject: "Canary42", text: "Canary42 sings\r\n", messageId: root }),
        inbox.address,
      );
      await world().deliver(mailOf({ subject: "Re: bird", text: "Second\r\n", inReplyTo: root }), inbox.address);
      const boundary = "b";
      const part = [
        "--b",
        "Content-Type: text/plain; name=canary42.txt",
        "Content-Disposition: attachment",
        "",
        "canary42",
      ];
      await world().deliver(
        mailOf({
          from: "Canary42 <tweety@example.com>",
          subject: "Re: bird",
          inReplyTo: root,
          headers: ["MIME-Version: 1.0", `Content-Type: multipart/mixed; boundary=${boundary}`],
          text: ["--b", "Content-Type: text/plain", "", "Canary42", ...part, "--b--", ""].join("\r\n"),
        }),
        inbox.address,
      );
      const [third, , first] = await messagesOf(inbox);
      const file = third.attachments[0].url;
      expect(await status(file)).toBe(200);
      expect((await get(`/v1/inboxes/${inbox.id}/messages?q=canary42`)).total).toBe(2);
      expect(await tablesWith("canary42")).not.toEqual([]);

      for (const { id } of [first, third]) {
        expect((await remove(`/v1/messages/${id}`)).status).toBe(204);
        for (const path of ["", "/raw", "/html", "/history"])
          expect(await status(`/v1/messages/${id}${path}`)).toBe(404);
        expect((await remove(`/v1/messages/${id}`)).body).toMatchObject({ code: "not_found", resource: "message" });
      }
      expect(await status(file)).toBe(404);
      expect(await tablesWith("canary42")).toEqual([]);
      expect((await get(`/v1/inboxes/${inbox.id}/messages?q=canary42`)).total).toBe(0);
      expect(await threadsOf(inbox)).toMatchObject([
        {
          subject: "Re: bird",
          messageCount: 1,
          preview: "Second",
          hasAttachments: false,
          participants: ["jane@example.com"],
        },
      ]);
      // The last event of the account stays without its data, so that a reader can continue from it.
      expect(await rows("events", sql`message_id = ${first.id}`)).toBe(0);
      expect(await rows("events", sql`message_id = ${third.id} and data is not null`)).toBe(0);
      expect(await rows("outbox", sql`inbox_id = ${inbox.id}`)).toBe(1);
      const [{ id: last }] = await messagesOf(inbox);
      expect((await remove(`/v1/messages/${last}`)).status).toBe(204);
      expect(await threadsOf(inbox)).toEqual([]);
      expect(await get(`/v1/inboxes/${inbox.id}/messages`)).toMatchObject({ data: [], total: 0 });
      expect(await rows("source_chunks", sql`true`)).toBe(0);
      await world().api("/v1/webhook", { method: "DELETE" });
    });

    test("A removed mail does not come back, and no thread waits for it", async () => {
      const inbox = await world().inbox();
      const root = `${inbox.id}@example.com`;
      const mail = mailOf({ subject: "Once", messageId: root });
      await world().deliver(mail, inbox.address);
      const [{ id }] = await messagesOf(inbox);
      await remove(`/v1/messages/${id}`);
      expect(await world().deliver(mail, inbox.address)).toStartWith("250");
      expect(await messagesOf(inbox)).toEqual([]);
      // Another mail with its Message-ID is another message.
      await world().deliver(mailOf({ subject: "Other", messageId: root }), inbox.address);
      expect(await subjectsOf(inbox)).toEqual(["Other"]);
      await remove(`/v1/messages/${(await messagesOf(inbox))[0].id}`);
      for (const subject of ["Re: one", "Re: two"])
        await world().deliver(mailOf({ subject, inReplyTo: root }), inbox.address);
      expect(await threadsOf(inbox)).toHaveLength(2);
      expect(await rows("awaited_parents", sql`inbox_id = ${inbox.id}`)).toBe(0);
    });

    test("Mail that waits to be sent is not removed, and the key of a removed one sends nothing", async () => {
      const inbox = await world().inbox();
      const mail = { to: ["jane@example.com", "late@example.com"] };
      const key = `key-of-${inbox.id}`;
      const { messageId, threadId, status: first } = (await send(world(), inbox.id, mail, { key, waits: true })).body;
      // It is sent to Jane, and waits for the other.
      expect(first).toBe("sent");
      for (const path of [`/v1/messages/${messageId}`, `/v1/threads/${threadId}`]) {
        const refused = await remove(path);
        expect([refused.status, refused.body.code]).toEqual([409, "send_in_progress"]);
        expect(refused.headers.get("retry-after")).toBe("1");
      }
      expect((await world().api(`/v1/messages/${messageId}/cancel`, { method: "POST" })).status).toBe(200);
      expect((await remove(`/v1/messages/${messageId}`)).status).toBe(204);
      const again = await send(world(), inbox.id, mail, { key });
      expect([again.status, again.body.resource]).toEqual([404, "message"]);
      expect(await get(`/v1/inboxes/${inbox.id}/messages`)).toMatchObject({ data: [], total: 0 });
      expect(await rows("recipients", sql`message_id = ${messageId}`)).toBe(0);
    });

    test("A removed thread is gone with all of its messages, and mail that answers it starts a new one", async () => {
      const inbox = await world().inbox();
      const root = `${inbox.id}@example.com`;
      await world().deliver(mailOf({ subject: "Talk", messageId: root }), inbox.address);
      await world().deliver(mailOf({ subject: "Re: Talk", inReplyTo: root }), inbox.address);
      await world().deliver(mailOf({ subject: "Other" }), inbox.address);
      const thread = (await threadsOf(inbox)).find(({ subject }: { subject: string }) => subject === "Talk");
      expect((await remove(`/v1/threads/${thread.id}`)).status).toBe(204);
      expect((await remove(`/v1/threads/${thread.id}`)).body).toMatchObject({ code: "not_found", resource: "thread" });
      expect(await subjectsOf(inbox)).toEqual(["Other"]);
      expect(await rows("removed_threads", sql`thread_id = ${thread.id}`)).toBe(0);
      await world().deliver(mailOf({ subject: "Re: Talk", inReplyTo: root, text: "Again\r\n" }), inbox.address);
      const left = await threadsOf(inbox);
      expect(left.map(({ subject }: { subject: string }) => subject)).toEqual(["Re: Talk", "Other"]);
      expect(left[0].id).not.toBe(thread.id);
      expect(await get(`/v1/inboxes/${inbox.id}/threads?is_read=false`)).toMatchObject({ total: 2 });
    });

    test("A removed thread takes its labels, its place in a folder and its drafts with it", async () => {
      const inbox = await world().inbox();
      const sendAt = new Date(world().clock.now().getTime() + 3_600_000).toISOString();
      const threadIds: string[] = [];
      for (const folder of ["archive", "trash"]) {
        await world().deliver(mailOf({ subject: `In the ${folder}` }), inbox.address);
        const [{ id }] = await threadsOf(inbox);
        const body = { folder, add_labels: ["orders"] };
        expect((await world().api(`/v1/threads/${id}`, { method: "PATCH", body })).status).toBe(200);
        threadIds.push(id);
      }
      const [threadId] = threadIds;
      const mail = { threadId, to: undefined, subject: undefined, body: "Canary44" };
      const scheduled = (await send(world(), inbox.id, { ...mail, sendAt })).body.messageId;
      const over = (await send(world(), inbox.id, { ...mail, sendAt })).body.messageId;
      await world().api(`/v1/messages/${over}/cancel`, { method: "POST" });
      const file = { filename: "canary44.txt", content: Buffer.from("canary44").toString("base64") };
      const headers = { "idempotency-key": `draft-${inbox.id}` };
      const body = { threadId, body: "Canary44", attachments: [file] };
      const draft = await world().api(`/v1/inboxes/${inbox.id}/drafts`, { method: "POST", headers, body });
      expect(draft.status).toBe(201);
      expect((await tablesWith("canary44")).toSorted()).toEqual(["attachments", "drafts", "source_chunks"]);
      expect(await eventsOf(over)).toBe(1);
      const labels = async () => (await get(`/v1/inboxes/${inbox.id}/labels`)).data;
      const total = async (folder: string) => (await get(`/v1/inboxes/${inbox.id}/threads?folder=${folder}`)).total;
      expect(await labels()).toEqual([{ label: "orders", threadCount: 1, unreadCount: 0 }]);

      for (const id of threadIds) expect((await remove(`/v1/threads/${id}`)).status).toBe(204);
      expect(await labels()).toEqual([]);
      expect([await total("all"), await total("archive"), await total("trash")]).toEqual([0, 0, 0]);
      for (const table of ["thread_labels", "label_counts"])
        expect(await rows(table, sql`inbox_id = ${inbox.id}`)).toBe(0);
      expect(await tablesWith("canary44")).toEqual([]);
      expect(await status(`/v1/drafts/${draft.body.id}`)).toBe(404);
      expect(await get(`/v1/drafts/${scheduled}`)).toMatchObject({ state: "canceled", body: null });
      for (const id of [scheduled, over])
        expect(await get(`/v1/messages/${id}`)).toMatchObject({ status: "failed", failure: { reason: "canceled" } });
      expect([await eventsOf(scheduled), await eventsOf(over)]).toEqual([0, 0]);
      expect(await get(`/v1/drafts?inbox_id=${inbox.id}`)).toMatchObject({ data: [] });
      const { data } = await get(`/v1/audit?target=${scheduled}`);
      expect(data.map(({ action }: { action: string }) => action)).toEqual(["outbox.canceled"]);
    });

    test("Mail that is scheduled is canceled before it is removed, and takes its draft with it", async () => {
      const inbox = await world().inbox();
      const sendAt = new Date(world().clock.now().getTime() + 3_600_000).toISOString();
      const keys = ["canceled", "sent"].map((name) => `${name}-${inbox.id}`);
      const ids: string[] = [];
      for (const key of keys) ids.push((await send(world(), inbox.id, { sendAt }, { key })).body.messageId);
      const [canceled = "", sent = ""] = ids;
      const refused = await remove(`/v1/messages/${canceled}`);
      expect([refused.status, refused.body.code]).toEqual([409, "send_in_progress"]);
      await world().api(`/v1/messages/${canceled}/cancel`, { method: "POST" });
      world().clock.pass(3_600_000);
      await untilSo(async () => (await get(`/v1/messages/${sent}`)).status === "sent");
      expect(await eventsOf(canceled)).toBe(1);
      for (const [index, id] of ids.entries()) {
        expect((await remove(`/v1/messages/${id}`)).status).toBe(204);
        for (const path of ["messages", "drafts"]) expect(await status(`/v1/${path}/${id}`)).toBe(404);
        const again = await send(world(), inbox.id, { sendAt }, { key: keys[index] ?? "" });
        expect([again.status, again.body.resource]).toEqual([404, "message"]);
      }
      expect(await rows("drafts", sql`inbox_id = ${inbox.id}`)).toBe(0);
      expect(await eventsOf(canceled)).toBe(0);
      const draft = await newDraft(world(), inbox.id);
      expect((await remove(`/v1/messages/${draft}`)).body).toMatchObject({ code: "not_found", resource: "message" });
    });

    test("A thread of more than a thousand messages is gone at once, and mail that comes meanwhile is not lost", async () => {
      const inbox = await world().inbox();
      const { deps } = world().service;
      const root = `${inbox.id}@example.com`;
      await takeIn(deps, inbox, [{ messageId: root }]);
      const answers = Array.from({ length: 1_000 }, (_, number) => ({ inReplyTo: [root], subject: `${number}` }));
      for (let from = 0; from < 1_000; from += 100) await takeIn(deps, inbox, answers.slice(from, from + 100));
      const [{ id, messageCount }] = await threadsOf(inbox);
      expect(messageCount).toBe(1_001);
      expect((await remove(`/v1/threads/${id}`)).status).toBe(202);
      for (const path of ["/messages", ""]) {
        const method = path === "" ? "DELETE" : "GET";
        expect((await world().api(`/v1/threads/${id}${path}`, { method })).status).toBe(404);
      }
      expect(await threadsOf(inbox)).toEqual([]);
      expect((await send(world(), inbox.id, { threadId: id })).status).toBe(404);
      const messageId = `new-${root}`;
      await takeIn(deps, inbox, [{ messageId, inReplyTo: [root], subject: "meanwhile" }]);
      // A mail that also names one that is left joins that one's thread.
      await takeIn(deps, inbox, [{ inReplyTo: [root], references: [messageId], subject: "joins" }]);
      const [{ id: started, messageCount: both }] = await threadsOf(inbox);
      expect([started === id, both]).toEqual([false, 2]);
      let removed = 0;
      const removing = emptyRemovedThreads({ ...deps }, (messages) => {
        removed += messages;
      });
      for (let number = 0; number < 5; number += 1) await takeIn(deps, inbox, [{ inReplyTo: [root], subject: "also" }]);
      await removing;
      expect(removed).toBe(1_001);
      expect(await subjectsOf(inbox)).toEqual(["also", "also", "also", "also", "also", "joins", "meanwhile"]);
      expect(await rows("messages", sql`thread_id = ${id}`)).toBe(0);
      expect(await rows("removed_threads", sql`inbox_id = ${inbox.id}`)).toBe(0);
      const [totals] = await query(
        db(),
        sql`select message_count - removed_count as messages, thread_count = (select count(*) from threads where inbox_id = i.id) as threads,
              storage_bytes = (select sum(size_bytes) from messages where inbox_id = i.id) as bytes from inboxes i where id = ${inbox.id}`,
      );
      expect(totals).toEqual({ messages: 7, threads: true, bytes: true });
    }, 60_000);

    test("An inbox with holes has exact totals, and its pages show each message once, by offset, cursor and time", async () => {
      const inbox = await world().inbox();
      const { deps } = world().service;
      const startedAt = world().clock.now().toISOString();
      for (let number = 0; number < 30; number += 1) {
        await takeIn(deps, inbox, [{ subject: `in ${number}` }]);
        if (number % 5 === 0)
          await send(world(), inbox.id, { to: "jane@example.com", subject: `out ${number}` }, { waits: true });
      }
      const all = (await get(`/v1/inboxes/${inbox.id}/messages?limit=100`)).data as { id: string }[];
      expect(all).toHaveLength(36);
      const gone = all.filter((_, index) => index % 3 !== 1);
      for (const { id } of gone) expect((await remove(`/v1/messages/${id}`)).status).toBe(204);
      await takeIn(deps, inbox, [{ subject: "new" }]);
      for (const filter of ["", "&direction=inbound", "&direction=outbound", `&since=${startedAt}`]) {
        const path = `/v1/inboxes/${inbox.id}/messages?limit=3${filter}`;
        const whole = await get(`/v1/inboxes/${inbox.id}/messages?limit=100${filter}`);
        const ids = whole.data.map(({ id }: { id: string }) => id);
        expect(whole.total).toBe(ids.length);
        const byOffset: string[] = [];
        for (let offset = 0; offset < ids.length; offset += 3)
          byOffset.push(...(await get(`${path}&offset=${offset}`)).data.map(({ id }: { id: string }) => id));
        expect([filter, byOffset]).toEqual([filter, ids]);
        const byCursor: string[] = [];
        for (let cursor = ""; cursor !== null; ) {
          const page = await get(`${path}${cursor && `&cursor=${cursor}`}`);
          byCursor.push(...page.data.map(({ id }: { id: string }) => id));
          expect(page.total).toBe(ids.length);
          cursor = page.nextCursor;
        }
        expect([filter, byCursor]).toEqual([filter, ids]);
      }
      expect((await get(`/v1/inboxes/${inbox.id}/messages`)).total).toBe(36 - gone.length + 1);
      // The last message of the inbox is removed: a search finds the others, and needs nothing more to be indexed.
      const [{ id }] = await messagesOf(inbox);
      await remove(`/v1/messages/${id}`);
      expect((await get(`/v1/inboxes/${inbox.id}/messages?q=in`)).total).toBeGreaterThan(0);
    });

    test("An event of a removed message that is being delivered is not tried again, and leaves no log", async () => {
      let asked = 0;
      const answer = Promise.withResolvers<void>();
      using receiver = Bun.serve({
        port: 0,
        hostname: "127.0.0.1",
        fetch: async () => {
          asked += 1;
          await answer.promise;
          return new Response("Canary43", { status: 500 });
        },
      });
      const inbox = await world().inbox();
      await world().api("/v1/webhook", { method: "PUT", body: { url: `${receiver.url}hook` } });
      await world().deliver(mailOf({ subject: "Told" }), inbox.address);
      await untilSo(() => asked === 1);
      const [{ id }] = await messagesOf(inbox);
      const [event] = await query<{ id: string }>(db(), sql`select id from events where message_id = ${id}`);
      expect((await remove(`/v1/messages/${id}`)).status).toBe(204);
      answer.resolve();
      // A stop waits until the attempt is settled.
      await world().restart();
      expect(asked).toBe(1);
      expect(await rows("outbox", sql`inbox_id = ${inbox.id}`)).toBe(0);
      expect(await rows("deliveries", sql`event_id = ${event?.id}`)).toBe(0);
      await world().api("/v1/webhook", { method: "DELETE" });
    });
  });
}
