import { Refusal } from "../../domain/errors.ts";
import type { Account, Authenticate } from "../shell/auth.ts";

export interface SessionDoorDeps {
  /** Finds the account of a session's token. */
  authenticateSession: Authenticate;
  baseUrl(): string;
}

/** A browser session: a token in a cookie that no script can read. Only pages of this service may use it. */
export interface SessionDoor {
  /**
   * Finds the account of the session cookie. Undefined without a valid cookie, or if `isFromHere` is false. Throws
   * where `refuseForeign` does.
   */
  authenticateSession(request: Request): Promise<Account | undefined>;
  /** Throws if the request changes something and does not come from a page of this service. */
  refuseForeign(request: Request): void;
  /** Makes a `Set-Cookie` header: the browser keeps the token for `seconds`; 0 deletes it. */
  cookie(token: string, seconds: number): string;
}

export function sessionDoor({ authenticateSession, baseUrl }: SessionDoorDeps): SessionDoor {
  const isSecure = () => baseUrl().startsWith("https:");
  // With the prefix `__Host-`, browsers accept the cookie only from this host, over https, and for all paths.
  const name = () => (isSecure() ? "__Host-inboxd" : "inboxd");

  function refuseForeign(request: Request): void {
    if (isReading(request.method)) return;
    const site = request.headers.get("sec-fetch-site");
    if ((site === null || site === "same-origin") && isOwnOrigin(request.headers, baseUrl())) return;
    throw new Refusal("forbidden", "Cannot do this: with a browser session only pages of this service may do it");
  }

  return {
    refuseForeign,
    async authenticateSession(request) {
      const token = cookieNamed(name(), request.headers.get("cookie"));
      if (token === undefined || !isFromHere(request)) return undefined;
      refuseForeign(request);
      return (await authenticateSession(token)) ?? undefined;
    },
    cookie: (token, seconds) =>
      `${name()}=${token}; Path=/; Max-Age=${seconds}; HttpOnly; SameSite=Strict${isSecure() ? "; Secure" : ""}`,
  };
}

/**
 * Whether the request comes from a page of this service, or from a person who typed the address. Browsers say so in
 * `Sec-Fetch-Site`, which no page can change. A page of another subdomain is `same-site` and does not count.
 */
function isFromHere({ method, headers }: Request): boolean {
  const site = headers.get("sec-fetch-site");
  const isNavigation = isReading(method) && headers.get("sec-fetch-mode") === "navigate";
  return site === "same-origin" || (site === "none" && isNavigation);
}

function isReading(method: string): boolean {
  return method === "GET" || method === "HEAD";
}

/** Whether the page that sent the request (`Origin`) has the host in `Host`, or the origin of BASE_URL. */
function isOwnOrigin(headers: Headers, baseUrl: string): boolean {
  const origin = URL.parse(headers.get("origin") ?? "");
  if (origin === null || !/^https?:$/.test(origin.protocol)) return false;
  const asked = URL.parse(`${origin.protocol}//${headers.get("host") ?? ""}`);
  return origin.host === asked?.host || origin.origin === new URL(baseUrl).origin;
}

/**
 * The value of the cookie `name` (RFC 6265 §5.4). Undefined if two cookies have this name, because a page of another
 * subdomain may have set one of them.
 */
function cookieNamed(name: string, header: string | null): string | undefined {
  const values = (header ?? "").split(";").flatMap((pair) => {
    const at = pair.indexOf("=");
    return at !== -1 && pair.slice(0, at).trim() === name ? [pair.slice(at + 1).trim()] : [];
  });
  return values.length === 1 ? values[0] : undefined;
}
