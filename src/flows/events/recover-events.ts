import { transaction } from "../../database/db.ts";
import type { Actor } from "../../domain/access/actor.ts";
import { notFound, Refusal } from "../../domain/errors.ts";
import { laneOf, lockEndpoint } from "../../store/events/endpoints.ts";
import { insertRecovery } from "../../store/events/redelivery.ts";
import { audit } from "../audit.ts";
import type { Deps } from "../deps.ts";
import { findPosition } from "./find-position.ts";
import { noWebhookUrl } from "./manage-webhook.ts";
import { paceRequest } from "./pace-request.ts";

export interface RecoveryRequest {
  accountId: string;
  actor: Actor;
  endpointId: string;
  /** The id of the event after which to look, or `start`. */
  after: string;
}

export interface RecoveryOutcome {
  queued: number;
  hasMore: boolean;
  /** The event after which the next call continues: `after` itself if no event follows it, null for the start of an empty log. */
  last: string | null;
}

/** The most events that one call looks at. */
const mostLookedAt = 1000;

/**
 * Queues deliveries of the events that an endpoint has missed: those after `after` that it subscribes to and has never answered with 2xx.
 * Looks at up to 1000 events.
 */
export async function recoverEvents(deps: Deps, request: RecoveryRequest): Promise<RecoveryOutcome> {
  const { accountId, actor, endpointId } = request;
  const now = deps.now();
  const after = await findPosition(deps, accountId, request.after);
  const { queued, hasMore, last } = await transaction(deps.db.api, async (tx) => {
    const endpoint = await lockEndpoint(tx, { accountId, id: endpointId });
    if (endpoint === undefined) throw notFound("webhook");
    if (endpoint.url === null) throw noWebhookUrl("recover events");
    if (endpoint.disabledAt !== null)
      throw new Refusal("no_webhook_url", "Cannot recover events: the webhook is disabled, enable it first");
    await paceRequest(tx, accountId, "recover");
    const recovery = { accountId, lane: laneOf(endpoint), after, limit: mostLookedAt, now };
    const recovered = await insertRecovery(tx, recovery);
    await audit(tx, deps, now, {
      action: "webhook.recovered",
      accountId,
      actor,
      target: { type: "webhook", id: endpoint.id },
      details: { after: request.after, queued: recovered.queued },
    });
    return recovered;
  });
  if (queued > 0) deps.nudge("webhook");
  return { queued, hasMore, last: last ?? (after.id || null) };
}
