import { within } from "../../primitives/within.ts";
import { webhookFault } from "../../standards/signature.ts";
import type { ApiClient } from "../api-client.ts";

/** What a webhook and the log tell alike. */
export interface ReceivedEvent {
  event: string;
  event_id: string;
  inbox_id: string;
  thread_id: string;
  message: { id: string; from: string; subject: string; body_text: string; attachments: { filename: string }[] };
}

/** Where the demo hears of mail: a webhook of its own, or the event log where it can have none. */
export interface Events {
  readonly kind: "webhook" | "log";
  /** The next event of this inbox; rejects when none comes in time. */
  next(inboxId: string): Promise<ReceivedEvent>;
}

export interface Receiver extends Events {
  readonly url: string;
  /** What the server signs with, as soon as it is known. */
  setSecret(secret: string): void;
  stop(): Promise<void>;
}

const patienceMs = 10_000;

/** A receiver as the documentation asks for one: it verifies the signature before it looks at the event. */
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

/** The same by asking: the inboxes are new, so their events begin with the demo's. */
export function eventLog(api: ApiClient): Events {
  const seen = new Map<string, string>();
  return {
    kind: "log",
    async next(inboxId) {
      const endMs = performance.now() + patienceMs;
      while (performance.now() < endMs) {
        const query = { inbox_id: inboxId, after: seen.get(inboxId), limit: 1 };
        const { data } = await api.ask<{ data: ReceivedEvent[] }>("GET", "/v1/events", { query });
        const [event] = data;
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
