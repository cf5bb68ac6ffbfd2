import { describe, expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import PostalMime from "postal-mime";
import { query } from "../../../../src/database/db.ts";
import { authenticationOf, takeIn } from "../../../support/arrivals.ts";
import { attachFiles } from "../../../support/attached-files.ts";
import { enginesHere } from "../../../support/engines.ts";
import { mailOf } from "../../../support/mail.ts";
import { connectRaw } from "../../../support/raw-http.ts";
import { newAccount, newInbox, send } from "../../../support/sends.ts";
import { oneWorldOn } from "../../../support/world-on.ts";

const letters = (count: number) => Array.from({ length: count }, (_, index) => `mail ${index + 1}`);

for (const engine of enginesHere()) {
  describe(`Messages on ${engine}`, () => {
    const world = oneWorldOn(engine, { env: { SENDS_PER_MINUTE: "0" } });
    const subjects = (body: { data: { subject: string }[] }) => body.data.map(({ subject }) => subject);
    const list = async (inbox: string, query = "") => world().api(`/v1/inboxes/${inbox}/messages${query}`);

    async function filled(count: number) {
      const inbox = await world().inbox();
      const mails = letters(count).map((subject) => ({ subject }));
      await takeIn(world().service.deps, inbox, mails);
      return inbox;
    }

    test("A message has the fields of the contract, in their order", async () => {
      const inbox = await world().inbox();
      const headers = ["Reply-To: team@example.com", "Cc: joe@example.com, Zoe <zoe@example.com>"];
      await world().deliver(
        mailOf({ subject: "Your order", messageId: "CAF1@Mail.Example.com", headers }),
        inbox.address,
      );
      const { body } = await list(inbox.id);
      const [message] = body.data;
      expect(Object.entries(message)).toEqual(
        Object.entries({
          id: expect.stringMatching(/^msg_[0-9a-z]{26}$/),
          threadId: expect.stringMatching(/^thr_[0-9a-z]{26}$/),
          inboxId: inbox.id,
          direction: "inbound",
          status: "received",
          fromAddr: "jane@example.com",
          fromName: "Jane Doe",
          toAddr: inbox.address,
          cc: ["joe@example.com", "zoe@example.com"],
          replyTo: "team@example.com",
          subject: "Your order",
          bodyText: expect.stringContaining("Hello Ada"),
          bodyHtml: null,
          attachments: [],
          rfcMessageId: expect.stringMatching(/^<CAF1@mail\.example\.com>$/i),
          providerMessageId: null,
          failure: null,
          createdAt: world().clock.now().toISOString(),
          envelopeFrom: "jane@example.com",
          truncated: false,
          automated: null,
          to: expect.any(Array),
          bcc: [],
          recipients: [],
          metadata: {},
          tag: null,
          forwardOf: null,
          state: null,
          delivery: null,
          authentication: null,
          spam: null,
        }),
      );
      const { codes, links, extractedText, extractedHtml, ...alone } = (await world().api(`/v1/messages/${message.id}`))
        .body;
      expect(Object.entries(alone)).toEqual(Object.entries(message));
      expect({ codes, links, extractedText, extractedHtml }).toEqual({
        codes: [],
        links: [],
        extractedText: expect.stringContaining("Hello Ada"),
        extractedHtml: null,
      });
    });

    test("A message says who its sender was on the way here: nobody of a bounce, an inbox of mail between two of them", async () => {
      const [ada, bob] = [await world().inbox(), await world().inbox()];
      await world().deliver(mailOf({ messageId: "direct@example.com" }), ada.address, "list-owner@example.net");
      await world().deliver(mailOf({ messageId: "bounce@example.com" }), ada.address, "");
      const sent = await send(world(), bob.id, { to: ada.address }, { waits: true });
      const { body } = await list(ada.id);
      const senders = body.data.map((message: { envelopeFrom: string }) => message.envelopeFrom);
      expect(senders).toEqual([bob.address, "", "list-owner@example.net"]);
      const { body: message } = await world().api(`/v1/messages/${sent.body.messageId}`);
      expect([message.envelopeFrom, message.truncated]).toEqual([null, false]);
    });

    test("A mail that was not read whole says so", async () => {
      const inbox = await world().inbox();
      await takeIn(world().service.deps, inbox, [{ complete: false }]);
      const { body } = await list(inbox.id);
      expect(body.data[0]).toMatchObject({ truncated: true });
      const { body: thread } = await world().api(`/v1/threads/${body.data[0].threadId}/messages`);
      expect(thread.data[0]).toMatchObject({ truncated: true });
    });

    test("A mail shows who really sent it, in each list too, and a sent message shows nothing of that", async () => {
      const inbox = await world().inbox();
      const authentication = authenticationOf();
      await takeIn(world().service.deps, inbox, [{}], authentication);
      const { body } = await list(inbox.id);
      const [message] = body.data;
      const inOrder = JSON.stringify(authentication);
      const { body: thread } = await world().api(`/v1/threads/${message.threadId}/messages`);
      const { body: alone } = await world().api(`/v1/messages/${message.id}`);
      for (const shown of [message, thread.data[0], alone]) expect(JSON.stringify(shown.authentication)).toBe(inOrder);
      const sent = await send(world(), inbox.id, { to: "nobody@nowhere.test" });
      const { body: outbound } = await world().api(`/v1/messages/${sent.body.messageId}`);
      expect([outbound.authentication, outbound.spam]).toEqual([null, null]);
    });

    test("A sent message has our Message-ID until the relay has given it one of its own", async () => {
      const inbox = await world().inbox();
      const { body } = await send(world(), inbox.id, { to: "nobody@nowhere.test" });
      const { body: message } = await world().api(`/v1/messages/${body.messageId}`);
      expect(message).toMatchObject({ direction: "outbound", fromAddr: inbox.address, toAddr: "nobody@nowhere.test" });
      expect(message.rfcMessageId).toMatch(/^<.+@inbox\.localhost>$/);
      expect(message.providerMessageId).toEqual(expect.any(String));
      if (message.status === "pending") expect(message.providerMessageId).toBe(message.rfcMessageId);
    });

    test("A long list is whole, whatever its letters are and whoever asks", async () => {
      const inbox = await world().inbox();
      const mails = letters(12).map((subject) => ({ subject, bodyText: `${subject}: ${"grüße, 🎈 ".repeat(300)}` }));
      await takeIn(world().service.deps, inbox, mails);
      const { body, headers, status } = await list(inbox.id);
      expect([status, headers.get("content-type")]).toEqual([200, "application/json;charset=utf-8"]);
      expect(headers.get("x-request-id")).toEqual(expect.any(String));
      const texts = body.data.map(({ bodyText }: { bodyText: string }) => bodyText.trim());
      expect(texts).toEqual(mails.map(({ bodyText }) => bodyText.trim()).reverse());
      expect(body.total).toBe(12);

      // HTTP/1.0 knows no chunks.
      const connection = await connectRaw({ port: Number(world().service.apiUrl.port) });
      const key = `Host: x\r\nAuthorization: Bearer ${world().apiKey}`;
      connection.send(`GET /v1/inboxes/${inbox.id}/messages HTTP/1.0\r\n${key}\r\n\r\n`);
      await connection.closed;
      expect(JSON.parse(connection.rest().split("\r\n\r\n")[1] ?? "").total).toBe(12);
    });

    test("A list is newest first, and any page of it has the total", async () => {
      const inbox = await filled(7);
      const newestFirst = letters(7).reverse();
      for (const [query, first, last] of [
        ["", 0, 7],
        ["?limit=3", 0, 3],
        ["?limit=3&offset=3", 3, 6],
        ["?limit=3&offset=6", 6, 7],
        ["?offset=7", 7, 7],
        ["?offset=9007199254740991", 7, 7],
        ["?limit=100", 0, 7],
      ] as const) {
        const { status, body } = await list(inbox.id, query);
        expect([query, status, subjects(body), body.total]).toEqual([query, 200, newestFirst.slice(first, last), 7]);
      }
      expect((await list((await world().inbox()).id)).body).toEqual({ data: [], total: 0, nextCursor: null });
    });

    test("A list of one direction is paged by its own numbers", async () => {
      const inbox = await world().inbox();
      for (let turn = 1; turn <= 5; turn++) {
        await world().deliver(mailOf({ subject: `in ${turn}` }), inbox.address);
        if (turn % 2 === 0) await send(world(), inbox.id, { subject: `out ${turn}` });
      }
      const inbound = await list(inbox.id, "?direction=inbound&limit=2&offset=2");
      expect([subjects(inbound.body), inbound.body.total]).toEqual([["in 3", "in 2"], 5]);
      const next = await list(inbox.id, `?direction=inbound&limit=2&cursor=${inbound.body.nextCursor}`);
      expect([subjects(next.body), next.body.total, next.body.nextCursor]).toEqual([["in 1"], 5, null]);
      const outbound = await list(inbox.id, "?direction=outbound&limit=1");
      expect([subjects(outbound.body), outbound.body.total]).toEqual([["out 4"], 2]);
    });

    test("Who follows the cursor sees each message once, whatever arrives meanwhile", async () => {
      const inbox = await filled(8);
      const seen: string[] = [];
      let cursor: string | null = null;
      do {
        const { body } = await list(inbox.id, `?limit=3${cursor === null ? "" : `&cursor=${cursor}`}`);
        seen.push(...subjects(body));
        cursor = body.nextCursor;
        await world().deliver(mailOf({ subject: `late ${seen.length}` }), inbox.address);
      } while (cursor !== null);
      expect(seen).toEqual(letters(8).reverse());
    });

    test("since is the first instant that counts and until the first that doesn't", async () => {
      const inbox = await world().inbox();
      const instants: string[] = [];
      for (const subject of letters(5)) {
        world().clock.pass(60_000);
        instants.push(world().clock.now().toISOString());
        await world().deliver(mailOf({ subject }), inbox.address);
      }
      const [, second = "", , fourth = ""] = instants;
      const plusOne = (instant: string) =>
        `${new Date(Date.parse(instant) + 3_600_000).toISOString().slice(0, -1)}%2B01:00`;
      for (const [query, numbers, total] of [
        [`?since=${second}`, [5, 4, 3, 2], 4],
        [`?until=${second}`, [1], 1],
        [`?since=${second}&until=${fourth}`, [3, 2], 2],
        [`?since=${plusOne(second)}&until=${plusOne(fourth)}`, [3, 2], 2],
        [`?since=${second}&limit=1&offset=2`, [3], 4],
        [`?direction=inbound&since=${fourth}`, [5, 4], 2],
        [`?direction=outbound&since=${fourth}`, [], 0],
        ["?since=2150-01-01", [], 0],
        ["?until=1999-12-31", [], 0],
        [`?since=${fourth}&until=${second}`, [], 0],
      ] as const) {
        const { status, body } = await list(inbox.id, query);
        expect([query, status, subjects(body), body.total]).toEqual([
          query,
          200,
          numbers.map((n) => `mail ${n}`),
          total,
        ]);
      }
      const first = await list(inbox.id, `?since=${second}&limit=3`);
      const rest = await list(inbox.id, `?since=${second}&limit=3&cursor=${first.body.nextCursor}`);
      expect([subjects(rest.body), rest.body.nextCursor]).toEqual([["mail 2"], null]);
    });

    test("A list of one thread is that thread, newest first", async () => {
      const inbox = await filled(2);
      await world().deliver(mailOf({ subject: "root", messageId: "root@example.com" }), inbox.address);
      for (const subject of ["one", "two", "three"]) {
        await world().deliver(mailOf({ subject, inReplyTo: "root@example.com" }), inbox.address);
      }
      const [{ threadId }] = (await list(inbox.id)).body.data;
      const page = await list(inbox.id, `?thread_id=${threadId}&limit=2&offset=1`);
      expect([subjects(page.body), page.body.total]).toEqual([["two", "one"], 4]);
      const next = await list(inbox.id, `?thread_id=${threadId}&limit=2&cursor=${page.body.nextCursor}`);
      expect([subjects(next.body), next.body.nextCursor]).toEqual([["root"], null]);
      const inbound = await list(inbox.id, `?thread_id=${threadId}&direction=inbound`);
      expect(inbound.body.total).toBe(4);
      expect((await list(inbox.id, `?thread_id=${threadId}&direction=outbound`)).body.total).toBe(0);
      const elsewhere = await world().inbox();
      expect((await list(elsewhere.id, `?thread_id=${threadId}`)).body).toEqual({
        data: [],
        total: 0,
        nextCursor: null,
      });
    });

    test.each([
      ["limit=0", ["limit"]],
      ["limit=101", ["limit"]],
      ["limit=1.5", ["limit"]],
      ["limit=", ["limit"]],
      ["limit=1&limit=2", ["limit"]],
      ["offset=-1", ["offset"]],
      ["offset=1e3", ["offset"]],
      ["direction=sideways", ["direction"]],
      ["direction=", ["direction"]],
      ["since=yesterday", ["since"]],
      ["since=2026-02-30", ["since"]],
      ["until=2026-03-21T10:05:00", ["until"]],
      ["has_attachment=yes", ["has_attachment"]],
      ["q=", ["q"]],
      ["q=%22!%22", ["q"]],
      ["q=or", ["q"]],
      ["q=a%00b", ["q"]],
      ["from=%20", ["from"]],
      ["to=@", ["to"]],
      ["subject=-", ["subject"]],
      ["cursor=", ["cursor"]],
      ["cursor=MTIz", ["cursor"]],
      ["cursor=%2e%2e", ["cursor"]],
      ["limit=x&offset=x&direction=x&until=x&cursor=x", ["limit", "offset", "direction", "until", "cursor"]],
    ] as const)("?%s is refused by the names of its parameters", async (query, names) => {
      const inbox = await world().inbox();
      const { status, body } = await list(inbox.id, `?${query}`);
      expect([status, body.code]).toEqual([400, "invalid_query"]);
      const told = body.errors.map(({ parameter }: { parameter: string }) => parameter);
      expect(told.toSorted()).toEqual(names.toSorted());
    });

    test("A cursor holds for its own list alone", async () => {
      const inbox = await filled(3);
      const { nextCursor } = (await list(inbox.id, "?limit=1")).body;
      for (const query of [
        `?direction=inbound&cursor=${nextCursor}`,
        `?since=2020-01-01&cursor=${nextCursor}`,
        `?cursor=${nextCursor}&offset=1`,
      ]) {
        const { status, body } = await list(inbox.id, query);
        expect([query, status, body.code]).toEqual([query, 400, "invalid_query"]);
      }
      const { status } = await list((await world().inbox()).id, `?cursor=${nextCursor}`);
      expect(status).toBe(400);
    });

    test("Nobody sees another account's mail, and an unknown inbox is unknown before its query is judged", async () => {
      const inbox = await filled(1);
      const [{ id }] = (await list(inbox.id)).body.data;
      const apiKey = await newAccount(world());
      await newInbox(world(), apiKey);
      for (const path of [
        `/v1/inboxes/${inbox.id}/messages?limit=0`,
        "/v1/inboxes/nonsense/messages?limit=0",
        "/v1/inboxes/%/messages",
      ]) {
        const { status, body } = await world().api(path, { apiKey });
        expect([path, status, body.resource]).toEqual([path, 404, "inbox"]);
      }
      for (const path of [
        `/v1/messages/${id}`,
        `/v1/messages/${id}/raw`,
        "/v1/messages/msg_1",
        "/v1/messages/%2e%2e%2f",
        "/v1/messages/%",
        "/v1/messages/%ff/raw",
      ]) {
        const { status, body } = await world().api(path, { apiKey });
        expect([path, status, body.resource]).toEqual([path, 404, "message"]);
      }
      expect((await world().api(`/v1/messages/${id}/raw`, { apiKey: null })).status).toBe(401);
    });

    test("The mail of a deleted inbox is out of reach", async () => {
      const inbox = await filled(1);
      const [{ id, threadId }] = (await list(inbox.id)).body.data;
      await world().api(`/v1/inboxes/${inbox.id}`, { method: "DELETE" });
      for (const path of [
        `/v1/inboxes/${inbox.id}/messages`,
        `/v1/messages/${id}`,
        `/v1/messages/${id}/raw`,
        `/v1/threads/${threadId}/messages`,
      ]) {
        expect([path, (await world().api(path)).status]).toEqual([path, 404]);
      }
    });

    test("The raw mail is what came in, to the byte", async () => {
      const inbox = await world().inbox();
      const text = `${"A line of some mail, .dots and all\r\n.\r\n".repeat(60_000)}\xff\xfe end\r\n`;
      const raw = Buffer.from(mailOf({ subject: "raw", text }), "latin1");
      await world().deliver(raw, inbox.address);
      const [{ id }] = (await list(inbox.id)).body.data;
      const answer = await world().fetch(`/v1/messages/${id}/raw`);
      expect(Object.fromEntries(answer.headers)).toMatchObject({
        "content-type": "message/rfc822",
        "content-length": String(raw.length),
        "content-disposition": expect.stringContaining(`filename="${id}.eml"`),
        "x-content-type-options": "nosniff",
        "content-security-policy": "sandbox",
      });
      const bytes = await answer.bytes();
      // A listener may put its own trace lines on top (RFC 5321 §4.4).
      expect(
        Buffer.from(bytes)
          .subarray(bytes.length - raw.length)
          .equals(raw),
      ).toBe(true);
      const head = await world().fetch(`/v1/messages/${id}/raw`, { method: "HEAD" });
      expect([head.status, head.headers.get("content-length"), (await head.bytes()).length]).toEqual([
        200,
        String(bytes.length),
        0,
      ]);
    });

    test("A raw mail without its bytes is not found", async () => {
      const inbox = await filled(1);
      const [{ id }] = (await list(inbox.id)).body.data;
      const source = sql`select source_id from messages where id = ${id}`;
      await query(world().service.deps.db.api, sql`delete from source_chunks where source_id = (${source})`);
      const { status, body } = await world().api(`/v1/messages/${id}/raw`);
      expect([status, body.resource]).toEqual([404, "message"]);
    });

    test("The raw mail of a sent message is what the relay is handed", async () => {
      const inbox = await world().inbox();
      const { body } = await send(world(), inbox.id, { subject: "Grüße", body: "Grüße aus Köln" });
      const raw = await (await world().fetch(`/v1/messages/${body.messageId}/raw`)).text();
      expect(raw).toContain(`From: ${inbox.address}\r\n`);
      expect(raw).toMatch(/\r\nSubject: =\?utf-8\?/i);
      expect(raw).toMatch(/\r\nMessage-ID: <[^>]+@inbox\.localhost>\r\n/);
    });

    test("With attachments too, by way of a file", async () => {
      const inbox = await world().inbox();
      const { body } = await send(world(), inbox.id, { subject: "Files", body: "See there" });
      const bytes = new Uint8Array((1 << 20) + 100).fill(7);
      await attachFiles(world().service.deps.db.work, body.messageId, [{ filename: "größe.bin", bytes }]);
      const answer = await world().fetch(`/v1/messages/${body.messageId}/raw`);
      const raw = await answer.bytes();
      expect(answer.headers.get("content-length")).toBe(String(raw.length));
      const { attachments } = await PostalMime.parse(raw);
      expect(attachments.map(({ filename }) => filename)).toEqual(["größe.bin"]);
      expect(Buffer.from(attachments[0]?.content as ArrayBuffer).equals(bytes)).toBe(true);
      const head = await world().fetch(`/v1/messages/${body.messageId}/raw`, { method: "HEAD" });
      expect(head.headers.get("content-length")).toBe(String(raw.length));
    });
  });
}
