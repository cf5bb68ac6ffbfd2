export interface InboxdOptions {
  /** Where the service is, with the prefix of a proxy if there is one. In a page it may be relative. */
  baseUrl: string | URL;
  /** Without a key or a token a page calls with the cookie of its session, where it has the service's own origin. */
  apiKey?: string;
  /** A token in place of the key. */
  token?: string;
  /** Carries the requests out, in place of the one that is everywhere. */
  fetch?: Fetch;
  /** How long an attempt may take, to the end of its answer. */
  timeoutMs?: number;
  /** How often a call is tried again that may be. */
  retries?: number;
}

export type Fetch = (url: string | URL, init: RequestInit) => Promise<Response>;

/** Where the addresses of all calls begin. What can't be one is said here: of a call it would look as if nothing answered. */
export function baseOf({ baseUrl, fetch }: InboxdOptions): string {
  const base = String(baseUrl).replace(/\/$/, "");
  // Whoever carries the requests out by himself may know what it is relative to.
  const mayBeRelative = fetch !== undefined || typeof globalThis.location === "object";
  if (mayBeRelative && /^(?:$|[/.])/.test(base)) return base;
  const fault = faultOfAddress(base);
  if (fault === undefined) return base;
  throw new TypeError(
    `Cannot make a client: baseUrl is ${baseUrl ? JSON.stringify(base) : "missing"}, and must ${fault}, as "http://127.0.0.1:3000"`,
  );
}

function faultOfAddress(base: string): string | undefined {
  if (!/^https?:\/\/[^/]/i.test(base)) return "be the address of the service, beginning with http:// or https://";
  try {
    const { username, password, search, hash } = new URL(base);
    return username + password + search + hash === "" ? undefined : "have no user name, query or fragment";
  } catch {
    return "be the address of the service";
  }
}

/** The key, or what stands for it. One that was to be given and is not there is a setting that somebody forgot. */
export function credentialOf(options: InboxdOptions): string | undefined {
  const name = options.apiKey === undefined && "token" in options ? "token" : "apiKey";
  if (!(name in options)) return undefined;
  const credential = options[name];
  if (typeof credential === "string" && /^[\x21-\x7e]+$/.test(credential.trim())) return credential.trim();
  throw new TypeError(
    `Cannot make a client: ${name} is ${credential ? "no key" : "missing"}; give the API key that the first start of the service printed, or that "inboxd key create" makes`,
  );
}
