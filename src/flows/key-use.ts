import type { Db } from "../database/db.ts";
import { expiryOfKeys, type KeyUse, reusedIdempotencyKey } from "../domain/idempotency.ts";
import { insertKeyUses, listKeyUses } from "../store/send/idempotency.ts";

/**
 * Records that this transaction uses an idempotency key. If an earlier request has used the key, returns the id of what that request
 * created, or refuses if it was a different request. Waits while another request with the key runs.
 */
export async function takeKey(tx: Db, use: KeyUse): Promise<string | undefined> {
  const taken = await insertKeyUses(tx, [use], expiryOfKeys(use.createdAt));
  if (taken.has(use.subjectId)) return undefined;
  const [earlier] = await listKeyUses(tx, [use]);
  if (earlier === undefined) return undefined;
  if (earlier.fingerprint !== use.fingerprint) throw reusedIdempotencyKey();
  return earlier.subjectId;
}
