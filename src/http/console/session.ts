import { Refusal } from "../../domain/errors.ts";
import type { Account, Authenticate } from "../shell/auth.ts";

export interface SessionDoorDeps {
  /** By the token that a session is. */
  authenticateSession: Authenticate;
  baseUrl(): string;
}

/** A browser's session: a token in a cookie that no script can read, taken only from pages of our own. */
export interface SessionDoor {
  /** The holder of the session, where the request may use one; refuses what another site may have had the browser send. */
  authenticateSession(request: Request): Promise<Account | undefined>;
  /** Refuses a request that changes something and does not come from a page of ours. */
  refuseForeign(request: Request): void;
  /** The cookie that a browser shall keep for as many seconds; 0 has it forget the cookie. */
  cookie(token: string, seconds: number): string;
}

export function sessionDoor({ authenticateSession, baseUrl }: SessionDoorDeps): SessionDoor {
  const isSecure = () => baseUrl().startsWith("https:");
  // The prefix has browsers take the cookie from this very host alone, by https, for all of its paths.
  const name = () => (isSecure() ? "__Host-inboxd" : "inboxd");

  function refuseForeign(request: Request): void {
    if (isReading(request.method)) return;
    const site = request.headers.get("sec-fetch-site");
    if ((site === null || site === "same-origin") && isOwnOrigin(request.headers, baseUrl())) return;
    throw new Refusal("forbidden", "Cannot do this: only pages of this service may do it by a browser's session");
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
 * Whether a page of ours asks, or a person by an address. Browsers say so themselves (Fetch Metadata), and no page can make them say
 * another thing. A page of a sister domain is `same-site`, and is not ours.
 */
function isFromHere({ method, headers }: Request): boolean {
  const site = headers.get("sec-fetch-site");
  const isNavigation = isReading(method) && headers.get("sec-fetch-mode") === "navigate";
  return site === "same-origin" || (site === "none" && isNavigation);
}

function isReading(method: string): boolean {
  return method === "GET" || method === "HEAD";
}

/** Whether the page that asks has the address that was asked, or the one under which the service is known. */
function isOwnOrigin(headers: Headers, baseUrl: string): boolean {
  const origin = URL.parse(headers.get("origin") ?? "");
  if (origin === null || !/^https?:$/.test(origin.protocol)) return false;
  const asked = URL.parse(`${origin.protocol}//${headers.get("host") ?? ""}`);
  return origin.host === asked?.host || origin.origin === new URL(baseUrl).origin;
}

/** The value of a cookie (RFC 6265 §5.4). Of two of one name, as a sister domain may set one beside ours, none counts. */
function cookieNamed(name: string, header: string | null): string | undefined {
  const values = (header ?? "").split(";").flatMap((pair) => {
    const at = pair.indexOf("=");
    return at !== -1 && pair.slice(0, at).trim() === name ? [pair.slice(at + 1).trim()] : [];
  });
  return values.length === 1 ? values[0] : undefined;
}
