import { type SQL, sql } from "drizzle-orm";
import { arrayOf, type Db, query } from "../../database/db.ts";
import { isWholeAccount, type Reach } from "../../domain/access/access.ts";
import type { Policy, Rule, RuleAction, RuleDirection, Scope } from "../../domain/rules.ts";
import { asJson, selected } from "../columns.ts";
import { isReached } from "../reach.ts";
import { insertRow } from "../rows.ts";
import { policies, rules } from "../schema.ts";

export type StoredRule = typeof rules.$inferSelect;

/** The rules and policies of an account, as mail is judged by them. */
export interface RulesOfAccount {
  accountId: string;
  rules: Rule[];
  policies: Policy[];
}

/** Lists the rules and policies of these accounts by one statement, so that they are of one instant. */
export async function listRulesOfAccounts(db: Db, accountIds: readonly string[]): Promise<RulesOfAccount[]> {
  const rows = await query<{ accountId: string; rules: Rule[] | null; policies: Policy[] | null }>(
    db,
    sql`select asked.id as "accountId",
          (select json_agg(${judgedRule}) from rules r where r.account_id = asked.id) as rules,
          (select json_agg(${judgedPolicy}) from policies p where p.account_id = asked.id) as policies
        from unnest(${arrayOf("text", accountIds)}) as asked (id)`,
  );
  return rows.map((row) => ({ ...row, rules: row.rules ?? [], policies: row.policies ?? [] }));
}

const judgedRule = asJson(rules, "r", [
  "id",
  "inboxId",
  "externalId",
  "direction",
  "action",
  "pattern",
  "evenUnauthenticated",
]);
const judgedPolicy = asJson(policies, "p", ["inboxId", "externalId", "inbound", "sendPolicy"]);

const ruleFields = selected(rules, "r");

/** Whether a rule `r` is within a reach: within that of a tenant are its rules, and those of its inboxes. */
function isRuleReached(reach: Reach): SQL {
  if (isWholeAccount(reach)) return sql`r.account_id = ${reach.accountId}`;
  const ofTenant = reach.externalId === undefined ? sql`false` : sql`r.external_id = ${reach.externalId}`;
  return sql`r.account_id = ${reach.accountId}
    and (${ofTenant} or r.inbox_id in (select i.id from inboxes i where ${isReached(reach)}))`;
}

export interface RulePage {
  reach: Reach;
  inboxId: string | undefined;
  externalId: string | undefined;
  direction: RuleDirection | undefined;
  action: RuleAction | undefined;
  limit: number;
  offset: number;
}

/** Lists rules, newest first. */
export function listRules(db: Db, page: RulePage): Promise<StoredRule[]> {
  return query(
    db,
    sql`select ${ruleFields} from rules r where ${isOfPage(page)} order by r.id desc limit ${page.limit} offset ${page.offset}`,
  );
}

export async function countRules(db: Db, page: RulePage): Promise<number> {
  const [counted] = await query<{ total: number }>(
    db,
    sql`select count(*) as total from rules r where ${isOfPage(page)}`,
  );
  return counted?.total ?? 0;
}

function isOfPage({ reach, inboxId, externalId, direction, action }: RulePage): SQL {
  const conditions = [isRuleReached(reach)];
  if (inboxId !== undefined) conditions.push(sql`r.inbox_id = ${inboxId}`);
  if (externalId !== undefined) conditions.push(sql`r.external_id = ${externalId}`);
  if (direction !== undefined) conditions.push(sql`r.direction = ${direction}`);
  if (action !== undefined) conditions.push(sql`r.action = ${action}`);
  return sql.join(conditions, sql` and `);
}

export async function findRule(db: Db, reach: Reach, id: string): Promise<StoredRule | undefined> {
  const [found] = await query<StoredRule>(
    db,
    sql`select ${ruleFields} from rules r where r.id = ${id} and ${isRuleReached(reach)}`,
  );
  return found;
}

/** Finds the rule with the same direction, action and pattern for the same inboxes. */
export async function findSameRule(db: Db, rule: StoredRule): Promise<StoredRule | undefined> {
  const { accountId, inboxId, externalId, direction, action, pattern } = rule;
  const [found] = await query<StoredRule>(
    db,
    sql`select ${ruleFields} from rules r where r.account_id = ${accountId} and r.inbox_id = ${inboxId}
          and r.external_id = ${externalId} and r.direction = ${direction} and r.action = ${action} and r.pattern = ${pattern}`,
  );
  return found;
}

/** Counts the rules of an account, and those of one inbox among them. The caller has locked the account. */
export async function countRulesOf(
  tx: Db,
  { accountId, inboxId }: Pick<StoredRule, "accountId" | "inboxId">,
): Promise<{ all: number; ofInbox: number }> {
  const [counted] = await query<{ all: number; ofInbox: number }>(
    tx,
    sql`select count(*) as all, count(*) filter (where r.inbox_id = ${inboxId}) as "ofInbox"
        from rules r where r.account_id = ${accountId}`,
  );
  return counted ?? { all: 0, ofInbox: 0 };
}

/** Inserts a rule that does not exist. */
export async function insertRule(tx: Db, rule: StoredRule): Promise<void> {
  await insertRow(tx, rules, rule);
}

/** Removes a rule, and returns it. Undefined if there is none within the reach. */
export async function removeRule(db: Db, reach: Reach, id: string): Promise<StoredRule | undefined> {
  const [removed] = await query<StoredRule>(
    db,
    sql`delete from rules r where r.id = ${id} and ${isRuleReached(reach)} returning ${ruleFields}`,
  );
  return removed;
}

/** The account and the inboxes that a policy is for. */
export interface PolicyScope extends Scope {
  accountId: string;
}

const policyFields = selected(policies, "p", ["inboxId", "externalId", "inbound", "sendPolicy"]);

/** Lists the policies that an inbox may have: its own, that of its tenant and that of its account. */
export function listPoliciesFor(db: Db, { accountId, inboxId, externalId }: PolicyScope): Promise<Policy[]> {
  return query(
    db,
    sql`select ${policyFields} from policies p where p.account_id = ${accountId}
          and (p.inbox_id, p.external_id) in ((${inboxId}, ''), ('', ${externalId}), ('', ''))`,
  );
}

/** Counts the policies of an account. The caller has locked the account. */
export async function countPolicies(tx: Db, accountId: string): Promise<number> {
  const [counted] = await query<{ count: number }>(
    tx,
    sql`select count(*) from policies where account_id = ${accountId}`,
  );
  return counted?.count ?? 0;
}

/** Inserts a policy, or replaces the one for the same inboxes. */
export async function insertPolicy(tx: Db, policy: Policy & PolicyScope): Promise<void> {
  const { accountId, inboxId, externalId, inbound, sendPolicy } = policy;
  await query(
    tx,
    sql`insert into policies (account_id, inbox_id, external_id, inbound, send_policy)
        values (${accountId}, ${inboxId}, ${externalId}, ${inbound === null ? null : JSON.stringify(inbound)}::jsonb, ${sendPolicy})
        on conflict (account_id, inbox_id, external_id) do update set inbound = excluded.inbound, send_policy = excluded.send_policy`,
  );
}

/** Removes a policy. Returns false if there is none. */
export async function removePolicy(tx: Db, { accountId, inboxId, externalId }: PolicyScope): Promise<boolean> {
  const removed = await query(
    tx,
    sql`delete from policies where account_id = ${accountId} and inbox_id = ${inboxId} and external_id = ${externalId} returning 1`,
  );
  return removed.length === 1;
}
