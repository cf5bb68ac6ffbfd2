import { createHash } from "node:crypto";
import { domainToASCII } from "node:url";
import { createMimeMessage } from "mimetext/browser";
import type { AutoSubmitted } from "../../domain/automated.ts";
import type { Mailbox, OutgoingMail } from "../../domain/message.ts";
import { splitAddress } from "../../standards/address.ts";
import { cleanText, oneLine } from "../../standards/text.ts";
import { encodeBody, foldedField, phraseTokens, unstructuredTokens } from "./encode.ts";

/**
 * The mail as it goes on the wire (RFC 5322, RFC 2045): CRLF, lines of at most 998 octets, ASCII alone unless `needsSmtpUtf8`.
 * The same mail gives the same bytes, so a retry sends what the first attempt sent. Whatever a field holds, the header set is
 * exactly the one below: line breaks and controls in a subject or a name become spaces, an address or Message-ID that holds
 * any is a bug of the caller and thrown.
 *
 * mimetext assembles the parts; it gets header fields and bodies that are encoded already, since its own encoding is not safe.
 */
export function composeMail(mail: OutgoingMail): Uint8Array {
  const message = createMimeMessage();
  message.headers.fields = headerOf(mail).map(([name, value]) => ({ name, value, dump: () => value }));
  message.boundaries.alt = boundaryOf(mail);
  for (const [contentType, text] of bodiesOf(mail)) {
    message.addMessage({ contentType, charset: "utf-8", ...encodeBody(cleanText(text)) });
  }
  return new TextEncoder().encode(`${message.asRaw()}\r\n`);
}

/** True when an address can't be written in ASCII (RFC 6531): a domain has its A-label, a local part has nothing. */
export function needsSmtpUtf8({ from, to, cc, replyTo }: OutgoingMail): boolean {
  const addresses = [from, ...to, ...cc].map(({ address }) => address);
  return [...addresses, replyTo ?? ""].some((address) => notAscii.test(splitAddress(address)?.local ?? ""));
}

/** What mimetext adds is Content-Type, and Content-Transfer-Encoding where there is one body. */
function headerOf(mail: OutgoingMail): [name: string, value: string][] {
  const inReplyTo = mail.inReplyTo === undefined ? [] : writableIds([mail.inReplyTo]);
  const references = writableIds(mail.references);
  const fields: [name: string, tokens: readonly string[]][] = [
    ["From", mailboxTokens("From", mail.from)],
    ["To", mailboxTokens("To", firstOf(mail.to))],
    ...(mail.replyTo === undefined ? [] : [field("Reply-To", mailboxTokens("Reply-To", { address: mail.replyTo }))]),
    ["Subject", unstructuredTokens(oneLine(mail.subject))],
    ["Message-ID", ownId(mail.messageId)],
    ...(inReplyTo.length === 0 ? [] : [field("In-Reply-To", inReplyTo)]),
    ...(references.length === 0 ? [] : [field("References", references)]),
    ...(mail.autoSubmitted === undefined ? [] : automaticFields(mail.autoSubmitted)),
    ["Date", [mail.date.toUTCString().replace("GMT", "+0000")]],
    ["MIME-Version", ["1.0"]],
    ...(mail.bodyHtml === undefined ? [] : [field("Content-Transfer-Encoding", ["7bit"])]),
  ];
  return fields.map(([name, tokens]) => [name, foldedField(name, tokens).slice(name.length + 2)]);
}

/** The second asks programs that don't know the first not to answer. */
function automaticFields(autoSubmitted: AutoSubmitted): [name: string, tokens: readonly string[]][] {
  return [field("Auto-Submitted", [autoSubmitted]), field("X-Auto-Response-Suppress", ["OOF,", "AutoReply"])];
}

function firstOf([first]: readonly Mailbox[]): Mailbox {
  if (first === undefined) throw new Error("Cannot compose mail: it goes to nobody");
  return first;
}

function field(name: string, tokens: readonly string[]): [name: string, tokens: readonly string[]] {
  return [name, tokens];
}

function bodiesOf({ bodyText, bodyHtml }: OutgoingMail): [contentType: string, text: string][] {
  const text: [string, string] = ["text/plain", bodyText];
  return bodyHtml === undefined ? [text] : [text, ["text/html", bodyHtml]];
}

/** Needs no chance: no line of an encoded body begins with a hyphen, so none can be this one. */
function boundaryOf({ messageId }: OutgoingMail): string {
  return `inboxd-${createHash("sha256").update(messageId).digest("hex").slice(0, 32)}`;
}

function mailboxTokens(fieldName: string, { name = "", address }: Mailbox): string[] {
  const written = writtenAddress(address);
  if (written === undefined) throw new Error(`Cannot compose mail: its ${fieldName} is not an address`);
  const shown = oneLine(name);
  return shown === "" ? [written] : [...phraseTokens(shown), `<${written}>`];
}

function writtenAddress(address: string): string | undefined {
  const parts = address.length <= maxAddressLength ? splitAddress(address) : undefined;
  if (parts === undefined || !(dotAtom.test(parts.local) || quotedLocal.test(parts.local))) return undefined;
  // domainToASCII reads the host of a URL: given a `/` it would silently take what stands before.
  const mayNeedALabel = /^[a-z0-9.\-\u{a1}-\u{10ffff}]+$/iu.test(parts.domain);
  const domain = mayNeedALabel && notAscii.test(parts.domain) ? domainToASCII(parts.domain) : parts.domain;
  return hostName.test(domain) ? `${parts.local}@${domain}` : undefined;
}

const maxAddressLength = 320;
const notAscii = /[^\0-\x7f]/;
/** RFC 5322 §3.2.3, and of what RFC 6532 §3.2 adds the letters, digits and symbols of any script. */
const dotAtom = /^[\w!#$%&'*+/=?^`{|}~\p{L}\p{M}\p{N}\p{S}-]+(?:\.[\w!#$%&'*+/=?^`{|}~\p{L}\p{M}\p{N}\p{S}-]+)*$/u;
const quotedLocal = /^"(?:[ !#-[\]-~]|\\[ -~])*"$/;
const hostName = /^[a-z0-9-]+(?:\.[a-z0-9-]+)*$/i;

function ownId(messageId: string): string[] {
  const ids = writableIds([messageId]);
  if (ids.length === 0) throw new Error("Cannot compose mail: its Message-ID is not one");
  return ids;
}

/** Ids come from other people's mail. One that a header can't hold (spaces, letters outside ASCII, endless) is left out. */
function writableIds(ids: readonly string[]): string[] {
  return ids.filter((id) => id.length <= maxIdLength && /^[!-;=?-~]+$/.test(id)).map((id) => `<${id}>`);
}

/** `In-Reply-To: <…>` in a line of 998 octets (RFC 5322 §2.1.1). */
const maxIdLength = 998 - "In-Reply-To: <>".length;
