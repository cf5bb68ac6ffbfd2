import { expect, test } from "bun:test";
import { type Answer, answerReader } from "../../src/webhook/answer.ts";

const answers: [string, string, Partial<Answer>][] = [
  ["a length", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", { status: 200, body: "hello", reusableMs: 4000 }],
  [
    "chunks, trailers and an interim answer",
    "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 202 OK\r\nTransfer-Encoding: gzip, chunked\r\nRetry-After: 7\r\n\r\n3\r\nhel\r\n2 ;a=b\r\nlo\r\n0\r\nx: y\r\n\r\n",
    { status: 202, body: "hello", retryAfter: "7", reusableMs: 4000 },
  ],
  [
    "lone LFs",
    "HTTP/1.1 200 OK\nContent-Length: 5\nkeep-alive: timeout=3\n\nhello",
    { body: "hello", reusableMs: 2000 },
  ],
  ["no body", "HTTP/1.1 204 No\r\nContent-Length: 5\r\n\r\n", { status: 204, body: "", reusableMs: 4000 }],
  [
    "exactly 4 KiB",
    `HTTP/1.1 200 OK\r\nContent-Length: 4096\r\n\r\n${"a".repeat(4096)}`,
    { body: "a".repeat(4096), reusableMs: 4000 },
  ],
  [
    "exactly 4 KiB in chunks",
    `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1000\r\n${"a".repeat(4096)}\r\n0\r\n\r\n`,
    { body: "a".repeat(4096), reusableMs: 4000 },
  ],
];

test.each(answers)("an answer with %s is read the same, however TCP splits it", (_, text, expected) => {
  const bytes = Buffer.from(text, "latin1");
  for (let at = 0; at <= bytes.length; at++) {
    const reader = answerReader();
    const first = at === 0 ? undefined : reader.take(bytes.subarray(0, at));
    if (at < bytes.length) expect(first).toBeUndefined();
    expect(at === bytes.length ? first : reader.take(bytes.subarray(at))).toMatchObject(expected);
  }
  const reader = answerReader();
  let last: Answer | string | undefined;
  for (const byte of bytes) last = reader.take(Buffer.from([byte]));
  expect(last).toMatchObject(expected);
});
