import type { Caller } from "../../domain/access/access.ts";
import type { Actor } from "../../domain/access/actor.ts";
import { consoleSeconds, tokenEnd } from "../../domain/access/token.ts";
import { Refusal } from "../../domain/errors.ts";
import { findAccountById } from "../../store/account/accounts.ts";
import { findNewestWholeKey } from "../../store/account/keys.ts";
import { insertUsedToken } from "../../store/account/used-tokens.ts";
import { audit } from "../audit.ts";
import type { Deps } from "../deps.ts";
import type { AccessTokens } from "./access-tokens.ts";
import type { SignInToken } from "./authenticate.ts";

export interface SessionDeps extends Pick<Deps, "db" | "now" | "randomBytes" | "newId"> {
  tokens: Pick<AccessTokens, "writeForConsole">;
}

export interface SignInDeps extends SessionDeps {
  baseUrl: () => string;
}

export interface SignInLink {
  url: string;
  expiresAt: Date;
}

/** Makes a URL that signs a browser in once, as the holder of a key. The token follows `#`: browsers do not send that part to servers. */
export async function signInLink(deps: SignInDeps, keyId: string): Promise<SignInLink> {
  const { token, expiresAt } = await consoleToken(deps, "sign_in", keyId);
  return { url: `${deps.baseUrl()}/console/#t=${token}`, expiresAt };
}

/** Makes a sign-in link for the newest key of an account that may do everything in it. */
export async function signInLinkOfAccount(deps: SignInDeps, account: { id: string; name: string }) {
  const keyId = await findNewestWholeKey(deps.db.api, account.id, deps.now());
  if (keyId === undefined) {
    throw new Refusal(
      "not_found",
      `Cannot sign in: the account "${account.name}" has no key; "inboxd key create" makes one`,
    );
  }
  return signInLink(deps, keyId);
}

/** Makes the token of a new browser session, which acts with this key. The token is for the browser's cookie. */
export async function newSession(deps: SessionDeps, holder: Caller, actor: Actor): Promise<string> {
  const { token } = await consoleToken(deps, "console", holder.keyId);
  await auditConsole(deps, "console.signed_in", holder, actor);
  return token;
}

/** Notes that a browser has ended its session. */
export function endSession(deps: SessionDeps, holder: Caller, actor: Actor): Promise<void> {
  return auditConsole(deps, "console.signed_out", holder, actor);
}

function auditConsole(
  deps: SessionDeps,
  action: "console.signed_in" | "console.signed_out",
  { id: accountId, keyId }: Caller,
  actor: Actor,
): Promise<void> {
  const target = { type: "key", id: keyId } as const;
  return audit(deps.db.api, deps, deps.now(), { action, accountId, actor, target });
}

export interface LinkUse {
  /** The holder of the key that made the link. */
  holder: Caller & { link: SignInToken };
  /** The holder of the browser's current session, if it has one. */
  current: Caller | undefined;
  /** Whether the user has agreed to leave that session. */
  isConfirmed: boolean;
}

/**
 * Uses a sign-in link. A click on someone else's link must not change the account of a session, so a browser with another session has to
 * confirm first, and the link stays unused until then. Returns whether this was the link's first use.
 */
export async function useSignInLink(
  { db }: Pick<Deps, "db">,
  { holder, current, isConfirmed }: LinkUse,
): Promise<boolean> {
  if (current !== undefined && !isConfirmed) {
    const [account, other] = await Promise.all([holder, current].map(({ id }) => findAccountById(db.api, id)));
    throw new Refusal("already_signed_in", "Cannot sign in: this browser has a session, so the user must confirm", {
      extra: { account: account?.name ?? null, current: other?.name ?? null },
    });
  }
  const { id, expiresAt } = holder.link;
  return (await insertUsedToken(db.api, { token: `sign_in:${id}`, usedFor: "", validUntil: expiresAt })) === undefined;
}

async function consoleToken({ tokens, now, randomBytes }: SessionDeps, purpose: "sign_in" | "console", keyId: string) {
  const expiresAt = tokenEnd(now(), consoleSeconds[purpose]);
  const id = randomBytes(12).toHex();
  return { token: await tokens.writeForConsole({ keyId, purpose, id, expiresAt }), expiresAt };
}
