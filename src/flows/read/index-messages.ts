import type { Logger } from "pino";
import { askedTooMuch, type Db } from "../../database/db.ts";
import {
  type PlanSearchWords,
  type Searchable,
  type SearchRow,
  searchRow,
  withoutBody,
  wordBytes,
} from "../../domain/search.ts";
import { insertSearchRows, listSearchables } from "../../store/mail/search.ts";

export interface IndexingDeps {
  db: Db;
  log: Logger;
  searchWords: PlanSearchWords;
}

/** The messages that one statement reads. If all are long, they have a few megabytes. */
const readAtOnce = 50;
/** The most bytes that one statement writes. If each letter is a word, this takes the embedded engine a tenth of a second. */
const batchBytes = 128 << 10;

/**
 * Adds the messages of an inbox to the search index in order: those with numbers after `fromSeq`, up to `upToSeq`. Between two batches it
 * calls `mayGoOn`, and stops if that returns false. Two calls at the same time do the work twice, without harm. Returns the number of the
 * last indexed message.
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
    const page = { inboxId, afterSeq: seq, limit: readAtOnce, ofPlans: deps.searchWords };
    const messages = await listSearchables(deps.db, page);
    // There is nothing to index if the inbox was deleted meanwhile.
    if (messages.length === 0) return upToSeq;
    for (const batch of batches(messages)) {
      await insertBatch(deps, batch);
      seq = batch.at(-1)?.seq ?? upToSeq;
      if (seq < upToSeq && !(await mayGoOn())) return seq;
    }
  }
  return seq;
}

/**
 * Yields the rows of the index in batches of at most `batchBytes`. It makes the words of one batch at a time, because making all of them at
 * once would block the process.
 */
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
 * Writes a batch, or its halves if it is too much for one statement. It keeps the order, so that the index has no gaps. A message that is
 * too much by itself is indexed without its text, so that the messages after it are indexed too.
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
