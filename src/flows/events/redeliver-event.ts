import { notFound } from "../../domain/errors.ts";
import { isId } from "../../domain/ids.ts";
import { type Endpoint, findEndpoint, laneOf } from "../../store/events/endpoints.ts";
import { findEvent } from "../../store/events/events.ts";
import { insertRedelivery } from "../../store/events/redelivery.ts";
import type { Deps } from "../deps.ts";
import { noWebhookUrl, webhookWithUrl } from "./manage-webhook.ts";
import { paceRequest } from "./pace-request.ts";

/**
 * Puts an event in line again: it is sent with its id, the next attempt number and a whole new schedule of retries. It goes to the default
 * endpoint if no endpoint is named.
 */
export async function redeliverEvent(
  deps: Deps,
  accountId: string,
  eventId: string,
  webhookId?: string | undefined,
): Promise<void> {
  const event = await findEvent(deps.db.api, accountId, eventId);
  if (event === undefined) throw notFound("event");
  const lane = laneOf(await addresseeOf(deps, accountId, webhookId));
  await paceRequest(deps.db.api, accountId, "redeliver");
  const isQueued = await insertRedelivery(deps.db.api, eventId, { accountId, lane }, deps.now());
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
