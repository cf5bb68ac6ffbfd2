import { consoleSeconds, tokenEnd } from "../../domain/access/token.ts";
import { Refusal } from "../../domain/errors.ts";
import { findNewestLivingKey } from "../../store/account/accounts.ts";
import type { Deps } from "../deps.ts";
import type { AccessTokens } from "./access-tokens.ts";

export interface SignInDeps extends Deps {
  tokens: Pick<AccessTokens, "writeForConsole">;
  baseUrl: () => string;
}

export interface SignInLink {
  url: string;
  expiresAt: Date;
}

/** An address that signs a browser in as the holder of a key. Its token stands behind `#`, which no browser ever sends. */
export async function signInLink({ tokens, baseUrl, now }: SignInDeps, keyId: string): Promise<SignInLink> {
  const expiresAt = tokenEnd(now(), consoleSeconds.sign_in);
  const token = await tokens.writeForConsole({ keyId, purpose: "sign_in", expiresAt });
  return { url: `${baseUrl()}/console/#t=${token}`, expiresAt };
}

/** The same as the newest key of an account. */
export async function signInLinkOfAccount(deps: SignInDeps, account: { id: string; name: string }) {
  const keyId = await findNewestLivingKey(deps.db.api, account.id);
  if (keyId === undefined) {
    throw new Refusal(
      "not_found",
      `Cannot sign in: the account "${account.name}" has no key; "inboxd key create" makes one`,
    );
  }
  return signInLink(deps, keyId);
}
