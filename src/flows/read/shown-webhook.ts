import type { LastDelivery, TriedEndpoint } from "../../store/events/endpoints.ts";
import type { Deps } from "../deps.ts";
import { secretOf } from "../events/manage-webhook.ts";

/** The default endpoint of an account as the API and the operator's command line show it. All fields are null without one. */
export function shownWebhook(deps: Pick<Deps, "sealing">, found: TriedEndpoint | undefined) {
  return {
    url: found?.url ?? null,
    secretLast4: found === undefined ? null : secretOf(deps, found).slice(-4),
    createdAt: found?.createdAt.toISOString() ?? null,
    disabledAt: found?.disabledAt?.toISOString() ?? null,
    lastDelivery: shownLastDelivery(found?.lastDelivery ?? null),
  };
}

export function shownLastDelivery(last: LastDelivery | null) {
  return last && { event_id: last.eventId, at: last.attemptedAt.toISOString(), status: last.status, error: last.error };
}
