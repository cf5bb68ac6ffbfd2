import { searchRow } from "../domain/search.ts";
import type { Db } from "../store/db.ts";
import { insertSearchRows, listSearchables } from "../store/search.ts";

/** Few enough that a batch of the longest messages fits in memory, many enough that a statement is worth its trip. */
const batchSize = 50;

/**
 * Makes the messages of an inbox findable, behind `fromSeq`, up to `upToSeq`, in their order. `mayGoOn` is asked before each
 * batch but the first. Two that do it at once do the work twice and no harm. Gives the number that it came to.
 */
export async function indexMessages(
  db: Db,
  inboxId: string,
  fromSeq: number,
  upToSeq: number,
  mayGoOn: () => boolean | Promise<boolean>,
): Promise<number> {
  let seq = fromSeq;
  while (seq < upToSeq) {
    const messages = await listSearchables(db, inboxId, seq, batchSize);
    const last = messages.at(-1);
    // The inbox was deleted: its messages go away under our hands.
    if (last === undefined) return upToSeq;
    await insertSearchRows(db, messages.map(searchRow));
    seq = last.seq;
    if (seq < upToSeq && !(await mayGoOn())) return seq;
  }
  return seq;
}
