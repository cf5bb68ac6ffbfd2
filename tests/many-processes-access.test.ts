import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { enginesHere } from "./support/engines.ts";
import { openStream } from "./support/event-stream.ts";
import { type Fleet, operatorOf, startFleet, withoutLimits } from "./support/fleet.ts";
import type { RunningInboxd } from "./support/inboxd.ts";
import { greeted } from "./support/raw-smtp.ts";
import { untilSo } from "./support/until.ts";

/**
 * The contract allows a second. The bound is generous, since a busy machine answers late, and still far below the 20 and 30 seconds after
 * which a process finds a change by itself: so each of these was heard. The measured times are printed.
 */
const boundMs = 10_000;
/** The pause of each caller: with 27 of them, some 200 requests a second. */
const pauseMs = 120;

/** An answer, with the time at which its request began. */
interface Seen {
  askedMs: number;
  result: string;
}

/** One kind of request, repeated at one process. */
interface Caller {
  seen: Seen[];
}

describe.skipIf(!enginesHere().includes("postgres"))("access to three processes on one Postgres, under load", () => {
  let fleet: Fleet;
  let operatorKey: string;
  const callers: Caller[] = [];
  let isOver = false;
  const calling: Promise<void>[] = [];
  beforeAll(async () => {
    fleet = await startFleet(3, withoutLimits);
    operatorKey = await operatorOf(fleet);
  }, 120_000);
  afterAll(async () => {
    isOver = true;
    await Promise.all(calling);
    await fleet?.[Symbol.asyncDispose]();
  });

  test("ends everywhere within a second of the answer that revokes, expires or rotates a key, or suspends an account", async () => {
    const [revoked, expired, rotated, sending, all] = (await Promise.all(
      ["revoked", "expired", "rotated", "sending", "all"].map(newAccount),
    )) as [Tenant, Tenant, Tenant, Tenant, Tenant];
    const { token } = (await ask("POST", "/v1/tokens", { apiKey: revoked.key.key, body: { ttlSeconds: 600 } })).body;

    const reads = (apiKey: string) => each((process) => read(process, apiKey));
    const calls = {
      revoked: reads(revoked.key.key),
      token: reads(token),
      expired: reads(expired.key.key),
      rotated: reads(rotated.key.key),
      sending: each((process) => send(process, sending)),
      stillReads: reads(sending.key.key),
      all: reads(all.key.key),
      allSends: each((process) => send(process, all)),
      mail: each((process) => recipient(process, all.address)),
    };
    const listening = new Map(
      await Promise.all(
        [revoked, expired, rotated, sending, all].map(async ({ name, key }) => [name, await listen(key.key)] as const),
      ),
    );
    await more(5);

    const at = new Map<string, number>();
    const change = async (tenant: Tenant, work: () => Promise<{ status: number }>) => {
      expect((await work()).status).toBeLessThan(300);
      at.set(tenant.name, performance.now());
    };
    const keyPath = ({ key }: Tenant) => `/v1/keys/${key.id}`;
    await change(revoked, () => ask("DELETE", keyPath(revoked), { apiKey: revoked.owner }));
    const next = await ask("POST", `${keyPath(rotated)}/rotate`, {
      apiKey: rotated.owner,
      body: { overlapSeconds: 0 },
    });
    await change(rotated, async () => next);
    await change(sending, () => suspend(sending, "sending"));
    await change(all, () => suspend(all, "all"));
    const endsMs = Date.now() + 3_000;
    await change(expired, () =>
      ask("PATCH", keyPath(expired), { apiKey: expired.owner, body: { expiresAt: new Date(endsMs).toISOString() } }),
    );
    at.set("expired", performance.now() + endsMs - Date.now());

    const ended: [keyof typeof calls, Tenant, string][] = [
      ["revoked", revoked, "401"],
      ["token", revoked, "401"],
      ["expired", expired, "401"],
      ["rotated", rotated, "401"],
      ["sending", sending, "403 account_suspended"],
      ["all", all, "403 account_suspended"],
      ["allSends", all, "403 account_suspended"],
      ["mail", all, "450"],
    ];
    // Each caller goes on after it was refused, since it must not pass again.
    await untilSo(() =>
      ended.every(([name, , result]) => calls[name].every(({ seen }) => seen.at(-1)?.result === result)),
    );
    await more(10);
    for (const [name, { name: tenant }, result] of ended) {
      const lastMs = calls[name].map(({ seen }) => {
        const passed = seen.filter((one) => one.result !== result);
        expect(passed.length).toBeGreaterThan(0);
        return Math.max(...passed.map(({ askedMs }) => askedMs)) - (at.get(tenant) ?? 0);
      });
      console.log(`${name}: the last that passed began ${rounded(lastMs)} ms after the answer`);
      expect(Math.max(...lastMs)).toBeLessThan(boundMs);
    }
    for (const { seen } of calls.stillReads)
      expect(new Set(seen.map(({ result }) => result))).toEqual(new Set(["200"]));
    expect(await read(fleet.processes[0] as RunningInboxd, next.body.key)).toBe("200");

    for (const tenant of [revoked, rotated, all, expired]) {
      const listeners = listening.get(tenant.name) ?? [];
      const overMs = (await Promise.all(listeners.map(({ over }) => over))).map(
        (ms) => ms - (at.get(tenant.name) ?? 0),
      );
      console.log(`streams of ${tenant.name}: over ${rounded(overMs)} ms after the answer`);
      expect(overMs).toHaveLength(6);
      expect(Math.max(...overMs)).toBeLessThan(boundMs);
    }
    // The streams of an account that only may not send have all of its mail.
    const followers = listening.get("sending") ?? [];
    expect(await fleet.deliver("Subject: Still heard\r\n\r\nHello\r\n", sending.address)).toStartWith("250");
    await Promise.all(followers.map(({ heard }) => heard));
    for (const { leave } of followers) leave();
  }, 120_000);

  interface Tenant {
    name: string;
    id: string;
    /** The key that manages the account. */
    owner: string;
    /** The key that is tried. */
    key: { id: string; key: string };
    inbox: string;
    address: string;
  }

  async function newAccount(name: string): Promise<Tenant> {
    const account = (
      await ask("POST", "/v1/admin/accounts", { apiKey: operatorKey, body: { name, plan: "enterprise" } })
    ).body;
    const owner = account.key;
    const { body: key } = await ask("POST", "/v1/keys", { apiKey: owner, body: { access: "agent" } });
    const { body: inbox } = await ask("POST", "/v1/inboxes", { apiKey: owner, body: { username: `${name}.inbox` } });
    return { name, id: account.id, owner, key, inbox: inbox.id, address: inbox.address };
  }

  function ask(method: string, path: string, init: { apiKey: string; body?: object }) {
    return fleet.api(path, { method, ...init });
  }

  function suspend({ id }: Tenant, suspended: string) {
    return ask("PATCH", `/v1/admin/accounts/${id}`, { apiKey: operatorKey, body: { suspended, reason: "test" } });
  }

  /** Repeats a request at each process until the end of the test. */
  function each(call: (process: RunningInboxd) => Promise<string>): Caller[] {
    const own = fleet.processes.map((process) => {
      const caller: Caller = { seen: [] };
      calling.push(
        (async () => {
          for (; !isOver; await Bun.sleep(pauseMs)) {
            const askedMs = performance.now();
            caller.seen.push({ askedMs, result: await call(process) });
          }
        })(),
      );
      return caller;
    });
    callers.push(...own);
    return own;
  }

  /** Waits until each caller has had this number of further answers. */
  function more(count: number): Promise<void> {
    const enough = callers.map(({ seen }) => seen.length + count);
    return untilSo(() => callers.every(({ seen }, index) => seen.length >= (enough[index] ?? 0)));
  }

  async function read(process: RunningInboxd, apiKey: string): Promise<string> {
    return resultOf(await fleet.api("/v1/inboxes", { apiKey, process }));
  }

  async function send(process: RunningInboxd, { key, inbox }: Tenant): Promise<string> {
    const body = { to: "jane@example.com", subject: "Hello", body: "Hello Jane" };
    const headers = { "idempotency-key": crypto.randomUUID(), prefer: "respond-async" };
    return resultOf(
      await fleet.api(`/v1/inboxes/${inbox}/send`, { method: "POST", headers, body, apiKey: key.key, process }),
    );
  }

  function resultOf({ status, body }: { status: number; body: { code?: string } }): string {
    return status === 403 ? `403 ${body.code}` : String(status);
  }

  /** The reply to RCPT, without its text. */
  async function recipient({ smtpPort }: RunningInboxd, address: string): Promise<string> {
    const client = await greeted(smtpPort);
    await client.ask("MAIL FROM:<jane@example.com>");
    const reply = await client.ask(`RCPT TO:<${address}>`);
    client.destroy();
    return reply.slice(0, 3);
  }

  /** A stream and a socket at each process. */
  async function listen(apiKey: string) {
    const authorization = `Bearer ${apiKey}`;
    const opened = fleet.processes.map(async ({ api }) => {
      const stream = await openStream(`${api}/v1/events/stream`, { authorization });
      await stream.frame(({ event }) => event === "ready");
      const heard = stream.frame(({ event }) => event === "message.received");
      heard.catch(() => undefined);
      const over = stream.over.then(() => performance.now());
      return [{ over, heard, leave: stream.close }, await openSocket(api, authorization)];
    });
    return (await Promise.all(opened)).flat();
  }
});

function rounded(numbers: readonly number[]): string {
  return numbers.map(Math.round).join(", ");
}

async function openSocket(api: string, authorization: string) {
  const url = new URL("/v1/ws", api.replace("http", "ws"));
  // The types of the platform do not know the headers of this runtime.
  const socket = new WebSocket(url, { headers: { authorization } } as unknown as string[]);
  const over = Promise.withResolvers<number>();
  const heard = Promise.withResolvers<unknown>();
  const subscribed = Promise.withResolvers<unknown>();
  socket.onclose = ({ code }) => {
    over.resolve(performance.now());
    subscribed.reject(new Error(`The socket was closed with ${code}`));
  };
  socket.onopen = () => socket.send(JSON.stringify({ type: "subscribe" }));
  socket.onmessage = ({ data }) => {
    const message = JSON.parse(data);
    if (message.type === "subscribed") subscribed.resolve(message);
    if (message.event === "message.received") heard.resolve(message);
  };
  await subscribed.promise;
  return { over: over.promise, heard: heard.promise, leave: () => socket.close() };
}
