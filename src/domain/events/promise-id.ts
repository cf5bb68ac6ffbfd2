/**
 * A promise is an event that is owed to an endpoint. To the default endpoint it has the event's own id, to another one that and the
 * endpoint's: `evt_….whk_…`. So what was ever promised of an event lies side by side in every index of such ids.
 */
export function promiseIdOf(eventId: string, endpointId: string | null): string {
  return endpointId === null ? eventId : `${eventId}.${endpointId}`;
}

/** Null: the default one. */
export function endpointOfPromiseId(promiseId: string): string | null {
  return promiseId.split(".", 2)[1] ?? null;
}

/** Behind all promises of an event: the character behind the dot. */
export function endOfPromises(eventId: string): string {
  return `${eventId}/`;
}
