import { ipv6Groups, isIpAddress } from "../standards/ip.ts";
import type { Outbound } from "./outbound.ts";

/** A record of a DNS zone. */
export interface ZoneRecord {
  /** The name without a dot at the end. */
  name: string;
  type: "MX" | "A" | "AAAA" | "TXT" | "CNAME" | "PTR";
  /** The value in the syntax of a zone file, or the plain text of a TXT record. */
  value: string;
}

export interface ZoneFacts {
  mailDomain: string;
  smtpHostname: string;
  outbound: Outbound;
  /** The known public addresses of the machine. */
  addresses: readonly string[];
  /** `undefined` if mail is sent unsigned. */
  dkim: { selector: string; record: string } | undefined;
}

/** The records that the mail domain needs. PTR records come last, because another provider may manage them. */
export function zoneOf(facts: ZoneFacts): ZoneRecord[] {
  const { mailDomain, smtpHostname, addresses, dkim } = facts;
  return [
    mxRecord(mailDomain, smtpHostname),
    ...addresses.map((address) => addressRecord(smtpHostname, address)),
    spfRecord(mailDomain, facts.outbound),
    ...(dkim === undefined ? [] : [dkimRecord(mailDomain, dkim.selector, dkim.record)]),
    dmarcRecord(mailDomain),
    ...addresses.map((address) => ptrRecord(address, smtpHostname)),
  ];
}

export function mxRecord(mailDomain: string, smtpHostname: string): ZoneRecord {
  return { name: mailDomain, type: "MX", value: `10 ${smtpHostname}.` };
}

export function addressRecord(name: string, address: string): ZoneRecord {
  return { name, type: address.includes(":") ? "AAAA" : "A", value: address };
}

/**
 * The SPF record (RFC 7208). Direct mail comes from the host of the MX. For a relay of a large provider the right term is documented. For
 * any other relay the term is a guess: that it sends from its own host. So mail from elsewhere only fails softly (`~all`).
 */
export function spfRecord(mailDomain: string, outbound: Outbound): ZoneRecord {
  const isSure = outbound.kind !== "smtp" || isKnownRelay(outbound);
  return { name: mailDomain, type: "TXT", value: `v=spf1 ${spfMechanism(outbound)} ${isSure ? "-all" : "~all"}` };
}

export function spfMechanism(outbound: Outbound): string {
  if (outbound.kind !== "smtp") return "mx";
  const { host } = outbound;
  if (isIpAddress(host)) return `${host.includes(":") ? "ip6" : "ip4"}:${host}`;
  return knownRelay(host) ?? `a:${host}`;
}

/** True if a provider documents the SPF term of this relay. For any other relay the term is a guess. */
export function isKnownRelay(outbound: Outbound): boolean {
  return outbound.kind === "smtp" && knownRelay(outbound.host) !== undefined;
}

export function dkimRecord(mailDomain: string, selector: string, record: string): ZoneRecord {
  return { name: `${selector}._domainkey.${mailDomain}`, type: "TXT", value: record };
}

/** The DMARC record (RFC 7489 §6.3). It only requests reports. The operator can make it stricter once the reports look right. */
export function dmarcRecord(mailDomain: string): ZoneRecord {
  return { name: `_dmarc.${mailDomain}`, type: "TXT", value: `v=DMARC1; p=none; rua=mailto:postmaster@${mailDomain}` };
}

export function ptrRecord(address: string, name: string): ZoneRecord {
  return { name: reverseName(address), type: "PTR", value: `${name}.` };
}

/** The name for the reverse look-up of an address (RFC 1035 §3.5, RFC 3596 §2.5). */
export function reverseName(address: string): string {
  const groups = ipv6Groups(address);
  if (groups === undefined) return `${address.split(".").toReversed().join(".")}.in-addr.arpa`;
  const digits = groups.map((group) => group.toString(16).padStart(4, "0")).join("");
  return `${[...digits].toReversed().join(".")}.ip6.arpa`;
}

/** A record as a line of a zone file (RFC 1035 §5.1). */
export function zoneLine({ name, type, value }: ZoneRecord): string {
  return `${name}. 3600 IN ${type} ${type === "TXT" ? quoted(value) : value}`;
}

/**
 * The whole zone as text, with hints as comments. PTR records are comments, because they belong to the zone of the address, which its
 * provider manages.
 */
export function zoneBlock(facts: ZoneFacts): string {
  const { mailDomain, smtpHostname, addresses, dkim, outbound } = facts;
  const records = zoneOf(facts);
  const lines = records.filter(({ type }) => type !== "PTR").map(zoneLine);
  const ptrs = records.filter(({ type }) => type === "PTR").map((record) => `; ${zoneLine(record)}`);
  if (addresses.length === 0) {
    lines.splice(1, 0, `; ${smtpHostname}. 3600 IN A <the public address of this machine; set it with --ip>`);
    ptrs.push(`; the name ${smtpHostname}, for the public address of this machine`);
  }
  return [
    `; ${mailDomain}: mail comes in at ${smtpHostname}`,
    ...lines,
    ...(dkim === undefined ? ["; no DKIM record: set DKIM_SELECTOR and DKIM_KEY, or let the relay sign"] : []),
    ...(outbound.kind === "smtp" && !isKnownRelay(outbound)
      ? [`; SPF: if ${outbound.host} also sends from other addresses, use the terms that its provider documents`]
      : []),
    "; The reverse name is not in this zone: ask the provider of the address to set it.",
    ...ptrs,
    "",
  ].join("\n");
}

/** The SPF terms that providers document, by the end of the relay's host name. */
const relays: readonly [end: string, mechanism: string][] = [
  [".amazonaws.com", "include:amazonses.com"],
  ["smtp.sendgrid.net", "include:sendgrid.net"],
  [".mailgun.org", "include:mailgun.org"],
  ["smtp.postmarkapp.com", "include:spf.mtasv.net"],
  [".gmail.com", "include:_spf.google.com"],
  [".office365.com", "include:spf.protection.outlook.com"],
];

function knownRelay(host: string): string | undefined {
  return relays.find(([end]) => host.endsWith(end))?.[1];
}

/** The strings of a TXT record. Each has at most 255 octets (RFC 1035 §3.3.14); readers join them without spaces (RFC 6376 §3.6.2.2). */
function quoted(text: string): string {
  const pieces = text.match(/[\s\S]{1,255}/g) ?? [""];
  return pieces.map((piece) => `"${piece.replace(/["\\]/g, "\\$&")}"`).join(" ");
}
