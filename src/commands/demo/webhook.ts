import { type ApiClient, ApiProblem } from "../api-client.ts";
import { isLoopback } from "../exchange.ts";
import { type Events, eventLog, startReceiver } from "./receiver.ts";

export interface Hearing {
  events: Events;
  /** What was done, for the person who looks on. */
  detail: string;
  /** Leaves the account as it was found. */
  putBack(): Promise<string | undefined>;
  /** Stops listening, whatever has happened. */
  close(): Promise<void>;
}

interface CreatedEndpoint {
  id: string;
  secret: string;
}

/**
 * By a webhook endpoint of the demo's own, for its inboxes alone, which is taken away again: the default one, its address and its
 * secret are somebody's. Where there can be none the log is read, as where the server is on another machine, which could not reach a
 * receiver on this one.
 */
export async function hear(api: ApiClient, now: () => Date, inboxIds: readonly string[]): Promise<Hearing> {
  if (!isLoopback(new URL(api.url))) return byLog(api, "the server is not on this machine");
  const receiver = startReceiver(now);
  let endpoint: CreatedEndpoint | undefined;
  try {
    const wanted = { url: receiver.url, inboxIds, description: "inboxd demo" };
    endpoint = await api.ask<CreatedEndpoint>("POST", "/v1/webhooks", { body: wanted });
    receiver.setSecret(endpoint.secret);
  } catch (error) {
    await receiver.stop();
    const why = whyNone(error);
    if (why === undefined) throw error;
    return byLog(api, why);
  }
  const { id } = endpoint;
  let isThere = true;
  return {
    events: receiver,
    detail: `${receiver.url} will be told of mail`,
    async putBack() {
      isThere = false;
      await api.ask("DELETE", `/v1/webhooks/${id}`);
      return "webhook taken away";
    },
    async close() {
      if (isThere) await api.ask("DELETE", `/v1/webhooks/${id}`).catch(() => undefined);
      await receiver.stop();
    },
  };
}

/** Why the server makes no endpoint, where that is no failure. */
function whyNone(error: unknown): string | undefined {
  if (!(error instanceof ApiProblem)) return undefined;
  if (error.isOlderServer) return "the server has one webhook alone";
  if (error.code === "invalid_webhook_url") return "the server takes no webhook on this machine";
  if (error.code === "rate_limit_exceeded") return "the account has made as many webhooks as it may in an hour";
  return error.code === "webhook_limit_reached" ? "the account has as many webhooks as it may have" : undefined;
}

function byLog(api: ApiClient, why: string): Hearing {
  return {
    events: eventLog(api),
    detail: `${why}, the event log is read instead`,
    putBack: async () => undefined,
    close: async () => undefined,
  };
}
