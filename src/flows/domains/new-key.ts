import { base32 } from "../../domain/ids.ts";
import { newDkimKey } from "../../mail/write/dkim-key.ts";
import type { DomainKey } from "../../store/account/domains.ts";
import { rowOfDomainKey } from "../../store/account/sealed-secrets.ts";
import type { Deps } from "../deps.ts";

/** Makes a DKIM key for a domain, with its private half sealed. It takes 0.1 seconds, so it is made before the transaction. */
export async function newDomainKey(
  { now, randomBytes, sealing }: Pick<Deps, "now" | "randomBytes" | "sealing">,
  { domainId, state, retireDays }: Pick<DomainKey, "domainId" | "state" | "retireDays">,
): Promise<DomainKey> {
  const selector = newSelector(randomBytes);
  const { privateKey, publicKey } = await newDkimKey();
  return {
    domainId,
    selector,
    state,
    privateKey: sealing.seal(privateKey, rowOfDomainKey({ domainId, selector })),
    publicKey,
    madeAt: now(),
    retireDays,
    retiresAt: null,
  };
}

/** A selector that nobody can guess: 40 random bits. */
export function newSelector(randomBytes: (length: number) => Uint8Array): string {
  const bytes = Buffer.from(randomBytes(5));
  return `ibx-${base32(bytes.readUInt32BE(0) >>> 2, 6)}${base32(bytes.readUInt16BE(3), 2)}`;
}
