import type { Db } from "../database/db.ts";
import type { Audited } from "../domain/access/audit.ts";
import { insertAuditEntries, type NewAuditEntry } from "../store/account/audit.ts";
import type { Deps } from "./deps.ts";

/** Writes entries of the audit, in the transaction of the changes that they tell of. */
export function audit(tx: Db, deps: Pick<Deps, "newId">, at: Date, ...entries: Audited[]): Promise<void> {
  return insertAuditEntries(tx, auditEntriesOf(deps, at, entries));
}

/** Gives entries their ids and their instant. */
export function auditEntriesOf({ newId }: Pick<Deps, "newId">, at: Date, entries: readonly Audited[]): NewAuditEntry[] {
  return entries.map((entry) => ({ ...entry, id: newId("aud", at), at }));
}
