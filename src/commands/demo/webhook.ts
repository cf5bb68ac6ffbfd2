import { type Inboxd, InboxdError } from "../../../sdk/typescript/src/inboxd.ts";
import { isLoopback } from "../client.ts";
import { type Events, eventLog, startReceiver } from "./receiver.ts";

export interface Subscription {
  events: Events;
  /** The text to print for the step. */
  detail: string;
  /** Removes the endpoint of the demo. Returns a text about it; undefined if there was none. */
  restore(): Promise<string | undefined>;
  /** Stops the receiver. After a failure it also removes the endpoint. */
  close(): Promise<void>;
}

/**
 * Receives events by a temporary webhook endpoint for the inboxes of the demo. The account's own endpoints stay as they are.
 * Reads the log if the server allows no such endpoint, or if it runs on another machine and cannot reach this one.
 */
export async function subscribe(client: Inboxd, now: () => Date, inboxIds: string[]): Promise<Subscription> {
  if (!isLoopback(client.baseUrl)) return byLog(client, "the server is not on this machine");
  const receiver = startReceiver(now);
  let id: string;
  try {
    const endpoint = await client.webhooks.create({ url: receiver.url, inboxIds, description: "inboxd demo" });
    id = endpoint.id;
    receiver.setSecret(endpoint.secret ?? "");
  } catch (error) {
    await receiver.stop();
    const why = whyNone(error);
    if (why === undefined) throw error;
    return byLog(client, why);
  }
  let isThere = true;
  return {
    events: receiver,
    detail: `${receiver.url} receives the events`,
    async restore() {
      isThere = false;
      await client.webhooks.delete(id);
      return "webhook removed";
    },
    async close() {
      if (isThere) await client.webhooks.delete(id).catch(() => undefined);
      await receiver.stop();
    },
  };
}

/** Why the server created no endpoint; undefined for an unexpected failure. */
function whyNone(error: unknown): string | undefined {
  if (!(error instanceof InboxdError)) return undefined;
  if (error.code === "invalid_webhook_url") return "the server allows no webhook on this machine";
  if (error.code === "rate_limit_exceeded") return "the account has reached its limit of new webhooks in an hour";
  return error.code === "webhook_limit_reached" ? "the account has reached its limit of webhooks" : undefined;
}

function byLog(client: Inboxd, why: string): Subscription {
  return {
    events: eventLog(client),
    detail: `${why}, the event log is read instead`,
    restore: async () => undefined,
    close: async () => undefined,
  };
}
