import { transaction } from "../../database/db.ts";
import { notFound, Refusal } from "../../domain/errors.ts";
import { isId } from "../../domain/ids.ts";
import { lockEndpoint } from "../../store/events/endpoints.ts";
import { type EventPosition, findEventPosition } from "../../store/events/events.ts";
import { insertRecovery } from "../../store/events/redelivery.ts";
import type { Deps } from "../deps.ts";
import { noWebhookUrl } from "./manage-webhook.ts";
import { paceRequest } from "./pace-request.ts";

export interface RecoveryRequest {
  accountId: string;
  endpointId: string;
  /** Id of an event, or `start`. */
  after: string;
}

export interface RecoveryOutcome {
  queued: number;
  hasMore: boolean;
  /** Where to go on from: what was asked for, where there was nothing behind it. Null for the start of an empty log. */
  last: string | null;
}

/** How many events one call looks at. */
const mostLookedAt = 1000;

/** Brings an endpoint what it has missed. */
export async function recoverEvents(deps: Deps, request: RecoveryRequest): Promise<RecoveryOutcome> {
  const { accountId, endpointId } = request;
  const after = request.after === "start" ? undefined : await placeOf(deps, accountId, request.after);
  const { promised, queued, hasMore, last } = await transaction(deps.db.api, async (tx) => {
    const endpoint = await lockEndpoint(tx, accountId, endpointId);
    if (endpoint === undefined) throw notFound("webhook");
    if (endpoint.url === null) throw noWebhookUrl("recover events");
    if (endpoint.disabledAt !== null)
      throw new Refusal("no_webhook_url", "Cannot recover events: the webhook is disabled, enable it first");
    await paceRequest(tx, accountId, "recover");
    const to = { accountId, endpointId: endpoint.isDefault ? null : endpoint.id };
    return insertRecovery(tx, { ...to, after, limit: mostLookedAt, now: deps.now() });
  });
  for (const kind of promised ?? []) deps.nudge(kind);
  return { queued, hasMore, last: last ?? after?.id ?? null };
}

async function placeOf({ db }: Deps, accountId: string, id: string): Promise<EventPosition> {
  const position = isId("evt", id) ? await findEventPosition(db.api, accountId, id) : undefined;
  if (position === undefined) throw notFound("event");
  return position;
}
