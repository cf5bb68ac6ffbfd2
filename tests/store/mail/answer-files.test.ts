import { afterEach, describe, expect, test } from "bun:test";
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type AnswerFiles, type AnswerLimits, answerFiles } from "../../../src/store/mail/answer-files.ts";

const sizeBytes = 20 << 20;
const bytes = new Uint8Array(sizeBytes).map((_, index) => index >> 8);
const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

/** A directory with answers from it over HTTP: `/name?start-end`, and how often each name was filled. */
async function begin(limits: Partial<AnswerLimits> = {}, idleTimeout = 30) {
  const directory = mkdtempSync(join(tmpdir(), "ibx-answers-"));
  closers.push(() => rmSync(directory, { recursive: true, force: true }));
  const randomBytes = (length: number) => crypto.getRandomValues(new Uint8Array(length));
  const files: AnswerFiles = await answerFiles({ directory, randomBytes, limits: { lookMs: 50, ...limits } });
  closers.push(files.close);
  const filled: string[] = [];
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    idleTimeout,
    async fetch(request, server) {
      // For who doesn't read: the machine may take its time to fill a file.
      server.timeout(request, 0);
      const url = new URL(request.url);
      const [start = 0, end = sizeBytes] = url.search.slice(1).split("-").filter(Boolean).map(Number);
      const body = await files
        .body({ name: url.pathname, sizeBytes, start, end }, async (write) => {
          filled.push(url.pathname);
          for (let at = 0; at < sizeBytes; at += 1 << 20) await write(bytes.subarray(at, at + (1 << 20)));
          if (url.pathname === "/broken" && filled.length === 1) throw new Error("the database is away");
        })
        .catch(() => "broken");
      server.timeout(request, idleTimeout);
      if (body === "broken") return new Response("", { status: 500 });
      return body === undefined ? new Response("", { status: 503 }) : new Response(body);
    },
  });
  closers.push(() => server.stop(true));
  return {
    directory,
    filled,
    ask: (path: string) => fetch(new URL(path, server.url)),
    /** Asks, and reads no further than the head. */
    reader: (path: string) =>
      new Promise<Socket>((resolve) => {
        const socket = connect(Number(server.port), "127.0.0.1");
        closers.push(() => socket.destroy());
        socket.once("data", () => {
          socket.pause();
          resolve(socket);
        });
        socket.write(`GET ${path} HTTP/1.1\r\nhost: localhost\r\n\r\n`);
      }),
  };
}

describe("A file that answers are sent from", () => {
  test("is one for all who read the same at a time, each the range that was asked for", async () => {
    const { filled, reader, ask } = await begin();
    const readers = await Promise.all(Array.from({ length: 20 }, () => reader("/a")));
    expect(Buffer.from(await (await ask("/a")).bytes()).equals(bytes)).toBe(true);
    const range = await ask("/a?1000000-5000000");
    expect(range.headers.get("content-length")).toBe("4000000");
    expect(Buffer.from(await range.bytes()).equals(bytes.subarray(1_000_000, 5_000_000))).toBe(true);
    expect(filled).toEqual(["/a"]);
    await ask("/b");
    expect(filled).toEqual(["/a", "/b"]);
    for (const socket of readers) socket.destroy();
  });

  test("goes when nobody reads it any more", async () => {
    const { filled, reader, ask } = await begin({ mostFiles: 1 });
    const socket = await reader("/a");
    expect((await ask("/b")).status).toBe(503);
    socket.destroy();
    while ((await ask("/b")).status !== 200) await Bun.sleep(20);
    expect(filled).toEqual(["/a", "/b"]);
  });

  test("is one of so many bytes in all", async () => {
    const { reader, ask } = await begin({ mostBytes: 2 * sizeBytes });
    const sockets = [await reader("/a"), await reader("/b")];
    expect((await ask("/c")).status).toBe(503);
    expect((await ask("/a")).status).toBe(200);
    for (const socket of sockets) socket.destroy();
    while ((await ask("/c")).status !== 200) await Bun.sleep(20);
  });

  test("is asked for anew where it could not be filled", async () => {
    const { filled, ask } = await begin({ mostFiles: 1 });
    expect((await ask("/broken")).status).toBe(500);
    expect(Buffer.from(await (await ask("/broken")).bytes()).equals(bytes)).toBe(true);
    expect(filled).toEqual(["/broken", "/broken"]);
  });

  test("ends for whoever has not read it within twice the time of an answer", async () => {
    const { reader, ask } = await begin({ answerMs: 100, bytesPerMs: Number.POSITIVE_INFINITY, mostFiles: 1 }, 1);
    const socket = await reader("/a");
    while ((await ask("/b")).status !== 200) await Bun.sleep(20);
    const closed = new Promise((resolve) => socket.once("close", resolve));
    socket.resume();
    // What was on its way arrives, and then nothing: the server takes that for a connection that is not used.
    await closed;
    expect(socket.bytesRead).toBeLessThan(sizeBytes);
  });

  test("that a process left behind which died is removed at the start, and nothing else", async () => {
    const { directory } = await begin();
    for (const name of [".answer-0123", "kept.eml"]) writeFileSync(join(directory, name), "x");
    await answerFiles({ directory, randomBytes: (length) => new Uint8Array(length) });
    expect(readdirSync(directory)).toEqual(["kept.eml"]);
  });
});
