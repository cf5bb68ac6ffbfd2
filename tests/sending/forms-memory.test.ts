import { describe, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { breaksPostgres } from "../support/engines.ts";
import { randomFile, sha256 } from "../support/files.ts";
import { startFleet } from "../support/fleet.ts";
import type { RunningInboxd } from "../support/inboxd.ts";

const formBytes = 18_000_000;
const atOnce = 8;
const mebibyte = 1 << 20;

/*
 * On Postgres alone: the embedded database has its memory in the same process. The clients take turns with pieces of their files, so
 * that all forms are under way until the last piece of each.
 */
describe.skipIf(!breaksPostgres)("Eight forms of 18 MB at once", () => {
  test("are accepted in less memory than their size", async () => {
    await using fleet = await startFleet(1, { SENDS_PER_MINUTE: "0", SENDS_PER_DAY: "0", COLD_RECIPIENT_DAILY: "0" });
    const [process] = fleet.processes;
    if (process === undefined) throw new Error("No process runs");
    const { id } = await fleet.inbox();
    const files = Array.from({ length: atOnce }, (_, place) => randomFile(formBytes, place + 1));
    // The memory of the process after a first run: code, pools and memory kept by the allocator.
    await sent(process, id, files.slice(0, 1), "warm");
    const before = residentBytes(process.pid, "VmRSS");
    forgetPeak(process.pid);
    const answers = await sent(process, id, files, "form");
    const grown = residentBytes(process.pid, "VmHWM") - before;
    console.log(`Eight forms of 18 MB: + ${(grown / mebibyte).toFixed(0)} MiB`);
    // Memory not yet collected is some 100 MiB for any number of bytes. The files themselves would be 137 MiB more.
    expect(grown).toBeLessThan(190 * mebibyte);
    for (const [place, answer] of answers.entries()) {
      const { body } = await fleet.api(`/v1/messages/${answer.messageId}`);
      expect(body.attachments).toMatchObject([{ filename: "a.bin", sizeBytes: formBytes }]);
      const bytes = new Uint8Array(await (await fetch(body.attachments[0].url)).arrayBuffer());
      expect(sha256(bytes)).toBe(sha256(files[place] ?? ""));
    }
  }, 120_000);
});

/** Sends a form with each of these files, all at the same time, one piece of each in turn. */
async function sent(
  process: RunningInboxd,
  inboxId: string,
  files: readonly Uint8Array<ArrayBuffer>[],
  key: string,
): Promise<{ messageId: string }[]> {
  const field = (name: string) => `--b\r\nContent-Disposition: form-data; name="${name}"\r\n\r\njane@example.com\r\n`;
  const part = '--b\r\nContent-Disposition: form-data; name="attachments"; filename="a.bin"\r\n\r\n';
  const [head, tail] = [["to", "subject", "body"].map(field).join("") + part, "\r\n--b--\r\n"];
  const port = Number(new URL(process.api).port);
  const sockets = files.map((_, place) => {
    const socket = connect(port, "127.0.0.1");
    const fields = [
      `POST /v1/inboxes/${inboxId}/send HTTP/1.1`,
      "Host: localhost",
      "Authorization: Bearer key-of-the-first-account-in-tests",
      `Idempotency-Key: ${key}-${place}`,
      "Prefer: respond-async",
      "Connection: close",
      "Content-Type: multipart/form-data; boundary=b",
      `Content-Length: ${head.length + formBytes + tail.length}`,
    ];
    socket.write(`${fields.join("\r\n")}\r\n\r\n${head}`);
    return socket;
  });
  const answers = sockets.map(answerOf);
  const pieceBytes = 1 << 18;
  for (let at = 0; at < formBytes; at += pieceBytes) {
    await Promise.all(sockets.map((socket, place) => written(socket, files[place]?.subarray(at, at + pieceBytes))));
  }
  for (const socket of sockets) socket.write(tail);
  return Promise.all(answers);
}

function written(socket: Socket, bytes = new Uint8Array()): Promise<void> {
  return new Promise((resolve, reject) => void socket.write(bytes, (error) => (error ? reject(error) : resolve())));
}

async function answerOf(socket: Socket): Promise<{ messageId: string }> {
  const pieces: Buffer[] = [];
  for await (const piece of socket) pieces.push(piece as Buffer);
  const answer = Buffer.concat(pieces).toString();
  expect(answer).toStartWith("HTTP/1.1 200 ");
  return JSON.parse(answer.slice(answer.indexOf("\r\n\r\n") + 4));
}

/** The resident memory of the process now and at its peak (proc(5)). */
function residentBytes(pid: number, name: "VmRSS" | "VmHWM"): number {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  return Number(new RegExp(`^${name}:\\s+(\\d+) kB`, "m").exec(status)?.[1]) * 1024;
}

function forgetPeak(pid: number): void {
  writeFileSync(`/proc/${pid}/clear_refs`, "5");
}
