import type { Deps } from "../flows/deps.ts";
import { addPartitions, dropOldPartitions, removeLeftBounds } from "../flows/partitions.ts";

export interface KeepPartitionsDeps extends Pick<Deps, "db" | "now" | "log"> {
  eventRetentionDays: number;
}

const hourMs = 3_600_000;

/**
 * Adds partitions ahead of time and drops old ones, once an hour. If it cannot add them, the next call tries again: without them mail is
 * refused. Dropping stops all statements on a table for a moment, so it waits for the next hour.
 */
export function partitionKeeper(deps: KeepPartitionsDeps): (isStopping: () => boolean) => Promise<void> {
  let dueAt = new Date(0);
  return async (isStopping) => {
    const now = deps.now();
    if (now < dueAt) return;
    try {
      await addPartitions(deps);
      await removeLeftBounds(deps);
      dueAt = new Date(now.getTime() + hourMs);
      if (!isStopping()) await dropOldPartitions(deps);
    } catch (err) {
      deps.log.warn({ err }, "partitions not changed: trying again later");
    }
  };
}
