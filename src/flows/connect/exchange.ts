import { transaction } from "../../database/db.ts";
import { service } from "../../domain/access/actor.ts";
import { partsOfToken, tokenEnd } from "../../domain/access/token.ts";
import { isVerifier, type OAuthFault, scopeOf } from "../../domain/connect/authorization.ts";
import { accessSeconds, judgeTurn, refreshMs } from "../../domain/connect/grant-token.ts";
import { sha256Hex } from "../../standards/digest.ts";
import { type GrantTurns, lockGrant, lockGrantOfKey, markTurned } from "../../store/account/grants.ts";
import type { AccessTokens } from "../account/access-tokens.ts";
import type { Deps } from "../deps.ts";
import { endGrantIn } from "./grants.ts";

export interface ExchangeDeps extends Deps {
  tokens: AccessTokens;
}

/** A code with the proof that the client is the one that asked for it, or a refresh token. */
export type Exchanged =
  | { kind: "code"; token: string; clientId: string; redirectUri: string; verifier: string }
  | { kind: "refresh"; token: string; clientId: string };

/** The tokens that a client gets. */
export interface Tokens {
  accessToken: string;
  refreshToken: string;
  expiresInSeconds: number;
  scope: string;
}

/**
 * Exchanges a code or a refresh token for an access token and the next refresh token. If a code or an old refresh token comes again, somebody
 * else may have it, so the grant ends. The client then asks its person again.
 */
export async function exchange(deps: ExchangeDeps, asked: Exchanged): Promise<Tokens | OAuthFault> {
  const named = await deps.tokens.readTurn(asked.token);
  if (named === undefined || (asked.kind === "code") !== (named.turn === 0)) return invalid(asked);
  const now = deps.now();
  return transaction(deps.db.api, async (tx) => {
    const grant = await lockGrant(tx, named.grantId, now);
    if (grant === undefined || !isClientOf(grant, asked)) return invalid(asked);
    const judged = judgeTurn(grant, named.turn, now);
    if (judged === "ended") return invalid(asked);
    if (judged === "reused") {
      await endGrantIn(deps, tx, grant, service);
      return {
        error: "invalid_grant",
        description: "It was used before, so the access has ended; ask the person again",
      };
    }
    const turn = judged === "next" ? grant.turn + 1 : grant.turn;
    if (judged === "next")
      await markTurned(tx, grant.id, { turn, turnedAt: now, turnEndsAt: new Date(now.getTime() + refreshMs) });
    return tokensOf(deps, grant, turn, now);
  });
}

/** Ends the grant of a refresh token or an access token (RFC 7009). A token that is not one of ours, or has ended, is no fault. */
export async function revokeToken(deps: ExchangeDeps, token: string): Promise<void> {
  const now = deps.now();
  const named = await deps.tokens.readTurn(token);
  const parts = partsOfToken(token);
  const claims = parts && (await deps.tokens.read(parts, now));
  if (named === undefined && claims?.audience !== "mcp") return;
  await transaction(deps.db.api, async (tx) => {
    const grant =
      named === undefined ? await lockGrantOfKey(tx, claims?.keyId ?? "") : await lockGrant(tx, named.grantId, now);
    if (grant !== undefined) await endGrantIn(deps, tx, grant, service);
  });
}

function isClientOf({ clientId, redirectUri, challenge }: GrantTurns, asked: Exchanged): boolean {
  if (asked.clientId !== clientId) return false;
  if (asked.kind === "refresh") return true;
  if (asked.redirectUri !== redirectUri || !isVerifier(asked.verifier)) return false;
  return Buffer.from(sha256Hex(asked.verifier), "hex").toString("base64url") === challenge;
}

async function tokensOf(
  { tokens }: ExchangeDeps,
  { id: grantId, keyId, access, inboxId, externalId }: GrantTurns,
  turn: number,
  now: Date,
): Promise<Tokens> {
  const expiresAt = tokenEnd(now, accessSeconds);
  const reach = { inboxId: inboxId ?? undefined, externalId: externalId ?? undefined };
  return {
    accessToken: await tokens.write({ keyId, access, ...reach, audience: "mcp", expiresAt }),
    refreshToken: await tokens.writeTurn({ grantId, turn }),
    expiresInSeconds: accessSeconds,
    scope: scopeOf[access],
  };
}

function invalid({ kind }: Exchanged): OAuthFault {
  const what = kind === "code" ? "The code" : "The refresh token";
  return { error: "invalid_grant", description: `${what} is not valid, or not for this client` };
}
