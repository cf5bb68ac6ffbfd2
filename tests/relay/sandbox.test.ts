import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { RelayedMail } from "../../src/relay/relayed-mail.ts";
import { sandboxRelay } from "../../src/relay/sandbox.ts";
import { mailTo, only } from "../support/relayed-mail.ts";

let home = "";
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), "inboxd-sandbox-"));
});
afterEach(() => rm(home, { recursive: true }));

const now = () => new Date("2026-03-21T10:05:00.000Z");

function mailOf(raw: string): RelayedMail {
  return mailTo("jane@example.com", raw);
}

test("a mail becomes a file that only its owner can read, byte for byte, and counts as sent", async () => {
  const directory = join(home, "data", "sandbox");
  const raw = "Subject: Hi\r\nMessage-ID: <1.a@inbox.test>\r\n\r\n.Hello\r\n";
  expect(only(await sandboxRelay({ directory, now }).send(mailOf(raw)))).toEqual({
    kind: "sent",
    reply: "250 2.0.0 Kept in the sandbox: 20260321T100500.000Z-1.a@inbox.test.eml",
    providerMessageId: undefined,
  });
  expect(await readdir(directory)).toEqual(["20260321T100500.000Z-1.a@inbox.test.eml"]);
  const path = join(directory, "20260321T100500.000Z-1.a@inbox.test.eml");
  expect(await readFile(path, "latin1")).toBe(raw);
  expect((await stat(path)).mode & 0o777).toBe(0o600);
  expect((await stat(directory)).mode & 0o777).toBe(0o700);
});

test("a mail in pieces, the first one empty, is also named after its Message-ID", async () => {
  const pieces = ["", "Subject: Hi\r\nMessage", "-ID: <1.a@inbox.test>\r\n\r\nHello\r\n"].map((text) =>
    Buffer.from(text),
  );
  const mail = mailOf(pieces.join(""));
  await sandboxRelay({ directory: home, now }).send({ ...mail, body: { ...mail.body, open: () => pieces } });
  expect(await readdir(home)).toEqual(["20260321T100500.000Z-1.a@inbox.test.eml"]);
});

test("a mail for several recipients is one file, without recipients that its header does not name", async () => {
  const raw = "To: a@x.example\r\n\r\nHello\r\n";
  const outcomes = await sandboxRelay({ directory: home, now }).send(mailTo(["a@x.example", "secret@x.example"], raw));
  expect(outcomes.map(({ kind }) => kind)).toEqual(["sent", "sent"]);
  const [name = "", ...others] = await readdir(home);
  expect(others).toEqual([]);
  expect(await readFile(join(home, name), "latin1")).toBe(raw);
});

test.each([
  ["../../etc/passwd", ".._.._etc_passwd"],
  ["a\\b:c*d?e@x", "a_b_c_d_e@x"],
  ["жанна@example.com", "_@example.com"],
  ["", "mail"],
  ["x".repeat(300), "x".repeat(100)],
])("a Message-ID of %p names a file in the sandbox and nowhere else", async (messageId, stem) => {
  await sandboxRelay({ directory: home, now }).send(mailOf(`Message-ID: <${messageId}>\r\n\r\nbody`));
  expect(await readdir(home)).toEqual([`20260321T100500.000Z-${stem}.eml`]);
});

test("a Message-ID in the body is not used for the name", async () => {
  await sandboxRelay({ directory: home, now }).send(mailOf("Subject: x\r\n\r\nMessage-ID: <y>\r\n"));
  expect(await readdir(home)).toEqual(["20260321T100500.000Z-mail.eml"]);
});

test("the same mail many times at once from two relays becomes as many files", async () => {
  const relays = [sandboxRelay({ directory: home, now }), sandboxRelay({ directory: home, now })];
  const raws = Array.from({ length: 20 }, (_, index) => `Message-ID: <same@inbox.test>\r\n\r\n${index}`);
  await Promise.all(raws.map((raw, index) => relays[index % 2]?.send(mailOf(raw))));
  const names = await readdir(home);
  expect(names).toHaveLength(20);
  expect(names.every((name) => /^20260321T100500\.000Z-same@inbox\.test(-\d+)?\.eml$/.test(name))).toBe(true);
  const contents = await Promise.all(names.map((name) => readFile(join(home, name), "latin1")));
  expect(contents.toSorted()).toEqual(raws.toSorted());
});

test("if nothing can be written, the mail is retried", async () => {
  const inTheWay = join(home, "file");
  await writeFile(inTheWay, "");
  expect(only(await sandboxRelay({ directory: join(inTheWay, "sandbox"), now }).send(mailOf("x")))).toMatchObject({
    kind: "retry",
    maybeAccepted: false,
    failure: { code: null, message: expect.stringContaining("Cannot write to the sandbox") },
  });
});
