import type { Db } from "../../database/db.ts";
import { type Sealing, sealing } from "../../standards/sealing.ts";
import { hasSecretOfOthers, listSecretsToReseal, markSecretResealed } from "../../store/account/sealed-secrets.ts";
import type { Deps } from "../deps.ts";

/** The settings that seal secrets. */
export interface SealingSettings {
  encryptionKey: string | undefined;
  encryptionKeyPrevious: string | undefined;
}

/** Makes the sealing of these settings. Throws if the database has secrets that it cannot open. */
export async function sealingOf(
  db: Db,
  { encryptionKey: current, encryptionKeyPrevious: previous }: SealingSettings,
  randomBytes: (length: number) => Uint8Array,
): Promise<Sealing> {
  const made = sealing({ current, previous }, randomBytes);
  if (!(await hasSecretOfOthers(db, made.opens))) return made;
  throw new Error(
    "Cannot open the secrets in the database: another ENCRYPTION_KEY sealed them; set that one, or set it as ENCRYPTION_KEY_PREVIOUS beside the new one",
  );
}

/**
 * Seals all stored secrets with the current key, or stores them plain if there is none. Returns how many it changed. It leaves a secret that
 * is replaced meanwhile, because a running service seals that one itself.
 */
export async function resealSecrets({ db, sealing }: Pick<Deps, "db" | "sealing">): Promise<number> {
  let resealed = 0;
  for (;;) {
    const secrets = await listSecretsToReseal(db.api, sealing.mark, secretsAStep);
    if (secrets.length === 0) return resealed;
    for (const secret of secrets) {
      const again = sealing.seal(sealing.open(secret.stored, secret.row), secret.row);
      if (await markSecretResealed(db.api, secret, again)) resealed += 1;
    }
  }
}

const secretsAStep = 200;
