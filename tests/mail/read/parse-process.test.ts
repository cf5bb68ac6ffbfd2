import { afterAll, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { mailParser } from "../../../src/mail/read/parse.ts";

const parser = mailParser({ mailDomain: "inbox.localhost" });
afterAll(() => parser.close());

const children = () =>
  readFileSync(`/proc/self/task/${process.pid}/children`, "latin1").split(" ").filter(Boolean).map(Number);

test("signals to the whole group don't end the process while the service still receives mail", async () => {
  const big = Buffer.from(`Subject: big\r\n\r\n${"Lorem ipsum\r\n".repeat(30_000)}`);
  const others = new Set(children());
  expect(await parser.parse(big)).toMatchObject({ complete: true });
  const [pid = 0] = children().filter((child) => !others.has(child));
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.kill(pid, signal);
  expect(await parser.parse(big)).toMatchObject({ complete: true });
  expect(children()).toContain(pid);
});

test("an attachment is returned as it was sent, without the mail around it", async () => {
  const part = "--q\r\nContent-Type: application/x\r\nContent-Disposition: attachment\r\n\r\n";
  const pieces = Array.from({ length: 900 }, (_, index) => `piece ${index} ${"x".repeat(1000)}`);
  const raw = Buffer.from(
    `Content-Type: multipart/mixed; boundary=q\r\n\r\n${pieces.map((piece) => `${part}${piece}\r\n`).join("")}--q--\r\n`,
  );
  const { attachments, complete } = await parser.parse(raw);
  expect(complete).toBe(true);
  expect(attachments.map(({ bytes }) => Buffer.from(bytes).toString())).toEqual(pieces);
  const held = new Set(attachments.map(({ bytes }) => bytes.buffer));
  expect([...held].reduce((sum, { byteLength }) => sum + byteLength, 0)).toBeLessThan(raw.length);
});
