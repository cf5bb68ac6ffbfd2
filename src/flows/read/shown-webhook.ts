import type { LastDelivery, TriedEndpoint } from "../../store/events/endpoints.ts";

/** The default endpoint of an account as the API and the operator's command line show it. All fields are null without one. */
export function shownWebhook(found: TriedEndpoint | undefined) {
  return {
    url: found?.url ?? null,
    secretLast4: found?.secret.slice(-4) ?? null,
    createdAt: found?.createdAt.toISOString() ?? null,
    disabledAt: found?.disabledAt?.toISOString() ?? null,
    lastDelivery: shownLastDelivery(found?.lastDelivery ?? null),
  };
}

export function shownLastDelivery(last: LastDelivery | null) {
  return last && { event_id: last.eventId, at: last.attemptedAt.toISOString(), status: last.status, error: last.error };
}
