import {
  type ConsoleClaims,
  type ConsolePurpose,
  longestInAddressMs,
  partsOfToken,
  type TokenClaims,
} from "../../domain/access/token.ts";
import type { Plan } from "../../domain/limits.ts";
import { boundedMemory, passingMemory } from "../../primitives/memory.ts";
import { paced } from "../../primitives/paced.ts";
import { sha256Hex } from "../../standards/digest.ts";
import { findAccountOfKey, findKeyHash, markKeysUsed } from "../../store/account/accounts.ts";
import type { Deps } from "../deps.ts";
import type { AccessTokens } from "./access-tokens.ts";

export interface KeyHolder {
  id: string;
  plan: Plan;
  keyId: string;
  /** Where a token came in place of the key that it was made by: what it says. */
  token?: TokenClaims;
  /** Where the key's session in a browser asks: it may what the key may, until then. */
  session?: { expiresAt: Date };
}

/** The id of a sign-in link, and the end of its validity. */
export type SignInToken = Pick<ConsoleClaims, "id" | "expiresAt">;

export interface Authenticator {
  /** By an API key, or a token that was made by one. */
  authenticate: (credential: string) => Promise<KeyHolder | undefined>;
  /** By what may stand in an address: a token that ends within the hour, and never a key, since addresses are kept and shown everywhere. */
  authenticateAddress: (token: string) => Promise<KeyHolder | undefined>;
  /** By an API key and nothing else. */
  authenticateKey: (key: string) => Promise<KeyHolder | undefined>;
  /** By the token of a link to sign in by and nothing else; `link` says which link it is. */
  authenticateLink: (token: string) => Promise<(KeyHolder & { link: SignInToken }) | undefined>;
  /** By the token that a browser's session is, and nothing else. */
  authenticateSession: (token: string) => Promise<KeyHolder | undefined>;
  /** Forgets what is known of a key that was made or revoked, here or (by a notification) elsewhere. */
  forget: (hash: string) => void;
  /** While changes elsewhere can't be heard, nothing is remembered. */
  setHearing: (hears: boolean) => void;
  /** Writes down the last uses of keys that are not written yet, and writes no more by itself. */
  close: () => Promise<void>;
}

/** Bounds how long a revoked key could go on if its notification were lost. */
const rememberedMs = 30_000;
/** Bounds how long a new key would be refused if its notification were lost. Who tries one bad key again and again asks no database. */
const unknownMs = 5_000;
const mostRemembered = 10_000;

export function authenticator(
  deps: Deps,
  tokens?: Pick<AccessTokens, "read" | "readForConsole">,
  usesWrittenEveryMs = 60_000,
): Authenticator {
  const remembered = passingMemory<string, KeyHolder>(mostRemembered);
  /** Hashes of what is nobody's key. Apart from the others, since any stranger can fill it. */
  const unknown = passingMemory<string, true>(mostRemembered);
  const lastUsed = new Map<string, Date>();
  // One statement for all keys, and none for each request.
  const writing = paced(usesWrittenEveryMs, () => {
    writeUses().catch((err: unknown) => deps.log.warn({ err }, "last use of keys not written"));
  });
  let hears = false;
  let forgotten = 0;

  async function holderOf(hash: string): Promise<KeyHolder | undefined> {
    const now = deps.now();
    const nowMs = now.getTime();
    if (unknown.get(hash, nowMs)) return undefined;
    const holder = remembered.get(hash, nowMs) ?? (await find(hash, nowMs));
    if (holder !== undefined) {
      lastUsed.set(holder.keyId, now);
      writing.ask();
    }
    return holder;
  }

  async function writeUses(): Promise<void> {
    if (lastUsed.size === 0) return;
    const used = Array.from(lastUsed, ([id, lastUsedAt]) => ({ id, lastUsedAt }));
    lastUsed.clear();
    await markKeysUsed(deps.db.work, used).catch((error: unknown) => {
      for (const { id, lastUsedAt } of used) if (!lastUsed.has(id)) lastUsed.set(id, lastUsedAt);
      throw error;
    });
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
    ...byTokens(deps, tokens, holderOf),
    authenticateKey: (key) => holderOf(sha256Hex(key)),
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
    async close() {
      writing.stop();
      await writeUses();
    },
  };
}

/** The ways in that take tokens; `holderOf` finds who holds the key of a hash. */
function byTokens(
  deps: Deps,
  tokens: Pick<AccessTokens, "read" | "readForConsole"> | undefined,
  holderOf: (hash: string) => Promise<KeyHolder | undefined>,
): Pick<Authenticator, "authenticate" | "authenticateAddress" | "authenticateLink" | "authenticateSession"> {
  /** By the ids of keys: the hash of a key never changes. */
  const hashes = boundedMemory<string, string>(mostRemembered);

  async function authenticate(credential: string): Promise<KeyHolder | undefined> {
    const parts = tokens === undefined ? undefined : partsOfToken(credential);
    const token = parts && (await tokens?.read(parts, deps.now()));
    // What is no token of ours may still be a key: operators choose their own words for API_KEY.
    if (token === undefined) return holderOf(sha256Hex(credential));
    const holder = await holderOfId(token.keyId);
    return holder && { ...holder, token };
  }

  /** The claims of a token of the console, with the holder of the key that made it. */
  async function consoleToken(purpose: ConsolePurpose, token: string) {
    const parts = partsOfToken(token);
    const claims = parts && (await tokens?.readForConsole(parts, purpose, deps.now()));
    const holder = claims && (await holderOfId(claims.keyId));
    return holder && { holder, claims };
  }

  async function authenticateLink(token: string) {
    const found = await consoleToken("sign_in", token);
    return found && { ...found.holder, link: found.claims };
  }

  async function authenticateSession(token: string): Promise<KeyHolder | undefined> {
    const found = await consoleToken("console", token);
    return found && { ...found.holder, session: found.claims };
  }

  async function holderOfId(keyId: string): Promise<KeyHolder | undefined> {
    const hash = await hashOf(keyId);
    return hash === undefined ? undefined : holderOf(hash);
  }

  async function authenticateAddress(credential: string): Promise<KeyHolder | undefined> {
    const holder = await authenticate(credential);
    const endsAt = holder?.token?.expiresAt.getTime();
    return endsAt !== undefined && endsAt - deps.now().getTime() <= longestInAddressMs ? holder : undefined;
  }

  async function hashOf(keyId: string): Promise<string | undefined> {
    const known = hashes.get(keyId) ?? (await findKeyHash(deps.db.api, keyId));
    if (known !== undefined) hashes.set(keyId, known);
    return known;
  }

  return { authenticate, authenticateAddress, authenticateLink, authenticateSession };
}
