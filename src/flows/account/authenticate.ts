import { type Caller, hasEnded } from "../../domain/access/access.ts";
import {
  type ConsoleClaims,
  type ConsolePurpose,
  longestInAddressMs,
  partsOfToken,
  withToken,
} from "../../domain/access/token.ts";
import { boundedMemory, passingMemory } from "../../primitives/memory.ts";
import { paced } from "../../primitives/paced.ts";
import { sha256Hex } from "../../standards/digest.ts";
import { findKeyHash, findKeyHolder, type KeyHolder, markKeysUsed } from "../../store/account/keys.ts";
import type { Deps } from "../deps.ts";
import type { AccessTokens } from "./access-tokens.ts";

/** The id of a sign-in link, and its expiry. */
export type SignInToken = Pick<ConsoleClaims, "id" | "expiresAt">;

export interface Authenticator {
  /** Accepts an API key, or a token that was made with one. */
  authenticate: (credential: string) => Promise<Caller | undefined>;
  /** Accepts also a token that is valid for MCP alone. */
  authenticateMcp: (credential: string) => Promise<Caller | undefined>;
  /** Accepts only credentials that may appear in a URL: tokens that only read and expire within an hour, never keys. */
  authenticateAddress: (token: string) => Promise<Caller | undefined>;
  /** Accepts only an API key. */
  authenticateKey: (key: string) => Promise<Caller | undefined>;
  /** Accepts only the token of a sign-in link. `link` has the id and the expiry of that link. */
  authenticateLink: (token: string) => Promise<(Caller & { link: SignInToken }) | undefined>;
  /** Accepts only the token of a browser session. */
  authenticateSession: (token: string) => Promise<Caller | undefined>;
  /** Drops a key from memory after it was created or revoked, in this process or (by a notification) in another one. */
  forget: (hash: string) => void;
  /** Drops all keys from memory, after an account was changed. That is rare. */
  forgetAll: () => void;
  /** Turns the memory of keys on or off. It must be off while notifications of other processes may be lost. */
  setHearing: (hears: boolean) => void;
  /** Writes the uses of keys that are not written yet, and stops the periodic writes. */
  close: () => Promise<void>;
}

/** The longest time for which a revoked key could still work if its notification were lost. */
const rememberedMs = 30_000;
/**
 * The longest time for which a new key would be refused if its notification were lost. Repeated requests with one unknown key cause no
 * query.
 */
const unknownMs = 5_000;
const mostRemembered = 10_000;

export function authenticator(
  deps: Deps,
  tokens?: Pick<AccessTokens, "read" | "readForConsole">,
  usesWrittenEveryMs = 60_000,
): Authenticator {
  const remembered = passingMemory<string, Caller>(mostRemembered);
  /** The hashes of unknown keys. They have a separate memory, so that strangers who fill it do not push known keys out. */
  const unknown = passingMemory<string, true>(mostRemembered);
  const lastUsed = new Map<string, Date>();
  // Writes the last use of all keys in one statement, instead of one statement for each request.
  const writing = paced(usesWrittenEveryMs, () => {
    writeUses().catch((err: unknown) => deps.log.warn({ err }, "last use of keys not written"));
  });
  let hears = false;
  let forgotten = 0;

  async function holderOf(hash: string): Promise<Caller | undefined> {
    const now = deps.now();
    const nowMs = now.getTime();
    if (unknown.get(hash, nowMs)) return undefined;
    const holder = remembered.get(hash, nowMs) ?? (await find(hash, nowMs));
    if (holder === undefined || hasEnded(holder, now)) return undefined;
    lastUsed.set(holder.keyId, now);
    writing.ask();
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
    const found = await findKeyHolder(deps.db.api, hash);
    // If any key was made or revoked during the look-up, its result may be outdated and is not remembered.
    const remembers = hears && forgotten === forgottenBefore;
    if (found === undefined) {
      remembered.delete(hash);
      if (remembers) unknown.set(hash, true, nowMs + unknownMs);
      return undefined;
    }
    const holder = callerOf(found);
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
    forgetAll() {
      forgotten += 1;
      remembered.clear();
      // The account may be one that was imported, with its keys.
      unknown.clear();
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

function callerOf({ inboxId, externalId, expiresAt, ...holder }: KeyHolder): Caller {
  const reach = { accountId: holder.id, inboxId: inboxId ?? undefined, externalId: externalId ?? undefined };
  return { ...holder, kind: "key", reach, expiresAt: expiresAt ?? undefined };
}

/** Authentication with tokens. `holderOf` finds the holder of a key by its hash. */
function byTokens(
  deps: Deps,
  tokens: Pick<AccessTokens, "read" | "readForConsole"> | undefined,
  holderOf: (hash: string) => Promise<Caller | undefined>,
): Pick<
  Authenticator,
  "authenticate" | "authenticateMcp" | "authenticateAddress" | "authenticateLink" | "authenticateSession"
> {
  /** The hash of each key, by the key's id. It may be remembered for ever, because it never changes. */
  const hashes = boundedMemory<string, string>(mostRemembered);

  async function callerFor(audience: "mcp" | undefined, credential: string): Promise<Caller | undefined> {
    const parts = tokens === undefined ? undefined : partsOfToken(credential);
    const token = parts && (await tokens?.read(parts, deps.now()));
    // A text that is not one of our tokens may still be a key: operators choose API_KEY themselves.
    if (token === undefined) return holderOf(sha256Hex(credential));
    if (token.audience !== undefined && token.audience !== audience) return undefined;
    const holder = await holderOfId(token.keyId);
    return holder && withToken(holder, token);
  }

  /** Reads a token of the console. Returns its claims, and the holder of the key that made it. */
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

  async function authenticateSession(token: string): Promise<Caller | undefined> {
    const found = await consoleToken("console", token);
    return found && { ...found.holder, kind: "session", expiresAt: found.claims.expiresAt };
  }

  async function holderOfId(keyId: string): Promise<Caller | undefined> {
    const hash = await hashOf(keyId);
    return hash === undefined ? undefined : holderOf(hash);
  }

  const authenticate = (credential: string) => callerFor(undefined, credential);
  const authenticateMcp = (credential: string) => callerFor("mcp", credential);

  async function authenticateAddress(credential: string): Promise<Caller | undefined> {
    const holder = await authenticate(credential);
    const endsAt = holder?.kind === "token" ? holder.expiresAt?.getTime() : undefined;
    const isRead = holder?.access === "read";
    return isRead && endsAt !== undefined && endsAt - deps.now().getTime() <= longestInAddressMs ? holder : undefined;
  }

  async function hashOf(keyId: string): Promise<string | undefined> {
    const known = hashes.get(keyId) ?? (await findKeyHash(deps.db.api, keyId));
    if (known !== undefined) hashes.set(keyId, known);
    return known;
  }

  return { authenticate, authenticateMcp, authenticateAddress, authenticateLink, authenticateSession };
}
