import { canonicalJson } from "../domain/idempotency.ts";
import { sha256Hex } from "../standards/digest.ts";

/** The idempotency key of a call, from its arguments: a client that lost the result repeats the call, which must have the same key. */
export function derivedKey(name: string, words: readonly unknown[]): string {
  return `mcp-${sha256Hex(canonicalJson([name, ...words]))}`;
}
