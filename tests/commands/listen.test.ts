import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { InboxdEvent } from "../../sdk/typescript/src/inboxd.ts";
import { clientOf } from "../../src/commands/client.ts";
import { follow } from "../../src/commands/listen/follow.ts";
import { forward } from "../../src/commands/listen/forward.ts";
import type { Position } from "../../src/commands/listen/position.ts";
import { webhookFault, webhookSigner } from "../../src/standards/signature.ts";
import { inboxdHere, runInboxd } from "../support/inboxd.ts";
import { answer, type ReceivedRequest, startReceiver } from "../support/receiver.ts";
import { startWorld, type World, type WorldInbox } from "../support/world.ts";

const directory = mkdtempSync(join(tmpdir(), "ibx-listen-"));
const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
let world: World;
beforeAll(async () => {
  world = await startWorld();
});
afterAll(async () => {
  await world[Symbol.asyncDispose]();
  rmSync(directory, { recursive: true });
});

const clientAt = (url: string) => clientOf({ url, apiKey: world.apiKey });
const mailTo = (inbox: WorldInbox, subject: string) =>
  world.deliver(`From: jane@example.com\r\nSubject: ${subject}\r\n\r\n${subject}\r\n`, inbox.address);
const subjectOf = ({ body }: ReceivedRequest) => JSON.parse(body).message.subject;

test("nothing is lost and nothing comes out of order while the target is down or refuses", async () => {
  const inbox = await world.inbox();
  for (const subject of ["one", "two", "three"]) await mailTo(inbox, subject);
  const down = await startReceiver();
  await down.close();
  const end = new AbortController();
  const tries: (number | null)[] = [];
  const kept: (string | null)[] = [];
  const firstTry = Promise.withResolvers<void>();
  const way = { target: new URL(down.url), signer: await webhookSigner(secret), now: () => new Date() };
  const following = follow({
    client: clientAt(world.service.apiUrl.origin),
    inboxId: inbox.id,
    from: { after: null },
    onBegin: async () => undefined,
    handle: async (event, attempt) => {
      const { ok, status } = await forward(event, { ...way, attempt });
      tries.push(status);
      firstTry.resolve();
      return ok;
    },
    save: async ({ after }) => void kept.push(after),
    warn: () => undefined,
    signal: end.signal,
  });
  await firstTry.promise;
  const target = await startReceiver({ port: down.port });
  // The second of them is refused once: the third must wait for it.
  target.behave((socket, request) => answer(target.requests.length === 2 ? 500 : 200)(socket, request));
  await mailTo(inbox, "four");
  await target.request(5);
  end.abort();
  await following;
  await target.close();

  expect(target.requests.map(subjectOf)).toEqual(["one", "two", "two", "three", "four"]);
  // In the order of the webhook, since a receiver may serialise it again before it checks the signature.
  const bodies = target.requests.map(({ body }) => JSON.parse(body));
  expect(Object.keys(bodies[0]).slice(0, 5)).toEqual(["event", "event_id", "occurred_at", "delivered_at", "attempt"]);
  const downTries = tries.indexOf(200);
  expect(bodies.map(({ attempt }) => attempt)).toEqual([downTries + 1, 1, 2, 1, 1]);
  expect(target.requests.map(({ headers }) => headers["x-timestamp"])).toEqual(
    bodies.map(({ delivered_at }) => String(Math.floor(Date.parse(delivered_at) / 1000))),
  );
  expect(tries[0]).toBeNull();
  expect(tries.filter((status) => status !== null)).toEqual([200, 500, 200, 200, 200]);
  const ids = target.requests.map(({ headers }) => headers["webhook-id"]);
  expect(kept).toEqual([ids[0], ids[2], ids[3], ids[4]] as string[]);
  for (const { headers, body } of target.requests) {
    expect(await webhookFault({ headers, body, secret, now: new Date() })).toBeUndefined();
  }
});

test("a listener resumes at its last position, and ends with code 0 at a signal", async () => {
  const inbox = await world.inbox();
  const target = await startReceiver();
  const env = {
    PATH: process.env.PATH,
    XDG_STATE_HOME: directory,
    INBOXD_URL: world.service.apiUrl.origin,
    INBOXD_API_KEY: world.apiKey,
  };
  const words = ["listen", "--forward-to", target.url, "--inbox", inbox.id, "--json"];
  const start = () => Bun.spawn([...inboxdHere, ...words], { env, stdout: "pipe", stderr: "pipe", stdin: "ignore" });
  const says = async (listener: ReturnType<typeof start>, part: string) => {
    let text = "";
    for await (const chunk of listener.stderr) {
      text += Buffer.from(chunk).toString();
      if (text.includes(part)) return;
    }
    throw new Error(`It ended without saying "${part}": ${text}`);
  };

  await mailTo(inbox, "before");
  // The log shows nothing newer than the oldest transaction of the server, which other tests have in use.
  while ((await clientAt(world.service.apiUrl.origin).events.list({ inbox_id: inbox.id }).page()).data.length === 0);
  const first = start();
  await says(first, "from now on");
  await mailTo(inbox, "one");
  await target.request(1);
  first.kill("SIGINT");
  expect(await first.exited).toBe(0);
  expect(JSON.parse(await new Response(first.stdout).text())).toMatchObject({ status: 200, ok: true, error: null });

  await mailTo(inbox, "two");
  const second = start();
  await says(second, "going on after evt_");
  await target.request(2);
  second.kill("SIGINT");
  expect(await second.exited).toBe(0);
  expect(target.requests.map(subjectOf)).toEqual(["one", "two"]);
  // Nobody gave a secret, so nothing pretends to be signed.
  expect(target.requests[0]?.headers["x-signature"]).toBeUndefined();
  await target.close();
});

const streamPath = "/v1/events/stream";

/** Stands before the service: what it does with the n-th answer of a stream is the test's affair. */
function before(changed: (answer: Response, number: number) => Response | Promise<Response>) {
  let streams = 0;
  const asked: string[] = [];
  const server = Bun.serve({
    port: 0,
    idleTimeout: 0,
    async fetch(request) {
      const { pathname, search } = new URL(request.url);
      asked.push(pathname);
      const { headers, signal } = request;
      const answer = await fetch(new URL(pathname + search, world.service.apiUrl), { headers, signal });
      if (pathname !== streamPath) return new Response(await answer.text(), answer);
      streams += 1;
      return changed(answer, streams);
    },
  });
  return { url: server.url.origin, asked, close: () => server.stop(true) };
}

/** The beginning of an answer, and then the end. */
function cutAfter(answer: Response, bytes: number): Response {
  let left = bytes;
  const cut = new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>({
    transform(piece, controller) {
      controller.enqueue(piece.subarray(0, left));
      left -= piece.length;
      if (left <= 0) controller.terminate();
    },
  });
  return new Response(answer.body?.pipeThrough(cut) ?? null, answer);
}

/** Follows what somebody else than the service answers, until so many events have been handed on. */
async function followed(url: string, inbox: WorldInbox, from: Position | undefined, count: number) {
  const end = new AbortController();
  const [handed, positions]: [InboxdEvent[], Position[]] = [[], []];
  await follow({
    client: clientAt(url),
    inboxId: inbox.id,
    from,
    onBegin: async (position) => {
      positions.push(position);
      if (from === undefined) for (let number = 1; number <= count; number += 1) await mailTo(inbox, String(number));
    },
    handle: async (event) => {
      handed.push(event);
      if (handed.length === count) end.abort();
      return true;
    },
    save: async () => undefined,
    warn: () => undefined,
    signal: end.signal,
  });
  return {
    positions,
    subjects: handed.map((event) => ("message" in event ? event.message.subject : undefined)),
    handed,
  };
}

test("a stream that is cut in the middle of events loses none of them and brings none twice", async () => {
  const inbox = await world.inbox();
  for (const subject of ["1", "2", "3"]) await mailTo(inbox, subject);
  const proxy = before((answer, number) => (number > 4 ? answer : cutAfter(answer, 40 + number * 400)));
  const { subjects, positions, handed } = await followed(proxy.url, inbox, { after: null }, 3);
  proxy.close();
  expect(subjects).toEqual(["1", "2", "3"]);
  expect(positions).toEqual([{ after: null }]);
  // As the log tells it: what belongs to one delivery is for who makes it to say.
  expect(handed[0]).not.toHaveProperty("delivered_at");
  expect(handed[0]).not.toHaveProperty("attempt");
  expect(new Set(proxy.asked)).toEqual(new Set([streamPath]));
  expect(proxy.asked.length).toBeGreaterThan(2);
}, 30_000);

test("a first run begins with new events, and knows its position before the first one", async () => {
  const inbox = await world.inbox();
  const { subjects, positions } = await followed(world.service.apiUrl.origin, inbox, undefined, 2);
  expect(subjects).toEqual(["1", "2"]);
  expect(positions).toEqual([{ after: expect.stringMatching(/^evt_/) }]);
});

/** A listener without a target, and the lines that it prints. */
function printing(inbox: WorldInbox, ...words: string[]) {
  const env = {
    PATH: process.env.PATH,
    TZ: "UTC",
    XDG_STATE_HOME: join(directory, "unused"),
    INBOXD_URL: world.service.apiUrl.origin,
    INBOXD_API_KEY: world.apiKey,
  };
  const child = Bun.spawn([...inboxdHere, "listen", "--inbox", inbox.address, "--after", "start", ...words], {
    env,
    stdout: "pipe",
    stderr: "pipe",
    stdin: "ignore",
  });
  const reader = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  return {
    child,
    reader,
    /** The first lines, as soon as there are so many. */
    async lines(count: number): Promise<string[]> {
      while (text.split("\n").length <= count) {
        const { value, done } = await reader.read();
        if (done) throw new Error(`It ended with ${await new Response(child.stderr).text()}`);
        text += value;
      }
      return text.split("\n").slice(0, count);
    },
  };
}

test("without a target events are printed as they come, whole for a script, and no position is saved", async () => {
  const inbox = await world.inbox();
  const [person, script] = [printing(inbox), printing(inbox, "--json")];
  await mailTo(inbox, "one");
  await person.lines(1);
  await mailTo(inbox, "two");
  const shown = await person.lines(2);
  const events = (await script.lines(2)).map((line) => JSON.parse(line));
  for (const [index, subject] of ["one", "two"].entries()) {
    const { event_id, occurred_at, message } = events[index];
    expect(message).toMatchObject({ subject, body_text: subject });
    const at = occurred_at.slice(11, 19);
    const mail = `message.received jane@example.com → ${inbox.address} "${subject}"`;
    expect(shown[index]).toBe(`${at}  ${mail}  ${event_id}`);
  }
  for (const { child } of [person, script]) child.kill("SIGINT");
  expect(await Promise.all([person.child.exited, script.child.exited])).toEqual([0, 0]);
  expect(readdirSync(directory)).not.toContain("unused");
});

test("printing ends with code 0 when the reader closes the pipe, as head does", async () => {
  const inbox = await world.inbox();
  const listener = printing(inbox, "--json");
  await mailTo(inbox, "one");
  await listener.lines(1);
  await listener.reader.cancel();
  await mailTo(inbox, "two");
  expect(await listener.child.exited).toBe(0);
});

test("a refusal of the server ends it with code 1", async () => {
  const env = { XDG_STATE_HOME: directory, INBOXD_URL: world.service.apiUrl.origin, INBOXD_API_KEY: world.apiKey };
  const words = ["listen", "--forward-to", "http://127.0.0.1:9/", "--after", "evt_01jpw7z1x2e9a8r5k3m0t6vqhd"];
  const { code, stderr } = await runInboxd(words, { env });
  expect(code).toBe(1);
  expect(stderr).toEndWith("not_found: Cannot find event: no such event\n");
});
