import type { Db } from "../database/db.ts";
import { expiryOfKeys, type KeyUse, reusedIdempotencyKey } from "../domain/idempotency.ts";
import { insertKeyUses, listKeyUses } from "../store/send/idempotency.ts";

/**
 * Takes an idempotency key for the thing that this transaction creates. Returns the id of the thing that an earlier request with the key
 * created, if there was one. Waits while another request with the key runs.
 */
export async function takeKey(tx: Db, use: KeyUse): Promise<string | undefined> {
  const taken = await insertKeyUses(tx, [use], expiryOfKeys(use.createdAt));
  if (taken.has(use.subjectId)) return undefined;
  const [earlier] = await listKeyUses(tx, [use]);
  if (earlier === undefined) return undefined;
  if (earlier.fingerprint !== use.fingerprint) throw reusedIdempotencyKey();
  return earlier.subjectId;
}
