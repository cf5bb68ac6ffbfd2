import { type ApiClient, ApiProblem } from "../api-client.ts";
import { isLoopback } from "../exchange.ts";
import { demoPath, type Events, eventLog, startReceiver } from "./receiver.ts";

export interface Hearing {
  events: Events;
  /** What was done, for the person who looks on. */
  detail: string;
  /** To be called before the last mail that is heard of. */
  beforeLast(): void;
  /** Leaves the account as it was found, once its last event is there. */
  putBack(): Promise<string | undefined>;
  /** Stops listening, whatever has happened. */
  close(): Promise<void>;
}

interface Webhook {
  url: string | null;
  secretLast4: string | null;
  disabledAt: string | null;
  secret?: string;
}

/**
 * Takes the account's webhook for the time of the demo if nobody uses it. One that has an address belongs to someone:
 * even for a second its events must not go astray, so then the log is read. The same where the server is on another
 * machine, which could not reach a receiver on this one.
 */
export async function hear(api: ApiClient, now: () => Date, knownSecret: string | undefined): Promise<Hearing> {
  const found = await api.ask<Webhook>("GET", "/v1/webhook");
  const isFree = found.url === null || (found.disabledAt !== null && found.url.endsWith(demoPath));
  if (!isFree) return byLog(api, "the account's webhook is left alone");
  if (found.url !== null && knownSecret === undefined)
    return byLog(api, "the webhook's secret is not known (--secret)");
  if (!isLoopback(new URL(api.url))) return byLog(api, "the server is not on this machine");

  const receiver = startReceiver(now);
  let isSet = false;
  try {
    const { secret = knownSecret } = await api.ask<Webhook>("PUT", "/v1/webhook", { body: { url: receiver.url } });
    isSet = true;
    if (secret === undefined) throw new Error("Cannot verify webhooks: the server did not tell the secret");
    receiver.setSecret(secret);
  } catch (error) {
    await receiver.stop();
    if (error instanceof ApiProblem && error.code === "invalid_webhook_url") {
      return byLog(api, "the server takes no webhook on this machine");
    }
    if (isSet) await api.ask("DELETE", "/v1/webhook");
    throw error;
  }
  const hadSecret = found.secretLast4 !== null;
  return {
    events: receiver,
    detail: `${receiver.url} will be told of mail`,
    beforeLast: () => (hadSecret ? receiver.sayGone() : undefined),
    async putBack() {
      isSet = false;
      return hadSecret ? untilDisabled(api) : forget(api);
    },
    async close() {
      await receiver.stop();
      if (isSet) await api.ask("DELETE", "/v1/webhook").catch(() => undefined);
    },
  };
}

function byLog(api: ApiClient, why: string): Hearing {
  return {
    events: eventLog(api),
    detail: `${why}, the event log is read instead`,
    beforeLast: () => undefined,
    putBack: async () => undefined,
    close: async () => undefined,
  };
}

async function forget(api: ApiClient): Promise<string> {
  await api.ask("DELETE", "/v1/webhook");
  return "webhook taken off";
}

/**
 * To take the address off would also forget the secret, which the first start showed once and someone has noted. So
 * the receiver has answered 410, and the webhook is disabled until an address is set.
 */
async function untilDisabled(api: ApiClient): Promise<string> {
  const endMs = performance.now() + 5000;
  while (performance.now() < endMs) {
    const { disabledAt } = await api.ask<Webhook>("GET", "/v1/webhook");
    if (disabledAt !== null) return "webhook disabled, its secret kept";
    await Bun.sleep(20);
  }
  throw new Error("Cannot put the webhook back: it is not disabled though its receiver is gone");
}
