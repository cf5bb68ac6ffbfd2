import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { authenticationOf, takeIn } from "../../support/arrivals.ts";
import { runInboxd } from "../../support/inboxd.ts";
import { mailOf } from "../../support/mail.ts";
import { send } from "../../support/sends.ts";
import { untilAnswered } from "../../support/until.ts";
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

test("the history of a message is printed as a table, or as the API has it", async () => {
  const [{ id }] = (await listed("messages", "ada", "--q", "order")).data;
  const { code, stdout } = await run("message", id, "--history");
  expect(code).toBe(0);
  expect(stdout).toMatch(/^time +what +whom +result\n/);
  expect(stdout).toMatch(new RegExp(`received +${ada.address} +from jane@example\\.com\n`));
  expect(await listed("message", id, "--history")).toEqual((await world.api(`/v1/messages/${id}/history`)).body);

  const self = await world.inbox();
  const { body } = await send(world, self.id, { to: self.address }, { waits: true });
  const { stdout: steps } = await run("message", body.messageId, "--history");
  expect(steps).toMatch(/accepted/);
  expect(steps).toMatch(new RegExp(`attempted +${self.address} +sent: 250 2\\.0\\.0 Stored\n`));
  const sendAt = new Date(world.clock.now().getTime() + 3_600_000).toISOString();
  const { body: later } = await send(world, self.id, { to: self.address, sendAt });
  expect((await run("message", later.messageId, "--history")).stdout).toMatch(
    /scheduled +- +for \d+ \w{3} \d{4}, \d\d:\d\d\n/,
  );
  expect(await run("message", id, "--history", "--raw")).toMatchObject({ code: 2, stdout: "" });
});

test("a checked message shows the verdict about its sender, alone, in a list, and in its history", async () => {
  const box = await world.inbox("checked");
  await takeIn(
    world.service.deps,
    box,
    [{ subject: "Forged" }],
    authenticationOf({ verdict: "fail", domain: "bank.example" }),
  );
  const { data } = await listed("messages", "checked");
  const { stdout } = await run("message", data[0].id);
  expect(stdout).toContain("\nverdict   fail: bank.example does not vouch for it\n");
  expect((await run("messages", "checked")).stdout).toMatch(/verdict +subject[\s\S]* fail +Forged /);
  expect((await run("message", data[0].id, "--history")).stdout).toContain(
    "from jane@example.com by 192.0.2.9, verdict fail\n",
  );
  expect((await run("messages", "ada")).stdout).not.toContain("verdict");
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
    recipients: [],
    delivery: null,
    authentication: null,
    createdAt: "2026-03-12T13:05:00.000Z",
    bodyText: "\r\n \n  Begun\n\n",
    failure: { code: null, enhancedCode: null, message: "No such user" },
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

test("a mail that was sent shows what became of it: bounced, delayed, complained, and each of its copies", async () => {
  const box = await world.inbox("statuses");
  async function sent(...to: string[]): Promise<{ id: string; threadId: string }> {
    const { body } = await send(
      world,
      box.id,
      { to: to.length === 1 ? to[0] : to, subject: to.join() },
      { waits: true },
    );
    const path = `/v1/messages/${body.messageId}/reports`;
    await untilAnswered(async () => ((await world.api(path)).body.data.length === to.length ? true : undefined));
    return { id: body.messageId, threadId: body.threadId };
  }
  const bounced = await sent("bounce@sim.invalid");
  const several = await sent("deliver@sim.invalid", "bounce+2@sim.invalid", "delay@sim.invalid");
  const complained = await sent("complain@sim.invalid");
  const failed = (await send(world, box.id, { to: "nobody@inbox.localhost" }, { waits: true })).body;

  const { stdout } = await run("messages", "statuses");
  const statuses = stdout.split("\n").map((line) => line.split(/ {2,}/)[1]);
  expect(statuses).toEqual(["status", "failed", "complained", "bounced 1 of 3", "bounced", undefined]);
  expect((await run("message", bounced.id)).stdout).toMatch(/^status +bounced: 550 5\.1\.1 .*[a-z]/m);
  expect((await run("message", complained.id)).stdout).toMatch(/^status +complained: feedback-type: abuse$/m);
  expect((await run("message", failed.messageId)).stdout).toMatch(/^status +failed: 550 5\.1\.1 /m);
  expect((await run("thread", bounced.threadId)).stdout).toContain(", bounced\n");
  const whole = (await run("message", several.id)).stdout;
  expect(whole).toMatch(/^status +bounced 1 of 3: /m);
  const [, copies = ""] = whole.split("\n\n");
  expect(copies.split("\n").map((line) => line.split(/ {2,}/).slice(0, 3))).toEqual([
    ["field", "recipient", "status"],
    ["to", "deliver@sim.invalid", "delivered"],
    ["to", "bounce+2@sim.invalid", "bounced"],
    ["to", "delay@sim.invalid", "delayed"],
  ]);
  expect(copies).toMatch(/^to +bounce\+2@sim\.invalid +bounced +550 5\.1\.1 /m);
});

test("messages are filtered by sender, recipient, day and direction", async () => {
  const box = await world.inbox("filters");
  for (const from of ["Jane Doe <jane@example.com>", "bob@example.com"])
    await world.deliver(mailOf({ messageId: `${from.length}@filters.example`, from, to: box.address }), box.address);
  await send(world, box.id, { to: "carol@example.com" });
  const found = async (...words: string[]) =>
    (await listed("messages", "filters", ...words)).data.map((each: { fromAddr: string }) => each.fromAddr);
  expect(await found("--from", "doe")).toEqual(["jane@example.com"]);
  expect(await found("--to", "carol@example.com")).toEqual([box.address]);
  expect(await found("--direction", "inbound")).toEqual(["bob@example.com", "jane@example.com"]);
  expect(await found("--direction", "outbound", "--since", "2026-03-21")).toEqual([box.address]);
  expect(await found("--since", "2026-03-22")).toEqual([]);
  expect(await run("messages", "filters", "--since", "yesterday")).toMatchObject({ code: 2, stdout: "" });
  expect(await run("messages", "filters", "--direction", "up")).toMatchObject({ code: 2, stdout: "" });
});

test("the mail itself, its head, its HTML and its files come out byte by byte", async () => {
  const box = await world.inbox("parts");
  const file = new Uint8Array(300_000).map((_, index) => index % 251);
  const raw = [
    "From: jane@example.com",
    "Subject: =?utf-8?q?Gr=C3=BC=C3=9Fe?=",
    "X-Odd:  two\r\n  lines",
    "MIME-Version: 1.0",
    "Content-Type: multipart/mixed; boundary=b",
    "",
    "--b",
    "Content-Type: text/html",
    "",
    "<p>Hello <b>Ada</b></p><script>evil()</script>",
    "--b",
    "Content-Type: application/octet-stream",
    'Content-Disposition: attachment; filename="all bytes.bin"',
    "Content-Transfer-Encoding: base64",
    "",
    ...(Buffer.from(file)
      .toString("base64")
      .match(/.{1,76}/g) ?? []),
    "--b--",
    "",
  ].join("\r\n");
  expect(await world.deliver(raw, box.address)).toStartWith("250");
  const [{ id }] = (await listed("messages", "parts")).data;
  expect((await run("message", id, "--raw")).stdout).toBe(raw);
  expect((await run("message", id, "--headers")).stdout).toBe(raw.slice(0, raw.indexOf("\r\n\r\n") + 2));
  const html = (await run("message", id, "--html")).stdout;
  expect(html).toContain("<p>Hello <b>Ada</b></p>");
  expect(html).not.toContain("evil");
  expect(await run("message", id, "--raw", "--json")).toMatchObject({ code: 2, stdout: "" });

  const cwd = mkdtempSync(join(tmpdir(), "ibx-attachment-"));
  try {
    const inCwd = (...words: string[]) => runInboxd(["attachment", id, "all bytes.bin", ...words], { cwd, env: env() });
    const named = await inCwd();
    expect([named.code, named.stdout]).toEqual([0, "file       all bytes.bin\nsizeBytes  300000\n"]);
    expect(Bun.deepEquals(readFileSync(join(cwd, "all bytes.bin")), Buffer.from(file))).toBe(true);
    // A file is never overwritten.
    expect(await inCwd()).toMatchObject({
      code: 1,
      stdout: "",
      stderr: expect.stringContaining("Cannot write all bytes.bin"),
    });
    expect((await inCwd("other.bin")).code).toBe(0);
    expect((await inCwd("-")).stdout).toBe(new TextDecoder().decode(file));
    expect(readdirSync(cwd).toSorted()).toEqual(["all bytes.bin", "other.bin"]);
    expect((await runInboxd(["attachment", id, "none.txt"], { cwd, env: env() })).code).not.toBe(0);
    expect(await inCwd("--text")).toMatchObject({
      code: 1,
      stdout: "",
      stderr: expect.stringContaining("Cannot read attachment: it is of no kind whose text can be read"),
    });
    expect((await inCwd("other.bin", "--text")).code).toBe(2);
  } finally {
    rmSync(cwd, { recursive: true });
  }
});

test("threads are listed with their participants, and filtered by read and unread", async () => {
  const { threadId } = await order();
  const { stdout } = await run("threads", "list", ada.address);
  expect(stdout).toMatch(/^time +flag +mails +with +subject +id\n/);
  expect(stdout).toMatch(new RegExp(`^\\S+.* unread +1 +jane@example\\.com +Order 4711 +${threadId}$`, "m"));
  await world.api(`/v1/threads/${threadId}`, { method: "PATCH", body: { is_read: true } });
  const [read, unread] = await Promise.all([
    listed("threads", "list", "ada", "--read"),
    listed("threads", "list", "ada", "--unread"),
  ]);
  expect([read.total, read.data[0].id, unread.total, unread.data[0].subject]).toEqual([1, threadId, 1, "Hi"]);
  expect(await run("threads", "list", "ada", "--read", "--unread")).toMatchObject({ code: 2, stdout: "" });
});

test("threads are filed and labelled, and listed by folder and label", async () => {
  const box = await world.inbox("filed");
  for (const name of ["one", "two"])
    await world.deliver(mailOf({ subject: name, messageId: `${name}@f.example` }), box.address);
  const [two, one] = (await listed("threads", "list", "filed")).data;
  const labelled = await run("threads", "label", one.id, "Orders", "vip");
  expect(labelled.stdout).toMatch(new RegExp(`^folder +flag +labels +id\ninbox +unread +orders, vip +${one.id}\n$`));
  expect((await listed("threads", "label", two.id, "orders")).data[0].labels).toEqual(["orders"]);
  expect((await run("threads", "labels", "filed")).stdout).toMatch(
    /^label +threads +unread\norders +2 +2\nvip +1 +1\n$/,
  );
  expect((await listed("threads", "label", one.id, "vip", "--remove")).data[0].labels).toEqual(["orders"]);
  await world.deliver(mailOf({ subject: "Re: one", inReplyTo: "one@f.example" }), box.address);
  const kept = await run("threads", "archive", one.id, "--up-to", one.lastMessageId);
  expect(kept.stdout).toMatch(/^folder .*\ninbox +unread +orders +thr_\w+ +newer mail has arrived: read it first\n$/);
  expect((await run("threads", "archive", one.id, two.id, "--up-to", one.lastMessageId)).code).toBe(2);
  expect((await run("threads", "archive", one.id, two.id)).stdout).toMatch(/\narchive +read .*\narchive +read /);
  expect((await run("threads", "list", "filed", "--folder", "archive")).stdout).toMatch(
    / read +archive +1 .* two +orders +thr_/,
  );
  expect((await listed("threads", "list", "filed", "--label", "ORDERS")).total).toBe(2);
  expect((await listed("threads", "trash", one.id)).data[0].folder).toBe("trash");
  expect((await listed("threads", "restore", one.id)).data[0]).toMatchObject({ folder: "inbox", isRead: true });
});

test("a conversation is printed oldest first, each text apart from the head that only inboxd writes", async () => {
  const box = await world.inbox("talking");
  await world.deliver("From: jane@example.com\r\nSubject: Order\r\n\r\nWhere is it?\r\n\r\nJane\r\n", box.address);
  const [thread] = (await listed("threads", "list", "talking")).data;
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
    [["threads", "list", "ada"], /^There is more: (--cursor) (\S+)\n$/],
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
