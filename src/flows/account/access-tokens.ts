import { claimsText, parseClaims, type TokenClaims, type TokenParts, tokenPrefix } from "../../domain/access/token.ts";
import { isTokenSignature, tokenKey, tokenSignature } from "../../standards/signature.ts";

/** Tokens that stand nowhere: what they say is true because we signed it. */
export interface AccessTokens {
  write(claims: TokenClaims): Promise<string>;
  /** What a token of ours says; undefined where it is none, or its time is over. */
  read(token: TokenParts, now: Date): Promise<TokenClaims | undefined>;
}

export async function accessTokens(signingKey: string): Promise<AccessTokens> {
  const key = await tokenKey(signingKey);
  return {
    async write(claims) {
      const text = claimsText(claims);
      return `${tokenPrefix}${text}.${await tokenSignature(key, text)}`;
    },
    async read({ claims: text, signature }, now) {
      if (!(await isTokenSignature(key, text, signature))) return undefined;
      const claims = parseClaims(text);
      return claims !== undefined && now < claims.expiresAt ? claims : undefined;
    },
  };
}
