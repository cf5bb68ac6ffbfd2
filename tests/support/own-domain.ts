import type { Db } from "../../src/database/db.ts";
import type { SeenRecord } from "../../src/domain/domains/seen-record.ts";
import { type DkimKeyPair, newDkimKey } from "../../src/mail/write/dkim-key.ts";
import { type Domain, insertDomain, insertDomainKey } from "../../src/store/account/domains.ts";

let made = 0;
let key: Promise<DkimKeyPair> | undefined;

/** Inserts a domain as a check would leave it, without the DNS: verified, with its records valid. All of them have one key pair. */
export async function insertOwnDomain(
  db: Db,
  given: Pick<Domain, "accountId" | "name"> & Partial<Domain>,
): Promise<Domain & DkimKeyPair & { selector: string }> {
  made += 1;
  const at = new Date("2026-01-01T00:00:00Z");
  const selector = `ibx-${String(made).padStart(8, "0")}`;
  const records: [SeenRecord["purpose"], string][] = [
    ["dkim", `${selector}._domainkey.${given.name}`],
    ["mx", given.name],
    ["mx", `*.${given.name}`],
    ["return_path", `bounces.${given.name}`],
  ];
  const domain: Domain = {
    id: `dom_${String(made).padStart(26, "0")}`,
    status: "verified",
    returnPath: "bounces",
    subdomains: false,
    zone: given.name,
    recordsSeen: records.map(([purpose, name]) => ({ purpose, name, status: "valid", problem: null, found: [] })),
    checkedAt: at,
    nextCheckAt: null,
    missingSince: null,
    pendingSince: at,
    askedAt: null,
    verifiedAt: at,
    failsAt: null,
    failedReason: null,
    leasedUntil: null,
    createdAt: at,
    deletedAt: null,
    ...given,
  };
  key ??= newDkimKey();
  const { privateKey, publicKey } = await key;
  await insertDomain(db, domain);
  await insertDomainKey(db, {
    domainId: domain.id,
    selector,
    state: "active",
    privateKey,
    publicKey,
    madeAt: at,
    retireDays: 7,
    retiresAt: null,
  });
  return { ...domain, privateKey, publicKey, selector };
}
