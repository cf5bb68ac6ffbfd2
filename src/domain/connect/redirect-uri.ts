import { isHostName, isLoopbackHost } from "../../standards/host-name.ts";

/** Schemes of programs that run or read what the address contains, instead of getting an answer by it. */
const forbiddenSchemes = new Set([
  "javascript:",
  "vbscript:",
  "data:",
  "blob:",
  "file:",
  "filesystem:",
  "about:",
  "ftp:",
]);

/** Whether a client may give this address for the answer: https, http on this machine, or the scheme of a program. */
export function isRedirectUri(text: string): boolean {
  const url = text.length <= 2000 && /^[\x21-\x7e]+$/.test(text) ? URL.parse(text) : null;
  if (url === null || text.includes("#") || url.username !== "" || url.password !== "") return false;
  if (/^https?:$/.test(url.protocol)) {
    // A host such as `a;b` or `a,b` would end its source in a Content-Security-Policy.
    const isHost = isHostName(url.hostname) || url.hostname.startsWith("[");
    return isHost && (url.protocol === "https:" || isLoopbackHost(url.hostname));
  }
  return !forbiddenSchemes.has(url.protocol) && !/^(?:ws|view-source)/.test(url.protocol);
}

/** Whether an address is one of those that a client has named. On this machine the port may differ (RFC 8252 §7.3). */
export function isNamedRedirectUri(named: readonly string[], asked: string): boolean {
  if (!isRedirectUri(asked)) return false;
  return named.includes(asked) || named.some((each) => withoutPort(each) === withoutPort(asked));
}

/** An address on this machine without its port. The text itself for all other addresses, so that they compare exactly. */
function withoutPort(text: string): string {
  const url = URL.parse(text);
  if (url === null || url.protocol !== "http:" || !isLoopbackHost(url.hostname)) return text;
  url.port = "";
  return url.href;
}

/** The host that the answer goes to, as a person reads it: the scheme for an address without a host. */
export function hostOfRedirectUri(text: string): string {
  const { protocol, host } = new URL(text);
  return /^https?:$/.test(protocol) ? host : protocol;
}

/** The source of a Content-Security-Policy that permits this address alone, as far as the policy's notation goes. */
export function sourceOfRedirectUri(text: string): string {
  const { protocol, origin } = new URL(text);
  return /^https?:$/.test(protocol) ? origin : protocol;
}

/** Adds parameters to an address, behind those that it has. Undefined values are left out. */
export function withParameters(text: string, parameters: Readonly<Record<string, string | undefined>>): string {
  const added = new URLSearchParams(
    Object.entries(parameters).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );
  return `${text}${text.includes("?") ? "&" : "?"}${added}`;
}
