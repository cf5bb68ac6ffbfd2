import { findOrInsertSetting } from "../../store/upkeep/settings.ts";
import type { Deps } from "../deps.ts";

/**
 * The key that signs all tokens and URLs: the one that the operator has configured, or else a random one that is made once and stored in
 * the database.
 */
export async function signingKeyOf(
  { db, randomBytes }: Pick<Deps, "db" | "randomBytes">,
  configured: string | undefined,
): Promise<string> {
  return configured ?? (await findOrInsertSetting(db.api, "signing_key", randomBytes(32).toHex()));
}
