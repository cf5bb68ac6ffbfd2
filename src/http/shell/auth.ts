import type { TokenClaims } from "../../domain/access/token.ts";
import { Refusal } from "../../domain/errors.ts";
import type { Plan } from "../../domain/limits.ts";

/** Who calls, as the guard found it: the part of an account that the door needs. */
export interface Account {
  readonly id: string;
  readonly plan: Plan;
  readonly keyId: string;
  /** What a token says that came in place of the key. */
  readonly token?: TokenClaims;
  /** Set where the key's session in a browser asks: it may what the key may, until then. */
  readonly session?: { readonly expiresAt: Date };
}

/**
 * Finds the account of a key, or of a token that was made by one. It is asked for every request, with "" when no usable key came along, so that
 * all refusals take the same road and the same time.
 */
export type Authenticate = (apiKey: string) => Account | undefined | Promise<Account | undefined>;

/** The account of the request's Bearer key, or the one refusal there is (RFC 6750 §3). */
export function authenticated(request: Request, authenticate: Authenticate): Promise<Account> {
  return accountOf(bearerKey(request.headers.get("authorization")), authenticate);
}

/** The same, or that of the browser's session: whoever brings a key of any kind is judged by it alone. */
export async function authenticatedCaller(request: Request, ways: AuthenticateCaller): Promise<Account> {
  const authorization = request.headers.get("authorization");
  const bySession = authorization === null ? await ways.authenticateSession?.(request) : undefined;
  return bySession ?? accountOf(bearerKey(authorization), ways.authenticate);
}

export interface AuthenticateCaller {
  authenticate: Authenticate;
  /** By a browser's session, where the request may use it; refuses what another site may have had the browser send. */
  authenticateSession?: ((request: Request) => Promise<Account | undefined>) | undefined;
}

/**
 * The same at the two paths of streams, and at no others: browsers can give a stream no header, so the address may carry a token, which
 * then decides alone.
 */
export function authenticatedStream(request: Request, ways: AuthenticateStream): Promise<Account> {
  const inAddress = new URL(request.url).searchParams.get("token");
  return inAddress === null
    ? authenticatedCaller(request, ways)
    : accountOf(inAddress, ways.authenticateAddress ?? nobody, tokenNeeded);
}

export interface AuthenticateStream extends AuthenticateCaller {
  /** By what an address may carry in place of a key. */
  authenticateAddress?: Authenticate;
}

const nobody: Authenticate = () => undefined;

export const eventStreamPath = "/v1/events/stream";
export const socketPath = "/v1/ws";

/** The account of a key, or what stands for one, wherever it came from; else the refusal says what is needed there. */
export async function accountOf(credential: string, authenticate: Authenticate, needed = keyNeeded): Promise<Account> {
  const account = await authenticate(credential);
  if (account === undefined) throw unauthorized(needed);
  return account;
}

/** The token of `Bearer <token>`; the scheme is matched without regard to case (RFC 9110 §11.1). "" for all else. */
export function bearerKey(authorization: string | null): string {
  return (authorization !== null && bearer.exec(authorization)?.[1]) || "";
}

const bearer = /^bearer +([\x21-\x7e]{1,512}) *$/i;

const keyNeeded = "a valid API key is needed as Bearer token";
const tokenNeeded = "an address may carry no key, and only a valid token that ends within the hour";

export function unauthorized(needed: string): Refusal {
  return new Refusal("unauthorized", `Cannot authenticate: ${needed}`, {
    headers: { "www-authenticate": "Bearer" },
  });
}
