import type { TokenAccess } from "../access/key.ts";

/** The request of a client for access, without its client id and its redirect address, which are judged before it. */
export interface Authorization {
  /** The most that the client asks for. */
  access: GrantedAccess;
  /** The SHA-256 of a secret of the client, in base64url (RFC 7636). */
  challenge: string;
  state: string | undefined;
}

/** The accesses that a person may grant a client. */
export const grantedAccesses = ["read", "agent"] as const satisfies readonly TokenAccess[];

export type GrantedAccess = (typeof grantedAccesses)[number];

/** The scope of an access, as a token's answer names it: writing contains reading. */
export const scopeOf: Readonly<Record<GrantedAccess, string>> = { read: "read", agent: "read agent" };

/** An error of OAuth (RFC 6749 §4.1.2.1 and §5.2, RFC 8707), which goes back to the client. */
export interface OAuthFault {
  error:
    | "invalid_request"
    | "invalid_client"
    | "invalid_grant"
    | "invalid_scope"
    | "invalid_target"
    | "invalid_redirect_uri"
    | "invalid_client_metadata"
    | "unsupported_response_type"
    | "unsupported_grant_type"
    | "access_denied"
    | "temporarily_unavailable";
  description: string;
}

const names = [
  "client_id",
  "redirect_uri",
  "response_type",
  "scope",
  "state",
  "code_challenge",
  "code_challenge_method",
  "resource",
] as const;

export type AuthorizationParameters = Partial<Record<(typeof names)[number], string>>;

/** The parameters of a request that have a meaning here. A text is the name of one that comes twice (RFC 6749 §3.1). */
export function authorizationParameters(all: URLSearchParams): AuthorizationParameters | string {
  const twice = names.find((name) => all.getAll(name).length > 1);
  if (twice !== undefined) return twice;
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = all.get(name);
      return value === null || value === "" ? [] : [[name, value]];
    }),
  );
}

/** Judges a request for access. `resource` is the address that its tokens are for. */
export function judgeAuthorization(
  { response_type, scope, state, code_challenge, code_challenge_method, resource: asked }: AuthorizationParameters,
  resource: string,
): Authorization | OAuthFault {
  if (response_type !== "code")
    return { error: "unsupported_response_type", description: "response_type must be code" };
  if (code_challenge === undefined || !/^[A-Za-z0-9_-]{43}$/.test(code_challenge) || code_challenge_method !== "S256")
    return { error: "invalid_request", description: "code_challenge is required, with code_challenge_method S256" };
  if (asked !== resource) return { error: "invalid_target", description: `resource must be ${resource}` };
  const access = askedAccess(scope);
  if (access === undefined) return { error: "invalid_scope", description: "scope must contain read or agent" };
  return { access, challenge: code_challenge, state };
}

/** The access that a scope asks for. Words that have no meaning here are ignored, since clients ask all services for some of them. */
function askedAccess(scope: string | undefined): GrantedAccess | undefined {
  if (scope === undefined) return "agent";
  const words = scope.split(" ");
  return words.includes("agent") ? "agent" : words.includes("read") ? "read" : undefined;
}

/** Whether a secret of the client is that of its challenge (RFC 7636 §4.1). */
export function isVerifier(verifier: string): boolean {
  return /^[A-Za-z0-9._~-]{43,128}$/.test(verifier);
}
