import { sql } from "drizzle-orm";
import { arrayOf, type Db, query } from "../../database/db.ts";
import type { Policy, Rule } from "../../domain/rules.ts";
import { asJson } from "../columns.ts";
import { policies, rules } from "../schema.ts";

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
