import { webhookTest } from "../../domain/events/payload.ts";
import { webhookHeaders, webhookSigner } from "../../standards/signature.ts";
import { deliveryError, type WebhookClient } from "../../webhook/client.ts";
import type { Deps } from "../deps.ts";
import { webhookWithUrl } from "./manage-webhook.ts";
import { paceRequest } from "./pace-request.ts";

export interface TestResult {
  delivered: boolean;
  /** Null when nobody answered. */
  status: number | null;
  latencyMs: number;
  error: string | null;
}

/** One real, signed delivery of an event that tells of nothing, now. It is in no log and is not retried. */
export async function testWebhook(deps: Deps & { webhooks: WebhookClient }, accountId: string): Promise<TestResult> {
  const webhook = await webhookWithUrl(deps, accountId, "test webhook");
  await paceRequest(deps.db.api, accountId, "test_webhook");
  const sentAt = deps.now();
  const event = webhookTest(deps.newId("evt", sentAt), sentAt);
  const body = JSON.stringify(event);
  const { previousSecret, previousSecretUntil } = webhook;
  const isOverlap = previousSecret !== null && previousSecretUntil !== null && sentAt < previousSecretUntil;
  const headers = await webhookHeaders({
    eventId: event.event_id,
    sentAt,
    body,
    signer: await webhookSigner(webhook.secret),
    replacedSigner: isOverlap ? await webhookSigner(previousSecret) : undefined,
  });
  const reply = await deps.webhooks.post({ url: webhook.url, headers, body, fresh: true });
  const error = deliveryError(reply);
  return {
    delivered: error === null,
    status: reply.kind === "answered" ? reply.status : null,
    latencyMs: reply.latencyMs,
    error,
  };
}
