import { type Actor, commandLine } from "../../domain/access/actor.ts";
import { insertAuditEntries } from "../../store/account/audit.ts";
import { readAccount } from "../../store/upkeep/account-rows.ts";
import { accountNamed } from "../account/manage-accounts.ts";
import { auditEntriesOf } from "../audit.ts";
import type { Deps } from "../deps.ts";
import { exportEverything } from "./export-everything.ts";
import { type ExportEnd, type ExportOptions, type WriteText, writeExport } from "./export-file.ts";

/** Exports one account, with all ids and secrets. The entry in the audit is written before, so it is in the file too. */
export async function exportAccount(
  deps: Pick<Deps, "db" | "newId">,
  { accountId, actor, ...options }: ExportOptions & { accountId: string; actor: Actor },
  write: WriteText,
): Promise<ExportEnd> {
  const target = { type: "account", id: accountId } as const;
  const read = { action: "export.read", accountId, actor, target } as const;
  await insertAuditEntries(deps.db.api, auditEntriesOf(deps, options.now, [read]));
  return writeExport({ ...options, account: accountId }, write, (onLine) => readAccount(deps.db, accountId, onLine));
}

/** Exports what the command line has asked for: the account with this name, or everything without a name. */
export async function exportNamed(
  deps: Pick<Deps, "db" | "newId">,
  { accountName, ...options }: ExportOptions & { accountName: string | undefined },
  write: WriteText,
): Promise<ExportEnd> {
  if (accountName === undefined) return exportEverything(deps.db, options, write);
  const { id: accountId } = await accountNamed(deps, accountName);
  return exportAccount(deps, { ...options, accountId, actor: commandLine }, write);
}
