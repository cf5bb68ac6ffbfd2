import { transaction } from "../../database/db.ts";
import type { Caller } from "../../domain/access/access.ts";
import type { Actor } from "../../domain/access/actor.ts";
import { type KeySettings, mayGrant } from "../../domain/access/key.ts";
import { type ConsoleClaims, consoleSeconds, partsOfToken, tokenEnd } from "../../domain/access/token.ts";
import type { Authorization, GrantedAccess } from "../../domain/connect/authorization.ts";
import type { Client } from "../../domain/connect/client.ts";
import { codeMs } from "../../domain/connect/grant-token.ts";
import { hostOfRedirectUri } from "../../domain/connect/redirect-uri.ts";
import { notFound } from "../../domain/errors.ts";
import { isId } from "../../domain/ids.ts";
import { insertGrant } from "../../store/account/grants.ts";
import { findInbox } from "../../store/account/inboxes.ts";
import { markClientUsed } from "../../store/account/oauth-clients.ts";
import type { AccessTokens } from "../account/access-tokens.ts";
import { createKey } from "../account/manage-accounts.ts";
import { makeRoom, managerOf } from "../account/manage-keys.ts";
import { audit } from "../audit.ts";
import type { Deps } from "../deps.ts";

/** The access that a person grants to a client, and its reach, which is within that of the session. */
export interface Granted {
  access: GrantedAccess;
  inboxId: string | undefined;
  externalId: string | undefined;
}

export interface Asking {
  client: Client;
  redirectUri: string;
  authorization: Authorization;
}

export interface ConsentDeps extends Deps {
  tokens: AccessTokens;
}

/** Makes the token in the form of a question: only the person who was asked can answer it, and only this question. */
export function consentToken({ tokens, now }: ConsentDeps, { keyId }: Caller, question: string): Promise<string> {
  const expiresAt = tokenEnd(now(), consoleSeconds.consent);
  return tokens.writeForConsole({ keyId, purpose: "consent", id: question, expiresAt });
}

export async function isConsentToken(
  { tokens, now }: ConsentDeps,
  { keyId }: Caller,
  { token, question }: { token: string; question: string },
): Promise<boolean> {
  const parts = partsOfToken(token);
  const claims: ConsoleClaims | undefined = parts && (await tokens.readForConsole(parts, "consent", now()));
  return claims !== undefined && claims.keyId === keyId && claims.id === question;
}

/** The accesses that a person may grant: at most what the client asks for, and what the key of the session may do. */
export function grantable({ access }: Caller, { access: asked }: Authorization): GrantedAccess[] {
  const most: readonly GrantedAccess[] = asked === "agent" ? ["agent", "read"] : ["read"];
  return most.filter((each) => mayGrant(access, each));
}

/**
 * Makes a grant: a key with this access and reach that nobody is shown, and the code with which the client gets its tokens. The key
 * ends with the key of the session.
 */
export function grantAccess(
  deps: ConsentDeps,
  caller: Caller,
  actor: Actor,
  { client, redirectUri, authorization }: Asking,
  { access, inboxId, externalId }: Granted,
): Promise<string> {
  const at = deps.now();
  const id = deps.newId("grt", at);
  return transaction(deps.db.api, async (tx) => {
    const by = managerOf(caller, actor);
    await makeRoom(deps, tx, by);
    const { reach, keyId: grantedBy, allowedIps = [] } = caller;
    if (inboxId !== undefined && !(isId("inb", inboxId) && (await findInbox(tx, reach, inboxId))))
      throw notFound("inbox");
    const settings: KeySettings = {
      access,
      inboxId: inboxId ?? null,
      externalId: externalId ?? null,
      allowedIps,
      expiresAt: null,
      // The policy of the granter counts too.
      sendPolicy: null,
    };
    const { accountId } = reach;
    const key = await createKey(deps, tx, { accountId, name: client.name, settings, createdBy: grantedBy, grantedBy });
    await insertGrant(tx, {
      id,
      accountId,
      keyId: key.id,
      clientId: client.id,
      clientName: client.name,
      clientHost: hostOfRedirectUri(redirectUri),
      redirectUri,
      challenge: authorization.challenge,
      createdAt: at,
      turnedAt: at,
      turnEndsAt: new Date(at.getTime() + codeMs),
    });
    await markClientUsed(tx, client.id);
    const details = { client: client.id, access, inboxId: inboxId ?? null, externalId: externalId ?? null };
    await audit(tx, deps, at, { action: "grant.made", accountId, actor, target: { type: "grant", id }, details });
    return deps.tokens.writeTurn({ grantId: id, turn: 0 });
  });
}
