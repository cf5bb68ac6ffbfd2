import type { Caller } from "../../domain/access/access.ts";
import { accountHeader, type Operator } from "../../domain/access/operator.ts";
import { notFound, Refusal } from "../../domain/errors.ts";
import { isInBlocks } from "../../standards/ip.ts";
import { clientAddress } from "./client-address.ts";

/** The caller, as the guard found it. */
export type Account = Caller;

/**
 * Finds the account of a key, or of a token that a key made. It is called for every request, with "" if there is no
 * usable key, so that all refusals take the same path and the same time.
 */
export type Authenticate = (apiKey: string) => Account | undefined | Promise<Account | undefined>;

/** The account of the request's Bearer key. Throws `unauthorized` if there is none (RFC 6750 §3). */
export function authenticated(request: Request, authenticate: Authenticate): Promise<Account> {
  return accountOf(bearerKey(request.headers.get("authorization")), authenticate);
}

/** The account of the Bearer key or of the browser session. If the request has `Authorization`, only that counts. */
export async function authenticatedCaller(request: Request, ways: AuthenticateCaller): Promise<Account> {
  const authorization = request.headers.get("authorization");
  const bySession = authorization === null ? await ways.authenticateSession?.(request) : undefined;
  const asAccount = bySession ?? (await actingAccount(request, ways));
  const account = asAccount ?? (await accountOf(bearerKey(authorization), ways.authenticate));
  return fromAllowedAddress(account, request, ways);
}

/** Whether the key may be used from the address of this request. */
export function isFromAllowedAddress(
  { allowedIps = [] }: Account,
  request: Request,
  { trustedProxies }: { trustedProxies?: readonly string[] | undefined },
): boolean {
  return allowedIps.length === 0 || isInBlocks(clientAddress(request, trustedProxies) ?? "", allowedIps);
}

/** Refuses a key outside of its addresses, as an unknown key is refused. */
export function fromAllowedAddress<Holder extends Account>(
  account: Holder,
  request: Request,
  ways: { trustedProxies?: readonly string[] | undefined },
  needed = keyNeeded,
): Holder {
  if (isFromAllowedAddress(account, request, ways)) return account;
  throw unauthorized(needed);
}

/** The account in which an operator acts, by `X-Inboxd-Account`. That header does nothing beside other keys. */
async function actingAccount(request: Request, ways: AuthenticateOperator): Promise<Account | undefined> {
  const accountId = request.headers.get(accountHeader);
  const operator = accountId === null ? undefined : await operatorOf(request, ways);
  if (operator === undefined || accountId === null) return undefined;
  const account = await ways.asAccount?.(operator, accountId);
  if (account === undefined) throw notFound("account");
  return account;
}

/** The operator whose key the request has, if it has one. */
export async function operatorOf(request: Request, ways: AuthenticateOperator): Promise<Operator | undefined> {
  return ways.authenticateOperator?.(bearerKey(request.headers.get("authorization")));
}

export interface AuthenticateOperator {
  authenticateOperator?: ((key: string) => Promise<Operator | undefined>) | undefined;
  /** The operator as a caller in an account. Undefined if there is no such account. */
  asAccount?: ((operator: Operator, accountId: string) => Promise<Account | undefined>) | undefined;
}

export interface AuthenticateCaller extends AuthenticateOperator {
  authenticate: Authenticate;
  /**
   * Finds the account of the browser session. Undefined if the request has none or may not use it. Throws if the
   * request changes something and does not come from a page of this service.
   */
  authenticateSession?: ((request: Request) => Promise<Account | undefined>) | undefined;
  /** The proxies whose X-Forwarded-For counts. */
  trustedProxies?: readonly string[] | undefined;
}

/**
 * The account of a request for the event stream or the WebSocket. Browsers cannot set headers of these requests, so the
 * URL may have a token. Then only that token counts.
 */
export async function authenticatedStream(request: Request, ways: AuthenticateStream): Promise<Account> {
  const inAddress = new URL(request.url).searchParams.get("token");
  if (inAddress === null) return authenticatedCaller(request, ways);
  const account = await accountOf(inAddress, ways.authenticateAddress ?? nobody, tokenNeeded);
  return fromAllowedAddress(account, request, ways, tokenNeeded);
}

export interface AuthenticateStream extends AuthenticateCaller {
  /** Accepts only credentials that may appear in a URL: tokens that only read and expire within an hour, never keys. */
  authenticateAddress?: Authenticate;
}

const nobody: Authenticate = () => undefined;

export const eventStreamPath = "/v1/events/stream";
export const socketPath = "/v1/ws";

/** The account of a credential. Throws `unauthorized` if there is none, with `needed` in its message. */
export async function accountOf(credential: string, authenticate: Authenticate, needed = keyNeeded): Promise<Account> {
  const account = await authenticate(credential);
  if (account === undefined) throw unauthorized(needed);
  return account;
}

/** The token of `Bearer <token>`, or "". The scheme is case-insensitive (RFC 9110 §11.1). */
export function bearerKey(authorization: string | null): string {
  return (authorization !== null && bearer.exec(authorization)?.[1]) || "";
}

const bearer = /^bearer +([\x21-\x7e]{1,2048}) *$/i;

const keyNeeded = "a valid API key is needed as Bearer token";
const tokenNeeded = "a URL must have a valid token that only reads and expires within an hour, and never a key";

export function unauthorized(needed: string): Refusal {
  return new Refusal("unauthorized", `Cannot authenticate: ${needed}`, {
    headers: { "www-authenticate": "Bearer" },
  });
}
