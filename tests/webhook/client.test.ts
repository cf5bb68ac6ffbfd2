import { afterEach, describe, expect, test } from "bun:test";
import { connect } from "node:net";
import { Webhook } from "standardwebhooks";
import { webhookFault, webhookHeaders, webhookSigner } from "../../src/standards/signature.ts";
import { type WebhookClientOptions, type WebhookReply, webhookClient } from "../../src/webhook/client.ts";
import { leavingOf } from "../../src/workers/outbox/delivery-slots.ts";
import { failureOf } from "../support/failure.ts";
import { fairly } from "../support/fair-time.ts";
import {
  answer,
  type Behaviour,
  endless,
  hang,
  type Receiver,
  type ReceiverOptions,
  raw,
  rawThenClose,
  reset,
  startReceiver,
  trickle,
} from "../support/receiver.ts";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0)) await cleanup();
});

async function receiver(options: ReceiverOptions | Behaviour = {}): Promise<Receiver> {
  const started = await startReceiver(typeof options === "function" ? { behaviour: options } : options);
  cleanups.push(started.close);
  return started;
}

function client(options: Partial<WebhookClientOptions> = {}) {
  const made = webhookClient({ allowPrivate: true, version: "1.2.3", timeoutMs: 5000, ...options });
  cleanups.push(made.close);
  return made;
}

const gzip = (text: string) => new Uint8Array(Bun.gzipSync(Buffer.from(text)));

describe("the request", () => {
  test("is one POST with our headers, and both signatures verify", async () => {
    const secret = "whsec_ABEiM0RVZneImaq7zN3u/wARIjNEVWZ3iJmqu8zd7v8=";
    const hook = await receiver();
    const body = JSON.stringify({
      event: "message.received",
      external_id: "user-7 ☕ 📨",
      body_text: "Line 1\nLine 2",
    });
    const sentAt = new Date();
    const headers = await webhookHeaders({ eventId: "evt_01", sentAt, body, signer: await webhookSigner(secret) });
    const reply = await client().post({ url: `${hook.url}?a=ü&b=%20`, headers, body });

    expect(reply).toMatchObject({ kind: "answered", status: 200 });
    const request = await hook.request(1);
    expect(request).toMatchObject({ method: "POST", path: "/hook?a=%C3%BC&b=%20", body });
    expect(request.headers).toEqual({
      ...headers,
      host: `127.0.0.1:${hook.port}`,
      accept: "*/*",
      "accept-encoding": "identity",
      "user-agent": "inboxd/1.2.3",
      "content-length": String(Buffer.byteLength(body)),
    });
    expect(await webhookFault({ headers: request.headers, body: request.body, secret, now: sentAt })).toBeUndefined();
    expect(new Webhook(secret).verify(request.body, request.headers)).toEqual(JSON.parse(body));
  });

  test("of half a megabyte arrives whole", async () => {
    const hook = await receiver();
    const body = JSON.stringify({ body_text: "ü☕".repeat(100_000) });
    expect(await client().post({ url: hook.url, headers: {}, body })).toMatchObject({ status: 200 });
    expect((await hook.request(1)).body === body).toBe(true);
  });

  test.each([{ a: "b\r\nX: y" }, { "a: b\r\nc": "d" }, { a: "ü" }, { "": "a" }])(
    "is not sent with a header that could become two: %p",
    async (headers) => {
      const hook = await receiver();
      expect(String(await failureOf(client().post({ url: hook.url, headers, body: "{}" })))).toContain("malformed");
      expect(hook.connections()).toBe(0);
    },
  );
});

describe("the reply shows the answer of the receiver:", () => {
  const rows: [string, Behaviour, Partial<WebhookReply>][] = [
    ["200", answer(200, {}, "thanks"), { kind: "answered", status: 200, body: "thanks" }],
    ["204", answer(204), { kind: "answered", status: 204, body: "" }],
    ["301, not followed", answer(301, { location: "/elsewhere" }), { kind: "answered", status: 301 }],
    ["410", answer(410), { kind: "answered", status: 410 }],
    ["429 + Retry-After", answer(429, { "retry-after": "120" }), { status: 429, retryAfter: "120" }],
    ["500", answer(500, {}, "broken"), { kind: "answered", status: 500, body: "broken" }],
    [
      "503 + a date",
      answer(503, { "Retry-After": "Sat, 21 Mar 2026 10:15:00 GMT" }),
      { retryAfter: "Sat, 21 Mar 2026 10:15:00 GMT" },
    ],
    [
      "chunks",
      raw("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\nsome\r\n5;x=y\r\n text\r\n0\r\nt: u\r\n\r\n"),
      { body: "some text" },
    ],
    ["a body that ends with the connection", rawThenClose("HTTP/1.1 200 OK\r\n\r\nto the end"), { body: "to the end" }],
    ["HTTP/1.0", rawThenClose("HTTP/1.0 200 OK\r\n\r\nold"), { status: 200, body: "old" }],
    ["lone LFs", raw("HTTP/1.1 200 OK\ncontent-length: 2\n\nok"), { status: 200, body: "ok" }],
    [
      "interim answers first",
      raw(
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: a\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok",
      ),
      { status: 200, body: "ok" },
    ],
    ["101, which was not requested", raw("HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\n\r\n"), { status: 101 }],
    ["no reason phrase", raw("HTTP/1.1 200\r\ncontent-length: 0\r\n\r\n"), { status: 200 }],
    [
      "NUL, escapes and half a character",
      answer(200, {}, "a\u0000b\u001b[31m\u009b"),
      { body: "a\ufffdb\ufffd[31m\ufffd" },
    ],
    [
      "bytes that are no UTF-8",
      raw(Buffer.from("HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\na\xff\xfe", "latin1")),
      { body: "a\ufffd\ufffd" },
    ],
    [
      "nothing at all, and the end",
      rawThenClose(""),
      { kind: "no_answer", error: "the connection was closed before an answer", connected: true },
    ],
    ["a reset", reset, { kind: "no_answer", error: "connection reset", connected: true }],
    [
      "less than it promised",
      rawThenClose("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf"),
      { kind: "no_answer", error: "the connection was closed within the answer", connected: true },
    ],
    [
      "chunks that break off",
      rawThenClose("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n9\r\nhalf"),
      { kind: "no_answer", error: "the connection was closed within the answer" },
    ],
    [
      "chunks that are none",
      raw("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n-1\r\nx"),
      { kind: "no_answer", error: "the answer's chunks are malformed" },
    ],
    [
      "two lengths",
      raw("HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\nabc"),
      { kind: "no_answer", error: "the answer's Content-Length is malformed" },
    ],
    [
      "a negative length",
      raw("HTTP/1.1 200 OK\r\ncontent-length: -2\r\n\r\n"),
      { kind: "no_answer", error: "the answer's Content-Length is malformed" },
    ],
    [
      "another protocol",
      raw("SSH-2.0-OpenSSH_9.6\r\n\r\n"),
      { kind: "no_answer", error: "the answer is not HTTP/1.1" },
    ],
    ["HTTP/2", raw("HTTP/2 200 OK\r\n\r\n"), { kind: "no_answer", error: "the answer is not HTTP/1.1" }],
    [
      "headers without end",
      raw(`HTTP/1.1 200 OK\r\nx: ${"a".repeat(20_000)}`),
      { kind: "no_answer", error: "the answer's headers are too large" },
    ],
    [
      "interim answers without end",
      raw("HTTP/1.1 100 Continue\r\n\r\n".repeat(2000)),
      { kind: "no_answer", error: "the answer's headers are too large" },
    ],
  ];
  test.each(rows)("%s", async (_, behaviour, expected) => {
    const hook = await receiver(behaviour);
    expect(await client().post({ url: hook.url, headers: {}, body: "{}" })).toMatchObject(expected);
    expect(hook.requests).toHaveLength(1);
  });

  test("down: connection refused", async () => {
    const gone = await startReceiver();
    await gone.close();
    expect(await client().post({ url: gone.url, headers: {}, body: "{}" })).toMatchObject({
      kind: "no_answer",
      error: "connection refused",
      connected: false,
    });
  });

  test("a server of another protocol that speaks first gets no request", async () => {
    const hook = await receiver({ greeting: "220 mail.test ESMTP\r\n\r\n", behaviour: hang });
    expect(await client().post({ url: hook.url, headers: {}, body: "{}" })).toMatchObject({ kind: "no_answer" });
    expect(hook.connections()).toBe(1);
  });

  test("a redirect into the internal network is not followed", async () => {
    const secretHost = await receiver();
    const hook = await receiver(answer(307, { location: secretHost.url }));
    expect(await client().post({ url: hook.url, headers: {}, body: "{}" })).toMatchObject({ status: 307 });
    hook.behave(answer(302, { location: "http://169.254.169.254/latest/meta-data/" }));
    expect(await client().post({ url: hook.url, headers: {}, body: "{}" })).toMatchObject({ status: 302 });
    expect(secretHost.connections()).toBe(0);
  });
});

describe("at most 4 KiB of an answer are read:", () => {
  test("a body of five gigabytes is cut off while it is sent", async () => {
    const sent = { bytes: 0 };
    const fiveGb = 5 * 2 ** 30;
    const hook = await receiver(
      endless(`HTTP/1.1 200 OK\r\ncontent-length: ${fiveGb}\r\n\r\n`, Buffer.alloc(65_536, "a"), sent, fiveGb),
    );
    const reply = await client().post({ url: hook.url, headers: {}, body: "{}" });
    expect(reply).toMatchObject({ kind: "answered", status: 200, body: "a".repeat(4096) });
    await hook.closed(1);
    // Only what fits into the buffers of the kernel; far from all.
    expect(sent.bytes).toBeLessThan(64 * 2 ** 20);
  });

  test("endless chunk sizes and extensions are cut off too", async () => {
    const sent = { bytes: 0 };
    const hook = await receiver(
      endless("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1;", Buffer.alloc(65_536, "x"), sent, 2 ** 30),
    );
    expect(await client().post({ url: hook.url, headers: {}, body: "{}" })).toMatchObject({ status: 200, body: "" });
    await hook.closed(1);
  });

  test("a gzip bomb is not decompressed", async () => {
    const bomb = gzip("a".repeat(50_000_000));
    const head = `HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: ${bomb.length}\r\n\r\n`;
    const hook = await receiver(raw(Buffer.concat([Buffer.from(head), bomb])));
    expect(await client().post({ url: hook.url, headers: {}, body: "{}" })).toMatchObject({ status: 200, body: "" });
  });

  test("no character is cut in two, and invalid bytes do not make the text longer", async () => {
    const hook = await receiver(answer(200, {}, `a${"☕".repeat(2000)}`));
    const reply = await client().post({ url: hook.url, headers: {}, body: "{}" });
    expect(reply).toMatchObject({ body: `a${"☕".repeat(1365)}` });
    hook.behave(
      raw(Buffer.concat([Buffer.from("HTTP/1.1 200 OK\r\ncontent-length: 4096\r\n\r\n"), Buffer.alloc(4096, 0xff)])),
    );
    const garbage = await client().post({ url: hook.url, headers: {}, body: "{}" });
    expect(garbage).toMatchObject({ body: "\ufffd".repeat(1365) });
  });
});

describe("the time limit ends", () => {
  const rows: [string, Behaviour, string][] = [
    ["no answer", hang, "timed out after 0.2 s, waiting for headers"],
    ["slow headers", trickle("HTTP/1.1 200 OK\r\nx: ", 20), "timed out after 0.2 s, waiting for headers"],
    [
      "a slow body",
      trickle("HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n", 20),
      "timed out after 0.2 s, waiting for body",
    ],
  ];
  test.each(rows)("%s", async (_, behaviour, error) => {
    const hook = await receiver(behaviour);
    const reply = await client({ timeoutMs: 200 }).post({ url: hook.url, headers: {}, body: "{}" });
    expect(reply).toMatchObject({ kind: "no_answer", error, connected: true });
    expect(reply.latencyMs).toBeWithin(190, 1000);
    await hook.closed(1);
  });

  test("a name server that is silent", async () => {
    const silent = client({ timeoutMs: 100, lookup: () => new Promise(() => undefined) });
    expect(await silent.post({ url: "http://hooks.test/", headers: {}, body: "{}" })).toMatchObject({
      kind: "no_answer",
      error: "timed out after 0.1 s, resolving the host",
      connected: false,
    });
  });

  test("a TLS handshake that hangs", async () => {
    const hook = await receiver(hang);
    const url = hook.url.replace("http:", "https:");
    expect(await client({ timeoutMs: 200 }).post({ url, headers: {}, body: "{}" })).toMatchObject({
      kind: "no_answer",
      error: "timed out after 0.2 s, connecting",
      connected: false,
    });
    await hook.closed(1);
  });

  test("an abort ends it at once", async () => {
    const hook = await receiver(hang);
    const stop = new AbortController();
    const reply = client().post({ url: hook.url, headers: {}, body: "{}", signal: stop.signal });
    await hook.request(1);
    stop.abort();
    expect(await reply).toMatchObject({ kind: "no_answer", error: "the attempt was aborted" });
    await hook.closed(1);
    const late = await client().post({ url: hook.url, headers: {}, body: "{}", signal: stop.signal });
    expect(late).toMatchObject({ kind: "no_answer", error: "the attempt was aborted", connected: false });
    expect(hook.connections()).toBe(1);
  });

  test("300 receivers that hang do not delay one that answers", async () => {
    const [hanging, good] = [await receiver(hang), await receiver()];
    const poster = client({ timeoutMs: 3000 });
    const stop = new AbortController();
    const hung = Array.from({ length: 300 }, () =>
      poster.post({ url: hanging.url, headers: {}, body: "{}", signal: stop.signal }),
    );
    await hanging.request(300);
    const { result, fairMs } = await fairly(() => poster.post({ url: good.url, headers: {}, body: "{}" }));
    expect(result).toMatchObject({ kind: "answered", status: 200 });
    expect(fairMs).toBeLessThan(1000);
    stop.abort();
    await Promise.all(hung);
  });
});

describe("connections", () => {
  const post = (poster: ReturnType<typeof client>, url: string) => poster.post({ url, headers: {}, body: "{}" });

  test("are used again", async () => {
    const hook = await receiver(answer(200, {}, "ok"));
    const poster = client();
    for (let count = 0; count < 5; count++) expect(await post(poster, hook.url)).toMatchObject({ body: "ok" });
    expect(hook.requests).toHaveLength(5);
    expect(hook.connections()).toBe(1);
  });

  const rows: [string, Behaviour][] = [
    ["asked to close", answer(200, { connection: "close" })],
    ["allowed no idle time", answer(200, { "keep-alive": "timeout=1" })],
    ["spoke HTTP/1.0", raw("HTTP/1.0 200 OK\r\ncontent-length: 0\r\n\r\n")],
    [
      "wrote more than an answer",
      raw("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\nHTTP/1.1 500 No\r\ncontent-length: 0\r\n\r\n"),
    ],
    [
      "answered with two framings",
      raw("HTTP/1.1 200 OK\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n"),
    ],
    ["answered with more than 4 KiB", answer(200, {}, "a".repeat(5000))],
  ];
  test.each(rows)("are not used again when the receiver %s", async (_, behaviour) => {
    const hook = await receiver(behaviour);
    const poster = client();
    for (let count = 0; count < 2; count++) expect(await post(poster, hook.url)).toMatchObject({ status: 200 });
    expect(hook.connections()).toBe(2);
  });

  test("that break after the request was sent end the attempt: nothing is sent twice", async () => {
    const hook = await receiver();
    const poster = client();
    await post(poster, hook.url);
    hook.behave((socket, request) =>
      request.connection === 1 ? reset(socket, request) : answer(200)(socket, request),
    );
    const broken = await post(poster, hook.url);
    expect(broken).toMatchObject({ kind: "no_answer", error: "connection reset", connected: true, stale: true });
    expect(leavingOf(broken)).toBe("unknown");
    expect(await post(poster, hook.url)).toMatchObject({ kind: "answered", status: 200 });
    expect(hook.requests.map(({ connection }) => connection)).toEqual([1, 1, 2]);
  });

  test("that are closed before a byte is sent are replaced by a new one", async () => {
    const hook = await receiver();
    const poster = client();
    await post(poster, hook.url);
    const start = { inOrder: closesAll, leave: () => undefined };
    const reply = await poster.post({ url: hook.url, headers: {}, body: "{}", start });
    expect(reply).toMatchObject({ kind: "answered", status: 200 });
    expect(hook.requests.map(({ connection }) => connection)).toEqual([1, 3]);

    /** Waits until both ends know: by then another connection of this process has seen its end, too. */
    async function closesAll(): Promise<void> {
      if (hook.connections() > 1) return;
      const witness = connect(hook.port, "127.0.0.1");
      await hook.connected(2);
      const seen = new Promise((resolve) => witness.once("close", resolve));
      hook.disconnect();
      await seen;
      await new Promise((resolve) => setImmediate(resolve));
    }
  });

  test("are not used by a request that wants a new one", async () => {
    const hook = await receiver();
    const poster = client();
    await post(poster, hook.url);
    await poster.post({ url: hook.url, headers: {}, body: "{}", fresh: true });
    expect(hook.connections()).toBe(2);
  });

  test("that break within an answer end the attempt", async () => {
    const hook = await receiver();
    const poster = client();
    await post(poster, hook.url);
    hook.behave(rawThenClose("HTTP/1.1 200"));
    expect(await post(poster, hook.url)).toMatchObject({ kind: "no_answer", connected: true });
    expect(hook.requests).toHaveLength(2);
  });

  test("are closed with the client, but not those with a request in progress", async () => {
    const hook = await receiver();
    const poster = client();
    await post(poster, hook.url);
    const held: (() => void)[] = [];
    hook.behave((socket, request) => void held.push(() => answer(200)(socket, request)));
    const inHand = [post(poster, hook.url), post(poster, hook.url)];
    await hook.request(3);
    poster.close();
    for (const letGo of held) letGo();
    expect(await Promise.all(inHand)).toMatchObject([{ status: 200 }, { status: 200 }]);
    await hook.closed(2);
  });
});

test("HTTP_PROXY is ignored", async () => {
  const [proxy, hook] = [await receiver(), await receiver(answer(200, {}, "direct"))];
  const script = `
    import { webhookClient } from "./src/webhook/client.ts";
    const client = webhookClient({ allowPrivate: true, version: "1" });
    console.log((await client.post({ url: "${hook.url}", headers: {}, body: "{}" })).body);
    client.close();
  `;
  const proxyUrl = proxy.url.replace("/hook", "");
  const child = Bun.spawn([process.execPath, "-e", script], {
    cwd: `${import.meta.dir}/../..`,
    env: {
      ...process.env,
      HTTP_PROXY: proxyUrl,
      http_proxy: proxyUrl,
      ALL_PROXY: proxyUrl,
      NO_PROXY: "",
      no_proxy: "",
    },
    stdout: "pipe",
  });
  expect(await new Response(child.stdout).text()).toBe("direct\n");
  expect(proxy.connections()).toBe(0);
});
