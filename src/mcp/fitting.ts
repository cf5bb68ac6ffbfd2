import { jsonLength, mostResultCharacters } from "./marks.ts";

/**
 * A page of a list that a result has room for. Where it is too large it is asked for again with half the items, so that the place
 * to go on from is right; hardly any page is.
 */
export async function fitting<Made extends object>(
  limit: number,
  ask: (limit: number) => Promise<Made>,
): Promise<Made> {
  for (let fewer = limit; ; fewer = fewer >> 1) {
    const made = await ask(fewer);
    if (fewer <= 1 || jsonLength(made) <= mostResultCharacters) return made;
  }
}
