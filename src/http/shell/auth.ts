import { Refusal } from "../../domain/errors.ts";
import type { Plan } from "../../domain/limits.ts";

/** Who calls, as the guard found it: the part of an account that the door needs. */
export interface Account {
  readonly id: string;
  readonly plan: Plan;
}

/**
 * Finds the account of a key. It is asked for every request, with "" when no usable key came along, so that
 * all refusals take the same road and the same time.
 */
export type Authenticate = (apiKey: string) => Account | undefined | Promise<Account | undefined>;

/** The account of the request's Bearer key, or the one refusal there is (RFC 6750 §3). */
export async function authenticated(request: Request, authenticate: Authenticate): Promise<Account> {
  const account = await authenticate(bearerKey(request.headers.get("authorization")));
  if (account === undefined) throw unauthorized();
  return account;
}

/** The token of `Bearer <token>`; the scheme is matched without regard to case (RFC 9110 §11.1). "" for all else. */
export function bearerKey(authorization: string | null): string {
  return (authorization !== null && bearer.exec(authorization)?.[1]) || "";
}

const bearer = /^bearer +([\x21-\x7e]{1,512}) *$/i;

function unauthorized(): Refusal {
  return new Refusal("unauthorized", "Cannot authenticate: a valid API key is needed as Bearer token", {
    headers: { "www-authenticate": "Bearer" },
  });
}
