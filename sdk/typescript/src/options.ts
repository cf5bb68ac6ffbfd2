export interface InboxdOptions {
  /** The address of the service, with the prefix of a proxy if there is one. In a page it may be relative. */
  baseUrl: string | URL;
  /** The API key. Without a key or a token, a page at the service's own origin calls with the cookie of its session. */
  apiKey?: string;
  /** A token in place of the key. */
  token?: string;
  /** Sends the requests, in place of the global `fetch`. */
  fetch?: Fetch;
  /** Headers of every request, such as those that a proxy in front of the service needs. */
  headers?: Readonly<Record<string, string>>;
  /** The longest time of one attempt, to the end of its response: 30,000 by default. */
  timeoutMs?: number;
  /** The most retries of a call that may be repeated: 3 by default. */
  retries?: number;
}

export type Fetch = (url: string | URL, init: RequestInit) => Promise<Response>;

/** The beginning of all addresses. Throws for a wrong one, which would otherwise look like a service that does not answer. */
export function baseOf({ baseUrl, fetch }: InboxdOptions): string {
  const base = String(baseUrl).replace(/\/$/, "");
  // A `fetch` in the options may have a base for a relative address.
  const mayBeRelative = fetch !== undefined || typeof globalThis.location === "object";
  if (mayBeRelative && /^(?:$|[/.])/.test(base)) return base;
  const fault = faultOfAddress(base);
  if (fault === undefined) return base;
  throw new TypeError(
    `Cannot make a client: baseUrl is ${baseUrl ? JSON.stringify(base) : "missing"}, and must ${fault}, such as "http://127.0.0.1:3000"`,
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

/**
 * The key or the token; undefined if neither option is given. Throws if the option is empty or no key: the setting of the program is
 * missing or wrong.
 */
export function credentialOf(options: InboxdOptions): string | undefined {
  const name = options.apiKey === undefined && "token" in options ? "token" : "apiKey";
  if (!(name in options)) return undefined;
  const credential = options[name];
  if (typeof credential === "string" && /^[\x21-\x7e]+$/.test(credential.trim())) return credential.trim();
  throw new TypeError(
    `Cannot make a client: ${name} is ${credential ? "not a key" : "missing"}; give the API key that the first start of the service printed, or that "inboxd key create" makes`,
  );
}
