import type { InboxdEvent } from "../../../sdk/typescript/src/inboxd.ts";
import { delivered } from "../../domain/events/delivered.ts";
import { type WebhookSigner, webhookHeaders } from "../../standards/signature.ts";
import { version } from "../../version.ts";
import { fetchFromHere } from "../client.ts";
import { reasonOf } from "../failure.ts";

export interface Forwarded {
  ok: boolean;
  /** Null without a response. */
  status: number | null;
  ms: number;
  error: string | null;
}

/** The time-out of a delivery by the service (contract §10.3). */
const timeoutMs = 15_000;

export interface Forwarding {
  target: URL;
  signer: WebhookSigner | undefined;
  now: () => Date;
  /** The attempt of this listener, from 1. The service does not count it. */
  attempt: number;
}

/** Sends an event to the target as a delivery of the service, with a signature if there is a secret. */
export async function forward(event: InboxdEvent, { target, signer, now, attempt }: Forwarding): Promise<Forwarded> {
  const sentAt = now();
  const body = JSON.stringify(delivered(event, { deliveredAt: sentAt, attempt }));
  const signed =
    signer === undefined
      ? { "content-type": "application/json", "x-event-id": event.event_id, "webhook-id": event.event_id }
      : await webhookHeaders({ eventId: event.event_id, sentAt, body, signer });
  const headers = { ...signed, "user-agent": `inboxd-listen/${version}` };
  const beganAt = performance.now();
  const passed = () => Math.round(performance.now() - beganAt);
  try {
    const signal = AbortSignal.timeout(timeoutMs);
    const response = await fetchFromHere(target, { method: "POST", headers, body, signal });
    await response.arrayBuffer();
    const { ok, status } = response;
    return { ok, status, ms: passed(), error: ok ? null : `answered ${status}` };
  } catch (error) {
    return { ok: false, status: null, ms: passed(), error: reasonOf(error) };
  }
}
