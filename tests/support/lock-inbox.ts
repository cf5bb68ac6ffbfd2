import { sql } from "drizzle-orm";
import { type Db, query, transaction } from "../../src/database/db.ts";

/** Locks an inbox in a transaction, as another process would. Resolves with a function that ends the transaction. */
export async function lockInbox(db: Db, inboxId: string): Promise<() => Promise<void>> {
  const locked = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  const holding = transaction(db, async (tx) => {
    await query(tx, sql`select from inboxes where id = ${inboxId} for update`);
    locked.resolve();
    await released.promise;
  });
  await locked.promise;
  return () => {
    released.resolve();
    return holding;
  };
}
