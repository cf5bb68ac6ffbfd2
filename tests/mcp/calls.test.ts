import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { failureOf } from "../support/failure.ts";
import { type Era, eras, type Model, overHttp, overStdio } from "../support/mcp.ts";
import { startWorld, type World } from "../support/world.ts";

const mail = (id: string, subject: string, text: string, more = "") =>
  `From: Jane <jane@example.com>\r\nSubject: ${subject}\r\nMessage-ID: <${id}@example.com>\r\n${more}\r\n${text}\r\n`;

const withFile = [
  "From: Jane <jane@example.com>",
  "Subject: The list",
  "Message-ID: <list@example.com>",
  'Content-Type: multipart/mixed; boundary="b"',
  "",
  "--b",
  "",
  "Here it is",
  "--b",
  "Content-Type: text/csv",
  'Content-Disposition: attachment; filename="list.csv"',
  "",
  "name,sum",
  "ada,3",
  "--b",
  "Content-Type: application/pdf",
  'Content-Disposition: attachment; filename="list.pdf"',
  "",
  "%PDF-1.7",
  "--b--",
  "",
].join("\r\n");

const doors: readonly [door: string, open: (world: World, era: Era) => Promise<Model>][] = [
  ["HTTP", (world, era) => overHttp(world, { era })],
  [
    "stdio",
    (world, era) => overStdio([], { INBOXD_URL: world.service.apiUrl.origin, INBOXD_API_KEY: world.apiKey }, era),
  ],
];
const ways = doors.flatMap(([door, open]) => (Object.keys(eras) as Era[]).map((era) => [door, era, open] as const));

describe.each(ways)("By %s, in %s, the official client", (_, era, open) => {
  let world: World;
  let model: Model;

  beforeAll(async () => {
    world = await startWorld({ env: { SEND_WAIT_MS: "30000" } });
    model = await open(world, era);
  });
  afterAll(async () => {
    await model?.[Symbol.asyncDispose]();
    await world?.[Symbol.asyncDispose]();
  });

  test("lists fifteen tools with their inputs and outputs, each time in the same words", async () => {
    const [{ tools }, again] = [await model.client.listTools(), await model.client.listTools()];
    expect(tools).toHaveLength(15);
    expect(JSON.stringify(again.tools)).toBe(JSON.stringify(tools));
    for (const { title, description, inputSchema, outputSchema, annotations } of tools) {
      expect([title, description]).toEqual([expect.any(String), expect.any(String)]);
      expect([inputSchema.type, inputSchema.additionalProperties, outputSchema?.type]).toEqual([
        "object",
        false,
        "object",
      ]);
      expect(Object.keys(annotations ?? {})).toEqual([
        "readOnlyHint",
        "destructiveHint",
        "idempotentHint",
        "openWorldHint",
      ]);
    }
    expect(model.client.getInstructions()?.length).toBeWithin(500, 1201);
  });

  test("uses all of them in one conversation", async () => {
    const made = await model.call("create_inbox", { username: "ada", external_id: "user-7" });
    expect(made).toEqual({
      id: expect.stringMatching(/^inb_/),
      address: "ada@inbox.localhost",
      externalId: "user-7",
      createdAt: expect.any(String),
      unreadThreads: 0,
      lastMessageAt: null,
      displayName: null,
      aliases: [],
    });
    expect(await model.call("list_inboxes", { external_id: "user-7" })).toEqual({ inboxes: [made], total: 1 });

    const { cursor, message: nothing } = await model.call("wait_for_message", { inbox: "ada", timeout: 0 });
    expect(nothing).toBeNull();
    await world.deliver(mail("code", "Sign in", "Your code is 482 913"), made.address);
    const waited = await model.call("wait_for_message", { inbox: made.address, has: "code", after: cursor });
    expect(waited.message.codes[0].code).toBe("482913");
    expect(waited.message.text).toMatch(/^\[\[untrusted email (\w{8})\]\]\nYour code is 482 913\n\[\[end \1\]\]$/);

    const { threads, total } = await model.call("list_threads", { inbox: made.id });
    expect([total, threads[0]]).toEqual([
      1,
      expect.objectContaining({ subject: "Sign in", isRead: false, messageCount: 1 }),
    ]);
    const [{ id: threadId, lastMessageId }] = threads;
    const read = await model.call("read_thread", { thread_id: threadId });
    expect(read.messages).toHaveLength(1);
    expect(read.isRead).toBe(false);

    const answer = { thread_id: threadId, body: "Thank you", read_up_to: lastMessageId, automatic: true };
    const replied = await model.call("reply_to_thread", answer);
    expect(replied).toMatchObject({ threadId, status: "sent", replayed: false, isRead: true });
    const shown = await model.call("read_message", { message_id: replied.messageId });
    expect(shown.message).toMatchObject({ direction: "outbound", toAddr: "jane@example.com", subject: "Re: Sign in" });
    const inInbox = { folder: "inbox", labels: [] };
    expect(await model.call("mark_thread", { thread_id: threadId, is_read: false })).toEqual({
      isRead: false,
      ...inInbox,
    });
    expect(await model.call("mark_threads", { thread_ids: [threadId], is_read: true })).toEqual({
      threads: [{ id: threadId, isRead: true, ...inInbox }],
    });

    const sent = await model.call("send_email", {
      inbox: "ada",
      to: "bob@example.com",
      subject: "Hi",
      body: "Hello Bob",
    });
    expect(sent).toMatchObject({ status: "sent", replayed: false });
    await world.deliver(withFile, made.address);
    const found = await model.call("search_messages", { inbox: "ada", query: "list", direction: "inbound" });
    const [{ id: messageId, attachments }] = found.messages;
    expect(attachments.map(({ filename }: { filename: string }) => filename)).toEqual(["list.csv", "list.pdf"]);
    const file = await model.call("read_attachment", { message_id: messageId, filename: "list.csv" });
    expect(file.text).toContain("\nname,sum\n");
    expect(file).toMatchObject({ kind: "csv", truncated: false });
    expect(file.url).toBeUndefined();
    const noText = await model.call("read_attachment", { message_id: messageId, filename: "list.pdf" });
    expect([noText.text, noText.reason]).toEqual([undefined, "damaged"]);
    expect(await (await fetch(noText.url)).text()).toStartWith("%PDF-1.7");
  });

  test("is told how long a wait has lasted if it asks, and gets the mail all the same", async () => {
    await world.inbox("waiting");
    const told: object[] = [];
    const first = Promise.withResolvers<void>();
    const call = model.client.callTool(
      { name: "wait_for_message", arguments: { inbox: "waiting" } },
      {
        onprogress(progress) {
          told.push(progress);
          first.resolve();
        },
      },
    );
    await first.promise;
    await world.deliver(mail("waited", "At last", "Hello"), "waiting@inbox.localhost");
    const { structuredContent } = await call;
    expect(structuredContent).toMatchObject({ message: { subject: "At last" } });
    expect(told[0]).toEqual({ progress: 0, total: 25, message: "Waiting for mail" });
  });

  test("gets each failure with its message and advice, and only an unknown tool is an error of the protocol", async () => {
    expect(await model.failure("list_threads", { inbox: "nobody" })).toStartWith("not_found: Cannot find inbox");
    expect(await model.failure("read_message", { message_id: ".." })).toStartWith("not_found: Cannot find message");
    expect(await model.failure("mark_thread", { thread_id: "", is_read: true })).toStartWith("not_found: Cannot find");
    const wrong = await model.failure("list_threads", { limit: 51, unread: true });
    expect(wrong).toStartWith('validation_error: Cannot read arguments: "unread" is not an argument');
    expect(wrong).toContain('"inbox" is required; "limit" must be a whole number from 1 to 50');
    expect(await model.failure("send_email", { inbox: "ada", to: "x", subject: "s", body: "b" })).toMatch(
      /^validation_error: .+\nCorrect the arguments and call again\.$/s,
    );
    expect(String(await failureOf(model.client.callTool({ name: "delete_inbox", arguments: {} })))).toContain(
      "delete_inbox",
    );
  });
});
