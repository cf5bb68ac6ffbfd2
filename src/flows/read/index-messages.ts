import type { Logger } from "pino";
import { askedTooMuch, type Db } from "../../database/db.ts";
import { type Searchable, type SearchRow, searchRow, withoutBody, wordBytes } from "../../domain/search.ts";
import { insertSearchRows, listSearchables } from "../../store/mail/search.ts";

export interface IndexingDeps {
  db: Db;
  log: Logger;
}

/** So many are read at once: of the longest, some megabytes. */
const readAtOnce = 50;
/** What one statement writes: a tenth of a second of the embedded engine's time where each letter is another word. */
const batchBytes = 128 << 10;

/**
 * Makes the messages of an inbox findable, behind `fromSeq`, up to `upToSeq`, in their order. `mayGoOn` is asked before each
 * batch but the first. Two that do it at once do the work twice and no harm. Gives the number that it came to.
 */
export async function indexMessages(
  deps: IndexingDeps,
  inboxId: string,
  fromSeq: number,
  upToSeq: number,
  mayGoOn: () => boolean | Promise<boolean>,
): Promise<number> {
  let seq = fromSeq;
  while (seq < upToSeq) {
    const messages = await listSearchables(deps.db, inboxId, seq, readAtOnce);
    // The inbox was deleted: its messages go away under our hands.
    if (messages.length === 0) return upToSeq;
    for (const batch of batches(messages)) {
      await insertBatch(deps, batch);
      seq = batch.at(-1)?.seq ?? upToSeq;
      if (seq < upToSeq && !(await mayGoOn())) return seq;
    }
  }
  return seq;
}

/** Words are made when their batch is: of many long texts at once they would take the process's time. */
function* batches(messages: readonly Searchable[]): Generator<SearchRow[]> {
  let batch: SearchRow[] = [];
  let bytes = 0;
  for (const message of messages) {
    const row = searchRow(message);
    bytes += wordBytes(row);
    if (batch.length > 0 && bytes > batchBytes) {
      yield batch;
      batch = [];
      bytes = wordBytes(row);
    }
    batch.push(row);
  }
  yield batch;
}

/**
 * What is too much for one statement goes in halves, in order, so that there are never gaps; a message that is too much by
 * itself is indexed without its text. It must not keep those behind it from being found.
 */
async function insertBatch(deps: IndexingDeps, batch: readonly SearchRow[]): Promise<void> {
  try {
    await insertSearchRows(deps.db, batch);
  } catch (err) {
    if (!askedTooMuch(err)) throw err;
    if (batch.length === 1) return insertHeads(deps, batch, err);
    const middle = Math.ceil(batch.length / 2);
    await insertBatch(deps, batch.slice(0, middle));
    await insertBatch(deps, batch.slice(middle));
  }
}

async function insertHeads({ db, log }: IndexingDeps, rows: readonly SearchRow[], err: unknown): Promise<void> {
  await insertSearchRows(db, rows.map(withoutBody));
  for (const { inboxId, seq } of rows) {
    log.warn(
      { err, inbox_id: inboxId, seq },
      "text of a message not indexed: it is found by its subject and addresses",
    );
  }
}
