import type { World } from "./world.ts";

/** The ids of all events in the first account's log, in order. */
export async function wholeLog(world: Pick<World, "api">, query = "types=*"): Promise<string[]> {
  const ids: string[] = [];
  for (let after = "start"; ; ) {
    const { body } = await world.api(`/v1/events?${query}&limit=100&after=${after}`);
    ids.push(...body.data.map((event: { event_id: string }) => event.event_id));
    if (!body.hasMore) return ids;
    after = body.last;
  }
}
