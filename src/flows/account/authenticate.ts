import type { Plan } from "../../domain/limits.ts";
import { passingMemory } from "../../primitives/memory.ts";
import { sha256Hex } from "../../standards/digest.ts";
import { findAccountOfKey, markKeysUsed } from "../../store/account/accounts.ts";
import type { Deps } from "../deps.ts";

export interface KeyHolder {
  id: string;
  plan: Plan;
}

export interface Authenticator {
  authenticate: (apiKey: string) => Promise<KeyHolder | undefined>;
  /** Forgets what is known of a key that was made or revoked, here or (by a notification) elsewhere. */
  forget: (hash: string) => void;
  /** While changes elsewhere can't be heard, nothing is remembered. */
  setHearing: (hears: boolean) => void;
  /** Writes down when keys were last used: one statement for all, not one for each request. */
  flush: () => Promise<void>;
}

/** Bounds how long a revoked key could go on if its notification were lost. */
const rememberedMs = 30_000;
/** Bounds how long a new key would be refused if its notification were lost. Who tries one bad key again and again asks no database. */
const unknownMs = 5_000;
const mostRemembered = 10_000;

export function authenticator(deps: Deps): Authenticator {
  const remembered = passingMemory<string, KeyHolder & { keyId: string }>(mostRemembered);
  /** Hashes of what is nobody's key. Apart from the others, since any stranger can fill it. */
  const unknown = passingMemory<string, true>(mostRemembered);
  const lastUsed = new Map<string, Date>();
  let hears = false;
  let forgotten = 0;

  async function authenticate(apiKey: string): Promise<KeyHolder | undefined> {
    const hash = sha256Hex(apiKey);
    const now = deps.now();
    const nowMs = now.getTime();
    if (unknown.get(hash, nowMs)) return undefined;
    const holder = remembered.get(hash, nowMs) ?? (await find(hash, nowMs));
    if (holder !== undefined) lastUsed.set(holder.keyId, now);
    return holder;
  }

  async function find(hash: string, nowMs: number) {
    const forgottenBefore = forgotten;
    const account = await findAccountOfKey(deps.db.api, hash);
    // A key that was made or revoked while it was looked up must not be remembered as it was.
    const remembers = hears && forgotten === forgottenBefore;
    if (account === undefined) {
      remembered.delete(hash);
      if (remembers) unknown.set(hash, true, nowMs + unknownMs);
      return undefined;
    }
    const holder = { id: account.id, plan: account.plan, keyId: account.keyId };
    if (remembers) remembered.set(hash, holder, nowMs + rememberedMs);
    return holder;
  }

  return {
    authenticate,
    forget(hash) {
      forgotten += 1;
      remembered.delete(hash);
      unknown.delete(hash);
    },
    setHearing(now) {
      hears = now;
      forgotten += 1;
      if (hears) return;
      remembered.clear();
      unknown.clear();
    },
    async flush() {
      if (lastUsed.size === 0) return;
      const used = Array.from(lastUsed, ([id, lastUsedAt]) => ({ id, lastUsedAt }));
      lastUsed.clear();
      await markKeysUsed(deps.db.work, used);
    },
  };
}
