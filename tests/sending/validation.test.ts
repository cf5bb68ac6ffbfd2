import { beforeAll, describe, expect, test } from "bun:test";
import { newAccount, newInbox, send } from "../support/sends.ts";
import { countRows, storedMessages } from "../support/stored.ts";
import type { ApiInit } from "../support/world.ts";
import { oneWorldOn } from "../support/world-on.ts";

const world = oneWorldOn("embedded", { env: { SENDS_PER_MINUTE: "1000", COLD_RECIPIENT_DAILY: "0" } });
let inboxId: string;

beforeAll(async () => {
  inboxId = await newInbox(world(), world().apiKey, "ada");
});

const good = { to: "jane@example.com", subject: "Hello", body: "Hello Jane" };
const withKey = { "idempotency-key": "order-1" };

function ask(init: ApiInit, path = `/v1/inboxes/${inboxId}/send`) {
  return world().api(path, { method: "POST", ...init });
}

function post(body: unknown, headers: Record<string, string> = withKey) {
  return ask({ body, headers: { ...headers, prefer: "respond-async" } });
}

function pointersOf(body: { errors?: { pointer: string }[] }): string[] | undefined {
  return body.errors?.map(({ pointer }) => pointer).sort();
}

describe("all errors of a body are reported together", () => {
  const faults: [what: string, body: unknown, pointers: string[]][] = [
    ["nothing in it", {}, ["#/body", "#/subject", "#/to"]],
    [
      "each field wrong",
      {
        to: "jane",
        subject: "a\nb",
        body: "",
        bodyHtml: 5,
        threadId: true,
        includeQuote: "yes",
        replyTo: "Jane <j@x.example>",
        readUpToMessageId: 1,
      },
      ["#/body", "#/bodyHtml", "#/includeQuote", "#/readUpToMessageId", "#/replyTo", "#/subject", "#/threadId", "#/to"],
    ],
    ["no subject for a new thread, and a wrong address", { to: "a@b", body: "x" }, ["#/subject", "#/to"]],
    ["an empty subject", { ...good, subject: "" }, ["#/subject"]],
    ["a subject of 999 characters", { ...good, subject: "x".repeat(999) }, ["#/subject"]],
    ["a subject with CR", { ...good, subject: "Hi\rBcc: eve@x.example" }, ["#/subject"]],
    ["a subject with LF", { ...good, subject: "Hi\nBcc: eve@x.example" }, ["#/subject"]],
    ["NUL and half a pair of surrogates", { ...good, subject: "a\0b", body: "a\ud800b" }, ["#/body", "#/subject"]],
    ["a subject that is null", { ...good, subject: null }, ["#/subject"]],
    ["a body of 100,001 characters", { ...good, body: "x".repeat(100_001) }, ["#/body"]],
    ["HTML of 500,001 characters", { ...good, bodyHtml: "x".repeat(500_001) }, ["#/bodyHtml"]],
    ["a list of nobody", { ...good, to: [] }, ["#/to"]],
    ["an array", [], ["#"]],
    ["a string", '"jane"', ["#"]],
  ];
  test.each(faults)("%s", async (_, body, pointers) => {
    const answer = await post(body);
    expect([answer.status, answer.body.code]).toEqual([400, "validation_error"]);
    expect(pointersOf(answer.body)).toEqual(pointers);
  });

  test("no error repeats the caller's text", async () => {
    const { body } = await post({ to: "canary", subject: "canary\n", body: "canary\0" });
    expect(JSON.stringify(body)).not.toContain("canary");
  });

  const noAddresses = [
    "",
    "jane",
    "jane@",
    "@x.example",
    "jane@x",
    "jane@x..example",
    "jane@-x.example",
    "jane@x.example.",
    "<jane@x.example>",
    "a@x.example, b@x.example",
    "a@x.example;b@x.example",
    "jane@x.example\r\nBcc: eve@x.example",
    "jane@x.example\n",
    " jane@x.example",
    "jane @x.example",
    "jane\0@x.example",
    "jane\u2028@x.example",
    "jane@x.exa\u2029mple",
    '"jane doe"@x.example',
    "jane@[127.0.0.1]",
    "jane@127.0.0.1",
    "jane@x.example\u0000",
    `${"x".repeat(65)}@x.example`,
    `jane@${"x".repeat(64)}.example`,
    "jän@x.example",
    `jane@${"long-label-of-a-domain.".repeat(11)}example`,
    "jane@x.example\ud800",
    "jane@x%2eexample",
    "a@b@x.example",
  ];
  test.each(noAddresses)("%j is neither a recipient nor a replyTo", async (address) => {
    const { status, body } = await post({ ...good, to: address, replyTo: address });
    expect([status, pointersOf(body)]).toEqual([400, ["#/replyTo", "#/to"]]);
  });

  test.each(["Jane <jane@x.example>", '"Jane" <jane@x.example>'])(
    "%j is a recipient and no replyTo",
    async (address) => {
      const { status, body } = await post({ ...good, to: address, replyTo: address });
      expect([status, pointersOf(body)]).toEqual([400, ["#/replyTo"]]);
    },
  );

  test("a limit counts characters, not UTF-16 units", async () => {
    const subject = "😀".repeat(998);
    const longest = { ...good, subject, body: "😀".repeat(100_000) };
    expect((await send(world(), inboxId, longest)).status).toBe(200);
    expect((await send(world(), inboxId, { subject: `${subject}x` })).status).toBe(400);
  });
});

describe("accepted text is stored as it will be sent", () => {
  async function stored(body: object) {
    const { status, body: sent } = await send(world(), inboxId, body);
    expect(status).toBe(200);
    const rows = await storedMessages(world().service.deps.db.api, inboxId);
    return rows.find(({ id }) => id === sent.messageId);
  }

  const recipients: [given: string, stored: string][] = [
    ["Jane@EXAMPLE.com", "Jane@example.com"],
    ["jane@bücher.example", "jane@xn--bcher-kva.example"],
    ["jane+tag@example.com", "jane+tag@example.com"],
    ["ada@inbox.localhost", "ada@inbox.localhost"],
  ];
  test.each(recipients)("to %s", async (given, toAddr) => {
    const row = await stored({ to: given, replyTo: given });
    expect(row).toMatchObject({ toAddr, replyTo: toAddr, fromAddr: "ada@inbox.localhost", fromName: null });
  });

  test("line breaks other than CR and LF stay in the subject, and are encoded in the mail", async () => {
    expect(await stored({ subject: "a\u2028b\u0085c\td" })).toMatchObject({ subject: "a\u2028b\u0085c\td" });
  });

  const bodies: [what: string, asked: object, text: string, html: string | null][] = [
    ["text alone", { body: "1 < 2, says <bob@example.com>" }, "1 < 2, says <bob@example.com>", null],
    [
      "HTML, which gets a text alternative",
      { body: '<p>Tom &amp; Jerry</p><p><a href="https://x.example/">here</a></p>' },
      "Tom & Jerry\n\nhere (https://x.example/)",
      '<p>Tom &amp; Jerry</p><p><a href="https://x.example/">here</a></p>',
    ],
    ["both, as they are", { body: "<p>not parsed</p>", bodyHtml: "other" }, "<p>not parsed</p>", "other"],
  ];
  test.each(bodies)("%s", async (_, asked, bodyText, bodyHtml) => {
    expect(await stored(asked)).toMatchObject({ bodyText, bodyHtml });
  });

  test("a message whose preview would end in half a character", async () => {
    const body = `${" ".repeat(599)}😀${" ".repeat(3_399)}😀`;
    expect(await stored({ body })).toMatchObject({ bodyText: body });
  });
});

describe("checks are made in the order of the contract (§2)", () => {
  const text = { "content-type": "text/plain" };
  const steps: [what: string, ApiInit, path: string | undefined, answer: [number, string]][] = [
    ["401 before all", { body: "{", apiKey: "ibx_wrong" }, "/v1/inboxes/inb_none/send", [401, "unauthorized"]],
    ["404 before the body", { body: "{", headers: text }, "/v1/inboxes/inb_none/send", [404, "not_found"]],
    ["415 before the key", { body: "{", headers: text }, undefined, [415, "unsupported_media_type"]],
    ["the key before the body", { body: "{" }, undefined, [400, "missing_idempotency_key"]],
    [
      "an empty key is none",
      { body: "{", headers: { "idempotency-key": "" } },
      undefined,
      [400, "missing_idempotency_key"],
    ],
    [
      "a wrong key before the body",
      { body: "{", headers: { "idempotency-key": "a b" } },
      undefined,
      [400, "invalid_idempotency_key"],
    ],
    ["JSON before its fields", { body: "{", headers: withKey }, undefined, [400, "invalid_json"]],
    ["then the fields", { body: { to: "nobody" }, headers: withKey }, undefined, [400, "validation_error"]],
  ];
  test.each(steps)("%s", async (_, init, path, [status, code]) => {
    const answer = await ask(init, path);
    expect([answer.status, answer.body.code]).toEqual([status, code]);
  });

  const badKeys = ["a b", "x".repeat(256), '"open', '""', '"a"b"', '"a\\nb"', "a, b"];
  test.each(badKeys)("the key %j is refused", async (key) => {
    const { body } = await post(good, { "idempotency-key": key });
    expect(body.code).toBe("invalid_idempotency_key");
  });

  test("another account's inbox is answered like an unknown one", async () => {
    const apiKey = await newAccount(world());
    const none = await ask({ body: "{", apiKey }, "/v1/inboxes/inb_01jpw7z1x2e9a8r5k3m0t6vqhd/send");
    const others = await ask({ body: "{", apiKey });
    for (const { status, headers, body } of [none, others]) {
      expect([status, body.code, body.resource, headers.has("ratelimit")]).toEqual([404, "not_found", "inbox", false]);
    }
  });

  test("a deleted inbox is answered like an unknown one, also right after a send from it", async () => {
    const gone = await newInbox(world());
    expect((await send(world(), gone, {}, { key: "before-the-end" })).status).toBe(200);
    await world().api(`/v1/inboxes/${gone}`, { method: "DELETE" });
    for (const [body, key] of [
      [{}, "after"],
      [{}, "before-the-end"],
      [{ to: "nobody" }, "wrong"],
    ] as const) {
      const answer = await send(world(), gone, body, { key });
      expect([answer.status, answer.body.resource]).toEqual([404, "inbox"]);
    }
  });
});

test("deeply nested HTML does not become a much longer text", async () => {
  const body = `${"<ol start=9007199254740990><li>".repeat(8)}${"x<br>".repeat(19_900)}`;
  const inbox = await newInbox(world());
  expect((await send(world(), inbox, { body })).status).toBe(200);
  const [message] = await storedMessages(world().service.deps.db.api, inbox);
  expect(message?.bodyText.match(/x/g)).toHaveLength(19_900);
  expect(message?.bodyText.length).toBeLessThan(3 * body.length);
});

describe("every response about an inbox has its limits", () => {
  const answers: [what: string, request: () => ReturnType<typeof ask>, status: number][] = [
    ["accepted again", () => send(world(), inboxId, {}, { key: "told" }), 200],
    ["without a key", () => post(good, {}), 400],
    ["not JSON", () => post("{"), 400],
    ["wrong fields", () => post({}), 400],
    ["wrong type", () => post("x", { ...withKey, "content-type": "text/plain" }), 415],
    ["key of another request", () => send(world(), inboxId, { subject: "Other" }, { key: "told" }), 422],
    ["thread of nobody", () => send(world(), inboxId, { threadId: "thr_none" }), 404],
  ];
  test.each(answers)("%s", async (_, request, expected) => {
    const before = await send(world(), inboxId, {}, { key: "told" });
    const { status, headers } = await request();
    expect(status).toBe(expected);
    expect(headers.get("ratelimit-policy")).toBe('"burst";q=1000;w=60, "daily";q=200;w=86400');
    expect(headers.get("ratelimit")).toBe(before.headers.get("ratelimit"));
    expect(headers.get("ratelimit")).toMatch(/^"burst";r=9\d\d;t=60, "daily";r=1\d\d;t=50100$/);
  });

  test("refused requests send nothing and do not count towards limits", async () => {
    const { db } = world().service.deps;
    const before = [await countRows(db.api, "messages"), await countRows(db.api, "idempotency_keys")];
    const limits = (await send(world(), inboxId, {}, { key: "told" })).headers.get("ratelimit");
    for (const body of [{}, { ...good, threadId: "thr_none" }, { ...good, to: "x" }]) await post(body);
    expect([await countRows(db.api, "messages"), await countRows(db.api, "idempotency_keys")]).toEqual(before);
    expect((await send(world(), inboxId, {}, { key: "told" })).headers.get("ratelimit")).toBe(limits);
  });
});
