import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inboxdHere, runInboxd } from "../support/inboxd.ts";
import { startWorld, type World } from "../support/world.ts";

const directory = mkdtempSync(join(tmpdir(), "ibx-send-"));
let world: World;
beforeAll(async () => {
  world = await startWorld();
});
afterAll(async () => {
  await world[Symbol.asyncDispose]();
  rmSync(directory, { recursive: true });
});

const env = () => ({ INBOXD_URL: world.service.apiUrl.origin, INBOXD_API_KEY: world.apiKey });
const run = (...words: string[]) => runInboxd(["send", ...words], { env: env(), cwd: directory });
const toBob = ["--to", "bob@example.com", "--subject", "Hi"];

/** The message that a send with `--json` has made. */
async function made(...words: string[]) {
  const { code, stdout, stderr } = await run(...words, "--json");
  expect([code, stderr]).toEqual([0, ""]);
  const sent = JSON.parse(stdout);
  return { sent, message: (await world.api(`/v1/messages/${sent.messageId}`)).body };
}

test("a repeated send by address, with its body from stdin, sends one email and reports the replay", async () => {
  await world.inbox("sender");
  const words = ["send", "--from", "sender", ...toBob, "--body", "-", "--key", "once"];
  const send = async (...more: string[]) => {
    const child = Bun.spawn([...inboxdHere, ...words, ...more], {
      env: { PATH: process.env.PATH, ...env() },
      stdin: new Blob(["Hello Bob\n"]),
      stdout: "pipe",
    });
    return new Response(child.stdout).text();
  };
  const first = JSON.parse(await send("--json"));
  expect(first).toMatchObject({ status: "sent", replayed: false, idempotencyKey: "once" });
  expect(JSON.parse(await send("--json"))).toMatchObject({ messageId: first.messageId, replayed: true });
  expect(await send()).toMatch(/^replayed +yes: an earlier call with this key sent it, this one sent nothing$/m);
});

test("a reply if unanswered is sent once, and the second sender reads which mail has answered", async () => {
  const inbox = await world.inbox("shared");
  await world.deliver("From: jane@example.com\r\nSubject: Order\r\n\r\nWhere is it?\r\n", inbox.address);
  const [{ id, lastMessageId }] = (await world.api(`/v1/inboxes/${inbox.id}/threads`)).body.data;
  const words = ["--from", "shared", "--thread", id, "--read-up-to", lastMessageId, "--if-unanswered"];
  const { sent } = await made(...words, "--body", "On its way");
  const second = await run(...words, "--body", "Tomorrow");
  expect([second.code, second.stdout]).toEqual([1, ""]);
  expect(second.stderr).toStartWith("answered_meanwhile: ");
  expect(second.stderr).toContain(sent.messageId);
  const seen = ["--from", "shared", "--thread", id, "--read-up-to", sent.messageId, "--if-unanswered"];
  await made(...seen, "--body", "And tomorrow there");
});

test("a reply goes into its thread, with or without a quote", async () => {
  const inbox = await world.inbox("replying");
  await world.deliver("From: jane@example.com\r\nSubject: Order\r\n\r\nWhere is it?\r\n", inbox.address);
  const { body } = await world.api(`/v1/inboxes/${inbox.id}/threads`);
  const [{ threadId }] = body.data;
  const words = ["--from", inbox.id, "--to", "jane@example.com", "--thread", threadId, "--body", "On its way"];
  const bare = await made(...words, "--no-quote");
  expect(bare.sent).toMatchObject({ threadId, status: "sent" });
  expect(bare.message.bodyText).toBe("On its way");
  expect((await made(...words)).message.bodyText).toContain("> ");
});

test("a mail is marked as written by a program, and goes to a robot with --ignore-loop", async () => {
  const inbox = await world.inbox("robotic");
  const robot = (id: string) =>
    `From: robot@example.com\r\nAuto-Submitted: auto-replied\r\nSubject: Re: Hi\r\nIn-Reply-To: ${id}\r\n\r\nAway\r\n`;
  const words = ["--from", inbox.id, "--to", "robot@example.com", "--body", "Hi"];
  const { sent, message } = await made(...words, "--subject", "Hi", "--auto-submitted", "auto-generated");
  const raw = await (await world.fetch(`/v1/messages/${sent.messageId}/raw`)).text();
  expect(raw).toContain("\r\nAuto-Submitted: auto-generated\r\n");
  for (let echo = 1; echo <= 3; echo += 1)
    await world.deliver(`X-Echo: ${echo}\r\n${robot(message.rfcMessageId)}`, inbox.address);
  const reply = [...words, "--thread", sent.threadId];
  const refused = await run(...reply);
  expect(refused.code).toBe(1);
  expect(refused.stderr).toContain("automatic answers");
  expect((await made(...reply, "--ignore-loop")).sent.status).toBe("sent");
});

test("a body comes from a file, HTML from an option, and replies go to another address", async () => {
  const { id } = await world.inbox("writer");
  writeFileSync(join(directory, "body.txt"), "From a file");
  const both = ["--body-file", "body.txt", "--html", "<b>From the line</b>"];
  const { message } = await made("--from", id, ...toBob, ...both, "--reply-to", "team@example.com");
  expect(message).toMatchObject({ bodyText: "From a file", replyTo: "team@example.com" });
  expect(message.bodyHtml).toContain("<b>From the line</b>");
});

test("HTML alone is HTML whatever tags it has, and gets a text", async () => {
  const { id } = await world.inbox("designer");
  const { message } = await made("--from", id, ...toBob, "--html", "<section>Hello</section>");
  expect(message.bodyHtml).toContain("<section>Hello</section>");
  expect(message.bodyText.trim()).toBe("Hello");
});

test("a send need not wait for its first attempt", async () => {
  const asked: (string | null)[] = [];
  const server = Bun.serve({
    port: 0,
    fetch(request) {
      asked.push(request.headers.get("prefer"));
      return Response.json({ messageId: "msg_1", status: "pending" });
    },
  });
  const there = { INBOXD_URL: server.url.origin, INBOXD_API_KEY: "k" };
  const words = ["send", "--from", "inb_01jpw7z1x2e9a8r5k3m0t6vqhd", ...toBob, "--body", "Hi"];
  for (const more of [[], ["--async"]]) await runInboxd([...words, ...more], { env: there });
  expect(asked).toEqual([null, "respond-async"]);
  await server.stop(true);
});

test("a send that failed ends with code 1 and the reason", async () => {
  const { id } = await world.inbox("hopeful");
  const words = ["--from", id, "--to", "nobody@inbox.localhost", "--subject", "Hi", "--body", "Anybody?"];
  const person = await run(...words);
  expect([person.code, person.stderr]).toEqual([1, ""]);
  expect(person.stdout).toMatch(/^status +failed$/m);
  expect(person.stdout).toMatch(/^failure +550 5\.1\.1 No such inbox here$/m);
  const script = await run(...words, "--json");
  expect(JSON.parse(script.stdout)).toMatchObject({ status: "failed", failure: { code: 550, enhancedCode: "5.1.1" } });
});

test("a mail goes to several, with files beside it and in its HTML, and is the same mail when it is sent again", async () => {
  const { id } = await world.inbox("packer");
  writeFileSync(join(directory, "logo.png"), "PNG");
  writeFileSync(join(directory, "list.csv"), "a,b\n");
  const to = [
    "--to",
    "bob@example.com",
    "--to",
    "eve@example.com",
    "--cc",
    "joe@example.com",
    "--bcc",
    "me@example.com",
  ];
  const files = ["--inline", "logo=logo.png", "--attach", "list.csv", "--attach", "logo.png"];
  const body = ["--subject", "Hi", "--html", '<p>Hi<img src="cid:logo"></p>', "--from-name", "The Packer"];
  const words = ["--from", id, ...to, ...files, ...body, "--key", "packed"];
  const { sent, message } = await made(...words);
  expect(message).toMatchObject({ to: ["bob@example.com", "eve@example.com"], cc: ["joe@example.com"] });
  expect(message).toMatchObject({ bcc: ["me@example.com"], fromName: "The Packer" });
  expect(message.attachments).toMatchObject([
    { contentType: "image/png", sizeBytes: 3 },
    { filename: "list.csv", contentType: "text/csv", sizeBytes: 4 },
    { contentType: "image/png", sizeBytes: 3 },
  ]);
  expect((await made(...words)).sent).toMatchObject({ messageId: sent.messageId, replayed: true });
});

test("a reply to all in Markdown goes to all but the inbox, and a forward needs no words", async () => {
  const inbox = await world.inbox("answering");
  const head = `From: jane@example.com\r\nTo: ${inbox.address}, joe@example.com\r\nCc: eve@example.com\r\n`;
  await world.deliver(`${head}Subject: Plans\r\n\r\nWhat now?\r\n`, inbox.address);
  const [asked] = (await world.api(`/v1/inboxes/${inbox.id}/messages`)).body.data;
  const words = ["--reply-to-message", asked.id, "--reply-all", "--markdown", "--body", "**Wait**", "--no-quote"];
  const { sent, message } = await made("--from", inbox.id, ...words);
  expect(sent.threadId).toBe(asked.threadId);
  expect(message).toMatchObject({ to: ["jane@example.com", "joe@example.com"], cc: ["eve@example.com"] });
  expect([message.bodyText, message.bodyHtml]).toEqual(["**Wait**", expect.stringContaining("<strong>Wait</strong>")]);
  const forward = ["--to", "zoe@example.com", "--forward", asked.id, "--forward-as", "attachment"];
  const handedOn = (await made("--from", inbox.id, ...forward)).message;
  expect(handedOn).toMatchObject({ subject: "Fwd: Plans", forwardOf: asked.id });
  expect(handedOn.attachments).toMatchObject([{ filename: "Plans.eml", contentType: "message/rfc822" }]);
});

const wrong: readonly [what: string, words: string[], code: number, says: RegExp][] = [
  ["no body", [], 2, /^Cannot send: there is no body/],
  ["two bodies", ["--body", "a", "--body-file", "b"], 2, /cannot be used with option '--body <text>'/],
  ["no quote of nothing", ["--body", "a", "--no-quote"], 2, /^Cannot send: --no-quote is for replies/],
  ["a file that is not there", ["--body-file", "none.txt"], 1, /^Cannot read none\.txt: there is no such file/],
  [
    "an attachment that is not there",
    ["--body", "a", "--attach", "none.pdf"],
    1,
    /^Cannot read none\.pdf: there is no such file/,
  ],
  ["an image without a name", ["--body", "a", "--inline", "logo.png"], 2, /^Cannot send: --inline takes ID=FILE/],
  ["HTML beside Markdown", ["--body", "a", "--markdown", "--html", "b"], 2, /cannot be used with option/],
  ["an address that is none", ["--body", "a", "--reply-to", "x"], 2, /^validation_error: /],
];

test.each(wrong)("%s is refused", async (_what, words, code, says) => {
  await world.api("/v1/inboxes", { method: "POST", body: { username: "careless" } });
  const finished = await run("--from", "careless", ...toBob, ...words);
  expect([finished.code, finished.stdout]).toEqual([code, ""]);
  expect(finished.stderr).toMatch(says);
});

test("all faults of a refused request are printed", async () => {
  const inbox = await world.inbox("faulty");
  const { code, stdout, stderr } = await run("--from", inbox.id, "--body", "Hi", "--reply-to", "x");
  expect([code, stdout]).toEqual([2, ""]);
  const { errors } = (
    await world.api(`/v1/inboxes/${inbox.id}/send`, {
      method: "POST",
      body: { body: "Hi", replyTo: "x" },
      headers: { "Idempotency-Key": "faulty" },
    })
  ).body;
  expect(errors).toHaveLength(3);
  const [first, ...others] = errors.map(
    ({ pointer, detail }: Record<string, string>) => `"${pointer?.slice(2)}" ${detail}`,
  );
  expect(stderr).toBe(
    `validation_error: Cannot send email: ${first}, and 2 more faults:\n${others.map((each: string) => `  ${each}\n`).join("")}`,
  );
});

test("--unsubscribe asks for the link of one click, which this service at http cannot give", async () => {
  const { id } = await world.inbox("newsletter");
  const refused = await run("--from", id, ...toBob, "--body", "News", "--unsubscribe");
  expect([refused.code, refused.stdout]).toEqual([1, ""]);
  expect(refused.stderr).toStartWith("unsubscribe_unavailable: ");
});
