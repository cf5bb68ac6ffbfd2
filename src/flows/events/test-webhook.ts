import { transaction } from "../../database/db.ts";
import type { Actor, ActorIn } from "../../domain/access/actor.ts";
import { delivered } from "../../domain/events/delivered.ts";
import { webhookHeaders, webhookSigner } from "../../standards/signature.ts";
import type { Endpoint } from "../../store/events/endpoints.ts";
import { deliveryError, type WebhookClient } from "../../webhook/client.ts";
import { audit } from "../audit.ts";
import type { Deps } from "../deps.ts";
import { noWebhookUrl, secretOf, webhookWithUrl } from "./manage-webhook.ts";
import { paceRequest } from "./pace-request.ts";

export interface TestResult {
  delivered: boolean;
  /** The HTTP status of the answer. Null if there was none. */
  status: number | null;
  latencyMs: number;
  error: string | null;
}

type TestDeps = Deps & { webhooks: WebhookClient };

/** Tests the account's default endpoint. */
export async function testWebhook(deps: TestDeps, { accountId, actor }: ActorIn): Promise<TestResult> {
  return testEndpoint(deps, actor, await webhookWithUrl(deps, accountId, "test webhook"));
}

type TestedEndpoint = Pick<
  Endpoint,
  "id" | "accountId" | "url" | "secret" | "previousSecret" | "previousSecretUntil" | "headers"
>;

/** Sends one signed test event to an endpoint now. The event is not in the account's log, and is not sent again if it fails. */
export async function testEndpoint(deps: TestDeps, actor: Actor, webhook: TestedEndpoint): Promise<TestResult> {
  if (webhook.url === null) throw noWebhookUrl("test webhook");
  const { id, accountId } = webhook;
  const sentAt = deps.now();
  await transaction(deps.db.api, async (tx) => {
    await paceRequest(tx, accountId, "test_webhook");
    await audit(tx, deps, sentAt, { action: "webhook.tested", accountId, actor, target: { type: "webhook", id } });
  });
  const eventId = deps.newId("evt", sentAt);
  const event = { event: "webhook.test", event_id: eventId, occurred_at: sentAt.toISOString() };
  const body = JSON.stringify(delivered(event, { deliveredAt: sentAt, attempt: 1 }));
  const { previousSecret, previousSecretUntil } = webhook;
  const isOverlap = previousSecret !== null && previousSecretUntil !== null && sentAt < previousSecretUntil;
  const headers = await webhookHeaders({
    eventId,
    sentAt,
    body,
    added: webhook.headers,
    signer: await webhookSigner(secretOf(deps, webhook)),
    replacedSigner: isOverlap ? await webhookSigner(deps.sealing.open(previousSecret, webhook.id)) : undefined,
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
