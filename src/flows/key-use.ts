import type { Db } from "../database/db.ts";
import { expiryOfKeys, type KeyUse, reusedIdempotencyKey } from "../domain/idempotency.ts";
import { insertKeyUses, listKeyUses } from "../store/send/idempotency.ts";

/**
 * Uses an idempotency key for what this transaction makes. Returns the id of what an earlier request with the key made, if there was
 * one; it waits for a request with the key that runs at the same time.
 */
export async function takeKey(tx: Db, use: KeyUse): Promise<string | undefined> {
  const taken = await insertKeyUses(tx, [use], expiryOfKeys(use.createdAt));
  if (taken.has(use.subjectId)) return undefined;
  const [earlier] = await listKeyUses(tx, [use]);
  if (earlier === undefined) return undefined;
  if (earlier.fingerprint !== use.fingerprint) throw reusedIdempotencyKey();
  return earlier.subjectId;
}
