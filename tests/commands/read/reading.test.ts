import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { runInboxd } from "../../support/inboxd.ts";
import { mailOf } from "../../support/mail.ts";
import { startWorld, type World, type WorldInbox } from "../../support/world.ts";

/** The commands that read, each a process that knows the server by its address and a key alone. */
let world: World;
let ada: WorldInbox;
beforeAll(async () => {
  world = await startWorld();
  ada = await world.inbox("ada");
  const order = { messageId: "order@example.com", from: "Jane Doe <jane@example.com>", subject: "Order 4711" };
  await world.deliver(mailOf({ ...order, text: "Where is it?\r\n\r\nJane" }), ada.address);
  await world.deliver(mailOf({ messageId: "2@example.com", from: "bob@example.com", subject: "Hi" }), ada.address);
});
afterAll(() => world[Symbol.asyncDispose]());

const env = () => ({ INBOXD_URL: world.service.apiUrl.origin, INBOXD_API_KEY: world.apiKey, TZ: "Asia/Tokyo" });
const run = (...words: string[]) => runInboxd(words, { env: env() });
const listed = async (...words: string[]) => JSON.parse((await run(...words, "--json")).stdout);

/** Jane's mail and its thread. */
async function order(): Promise<{ id: string; threadId: string }> {
  const { data } = await listed("messages", "ada", "--q", "order");
  return data[0];
}

test("a message is printed with its head and its text, or as the API has it", async () => {
  const { id, threadId } = await order();
  const { code, stdout, stderr } = await run("message", id);
  expect([code, stderr]).toEqual([0, ""]);
  expect(stdout.replace(/^(time +).*/, "$1")).toBe(
    [
      "time      ",
      "from      Jane Doe <jane@example.com>",
      `to        ${ada.address}`,
      "subject   Order 4711",
      "status    received",
      `id        ${id}`,
      `threadId  ${threadId}`,
      "",
      "Where is it?",
      "",
      "Jane",
      "",
    ].join("\n"),
  );
  expect(await listed("message", id)).toEqual((await world.api(`/v1/messages/${id}`)).body);
});

test("times are those of the reader's zone", async () => {
  const { id } = await order();
  const { createdAt } = await listed("message", id);
  const inTokyo = new Date(Date.parse(createdAt) + 9 * 3_600_000).toISOString().slice(11, 16);
  expect((await run("message", id)).stdout).toMatch(new RegExp(`^time +\\d+ \\w{3} \\d{4}, ${inTokyo}\n`));
});

test("a message shows its files, its copies, and why it failed", async () => {
  const message = {
    id: "msg_1",
    threadId: "thr_1",
    direction: "outbound",
    status: "failed",
    truncated: true,
    subject: "S",
    fromAddr: "ada@inbox.localhost",
    fromName: null,
    toAddr: "bob@example.com",
    cc: ["c@example.com", "d@e.com"],
    createdAt: "2026-03-12T13:05:00.000Z",
    bodyText: "\r\n \n  Begun\n\n",
    failure: { message: "No such user" },
    attachments: [
      { filename: "a.pdf", contentType: "application/pdf", sizeBytes: 48_213 },
      { filename: "b.bin", contentType: "application/octet-stream", sizeBytes: 2_500_000 },
    ],
  };
  const server = Bun.serve({ port: 0, fetch: () => Response.json(message) });
  const there = { ...env(), INBOXD_URL: server.url.origin };
  const { stdout } = await runInboxd(["message", "msg_1"], { env: there });
  await server.stop(true);
  expect(stdout).toContain("\nfrom      ada@inbox.localhost\n");
  expect(stdout).toContain("\ncc        c@example.com, d@e.com\n");
  expect(stdout).toContain("\nfiles     a.pdf (application/pdf, 48 kB), b.bin (application/octet-stream, 2.5 MB)\n");
  expect(stdout).toContain("\nstatus    failed: No such user\n");
  expect(stdout).toEndWith("\n\n  Begun\n[…]\n");
});

test("threads are listed with their participants, and filtered by read and unread", async () => {
  const { threadId } = await order();
  const { stdout } = await run("threads", ada.address);
  expect(stdout).toMatch(/^time +flag +mails +with +subject +id\n/);
  expect(stdout).toMatch(new RegExp(`^\\S+.* unread +1 +jane@example\\.com +Order 4711 +${threadId}$`, "m"));
  await world.api(`/v1/threads/${threadId}`, { method: "PATCH", body: { is_read: true } });
  const [read, unread] = await Promise.all([listed("threads", "ada", "--read"), listed("threads", "ada", "--unread")]);
  expect([read.total, read.data[0].id, unread.total, unread.data[0].subject]).toEqual([1, threadId, 1, "Hi"]);
  expect(await run("threads", "ada", "--read", "--unread")).toMatchObject({ code: 2, stdout: "" });
});

test("a conversation is printed oldest first, each text apart from the head that only inboxd writes", async () => {
  const box = await world.inbox("talking");
  await world.deliver("From: jane@example.com\r\nSubject: Order\r\n\r\nWhere is it?\r\n\r\nJane\r\n", box.address);
  const [thread] = (await listed("threads", "talking")).data;
  const words = ["--to", "jane@example.com", "--thread", thread.id, "--body", "On its way"];
  expect((await run("send", "--from", box.id, ...words)).code).toBe(0);
  const { stdout } = await run("thread", thread.id);
  const [head, came, text, more, went, answer] = stdout.split("\n\n");
  expect(head).toBe(`Order\n${thread.id}, read, messages: 2`);
  expect(came).toMatch(/^jane@example\.com → talking@inbox\.localhost, \d+ \w{3} \d{4}, \d\d:\d\d\nmsg_\w{26}$/);
  expect([text, more, answer]).toEqual(["    Where is it?", "    Jane", "    On its way"]);
  expect(went).toMatch(/^talking@inbox\.localhost → jane@example\.com, \d+ \w{3} \d{4}, \d\d:\d\d, sent\nmsg_\w{26}$/);
  expect(await listed("thread", thread.id)).toEqual((await world.api(`/v1/threads/${thread.id}/messages`)).body);
});

test("events are listed in order, and filtered by inbox", async () => {
  const other = await world.inbox("other");
  await world.deliver(mailOf({ messageId: "3@example.com", subject: "Third" }), other.address);
  const { body } = await world.api("/v1/events");
  const { stdout } = await run("events");
  expect(stdout).toMatch(
    /^time +event +from +subject +id\n\S+.* message\.received +jane@example\.com +Order 4711 +evt_/,
  );
  const ids = Array.from(stdout.matchAll(/(evt_\w{26})$/gm), ([, id]) => id);
  expect(ids).toEqual(body.data.map((event: { event_id: string }) => event.event_id));
  const ofOther = await listed("events", "--inbox", "other");
  expect(ofOther.data.map((event: { inbox_id: string }) => event.inbox_id)).toEqual([other.id]);
});

test("the newest events are listed, oldest first, of the types that are asked for", async () => {
  const { body } = await world.api("/v1/events?types=*");
  const newest = await listed("events", "--last", "3", "--types", "*");
  expect(newest).toEqual({ data: body.data.slice(-3), hasMore: false });
  const { body: created } = await world.api("/v1/events?types=inbox.created");
  expect((await listed("events", "--last", "100", "--types", "inbox.created")).data).toEqual(created.data);
  expect((await listed("events", "--limit", "1", "--types", "inbox.created")).data).toEqual(created.data.slice(0, 1));
  for (const words of [["0"], ["101"], ["x"], ["2", "--after", "start"], ["2", "--limit", "3"]])
    expect([words, await run("events", "--last", ...words)]).toEqual([
      words,
      expect.objectContaining({ code: 2, stdout: "" }),
    ]);
});

describe("An incomplete list prints on stderr the option that continues it", () => {
  const pages: readonly [words: string[], option: RegExp][] = [
    [["messages", "ada"], /^There is more: (--cursor) (\S+)\n$/],
    [["threads", "ada"], /^There is more: (--offset) (1)\n$/],
    [["inbox", "list"], /^There is more: (--offset) (1)\n$/],
    [["events"], /^There is more: (--after) (evt_\w{26})\n$/],
    [["events", "--types", "*"], /^There is more: (--after) (evt_\w{26})\n$/],
  ];

  test.each(pages)("%p", async (words, says) => {
    await world.inbox("another").catch(() => undefined);
    await world.api("/v1/events");
    const first = await run(...words, "--limit", "1");
    expect([first.code, first.stderr]).toEqual([0, expect.stringMatching(says)]);
    const [, option = "", value = ""] = says.exec(first.stderr) ?? [];
    const [all, second] = await Promise.all([run(...words), run(...words, "--limit", "1", option, value)]);
    const rows = (text: string) => text.split("\n").slice(1);
    expect(rows(second.stdout)[0]?.split(/ {2,}/).at(-1)).toBe(rows(all.stdout)[1]?.split(/ {2,}/).at(-1));
    expect(all.stderr).toBe("");
    expect((await run(...words, "--limit", "1", "--json")).stderr).toBe("");
  });
});

test("an inbox is found by username, address and id, and its deletion prints its address", async () => {
  const gone = await world.inbox("gone");
  const found = await Promise.all(
    ["gone", "Gone@inbox.localhost", gone.id].map((name) => listed("inbox", "get", name)),
  );
  expect(found).toEqual(Array(3).fill((await world.api(`/v1/inboxes/${gone.id}`)).body));
  expect((await run("inbox", "get", "gone")).stdout).toMatch(
    /^id +inb_\w+\naddress +gone@inbox\.localhost\nexternalId +-\n/,
  );
  const deleted = await run("inbox", "delete", "gone", "--json");
  expect([deleted.code, JSON.parse(deleted.stdout)]).toEqual([
    0,
    { id: gone.id, address: "gone@inbox.localhost", deleted: true },
  ]);
  const again = await Promise.all([run("inbox", "delete", "gone"), run("inbox", "delete", gone.id)]);
  expect(again.map(({ code, stdout, stderr }) => [code, stdout, stderr])).toEqual([
    [1, "", 'Cannot find inbox: the account has no inbox "gone"\n'],
    [1, "", "not_found: Cannot find inbox: no such inbox\n"],
  ]);
});

test.each([
  ["message", "msg_0"],
  ["thread", "thr_0"],
])("an unknown %s is one line on stderr", async (command, id) => {
  const { code, stdout, stderr } = await run(command, id);
  expect([code, stdout, stderr]).toEqual([1, "", `not_found: Cannot find ${command}: no such ${command}\n`]);
});

test("a table is whole if stdout is no screen", async () => {
  const inbox = await world.inbox("whole");
  const subject = "A subject that no screen has room for, ".repeat(5).trim();
  await world.deliver(mailOf({ subject }), inbox.address);
  const { stdout } = await run("messages", inbox.address);
  expect(stdout).toContain(`  ${subject}  msg_`);
});
