import { transaction } from "../../database/db.ts";
import { type Caller, wholeAccount } from "../../domain/access/access.ts";
import type { Actor } from "../../domain/access/actor.ts";
import { type Operator, operatorKeyPrefix } from "../../domain/access/operator.ts";
import { Refusal } from "../../domain/errors.ts";
import { idBeside, isId } from "../../domain/ids.ts";
import { passingMemory } from "../../primitives/memory.ts";
import { sha256Hex } from "../../standards/digest.ts";
import { findAccountById } from "../../store/account/accounts.ts";
import { insertAuditEntryOnce } from "../../store/account/audit.ts";
import { findOperator, insertOperator, markOperatorRevoked, markOperatorUsed } from "../../store/account/operators.ts";
import { audit, auditEntriesOf } from "../audit.ts";
import type { Deps } from "../deps.ts";
import { checkedName, randomKey } from "./manage-accounts.ts";

export interface NewOperatorKey {
  name: string;
  /** Undefined: the key has no end. */
  expiresAt: Date | undefined;
}

/** Makes the key of an operator, which is shown once: the database keeps only its hash. */
export async function createOperator(
  deps: Deps,
  actor: Actor,
  { name: given, expiresAt }: NewOperatorKey,
): Promise<{ id: string; name: string; key: string }> {
  const name = checkedName("create operator", given);
  const createdAt = deps.now();
  const id = deps.newId("opk", createdAt);
  const key = randomKey(deps, operatorKeyPrefix);
  const row = { id, name, hash: sha256Hex(key), prefix: key.slice(0, 8), lastFour: key.slice(-4), createdAt };
  await transaction(deps.db.api, async (tx) => {
    if (!(await insertOperator(tx, { ...row, expiresAt: expiresAt ?? null }))) {
      throw new Refusal("validation_error", `Cannot create operator: the name "${name}" is taken`);
    }
    const target = { type: "operator", id } as const;
    await audit(tx, deps, createdAt, { action: "operator.created", accountId: null, actor, target, details: { name } });
  });
  return { id, name, key };
}

/** Revokes the key of an operator, by its id or its name. Every request looks its key up, so that is in force at once. */
export async function revokeOperator(deps: Deps, actor: Actor, idOrName: string): Promise<string> {
  return transaction(deps.db.api, async (tx) => {
    const id = await markOperatorRevoked(tx, idOrName, deps.now());
    if (id === undefined) throw new Refusal("not_found", `Cannot revoke operator: there is no valid key ${idOrName}`);
    const target = { type: "operator", id } as const;
    await audit(tx, deps, deps.now(), { action: "operator.revoked", accountId: null, actor, target });
    return id;
  });
}

/** The dependencies of requests with the key of an operator. */
export interface Operators {
  /** Finds the operator of a key. */
  authenticateOperator(key: string): Promise<Operator | undefined>;
  /** The operator as a caller in an account, with the rights of its unbound key. Undefined if there is no such account. */
  asAccount(operator: Operator, accountId: string): Promise<Caller | undefined>;
  /** Notes that an operator acts in an account: once an hour for each operator, account and route. */
  noteActed(actor: Actor, accountId: string, route: string): Promise<void>;
}

const usedEveryMs = 60_000;
const actedEveryMs = 3_600_000;
const mostRemembered = 10_000;

export function operators(deps: Deps): Operators {
  const { db } = deps;
  const noted = passingMemory<string, true>(mostRemembered);
  return {
    async authenticateOperator(key) {
      if (!key.startsWith(operatorKeyPrefix)) return undefined;
      const now = deps.now();
      const operator = await findOperator(db.api, sha256Hex(key), now);
      if (operator === undefined) return undefined;
      const { id, name, lastUsedAt } = operator;
      const isNoted = lastUsedAt !== null && now.getTime() - lastUsedAt.getTime() < usedEveryMs;
      if (!isNoted) await markOperatorUsed(db.api, id, now);
      return { id, name };
    },
    async asAccount({ id: operatorId }, accountId) {
      const account = isId("acc", accountId) ? await findAccountById(db.api, accountId) : undefined;
      return account && { ...wholeAccount(account, operatorId), kind: "operator" };
    },
    async noteActed(actor, accountId, route) {
      const name = `${actor.id} ${accountId} ${route}`;
      const at = deps.now();
      if (noted.get(name, at.getTime())) return;
      const target = { type: "route", id: route } as const;
      const [entry] = auditEntriesOf(deps, at, [{ action: "operator.acted", accountId, actor, target }]);
      // Another process may have noted it within the hour.
      const since = new Date(at.getTime() - actedEveryMs + 1);
      if (entry !== undefined) await insertAuditEntryOnce(db.api, entry, idBeside(entry.id, "aud", since));
      noted.set(name, true, at.getTime() + actedEveryMs);
    },
  };
}
