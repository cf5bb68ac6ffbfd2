import type { Chance } from "../../tests/support/chance.ts";
import type { Ledger, LedgerEndpoint } from "./ledger.ts";

/** A receiver of one endpoint's events, with the usual failures. */
export interface TortureReceiver {
  url: string;
  /** The account and endpoint; no event may come before they are set. */
  belongsTo(endpoint: LedgerEndpoint): void;
  behave(mood: ReceiverMood): Promise<void>;
  stop(): Promise<void>;
}

/** `late`: answers slowly; `refusing`: always 500; `silent`: no answer; `down`: not listening. */
export type ReceiverMood = "moody" | "good" | "late" | "refusing" | "silent" | "down";

interface Event {
  event_id: string;
  attempt: number;
  inbox_id: string | null;
}

export function startReceiver(ledger: Ledger, chance: Chance): TortureReceiver {
  let mood: ReceiverMood = "good";
  let endpoint: LedgerEndpoint | undefined;
  let server = listenAnywhere();
  const port = server.port ?? 0;

  /** A port that no outgoing connection takes while it is not listening. */
  function listenAnywhere() {
    for (let left = 50; ; left -= 1) {
      try {
        return listen(20_000 + Math.floor(Math.random() * 12_000));
      } catch (error) {
        if (left === 0) throw error;
      }
    }
  }

  function listen(wanted: number) {
    return Bun.serve({
      hostname: "127.0.0.1",
      port: wanted,
      idleTimeout: 30,
      fetch: receive,
      error: () => new Response(null, { status: 500 }),
    });
  }

  async function receive(request: Request): Promise<Response> {
    const atMs = performance.now();
    if (endpoint === undefined) throw new Error("Cannot receive: nobody has said whose events these are");
    if (new URL(request.url).pathname !== "/hook") {
      ledger.violation("I3", `a redirect of ${endpoint.name} was followed`);
      return new Response();
    }
    const body = await request.text();
    if (!(await isGenuine(request.headers, body, endpoint.secret))) {
      ledger.violation("I3", `a delivery to ${endpoint.name} was not signed as it must be`);
    }
    const event = JSON.parse(body) as Event;
    const failure = failureNow();
    // A receiver that fails after reading an event gets it again.
    note(endpoint, event, { delivered: failure === undefined, atMs });
    ledger.count(`receiver: ${failure ?? "delivered"}`);
    if (failure !== undefined) return await fail(failure);
    if (mood === "late") await Bun.sleep(chance.whole(50, 400));
    return new Response(null, { status: chance.pick([200, 204]) });
  }

  function failureNow(): Failure | undefined {
    if (mood === "refusing") return 500;
    if (mood === "silent") return "silence";
    return mood === "moody" && chance.is(0.25) ? chance.pick(failures) : undefined;
  }

  function note(
    { deliveries }: LedgerEndpoint,
    { event_id, attempt, inbox_id }: Event,
    { delivered, atMs }: { delivered: boolean; atMs: number },
  ): void {
    const known = deliveries.get(event_id) ?? { inboxId: inbox_id, attempts: new Map(), delivered: false };
    const before = known.attempts.get(attempt);
    known.attempts.set(attempt, {
      arrivals: (before?.arrivals ?? 0) + 1,
      delivered: delivered || before?.delivered === true,
      atMs,
    });
    known.delivered ||= delivered;
    deliveries.set(event_id, known);
  }

  async function fail(failure: Failure): Promise<Response> {
    // Never 2xx, since only the service knows whether it came in time.
    if (failure === "silence") await Bun.sleep(silenceMs);
    if (failure === "silence") return new Response("at last", { status: 500 });
    if (failure === "slow") await Bun.sleep(chance.whole(500, 3000));
    if (failure === "slow") return new Response("late", { status: 500 });
    if (failure === "redirect") return new Response(null, { status: 301, headers: { location: "/elsewhere" } });
    if (failure === "endless") return new Response(drip(chance.whole(50, 200)), { status: 500 });
    if (failure === "big") return new Response(new Uint8Array(2 << 20), { status: 500 });
    if (failure === 429) return new Response(null, { status: 429, headers: { "retry-after": "1" } });
    return new Response("no", { status: failure });
  }

  return {
    url: `http://127.0.0.1:${port}/hook`,
    belongsTo(owner) {
      endpoint = owner;
    },
    async behave(next) {
      if (next === "down" && mood !== "down") await server.stop(true);
      if (next !== "down" && mood === "down") server = listen(port);
      mood = next;
    },
    stop: () => server.stop(true),
  };
}

const failures = [400, 404, 429, 500, 502, 503, "redirect", "slow", "endless", "big"] as const;
type Failure = (typeof failures)[number] | "silence";
/** Longer than the service waits. */
const silenceMs = 10_000;

/** Headers at once, then a body that outlasts any time-out. */
function drip(everyMs: number): ReadableStream<Uint8Array> {
  let timer: ReturnType<typeof setInterval>;
  let left = 100;
  return new ReadableStream({
    start(controller) {
      timer = setInterval(() => {
        left -= 1;
        if (left > 0) controller.enqueue(new Uint8Array(1));
        else {
          clearInterval(timer);
          controller.close();
        }
      }, everyMs);
    },
    cancel: () => clearInterval(timer),
  });
}

async function isGenuine(headers: Headers, body: string, secret: string): Promise<boolean> {
  const timestamp = headers.get("x-timestamp") ?? "";
  return headers.get("x-signature") === (await hexSignature(secret, `${timestamp}.${body}`));
}

/** Computes the signature by the contract alone, without the service's code. */
async function hexSignature(secret: string, content: string): Promise<string> {
  const encoder = new TextEncoder();
  const key = await crypto.subtle.importKey("raw", encoder.encode(secret), { name: "HMAC", hash: "SHA-256" }, false, [
    "sign",
  ]);
  return new Uint8Array(await crypto.subtle.sign("HMAC", key, encoder.encode(content))).toHex();
}
