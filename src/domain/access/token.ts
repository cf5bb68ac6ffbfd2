import { jsonFields } from "../../standards/json.ts";
import { isId } from "../ids.ts";
import type { Caller } from "./access.ts";
import { mayGrant, type TokenAccess, tokenAccesses } from "./key.ts";

/**
 * The rights of a token. They are at most those of the key that made the token, and end when that key is no longer
 * valid. They are stored only in the token itself.
 */
export interface TokenClaims {
  /** The key that made the token. */
  keyId: string;
  access: TokenAccess;
  /** The only inbox, or the only `externalId`, that it reaches. Undefined for all that its key reaches. */
  inboxId: string | undefined;
  externalId: string | undefined;
  /** The only door that accepts it; undefined for all. */
  audience?: "mcp" | undefined;
  expiresAt: Date;
}

export const tokenPrefix = "ibt_";
export const tokenSeconds = { least: 60, usual: 900, most: 86_400 };

/** The most time until a token in a URL expires. It is short because URLs are stored and shown in more places than headers. */
export const longestInAddressMs = 3_600_000;

/**
 * The caller that has a token, from the holder of the key that made it. It never has more than the key, whatever the token says: undefined
 * if their reaches have nothing in common.
 */
export function withToken(holder: Caller, { access, inboxId, externalId, expiresAt }: TokenClaims): Caller | undefined {
  const { reach } = holder;
  const isWithin = (own: string | undefined, asked: string | undefined) =>
    own === undefined || asked === undefined || own === asked;
  if (!mayGrant(holder.access, access)) return undefined;
  if (!isWithin(reach.inboxId, inboxId) || !isWithin(reach.externalId, externalId)) return undefined;
  const both = { inboxId: reach.inboxId ?? inboxId, externalId: reach.externalId ?? externalId };
  return { ...holder, kind: "token", access, reach: { accountId: reach.accountId, ...both }, expiresAt };
}

/** The claims of a token as text, to be signed. */
export function claimsText({ keyId, access, inboxId, externalId, audience, expiresAt }: TokenClaims): string {
  const claims = {
    v: 1,
    key: keyId,
    access,
    ...(inboxId !== undefined && { inbox: inboxId }),
    ...(externalId !== undefined && { ext: externalId }),
    ...(audience !== undefined && { aud: audience }),
    exp: seconds(expiresAt),
  };
  return written(claims);
}

/**
 * The claims of the tokens that only the console accepts: the token of a sign-in link, the session that replaces it, and the token
 * in the form of a question to the person with that session. They have no `access`, so they are not valid as other tokens.
 */
export interface ConsoleClaims {
  keyId: string;
  purpose: ConsolePurpose;
  /**
   * Makes two tokens of the same key and the same second different, because a sign-in link can be used only once. In a form, the digest
   * of the question.
   */
  id: string;
  expiresAt: Date;
}

export type ConsolePurpose = "sign_in" | "console" | "consent";

export const consoleSeconds: Readonly<Record<ConsolePurpose, number>> = {
  sign_in: 300,
  console: 43_200,
  consent: 1_800,
};

export function consoleClaimsText({ keyId, purpose, id, expiresAt }: ConsoleClaims): string {
  return written({ v: 1, key: keyId, purpose, id, exp: seconds(expiresAt) });
}

/** Parses the claims of a console token. Undefined if they are invalid, or do not have this purpose. */
export function parseConsoleClaims(text: string, purpose: ConsolePurpose): ConsoleClaims | undefined {
  const claims = knownClaims(text);
  if (claims?.purpose !== purpose || typeof claims.id !== "string") return undefined;
  return { keyId: claims.key, purpose, id: claims.id, expiresAt: claims.expiresAt };
}

/** The claims and the signature of a token, both as text in base64url. */
export interface TokenParts {
  claims: string;
  signature: string;
}

/** Splits a token. Undefined if the text is not a token. */
export function partsOfToken(token: string): TokenParts | undefined {
  const [, claims, signature] = tokenForm.exec(token) ?? [];
  return claims === undefined || signature === undefined ? undefined : { claims, signature };
}

/** Parses the claims of a token. Undefined for an unknown version, whose claims may mean anything. */
export function parseClaims(text: string): TokenClaims | undefined {
  const claims = knownClaims(text);
  const access = tokenAccesses.find((known) => known === claims?.access);
  if (claims === undefined || access === undefined || claims.purpose !== undefined) return undefined;
  const { key, inbox, ext, aud, expiresAt } = claims;
  if (inbox !== undefined && (typeof inbox !== "string" || !isId("inb", inbox))) return undefined;
  if (ext !== undefined && typeof ext !== "string") return undefined;
  if (aud !== undefined && aud !== "mcp") return undefined;
  return { keyId: key, access, inboxId: inbox, externalId: ext, audience: aud, expiresAt };
}

/** The instant at which a token expires. It is a whole second, and never later than requested. */
export function tokenEnd(now: Date, ttlSeconds: number): Date {
  return new Date((seconds(now) + ttlSeconds) * 1000);
}

/**
 * Behind the prefix are two characters of the cell, which a balancer reads. An `externalId` of 255 characters takes up to 1,400 characters
 * of the claims.
 */
const tokenForm = /^ibt_[0-9A-Za-z]{2}([A-Za-z0-9_-]{1,1800})\.([A-Za-z0-9_-]{43})$/;

function seconds(at: Date): number {
  return Math.floor(at.getTime() / 1000);
}

function written(claims: object): string {
  return Buffer.from(JSON.stringify(claims)).toString("base64url");
}

/** Parses claims of version 1: the key, the expiry and all other fields. */
function knownClaims(text: string): (Record<string, unknown> & { key: string; expiresAt: Date }) | undefined {
  const claims = jsonFields(Buffer.from(text, "base64url").toString());
  if (claims?.v !== 1 || !Number.isSafeInteger(claims.exp)) return undefined;
  const { key, exp } = claims;
  if (typeof key !== "string" || !isId("key", key)) return undefined;
  return { ...claims, key, expiresAt: new Date((exp as number) * 1000) };
}
