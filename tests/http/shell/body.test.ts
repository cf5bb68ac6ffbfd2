import { afterAll, describe, expect, test } from "bun:test";
import { openDoor } from "../../support/http-door.ts";
import corpus from "../../support/json-corpus/bodies.json";
import { beginRequest } from "../../support/raw-body.ts";
import { connectRaw } from "../../support/raw-http.ts";

const door = openDoor({ bodyLimits: { maxBytes: 2_000_000, timeoutMs: 60_000 } });
afterAll(() => door.server.stop(0));

const post = (path: string, body: string | Uint8Array) =>
  door.ask("POST", path, { headers: { "content-type": "application/json" }, body: body as BodyInit });

const head = (path: string, fields: string) =>
  `POST ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ibx_good\r\nContent-Type: application/json\r\n${fields}\r\n\r\n`;

const codeOf = (body: string | undefined) => JSON.parse(body ?? "{}").code;

describe("A body from the corpus", () => {
  test.each(Object.entries(corpus.bodies))("%s is read as RFC 8259 says", async (name, base64) => {
    const answer = await post("/v1/boxes/anything", Buffer.from(base64, "base64"));
    if (name.startsWith("y_")) expect(answer.status).toBe(200);
    else if (name.startsWith("n_")) expect([answer.status, (await answer.json()).code]).toEqual([400, "invalid_json"]);
    else expect([200, 400]).toContain(answer.status);
  });
});

test.each([
  ["a byte that UTF-8 never has", [0xff]],
  ["an overlong form", [0xc0, 0xaf]],
  ["half a surrogate pair in UTF-8", [0xed, 0xa0, 0x80]],
  ["a sequence cut short", [0xe2, 0x82]],
])("A text that is not UTF-8 is refused, not mended: %s", async (_, bytes) => {
  const body = Buffer.concat([Buffer.from('{"size":1,"name":"'), Buffer.from(bytes), Buffer.from('"}')]);
  const answer = await post("/v1/boxes", body);
  expect([answer.status, (await answer.json()).code]).toEqual([400, "invalid_json"]);
});

test("An empty body or object is accepted if no body is required, also in chunks", async () => {
  const json = { "content-type": "application/json" };
  const remove = (headers: Record<string, string>, body?: BodyInit) =>
    door.ask("DELETE", "/v1/boxes/1", { headers, ...(body !== undefined && { body }) });
  const inChunks = (text: string) => new Response(text).body?.pipeThrough(new TransformStream()) as unknown as BodyInit;
  for (const body of [undefined, "", "{}", " {} "])
    expect([body, (await remove(json, body)).status]).toEqual([body, 204]);
  expect((await remove({})).status).toBe(204);
  expect((await remove(json, inChunks("{}"))).status).toBe(204);
  expect((await remove(json, inChunks('{"permanent":true}'))).status).toBe(400);
});

describe("A body that is nested", () => {
  const brackets = (depth: number) => "[".repeat(depth) + "]".repeat(depth);
  const objects = (depth: number) => `${'{"a":'.repeat(depth)}1${"}".repeat(depth)}`;

  test.each([
    ["64 levels", brackets(64), 200],
    ["as many levels as are too many", brackets(66), 400],
    ["500 arrays", brackets(500), 400],
    ["500 objects", objects(500), 400],
    ["100,000 arrays", brackets(100_000), 400],
    ["100,000 objects", objects(100_000), 400],
    ["100,000 arrays without an end", "[".repeat(100_000), 400],
    ["as deep as a body is long", brackets(1_000_000), 400],
  ])("%s deep is accepted or refused without a crash", async (_, body, status) => {
    expect((await post("/v1/boxes/anything", body)).status).toBe(status);
  });

  test("in an unknown field is refused as well", async () => {
    const answer = await post("/v1/boxes", `{"size":1,"x":${brackets(100_000)}}`);
    expect((await answer.json()).detail).toBe("Cannot read body: it is nested more than 64 levels deep");
  });
});

describe("A length", () => {
  test.each([
    ["of code points, an emoji being one", "😀".repeat(5), 201],
    ["of six emoji is six", "😀".repeat(6), 400],
    ["of five letters is five", "abcde", 201],
    ["of six letters is six", "abcdef", 400],
    ["of a letter with a combining accent is two", "e\u0301e\u0301e", 201],
    ["of a family of emoji is all its code points", "👨‍👩‍👧‍👦", 400],
    ["of nothing is none", "", 400],
  ])("%s", async (_, name, status) => {
    expect((await post("/v1/boxes", JSON.stringify({ size: 1, name }))).status).toBe(status);
  });
});

describe("A body at the limit", () => {
  const padded = (bytes: number) => `{"size":1}${" ".repeat(bytes - 10)}`;

  test("is accepted, declared or chunked", async () => {
    expect((await post("/v1/boxes", padded(2_000_000))).status).toBe(201);
    const connection = await connectRaw(door);
    connection.send(head("/v1/boxes", "Transfer-Encoding: chunked"));
    connection.send(`a\r\n{"size":1}\r\n6\r\n      \r\n0\r\n\r\n`);
    expect((await connection.response())?.status).toBe(201);
    connection.end();
  });

  test("and one byte more is refused by its declared length, before a byte of it is sent", async () => {
    const connection = await connectRaw(door);
    connection.send(head("/v1/boxes", "Content-Length: 2000001"));
    const answer = await connection.response();
    expect([answer?.status, codeOf(answer?.body)]).toEqual([413, "payload_too_large"]);
    await connection.closed;
  });

  test("and one byte more in chunks is cut off there, however much would follow", async () => {
    const connection = await connectRaw(door);
    connection.send(head("/v1/boxes", "Transfer-Encoding: chunked"));
    const size = 2_000_001;
    connection.send(`${size.toString(16)}\r\n`);
    connection.send("x".repeat(size));
    const answer = await connection.response();
    expect([answer?.status, codeOf(answer?.body)]).toEqual([413, "payload_too_large"]);
    await connection.closed;
  });

  test("with a declared length that is too large is refused before the key is checked", async () => {
    const connection = await connectRaw(door);
    connection.send("POST /v1/boxes HTTP/1.1\r\nHost: x\r\nContent-Length: 9000000000\r\n\r\n");
    expect((await connection.response())?.status).toBe(413);
    await connection.closed;
  });
});

describe("A body that is too large", () => {
  const fields = ["Authorization: Bearer ibx_good", "Content-Type: application/json"];
  const large = Buffer.alloc(4_000_000, " ");
  const begin = (path: string, framing: string) =>
    beginRequest({ service: { apiUrl: new URL(door.url) } }, path, [...fields, framing]);

  test.each([
    ["that declares its length", `Content-Length: ${large.length}`, [large]],
    ["in chunks", "Transfer-Encoding: chunked", [`${large.length.toString(16)}\r\n`, large, "\r\n0\r\n\r\n"]],
  ])("%s is read to its end if the client sends all before it reads", async (_, framing, pieces) => {
    for (let time = 0; time < 10; time += 1) {
      const request = begin("/v1/boxes", framing);
      await Promise.all(pieces.map(request.sent));
      expect(await request.answer()).toMatch(/^HTTP\/1\.1 413 .*larger than 2000000 bytes"/s);
      await request.closed;
    }
  });

  test("is not read without a limit", async () => {
    const request = begin("/v1/boxes", "Transfer-Encoding: chunked");
    request.sendWithoutEnd(`10000\r\n${"x".repeat(0x10000)}\r\n`);
    await request.closed;
  });

  test("names the other ways to send files if it is a send", async () => {
    const request = begin("/v1/boxes/1/send", "Content-Length: 2000001");
    expect(await request.answer()).toContain(
      '"detail":"Cannot read body: it is larger than 2000000 bytes; larger files come by POST /v1/uploads, or in a body of multipart/form-data"',
    );
  });
});

describe("A body that does not arrive", () => {
  test("in time is refused, and the connection ends", async () => {
    await using hasty = openDoor({ bodyLimits: { maxBytes: 100, timeoutMs: 20 } });
    for (const fields of ["Content-Length: 50", "Transfer-Encoding: chunked"]) {
      const connection = await connectRaw(hasty);
      connection.send(head("/v1/boxes", fields));
      const answer = await connection.response();
      expect([answer?.status, codeOf(answer?.body)]).toEqual([400, "invalid_json"]);
      await connection.closed;
    }
  });

  test("because its client has disconnected is not logged as a bug", async () => {
    await using quiet = openDoor();
    const connection = await connectRaw(quiet);
    connection.send(head("/v1/boxes", "X-Request-Id: gone\r\nContent-Length: 50"));
    connection.send('{"size"');
    connection.end();
    await connection.closed;
    await quiet.ask("GET", "/healthz");
    expect(quiet.log.filter((line) => JSON.parse(line).level > 30)).toEqual([]);
  });
});

test("An unread body does not affect the next request of its connection", async () => {
  const connection = await connectRaw(door);
  const body = '{"size":1}GET /v1/boxes/2 HTTP/1.1\r\n';
  for (const path of ["/v1/boxes/2/send", "/v1/nothing", "/v1/boxes/1/nothing"]) {
    connection.send(`${head(path, `Content-Length: ${body.length}`)}${body}`);
    connection.send("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n");
    expect([(await connection.response())?.status, (await connection.response())?.body]).toEqual([
      path === "/v1/boxes/1/nothing" ? 405 : 404,
      '{"status":"ok","cell":"00"}',
    ]);
  }
  connection.end();
});

test("A client that sends Expect: 100-continue gets 100", async () => {
  const connection = await connectRaw(door);
  connection.send(head("/v1/boxes", "Content-Length: 10\r\nExpect: 100-continue"));
  expect((await connection.response())?.status).toBe(100);
  connection.send('{"size":1}');
  expect((await connection.response())?.status).toBe(201);
  connection.end();
});

describe("A body of a million values", () => {
  test.each([
    ["an array that may hold two", `{"size":1,"parts":[${'"",'.repeat(600_000)}""]}`, "#/parts"],
    ["an array where a text belongs", `{"size":1,"name":[${"1,".repeat(900_000)}1]}`, "#/name"],
    ["objects where a text belongs", `{"size":1,"name":[${"{},".repeat(600_000)}1]}`, "#/name"],
  ])("is refused with one short error: %s", async (_, body, pointer) => {
    const answer = await post("/v1/boxes", body);
    const { errors } = await answer.json();
    expect([answer.status, errors.map((fault: { pointer: string }) => fault.pointer)]).toEqual([400, [pointer]]);
  });
});
