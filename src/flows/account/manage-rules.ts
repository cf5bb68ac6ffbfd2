import { transaction } from "../../database/db.ts";
import { type Caller, type Reach, tenantWithin } from "../../domain/access/access.ts";
import type { Actor } from "../../domain/access/actor.ts";
import { notFound, Refusal } from "../../domain/errors.ts";
import { isId } from "../../domain/ids.ts";
import { mostInboxRules, mostRules, type RuleAction, type RuleDirection } from "../../domain/rules.ts";
import { lockAccount } from "../../store/account/accounts.ts";
import { findInbox } from "../../store/account/inboxes.ts";
import {
  countRulesOf,
  findRule,
  findSameRule,
  insertRule,
  removeRule,
  type StoredRule,
} from "../../store/account/rules.ts";
import { signalToForget } from "../../store/channels.ts";
import type { AccountRules } from "../account-rules.ts";
import { audit } from "../audit.ts";
import type { Deps } from "../deps.ts";

export interface RuleDeps extends Deps {
  rules: Pick<AccountRules, "forget">;
}

/** A requested rule, for one inbox, for a tenant or, with neither, for the whole account. */
export interface AskedRule {
  direction: RuleDirection;
  action: RuleAction;
  /** As `parsePattern` returns it. */
  pattern: string;
  inboxId: string | undefined;
  externalId: string | undefined;
  evenUnauthenticated: boolean;
  note: string | null;
}

/** Adds a rule, or returns the existing one, which stays as it is. */
export async function addRule(
  deps: RuleDeps,
  caller: Caller,
  actor: Actor,
  { inboxId = "", externalId: tenant, ...asked }: AskedRule,
): Promise<{ rule: StoredRule; isNew: boolean }> {
  const createdAt = deps.now();
  const { reach } = caller;
  const { accountId } = reach;
  const externalId = inboxId === "" ? (tenantWithin(caller, tenant, "add rule") ?? "") : "";
  const rule = { ...asked, id: deps.newId("rul", createdAt), accountId, inboxId, externalId, createdAt };
  const added = await transaction(deps.db.api, async (tx) => {
    // Concurrent requests of the account wait here, so that each counts the rules of those before it.
    await lockAccount(tx, accountId);
    if (inboxId !== "" && !(isId("inb", inboxId) && (await findInbox(tx, reach, inboxId)))) throw notFound("inbox");
    const earlier = await findSameRule(tx, rule);
    if (earlier !== undefined) return { rule: earlier, isNew: false };
    const { all, ofInbox } = await countRulesOf(tx, rule);
    if (all >= mostRules) throw limitReached("account", mostRules);
    if (inboxId !== "" && ofInbox >= mostInboxRules) throw limitReached("inbox", mostInboxRules);
    await insertRule(tx, rule);
    await changed(tx, deps, rule, actor, "rule.added", createdAt);
    return { rule, isNew: true };
  });
  if (added.isNew) noteChange(deps, added.rule, "added");
  return added;
}

/** Removes a rule. Throws `not_found` if there is none within the reach. */
export async function deleteRule(deps: RuleDeps, reach: Reach, actor: Actor, id: string): Promise<void> {
  const removed = await transaction(deps.db.api, async (tx) => {
    const removed = isId("rul", id) ? await removeRule(tx, reach, id) : undefined;
    if (removed === undefined) throw notFound("rule");
    await changed(tx, deps, removed, actor, "rule.removed", deps.now());
    return removed;
  });
  noteChange(deps, removed, "removed");
}

export async function ownedRule({ db }: Pick<Deps, "db">, reach: Reach, id: string): Promise<StoredRule> {
  const rule = isId("rul", id) ? await findRule(db.api, reach, id) : undefined;
  if (rule === undefined) throw notFound("rule");
  return rule;
}

function limitReached(whose: "account" | "inbox", limit: number): Refusal {
  return new Refusal("rule_limit_reached", `Cannot add rule: the ${whose} has its maximum of ${limit} rules`, {
    extra: { limit },
  });
}

/** Writes the audit, without the pattern, because addresses are personal data, and signals all processes to forget the account's rules. */
async function changed(
  tx: Parameters<typeof audit>[0],
  deps: RuleDeps,
  { id, accountId, direction, action, inboxId, externalId }: StoredRule,
  actor: Actor,
  what: "rule.added" | "rule.removed",
  at: Date,
): Promise<void> {
  await signalToForget(tx, { kind: "rules", accountId });
  await audit(tx, deps, at, {
    action: what,
    accountId,
    actor,
    target: { type: "rule", id },
    details: { direction, action, inboxId: inboxId || null, externalId: externalId || null },
  });
}

/** Forgets the rules of the account in this process, without waiting for the signal, and logs the change. */
function noteChange(
  deps: RuleDeps,
  { id, accountId, direction, action }: StoredRule,
  change: "added" | "removed",
): void {
  deps.rules.forget(accountId);
  deps.log.info({ account_id: accountId, rule_id: id, direction, action, change }, "rule changed");
}
