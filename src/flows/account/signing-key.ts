import { findOrInsertSetting } from "../../store/upkeep/settings.ts";
import type { Deps } from "../deps.ts";

/** What all tokens and addresses are signed by: the operator's own words, else drawn once and kept. */
export async function signingKeyOf(
  { db, randomBytes }: Pick<Deps, "db" | "randomBytes">,
  configured: string | undefined,
): Promise<string> {
  return configured ?? (await findOrInsertSetting(db.api, "signing_key", randomBytes(32).toHex()));
}
