import { delivered } from "../../domain/events/delivered.ts";
import { type WebhookSigner, webhookHeaders } from "../../standards/signature.ts";
import { version } from "../../version.ts";
import { exchange } from "../exchange.ts";

/** An event as the log shows it; what else it holds goes through as it is. */
export interface LoggedEvent {
  event: string;
  event_id: string;
  occurred_at: string;
  message?: { from: string; to: string; subject: string };
}

export interface Forwarded {
  ok: boolean;
  /** Null when nobody answered. */
  status: number | null;
  ms: number;
  error: string | null;
}

/** As patient as the service itself is with a receiver (contract §10.3). */
const timeoutMs = 15_000;

export interface Forwarding {
  target: URL;
  signer: WebhookSigner | undefined;
  now: () => Date;
  /** Of this listener, from 1: the service knows nothing of it. */
  attempt: number;
}

/** One delivery, as the service would make it now: a new instant, and signatures over it where there is a secret. */
export async function forward(event: LoggedEvent, { target, signer, now, attempt }: Forwarding): Promise<Forwarded> {
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
    const { status } = await exchange({ method: "POST", url: target, headers, body, timeoutMs });
    const ok = status >= 200 && status < 300;
    return { ok, status, ms: passed(), error: ok ? null : `answered ${status}` };
  } catch (error) {
    return { ok: false, status: null, ms: passed(), error: error instanceof Error ? error.message : String(error) };
  }
}
