/** The route of outbound mail (contract §5.6, `OUTBOUND`). */
export type Outbound = SmtpOutbound | { kind: "direct" } | { kind: "sandbox" };

export interface SmtpOutbound {
  kind: "smtp";
  host: string;
  port: number;
  tls: TlsMode;
  login: { user: string; password: string } | undefined;
}

/**
 * `implicit`: TLS from the first byte (`smtps://`). `required`: STARTTLS, or no mail is sent. Both check the certificate.
 * `opportunistic`: STARTTLS with any certificate if it is offered and works, otherwise plain. `off`: plain.
 */
export type TlsMode = "implicit" | "required" | "opportunistic" | "off";

/** Parses `OUTBOUND`. Returns a fault as the end of a sentence that begins with this name. */
export function parseOutbound(text: string): Outbound | string {
  if (text === "direct" || text === "sandbox") return { kind: text };
  if (!/^smtps?:\/\//i.test(text)) return 'must be "direct", "sandbox", or begin with smtp:// or smtps://';
  const url = URL.parse(text);
  // The error does not repeat the text, which may have a password.
  if (!url) return "must be a URL: special characters in user and password need percent-encoding";
  return parseRelayUrl(url);
}

/** The route of outbound mail in one line, without its secrets. */
export function describeOutbound(outbound: Outbound): string {
  if (outbound.kind !== "smtp") return outbound.kind;
  const { host, port, tls, login } = outbound;
  const scheme = tls === "implicit" ? "smtps" : "smtp";
  const query = tls === "opportunistic" || tls === "off" ? `?tls=${tls}` : "";
  return `${scheme}://${login ? `${encodeURIComponent(login.user)}:***@` : ""}${hostInUrl(host)}:${port}${query}`;
}

function parseRelayUrl(url: URL): Outbound | string {
  const implicit = url.protocol.toLowerCase() === "smtps:";
  const host = url.hostname.replace(/^\[|\]$/g, "").toLowerCase();
  if (!hostShape.test(host)) return "must name a host (a name in ASCII, or an IP address)";
  if (url.port === "0") return "must not have port 0";
  if ((url.pathname !== "" && url.pathname !== "/") || url.hash !== "") return "must not have a path or fragment";

  const tls = parseTlsMode(url.searchParams, implicit);
  if (tls === undefined) return unknownQuery(implicit);

  const login = parseLogin(url);
  if (typeof login === "string") return login;
  if (login !== undefined && tls === "opportunistic") {
    return "must not have a password with tls=opportunistic: an attacker on the network could disable TLS and read it";
  }
  // Port 587 is for clients with a login (RFC 6409 §3.1, §4.3). Servers accept mail without a login on port 25.
  const defaultPort = implicit ? 465 : login ? 587 : 25;
  return { kind: "smtp", host, port: url.port === "" ? defaultPort : Number(url.port), tls, login };
}

const hostShape = /^(?:[a-z0-9_](?:[a-z0-9_.-]{0,252}[a-z0-9_.])?|[0-9a-f.]*:[0-9a-f:.]*)$/;

function hostInUrl(host: string): string {
  return host.includes(":") ? `[${host}]` : host;
}

function parseTlsMode(query: URLSearchParams, implicit: boolean): TlsMode | undefined {
  const [first, ...others] = [...query];
  if (first === undefined) return implicit ? "implicit" : "required";
  const [name, value] = first;
  if (name !== "tls" || others.length > 0) return undefined;
  if (implicit) return value === "required" ? "implicit" : undefined;
  return value === "required" || value === "opportunistic" || value === "off" ? value : undefined;
}

function unknownQuery(implicit: boolean): string {
  return implicit
    ? "must not have options: smtps:// is always TLS"
    : "may have only one option: tls=required, tls=opportunistic or tls=off";
}

function parseLogin(url: URL): SmtpOutbound["login"] | string {
  if (url.username === "" && url.password === "") return undefined;
  if (url.username === "" || url.password === "") return "must have both a user and a password, or neither";
  try {
    const user = decodeURIComponent(url.username);
    const password = decodeURIComponent(url.password);
    // SASL PLAIN separates its fields with NUL (RFC 4616 §2).
    if (`${user}${password}`.includes("\0")) return "must not have NUL in user or password";
    return { user, password };
  } catch {
    return "must have user and password in valid percent-encoding";
  }
}
