import { setTimeout as sleep } from "node:timers/promises";
import { type Actor, commandLine } from "../../domain/access/actor.ts";
import { Refusal } from "../../domain/errors.ts";
import { findAdminAccount } from "../../store/account/admin-accounts.ts";
import { insertAuditEntries } from "../../store/account/audit.ts";
import { hasAttempts } from "../../store/outbox/outbox-rows.ts";
import { readAccount } from "../../store/upkeep/account-rows.ts";
import { accountNamed } from "../account/manage-accounts.ts";
import { auditEntriesOf } from "../audit.ts";
import type { Deps } from "../deps.ts";
import { exportEverything } from "./export-everything.ts";
import { type ExportEnd, type ExportOptions, type WriteText, writeExport } from "./export-file.ts";

/**
 * Exports one account, with all ids and secrets. The entry in the audit is written before, so it is in the file too. An account that moves
 * is still first: nothing changes in it after its export, and nothing leaves twice.
 */
export async function exportAccount(
  deps: Pick<Deps, "db" | "newId">,
  { accountId, actor, heardMs = allHeardMs, ...options }: ExportOptions & AccountToExport,
  write: WriteText,
): Promise<ExportEnd> {
  if ((await findAdminAccount(deps.db.api, accountId))?.suspended === "moving")
    await untilStill(deps, accountId, heardMs);
  const target = { type: "account", id: accountId } as const;
  const read = { action: "export.read", accountId, actor, target } as const;
  await insertAuditEntries(deps.db.api, auditEntriesOf(deps, options.now, [read]));
  return writeExport({ ...options, account: accountId }, write, (onLine) => readAccount(deps.db, accountId, onLine));
}

export interface AccountToExport {
  accountId: string;
  actor: Actor;
  /** How long to wait until all processes know that the account moves. */
  heardMs?: number;
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

/**
 * How long it takes until all processes know that an account moves, and have written what was under way: they read the suspended accounts
 * every 30 seconds, should a signal be lost.
 */
const allHeardMs = 32_000;
/** The longest wait for attempts: an attempt to send has a limit of five minutes, and the row of a dead process is free after one. */
const attemptsMs = 360_000;
const pauseMs = 100;

/** Waits until a moving account changes no more, and no attempt to send its mail or to deliver its events is under way. */
async function untilStill({ db }: Pick<Deps, "db">, accountId: string, heardMs: number): Promise<void> {
  await sleep(heardMs);
  const endMs = performance.now() + attemptsMs;
  while (await hasAttempts(db.api, accountId)) {
    if (performance.now() > endMs) {
      throw new Refusal("service_unavailable", "Cannot export account: an attempt to send its mail does not end", {
        retryAfterSeconds: 30,
      });
    }
    await sleep(pauseMs);
  }
}
