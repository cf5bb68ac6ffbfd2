import { type Db, transaction } from "../../database/db.ts";
import type { Actor } from "../../domain/access/actor.ts";
import type { AuditAction } from "../../domain/access/audit.ts";
import type { Suspension } from "../../domain/access/suspension.ts";
import { notFound, Refusal } from "../../domain/errors.ts";
import type { Plan } from "../../domain/limits.ts";
import type { SearchWords } from "../../domain/search.ts";
import { type AdminAccount, lockAdminAccount, markAccountChanged } from "../../store/account/admin-accounts.ts";
import { signalToForget } from "../../store/channels.ts";
import { audit } from "../audit.ts";
import type { Deps } from "../deps.ts";
import { checkedName, type LimitChange, withoutNulls } from "./manage-accounts.ts";

/** The changes of an account by its operator. Undefined fields stay as they are. */
export interface AccountChange {
  name?: string | undefined;
  plan?: Plan | undefined;
  /** The limits of this account alone; null for that of the plan. */
  limits?: LimitChange | undefined;
  suspended?: Suspension | null | undefined;
  reason?: string | null | undefined;
  /** The words of new mail that are indexed for search; null for those of the plan. */
  searchWords?: SearchWords | null | undefined;
  /** The host of the cell to which the account has moved; null while it is here. */
  movedTo?: string | null | undefined;
}

/** Changes an account. All processes act on the change within a second. */
export async function changeAccount(
  deps: Deps,
  actor: Actor,
  id: string,
  change: AccountChange,
): Promise<AdminAccount> {
  const name = change.name === undefined ? undefined : checkedName("change account", change.name);
  return transaction(deps.db.api, async (tx) => {
    const before = await lockedAccount(tx, id);
    const { plan = before.plan, suspended = before.suspended, searchWords = before.searchWords, limits = {} } = change;
    const { movedTo = before.movedTo } = change;
    // The reason belongs to the suspension, and ends with it.
    const kept = change.reason === undefined ? before.suspendedReason : change.reason;
    if (change.movedTo) refuseUnknownMove(deps, suspended, change.movedTo);
    const after: AdminAccount = {
      ...before,
      name: name ?? before.name,
      plan,
      suspended,
      suspendedReason: suspended === null ? null : kept,
      movedTo: suspended === "moving" ? movedTo : null,
      limits: withoutNulls({ ...before.limits, ...limits }),
      searchWords,
    };
    if (!(await markAccountChanged(tx, after)))
      throw new Refusal("validation_error", `Cannot change account: the name "${after.name}" is taken`, {
        faults: [{ pointer: "#/name", detail: "is taken" }],
      });
    await signalToForget(tx, { kind: "account", id });
    const fields = Object.entries(change).flatMap(([field, value]) => (value === undefined ? [] : [field]));
    await audit(tx, deps, deps.now(), {
      action: actionOf(before, after),
      accountId: id,
      actor,
      target: { type: "account", id },
      details: {
        fields,
        plan,
        limits: after.limits,
        suspended,
        reason: after.suspendedReason,
        movedTo: after.movedTo,
        searchWords,
      },
    });
    return after;
  });
}

/** Refuses a move to a host that is no other cell, and that of an account that is open: its mail would be in two places. */
function refuseUnknownMove({ cellPeers }: Deps, suspended: Suspension | null, movedTo: string): void {
  const wrong = (detail: string) =>
    new Refusal("validation_error", `Cannot change account: "movedTo" ${detail}`, {
      faults: [{ pointer: "#/movedTo", detail }],
    });
  if (suspended !== "moving") throw wrong("needs an account that is suspended as moving");
  if (!cellPeers.some(({ host }) => host === movedTo)) throw wrong("must be a host of CELL_PEERS");
}

function actionOf(before: AdminAccount, after: AdminAccount): AuditAction {
  if (before.suspended === after.suspended) return "account.changed";
  return after.suspended === null ? "account.resumed" : "account.suspended";
}

/**
 * Deletes an account: its requests and its mail are refused from now on, and its rows are removed in steps. The name is free at once.
 * `confirmation` must be the name, because nothing brings the account back.
 */
export async function deleteAccount(deps: Deps, actor: Actor, id: string, confirmation: string): Promise<AdminAccount> {
  const deletedAt = deps.now();
  return transaction(deps.db.api, async (tx) => {
    const account = await lockedAccount(tx, id);
    if (account.name !== confirmation) {
      throw new Refusal("invalid_query", 'Cannot delete account: "confirm" must be the name of the account', {
        faults: [{ parameter: "confirm", detail: "must be the name of the account" }],
      });
    }
    const deleted = { ...account, name: `${account.name} (${id})`, deletedAt };
    await markAccountChanged(tx, deleted);
    await signalToForget(tx, { kind: "account", id });
    await audit(tx, deps, deletedAt, {
      action: "account.deleted",
      accountId: id,
      actor,
      target: { type: "account", id },
    });
    return deleted;
  });
}

async function lockedAccount(tx: Db, id: string): Promise<AdminAccount> {
  const account = await lockAdminAccount(tx, id);
  if (account === undefined) throw notFound("account");
  return account;
}
