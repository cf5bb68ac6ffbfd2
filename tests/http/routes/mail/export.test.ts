import { afterAll, beforeAll, expect, test } from "bun:test";
import { mailOf } from "../../../support/mail.ts";
import { newAccount, newInbox, send } from "../../../support/sends.ts";
import { startWorld, type World } from "../../../support/world.ts";

let world: World;
let inboxId: string;
/** The raw mails of the inbox, the oldest first. */
let raws: Buffer[];
beforeAll(async () => {
  world = await startWorld();
  inboxId = await newInbox(world, world.apiKey, "exported");
  const received = [
    mailOf({ subject: "One", text: "From here on\r\n>From there\r\nFrom\r\n" }),
    mailOf({
      subject: "Large",
      headers: ["Message-ID: <large@x.example>"],
      text: `${"x".repeat(76)}\r\n`.repeat(20_000),
    }),
  ];
  for (const raw of received) await world.deliver(raw, "exported@inbox.localhost");
  const content = Buffer.from("From a file\n".repeat(10_000)).toString("base64");
  const file = { filename: "a.txt", content, contentType: "text/plain" };
  const { body } = await send(world, inboxId, { body: "From us\n\nFrom me", attachments: [file] }, { waits: true });
  const sent = Buffer.from(await (await get(`/v1/messages/${body.messageId}/raw`)).arrayBuffer());
  raws = [...received.map((raw) => Buffer.from(raw)), sent];
}, 60_000);
afterAll(() => world[Symbol.asyncDispose]());

const get = (path: string, apiKey = world.apiKey, method = "GET") => world.fetch(path, { method, apiKey });

test("as JSON lines it has each thread before its messages, the raw mails, and an end that shows that it is whole", async () => {
  const answer = await get(`/v1/inboxes/${inboxId}/export`);
  expect(answer.headers.get("content-type")).toBe("application/x-ndjson");
  const text = await answer.text();
  const lines = text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
  expect(lines.map((line) => Object.keys(line)[0])).toEqual([
    "inboxd",
    "thread",
    "message",
    "thread",
    "message",
    "thread",
    "message",
    "end",
  ]);
  const messages = lines.flatMap(({ message }) => message ?? []);
  expect(messages.map(({ raw }) => raw)).toEqual(raws.map((raw) => raw.toString("base64")));
  expect(messages.map(({ attachments }) => attachments.map(({ filename }: { filename: string }) => filename))).toEqual([
    [],
    [],
    ["a.txt"],
  ]);
  const ended = text.lastIndexOf("\n", text.length - 2) + 1;
  expect(lines.at(-1)).toEqual({
    end: true,
    threads: 3,
    messages: 3,
    sha256: new Bun.CryptoHasher("sha256").update(text.slice(0, ended)).digest("hex"),
  });
});

test.skipIf(Bun.which("python3") === null)("as mbox it is read by another program, byte by byte", async () => {
  const mbox = await (await get(`/v1/inboxes/${inboxId}/export?format=mbox`)).bytes();
  const script = `
import mailbox, sys, tempfile, base64, re
with tempfile.NamedTemporaryFile() as file:
  file.write(sys.stdin.buffer.read()); file.flush()
  for key, _ in mailbox.mbox(file.name).iteritems():
    raw = mailbox.mbox(file.name).get_bytes(key)
    print(base64.b64encode(re.sub(rb"(?m)^>(>*From )", rb"\\1", raw)).decode())`;
  const reader = Bun.spawn(["python3", "-c", script], { stdin: mbox, stdout: "pipe" });
  const read = (await new Response(reader.stdout).text()).trimEnd().split("\n");
  expect(read).toEqual(raws.map((raw) => raw.toString("base64")));
});

test("only who may read the inbox may export it, and the audit tells of it", async () => {
  const { body } = await world.api("/v1/tokens", { method: "POST", body: { inboxId } });
  expect((await get(`/v1/inboxes/${inboxId}/export`, body.token)).status).toBe(200);
  expect((await get(`/v1/inboxes/${inboxId}/export`, await newAccount(world))).status).toBe(404);
  const before = await exports();
  expect((await get(`/v1/inboxes/${inboxId}/export`, world.apiKey, "HEAD")).status).toBe(200);
  expect(await exports()).toEqual(before);
  expect(before[0]).toMatchObject({ target: { type: "inbox", id: inboxId }, details: { format: "jsonl" } });
});

const exports = async () => (await world.api("/v1/audit?action=export.read")).body.data;

test("one that the client breaks off does not hold its place", async () => {
  for (let times = 0; times < 20; times += 1) {
    const answer = await get(`/v1/inboxes/${inboxId}/export`);
    expect(answer.status).toBe(200);
    await answer.body?.cancel();
  }
});
