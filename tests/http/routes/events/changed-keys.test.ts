import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { openStream } from "../../../support/event-stream.ts";
import { parsedMetrics } from "../../../support/metrics.ts";
import { until, untilAnswered } from "../../../support/until.ts";
import { startWorld, type World } from "../../../support/world.ts";

/*
 * A change of a key ends the requests that it keeps open, in all processes. On Postgres they are open at another process than the one that
 * makes the change.
 */

const metricsToken = "token-of-the-metrics-in-tests";
let world: World;
let listening: World;

beforeAll(async () => {
  world = await startWorld({ env: { TRUSTED_PROXIES: "127.0.0.1", METRICS_TOKEN: metricsToken } });
  listening = process.env.TEST_DATABASE_URL === undefined ? world : await world.another();
}, 60_000);
afterAll(async () => {
  if (listening !== world) await listening[Symbol.asyncDispose]();
  await world[Symbol.asyncDispose]();
});

const numberOf = async (metric: string) =>
  parsedMetrics((await listening.api("/metrics", { apiKey: metricsToken })).body).get(metric) ?? 0;
const untilNumber = (metric: string, wanted: number) =>
  untilAnswered(async () => ((await numberOf(metric)) === wanted ? true : undefined));

/** A key with a stream, a socket and a wait, whose client is at 192.0.2.7. */
async function openWith(settings: object) {
  const inbox = await world.inbox();
  const key = (await world.api("/v1/keys", { method: "POST", body: { access: "agent", ...settings } })).body;
  const headers = { authorization: `Bearer ${key.key}`, "x-forwarded-for": "192.0.2.7" };
  const stream = await openStream(new URL("/v1/events/stream", listening.service.apiUrl), headers);
  const url = new URL("/v1/ws", listening.service.apiUrl);
  url.protocol = "ws:";
  const socket = new WebSocket(url, { headers } as unknown as string[]);
  let code: number | undefined;
  socket.onclose = (closed) => {
    code = closed.code;
  };
  await new Promise((resolve) => {
    socket.onopen = resolve;
  });
  const before = await numberOf('inboxd_waits_total{outcome="forbidden"}');
  const wait = listening.api(`/v1/inboxes/${inbox.id}/wait?timeout=60`, { apiKey: key.key, headers });
  await untilNumber('inboxd_listeners{kind="wait"}', 1);
  return {
    revoke: () => world.api(`/v1/keys/${key.id}`, { method: "DELETE" }),
    change: (change: object) => world.api(`/v1/keys/${key.id}`, { method: "PATCH", body: change }),
    async untilEnded() {
      await stream.over;
      await until(() => code !== undefined);
      const { status, body } = await wait;
      expect([code, status, body.message]).toEqual([4001, 200, null]);
      await untilNumber('inboxd_waits_total{outcome="forbidden"}', before + 1);
      return JSON.parse(stream.frames.findLast(({ event }) => event === "end")?.data ?? "{}").reason;
    },
    stillRuns: () => [stream.frames.some(({ event }) => event === "end"), code],
    /** The status of a new request. */
    again: async () => (await listening.api("/v1/account", { apiKey: key.key, headers })).status,
  };
}

describe("A change of a key ends its streams, sockets and waits", () => {
  test("that come from elsewhere than its new addresses, and no others", async () => {
    const open = await openWith({});
    expect((await open.change({ allowedIps: ["192.0.2.0/24"] })).status).toBe(200);
    expect((await open.change({ name: "still from there" })).status).toBe(200);
    expect(await open.again()).toBe(200);
    expect(open.stillRuns()).toEqual([false, undefined]);
    expect((await open.change({ allowedIps: ["198.51.100.0/24"] })).status).toBe(200);
    expect(await open.untilEnded()).toBe("unauthorized");
    expect(await open.again()).toBe(401);
  }, 60_000);

  test("once its new end has come", async () => {
    const open = await openWith({});
    const end = new Date(world.clock.now().getTime() + 10_000);
    expect((await open.change({ expiresAt: end.toISOString() })).status).toBe(200);
    world.clock.pass(10_000);
    expect(["expired", "unauthorized"]).toContain(await open.untilEnded());
  }, 60_000);

  test("when it is revoked", async () => {
    const open = await openWith({ allowedIps: ["192.0.2.7"] });
    expect((await open.revoke()).status).toBe(204);
    expect(await open.untilEnded()).toBe("unauthorized");
  }, 60_000);
});
