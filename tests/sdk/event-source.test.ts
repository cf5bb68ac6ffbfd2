import { afterEach, describe, expect, test } from "bun:test";
import { eventSource, frameReader, type ServerSentEvent } from "../../sdk/typescript/src/event-source.ts";
import { InboxdError } from "../../sdk/typescript/src/inboxd.ts";
import { failureOf } from "../support/failure.ts";
import { answer, type Behaviour, type Receiver, raw, rawThenClose, reset, startReceiver } from "../support/receiver.ts";

const bytesOf = (text: string) => new TextEncoder().encode(text);

describe("Frames", () => {
  const stream = [
    "\ufeffretry: 7\n\n",
    ": a comment\r\n\r\n",
    "event: ready\rid: evt_1\rdata: {}\r\r",
    'id: evt_2\r\nevent: message.received\r\ndata: {"subject":"Größe 猫"}\r\n\r\n',
    "id: evt_3\n\n",
    "data\ndata:two\ndata:  three\nunknown: field\nid: with\0nul\n\n",
    "event: cut\nid: evt_9\ndata: never whole\n",
  ].join("");
  const frames = [
    { event: "message", id: "evt_0", data: undefined, retryMs: 7 },
    { event: "message", id: "evt_0", data: undefined },
    { event: "ready", id: "evt_1", data: "{}" },
    { event: "message.received", id: "evt_2", data: '{"subject":"Größe 猫"}' },
    { event: "message", id: "evt_3", data: undefined },
    { event: "message", id: "evt_3", data: "\ntwo\n three" },
  ];

  test("are the same wherever the bytes are cut, without an incomplete one", () => {
    const bytes = bytesOf(stream);
    for (let cut = 0; cut <= bytes.length; cut += 1) {
      const read = frameReader("evt_0");
      expect([...read(bytes.subarray(0, cut)), ...read(bytes.subarray(cut))]).toEqual(frames);
    }
    const read = frameReader("evt_0");
    expect(Array.from(bytes, (_, at) => read(bytes.subarray(at, at + 1))).flat()).toEqual(frames);
  });
});

const servers: Receiver[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) await server.close();
});

/** Answers one request after the other, and all that are left as the last. */
async function scripted(...answers: Behaviour[]): Promise<Receiver & { address: URL }> {
  const server = await startReceiver({
    behaviour: (...asked) => answers[Math.min(server.requests.length, answers.length) - 1]?.(...asked),
  });
  servers.push(server);
  return Object.assign(server, { address: new URL(server.url) });
}

const head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
const begun = "retry: 1\n\nevent: ready\nid: evt_0\ndata: {}\n\n";
const told = (number: number) => `event: message.received\nid: evt_${number}\ndata: ${number}\n\n`;
const says = (text: string) => raw(head + text);
const ends = (text: string) => rawThenClose(head + text);
const refuses = (status: number, headers = {}) => answer(status, headers, "{}");

interface Read {
  events: ServerSentEvent[];
  troubles: InboxdError[];
}

/** Reads until so many events have come. */
async function read(url: URL, count: number, more: { lastEventId?: string; quietMs?: number } = {}): Promise<Read> {
  const end = new AbortController();
  const [events, troubles]: [ServerSentEvent[], InboxdError[]] = [[], []];
  const onTrouble = (error: InboxdError) => void troubles.push(error);
  for await (const event of eventSource({ ...streamOf(url), signal: end.signal, onTrouble, ...more })) {
    events.push(event);
    if (events.length === count) end.abort();
  }
  return { events, troubles };
}

/** A stream of the server, whose errors name this operation. */
const streamOf = (url: URL) => ({ fetch, url, operation: { name: "GET /stream", baseUrl: url.origin } });

const placesAsked = ({ requests }: Receiver) => requests.map(({ headers }) => headers["last-event-id"]);
const dataOf = ({ events }: Read) => events.map(({ data }) => data);

describe("A stream", () => {
  test("that is cut in the middle of an event goes on behind the one before it", async () => {
    const whole = told(2);
    const server = await scripted(
      ends(begun + told(1) + whole.slice(0, whole.indexOf("data") + 4)),
      ends(`${begun}${told(2)}${told(3)}id: evt_7\n\n`),
      says(told(8)),
    );
    const come = await read(server.address, 6);
    expect(dataOf(come)).toEqual(["{}", "1", "{}", "2", "3", "8"]);
    expect(placesAsked(server)).toEqual([undefined, "evt_1", "evt_7"]);
    expect(server.requests[0]?.headers.accept).toBe("text/event-stream");
    // That it ended is no trouble.
    expect(come.troubles).toEqual([]);
  });

  test("resumes when the server is back, and reports each failure meanwhile", async () => {
    const server = await scripted(
      ends(begun),
      reset,
      refuses(503),
      refuses(429, { "retry-after": "0" }),
      says(told(2)),
    );
    const { events, troubles } = await read(server.address, 2, { lastEventId: "evt_9" });
    expect(events.at(-1)).toEqual({ event: "message.received", id: "evt_2", data: "2" });
    expect(placesAsked(server)).toEqual(["evt_9", "evt_0", "evt_0", "evt_0", "evt_0"]);
    expect(troubles.map(({ status }) => status)).toEqual([0, 503, 429]);
  });

  test("that falls silent is closed and opened again", async () => {
    const server = await scripted(says(begun + told(1)), says(told(2)));
    const come = await read(server.address, 3, { quietMs: 300 });
    expect(dataOf(come)).toEqual(["{}", "1", "2"]);
    expect(come.troubles.map(String)).toEqual([
      `InboxdError: Cannot GET /stream: ${server.address.origin} does not answer: nothing came for 0.3 s`,
    ]);
    expect(placesAsked(server)).toEqual([undefined, "evt_1"]);
  });

  test.each([
    ["a refusal", 401, {}],
    ["an answer that is no stream", 200, { "content-type": "application/json" }],
    ["a redirect", 302, { location: "/elsewhere" }],
  ])("ends with %s", async (_, status, headers) => {
    const server = await scripted(ends(begun), refuses(status, headers));
    const error = await read(server.address, 9).catch((error) => error);
    expect(error).toBeInstanceOf(InboxdError);
    expect(error).toMatchObject({ status, message: `Cannot GET /stream: answered ${status}` });
    expect(server.requests.length).toBe(2);
  });

  test("that has no place to go on from ends with whatever is in the way", async () => {
    const server = await scripted(refuses(503), ends("retry: 1\n\n"));
    expect(await failureOf(read(server.address, 1))).toMatchObject({ status: 503 });
    expect(String(await failureOf(read(server.address, 1)))).toContain("the stream ended before it began");
    await server.close();
    expect(await failureOf(read(server.address, 1))).toBeInstanceOf(Error);
    servers.splice(0);
  });

  test("ends with the signal while nothing comes, and closes its connection", async () => {
    const server = await scripted(says(begun));
    const end = new AbortController();
    const reading = (async () => {
      for await (const { event } of eventSource({ ...streamOf(server.address), signal: end.signal }))
        setImmediate(() => end.abort(event));
    })();
    await reading;
    expect(end.signal.reason).toBe("ready");
    await server.closed(1);
  });

  test("without a reader is closed", async () => {
    const server = await scripted(says(begun + told(1) + told(2)), says(told(2)));
    const { signal } = new AbortController();
    const first: string[] = [];
    for await (const { data } of eventSource({ ...streamOf(server.address), signal })) {
      first.push(data);
      if (data === "1") break;
    }
    expect(first).toEqual(["{}", "1"]);
    await server.closed(1);
    expect(server.requests.length).toBe(1);
  });
});

describe("A stream that is kept back", () => {
  const silent = says("");
  const end = () => new AbortController();

  test("is retried rarely, while the other source is read often", async () => {
    const server = await scripted(silent, silent, says(told(99)));
    const over = end();
    const [came, places]: [string[], string[]] = [[], []];
    async function* meanwhile(place: string) {
      places.push(place);
      yield { event: "message.received", id: `evt_${places.length}`, data: `${places.length}` };
    }
    const pace = { beginMs: 100, pollMs: 10, heldBackMs: 50 };
    const asked = { ...streamOf(server.address), lastEventId: "evt_0", signal: over.signal, meanwhile, ...pace };
    for await (const { data } of eventSource(asked)) {
      came.push(data);
      if (data === "99") over.abort();
    }
    // One look as soon as it is known, then five in each of the long waits.
    expect(came).toEqual([...Array.from({ length: 12 }, (_, index) => `${index + 1}`), "99"]);
    expect(places).toEqual(Array.from({ length: 12 }, (_, index) => `evt_${index}`));
    expect(placesAsked(server)).toEqual(["evt_0", "evt_6", "evt_12"]);
  });

  test("resumes behind the position that was found while it was held back", async () => {
    const server = await scripted(silent, says(told(6)));
    const over = end();
    const { promise: isAsked, resolve: asked } = Promise.withResolvers<void>();
    const places: string[] = [];
    async function* meanwhile(place: string) {
      places.push(place);
      yield { event: "message.received", id: "evt_5", data: "5" };
    }
    const findPosition = async () => {
      // While the stream is asked for, and not when it has been given up.
      await server.request(1).then(() => asked());
      return "evt_4";
    };
    const came: string[] = [];
    const pace = { beginMs: 200, pollMs: 10, heldBackMs: 10 };
    for await (const { data } of eventSource({
      ...streamOf(server.address),
      signal: over.signal,
      meanwhile,
      findPosition,
      ...pace,
    })) {
      came.push(data);
      if (data === "6") over.abort();
    }
    await isAsked;
    expect(came).toEqual(["5", "6"]);
    expect(places).toEqual(["evt_4"]);
    expect(placesAsked(server)).toEqual([undefined, "evt_5"]);
  });

  test("ends the search for its position once it has given one, and at the signal", async () => {
    const searched = (over: AbortController) => {
      const { promise, reject } = Promise.withResolvers<string>();
      const findPosition = (signal: AbortSignal) => {
        signal.addEventListener("abort", () => reject(signal.reason));
        return promise;
      };
      return { findPosition, isOver: promise.catch(() => "over"), signal: over.signal };
    };
    const open = end();
    const { findPosition, isOver, signal } = searched(open);
    const server = await scripted(says(begun));
    for await (const { event } of eventSource({ ...streamOf(server.address), signal, findPosition })) {
      expect(event).toBe("ready");
      expect(await isOver).toBe("over");
      open.abort();
    }

    const closed = end();
    const other = searched(closed);
    const refusing = await scripted(refuses(503));
    const meanwhile = async function* () {};
    const reading = (async () => {
      for await (const _ of eventSource({ ...streamOf(refusing.address), meanwhile, ...other }))
        throw new Error("told");
    })();
    await refusing.request(1);
    closed.abort();
    await reading;
    expect(await other.isOver).toBe("over");
  });
});
