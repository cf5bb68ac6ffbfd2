import { expect, test } from "bun:test";
import { answerOnceSent } from "../../../src/http/shell/server.ts";

const refused = () => new Response("too large", { status: 413, headers: { connection: "close" } });
const unbounded = { maxBytes: Number.MAX_SAFE_INTEGER, maxMs: 60_000, silentMs: 60_000 };

/** An endless body, one kilobyte at a time. */
function endless(headers: Record<string, string> = {}) {
  const taken = { bytes: 0 };
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      await new Promise(setImmediate);
      taken.bytes += 1024;
      controller.enqueue(new Uint8Array(1024));
    },
  });
  return { taken, request: new Request("http://localhost/", { method: "POST", body, headers }) };
}

test("an unread body is discarded up to a limit of bytes", async () => {
  const { taken, request } = endless();
  await answerOnceSent(request, refused(), { ...unbounded, maxBytes: 100_000 });
  expect(taken.bytes).toBeWithin(100_000, 110_000);
});

test("an unread body is discarded up to a time limit", async () => {
  const { taken, request } = endless();
  await answerOnceSent(request, refused(), { ...unbounded, maxMs: 20 });
  expect(taken.bytes).toBeGreaterThan(0);
});

test("a client that sends no body gets its response after a moment", async () => {
  const silent = new Request("http://localhost/", { method: "POST", body: new ReadableStream() });
  const answer = await answerOnceSent(silent, refused(), { ...unbounded, silentMs: 20 });
  expect(answer.status).toBe(413);
});

test.each([
  ["declares more than would be thrown away", { "content-length": "100001" }, refused()],
  ["belongs to a connection that stays", {}, new Response("not found", { status: 404 })],
])("a body that %s is left unread", async (_, headers, answer) => {
  const { taken, request } = endless(headers);
  expect(await answerOnceSent(request, answer, { ...unbounded, maxBytes: 100_000 })).toBe(answer);
  expect(taken.bytes).toBeLessThan(10_000);
});
