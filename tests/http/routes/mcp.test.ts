import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { failureOf } from "../../support/failure.ts";
import { overHttp } from "../../support/mcp.ts";
import { readMetrics } from "../../support/metrics.ts";
import { connectRaw } from "../../support/raw-http.ts";
import { type ApiInit, startWorld, type World } from "../../support/world.ts";

let world: World;
beforeAll(async () => {
  world = await startWorld({
    env: {
      MCP_ORIGINS: "https://app.example.com,http://localhost:6274",
      BASE_URL: "https://mail.example.org/inboxd",
      METRICS_PORT: "0",
      SEND_WAIT_MS: "0",
    },
  });
  await world.inbox("ada");
});
afterAll(() => world?.[Symbol.asyncDispose]());

const listing = { jsonrpc: "2.0", id: 1, method: "tools/list" };
const usual = { accept: "application/json, text/event-stream", "content-type": "application/json" };

/** As a client of 2025 asks, that needs no handshake since nothing is kept. */
function ask(path: string, { headers = {}, ...init }: ApiInit = {}) {
  return world.api(path, { method: "POST", body: listing, ...init, headers: { ...usual, ...headers } });
}

describe("/mcp", () => {
  test("answers JSON to one request, without a session", async () => {
    const { status, headers, body } = await ask("/mcp");
    expect([status, headers.get("content-type"), headers.get("mcp-session-id")]).toEqual([
      200,
      "application/json",
      null,
    ]);
    expect(body.result.tools).toHaveLength(15);
  });

  test.each(["GET", "DELETE", "PUT", "HEAD", "OPTIONS"])("knows no %s", async (method) => {
    const { status, headers } = await world.fetch("/mcp", { method });
    expect([status, headers.get("allow"), headers.get("access-control-allow-origin")]).toEqual([405, "POST", null]);
  });

  test.each([
    ["no key", null],
    ["a wrong one", "ibx_nobody"],
  ])("wants a key before it reads a body: with %s it is 401", async (_, apiKey) => {
    const { status, headers } = await ask("/mcp", { apiKey });
    expect([status, headers.get("www-authenticate")]).toEqual([401, "Bearer"]);

    const port = Number(world.service.apiUrl.port);
    const raw = await connectRaw({ port });
    const key = apiKey === null ? "" : `Authorization: Bearer ${apiKey}\r\n`;
    raw.send(
      `POST /mcp HTTP/1.1\r\nHost: localhost\r\n${key}Content-Type: application/json\r\nContent-Length: 900000\r\n\r\n{`,
    );
    expect((await raw.response())?.status).toBe(401);
    raw.end();
  });

  test("says nothing of OAuth, for which clients would leave the key aside", async () => {
    for (const path of ["oauth-protected-resource", "oauth-protected-resource/mcp", "oauth-authorization-server"]) {
      expect((await world.api(`/.well-known/${path}`, { apiKey: null })).status).toBe(404);
    }
  });

  const origins: readonly [origin: string, status: number][] = [
    ["https://mail.example.org", 200],
    ["https://app.example.com", 200],
    ["http://localhost:6274", 200],
    ["http://mail.example.org", 403],
    ["https://mail.example.org.evil.example", 403],
    ["https://evil.example", 403],
    ["null", 403],
  ];
  test.each(origins)("answers a page of %s with %i", async (origin, status) => {
    const answer = await ask("/mcp", { headers: { origin } });
    expect([answer.status, answer.headers.get("access-control-allow-origin")]).toEqual([status, null]);
    if (status === 403) expect(answer.body.code).toBe("forbidden");
  });

  const hosts: readonly [host: string, status: number][] = [
    ["localhost", 200],
    ["127.0.0.1:3000", 200],
    ["[::1]:3000", 200],
    ["inbox.localhost", 200],
    ["mail.example.org", 200],
    ["evil.example", 403],
    ["127.0.0.1.evil.example", 403],
    ["localhost.evil.example:3000", 403],
    ["", 403],
  ];
  test.each(hosts)("on a listener of this machine answers Host: %s with %i", async (host, status) => {
    const raw = await connectRaw({ port: Number(world.service.apiUrl.port) });
    const body = JSON.stringify(listing);
    const fields = { ...usual, host, authorization: `Bearer ${world.apiKey}`, "content-length": body.length };
    const head = Object.entries(fields).map(([name, value]) => `${name}: ${value}`);
    raw.send(`POST /mcp HTTP/1.1\r\n${head.join("\r\n")}\r\n\r\n${body}`);
    expect((await raw.response())?.status).toBe(status);
    raw.end();
  });

  const bodies: readonly [what: string, body: string, headers: Record<string, string>, status: number][] = [
    ["over 1 MiB", " ".repeat((1 << 20) + 1), {}, 413],
    ["that is no JSON", "{", {}, 400],
    ["of another kind", "{}", { "content-type": "text/plain" }, 415],
    ["that is empty", "", {}, 400],
    ["nested too deep", "[".repeat(100) + "]".repeat(100), {}, 400],
    ["of more than a hundred requests", JSON.stringify(Array(101).fill(listing)), {}, 400],
    ["that is no message", "[1, 2]", {}, 400],
  ];
  test.each(bodies)("refuses a body %s", async (_, body, headers, status) => {
    expect((await ask("/mcp", { body, headers })).status).toBe(status);
  });

  const queries: readonly [query: string, fault: string][] = [
    ["tool=read", "parameter"],
    ["tools=delete_inbox", "must be read, or some of"],
    ["tools=", "must not be empty"],
    ["inbox=", "must not be empty"],
    ["inbox=ada&inbox=bob", "must be given once"],
  ];
  test.each(queries)("refuses ?%s: a fence that is misspelt is none", async (query) => {
    const { status, body } = await ask(`/mcp?${query}`);
    expect([status, body.code]).toEqual([400, "invalid_query"]);
  });

  test("opens no streams of changes, since nothing changes", async () => {
    const _meta = {
      "io.modelcontextprotocol/protocolVersion": "2026-07-28",
      "io.modelcontextprotocol/clientInfo": { name: "tests", version: "1" },
      "io.modelcontextprotocol/clientCapabilities": {},
    };
    const { status, body } = await ask("/mcp", {
      headers: { "mcp-protocol-version": "2026-07-28", "mcp-method": "subscriptions/listen" },
      body: {
        jsonrpc: "2.0",
        id: 1,
        method: "subscriptions/listen",
        params: { notifications: { toolsListChanged: true }, _meta },
      },
    });
    expect([status, body.error.message]).toEqual([200, "Subscription limit reached"]);
  });
});

test("MCP=0 leaves it out", async () => {
  await using without = await startWorld({ env: { MCP: "0" } });
  expect((await without.api("/mcp", { method: "POST", body: listing })).status).toBe(404);
});

describe("A model that is given less", () => {
  test("can't see or call what changes anything with ?tools=read", async () => {
    await using model = await overHttp(world, { query: "?tools=read" });
    expect((await model.client.listTools()).tools).toHaveLength(9);
    await model.call("list_threads", { inbox: "ada" });
    expect(String(await failureOf(model.client.callTool({ name: "send_email", arguments: {} })))).toContain(
      "send_email",
    );
  });

  test("stays in one inbox with ?inbox=", async () => {
    const [own, other] = [await world.inbox("own"), await world.inbox("other")];
    await world.deliver("From: jane@example.com\r\nSubject: Mine\r\nMessage-ID: <own@x>\r\n\r\nHi\r\n", own.address);
    await world.deliver(
      "From: jane@example.com\r\nSubject: Theirs\r\nMessage-ID: <other@x>\r\n\r\nHi\r\n",
      other.address,
    );
    const thread = async (inbox: string) => (await world.api(`/v1/inboxes/${inbox}/threads`)).body.data[0];
    const [mine, theirs] = [await thread(own.id), await thread(other.id)];

    await using model = await overHttp(world, { query: "?inbox=own" });
    const { tools } = await model.client.listTools();
    expect(tools.map(({ name }) => name)).not.toContain("list_inboxes");
    expect(tools.map(({ name }) => name)).not.toContain("create_inbox");
    expect(tools.find(({ name }) => name === "list_threads")?.inputSchema.required).toEqual([]);
    expect((await model.call("list_threads")).threads[0].id).toBe(mine.id);
    expect((await model.call("list_threads", { inbox: own.address })).threads[0].id).toBe(mine.id);
    await model.call("read_thread", { thread_id: mine.id });

    const outside: readonly [name: string, args: object][] = [
      ["list_threads", { inbox: "other" }],
      ["search_messages", { inbox: other.id }],
      ["send_email", { inbox: other.address, to: "bob@example.com", subject: "s", body: "b" }],
      ["read_thread", { thread_id: theirs.id }],
      ["reply_to_thread", { thread_id: theirs.id, body: "b" }],
      ["mark_thread", { thread_id: theirs.id, is_read: true }],
      ["read_message", { message_id: theirs.lastMessageId }],
      ["read_attachment", { message_id: theirs.lastMessageId, filename: "x" }],
    ];
    for (const [name, args] of outside) expect(await model.failure(name, args)).toStartWith("not_found:");
    expect((await thread(other.id)).isRead).toBe(false);
    expect((await thread(other.id)).messageCount).toBe(1);
  });
});

test("calls are counted by tool and outcome", async () => {
  await using model = await overHttp(world);
  const counted = async (sample: string) => (await readMetrics(world)).get(`inboxd_mcp_calls_total{${sample}}`) ?? 0;
  const before = [
    await counted('tool="list_inboxes",outcome="ok"'),
    await counted('tool="read_thread",outcome="not_found"'),
  ];
  await model.call("list_inboxes");
  await model.failure("read_thread", { thread_id: "thr_none" });
  const after = [
    await counted('tool="list_inboxes",outcome="ok"'),
    await counted('tool="read_thread",outcome="not_found"'),
  ];
  expect(after).toEqual(before.map((count) => count + 1));
});
