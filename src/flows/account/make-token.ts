import { transaction } from "../../database/db.ts";
import { type Caller, onlyForAccount } from "../../domain/access/access.ts";
import type { Actor } from "../../domain/access/actor.ts";
import { mayGrant, type TokenAccess } from "../../domain/access/key.ts";
import { tokenEnd } from "../../domain/access/token.ts";
import { notFound, Refusal } from "../../domain/errors.ts";
import { isId } from "../../domain/ids.ts";
import { findInbox } from "../../store/account/inboxes.ts";
import { audit } from "../audit.ts";
import type { Deps } from "../deps.ts";
import type { AccessTokens } from "./access-tokens.ts";

export interface TokenDeps extends Deps {
  tokens: Pick<AccessTokens, "write">;
}

export interface AskedToken {
  access: TokenAccess;
  inboxId: string | undefined;
  externalId: string | undefined;
  ttlSeconds: number;
}

/** Makes a token of the caller's key, with at most its access and reach. The audit has that, but not what the token does. */
export async function makeToken(
  deps: TokenDeps,
  caller: Caller,
  actor: Actor,
  { access, inboxId, externalId, ttlSeconds }: AskedToken,
): Promise<{ token: string; expiresAt: Date }> {
  refuseMaker(caller, access);
  const { reach, keyId } = caller;
  if (externalId !== undefined && (reach.inboxId ?? reach.externalId ?? externalId) !== externalId)
    throw onlyForAccount("create token", caller.kind);
  const isThere =
    inboxId === undefined || (isId("inb", inboxId) && (await findInbox(deps.db.api, reach, inboxId)) !== undefined);
  if (!isThere) throw notFound("inbox");
  const at = deps.now();
  const expiresAt = tokenEnd(at, ttlSeconds);
  const token = await deps.tokens.write({ keyId, access, inboxId, externalId, expiresAt });
  await transaction(deps.db.api, (tx) =>
    audit(tx, deps, at, {
      action: "token.made",
      accountId: caller.id,
      actor,
      target: { type: "key", id: keyId },
      details: { access, inboxId: inboxId ?? null, externalId: externalId ?? null, expiresAt },
    }),
  );
  return { token, expiresAt };
}

function refuseMaker({ kind, access: own }: Caller, access: TokenAccess): void {
  const why =
    kind === "token"
      ? "a token makes no tokens"
      : kind === "operator"
        ? "the key of an operator makes no tokens"
        : mayGrant(own, access)
          ? undefined
          : `the ${kind} has the access "${own}", which is less than "${access}"`;
  if (why === undefined) return;
  throw new Refusal("forbidden", `Cannot create token: ${why}`, { extra: { required_access: access } });
}
