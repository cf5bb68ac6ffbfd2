import { ask, wordsOf } from "../api.ts";
import { tell } from "../frame/notice.tsx";
import { severalAtOnce } from "../parts/loaded.ts";
import { countWords } from "../words.ts";
import type { OutboxItem } from "./outbox.ts";

export type OutboxAct = "retry" | "cancel";

/** Done with each of them, four at a time; tells what came of it. */
export async function actOn(items: readonly OutboxItem[], act: OutboxAct): Promise<void> {
  const ids = act === "retry" ? items.map(({ id }) => id) : idsToCancel(items);
  const outcomes = await severalAtOnce(
    ids.map((id) => () => done(id, act)),
    4,
  );
  const faults = outcomes.filter((outcome) => outcome !== undefined);
  const words = act === "retry" ? "in line now" : "taken out";
  const worked = ids.length - faults.length;
  if (faults[0] === undefined) tell(ids.length === 1 ? `It is ${words}` : `All ${ids.length} are ${words}`);
  else if (ids.length === 1) tell(faults[0], "bad");
  else tell(`${worked} of ${countWords(ids.length, "item")} ${words}. ${faults[0]}`, "bad");
}

/** A mail to several destinations has a row for each, and is cancelled whole. */
function idsToCancel(items: readonly OutboxItem[]): string[] {
  return [...new Map(items.map(({ id, messageId }) => [messageId ?? id, id])).values()];
}

/** Undefined, or why it could not be done. */
async function done(id: string, act: OutboxAct): Promise<string | undefined> {
  try {
    if (act === "retry") await ask("POST", "/v1/outbox/{id}/retry", { path: { id } });
    else await ask("DELETE", "/v1/outbox/{id}", { path: { id } });
    return undefined;
  } catch (error) {
    return wordsOf(error);
  }
}
