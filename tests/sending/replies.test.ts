import { beforeAll, describe, expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import { query } from "../../src/database/db.ts";
import { enginesHere } from "../support/engines.ts";
import { mailOf } from "../support/mail.ts";
import { newAccount, newInbox, type SendOptions, send, tally } from "../support/sends.ts";
import { type StoredMessage, storedMessages } from "../support/stored.ts";
import { startWorld, type World, type WorldInbox } from "../support/world.ts";
import { oneWorldOn } from "../support/world-on.ts";

const env = { SENDS_PER_MINUTE: "0", SENDS_PER_DAY: "0", COLD_RECIPIENT_DAILY: "0" };
let inboxes = 0;

describe.each(enginesHere())("a reply (%s)", (engine) => {
  const world = oneWorldOn(engine, { env });
  let inbox: WorldInbox;

  async function startInbox(): Promise<WorldInbox> {
    inboxes += 1;
    return world().inbox(`inbox-${inboxes}`);
  }
  beforeAll(async () => {
    inbox = await startInbox();
  });

  /** Delivers mail from Jane and returns its thread. */
  async function receive(messageId: string, text: string, more: Parameters<typeof mailOf>[0] = {}): Promise<string> {
    const reply = await world().deliver(mailOf({ messageId, text, to: inbox.address, ...more }), inbox.address);
    expect(reply).toStartWith("250");
    return (await lastMessage()).threadId;
  }

  async function lastMessage(
    direction?: "outbound",
  ): Promise<StoredMessage & { inReplyTo: string | null; referenceIds: string[] }> {
    const { db } = world().service.deps;
    const rows = await query<{ id: string; direction: string; inReplyTo: string | null; referenceIds: string[] }>(
      db.api,
      sql`select id, direction, in_reply_to as "inReplyTo", reference_ids as "referenceIds" from messages
          where inbox_id = ${inbox.id} order by seq`,
    );
    const row = rows.findLast((each) => direction === undefined || each.direction === direction);
    const stored = (await storedMessages(db.api, inbox.id)).find(({ id }) => id === row?.id);
    if (stored === undefined || row === undefined) throw new Error("There is no message");
    return { ...stored, ...row };
  }

  async function thread(threadId: string) {
    const { status, body } = await world().api(`/v1/threads/${threadId}/messages`);
    expect(status).toBe(200);
    return body;
  }

  test("replies to the last message, names all of the thread, and quotes in text", async () => {
    inbox = await startInbox();
    const threadId = await receive("one@example.com", "Hello Ada\r\n\r\n> older\r\nBye\r\n", { subject: "Plans" });
    const { status, body } = await send(world(), inbox.id, { threadId, subject: undefined, body: "Hello Jane\n" });
    expect([status, body.threadId]).toEqual([200, threadId]);
    expect(await lastMessage()).toMatchObject({
      subject: "Re: Plans",
      inReplyTo: "one@example.com",
      referenceIds: ["one@example.com"],
      bodyText: [
        "Hello Jane",
        "",
        "On Sat, 21 Mar 2026 at 10:05 UTC, Jane Doe <jane@example.com> wrote:",
        "> Hello Ada",
        ">",
        ">> older",
        "> Bye",
      ].join("\n"),
      bodyHtml: null,
    });

    const own = (await lastMessage()).rfcMessageId;
    await send(world(), inbox.id, { threadId, subject: "Another", body: "One more thing" });
    expect(await lastMessage()).toMatchObject({
      subject: "Another",
      inReplyTo: own,
      referenceIds: ["one@example.com", own],
    });
    expect((await lastMessage()).bodyText).toStartWith(
      `One more thing\n\nOn Sat, 21 Mar 2026 at 10:05 UTC, ${inbox.address} wrote:\n> Hello Jane\n>\n> On Sat`,
    );
  });

  test("quotes text and HTML in HTML, without active content", async () => {
    inbox = await startInbox();
    const html = [
      "Content-Type: text/html",
      "",
      '<p onclick="x()">Hi <b>Ada</b></p><script>evil()</script><img src="x" onerror="evil()">',
    ];
    const raw = `From: "<b>Eve</b>" <eve@example.com>\r\nMessage-ID: <html@example.com>\r\nSubject: Hi\r\n${html.join("\r\n")}\r\n`;
    expect(await world().deliver(raw, inbox.address)).toStartWith("250");
    const { threadId } = await lastMessage();
    await send(world(), inbox.id, { to: "eve@example.com", threadId, body: "<p>Hello</p>" });
    const { bodyHtml, bodyText } = await lastMessage();
    expect(bodyHtml).toStartWith("<p>Hello</p>");
    expect(bodyHtml).toMatch(/<blockquote[^>]*>\s*<p>Hi <b>Ada<\/b><\/p>/);
    expect(bodyHtml).not.toMatch(/script|evil|onclick|onerror|<b>Eve/);
    expect(bodyText).toStartWith("Hello\n\nOn Sat, 21 Mar 2026");
    expect(bodyText).toContain("\n> Hi Ada");

    await send(world(), inbox.id, { to: "eve@example.com", threadId, body: "plain", bodyHtml: "<p>not plain</p>" });
    const both = await lastMessage();
    expect(both.bodyText).toStartWith("plain\n\nOn ");
    expect(both.bodyHtml).toStartWith("<p>not plain</p>\n<div><br>On ");
  });

  test("quotes nothing if so requested, and is still a reply", async () => {
    inbox = await startInbox();
    const threadId = await receive("quiet@example.com", "Hello");
    await send(world(), inbox.id, { threadId, includeQuote: false, body: "Hello Jane" });
    expect(await lastMessage()).toMatchObject({ bodyText: "Hello Jane", inReplyTo: "quiet@example.com" });
  });

  test("has a quote of at most 100 KB, whatever the length of its own text", async () => {
    inbox = await startInbox();
    const threadId = await receive("long@example.com", `${"a line of text\r\n".repeat(20_000)}`);
    const { status } = await send(world(), inbox.id, { threadId, body: "x".repeat(100_000) });
    expect(status).toBe(200);
    const { bodyText } = await lastMessage();
    expect(bodyText).toEndWith("\n> [...]");
    expect(bodyText.length - 100_000).toBeWithin(102_000, 103_000);
  });

  test("skips failed messages", async () => {
    inbox = await startInbox();
    const threadId = await receive("failed@example.com", "Hello");
    const { body } = await send(world(), inbox.id, { threadId });
    await markFailed(world(), body.messageId);
    await send(world(), inbox.id, { threadId });
    const { inReplyTo, referenceIds } = await lastMessage();
    expect(inReplyTo).toBe("failed@example.com");
    expect(referenceIds).toEqual([`${body.messageId}@inbox.localhost`, "failed@example.com"]);
  });

  describe("with readUpToMessageId", () => {
    /** Jane's mail, and Eve's later mail in the same thread. */
    async function mailOfTwo(): Promise<{ threadId: string; janes: string; eves: string }> {
      inbox = await startInbox();
      const threadId = await receive("jane@two.example", "The code is 1234", { subject: "Plans" });
      const { id: janes } = await lastMessage();
      await receive("eve@two.example", "Only for you", { from: "eve@two.example", inReplyTo: "jane@two.example" });
      const { id: eves } = await lastMessage();
      return { threadId, janes, eves };
    }

    test("replies to and quotes the last message that was seen, and nothing that arrived later", async () => {
      const { threadId, janes } = await mailOfTwo();
      await send(world(), inbox.id, { threadId, readUpToMessageId: janes, body: "<p>Thanks</p>" });
      const reply = await lastMessage();
      expect(reply).toMatchObject({ inReplyTo: "jane@two.example", referenceIds: ["jane@two.example"] });
      expect(reply.bodyText).toEndWith("Jane Doe <jane@example.com> wrote:\n> The code is 1234");
      expect(reply.bodyHtml).toContain("The code is 1234");
      expect(`${reply.bodyText}${reply.bodyHtml}`).not.toMatch(/eve@|Only for you/);

      // Without it, the last message by anybody.
      await send(world(), inbox.id, { threadId, body: "And this" });
      expect((await lastMessage()).inReplyTo).toBe(reply.rfcMessageId);
    });

    test("replies to that one also with many replies at the same time", async () => {
      const { threadId, janes, eves } = await mailOfTwo();
      await Promise.all(
        [janes, eves, undefined, janes, eves].map((readUpToMessageId) =>
          send(world(), inbox.id, { threadId, readUpToMessageId }),
        ),
      );
      const rows = await query<{ inReplyTo: string; referenceIds: string[] }>(
        world().service.deps.db.api,
        sql`select in_reply_to as "inReplyTo", reference_ids as "referenceIds" from messages
            where inbox_id = ${inbox.id} and direction = 'outbound'`,
      );
      const answered = (id: string) => rows.filter(({ inReplyTo }) => inReplyTo === id).map((row) => row.referenceIds);
      expect(answered("jane@two.example")).toEqual([["jane@two.example"], ["jane@two.example"]]);
      const both = ["jane@two.example", "eve@two.example"];
      expect(answered("eve@two.example").slice(0, 2)).toEqual([both, both]);
    });

    test("may name its own reply; a failed one is skipped", async () => {
      const { threadId } = await mailOfTwo();
      const { body: own } = await send(world(), inbox.id, { threadId, body: "Mine" });
      await receive("late@two.example", "Late", { inReplyTo: "jane@two.example" });
      const readUpToMessageId = own.messageId;
      await send(world(), inbox.id, { threadId, readUpToMessageId });
      expect(await lastMessage()).toMatchObject({
        inReplyTo: `${own.messageId}@inbox.localhost`,
        referenceIds: ["jane@two.example", "eve@two.example", `${own.messageId}@inbox.localhost`],
      });

      await markFailed(world(), own.messageId);
      await send(world(), inbox.id, { threadId, readUpToMessageId });
      const { inReplyTo, referenceIds, bodyText } = await lastMessage();
      expect([inReplyTo, referenceIds]).toEqual(["eve@two.example", ["jane@two.example", "eve@two.example"]]);
      expect(bodyText).toEndWith("> Only for you");
    });
  });

  describe("shows its readers nothing that somebody else wrote meanwhile", () => {
    const secret = /eve@|Eve|Only for you/;

    /** Jane's mail, and Eve's in the same thread, which the caller has not seen. */
    async function mailOfTwo(): Promise<string> {
      inbox = await startInbox();
      const threadId = await receive("jane@meanwhile.example", "The code is 1234", { subject: "Plans" });
      await eveWrites("eve@meanwhile.example");
      return threadId;
    }

    function eveWrites(messageId: string): Promise<string> {
      const from = "Eve <eve@two.example>";
      return receive(messageId, "Only for you", { from, inReplyTo: "jane@meanwhile.example" });
    }

    const forms: [string, object][] = [
      ["plain", { body: "Thanks" }],
      ["HTML", { body: "<p>Thanks</p>" }],
      ["Markdown", { body: "**Thanks**", bodyFormat: "markdown" }],
      ["two forms", { body: "Thanks", bodyHtml: "<p>Thanks</p>" }],
    ];
    test.each(forms)("in %s", async (_, form) => {
      const threadId = await mailOfTwo();
      const { status } = await send(world(), inbox.id, { threadId, ...form });
      expect(status).toBe(200);
      const { bodyText, bodyHtml, inReplyTo } = await lastMessage();
      expect(inReplyTo).toBe("eve@meanwhile.example");
      expect(bodyText).toEndWith("Jane Doe <jane@example.com> wrote:\n> The code is 1234");
      if (bodyHtml !== null) expect(bodyHtml).toContain("The code is 1234");
      expect(`${bodyText}${bodyHtml}`).not.toMatch(secret);
    });

    test("to somebody new, with a blind copy, or with a copy to ourselves", async () => {
      const threadId = await mailOfTwo();
      const others = [
        { to: "joe@example.com" },
        { to: "moe@example.com", bcc: ["eve@two.example", "jane@example.com"] },
        { to: "poe@example.com", cc: [inbox.address] },
      ];
      for (const to of others) {
        expect((await send(world(), inbox.id, { threadId, body: "<p>Hi</p>", ...to })).status).toBe(200);
        const { bodyText, bodyHtml, inReplyTo } = await lastMessage("outbound");
        expect([bodyText, bodyHtml, inReplyTo]).toEqual(["Hi", "<p>Hi</p>", expect.any(String)]);
        await eveWrites(`eve-${others.indexOf(to)}@meanwhile.example`);
      }
    });

    test("nor of our mail to somebody else; a recipient of its blind copy sees it quoted", async () => {
      const threadId = await mailOfTwo();
      const toEve = { to: "eve@two.example", bcc: "di@example.com", body: "Dear Eve" };
      expect((await send(world(), inbox.id, { threadId, includeQuote: false, ...toEve })).status).toBe(200);
      await send(world(), inbox.id, { threadId });
      expect((await lastMessage()).bodyText).toEndWith("> The code is 1234");
      await send(world(), inbox.id, { threadId, to: "di@example.com", body: "And you?" });
      expect((await lastMessage()).bodyText).toEndWith(`${inbox.address} wrote:\n> Dear Eve`);
    });

    test("with several readers, of whom one took part", async () => {
      const threadId = await mailOfTwo();
      await send(world(), inbox.id, { threadId, to: ["joe@example.com", "jane@example.com"] });
      expect((await lastMessage()).bodyText).toEndWith("> The code is 1234");
      await eveWrites("eve-again@meanwhile.example");
      await send(world(), inbox.id, { threadId, to: "jane@example.com", cc: "eve@two.example" });
      expect((await lastMessage()).bodyText).toEndWith("> Only for you");
    });

    test("also in many replies at the same time, while Eve writes", async () => {
      const threadId = await mailOfTwo();
      const writing = Array.from({ length: 10 }, (_, index) => eveWrites(`eve-${index}@meanwhile.example`));
      const replying = Array.from({ length: 20 }, (_, index) =>
        send(world(), inbox.id, { threadId, to: index % 2 === 0 ? "jane@example.com" : "eve@two.example" }),
      );
      for (const { status } of await Promise.all(replying)) expect(status).toBe(200);
      await Promise.all(writing);
      const toJane = await query<{ bodyText: string }>(
        world().service.deps.db.api,
        sql`select body_text as "bodyText" from messages where thread_id = ${threadId} and to_addr = 'jane@example.com'`,
      );
      expect(toJane).toHaveLength(10);
      for (const { bodyText } of toJane) {
        expect(bodyText).not.toMatch(secret);
        expect(bodyText).toEndWith("> The code is 1234");
      }
    });

    test("but everything that its caller named or has seen", async () => {
      const threadId = await mailOfTwo();
      const { id: eves } = await lastMessage();
      await send(world(), inbox.id, { threadId, readUpToMessageId: eves });
      expect((await lastMessage()).bodyText).toEndWith("> Only for you");
      await send(world(), inbox.id, { replyToMessageId: eves });
      expect((await lastMessage()).bodyText).toEndWith("> Only for you");
    });
  });

  test("in a thread with only failed messages is no reply", async () => {
    inbox = await startInbox();
    const { body } = await send(world(), inbox.id);
    await markFailed(world(), body.messageId);
    const again = await send(world(), inbox.id, { threadId: body.threadId, subject: undefined });
    expect(again.body.threadId).toBe(body.threadId);
    expect(await lastMessage()).toMatchObject({ inReplyTo: null, subject: "Re: Hello", bodyText: "Hello Jane" });
  });

  test("names the first and the last 99 of a long thread, each once", async () => {
    inbox = await startInbox();
    const { body } = await send(world(), inbox.id);
    const { threadId } = body;
    const ids = [`${body.messageId}@inbox.localhost`];
    for (let count = 1; count < 103; count += 1) {
      const reply = await send(world(), inbox.id, { threadId, includeQuote: false });
      ids.push(`${reply.body.messageId}@inbox.localhost`);
    }
    const { referenceIds, inReplyTo } = await lastMessage();
    expect(inReplyTo).toBe(ids[101] ?? "");
    expect(referenceIds).toEqual([...ids.slice(0, 1), ...ids.slice(3, 102)]);
  }, 20_000);

  test("names the References of the first mail first, and the parent last", async () => {
    inbox = await startInbox();
    const references = ["root@else.example", "middle@else.example"];
    const threadId = await receive("first@chain.example", "Hello", { references, inReplyTo: "middle@else.example" });
    const { id: first } = await lastMessage();
    await receive("second@chain.example", "And more", { references: ["other@else.example", "first@chain.example"] });
    await send(world(), inbox.id, { threadId, replyToMessageId: first });
    expect(await lastMessage()).toMatchObject({
      inReplyTo: "first@chain.example",
      referenceIds: [...references, "second@chain.example", "first@chain.example"],
    });
    const own = (await lastMessage()).rfcMessageId;
    await send(world(), inbox.id, { threadId });
    expect((await lastMessage()).referenceIds).toEqual([
      ...references,
      "first@chain.example",
      "second@chain.example",
      own,
    ]);
  });

  test("goes to all addresses of Reply-To if its caller names none", async () => {
    inbox = await startInbox();
    const replyTo = 'Reply-To: "Doe, Jane" <jane@example.com>, desk@example.com, nobody';
    const threadId = await receive("several@example.com", "Hello", { headers: [replyTo] });
    const { id } = await lastMessage();
    for (const reply of [{ threadId }, { replyToMessageId: id }, { threadId, replyAll: true }]) {
      const { status } = await send(world(), inbox.id, { ...reply, to: undefined, readUpToMessageId: id });
      expect(status).toBe(200);
      const { body } = await world().api(`/v1/messages/${(await lastMessage()).id}`);
      const to = body.recipients.map(({ address }: { address: string }) => address);
      expect(to).toEqual(["jane@example.com", "desk@example.com"]);
    }
    const { body } = await world().api(`/v1/messages/${id}`);
    expect(body.replyTo).toBe("jane@example.com");
  });

  test("replies at the same time form a chain: each replies to the one before", async () => {
    inbox = await startInbox();
    const threadId = await receive("crowd@example.com", "Hello");
    await Promise.all(
      Array.from({ length: 12 }, (_, index) => send(world(), inbox.id, { threadId, body: `No. ${index}` })),
    );
    const rows = await query<{ rfcMessageId: string; inReplyTo: string | null; referenceIds: string[] | null }>(
      world().service.deps.db.api,
      sql`select rfc_message_id as "rfcMessageId", in_reply_to as "inReplyTo", reference_ids as "referenceIds"
          from messages where inbox_id = ${inbox.id} order by seq`,
    );
    const ids = rows.map(({ rfcMessageId }) => rfcMessageId);
    expect(ids).toHaveLength(13);
    for (const [index, row] of rows.entries()) {
      if (index === 0) continue;
      expect(row.inReplyTo).toBe(ids[index - 1] ?? "");
      expect(row.referenceIds).toEqual(ids.slice(0, index));
    }
    const { body } = await world().api(`/v1/inboxes/${inbox.id}/threads`);
    expect([body.total, body.data[0].messageCount]).toEqual([1, 13]);
  });

  test("refuses a thread of another inbox or account, or an unknown one", async () => {
    const apiKey = await newAccount(world());
    const theirs = await send(world(), await newInbox(world(), apiKey), {}, { apiKey });
    const sibling = await send(world(), await newInbox(world()));
    for (const threadId of [theirs.body.threadId, sibling.body.threadId, "thr_01jpw7z1x2e9a8r5k3m0t6vqhd", "x", ""]) {
      const { status, body } = await send(world(), inbox.id, { threadId });
      expect([status, body.code, body.resource]).toEqual([404, "not_found", "thread"]);
    }
  });

  test("a subject that looks like a reply, without a thread, starts a new one", async () => {
    inbox = await startInbox();
    const first = await send(world(), inbox.id, { subject: "Plans" });
    const second = await send(world(), inbox.id, { subject: "Re: Plans" });
    expect(second.body.threadId).not.toBe(first.body.threadId);
  });

  describe("and the read flag", () => {
    test("a thread that starts with a send is read; a reply to an unread one marks it read", async () => {
      inbox = await startInbox();
      const { body } = await send(world(), inbox.id);
      expect((await thread(body.threadId)).isRead).toBe(true);
      const threadId = await receive("unread@example.com", "Hello");
      expect((await thread(threadId)).isRead).toBe(false);
      const reply = await send(world(), inbox.id, { threadId }, { key: "marks" });
      expect("isRead" in reply.body).toBe(false);
      expect((await thread(threadId)).isRead).toBe(true);

      // A replay changes nothing.
      await receive("again@example.com", "Hello again", { inReplyTo: "unread@example.com" });
      expect((await thread(threadId)).isRead).toBe(false);
      const replay = await send(world(), inbox.id, { threadId }, { key: "marks" });
      expect(replay.headers.get("idempotent-replayed")).toBe("true");
      expect((await thread(threadId)).isRead).toBe(false);
    });

    test("mail that arrived after the last one read keeps the thread unread, and the response says so", async () => {
      inbox = await startInbox();
      const threadId = await receive("seen@example.com", "Hello");
      const { id: seen } = await lastMessage();
      await receive("unseen@example.com", "Wait!", { inReplyTo: "seen@example.com" });
      const { id: unseen } = await lastMessage();
      const raced = await send(world(), inbox.id, { threadId, readUpToMessageId: seen });
      expect(raced.body).toMatchObject({ status: "pending", isRead: false, reason: "newer_inbound" });
      expect((await thread(threadId)).isRead).toBe(false);
      const { body } = await world().api(`/v1/inboxes/${inbox.id}/threads?is_read=false`);
      expect(body.total).toBe(1);

      const calm = await send(world(), inbox.id, { threadId, readUpToMessageId: unseen });
      expect("reason" in calm.body).toBe(false);
      expect((await thread(threadId)).isRead).toBe(true);
    });

    test("readUpToMessageId of another thread is refused", async () => {
      inbox = await startInbox();
      const { body: other } = await send(world(), inbox.id);
      const threadId = await receive("mine@example.com", "Hello");
      for (const readUpToMessageId of [other.messageId, "msg_none"]) {
        const { status, body } = await send(world(), inbox.id, { threadId, readUpToMessageId });
        expect([status, body.resource]).toEqual([404, "message"]);
      }
      expect((await thread(threadId)).isRead).toBe(false);
    });
  });
});

describe.each(enginesHere())("a reply if unanswered (%s)", (engine) => {
  const world = oneWorldOn(engine, { env });

  /** A mail of Jane in an inbox of its own, and the way to answer it. */
  async function asked() {
    inboxes += 1;
    const inbox = await world().inbox(`asked-${inboxes}`);
    const receive = async (id: string, more: Parameters<typeof mailOf>[0] = {}) => {
      const raw = mailOf({ messageId: `${id}-${inbox.id}@example.com`, to: inbox.address, ...more });
      expect(await world().deliver(raw, inbox.address)).toStartWith("250");
      const { body } = await world().api(`/v1/inboxes/${inbox.id}/messages?limit=1`);
      return body.data[0] as { id: string; threadId: string };
    };
    const first = await receive("first");
    const { threadId } = first;
    const reply = (body: object = {}, options: SendOptions = {}) =>
      send(
        world(),
        inbox.id,
        { threadId, subject: undefined, readUpToMessageId: first.id, ifUnanswered: true, ...body },
        options,
      );
    const receiveNext = (id: string) => receive(id, { inReplyTo: `first-${inbox.id}@example.com` });
    return { inbox, first, reply, receiveNext };
  }

  test("one of 20 agents that answer one mail at once has answered it; the others get its id", async () => {
    for (let round = 0; round < 5; round += 1) {
      const { inbox, reply } = await asked();
      const answers = await Promise.all(Array.from({ length: 20 }, (_, index) => reply({ body: `Answer ${index}` })));
      expect(tally(answers)).toEqual({ "200": 1, "409 answered_meanwhile": 19 });
      const [sent] = answers.filter(({ status }) => status === 200);
      for (const { status, body } of answers) {
        if (status === 409) expect(body).toMatchObject({ messageId: sent?.body.messageId, status: 409 });
      }
      const { body } = await world().api(`/v1/inboxes/${inbox.id}/messages?direction=outbound`);
      expect(body.total).toBe(1);
    }
  });

  test("is refused until its writer has seen the answer, and sent at once if nobody asks", async () => {
    const { reply, receiveNext } = await asked();
    const { body: answer } = await reply({ ifUnanswered: undefined });
    expect((await reply()).body).toMatchObject({ code: "answered_meanwhile", messageId: answer.messageId });
    // New mail of the other side is no answer, and does not hide ours.
    const next = await receiveNext("next");
    expect((await reply()).body.messageId).toBe(answer.messageId);
    expect((await reply({ ifUnanswered: false })).status).toBe(200);
    expect((await reply({ readUpToMessageId: next.id })).status).toBe(409);
    const seen = (await reply({ ifUnanswered: false })).body.messageId;
    expect((await reply({ readUpToMessageId: seen })).status).toBe(200);
  });

  test("is sent behind an answer that failed", async () => {
    const { inbox, reply } = await asked();
    const nobody = `nobody@${inbox.address.split("@")[1]}`;
    const { body: failed } = await reply({ to: nobody }, { waits: true });
    expect(failed.status).toBe("failed");
    expect((await reply()).status).toBe(200);
    expect((await reply()).status).toBe(409);
  });

  test("is answered again as before if its request is repeated", async () => {
    const { reply, first } = await asked();
    const sent = await reply({}, { key: `once-${first.id}` });
    const again = await reply({}, { key: `once-${first.id}` });
    expect([again.status, again.body.messageId]).toEqual([200, sent.body.messageId]);
    expect(again.headers.get("idempotent-replayed")).toBe("true");
    // The default is the same request as none, and another value is another request.
    const plain = await reply({ ifUnanswered: undefined }, { key: `plain-${first.id}` });
    expect((await reply({ ifUnanswered: false }, { key: `plain-${first.id}` })).body.messageId).toBe(
      plain.body.messageId,
    );
    expect((await reply({}, { key: `plain-${first.id}` })).body.code).toBe("idempotency_key_reused");
  });

  test("answers a message by its id too, in a form and in JSON", async () => {
    const { inbox, first, reply } = await asked();
    const byId = { threadId: undefined, replyToMessageId: first.id };
    expect((await reply(byId)).status).toBe(200);
    expect((await reply(byId)).body.code).toBe("answered_meanwhile");
    const form = new FormData();
    const texts = { threadId: first.threadId, body: "Hello", readUpToMessageId: first.id, ifUnanswered: "true" };
    for (const [name, value] of Object.entries(texts)) form.append(name, value);
    const response = await fetch(new URL(`/v1/inboxes/${inbox.id}/send`, world().service.apiUrl), {
      method: "POST",
      body: form,
      headers: { authorization: `Bearer ${world().apiKey}`, "idempotency-key": `form-${first.id}` },
    });
    expect(response.status).toBe(409);
  });

  test("needs the last message that its writer has seen, of a thread", async () => {
    const { inbox, reply } = await asked();
    const faultsOf = ({ body }: { body: { errors: { pointer: string }[] } }) =>
      body.errors.map(({ pointer }) => pointer);
    expect(faultsOf(await reply({ readUpToMessageId: undefined }))).toEqual(["#/readUpToMessageId"]);
    expect(faultsOf(await send(world(), inbox.id, { readUpToMessageId: "msg_1", ifUnanswered: true }))).toEqual([
      "#/ifUnanswered",
    ]);
    expect(faultsOf(await reply({ ifUnanswered: "yes" }))).toEqual(["#/ifUnanswered"]);
  });
});

describe("replyTo on the free plan", () => {
  const world = oneWorldOn("embedded", { env });
  let free: string;
  let inboxId: string;
  beforeAll(async () => {
    free = await newAccount(world(), "free");
    inboxId = await newInbox(world(), free, "mine");
    await newInbox(world(), free, "mine-too");
    await newInbox(world(), world().apiKey, "theirs");
    const gone = await newInbox(world(), free, "gone");
    await world().api(`/v1/inboxes/${gone}`, { method: "DELETE", apiKey: free });
  });

  const addresses: [address: string, status: number][] = [
    ["mine@inbox.localhost", 200],
    ["mine-too@inbox.localhost", 200],
    ["MINE+tag@INBOX.localhost", 200],
    ["theirs@inbox.localhost", 403],
    ["nobody@inbox.localhost", 403],
    ["gone@inbox.localhost", 403],
    ["mine@example.com", 403],
    ["postmaster@inbox.localhost", 403],
  ];
  test.each(addresses)("%s → %i", async (replyTo, expected) => {
    const { status, body, headers } = await send(world(), inboxId, { replyTo }, { apiKey: free });
    expect(status).toBe(expected);
    if (status !== 403) return;
    expect(body).toMatchObject({ code: "feature_requires_paid_plan", feature: "external_reply_to" });
    expect(headers.has("ratelimit")).toBe(false);
  });

  test("may be any address on a paid plan", async () => {
    const { status } = await send(world(), await newInbox(world()), { replyTo: "help@example.com" });
    expect(status).toBe(200);
  });

  test("the plan is checked before the limits", async () => {
    await using world = await startWorld({ env: { SENDS_PER_MINUTE: "1", PLAN: "free" }, database: "embedded" });
    const inboxId = await newInbox(world);
    expect((await send(world, inboxId)).status).toBe(200);
    expect((await send(world, inboxId, { replyTo: "x@example.com" })).status).toBe(403);
    expect((await send(world, inboxId)).status).toBe(429);
  });
});

/** Fails a message that waits for the relay. */
async function markFailed({ service }: World, messageId: string): Promise<void> {
  await query(
    service.deps.db.api,
    sql`with recipient as (update recipients set status = 'failed' where message_id = ${messageId})
        update messages set status = 'failed' where id = ${messageId}`,
  );
}
