import {
  type ConsoleClaims,
  type ConsolePurpose,
  claimsText,
  consoleClaimsText,
  parseClaims,
  parseConsoleClaims,
  type TokenClaims,
  type TokenParts,
  tokenPrefix,
} from "../../domain/access/token.ts";
import { type GrantTurn, parseTurn, signedTurn, writeTurn } from "../../domain/connect/grant-token.ts";
import { isTokenSignature, tokenKey, tokenSignature } from "../../standards/signature.ts";

/** Writes and reads tokens. Tokens are not stored, because their signature proves their claims. */
export interface AccessTokens {
  write(claims: TokenClaims): Promise<string>;
  /** The claims of a token; undefined if it is not one of ours, or has expired. */
  read(token: TokenParts, now: Date): Promise<TokenClaims | undefined>;
  /** Writes a token of the console: for a sign-in link or for a browser session. `readForConsole` reads it, if it has the given purpose. */
  writeForConsole(claims: ConsoleClaims): Promise<string>;
  readForConsole(token: TokenParts, purpose: ConsolePurpose, now: Date): Promise<ConsoleClaims | undefined>;
  /** Writes the code or a refresh token of a grant. `readTurn` reads it; undefined if the text is not one of ours. */
  writeTurn(turn: GrantTurn): Promise<string>;
  readTurn(text: string): Promise<GrantTurn | undefined>;
}

export async function accessTokens(signingKey: string, cell: string): Promise<AccessTokens> {
  const key = await tokenKey(signingKey);

  async function signed(text: string): Promise<string> {
    return `${tokenPrefix}${cell}${text}.${await tokenSignature(key, text)}`;
  }

  async function inForce<Claims extends { expiresAt: Date }>(
    { claims: text, signature }: TokenParts,
    now: Date,
    parse: (text: string) => Claims | undefined,
  ): Promise<Claims | undefined> {
    if (!(await isTokenSignature(key, text, signature))) return undefined;
    const claims = parse(text);
    return claims !== undefined && now < claims.expiresAt ? claims : undefined;
  }

  return {
    write: (claims) => signed(claimsText(claims)),
    read: (token, now) => inForce(token, now, parseClaims),
    writeForConsole: (claims) => signed(consoleClaimsText(claims)),
    readForConsole: (token, purpose, now) => inForce(token, now, (text) => parseConsoleClaims(text, purpose)),
    writeTurn: async (turn) => writeTurn(turn, await tokenSignature(key, signedTurn(turn))),
    async readTurn(text) {
      const parsed = parseTurn(text);
      if (parsed === undefined) return undefined;
      const { signature, ...turn } = parsed;
      return (await isTokenSignature(key, signedTurn(turn), signature)) ? turn : undefined;
    },
  };
}
