import { isIpAddress, isPublicAddress } from "../../standards/ip.ts";

/**
 * Checks the URL of a webhook (contract §10.6). Returns the URL, or a text that says what is wrong. It checks only the
 * text of the URL; each delivery checks the addresses that the name resolves to. `allowPrivate` is for development: it
 * also allows http, localhost and private networks.
 */
export function checkWebhookUrl(text: string, { allowPrivate }: { allowPrivate: boolean }): URL | string {
  if (text.length > 2048) return "must have at most 2048 characters";
  // The URL parser drops or changes these characters, but we store the URL as it was written.
  if (/[\s\\\p{Cc}]/u.test(text)) return "must not have white space, backslashes or control characters";
  const url = URL.parse(text);
  if (!url) return "must be an absolute URL";
  if (url.protocol !== "https:" && !(url.protocol === "http:" && allowPrivate)) {
    return allowPrivate ? "must start with https:// or http://" : "must start with https://";
  }
  if (url.href.length > 2048) return "must have at most 2048 characters";
  if (url.username !== "" || url.password !== "") return "must not have a user name or password";
  if (text.includes("#")) return "must not have a fragment";
  if (badPorts.has(url.port)) return `must not have port ${url.port}, which belongs to another protocol`;
  return allowPrivate ? url : (hostFault(hostOf(url)) ?? url);
}

/** The host as resolvers and certificates spell it: without brackets around IPv6 and without a dot at the end. */
export function hostOf(url: URL): string {
  return url.hostname.replace(/^\[(.*)\]$/, "$1").replace(/\.$/, "");
}

export function portOf(url: URL): number {
  if (url.port !== "") return Number(url.port);
  return url.protocol === "https:" ? 443 : 80;
}

/** The reason why a host is not public, or undefined. The URL parser has already normalised `2130706433`, `0x7f.1` and `127.0.0.01`. */
function hostFault(host: string): string | undefined {
  if (isIpAddress(host))
    return isPublicAddress(host) ? undefined : `must not lead to ${host}, which is not a public address`;
  const labels = host.split(".");
  const isLocal = labels.length < 2 || localDomains.has(labels.at(-1) ?? "") || host.endsWith(".home.arpa");
  return isLocal ? `must not lead to ${host}, which is not a public name` : undefined;
}

const localDomains = new Set(["localhost", "local", "localdomain", "internal", "intranet", "lan", "home", "corp"]);

/** The bad ports of the Fetch standard (§2.9). On these ports a server of another protocol could read a POST as commands. */
const badPorts: ReadonlySet<string> = new Set(
  (
    "0 1 7 9 11 13 15 17 19 20 21 22 23 25 37 42 43 53 69 77 79 87 95 101 102 103 104 109 110 111 113 115 117 119 123 " +
    "135 137 139 143 161 179 389 427 465 512 513 514 515 526 530 531 532 540 548 554 556 563 587 601 636 989 990 993 " +
    "995 1719 1720 1723 2049 3659 4045 4190 5060 5061 6000 6566 6665 6666 6667 6668 6669 6679 6697 10080"
  ).split(" "),
);
