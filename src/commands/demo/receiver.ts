import type { Inboxd, Schemas } from "../../../sdk/typescript/src/inboxd.ts";
import { within } from "../../primitives/within.ts";
import { webhookFault } from "../../standards/signature.ts";

/** The event of an incoming mail, from a webhook or from the log. */
export type ReceivedEvent = Schemas["MessageReceived"];

/** The source of the events: a webhook of the demo, or the log if no webhook is possible. */
export interface Events {
  readonly kind: "webhook" | "log";
  /** The next event of this inbox. Rejects if none comes in time. */
  next(inboxId: string): Promise<ReceivedEvent>;
}

export interface Receiver extends Events {
  readonly url: string;
  /** Sets the secret that the server signs with. */
  setSecret(secret: string): void;
  stop(): Promise<void>;
}

const patienceMs = 10_000;

/** Starts a receiver that works as the documentation says: it verifies the signature before it reads the event. */
export function startReceiver(now: () => Date): Receiver {
  const arrived: ReceivedEvent[] = [];
  const waiting = new Map<string, PromiseWithResolvers<ReceivedEvent>>();
  let secret = "";

  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    async fetch(request) {
      const body = await request.text();
      const fault = await webhookFault({ headers: Object.fromEntries(request.headers), body, secret, now: now() });
      if (fault !== undefined) {
        for (const waiter of waiting.values()) waiter.reject(new Error(`Cannot verify the webhook: ${fault}`));
        return new Response(fault, { status: 401 });
      }
      const event = JSON.parse(body) as ReceivedEvent;
      const waiter = waiting.get(event.inbox_id);
      if (waiter === undefined) arrived.push(event);
      else waiter.resolve(event);
      waiting.delete(event.inbox_id);
      return new Response();
    },
  });

  return {
    kind: "webhook",
    url: `http://127.0.0.1:${server.port}/inboxd-demo`,
    setSecret(known) {
      secret = known;
    },
    next(inboxId) {
      const index = arrived.findIndex((event) => event.inbox_id === inboxId);
      const [event] = index < 0 ? [] : arrived.splice(index, 1);
      if (event !== undefined) return Promise.resolve(event);
      const waiter = Promise.withResolvers<ReceivedEvent>();
      waiting.set(inboxId, waiter);
      return inTime(waiter.promise, "no webhook came");
    },
    stop: () => server.stop(true),
  };
}

/** Polls the log. The inboxes are new, so their events begin with those of the demo. */
export function eventLog(client: Inboxd): Events {
  const seen = new Map<string, string>();
  return {
    kind: "log",
    async next(inboxId) {
      const endMs = performance.now() + patienceMs;
      while (performance.now() < endMs) {
        const query = { inbox_id: inboxId, after: seen.get(inboxId), limit: 1 };
        const { data } = await client.events.list(query).page();
        const [event] = data as ReceivedEvent[];
        if (event !== undefined) {
          seen.set(inboxId, event.event_id);
          return event;
        }
        await Bun.sleep(20);
      }
      throw new Error(`Cannot go on: no event came within ${patienceMs / 1000} s`);
    },
  };
}

function inTime<Value>(promise: Promise<Value>, what: string): Promise<Value> {
  return within(patienceMs, promise, () => {
    throw new Error(`Cannot go on: ${what} within ${patienceMs / 1000} s`);
  });
}
