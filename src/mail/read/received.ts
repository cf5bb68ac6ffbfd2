import type { MailClient } from "../../domain/receive/inbound-mail.ts";
import { isInBlocks, isIpAddress } from "../../standards/ip.ts";

/** The host that sent a mail to this service, or to the operator's relays before it. */
export interface SenderHost {
  /** Undefined if it is unknown, as behind a proxy without the PROXY protocol. */
  address: string | undefined;
  /** The name that it gave with EHLO or HELO, in lower case; "" if it is unknown. */
  heloName: string;
  isTls: boolean;
  /** Whether the mail came by a trusted relay, or with INGEST_TOKEN: then its Authentication-Results may count. */
  isTrusted: boolean;
}

/**
 * Finds the host that sent a mail. If the client is a trusted relay, that is the host in the topmost Received field, which the relay wrote
 * (RFC 5321 §4.4), and so on while that host is a trusted relay too. The address is unknown behind a proxy that hides it, and behind a
 * relay whose field cannot be read with certainty.
 */
export function senderHost(client: MailClient, raw: Uint8Array, trustedRelays: readonly string[]): SenderHost {
  const { heloName, secure: isTls, isTrusted = false } = client;
  const address = client.isProxy ? undefined : client.address;
  const isRelay = (host: string) => isInBlocks(host, trustedRelays);
  if (trustedRelays.length === 0 || address === undefined || !isRelay(address)) {
    return { address, heloName, isTls, isTrusted };
  }
  for (const field of receivedFields(raw)) {
    const host = hostIn(field);
    if (host === undefined) break;
    if (!isRelay(host.address)) return { ...host, isTrusted: true };
  }
  // The relay wrote the mail itself, or its sender cannot be found.
  return { address: undefined, heloName: "", isTls, isTrusted: true };
}

/** The most bytes of a header in which Received fields are looked for. Relays write theirs at its start. */
const mostBytes = 64 << 10;

/** The values of the Received fields, unfolded, the topmost first. */
function* receivedFields(raw: Uint8Array): Generator<string> {
  const text = Buffer.from(raw.buffer, raw.byteOffset, Math.min(raw.length, mostBytes)).toString("latin1");
  let field = "";
  for (const line of text.split("\n")) {
    const isFolded = line.startsWith(" ") || line.startsWith("\t");
    if (!isFolded) {
      if (/^Received[ \t]*:/i.test(field)) yield field.slice(field.indexOf(":") + 1).trim();
      field = "";
      if (line === "" || line === "\r") return;
    }
    field += `${line.trimEnd()} `;
  }
}

/**
 * Reads the host from a Received field. The name after "from" and the words after `helo` are the sender's own, and are never read as an
 * address: only the first comment in parentheses is, or for Exim the literal before it.
 */
function hostIn(field: string): (Omit<SenderHost, "isTrusted"> & { address: string }) | undefined {
  const [start = "", name = ""] = /^from[ \t]+([^ \t]{1,300})[ \t]/i.exec(field) ?? [];
  const behind = field.slice(start.length);
  const [first, second] = comments(behind);
  // qmail: from name (HELO helo) (address)
  const [, qmailHelo] = /^[HE]E?[EH]?LO (\S+)$/i.exec(first ?? "") ?? [];
  const comment = qmailHelo === undefined ? first : second;
  // Exim: from name ([address] helo=helo), or without a name: from [address] (helo=helo)
  const [, eximHelo] = /(?:^|\s)helo=(\S+)/.exec(comment ?? "") ?? [];
  const said = (comment ?? "").replace(/(?:^|\s)(?:helo|ident|port)=.*$/, "");
  const isLiteral = name.startsWith("[") && (comment === undefined || said === "");
  const address = addressIn(isLiteral ? name : said);
  if (address === undefined) return undefined;
  const heloName = (qmailHelo ?? eximHelo ?? (isLiteral ? "" : name)).toLowerCase();
  return { address, heloName, isTls: /\swith\s+(?:UTF8|E)?SMTPSA?[\s;]/i.test(behind) };
}

/** The address in brackets, or a text that is only an address, with the name of a user before it at most. */
function addressIn(text: string): string | undefined {
  const inBrackets = [...text.matchAll(/\[(?:IPv6:)?([0-9A-Fa-f.:]{2,45})\](?::\d{1,5})?/gi)];
  const [found] = inBrackets.length > 0 ? inBrackets : [/^(?:[^\s@]{1,64}@)?([0-9A-Fa-f.:]{2,45})$/.exec(text.trim())];
  const address = found?.[1];
  // With two addresses it is not certain which one the relay means.
  return inBrackets.length <= 1 && address !== undefined && isIpAddress(address) ? address : undefined;
}

/** The first two comments before "by", without the comments in them. */
function comments(text: string): string[] {
  const found: string[] = [];
  let depth = 0;
  let comment = "";
  for (const character of text.slice(0, 2000)) {
    if (character === ")") {
      depth -= 1;
      if (depth === 0) found.push(comment);
      if (depth < 0 || found.length === 2) break;
    } else if (character === "(") {
      depth += 1;
      if (depth === 1) comment = "";
    } else if (depth === 1) comment += character;
    else if (depth === 0 && !/\s/.test(character)) break;
  }
  return found;
}
