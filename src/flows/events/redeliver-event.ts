import { notFound } from "../../domain/errors.ts";
import { findEvent } from "../../store/events/events.ts";
import { insertRedelivery } from "../../store/events/redelivery.ts";
import type { Deps } from "../deps.ts";
import { webhookWithUrl } from "./manage-webhook.ts";
import { paceRequest } from "./pace-request.ts";

/** Puts an event in line once more: it goes out with its old id, the next attempt number and all its retries. */
export async function redeliverEvent(deps: Deps, accountId: string, eventId: string): Promise<void> {
  const event = await findEvent(deps.db.api, accountId, eventId);
  if (event === undefined) throw notFound("event");
  await webhookWithUrl(deps, accountId, "redeliver event");
  await paceRequest(deps.db.api, accountId, "redeliver");
  await insertRedelivery(deps.db.api, eventId, deps.now());
  deps.nudge("webhook");
}
