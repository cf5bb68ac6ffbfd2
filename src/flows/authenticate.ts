import { sha256Hex } from "../domain/digest.ts";
import type { Plan } from "../domain/limits.ts";
import { findAccountOfKey, markKeysUsed } from "../store/accounts.ts";
import type { Deps } from "./deps.ts";

export interface KeyHolder {
  id: string;
  plan: Plan;
}

export interface Authenticator {
  authenticate: (apiKey: string) => Promise<KeyHolder | undefined>;
  /** Forgets a key that was revoked, here or (by a notification) elsewhere. */
  forget: (hash: string) => void;
  /** While revocations elsewhere can't be heard, nothing is remembered. */
  setHearing: (hears: boolean) => void;
  /** Writes down when keys were last used: one statement for all, not one for each request. */
  flush: () => Promise<void>;
}

/** Bounds how long a revoked key could go on if its notification were lost. */
const rememberedMs = 30_000;
const mostRemembered = 10_000;

export function authenticator(deps: Deps): Authenticator {
  const remembered = new Map<string, { holder: KeyHolder & { keyId: string }; untilMs: number }>();
  const lastUsed = new Map<string, Date>();
  let hears = false;
  let forgotten = 0;

  async function authenticate(apiKey: string): Promise<KeyHolder | undefined> {
    const hash = sha256Hex(apiKey);
    const now = deps.now();
    const known = remembered.get(hash);
    const holder = known !== undefined && known.untilMs > now.getTime() ? known.holder : await find(hash, now);
    if (holder !== undefined) lastUsed.set(holder.keyId, now);
    return holder;
  }

  async function find(hash: string, now: Date) {
    const forgottenBefore = forgotten;
    const account = await findAccountOfKey(deps.db.api, hash);
    if (account === undefined) {
      remembered.delete(hash);
      return undefined;
    }
    const holder = { id: account.id, plan: account.plan, keyId: account.keyId };
    if (remembered.size >= mostRemembered) remembered.clear();
    // A key that was revoked while it was looked up must not be remembered as it was.
    if (hears && forgotten === forgottenBefore) remembered.set(hash, { holder, untilMs: now.getTime() + rememberedMs });
    return holder;
  }

  return {
    authenticate,
    forget(hash) {
      forgotten += 1;
      remembered.delete(hash);
    },
    setHearing(now) {
      hears = now;
      forgotten += 1;
      if (!hears) remembered.clear();
    },
    async flush() {
      if (lastUsed.size === 0) return;
      const used = Array.from(lastUsed, ([id, lastUsedAt]) => ({ id, lastUsedAt }));
      lastUsed.clear();
      await markKeysUsed(deps.db.work, used);
    },
  };
}
