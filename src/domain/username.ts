import { asciiDomain, isLocalPart, parseSendAddress, splitAddress } from "../standards/address.ts";
import { Refusal } from "./errors.ts";

/** The form of an inbox's local part. `+` is reserved for sub-addressing. */
const shape = /^[a-z0-9][a-z0-9.-]{1,28}[a-z0-9]$/;
const doubledMark = /\.\.|\.-|-\./;

/** Names with a role in a domain (RFC 2142), and names of mail systems. */
const reserved = new Set([
  "postmaster",
  "abuse",
  "hostmaster",
  "webmaster",
  "security",
  "noc",
  "mailer-daemon",
  "bounce",
  "bounces",
  "noreply",
  "no-reply",
  "root",
  "admin",
]);

/** An alphabet without similar characters, so that an address can be read out on the telephone. */
const alphabet = "23456789abcdefghjkmnpqrstuvwxyz";
const letters = alphabet.slice(8);

/** The place of a name in a request, for error messages. */
export interface NamePlace {
  /** Completes "Cannot …". */
  doing: string;
  /** The name of the field or parameter, and its fault. */
  field: string;
  fault: { pointer: string } | { parameter: string };
}

export function inFieldOfNewInbox(field: string, at = field): NamePlace {
  return { doing: "create inbox", field, fault: { pointer: `#/${at}` } };
}

export function parseUsername(text: string, place = inFieldOfNewInbox("username")): string {
  const username = text.trim().toLowerCase();
  if (!shape.test(username) || doubledMark.test(username)) {
    const rule =
      "must be 3 to 30 letters a-z, digits, dots and hyphens, start and end with a letter or digit, without a dot beside a dot or hyphen";
    throw invalid(place, rule);
  }
  if (reserved.has(username)) {
    throw new Refusal("address_reserved", `Cannot ${place.doing}: "${username}" is a reserved name`);
  }
  return username;
}

/** The local part of an inbox at an own or shared domain. No name is reserved there, because the domain has one holder. */
export function parseLocalPart(text: string, domain: string, place: NamePlace): string {
  const local = text.trim().toLowerCase();
  if (!isLocalPart(local)) {
    const rule =
      "must be 1 to 64 letters a-z, digits, dots, hyphens and underscores, start and end with a letter or digit, without two dots in a row";
    throw invalid(place, rule);
  }
  if (parseSendAddress(`${local}@${domain}`) === undefined) throw invalid(place, "makes the address too long");
  return local;
}

function invalid({ doing, field, fault }: NamePlace, detail: string): Refusal {
  return new Refusal("invalid_username", `Cannot ${doing}: "${field}" ${detail}`, { faults: [{ ...fault, detail }] });
}

/**
 * The username of an inbox or an alias at a host; undefined for MAIL_DOMAIN. An alias may be given as its whole address too, at the host of
 * its inbox.
 */
export function parseName(text: string, { host, mailDomain }: AtHost, place: NamePlace): string {
  const { local = text, domain } = splitAddress(text.trim()) ?? {};
  if (domain !== undefined && asciiDomain(domain) !== (host ?? mailDomain.toLowerCase()))
    throw invalid(place, "must be at the domain of the inbox");
  return host === undefined ? parseUsername(local, place) : `${parseLocalPart(local, host, place)}@${host}`;
}

export interface AtHost {
  host: string | undefined;
  mailDomain: string;
}

/** The most aliases of an inbox. */
export const mostAliases = 20;

export function refuseTooManyAliases(count: number, doing: string): void {
  if (count <= mostAliases) return;
  throw new Refusal("alias_limit", `Cannot ${doing}: an inbox has at most ${mostAliases} aliases`, {
    extra: { limit: mostAliases },
  });
}

export function randomUsername(randomBytes: (length: number) => Uint8Array): string {
  let username = pick(letters, randomBytes);
  while (username.length < 10) username += pick(alphabet, randomBytes);
  return username;
}

/**
 * Picks a random character. Draws again if the byte is not below `limit`, the largest multiple of the number of characters up to 256, so
 * that all characters are equally likely.
 */
function pick(characters: string, randomBytes: (length: number) => Uint8Array): string {
  const limit = 256 - (256 % characters.length);
  for (;;) {
    const byte = randomBytes(1)[0] ?? limit;
    if (byte < limit) return characters.charAt(byte % characters.length);
  }
}
