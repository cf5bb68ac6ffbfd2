import { beforeAll, describe, expect, test } from "bun:test";
import { commandLine } from "../../../src/domain/access/actor.ts";
import { createOperator } from "../../../src/flows/account/operators.ts";
import { newGrant } from "../../support/connecting.ts";
import { enginesHere } from "../../support/engines.ts";
import { mailOf } from "../../support/mail.ts";
import { quarantinedMail } from "../../support/ruled.ts";
import { newDraft, send } from "../../support/sends.ts";
import { oneWorldOn } from "../../support/world-on.ts";

for (const engine of enginesHere()) {
  describe(`Names on ${engine}`, () => {
    const world = oneWorldOn(engine, { env: { SENDS_PER_MINUTE: "0" } });
    const patch = (thread: string, body: object) => world().api(`/v1/threads/${thread}`, { method: "PATCH", body });
    let inbox: { id: string; address: string };
    let thread: { id: string; lastMessageId: string };
    let event: { event_id: string };
    let webhook: { id: string };
    let upload: { id: string };
    let waiting: { id: string };
    let suppression: { id: string };
    let quarantined: string;
    let rule: { id: string };
    let operatorKey: string;
    let accountId: string;
    let draftId: string;
    let keyId: string;
    let grantId: string;
    let domain: { id: string };
    let shared: { id: string };
    beforeAll(async () => {
      inbox = await world().inbox();
      // Nothing listens there: what is to be told stays in the outbox.
      const body = { url: "http://127.0.0.1:8080/hook" };
      ({ body: webhook } = await world().api("/v1/webhooks", { method: "POST", body }));
      ({ body: upload } = await world().api("/v1/uploads?filename=a.txt", { method: "POST", body: "words" }));
      const suppressed = { method: "POST", body: { address: "eve@example.net" } };
      ({ body: suppression } = await world().api("/v1/suppressions", suppressed));
      quarantined = await quarantinedMail(world(), inbox);
      const blocked = { direction: "inbound", action: "block", pattern: "spam.example" };
      ({ body: rule } = await world().api("/v1/rules", { method: "POST", body: blocked }));
      const headers = ["Content-Type: text/plain", "Content-Disposition: attachment; filename=a.txt"];
      await world().deliver(mailOf({ subject: "Hello", headers }), inbox.address);
      [thread] = (await world().api(`/v1/inboxes/${inbox.id}/threads`)).body.data;
      [event] = (await world().api("/v1/events")).body.data;
      draftId = await newDraft(world(), inbox.id);
      accountId = (await world().api("/v1/account")).body.id;
      keyId = (await world().api(`/v1/inboxes/${inbox.id}/api-keys`, { method: "POST", body: {} })).body.id;
      grantId = await newGrant(world());
      const operator = { name: "ops", expiresAt: undefined };
      operatorKey = (await createOperator(world().service.deps, commandLine, operator)).key;
      const added = (name: string) => ({ method: "POST", body: { domain: name } });
      ({ body: domain } = await world().api("/v1/domains", added("own.test")));
      ({ body: shared } = await world().api("/v1/admin/domains", { ...added("shared.test"), apiKey: operatorKey }));
      [waiting] = (await world().api("/v1/outbox")).body.data;
    });

    test("Every operation with a key refuses a parameter that nobody knows, behind what is not there", async () => {
      const { paths } = await (await world().fetch("/openapi.json")).json();
      const headers = { "content-type": "application/json", "idempotency-key": "k" };
      const asked: string[] = [];
      const ids: [start: string, id: string][] = [
        ...([
          ["/messages/{id}", thread.lastMessageId],
          ["/v1/attachments", thread.lastMessageId],
          ["/v1/threads", thread.id],
          ["/v1/uploads", upload.id],
          ["/v1/drafts", draftId],
        ] as const),
        ...([
          ["/v1/events", event.event_id],
          ["/v1/webhooks", webhook.id],
          ["/v1/outbox", waiting.id],
          ["/v1/suppressions", suppression.id],
          ["/v1/quarantine", quarantined],
          ["/v1/rules", rule.id],
          ["/v1/keys", keyId],
          ["/v1/grants", grantId],
          ["/v1/admin/accounts", accountId],
          ["/v1/admin/domains", shared.id],
          ["/v1/domains", domain.id],
        ] as const),
      ].map(([start, id]) => [start, id]);
      for (const [path, operations] of Object.entries<Record<string, { security?: unknown[] }>>(paths)) {
        for (const [method, { security }] of Object.entries(operations)) {
          if (security !== undefined) continue;
          const id = ids.find(([start]) => path.includes(start))?.[1] ?? inbox.id;
          const apiKey = path.startsWith("/v1/admin/") ? operatorKey : world().apiKey;
          const init = { method: method.toUpperCase(), headers, apiKey };
          const ask = (path: string) => world().api(`${path}?nobody=1`, init);
          const whole = path.replace("{key_id}", keyId).replace("{filename}", "a.txt");
          const { status, body } = await ask(whole.replace(/\{(?:message_)?id\}/, id));
          const where = `${method} ${path}`;
          expect([where, status, body.code, body.errors?.[0]]).toEqual([
            where,
            400,
            "invalid_query",
            { parameter: "nobody", detail: "is not known here" },
          ]);
          asked.push(where);
          if (!path.includes("{id}")) continue;
          const stranger = `${id.slice(0, -2)}${id.endsWith("aa") ? "bb" : "aa"}`;
          const { status: missing } = await ask(path.replace("{id}", stranger));
          expect([where, missing]).toEqual([where, 404]);
        }
      }
      expect(asked.length).toBeGreaterThan(18);
      expect((await world().api(`/v1/inboxes/${inbox.id}`)).status).toBe(200);
    });

    test("A link to an attachment holds with what is put on it on its way", async () => {
      const raw = [
        "From: jane@example.com",
        "Subject: A file",
        "Content-Type: text/plain",
        "Content-Disposition: attachment; filename=a.txt",
        "",
        "words",
        "",
      ].join("\r\n");
      const own = await world().inbox();
      await world().deliver(raw, own.address);
      const [message] = (await world().api(`/v1/inboxes/${own.id}/messages`)).body.data;
      const { pathname, search } = new URL(message.attachments[0].url);
      const answer = await world().fetch(`${pathname}${search}&utm_source=mail`, { apiKey: null });
      expect([answer.status, await answer.text()]).toEqual([200, "words\r\n"]);
    });

    test("An inbox is made and found by external_id as by externalId", async () => {
      const body = { external_id: "user-9" };
      const made = await world().api("/v1/inboxes", { method: "POST", body });
      expect([made.status, made.body.externalId]).toEqual([201, "user-9"]);
      for (const name of ["externalId", "external_id"]) {
        const found = (await world().api(`/v1/inboxes?${name}=user-9`)).body;
        expect([name, found.data.map(({ id }: { id: string }) => id)]).toEqual([name, [made.body.id]]);
      }
      const both = await world().api("/v1/inboxes", { method: "POST", body: { ...body, externalId: "user-9" } });
      expect([both.status, both.body.errors]).toEqual([
        400,
        [{ pointer: "#/externalId", detail: "must be given once, as externalId or as external_id" }],
      ]);
      const near = await world().api("/v1/inboxes", { method: "POST", body: { "external-id": "user-9" } });
      expect(near.body.detail).toBe('Cannot create inbox: "external-id" is not known here; did you mean "externalId"?');
    });

    test("The event log is asked for one inbox by inboxId as by inbox_id", async () => {
      const other = await world().inbox();
      for (const name of ["inbox_id", "inboxId"]) {
        const ids = async (inbox: string) => (await world().api(`/v1/events?${name}=${inbox}`)).body.data.length;
        expect([name, await ids(inbox.id), await ids(other.id)]).toEqual([name, 1, 0]);
      }
    });

    test("Messages are asked for one thread by threadId as by thread_id", async () => {
      const own = await world().inbox();
      for (const subject of ["a", "b"]) await world().deliver(mailOf({ subject }), own.address);
      const [first] = (await world().api(`/v1/inboxes/${own.id}/threads`)).body.data;
      for (const name of ["thread_id", "threadId"]) {
        const found = (await world().api(`/v1/inboxes/${own.id}/messages?${name}=${first.id}`)).body;
        expect([name, found.data.length, found.total]).toEqual([name, 1, 1]);
      }
    });

    test("A thread is marked by isRead and upToMessageId as by is_read and up_to_message_id", async () => {
      const seen = thread.lastMessageId;
      for (const body of [{ is_read: false }, { isRead: true }, { isRead: false }, { is_read: true }]) {
        expect((await patch(thread.id, body)).body.isRead).toBe(Object.values(body)[0]);
      }
      await world().deliver(mailOf({ subject: "Re: Hello", inReplyTo: await idOf(seen) }), inbox.address);
      for (const name of ["up_to_message_id", "upToMessageId"]) {
        const marked = await patch(thread.id, { is_read: true, [name]: seen });
        expect([name, marked.body.isRead, marked.body.reason]).toEqual([name, false, "newer_inbound"]);
      }
      const both = await patch(thread.id, { is_read: true, isRead: false });
      expect([both.status, both.body.errors[0].pointer]).toEqual([400, "#/is_read"]);
    });

    test("A name that a mark does not know is refused, and marks nothing", async () => {
      await patch(thread.id, { is_read: false });
      const refused = await patch(thread.id, { is_read: true, up_to_message: thread.lastMessageId });
      expect([refused.status, refused.body.errors]).toEqual([
        400,
        [{ pointer: "#/up_to_message", detail: 'is not known here; did you mean "up_to_message_id"?' }],
      ]);
      const [found] = (await world().api(`/v1/inboxes/${inbox.id}/threads?is_read=false`)).body.data;
      expect(found.id).toBe(thread.id);
    });

    test("A reply by thread_id is the one by threadId: the same key sends it once", async () => {
      const fields = { to: "jane@example.com", includeQuote: false };
      const first = await send(world(), inbox.id, { ...fields, threadId: thread.id }, { key: "reply" });
      const again = await send(world(), inbox.id, { ...fields, thread_id: thread.id }, { key: "reply" });
      expect([first.status, again.status, again.headers.get("idempotent-replayed")]).toEqual([200, 200, "true"]);
      expect(again.body.messageId).toBe(first.body.messageId);
      expect(first.body.threadId).toBe(thread.id);
    });

    test.each([
      ["template", "is not known here"],
      ["text", 'is not known here; did you mean "body"?'],
      ["html", 'is not known here; did you mean "bodyHtml"?'],
      ["Subject_", 'is not known here; did you mean "subject"?'],
      ["in_reply_to", 'is not known here; did you mean "replyToMessageId"?'],
      ["from", 'is not known here; the sender is the inbox in the path; "fromName" is the name beside its address'],
      ["idempotency_key", 'is not known here; it is given in the header "Idempotency-Key"'],
      ["body_html", 'is not known here; did you mean "bodyHtml"?'],
      ["reply_to", 'is not known here; did you mean "replyTo"?'],
      ["read_up_to_message_id", 'is not known here; did you mean "readUpToMessageId"?'],
    ])("A send with %s is refused, and sends nothing", async (name, detail) => {
      const own = await world().inbox();
      const { status, body } = await send(world(), own.id, { [name]: "x" }, { key: `with-${name}` });
      expect([status, body.code, body.errors]).toEqual([400, "validation_error", [{ pointer: `#/${name}`, detail }]]);
      expect((await world().api(`/v1/inboxes/${own.id}/messages`)).body.total).toBe(0);
    });

    test.each([
      ["threads", "unread=true", "unread", 'did you mean "is_read=false"?'],
      ["threads", "per_page=5", "per_page", 'did you mean "limit"?'],
      ["messages", "search=Hello", "search", 'did you mean "q"?'],
      ["messages", "conversationId=1", "conversationId", 'did you mean "thread_id"?'],
    ])("A list of %s with %s is refused with the name that is meant", async (list, query, parameter, hint) => {
      const { status, body } = await world().api(`/v1/inboxes/${inbox.id}/${list}?${query}`);
      expect([status, body.errors]).toEqual([400, [{ parameter, detail: `is not known here; ${hint}` }]]);
    });

    test("A name of another service in an attachment is meant for the attachment", async () => {
      const own = await world().inbox();
      const attachments = [{ name: "a.txt", content: "YQ==" }];
      const { status, body } = await send(world(), own.id, { attachments }, { key: "file" });
      expect([status, body.errors[0]]).toEqual([
        400,
        { pointer: "#/attachments/0/name", detail: 'is not known here; did you mean "filename"?' },
      ]);
    });

    test("An unread mark is refused with the name that is meant, and marks nothing", async () => {
      const { status, body } = await patch(thread.id, { is_read: true, unread: true });
      expect([status, body.errors]).toEqual([
        400,
        [{ pointer: "#/unread", detail: 'is not known here; did you mean "is_read=false"?' }],
      ]);
    });

    async function idOf(messageId: string): Promise<string> {
      return (await world().api(`/v1/messages/${messageId}`)).body.rfcMessageId.replace(/^<|>$/g, "");
    }
  });
}
