import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { makeDatabase } from "../support/database.ts";
import { inboxdHere, type RunningInboxd, runInboxd, startInboxd } from "../support/inboxd.ts";
import { endless, startReceiver } from "../support/receiver.ts";
import { until } from "../support/until.ts";
import { deliver } from "../support/world.ts";

/** A server that can be started again at the same port, as its operator does. */
const directory = mkdtempSync(join(tmpdir(), "ibx-tail-"));
const server = process.env.TEST_DATABASE_URL;
const database = server ? await makeDatabase(server) : undefined;
let inboxd: RunningInboxd;
let ada: { id: string; address: string };
let env: Record<string, string>;

beforeAll(async () => {
  inboxd = await startInboxd({ cwd: directory, env: { DATABASE_URL: database?.url } });
  ada = (await (await inboxd.request("POST", "/v1/inboxes", { username: "ada" })).json()) as typeof ada;
  env = { INBOXD_URL: new URL(inboxd.api).origin, INBOXD_API_KEY: inboxd.apiKey ?? "" };
});
afterAll(async () => {
  inboxd.signal("SIGKILL");
  await inboxd.exited;
  await database?.drop();
  rmSync(directory, { recursive: true });
});

async function startAgain(): Promise<void> {
  const { apiKey } = inboxd;
  const { port } = new URL(inboxd.api);
  inboxd = await startInboxd({ cwd: directory, env: { DATABASE_URL: database?.url, PORT: port } });
  inboxd.apiKey = apiKey;
}

async function mail(subject: string, to = ada.address): Promise<void> {
  expect(await deliver(inboxd.smtpPort, `Subject: ${subject}\r\n\r\n${subject}\r\n`, to)).toStartWith("250");
}

const running: Bun.Subprocess[] = [];
afterEach(() => {
  for (const child of running.splice(0)) child.kill("SIGKILL");
});

/** What it prints, line by line, and what it says beside. */
function tail(words: readonly string[], more: Record<string, string> = {}) {
  const child = Bun.spawn([...inboxdHere, "tail", ...words], {
    env: { PATH: process.env.PATH, ...env, ...more },
    stdout: "pipe",
    stderr: "pipe",
    stdin: "ignore",
  });
  running.push(child);
  const follow = (stream: ReadableStream<Uint8Array<ArrayBuffer>>) => {
    const reader = stream.getReader();
    const decoder = new TextDecoder();
    let text = "";
    return {
      reader,
      async until(isThere: (text: string) => boolean): Promise<string> {
        while (!isThere(text)) {
          const { value, done } = await reader.read();
          if (done) throw new Error(`It ended without it: ${text}`);
          text += decoder.decode(value, { stream: true });
        }
        return text;
      },
    };
  };
  const [out, err] = [follow(child.stdout), follow(child.stderr)];
  return {
    child,
    out,
    says: (part: string) => err.until((text) => text.includes(part)),
    async events(count: number) {
      const text = await out.until((printed) => printed.split("\n").length > count);
      return text
        .split("\n")
        .slice(0, count)
        .map((line) => JSON.parse(line));
    },
    async end(signal: NodeJS.Signals): Promise<number> {
      child.kill(signal);
      return child.exited;
    },
  };
}

const subjectsOf = (events: { message: { subject: string } }[]) => events.map(({ message }) => message.subject);

test("prints each event as it comes, over a restart and a crash of the server, none lost and none twice", async () => {
  const follower = tail([]);
  await follower.says(`Events of ${env.INBOXD_URL}, from now on\n`);
  await mail("one");
  await mail("two");
  const [first] = await follower.events(2);
  expect(Object.keys(first).slice(0, 5)).toEqual(["event", "event_id", "occurred_at", "delivered_at", "attempt"]);
  expect(first).toMatchObject({ event: "message.received", attempt: 1, inbox_id: ada.id });

  expect(await inboxd.stop()).toBe(0);
  await startAgain();
  await mail("three");
  await follower.events(3);

  inboxd.signal("SIGKILL");
  await inboxd.exited;
  await follower.says(`Cannot reach ${env.INBOXD_URL}: nothing listens there\n`);
  await startAgain();
  await mail("four");
  await mail("five");
  expect(subjectsOf(await follower.events(5))).toEqual(["one", "two", "three", "four", "five"]);
  expect(await follower.end("SIGTERM")).toBe(0);
  // Nothing has come behind them.
  expect((await follower.out.reader.read()).done).toBeTrue();

  // It goes on behind any event, and has what was told meanwhile.
  const further = tail(["--after", first.event_id]);
  expect(subjectsOf(await further.events(4))).toEqual(["two", "three", "four", "five"]);
  expect(await further.end("SIGINT")).toBe(0);
}, 60_000);

test("filters by types and by inboxes, and adds further fields", async () => {
  const bob = (await (await inboxd.request("POST", "/v1/inboxes", { username: "bob" })).json()) as typeof ada;
  await mail("to ada");
  await mail("to bob", bob.address);
  const words = ["--types", "message.received, inbox.created", "--inbox", "bob", "--include", "extracted"];
  const follower = tail([...words, "--skip-automated", "--after", "start"]);
  const [created, received] = await follower.events(2);
  expect(created).toMatchObject({ event: "inbox.created", inbox: { id: bob.id } });
  expect(received).toMatchObject({ message: { subject: "to bob", extracted_text: "to bob" } });
});

test("ends with code 0 when the reader closes the pipe, as head does", async () => {
  const follower = tail(["--after", "start"]);
  await follower.events(1);
  await follower.out.reader.cancel();
  // What it prints before the pipe is closed lies there for nobody, and tells it nothing.
  while (follower.child.exitCode === null) await mail("to nobody");
  expect(await follower.child.exited).toBe(0);
});

test("ends at a signal, although nobody reads its output", async () => {
  const sent = { bytes: 0 };
  const event = `id: evt_1\ndata: ${JSON.stringify("x".repeat(65_536))}\n\n`;
  const head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\nevent: ready\nid: evt_0\ndata: {}\n\n";
  const flood = await startReceiver({ behaviour: endless(head, Buffer.from(event), sent, 1 << 30) });
  const follower = tail([], { INBOXD_URL: `http://127.0.0.1:${flood.port}` });
  await follower.says("from now on");
  await follower.out.reader.read();
  await until(() => sent.bytes > 1 << 20);
  expect(await follower.end("SIGTERM")).toBe(0);
  // It took no more than what is between them has room for.
  expect(sent.bytes).toBeLessThan(1 << 28);
  await flood.close();
});

test("reaches this machine without the proxy of the environment", async () => {
  const proxy = "http://127.0.0.1:9";
  const follower = tail(["--after", "start"], { HTTP_PROXY: proxy, http_proxy: proxy });
  await follower.events(1);
});

describe("It ends with a message after", () => {
  test("a key that is revoked", async () => {
    const { id, apiKey } = JSON.parse((await runInboxd(["key", "create", "--json"], here())).stdout);
    const follower = tail([], { INBOXD_API_KEY: apiKey });
    await follower.says("from now on");
    expect((await runInboxd(["key", "revoke", id], here())).code).toBe(0);
    await follower.says("unauthorized: ");
    expect(await follower.child.exited).toBe(1);
  });

  const here = () => ({ cwd: directory, env: { DATABASE_URL: database?.url } });
  const wrong: readonly [what: string, words: string[], code: number, says: string][] = [
    ["a place that the log has not", ["--after", "evt_01jpw7z1x2e9a8r5k3m0t6vqhd"], 1, "not_found: Cannot find event"],
    ["a type that there is not", ["--types", "message.eaten"], 2, "invalid_query: "],
    ["an inbox that there is not", ["--inbox", "grace"], 1, 'Cannot find inbox: the account has no inbox "grace"'],
    ["a key that is wrong", ["--api-key", "ibx_no"], 1, "unauthorized: "],
    ["a server that is not there", ["--url", "http://127.0.0.1:9"], 1, "Cannot reach http://127.0.0.1:9: nothing"],
  ];
  test.concurrent.each(wrong)("%s", async (_, words, code, says) => {
    const ended = await runInboxd(["tail", ...words], { env });
    expect([ended.code, ended.stdout]).toEqual([code, ""]);
    expect(ended.stderr).toStartWith(says);
  });
});
