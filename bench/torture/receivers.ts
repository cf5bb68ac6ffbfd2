import type { Chance } from "../../tests/support/chance.ts";
import type { Ledger, LedgerAccount } from "./ledger.ts";
import { hexSignature } from "./signature.ts";

/** A receiver of one account's events that fails in the ways that receivers do. */
export interface TortureReceiver {
  url: string;
  /** `down`: nobody listens. */
  behave(mood: "moody" | "good" | "down"): Promise<void>;
  stop(): Promise<void>;
}

interface Event {
  event_id: string;
  attempt: number;
  inbox_id: string;
}

export function startReceiver(ledger: Ledger, account: LedgerAccount, chance: Chance): TortureReceiver {
  let mood: "moody" | "good" | "down" = "moody";
  let server = listen(0);
  const port = server.port ?? 0;

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
    if (new URL(request.url).pathname !== "/hook") {
      ledger.violation("I3", `a redirect of ${account.name}'s receiver was followed`);
      return new Response();
    }
    const body = await request.text();
    if (!(await isGenuine(request.headers, body, account.webhookSecret))) {
      ledger.violation("I3", `a delivery to ${account.name} was not signed as it must be`);
    }
    const event = JSON.parse(body) as Event;
    const failure = mood === "moody" && chance.is(0.25) ? chance.pick(failures) : undefined;
    // A receiver that fails after it has taken the event is one that hears it again.
    note(event, failure === undefined);
    ledger.count(failure === undefined ? "receiver: delivered" : `receiver: ${failure}`);
    return failure === undefined ? new Response(null, { status: chance.pick([200, 204]) }) : await fail(failure);
  }

  function note({ event_id, attempt, inbox_id }: Event, delivered: boolean): void {
    const known = ledger.deliveries.get(event_id) ?? {
      account,
      inboxId: inbox_id,
      attempts: new Map(),
      delivered: false,
    };
    if (known.account !== account)
      ledger.violation("I6", `${event_id} went to ${account.name} and ${known.account.name}`);
    const before = known.attempts.get(attempt);
    known.attempts.set(attempt, {
      arrivals: (before?.arrivals ?? 0) + 1,
      delivered: delivered || before?.delivered === true,
      atMs: Date.now(),
    });
    known.delivered ||= delivered;
    ledger.deliveries.set(event_id, known);
  }

  async function fail(failure: Failure): Promise<Response> {
    // Never 2xx: whether that came in time only the service could tell.
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
    async behave(next) {
      if (next === "down" && mood !== "down") await server.stop(true);
      if (next !== "down" && mood === "down") server = listen(port);
      mood = next;
    },
    stop: () => server.stop(true),
  };
}

const failures = [400, 404, 429, 500, 502, 503, "redirect", "slow", "endless", "big"] as const;
type Failure = (typeof failures)[number];

/** Headers at once, and then a body that takes longer than anyone waits. */
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
