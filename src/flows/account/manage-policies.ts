import { type Db, transaction } from "../../database/db.ts";
import { type Caller, isWholeAccount, onlyForAccount, tenantWithin } from "../../domain/access/access.ts";
import type { Actor } from "../../domain/access/actor.ts";
import { notFound, Refusal } from "../../domain/errors.ts";
import { isId } from "../../domain/ids.ts";
import type { InboundPolicy, SendPolicy } from "../../domain/policy.ts";
import { inboundPolicyOf, mostPolicies, type Policy, ruleBook } from "../../domain/rules.ts";
import { lockAccount } from "../../store/account/accounts.ts";
import { findInbox } from "../../store/account/inboxes.ts";
import {
  countPolicies,
  insertPolicy,
  listPoliciesFor,
  type PolicyScope,
  removePolicy,
} from "../../store/account/rules.ts";
import { signalToForget } from "../../store/channels.ts";
import { audit } from "../audit.ts";
import type { Deps } from "../deps.ts";
import type { RuleDeps } from "./manage-rules.ts";

/** The inboxes of a policy, as a request names them: one inbox, those of a tenant, or with neither all of the account. */
export type PolicyOf = { inboxId: string } | { externalId: string } | Record<string, never>;

export interface ShownPolicy {
  /** The owner of the inherited policy; null for a policy of the inbox, the tenant or the account itself. */
  inherited: "account" | "tenant" | null;
  inbound: InboundPolicy;
  /** Only of a tenant. */
  sendPolicy: SendPolicy | undefined;
}

/** The policy of an inbox, a tenant or an account, with the inherited one where it has none of its own. */
export async function shownPolicy(deps: Deps, caller: Caller, of: PolicyOf): Promise<ShownPolicy> {
  const { scope, tenant } = await scopeOf(deps.db.api, caller, of, "get policy");
  return shown(scope, await listPoliciesFor(deps.db.api, { ...scope, externalId: tenant }), tenant);
}

/**
 * Replaces the policy of an inbox, a tenant or an account. The `sendPolicy` of a tenant stays if it is left out. Only a key that reaches
 * the whole account changes it, so that a tenant cannot lift what binds it.
 */
export async function changePolicy(
  deps: RuleDeps,
  caller: Caller,
  actor: Actor,
  of: PolicyOf,
  { inbound, sendPolicy: asked }: { inbound: InboundPolicy; sendPolicy: SendPolicy | undefined },
): Promise<ShownPolicy> {
  return writing(deps, caller, actor, of, "change policy", async (tx, scope, earlier) => {
    const { sendPolicy: before = "open" } = earlier ?? {};
    const sendPolicy = asked ?? before;
    if (sendPolicy !== before && !isWholeAccount(caller.reach)) throw onlyForAccount("change policy", caller.kind);
    if (earlier === undefined && (await countPolicies(tx, scope.accountId)) >= mostPolicies) throw limitReached();
    await insertPolicy(tx, { ...scope, inbound, sendPolicy });
    return { inbound, ...(scope.externalId !== "" && { sendPolicy }) };
  });
}

/** Removes the policy of an inbox or a tenant, so that it inherits. A key of the tenant leaves the tenant's `sendPolicy`. */
export async function deletePolicy(deps: RuleDeps, caller: Caller, actor: Actor, of: PolicyOf): Promise<void> {
  await writing(deps, caller, actor, of, "remove policy", async (tx, scope, earlier) => {
    if (earlier === undefined) return undefined;
    const { sendPolicy } = earlier;
    if (sendPolicy === "open" || isWholeAccount(caller.reach)) await removePolicy(tx, scope);
    else await insertPolicy(tx, { ...scope, inbound: null, sendPolicy });
    return { removed: true };
  });
}

/**
 * Writes a policy behind the lock on its account, with its audit and the signal. `write` returns the details for the audit; undefined if
 * nothing changed.
 */
async function writing(
  deps: RuleDeps,
  caller: Caller,
  actor: Actor,
  of: PolicyOf,
  doing: string,
  write: (
    tx: Db,
    scope: PolicyScope,
    earlier: Policy | undefined,
  ) => Promise<Readonly<Record<string, unknown>> | undefined>,
): Promise<ShownPolicy> {
  const at = deps.now();
  const { accountId } = caller.reach;
  const written = await transaction(deps.db.api, async (tx) => {
    await lockAccount(tx, accountId);
    const { scope, tenant } = await scopeOf(tx, caller, of, doing);
    const before = await listPoliciesFor(tx, { ...scope, externalId: tenant });
    const details = await write(tx, scope, ownOf(scope, before));
    if (details === undefined) return shown(scope, before, tenant);
    await signalToForget(tx, { kind: "rules", accountId });
    const { inboxId, externalId } = scope;
    await audit(tx, deps, at, {
      action: "policy.changed",
      accountId,
      actor,
      target: inboxId === "" ? { type: "account", id: accountId } : { type: "inbox", id: inboxId },
      details: { ...(externalId !== "" && { externalId }), ...details },
    });
    return shown(scope, await listPoliciesFor(tx, { ...scope, externalId: tenant }), tenant);
  });
  deps.rules.forget(accountId);
  return written;
}

/** The scope of a policy, with the tenant whose policy is inherited. Throws if it is beyond the reach of the caller. */
async function scopeOf(
  db: Db,
  { reach, kind }: Caller,
  of: PolicyOf,
  doing: string,
): Promise<{ scope: PolicyScope; tenant: string }> {
  const { accountId } = reach;
  if ("inboxId" in of) {
    const inbox = isId("inb", of.inboxId ?? "") ? await findInbox(db, reach, of.inboxId ?? "") : undefined;
    if (inbox === undefined) throw notFound("inbox");
    return { scope: { accountId, inboxId: inbox.id, externalId: "" }, tenant: inbox.externalId ?? "" };
  }
  const asked = "externalId" in of ? of.externalId : undefined;
  const externalId = tenantWithin({ reach, kind }, asked, doing) ?? "";
  return { scope: { accountId, inboxId: "", externalId }, tenant: externalId };
}

function ownOf({ inboxId, externalId }: PolicyScope, found: readonly Policy[]): Policy | undefined {
  return found.find((policy) => policy.inboxId === inboxId && policy.externalId === externalId);
}

function shown(scope: PolicyScope, found: readonly Policy[], tenant: string): ShownPolicy {
  const { inboxId, externalId } = scope;
  const { inbound, from } = inboundPolicyOf(ruleBook([], found), { id: inboxId, externalId: tenant || null });
  const own = inboxId !== "" ? "inbox" : externalId !== "" ? "tenant" : "account";
  const isOwn = from === own || own === "account";
  return {
    inherited: isOwn ? null : from === "tenant" ? "tenant" : "account",
    inbound,
    sendPolicy: externalId === "" ? undefined : (ownOf(scope, found)?.sendPolicy ?? "open"),
  };
}

function limitReached(): Refusal {
  const why = `the account has its maximum of ${mostPolicies} policies`;
  return new Refusal("rule_limit_reached", `Cannot change policy: ${why}`, { extra: { limit: mostPolicies } });
}
