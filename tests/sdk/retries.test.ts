import { describe, expect, test } from "bun:test";
import { caller } from "../../sdk/typescript/src/call.ts";
import { InboxdError } from "../../sdk/typescript/src/errors.ts";
import type { Fetch } from "../../sdk/typescript/src/options.ts";
import { failureOf } from "../support/failure.ts";

interface Told {
  method: string;
  key: string | null;
}

/** A service that answers so, one after the other; how long was waited, with chance at its most. */
function scripted(answers: readonly (() => Response)[]) {
  const told: Told[] = [];
  const waits: number[] = [];
  const fetch: Fetch = async (_url, { method = "", headers }) => {
    told.push({ method, key: new Headers(headers).get("idempotency-key") });
    const answer = answers[Math.min(told.length, answers.length) - 1];
    if (answer === undefined) throw new TypeError("no answer is left");
    return answer();
  };
  const machine = { random: () => 1, pause: async (ms: number) => void waits.push(ms) };
  const asking = (more = {}) =>
    caller({ baseUrl: "http://mail.example/prefix/", apiKey: "ibx_1", fetch, ...more }, machine);
  return { told, waits, asking };
}

const ok = () => Response.json({ id: "inb_1" });
const problem =
  (status: number, code: string, headers: Record<string, string> = {}) =>
  () =>
    Response.json({ code, message: `Cannot: ${code}`, request_id: "req_1", limit: 3 }, { status, headers });
const cut = () => {
  throw new TypeError("socket closed");
};
const get = { method: "GET", path: "/v1/inboxes/{id}", parameters: { id: "inb_1" } };
const post = { method: "POST", path: "/v1/tokens", body: {} };

describe("A call is tried again", () => {
  test.each([
    ["nothing answered", cut],
    ["500", problem(500, "internal_error")],
    ["502 from a proxy", () => new Response("<h1>Bad gateway</h1>", { status: 502 })],
    ["504", problem(504, "gone")],
    ["an answer that is cut", () => new Response("{", { headers: { "content-type": "application/json" } })],
    ["the page of a proxy with 200", () => new Response("<h1>Soon</h1>", { headers: { "content-type": "text/html" } })],
  ])("after a time that doubles: %s", async (_, fault) => {
    const { asking, told, waits } = scripted([fault, fault, ok]);
    expect(await asking().call(get)).toEqual({ id: "inb_1" });
    expect(told).toHaveLength(3);
    expect(waits).toEqual([500, 1000]);
  });

  test.each([
    [429, "rate_limit_exceeded"],
    [503, "service_unavailable"],
    [409, "idempotency_in_progress"],
  ])("no sooner than the service says: %d %s", async (status, code) => {
    const { asking, waits } = scripted([problem(status, code, { "retry-after": "7" }), ok]);
    expect(await asking().call(get)).toEqual({ id: "inb_1" });
    expect(waits).toEqual([7500]);
  });

  test("with one idempotency key", async () => {
    const { asking, told } = scripted([cut, problem(503, "service_unavailable", { "retry-after": "0" }), ok]);
    await asking().call({ ...post, idempotencyKey: "one" });
    expect(told).toEqual(Array(3).fill({ method: "POST", key: "one" }));
  });

  test("and what an earlier attempt deleted is deleted", async () => {
    const gone = problem(404, "not_found");
    expect(
      await scripted([cut, gone])
        .asking()
        .call({ ...get, method: "DELETE" }),
    ).toBeUndefined();
    expect(
      await failureOf(
        scripted([gone])
          .asking()
          .call({ ...get, method: "DELETE" }),
      ),
    ).toMatchObject({ status: 404 });
  });

  test("for thirty seconds in all, however often it may be", async () => {
    const { asking, waits } = scripted([cut]);
    expect(await failureOf(asking({ retries: 100 }).call(get))).toMatchObject({ status: 0, code: "no_answer" });
    expect(waits).toEqual([500, 1000, 2000, 4000, 8000]);
  });
});

describe("A call is not tried again", () => {
  test.each([
    ["a POST without a key", post, cut],
    ["a PATCH", { method: "PATCH", path: "/v1/threads/x", body: {} }, problem(503, "service_unavailable")],
    ["another 4xx", get, problem(404, "not_found")],
    ["another 409", get, problem(409, "address_taken")],
    ["a limit that lasts until tomorrow", get, problem(429, "daily_limit_exceeded", { "retry-after": "61" })],
  ])("%s", async (_, asked, fault) => {
    const { asking, told } = scripted([fault, ok]);
    expect(await failureOf(asking().call(asked))).toBeInstanceOf(InboxdError);
    expect(told).toHaveLength(1);
  });

  test("once its signal has ended it, and it throws the signal's reason", async () => {
    const over = new AbortController();
    const { asking, told } = scripted([cut]);
    const fetch: Fetch = async () => {
      told.push({ method: "GET", key: null });
      over.abort("enough");
      throw new TypeError("socket closed");
    };
    expect(await failureOf(asking({ fetch }).call({ ...get, signal: over.signal }))).toBe("enough");
    expect(await failureOf(asking().call({ ...get, signal: over.signal }))).toBe("enough");
    expect(told).toHaveLength(1);
  });
});

test("a refusal says all that the service said", async () => {
  const { asking } = scripted([problem(429, "rate_limit_exceeded", { "retry-after": "90" })]);
  expect(await failureOf(asking().call(get))).toMatchObject({
    name: "InboxdError",
    status: 429,
    code: "rate_limit_exceeded",
    message: "Cannot: rate_limit_exceeded",
    requestId: "req_1",
    errors: [],
    retryAfterSeconds: 90,
    problem: { limit: 3 },
  });
});

test("an answer that is no JSON is an error, and not a value", async () => {
  const page = () => new Response("<h1>Welcome</h1>", { headers: { "content-type": "text/html" } });
  const { asking } = scripted([page]);
  expect(await failureOf(asking({ retries: 0 }).call(get))).toMatchObject({
    status: 200,
    code: "unreadable_answer",
    message: "Cannot GET /v1/inboxes/{id}: answered 200 with text/html instead of JSON",
    baseUrl: "http://mail.example/prefix",
  });
});

test("a service that never answers is given up when the time is over", async () => {
  const fetch: Fetch = (_url, { signal }) =>
    new Promise((_, reject) => signal?.addEventListener("abort", () => reject(signal.reason)));
  const { asking } = scripted([]);
  expect(String(await failureOf(asking({ fetch, timeoutMs: 5, retries: 1 }).call(get)))).toContain(
    "Cannot GET /v1/inboxes/{id}: http://mail.example/prefix does not answer: it took longer than 0.005 s",
  );
});

test("an id that would make another path of it is refused", async () => {
  const { asking, told } = scripted([ok]);
  for (const id of ["", ".", ".."])
    expect(String(await failureOf(asking().call({ ...get, parameters: { id } })))).toContain("is not an id");
  expect(
    asking().addressOf({ ...get, parameters: { id: "a/b?c" }, query: { types: ["a", "b"], none: undefined } }),
  ).toBe("http://mail.example/prefix/v1/inboxes/a%2Fb%3Fc?types=a%2Cb");
  expect(told).toEqual([]);
});
