import { afterAll, describe, expect, test } from "bun:test";
import { openDoor } from "../../support/http-door.ts";

const door = openDoor();
afterAll(() => door.server.stop(0));

const json = { "content-type": "application/json" };
const key = { ...json, "idempotency-key": "k" };
const noKey = { authorization: "" };
const large = { ...json, "content-length": "2000001" };

type Row = {
  when: string;
  ask: [method: string, path: string, headers?: Record<string, string>, body?: string];
  answers: [status: number, code: string];
  title: string;
  detail?: string;
  headers?: Record<string, string>;
  fields?: Record<string, unknown>;
};

const failures: Row[] = [
  {
    when: "no key comes along",
    ask: ["GET", "/v1/boxes/1", noKey],
    answers: [401, "unauthorized"],
    title: "Unauthorized",
    headers: { "www-authenticate": "Bearer" },
  },
  {
    when: "no key comes along to a path under /v1 that is not there",
    ask: ["GET", "/v1/nothing/here", noKey],
    answers: [401, "unauthorized"],
    title: "Unauthorized",
  },
  {
    when: "no key comes along with a method that the path does not know",
    ask: ["PUT", "/v1/boxes/1", noKey],
    answers: [401, "unauthorized"],
    title: "Unauthorized",
  },
  {
    when: "no key comes along with a body that is wrong",
    ask: ["POST", "/v1/boxes", { ...json, ...noKey }, "{"],
    answers: [401, "unauthorized"],
    title: "Unauthorized",
  },
  {
    when: "a path under /v1 is not there",
    ask: ["GET", "/v1/nothing"],
    answers: [404, "not_found"],
    title: "Not Found",
    fields: { resource: "route" },
  },
  {
    when: "a path elsewhere is not there, with or without a key",
    ask: ["GET", "/nothing", noKey],
    answers: [404, "not_found"],
    title: "Not Found",
    fields: { resource: "route" },
  },
  {
    when: "a path ends in a slash too many",
    ask: ["GET", "/v1/boxes/"],
    answers: [404, "not_found"],
    title: "Not Found",
  },
  {
    when: "an id can't be decoded",
    ask: ["GET", "/v1/boxes/%ff"],
    answers: [404, "not_found"],
    title: "Not Found",
  },
  {
    when: "the resource is unknown, though body and kind are wrong too",
    ask: ["POST", "/v1/boxes/2/send", { "content-type": "text/plain" }, "{"],
    answers: [404, "not_found"],
    title: "Not Found",
    fields: { resource: "inbox" },
    detail: "Cannot find inbox: no such inbox",
  },
  {
    when: "the path does not know the method",
    ask: ["PUT", "/v1/boxes/1"],
    answers: [405, "method_not_allowed"],
    title: "Method Not Allowed",
    headers: { allow: "DELETE, GET, HEAD, OPTIONS" },
  },
  {
    when: "a path without parameters does not know the method",
    ask: ["PATCH", "/v1/boxes"],
    answers: [405, "method_not_allowed"],
    title: "Method Not Allowed",
    headers: { allow: "GET, HEAD, OPTIONS, POST" },
  },
  {
    when: "a path outside /v1 does not know the method",
    ask: ["POST", "/healthz", noKey],
    answers: [405, "method_not_allowed"],
    title: "Method Not Allowed",
    headers: { allow: "GET, HEAD, OPTIONS" },
  },
  {
    when: "the body is not JSON by its kind, though the idempotency key is missing too",
    ask: ["POST", "/v1/boxes/1/send", { "content-type": "text/plain" }, "{}"],
    answers: [415, "unsupported_media_type"],
    title: "Unsupported Media Type",
  },
  {
    when: "the body is in another charset",
    ask: ["POST", "/v1/boxes", { "content-type": "application/json; charset=latin1" }, '{"size":1}'],
    answers: [415, "unsupported_media_type"],
    title: "Unsupported Media Type",
  },
  {
    when: "the body is compressed",
    ask: ["POST", "/v1/boxes", { ...json, "content-encoding": "gzip" }, '{"size":1}'],
    answers: [415, "unsupported_media_type"],
    title: "Unsupported Media Type",
  },
  {
    when: "a body has fields where none is taken",
    ask: ["DELETE", "/v1/boxes/1", json, '{"permanent":true}'],
    answers: [400, "validation_error"],
    title: "Bad Request",
    detail: 'Cannot delete box: "permanent" is not known here',
  },
  {
    when: "a body is no JSON where none is taken",
    ask: ["DELETE", "/v1/boxes/1", { "content-type": "text/plain" }, "now"],
    answers: [415, "unsupported_media_type"],
    title: "Unsupported Media Type",
  },
  {
    when: "the resource is unknown, though a body comes where none is taken",
    ask: ["DELETE", "/v1/boxes/2", json, '{"permanent":true}'],
    answers: [404, "not_found"],
    title: "Not Found",
  },
  {
    when: "the body has no kind",
    ask: ["POST", "/v1/boxes", { "content-type": "" }, '{"size":1}'],
    answers: [415, "unsupported_media_type"],
    title: "Unsupported Media Type",
  },
  {
    when: "the body is declared too large",
    ask: ["POST", "/v1/boxes", large, "x".repeat(2_000_001)],
    answers: [413, "payload_too_large"],
    title: "Content Too Large",
    headers: { connection: "close" },
  },
  {
    when: "a body too large comes where none is read",
    ask: ["DELETE", "/v1/boxes/1", large, "x".repeat(2_000_001)],
    answers: [413, "payload_too_large"],
    title: "Content Too Large",
  },
  {
    when: "the idempotency key is missing, though the body is wrong too",
    ask: ["POST", "/v1/boxes/1/send", json, "{"],
    answers: [400, "missing_idempotency_key"],
    title: "Bad Request",
  },
  {
    when: "the idempotency key is empty",
    ask: ["POST", "/v1/boxes/1/send", { ...json, "idempotency-key": "" }, "{}"],
    answers: [400, "missing_idempotency_key"],
    title: "Bad Request",
  },
  {
    when: "the idempotency key is not visible ASCII",
    ask: ["POST", "/v1/boxes/1/send", { ...json, "idempotency-key": "a b" }, "{"],
    answers: [400, "invalid_idempotency_key"],
    title: "Bad Request",
  },
  {
    when: "the body is not JSON",
    ask: ["POST", "/v1/boxes/1/send", key, "{canary"],
    answers: [400, "invalid_json"],
    title: "Bad Request",
    detail: "Cannot read body: it is not valid JSON in UTF-8",
    fields: { errors: [{ pointer: "#", detail: "must be one JSON value in UTF-8" }] },
  },
  {
    when: "the body is empty and one is needed",
    ask: ["POST", "/v1/boxes", json, ""],
    answers: [400, "invalid_json"],
    title: "Bad Request",
    detail: "Cannot read body: it is empty",
  },
  {
    when: "there is no body and one is needed",
    ask: ["POST", "/v1/boxes"],
    answers: [400, "invalid_json"],
    title: "Bad Request",
    detail: "Cannot read body: it is empty",
  },
  {
    when: "one field is wrong",
    ask: ["POST", "/v1/boxes", json, '{"size":1,"to":"canary"}'],
    answers: [400, "validation_error"],
    title: "Bad Request",
    detail: 'Cannot create box: "to" must be one email address',
    fields: { errors: [{ pointer: "#/to", detail: "must be one email address" }] },
  },
  {
    when: "many fields are wrong",
    ask: [
      "POST",
      "/v1/boxes",
      json,
      '{"size":"5","name":"","to":7,"kind":"canary","fragile":"true","parts":["a","canary","c"]}',
    ],
    answers: [400, "validation_error"],
    title: "Bad Request",
    detail: 'Cannot create box: "size" must be a whole number from 1 to 9, and 6 more faults',
    fields: {
      errors: [
        { pointer: "#/size", detail: "must be a whole number from 1 to 9" },
        { pointer: "#/name", detail: "must be a string of 1 to 5 characters" },
        { pointer: "#/to", detail: "must be one email address" },
        { pointer: "#/kind", detail: 'must be one of "flat", "tall"' },
        { pointer: "#/fragile", detail: "must be true or false" },
        { pointer: "#/parts", detail: "must be an array of at most 2 items" },
        { pointer: "#/parts/1", detail: "must be a string of at most 3 characters" },
      ],
    },
  },
  {
    when: "a field is missing",
    ask: ["POST", "/v1/boxes", json, "{}"],
    answers: [400, "validation_error"],
    title: "Bad Request",
    fields: { errors: [{ pointer: "#/size", detail: "is required" }] },
  },
  ...["null", "[]", "7", '"text"', "true"].map((body) => ({
    when: `the body is ${body} instead of an object`,
    ask: ["POST", "/v1/boxes", json, body] as Row["ask"],
    answers: [400, "validation_error"] as Row["answers"],
    title: "Bad Request",
    detail: "Cannot create box: the body must be an object",
    fields: { errors: [{ pointer: "#", detail: "must be an object" }] },
  })),
  ...[
    { text: '"a\\u0000b"', what: "NUL" },
    { text: '"\\ud800"', what: "the first half of a surrogate pair" },
    { text: '"\\udc00a"', what: "the second half of a surrogate pair" },
  ].map(({ text, what }) => ({
    when: `a string holds ${what}`,
    ask: ["POST", "/v1/boxes", json, `{"size":1,"name":${text}}`] as Row["ask"],
    answers: [400, "validation_error"] as Row["answers"],
    title: "Bad Request",
    fields: { errors: [{ pointer: "#/name", detail: "must be valid Unicode without NUL" }] },
  })),
  {
    when: "many query parameters are wrong",
    ask: ["GET", "/v1/boxes?limit=101&offset=-1&fragile=yes&q=canary"],
    answers: [400, "invalid_query"],
    title: "Bad Request",
    detail: 'Cannot list boxes: "limit" must be a whole number from 1 to 100, and 3 more faults',
    fields: {
      errors: [
        { parameter: "limit", detail: "must be a whole number from 1 to 100" },
        { parameter: "offset", detail: "must be a whole number of at least 0" },
        { parameter: "fragile", detail: "must be true or false" },
        { parameter: "q", detail: "must be a string of 1 to 3 characters" },
      ],
    },
  },
  ...["1e1", "%201", "0x1", "", "1.0", "abc", "9".repeat(30), "０"].map((limit) => ({
    when: `a number in the query is written ${limit}`,
    ask: ["GET", `/v1/boxes?limit=${limit}`] as Row["ask"],
    answers: [400, "invalid_query"] as Row["answers"],
    title: "Bad Request",
    fields: { errors: [{ parameter: "limit", detail: "must be a whole number from 1 to 100" }] },
  })),
  {
    when: "a query parameter is given twice",
    ask: ["GET", "/v1/boxes?limit=1&limit=1"],
    answers: [400, "invalid_query"],
    title: "Bad Request",
    fields: { errors: [{ parameter: "limit", detail: "must be given once" }] },
  },
  {
    when: "a query parameter holds NUL",
    ask: ["GET", "/v1/boxes?q=%00"],
    answers: [400, "invalid_query"],
    title: "Bad Request",
    fields: { errors: [{ parameter: "q", detail: "must be valid Unicode without NUL" }] },
  },
  {
    when: "a limit is full",
    ask: ["GET", "/v1/boxes/1/limit"],
    answers: [429, "daily_limit_exceeded"],
    title: "Too Many Requests",
    headers: { "retry-after": "1", ratelimit: '"daily";r=0;t=1' },
    fields: { limit: 200, used: 200, resets_at: "2026-03-22T00:00:00.000Z" },
  },
  ...["bug", "string", "query", "schema"].map((kind) => ({
    when: `the service has a bug (${kind})`,
    ask: ["GET", `/v1/boxes/1/${kind}`] as Row["ask"],
    answers: [500, "internal_error"] as Row["answers"],
    title: "Internal Server Error",
    detail: "Cannot answer: something went wrong on our side",
  })),
  ...["away", "wrapped-away"].map((kind) => ({
    when: `the database is ${kind}`,
    ask: ["GET", `/v1/boxes/1/${kind}`] as Row["ask"],
    answers: [503, "service_unavailable"] as Row["answers"],
    title: "Service Unavailable",
    headers: { "retry-after": "1" },
    detail: "Cannot answer: the database is away",
  })),
];

describe("A failure is told as a problem when", () => {
  test.each(failures.map((row) => [row.when, row] as const))("%s", async (_, row) => {
    const [method, path, headers = {}, body] = row.ask;
    const answer = await door.ask(method, path, { headers, ...(body !== undefined && { body }) });
    const text = await answer.text();
    const problem = JSON.parse(text);

    expect([answer.status, problem.code]).toEqual(row.answers);
    expect(answer.headers.get("content-type")).toBe("application/problem+json");
    expect(problem).toEqual({
      type: "about:blank",
      title: row.title,
      status: answer.status,
      detail: row.detail ?? expect.stringMatching(/^Cannot .+: .+[^.]$/),
      instance: path.split("?")[0],
      code: row.answers[1],
      error: row.answers[1],
      message: problem.detail,
      request_id: answer.headers.get("x-request-id"),
      // What a row does not name it does not judge, but these come only where a row is about them.
      ...Object.fromEntries(
        ["resource", "errors"].filter((name) => name in problem).map((name) => [name, problem[name]]),
      ),
      ...row.fields,
    });
    expect(Object.keys(problem).slice(0, 9)).toEqual([
      "type",
      "title",
      "status",
      "detail",
      "instance",
      "code",
      "error",
      "message",
      "request_id",
    ]);
    for (const [name, value] of Object.entries(row.headers ?? {})) expect(answer.headers.get(name)).toBe(value);
    expect(text).not.toContain("canary");
  });
});

describe("A failure is told as application/json, in the same bytes,", () => {
  const everywhere: Row["ask"][] = [
    ["GET", "/v1/boxes/1", noKey],
    ["GET", "/v1/boxes/2"],
    ["GET", "/v1/nothing"],
    ["GET", "/nothing", noKey],
    ["PUT", "/v1/boxes/1"],
    ["GET", "/v1/boxes?limit=x"],
    ["POST", "/v1/boxes", json, "{"],
    ["POST", "/v1/boxes", { "content-type": "text/plain" }, "{}"],
    ["POST", "/v1/boxes", large, "x".repeat(2_000_001)],
    ["GET", "/v1/boxes/%ff"],
    ["GET", "/v1/boxes/1/bug"],
    ["GET", "/v1/boxes/1/away"],
  ];
  const rows = everywhere.map((ask, at) => [`${at + 1}. ${ask[0]} ${ask[1]}`, ask] as const);
  test.each(rows)("to a client that takes nothing else: %s", async (_, [method, path, headers, body]) => {
    const ask = async (accept: string) => {
      const init = { headers: { "x-request-id": "same", ...headers, accept }, ...(body !== undefined && { body }) };
      const answer = await door.ask(method, path, init);
      const [type, vary] = ["content-type", "vary"].map((name) => answer.headers.get(name));
      return { status: answer.status, type, vary, text: await answer.text() };
    };
    const usual = await ask("*/*");
    expect(usual.status).toBeGreaterThanOrEqual(400);
    expect(usual).toMatchObject({ type: "application/problem+json", vary: "Accept" });
    expect(await ask("application/json")).toEqual({ ...usual, type: "application/json" });
  });

  test.each([
    ["application/json", "application/json"],
    ["text/html, application/json;q=0.1", "application/json"],
    ["application/json; charset=utf-8, text/plain", "application/json"],
    ["application/json, */*;q=0", "application/json"],
    ["application/json, application/problem+json;q=0, */*", "application/json"],
    ["application/json, */*;q=0.1", "application/problem+json"],
    ["application/json, application/problem+json;q=0.1", "application/problem+json"],
    ["application/json, application/*", "application/problem+json"],
    ["application/json;q=0", "application/problem+json"],
    ["text/html", "application/problem+json"],
    ["", "application/problem+json"],
  ])("and to no other: %p gets %s", async (accept, type) => {
    const answer = await door.ask("GET", "/v1/nothing", { headers: { accept } });
    expect(answer.headers.get("content-type")).toBe(type);
  });
});

describe("Of a bug", () => {
  const logged = async (kind: string) => {
    const answer = await door.ask("GET", `/v1/boxes/1/${kind}`);
    const id = answer.headers.get("x-request-id");
    return door.log.filter((line) => line.includes(`"${id}"`) && JSON.parse(line).level === 50);
  };

  test("the log has all that speaks of the program", async () => {
    const [line = "", ...others] = await logged("bug");
    expect(others).toEqual([]);
    expect(JSON.parse(line)).toMatchObject({
      method: "GET",
      path: "/v1/boxes/1/bug",
      error: { type: "TypeError", message: "canary-bug" },
    });
    expect(JSON.parse(line).error.stack[0]).toContain("http-door.ts");
  });

  test.each(["query", "schema", "string"])("the log has no value that came along (%s)", async (kind) => {
    const [line = ""] = await logged(kind);
    expect(line).not.toBe("");
    expect(line).not.toContain("canary");
  });

  test("the log has the statement and the database's word", async () => {
    const [line = ""] = await logged("query");
    expect(JSON.parse(line).error).toMatchObject({
      message: "Failed query: select $1",
      cause: { message: "duplicate key", code: "23505" },
    });
  });

  test("the log has the places that break the schema of a response", async () => {
    const [line = ""] = await logged("schema");
    expect(JSON.parse(line)).toMatchObject({ brokenSchema: "response", faults: ["/size"] });
  });
});

describe("The id of a request", () => {
  const idFor = async (id: string) => {
    const answer = await door.ask("GET", "/healthz", { headers: { "x-request-id": id } });
    return answer.headers.get("x-request-id");
  };

  test.each([
    ["one visible character", "a"],
    ["128 of them", "~".repeat(128)],
    ["punctuation", '!"#$%&/()=?{}'],
  ])("is the caller's own: %s", async (_, id) => {
    expect(await idFor(id)).toBe(id);
  });

  test.each([
    ["129 characters", "a".repeat(129)],
    ["a space within", "a b"],
    ["not ASCII", "\u00e9"],
    ["empty", ""],
  ])("is made where the caller's is %s", async (_, id) => {
    expect(await idFor(id)).toMatch(/^made-\d+$/);
  });

  test("is on every kind of answer", async () => {
    for (const path of ["/v1/boxes/1", "/v1/boxes/2", "/nothing", "/docs", "/docs/viewer.js", "/openapi.json"]) {
      const answer = await door.ask("GET", path, { headers: { "x-request-id": "mine" } });
      expect([path, answer.headers.get("x-request-id")]).toEqual([path, "mine"]);
    }
  });
});

describe("A request that is in order", () => {
  test("gets what the schema of the answer names, and nothing else", async () => {
    const answer = await door.ask("POST", "/v1/boxes", { headers: json, body: '{"size":5,"name":"a😀😀😀b"}' });
    expect(answer.status).toBe(201);
    expect(answer.headers.get("location")).toBe("/v1/boxes/1");
    expect(await answer.json()).toEqual({ id: '{"size":5,"name":"a😀😀😀b","fragile":true}', size: 5 });
  });

  test.each([
    ["application/json; charset=utf-8"],
    ['Application/JSON;charset="UTF-8"'],
    ["application/json;profile=x"],
    ["application/vnd.box+json"],
  ])("may say its kind as %s", async (type) => {
    const answer = await door.ask("POST", "/v1/boxes", { headers: { "content-type": type }, body: '{"size":1}' });
    expect(answer.status).toBe(201);
  });

  test.each([["/healthz"], ["/docs"], ["/openapi.json"]])(
    "may have any parameter where no key is needed, since links are given some on their way: %s",
    async (path) => {
      expect((await door.ask("GET", `${path}?utm_source=mail&x=%00&%ff=%zz`, { headers: noKey })).status).toBe(200);
    },
  );

  test("may end in a question mark", async () => {
    for (const path of ["/v1/boxes?", "/v1/boxes/1?", "/v1/boxes/1?&"]) {
      expect([path, (await door.ask("GET", path)).status]).toEqual([path, 200]);
    }
  });

  test("may spell a name in its other way, and the handler sees the first", async () => {
    const body = '{"size":1,"lids":[{"isOpen":true},{"is_open":false}]}';
    const answer = await door.ask("POST", "/v1/boxes", { headers: json, body });
    const { id } = await answer.json();
    expect(JSON.parse(id).lids).toEqual([{ is_open: true }, { is_open: false }]);
    const list = await door.ask("GET", "/v1/boxes?is_fragile=true");
    expect(JSON.parse((await list.json()).id)).toEqual({ limit: 50, offset: 0, fragile: true });
  });

  test.each([
    ["no body", undefined],
    ["an empty body", ""],
    ["an empty object", "{}"],
  ])("may have %s where none is needed", async (_, body) => {
    const answer = await door.ask("POST", "/v1/boxes/empty", { headers: json, ...(body !== undefined && { body }) });
    expect(await answer.json()).toEqual({ id: "{}", size: 1 });
  });

  test("has its query converted and its defaults filled in", async () => {
    const answer = await door.ask("GET", "/v1/boxes?limit=7&fragile=true&q=a%2Bb");
    expect(JSON.parse((await answer.json()).id)).toEqual({ limit: 7, offset: 0, fragile: true, q: "a+b" });
  });

  test("may ask for the head, or for what is allowed", async () => {
    const head = await door.ask("HEAD", "/v1/boxes/1");
    expect([head.status, await head.text()]).toEqual([200, ""]);
    const options = await door.ask("OPTIONS", "/v1/boxes/1");
    expect([options.status, options.headers.get("allow")]).toEqual([204, "DELETE, GET, HEAD, OPTIONS"]);
    expect((await door.ask("OPTIONS", "/v1/boxes/1", { headers: noKey })).status).toBe(401);
  });

  test("may end in no content", async () => {
    const answer = await door.ask("DELETE", "/v1/boxes/1");
    expect([answer.status, await answer.text()]).toEqual([204, ""]);
  });

  test("leaves one line in the log, with its id", async () => {
    await door.ask("GET", "/v1/boxes/1", { headers: { "x-request-id": "once" } });
    await door.ask("GET", "/v1/boxes/1", { headers: { "x-request-id": "after" } });
    const lines = door.log.filter((line) => line.includes('"once"')).map((line) => JSON.parse(line));
    expect(lines).toMatchObject([{ level: 20, method: "GET", path: "/v1/boxes/1", status: 200 }]);
  });
});
