import { isId } from "../ids.ts";

/**
 * What a token lets its holder do: never more than the key that it was made by, and only as long as that one lives. It stands nowhere
 * but in the token itself.
 */
export interface TokenClaims {
  /** The key that it was made by. */
  keyId: string;
  /** So far a token reads and does nothing else. */
  access: "read";
  /** Undefined: all inboxes of the account. */
  inboxId: string | undefined;
  expiresAt: Date;
}

export const tokenPrefix = "ibt_";
export const tokenSeconds = { least: 60, usual: 900, most: 86_400 };

/** An address is kept and shown in more places than a header: a token in one ends within this time. */
export const longestInAddressMs = 3_600_000;

/** The claims as a token carries them, to be signed. */
export function claimsText({ keyId, access, inboxId, expiresAt }: TokenClaims): string {
  const claims = {
    v: 1,
    key: keyId,
    access,
    ...(inboxId !== undefined && { inbox: inboxId }),
    exp: seconds(expiresAt),
  };
  return written(claims);
}

/**
 * The claims of the two tokens that only the console's doors take: that of a link to sign in by, and the session that it is traded for.
 * They name no access, so a reader of other tokens finds none in them.
 */
export interface ConsoleClaims {
  keyId: string;
  purpose: ConsolePurpose;
  /** Tells the tokens of one key and second apart, since a link counts once. */
  id: string;
  expiresAt: Date;
}

export type ConsolePurpose = "sign_in" | "console";

export const consoleSeconds: Readonly<Record<ConsolePurpose, number>> = { sign_in: 300, console: 43_200 };

export function consoleClaimsText({ keyId, purpose, id, expiresAt }: ConsoleClaims): string {
  return written({ v: 1, key: keyId, purpose, id, exp: seconds(expiresAt) });
}

/** Undefined for claims of another purpose, or of none. */
export function parseConsoleClaims(text: string, purpose: ConsolePurpose): ConsoleClaims | undefined {
  const claims = knownClaims(text);
  if (claims?.purpose !== purpose || typeof claims.id !== "string") return undefined;
  return { keyId: claims.key, purpose, id: claims.id, expiresAt: claims.expiresAt };
}

/** What a token says, and what proves it. */
export interface TokenParts {
  claims: string;
  signature: string;
}

/** Undefined for what has not the form of a token. */
export function partsOfToken(token: string): TokenParts | undefined {
  const [, claims, signature] = tokenForm.exec(token) ?? [];
  return claims === undefined || signature === undefined ? undefined : { claims, signature };
}

/** Undefined for claims of a version that is not known here: they may mean anything. */
export function parseClaims(text: string): TokenClaims | undefined {
  const claims = knownClaims(text);
  if (claims?.access !== "read" || claims.purpose !== undefined) return undefined;
  const { key, inbox, expiresAt } = claims;
  if (inbox !== undefined && (typeof inbox !== "string" || !isId("inb", inbox))) return undefined;
  return { keyId: key, access: "read", inboxId: inbox, expiresAt };
}

/** A token ends at a whole second, not later than was asked for. */
export function tokenEnd(now: Date, ttlSeconds: number): Date {
  return new Date((seconds(now) + ttlSeconds) * 1000);
}

const tokenForm = /^ibt_([A-Za-z0-9_-]{1,400})\.([A-Za-z0-9_-]{43})$/;

function seconds(at: Date): number {
  return Math.floor(at.getTime() / 1000);
}

function written(claims: object): string {
  return Buffer.from(JSON.stringify(claims)).toString("base64url");
}

/** Claims of the one version that is known here: a key, an end, and what else stands there. */
function knownClaims(text: string): (Record<string, unknown> & { key: string; expiresAt: Date }) | undefined {
  const claims = parsed(Buffer.from(text, "base64url").toString());
  if (claims?.v !== 1 || !Number.isSafeInteger(claims.exp)) return undefined;
  const { key, exp } = claims;
  if (typeof key !== "string" || !isId("key", key)) return undefined;
  return { ...claims, key, expiresAt: new Date((exp as number) * 1000) };
}

function parsed(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? { ...value } : undefined;
  } catch {
    return undefined;
  }
}
