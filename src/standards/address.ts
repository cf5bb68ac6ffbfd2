import { domainToASCII } from "node:url";
import { isHostName } from "./host-name.ts";

/**
 * The address that a caller gives for `to` or `replyTo`, with its domain in lower-case A-labels (RFC 5890) and its local part as given.
 * `undefined` for anything but one plain address.
 *
 * It refuses display names and lists; quoted local parts (`"a b"@…`), which no inbox of ours has and which can smuggle an @ or a space past
 * a relay; address literals (`@[127.0.0.1]`), which lead into our own network; and local parts outside of ASCII, which need SMTPUTF8 at every
 * hop. A domain needs a dot, unless it is `ownDomain`.
 */
export function parseSendAddress(text: string, ownDomain?: string): string | undefined {
  // Longer text is refused before it is scanned. A-labels only make it longer.
  if (text.length > longestAddress) return undefined;
  const parts = splitAddress(text);
  if (parts === undefined || parts.local.length > longestLocal || !dotAtom.test(parts.local)) return undefined;
  const domain = asciiDomain(parts.domain);
  if (domain === undefined) return undefined;
  if (domain !== ownDomain?.toLowerCase() && !domain.includes(".")) return undefined;
  const address = `${parts.local}@${domain}`;
  return address.length <= longestAddress ? address : undefined;
}

/** One address with its display name. The name has no quotes and escapes any more, and may still be a name that the service refuses. */
export interface NamedAddress {
  address: string;
  name: string;
}

/**
 * Reads `Jane Doe <jane@example.com>` (a name-addr of RFC 5322 §3.4) as a caller writes it. `undefined` for anything but one name, as atoms
 * or as one quoted string, and one plain address.
 *
 * It refuses lists, groups, comments and line breaks, which can hide a second recipient, and encoded words (RFC 2047), which would show
 * another name than the one that was checked. Unquoted names may have dots, as people write them (§4.1, obs-phrase).
 */
export function parseNamedAddress(text: string, ownDomain?: string): NamedAddress | undefined {
  if (text.length > longestNamedAddress || !text.endsWith(">") || breaksLine.test(text)) return undefined;
  const open = text.lastIndexOf("<");
  const name = open < 0 ? undefined : nameOfPhrase(text.slice(0, open).trim());
  const address = parseSendAddress(text.slice(open + 1, -1), ownDomain);
  return name === undefined || name.includes("=?") || address === undefined ? undefined : { address, name };
}

/** The name that a phrase spells. A quoted one may have any character, as a quoted-pair too. */
function nameOfPhrase(phrase: string): string | undefined {
  const quoted = /^"((?:[^"\\]|\\.)*)"$/.exec(phrase)?.[1];
  if (quoted !== undefined) return quoted.replace(/\\(.)/gu, "$1");
  return phrase === "" || specials.test(phrase) ? undefined : phrase;
}

/** The specials of RFC 5322 §3.2.3, except the dot. */
const specials = /[()<>[\]:;@\\,"]/;

/** C0, DEL, C1 and the line breaks of Unicode. */
const breaksLine = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/;

/** Enough for the longest address and a name of 100 characters, each of them escaped. */
export const longestNamedAddress = 512;

/** The limits of RFC 5321 §4.5.3.1: 64 octets for the local part, and 256 for a path, which has two brackets around the address. */
const longestLocal = 64;
const longestAddress = 254;

/** A dot-atom (RFC 5322 §3.2.3). */
const dotAtom = /^[a-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[a-z0-9!#$%&'*+/=?^_`{|}~-]+)*$/i;

export interface AddressParts {
  local: string;
  domain: string;
}

/** Splits an address at its last @. A quoted local part may have others. */
export function splitAddress(address: string): AddressParts | undefined {
  const at = address.lastIndexOf("@");
  if (at < 1 || at === address.length - 1) return undefined;
  return { local: address.slice(0, at), domain: address.slice(at + 1) };
}

/** Whether a text can be an address of an envelope (RFC 5321 §4.1.2), without `<>`. Only `postmaster` needs no domain. */
export function isEnvelopeAddress(text: string): boolean {
  if (text.toLowerCase() === "postmaster") return true;
  return Buffer.byteLength(text) <= longestAddress && !invisible.test(text) && mailbox.test(text);
}

const mailbox = /^(?:"(?:[^"\\]|\\.)*"|[^\s@"\\<>()[\]:;,]+)@(?:\[[^[\]\s]+\]|[^\s@"\\<>()[\]:;,]+)$/;

/** Control characters, invisible characters that make one address look like another, and the replacement for invalid UTF-8. */
const invisible = /[\x00-\x1f\x7f-\x9f\u200b\u2060\ufeff\ufffd]/;

/** The tag after the first `+` of the local part, or null if it has no `+`. */
export function tagOf(address: string): string | null {
  if (!address.includes("+")) return null;
  const { local = "" } = splitAddress(address) ?? {};
  const at = unquoted(local).indexOf("+");
  return at < 0 ? null : unquoted(local).slice(at + 1);
}

/** The recipient that a RCPT TO names (contract §6). */
export type Recipient =
  | { kind: "inbox"; username: string }
  | { kind: "role"; name: RoleName }
  | { kind: "other_domain" }
  | { kind: "unknown" };

export type RoleName = "postmaster" | "abuse";

/**
 * The recipient that an SMTP address names. Case is ignored, `user+tag` is `user`, and `postmaster` needs no domain (RFC 5321 §4.5.1). Only
 * the domain after the last @ decides whether an address is ours. So an old form for relaying (`a%b@ours`, `b!a@ours`, `@ours:a@b`,
 * `"a@b"@ours`) is an unknown user or another domain, and is never relayed.
 */
export function recipientOf(address: string, mailDomain: string): Recipient {
  if (!address.includes("@"))
    return address.toLowerCase() === "postmaster" ? roleOf("postmaster") : { kind: "unknown" };
  const parts = splitAddress(address);
  if (parts === undefined) return { kind: "unknown" };
  if (asciiDomain(parts.domain) !== mailDomain.toLowerCase()) return { kind: "other_domain" };
  const local = unquoted(parts.local).split("+", 1)[0] ?? "";
  const user = local.toLowerCase();
  if (isRole(user)) return roleOf(user);
  return username.test(local) ? { kind: "inbox", username: user } : { kind: "unknown" };
}

/** The form of a username (contract §4). A local part of another form is never that of an inbox. */
const username = /^[a-z0-9][a-z0-9.-]{1,28}[a-z0-9]$/i;

/** The address of an inbox. Its username is the local part at MAIL_DOMAIN, or the whole address at another domain. */
export function inboxAddress(username: string, mailDomain: string): string {
  return username.includes("@") ? username : `${username}@${mailDomain}`;
}

/** The username of the inbox that has this address, if there is one. Undefined if no inbox can have the address. */
export function usernameAt(address: string, mailDomain: string): string | undefined {
  const recipient = recipientOf(address, mailDomain);
  if (recipient.kind === "inbox") return recipient.username;
  return recipient.kind === "other_domain" ? recipientAtHost(address)?.username : undefined;
}

/** A recipient at another domain than MAIL_DOMAIN, which may be a domain of an account. */
export interface RecipientAtHost {
  /** The domain of the address, in lower-case A-labels. */
  host: string;
  /** The local part in lower case, without a tag. */
  user: string;
  /** The username of the inbox that has this address, if there is one: the address without a tag. Undefined if no inbox can have it. */
  username: string | undefined;
}

/** Reads an address at another domain. Undefined if it has no valid domain. Case, tags and needless quotes count as at MAIL_DOMAIN. */
export function recipientAtHost(address: string): RecipientAtHost | undefined {
  const { local, domain } = splitAddress(address) ?? { local: "", domain: "" };
  const host = asciiDomain(domain);
  if (host === undefined) return undefined;
  const user = (unquoted(local).split("+", 1)[0] ?? "").toLowerCase();
  return { host, user, username: isLocalPart(user) ? `${user}@${host}` : undefined };
}

/** Whether an inbox at the domain of an account may have this local part. No name is reserved there. */
export function isLocalPart(text: string): boolean {
  return localPart.test(text) && !text.includes("..");
}

const localPart = /^[a-z0-9](?:[a-z0-9._-]{0,62}[a-z0-9])?$/;

/** Whether mail to this local part is for the operator of the service, if no inbox has the address (RFC 2142 §4 and §5). */
export function isRole(user: string): user is RoleName {
  return user === "postmaster" || user === "abuse";
}

function roleOf(name: RoleName): Recipient {
  return { kind: "role", name };
}

/** The local part without needless quotes: `"ada"@…` and `ada@…` are the same mailbox (RFC 5321 §4.1.2). */
export function unquoted(local: string): string {
  return /^"[^"\\]*"$/.test(local) ? local.slice(1, -1) : local;
}

/** The domain in lower-case A-labels, or `undefined` if it is not a valid host name. */
export function asciiDomain(domain: string): string | undefined {
  let ascii = domain.toLowerCase();
  if (notAscii.test(domain) || ascii.includes("xn--")) {
    // domainToASCII reads a URL's host: it would decode `%2e`, stop at `/` and treat `:80` as a port.
    if (/[^a-z0-9.\-\u0080-\u{10ffff}]/u.test(ascii)) return undefined;
    ascii = domainToASCII(ascii);
  }
  // A name whose last label has only digits is refused, because it would be read as an IPv4 address (RFC 3696 §2).
  return isHostName(ascii) && !/(?:^|\.)\d+$/.test(ascii) ? ascii : undefined;
}

const notAscii = /[^\u0000-\u007f]/;
