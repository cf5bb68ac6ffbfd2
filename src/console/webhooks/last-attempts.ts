import { inboxd, type Schemas } from "../api.ts";
import { severalAtOnce } from "../parts/loaded.ts";

const mostEvents = 16;

/** The last attempts at an endpoint, the newest last. */
export async function lastAttempts(endpointId: string): Promise<Schemas["Delivery"][]> {
  const { data } = await inboxd.webhooks.deliveries(endpointId, { limit: mostEvents }).page();
  const tried = data.filter(({ attempts }) => attempts > 0);
  const pages = await severalAtOnce(
    tried.map(
      ({ event_id }) =>
        () =>
          inboxd.events.deliveries(event_id, { limit: 100 }).page(),
    ),
    4,
  );
  return pages
    .flatMap((page) => page.data.filter(({ webhookId }) => webhookId === endpointId))
    .sort((one, other) => (one.attemptedAt < other.attemptedAt ? -1 : 1))
    .slice(-24);
}
