import { afterAll, beforeAll, expect, test } from "bun:test";
import { type Model, overHttp } from "../support/mcp.ts";
import { untilSo } from "../support/until.ts";
import { startWorld, type World, type WorldInbox } from "../support/world.ts";

let world: World;
let model: Model;
let inbox: WorldInbox;
beforeAll(async () => {
  world = await startWorld({ env: { SEND_WAIT_MS: "0", SENDS_PER_MINUTE: "8" } });
  model = await overHttp(world);
  inbox = await world.inbox("ada");
});
afterAll(async () => {
  await model?.[Symbol.asyncDispose]();
  await world?.[Symbol.asyncDispose]();
});

async function outbound(): Promise<{ id: string; toAddr: string; bodyText: string }[]> {
  return (await world.api(`/v1/inboxes/${inbox.id}/messages?direction=outbound`)).body.data;
}

async function threadWith(id: string, inReplyTo?: string) {
  const more = inReplyTo === undefined ? "" : `In-Reply-To: <${inReplyTo}@example.com>\r\n`;
  await world.deliver(
    `From: Jane <jane@example.com>\r\nSubject: Hi\r\nMessage-ID: <${id}@example.com>\r\n${more}\r\nHello ${id}\r\n`,
    inbox.address,
  );
  return (await world.api(`/v1/inboxes/${inbox.id}/messages?limit=1`)).body.data[0];
}

test("the same arguments are the same mail, however the inbox is named, and the result says so", async () => {
  const mail = { to: "bob@example.com", subject: "Hi", body: "Hello Bob" };
  const first = await model.call("send_email", { inbox: "ada", ...mail });
  const again = await model.call("send_email", { inbox: inbox.address, ...mail, automatic: false });
  expect([first.replayed, first.hint]).toEqual([false, undefined]);
  expect(again).toEqual({
    ...first,
    status: again.status,
    replayed: true,
    hint: expect.stringContaining("idempotency_key"),
  });
  const another = await model.call("send_email", { inbox: "ada", ...mail, idempotency_key: "once-more" });
  expect(another).toMatchObject({ replayed: false });
  expect(another.messageId).not.toBe(first.messageId);
  expect(await outbound()).toHaveLength(2);
});

test("a mail in Markdown goes to several, and with another copy it is another mail", async () => {
  const mail = { inbox: "ada", to: ["bob@example.com", "eve@example.com"], subject: "Hi", body: "**Hello**" };
  const more = { cc: ["joe@example.com"], bcc: ["me@example.com"], body_format: "markdown" };
  const first = await model.call("send_email", { ...mail, ...more });
  expect(await model.call("send_email", { ...mail, ...more })).toMatchObject({ replayed: true });
  const { body: message } = await world.api(`/v1/messages/${first.messageId}`);
  expect(message).toMatchObject({ to: mail.to, cc: more.cc, bcc: more.bcc });
  expect(message.bodyHtml).toContain("<strong>Hello</strong>");
  world.clock.pass(61_000);
});

test("a mail takes files of other messages and uploads, each once", async () => {
  const box = await world.inbox("with-files");
  const parts =
    "--b\r\n\r\nSee\r\n--b\r\nContent-Type: text/csv\r\nContent-Disposition: attachment; filename=list.csv\r\n\r\na,b\r\n--b--";
  const head = "From: jane@example.com\r\nMIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=b\r\n";
  await world.deliver(`${head}\r\n${parts}\r\n`, box.address);
  const [{ id: messageId }] = (await world.api(`/v1/inboxes/${box.id}/messages`)).body.data;
  const headers = { "content-type": "text/plain" };
  const upload = await world.api("/v1/uploads?filename=notes.txt", { method: "POST", body: "Notes", headers });
  const attachments = [{ messageId, filename: "list.csv" }, { uploadId: upload.body.id }];
  const mail = { inbox: "with-files", to: "bob@example.com", subject: "Files", body: "See the files" };
  const sent = await model.call("send_email", { ...mail, attachments });
  expect(await model.call("send_email", { ...mail, attachments })).toMatchObject({ replayed: true });
  expect(await model.call("send_email", { ...mail, attachments: attachments.slice(1) })).toMatchObject({
    replayed: false,
  });
  const { body: message } = await world.api(`/v1/messages/${sent.messageId}`);
  expect(message.attachments.map(({ filename }: { filename: string }) => filename)).toEqual(["list.csv", "notes.txt"]);

  // A model that is limited to one inbox takes no file out of another.
  await using fenced = await overHttp(world, { query: "?inbox=ada" });
  const foreign = { to: "bob@example.com", subject: "Files", body: "x", attachments: [attachments[0]] };
  expect(await fenced.failure("send_email", foreign)).toStartWith("not_found: Cannot find message");
  for (const [wrong, fault] of [
    [[{ messageId, filename: "none.csv" }], "not_found: Cannot find attachment"],
    [[{ content: "aGk=" }], 'validation_error: Cannot read arguments: "attachments" must be a list of 1 to 50 files'],
    [[{ uploadId: 7 }], 'validation_error: Cannot read arguments: "attachments" must be a list of 1 to 50 files'],
    [[{ messageId }], "validation_error"],
  ] as const)
    expect(await model.failure("send_email", { ...mail, attachments: wrong })).toStartWith(fault);
  world.clock.pass(61_000);
});

test("one address may stand as a string, and a body may be said to be text", async () => {
  const mail = { inbox: "ada", to: "bob@example.com", subject: "Plain", body: "<p>not HTML</p>" };
  const first = await model.call("send_email", {
    ...mail,
    cc: "joe@example.com",
    bcc: "me@example.com",
    body_format: "text",
  });
  const listed = { ...mail, cc: ["joe@example.com"], bcc: ["me@example.com"], body_format: "text" };
  expect(await model.call("send_email", listed)).toMatchObject({ replayed: true, messageId: first.messageId });
  const { body: message } = await world.api(`/v1/messages/${first.messageId}`);
  expect(message).toMatchObject({ cc: ["joe@example.com"], bcc: ["me@example.com"], bodyHtml: null });
  expect(message.bodyText.trim()).toBe(mail.body);
  world.clock.pass(61_000);
});

test("two calls at once are one mail", async () => {
  const before = (await outbound()).length;
  const mail = { inbox: "ada", to: "eve@example.com", subject: "Hi", body: "Hello Eve" };
  const made = await Promise.all([model.call("send_email", mail), model.call("send_email", mail)]);
  expect(new Set(made.map(({ messageId }) => messageId)).size).toBe(1);
  expect(await outbound()).toHaveLength(before + 1);
});

test("a reply goes to the sender of the last mail that came, once for that mail, and again behind the next one", async () => {
  const first = await threadWith("one");
  const reply = { thread_id: first.threadId, body: "Thank you" };
  const sent = await model.call("reply_to_thread", reply);
  const again = await model.call("reply_to_thread", reply);
  expect([sent.replayed, again.replayed, again.messageId]).toEqual([false, true, sent.messageId]);
  expect((await outbound())[0]).toMatchObject({ toAddr: "jane@example.com" });

  world.clock.pass(61_000);
  await threadWith("two", "one");
  const next = await model.call("reply_to_thread", reply);
  expect([next.replayed, next.messageId === sent.messageId]).toEqual([false, false]);
});

test("a reply to all goes to all of the mail but this inbox, and one to a message by its id answers that one", async () => {
  world.clock.pass(61_000);
  const raw = (id: string, more: string) =>
    `From: Jane <jane@example.com>\r\nTo: ${inbox.address}, ann@example.com\r\nCc: dan@example.com\r\nSubject: All\r\n` +
    `Message-ID: <${id}@example.com>\r\n${more}\r\nThis is ${id}\r\n`;
  const last = async () => (await world.api(`/v1/inboxes/${inbox.id}/messages?limit=1`)).body.data[0];
  await world.deliver(raw("all-one", ""), inbox.address);
  const first = await last();
  await world.deliver(
    raw("all-two", "In-Reply-To: <all-one@example.com>\r\nReply-To: eve@example.com\r\n"),
    inbox.address,
  );
  const toAll = { thread_id: first.threadId, body: "Thank you all", reply_all: true };
  const sent = await model.call("reply_to_thread", toAll);
  expect(await model.call("reply_to_thread", toAll)).toMatchObject({ replayed: true, messageId: sent.messageId });
  const { body: all } = await world.api(`/v1/messages/${sent.messageId}`);
  expect(all).toMatchObject({ to: ["eve@example.com", "ann@example.com"], cc: ["dan@example.com"] });

  const toFirst = { thread_id: first.threadId, body: "To you", reply_to_message_id: first.id };
  const { messageId } = await model.call("reply_to_thread", toFirst);
  const { body: one } = await world.api(`/v1/messages/${messageId}`);
  expect(one.to).toEqual(["jane@example.com"]);
  expect(one.bodyText).toContain("> This is all-one");

  const elsewhere = await threadWith("elsewhere");
  const stray = { ...toFirst, reply_to_message_id: elsewhere.id };
  expect(await model.failure("reply_to_thread", stray)).toStartWith("not_found:");
});

test("a message is forwarded with its files, and only as far as the fence goes", async () => {
  world.clock.pass(61_000);
  const head = `From: Jane <jane@example.com>\r\nTo: ${inbox.address}\r\nSubject: The plan\r\nMIME-Version: 1.0\r\n`;
  const parts =
    "--b\r\n\r\nSee the file.\r\n--b\r\nContent-Type: application/pdf\r\nContent-Disposition: attachment; filename=plan.pdf\r\n\r\n%PDF-1.7\r\n--b--\r\n";
  await world.deliver(`${head}Content-Type: multipart/mixed; boundary=b\r\n\r\n${parts}`, inbox.address);
  const [{ id }] = (await world.api(`/v1/inboxes/${inbox.id}/messages?limit=1`)).body.data;
  const forward = { to: "bob@example.com", forward_of: id };
  const sent = await model.call("send_email", { inbox: "ada", ...forward });
  expect(await model.call("send_email", { inbox: "ada", ...forward })).toMatchObject({ replayed: true });
  const { body: message } = await world.api(`/v1/messages/${sent.messageId}`);
  expect(message).toMatchObject({ subject: "Fwd: The plan", forwardOf: id, attachments: [{ filename: "plan.pdf" }] });
  const other = await model.call("send_email", { inbox: "ada", ...forward, body: "FYI" });
  expect(other.messageId).not.toBe(sent.messageId);
  expect(await model.failure("send_email", { inbox: "ada", to: "bob@example.com" })).toStartWith("validation_error:");

  await world.inbox("fenced");
  await using fenced = await overHttp(world, { query: "?inbox=fenced" });
  expect(await fenced.failure("send_email", forward)).toStartWith("not_found: Cannot find message");
});

test("a mail that is newer than the last read one keeps the thread unread", async () => {
  const first = await threadWith("three");
  await threadWith("four", "three");
  const reply = { thread_id: first.threadId, body: "On it", read_up_to: first.id };
  expect(await model.call("reply_to_thread", reply)).toMatchObject({ replayed: false, isRead: false });
  expect(await model.call("reply_to_thread", reply)).toMatchObject({ replayed: true, isRead: false });
  expect(
    await model.call("mark_thread", { thread_id: first.threadId, is_read: true, up_to_message_id: first.id }),
  ).toEqual({
    isRead: false,
    folder: "inbox",
    labels: [],
    reason: "newer_inbound",
  });
});

test("of two models that have read the same mail one answers, and the other hears how to answer all the same", async () => {
  world.clock.pass(61_000);
  const first = await threadWith("both");
  const reply = { thread_id: first.threadId, read_up_to: first.id };
  const sent = await model.call("reply_to_thread", { ...reply, body: "Yes" });
  expect(await model.call("reply_to_thread", { ...reply, body: "Yes" })).toMatchObject({ replayed: true });
  const failure = await model.failure("reply_to_thread", { ...reply, body: "No" });
  expect(failure).toStartWith("answered_meanwhile: Cannot send: ");
  expect(failure).toContain(sent.messageId);
  expect(failure).toContain("even_if_answered: true");
  const more = await model.call("reply_to_thread", { ...reply, body: "No", even_if_answered: true });
  expect(more).toMatchObject({ replayed: false, threadId: first.threadId });
  // Without read_up_to nothing is asked.
  const last = await model.call("reply_to_thread", { thread_id: first.threadId, body: "Maybe" });
  expect(last.replayed).toBe(false);
});

test("an automatic mail is marked as written by a program", async () => {
  const { threadId } = await threadWith("five");
  const { messageId } = await model.call("reply_to_thread", { thread_id: threadId, body: "Noted", automatic: true });
  const raw = await world.fetch(`/v1/messages/${messageId}/raw`);
  expect(await raw.text()).toContain("Auto-Submitted: auto-replied");
});

test("a thread without incoming mail has nobody to reply to", async () => {
  const { threadId } = await model.call("send_email", {
    inbox: "ada",
    to: "zoe@example.com",
    subject: "Hi",
    body: "Hello",
  });
  expect(await model.failure("reply_to_thread", { thread_id: threadId, body: "And?" })).toContain('"to" is required');
  const sent = await model.call("reply_to_thread", { thread_id: threadId, body: "And?", to: "zoe@example.com" });
  expect(sent.threadId).toBe(threadId);
});

test("a model with a token reads as far as the token goes, and sends nothing", async () => {
  const { body } = await world.api("/v1/tokens", { method: "POST", body: { inboxId: inbox.id } });
  await world.inbox("other");
  await using reader = await overHttp({ ...world, service: world.service, apiKey: body.token });
  expect((await reader.call("list_inboxes")).inboxes).toHaveLength(1);
  await reader.call("list_threads", { inbox: "ada" });
  expect(await reader.failure("list_threads", { inbox: "other" })).toStartWith("not_found:");
  const mail = { inbox: "ada", to: "bob@example.com", subject: "Hi", body: "From a token" };
  expect(await reader.failure("send_email", mail)).toStartWith("forbidden:");
});

test("over a limit the model hears until when", async () => {
  let failure: string | undefined;
  for (let nth = 0; failure === undefined && nth < 20; nth += 1) {
    const mail = { inbox: "ada", to: "bob@example.com", subject: "Hi", body: `Hello ${nth}` };
    await model.call("send_email", mail).catch((error: Error) => {
      failure = error.message;
    });
  }
  expect(failure).toMatch(/rate_limit_exceeded: .+\(possible again at \d{4}-.+Z\)/);
});

test("the link of one click is refused where it would be dead, and is part of the key", async () => {
  world.clock.pass(61_000);
  const mail = { inbox: "ada", to: "eve@example.com", subject: "News", body: "Hello" };
  expect(await model.failure("send_email", { ...mail, unsubscribe: true })).toContain("unsubscribe_unavailable");
  expect(await model.call("send_email", mail)).toMatchObject({ replayed: false });
});

test("a mail that is sent later is listed, taken back by its id, and seen by no model of another inbox", async () => {
  const later = await world.inbox("later");
  const mail = {
    inbox: "later",
    to: "bob@example.com",
    subject: "Later",
    body: "Hello",
    send_at: "2026-12-01T09:00:00Z",
  };
  const sent = await model.call("send_email", mail);
  expect(sent).toMatchObject({ status: "pending", sendAt: "2026-12-01T09:00:00.000Z", replayed: false });
  expect(await model.call("send_email", mail)).toMatchObject({ messageId: sent.messageId, replayed: true });
  expect(await model.call("list_drafts", { inbox: "later" })).toEqual({
    drafts: [
      {
        id: sent.messageId,
        threadId: sent.threadId,
        state: "scheduled",
        sendAt: "2026-12-01T09:00:00.000Z",
        to: ["bob@example.com"],
        subject: "Later",
        text: "Hello",
      },
    ],
  });
  await using fenced = await overHttp(world, { query: "?inbox=ada" });
  expect(await fenced.failure("cancel_message", { message_id: sent.messageId })).toStartWith("not_found:");
  expect(await model.call("cancel_message", { message_id: sent.messageId })).toMatchObject({ status: "failed" });
  expect(await model.failure("cancel_message", { message_id: sent.messageId })).toStartWith("not_cancelable:");
  expect((await model.call("list_drafts", { inbox: later.address })).drafts).toEqual([]);
});

test("a mail that a person must approve says so, is listed, and is sent once; a rejected one is refused with the reason", async () => {
  world.clock.pass(61_000);
  const asked = await world.inbox("asked");
  await world.api(`/v1/inboxes/${asked.id}`, { method: "PATCH", body: { sendPolicy: "approve_all" } });
  const { body: key } = await world.api("/v1/keys", { method: "POST", body: { access: "agent" } });
  await using agent = await overHttp({ apiKey: key.key, service: world.service });
  const mail = { inbox: "asked", to: "bob@example.com", subject: "Offer", body: "Ten euros" };
  const sent = await agent.call("send_email", mail);
  const waits = { status: "pending", state: "awaiting_approval", reasons: ["policy", "new_recipient"] };
  expect(sent).toMatchObject({ ...waits, replayed: false, hint: expect.stringContaining("must approve") });
  expect(await agent.call("send_email", mail)).toEqual({ ...sent, replayed: true });
  expect((await agent.call("list_drafts", { inbox: "asked" })).drafts).toMatchObject([
    { id: sent.messageId, state: "awaiting_approval", subject: "Offer" },
  ]);
  const { tools } = await agent.client.listTools();
  expect(tools.filter(({ name }) => /approv|reject|decide/.test(name))).toEqual([]);
  const decide = (id: string, word: string, body: object) =>
    world.api(`/v1/drafts/${id}/${word}`, { method: "POST", body: { version: 1, ...body } });

  await decide(sent.messageId, "approve", {});
  await untilSo(async () => (await world.api(`/v1/messages/${sent.messageId}`)).body.status === "sent");
  const after = await agent.call("send_email", mail);
  expect([after.messageId, after.status, after.state, after.replayed]).toEqual([
    sent.messageId,
    "sent",
    undefined,
    true,
  ]);
  expect((await world.api(`/v1/inboxes/${asked.id}/messages?direction=outbound`)).body.total).toBe(1);

  const discount = { ...mail, body: "Half the price" };
  const { messageId } = await agent.call("send_email", discount);
  expect((await decide(messageId, "reject", { reason: "No discounts" })).status).toBe(200);
  expect(await agent.call("read_message", { message_id: messageId })).toMatchObject({
    message: { status: "failed", failure: "A person rejected it: No discounts" },
  });
  const failure = await agent.failure("send_email", { ...discount, idempotency_key: "again" });
  expect(failure).toStartWith("draft_rejected: Cannot send: a person has rejected this mail: No discounts");
  expect(failure).toContain("tell the user");
});
