import type { Db } from "../database/db.ts";
import { type RuleBook, ruleBook } from "../domain/rules.ts";
import { listRulesOfAccounts } from "../store/account/rules.ts";
import type { Deps } from "./deps.ts";

/**
 * The rules and policies of accounts, as this process remembers them, for mail in both directions. An account without any is remembered
 * too, so its mail costs a look-up in memory.
 */
export interface AccountRules {
  /** Finds the rules of these accounts, from memory or by one read. `db` is the pool of the caller. */
  find(db: Db, accountIds: readonly string[]): Promise<ReadonlyMap<string, RuleBook>>;
  /** Returns the remembered rules of an account, without a read. */
  recall(accountId: string): RuleBook | undefined;
  /** Forgets the rules of an account, because one of them has changed. */
  forget(accountId: string): void;
  /** Forgets the rules of all accounts, because a signal may have been lost. */
  forgetAll(): void;
}

/** The time for which rules are remembered. Only a lost signal matters: a change is signalled, and forgets them at once. */
const rememberedMs = 30_000;
/** The most accounts to remember, and the most rules and policies of all of them, about 40 MB. */
const mostAccounts = 10_000;
const mostRemembered = 100_000;

export function accountRules(
  { now }: Pick<Deps, "now">,
  limits: { mostAccounts: number; mostRemembered: number } = { mostAccounts, mostRemembered },
): AccountRules {
  const known = new Map<string, { book: RuleBook; untilMs: number }>();
  /** The reads that go on. A change takes the account out, so that no later caller gets what was read before the change. */
  const reading = new Map<string, Promise<RuleBook>>();
  let size = 0;

  function recall(accountId: string): RuleBook | undefined {
    const entry = known.get(accountId);
    return entry !== undefined && now().getTime() < entry.untilMs ? entry.book : undefined;
  }

  function drop(accountId: string): void {
    size -= known.get(accountId)?.book.size ?? 0;
    known.delete(accountId);
  }

  function remember(accountId: string, book: RuleBook): void {
    drop(accountId);
    known.set(accountId, { book, untilMs: now().getTime() + rememberedMs });
    size += book.size;
    for (const oldest of known.keys()) {
      if (known.size <= limits.mostAccounts && size <= limits.mostRemembered) return;
      drop(oldest);
    }
  }

  function read(db: Db, accountIds: readonly string[]): void {
    const all = listRulesOfAccounts(db, accountIds);
    for (const accountId of accountIds) {
      const one = all.then((found) => {
        const { rules = [], policies = [] } = found.find((each) => each.accountId === accountId) ?? {};
        return ruleBook(rules, policies);
      });
      reading.set(accountId, one);
      one
        .then((book) => reading.get(accountId) === one && remember(accountId, book))
        .catch(() => undefined)
        .finally(() => reading.get(accountId) === one && reading.delete(accountId));
    }
  }

  return {
    async find(db, accountIds) {
      const books = new Map<string, RuleBook>();
      const missing = new Set<string>();
      for (const accountId of accountIds) {
        const book = recall(accountId);
        if (book === undefined) missing.add(accountId);
        else books.set(accountId, book);
      }
      if (missing.size === 0) return books;
      const unread = [...missing].filter((accountId) => !reading.has(accountId));
      if (unread.length > 0) read(db, unread);
      for (const [accountId, one] of [...missing].map((id) => [id, reading.get(id)] as const)) {
        if (one !== undefined) books.set(accountId, await one);
      }
      return books;
    },
    recall,
    forget(accountId) {
      drop(accountId);
      reading.delete(accountId);
    },
    forgetAll() {
      known.clear();
      reading.clear();
      size = 0;
    },
  };
}
