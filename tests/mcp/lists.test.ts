import { afterAll, beforeAll, expect, test } from "bun:test";
import { authenticationOf, takeIn } from "../support/arrivals.ts";
import { type Model, overHttp } from "../support/mcp.ts";
import { startWorld, type World, type WorldInbox } from "../support/world.ts";

let world: World;
let model: Model;
let inbox: WorldInbox;
beforeAll(async () => {
  world = await startWorld({ env: { SEND_WAIT_MS: "0" } });
  model = await overHttp(world);
  inbox = await world.inbox("ada");
});
afterAll(async () => {
  await model?.[Symbol.asyncDispose]();
  await world?.[Symbol.asyncDispose]();
});

/** Delivers a mail of its own thread; returns its message. */
async function received(id: string, from: string, headers = "", body = "Hello") {
  const raw = `From: ${from}\r\nSubject: ${id}\r\nMessage-ID: <${id}@example.com>\r\n${headers}\r\n${body}\r\n`;
  expect(await world.deliver(raw, inbox.address)).toStartWith("250");
  return (await world.api(`/v1/inboxes/${inbox.id}/messages?limit=1`)).body.data[0];
}

test("the list of threads says who wrote last, whether a program did, and whether there are files", async () => {
  const parts = "--b\r\n\r\nSee\r\n--b\r\nContent-Disposition: attachment; filename=a.txt\r\n\r\na\r\n--b--";
  await received("plain", "Jane Doe <jane@example.com>");
  await received("robot", "robot@example.com", "Auto-Submitted: auto-replied\r\n");
  await received(
    "files",
    '"Eve\u200b" <eve@example.com>',
    "MIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=b\r\n",
    parts,
  );
  const answered = await received("answered", "Bob <bob@example.com>");
  await model.call("reply_to_thread", { thread_id: answered.threadId, body: "Thanks" });
  const { threads } = await model.call("list_threads", { inbox: "ada", unread_only: false });
  const shown = threads.map(({ subject, lastSender, automated, hasAttachments }: Record<string, unknown>) => [
    subject,
    lastSender,
    automated,
    hasAttachments,
  ]);
  expect(shown).toEqual([
    ["answered", { address: inbox.address, name: null }, null, false],
    ["files", { address: "eve@example.com", name: "Eve" }, null, true],
    ["robot", { address: "robot@example.com", name: null }, "auto_reply", false],
    ["plain", { address: "jane@example.com", name: "Jane Doe" }, null, false],
  ]);
});

test("the verdict about a sender stands outside of the text that the sender wrote", async () => {
  const box = await world.inbox("proven");
  for (const [subject, verdict] of [
    ["proven", "pass"],
    ["forged", "fail"],
  ] as const) {
    await takeIn(world.service.deps, box, [{ subject }], authenticationOf({ verdict }));
  }
  await takeIn(world.service.deps, box, [{ subject: "unchecked" }]);
  const { threads } = await model.call("list_threads", { inbox: "proven" });
  const shown = new Map<unknown, unknown>();
  for (const { id, subject, verdict } of threads) {
    const { messages } = await model.call("read_thread", { thread_id: id });
    const { message } = await model.call("read_message", { message_id: messages[0].id });
    expect([messages[0].verdict, message.verdict]).toEqual([verdict, verdict]);
    shown.set(subject, verdict);
  }
  expect(shown).toEqual(
    new Map([
      ["proven", "pass"],
      ["forged", "fail"],
      ["unchecked", null],
    ]),
  );
});

test("threads of people alone are listed page by page, with the place of the next page", async () => {
  const box = await world.inbox("people");
  for (const [number, automated] of [true, false, true, true, false].entries()) {
    const sign = automated ? "Auto-Submitted: auto-generated\r\n" : "";
    await world.deliver(
      `From: x@example.com\r\nSubject: ${number}\r\nMessage-ID: <p${number}@example.com>\r\n${sign}\r\nHi\r\n`,
      box.address,
    );
  }
  const pages = [];
  for (let offset: number | undefined = 0; offset !== undefined; ) {
    const page = await model.call("list_threads", { inbox: "people", people_only: true, limit: 2, offset });
    pages.push(page.threads.map(({ subject }: { subject: string }) => subject));
    offset = page.next_offset;
    expect(page.total).toBe(5);
  }
  expect(pages).toEqual([["4"], ["1"], []]);
  const all = await model.call("list_threads", { inbox: "people", limit: 2 });
  expect([all.threads.length, all.next_offset]).toEqual([2, undefined]);
});

test("threads are archived and labelled, listed by folder and label, and never trashed", async () => {
  const box = await world.inbox("filing");
  await world.deliver("From: x@example.com\r\nMessage-ID: <f1@example.com>\r\nSubject: 1\r\n\r\nHi\r\n", box.address);
  await world.deliver("From: x@example.com\r\nMessage-ID: <f2@example.com>\r\nSubject: 2\r\n\r\nHi\r\n", box.address);
  const { threads } = await model.call("list_threads", { inbox: "filing" });
  const [two, one] = threads;
  const archived = {
    thread_id: one.id,
    folder: "archive",
    add_labels: ["Orders"],
    up_to_message_id: one.lastMessageId,
  };
  expect(await model.call("mark_thread", archived)).toEqual({ isRead: true, folder: "archive", labels: ["orders"] });
  await model.call("mark_threads", { thread_ids: [two.id], add_labels: ["orders"] });
  for (const [asked, subjects] of [
    [{}, ["2"]],
    [{ folder: "archive" }, ["1"]],
    [{ folder: "archive", unread_only: true }, []],
    [{ label: "orders" }, ["2", "1"]],
    [{ label: "orders", unread_only: true }, ["2"]],
  ] as const) {
    const page = await model.call("list_threads", { inbox: "filing", ...asked });
    expect(page.threads.map(({ subject }: { subject: string }) => subject)).toEqual([...subjects]);
  }
  expect(await model.failure("mark_thread", { thread_id: two.id, folder: "trash" })).toStartWith("validation_error");
  expect(await model.failure("mark_thread", { thread_id: two.id })).toStartWith("validation_error");
});

test("the answers that are not sent yet are counted", async () => {
  const { threadId } = await received("later", "jane@example.com");
  const sendAt = new Date(world.clock.now().getTime() + 3_600_000).toISOString();
  await model.call("reply_to_thread", { thread_id: threadId, body: "Later", send_at: sendAt });
  const { threads } = await model.call("list_threads", { inbox: "ada", unread_only: false, limit: 50 });
  const counts = threads.map(({ id, draftCount }: { id: string; draftCount: number }) => [id, draftCount]);
  expect(counts).toContainEqual([threadId, 1]);
  expect(counts.filter(([, count]: [string, number]) => count !== 0)).toHaveLength(1);
});

test("fifty threads are marked by one call, each that cannot be is named, and 51 are refused", async () => {
  const one = await received("one", "jane@example.com");
  const two = await received("two", "jane@example.com");
  const other = await world.inbox("other");
  await world.deliver("From: x@example.com\r\nMessage-ID: <o@example.com>\r\n\r\nHi\r\n", other.address);
  const [foreign] = (await world.api(`/v1/inboxes/${other.id}/messages`)).body.data;
  const gone = Array.from({ length: 46 }, (_, index) => `thr_${String(index).padStart(26, "0")}`);
  const ids = [one.threadId, "..", ...gone, two.threadId, foreign.threadId];
  expect(ids).toHaveLength(50);
  await using fenced = await overHttp(world, { query: "?inbox=ada" });
  const { threads } = await fenced.call("mark_threads", { thread_ids: ids, is_read: true });
  const failed = (id: string) => ({ id, code: "not_found" });
  expect(threads).toEqual([
    { id: one.threadId, isRead: true, folder: "inbox", labels: [] },
    failed(".."),
    ...gone.map(failed),
    { id: two.threadId, isRead: true, folder: "inbox", labels: [] },
    failed(foreign.threadId),
  ]);
  const isRead = async (inboxId: string) =>
    (await world.api(`/v1/inboxes/${inboxId}/threads?is_read=false`)).body.data.map(({ id }: { id: string }) => id);
  expect(await isRead(inbox.id)).not.toContain(one.threadId);
  expect(await isRead(other.id)).toEqual([foreign.threadId]);
  const many = await model.failure("mark_threads", { thread_ids: [...ids, "thr_x"], is_read: true });
  expect(many).toStartWith('validation_error: Cannot read arguments: "thread_ids" must be a list of 1 to 50 strings');
});

test("a repeated call gets the inbox that the first one made, and a call without a name another one", async () => {
  const made = await model.call("create_inbox", { username: "bob", external_id: "user-7" });
  expect(await model.call("create_inbox", { username: "bob", external_id: "user-7" })).toEqual(made);
  expect(await model.failure("create_inbox", { username: "bob" })).toStartWith("address_taken:");
  expect((await model.call("create_inbox")).id).not.toBe((await model.call("create_inbox")).id);
});

test("numbers and booleans may stand in strings, and what is neither is refused as before", async () => {
  const { threads } = await model.call("list_threads", { inbox: "ada", limit: "1", offset: "0", unread_only: "false" });
  expect(threads).toHaveLength(1);
  for (const limit of ["1.5", "1e1", "", " 1", "0x1", "51", "true"]) {
    const failure = await model.failure("list_threads", { inbox: "ada", limit });
    expect(failure).toContain('"limit" must be a whole number from 1 to 50');
  }
  expect(await model.failure("list_threads", { inbox: "ada", unread_only: "yes" })).toContain("must be true or false");
});
