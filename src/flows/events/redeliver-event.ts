import { transaction } from "../../database/db.ts";
import type { ActorIn } from "../../domain/access/actor.ts";
import { notFound } from "../../domain/errors.ts";
import { isId } from "../../domain/ids.ts";
import { type Endpoint, findEndpoint, laneOf } from "../../store/events/endpoints.ts";
import { findEvent } from "../../store/events/events.ts";
import { insertRedelivery } from "../../store/events/redelivery.ts";
import { audit } from "../audit.ts";
import type { Deps } from "../deps.ts";
import { noWebhookUrl, webhookWithUrl } from "./manage-webhook.ts";
import { paceRequest } from "./pace-request.ts";

/**
 * Puts an event in line again: it is sent with its id, the next attempt number and a whole new schedule of retries. It goes to the default
 * endpoint if no endpoint is named.
 */
export async function redeliverEvent(
  deps: Deps,
  { accountId, actor }: ActorIn,
  eventId: string,
  webhookId?: string | undefined,
): Promise<void> {
  const event = await findEvent(deps.db.api, { accountId }, eventId);
  if (event === undefined) throw notFound("event");
  const endpoint = await addresseeOf(deps, accountId, webhookId);
  const at = deps.now();
  const isQueued = await transaction(deps.db.api, async (tx) => {
    await paceRequest(tx, accountId, "redeliver");
    const details = { webhookId: endpoint.id };
    await audit(tx, deps, at, {
      action: "event.redelivered",
      accountId,
      actor,
      target: { type: "event", id: eventId },
      details,
    });
    return insertRedelivery(tx, eventId, { accountId, lane: laneOf(endpoint) }, at);
  });
  if (isQueued) deps.nudge("webhook");
}

async function addresseeOf(deps: Deps, accountId: string, webhookId: string | undefined): Promise<Endpoint> {
  if (webhookId === undefined) return webhookWithUrl(deps, accountId, "redeliver event");
  const name = { accountId, id: webhookId };
  const endpoint = isId("whk", webhookId) ? await findEndpoint(deps.db.api, name) : undefined;
  if (endpoint === undefined) throw notFound("webhook");
  if (endpoint.url === null) throw noWebhookUrl("redeliver event");
  return endpoint;
}
