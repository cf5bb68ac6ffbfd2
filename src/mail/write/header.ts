import { domainToASCII } from "node:url";
import type { AutoSubmitted } from "../../domain/automated.ts";
import type { CustomHeader, Mailbox, OutgoingMail } from "../../domain/message.ts";
import { splitAddress } from "../../standards/address.ts";
import { oneLine } from "../../standards/text.ts";
import { customTokens, foldedField, phraseTokens, unstructuredTokens } from "./encode.ts";

type Field = [name: string, tokens: readonly string[]];

/** The header fields of a mail, without line ends after them. Those about its content, such as Content-Type, come from `bodyOf`. */
export function headerFields(mail: OutgoingMail): string[] {
  if (mail.to.length + mail.cc.length === 0) throw new Error("Cannot compose mail: it has no recipient");
  const inReplyTo = mail.inReplyTo === undefined ? [] : writableIds([mail.inReplyTo]);
  const references = writableIds(mail.references);
  const fields: Field[] = [
    ["From", mailboxTokens("From", mail.from)],
    ...addressField("To", mail.to),
    ...addressField("Cc", mail.cc),
    ...addressField("Reply-To", mail.replyTo === undefined ? [] : [{ address: mail.replyTo }]),
    ["Subject", unstructuredTokens(oneLine(mail.subject))],
    ["Message-ID", ownId(mail.messageId)],
    ...fieldWith("In-Reply-To", inReplyTo),
    ...fieldWith("References", references),
    ...(mail.autoSubmitted === undefined ? [] : automaticFields(mail.autoSubmitted)),
    ["Date", [mail.date.toUTCString().replace("GMT", "+0000")]],
    ["MIME-Version", ["1.0"]],
    ...[...mail.headers, ...(mail.relayHeaders ?? [])].map(customField),
  ];
  return fields.map(([name, tokens]) => foldedField(name, tokens));
}

/** True if an address cannot be written in ASCII (RFC 6531). A domain has an ASCII form (A-labels), a local part has none. */
export function needsSmtpUtf8({ from, to, cc, replyTo }: OutgoingMail): boolean {
  const addresses = [from, ...to, ...cc].map(({ address }) => address);
  return [...addresses, replyTo ?? ""].some((address) => notAscii.test(splitAddress(address)?.local ?? ""));
}

/**
 * The header fields that mark automated mail. X-Auto-Response-Suppress stops automatic replies by programs that ignore Auto-Submitted.
 */
function automaticFields(autoSubmitted: AutoSubmitted): Field[] {
  return [
    ["Auto-Submitted", [autoSubmitted]],
    ["X-Auto-Response-Suppress", ["OOF,", "AutoReply"]],
  ];
}

function customField({ name, value }: CustomHeader): Field {
  if (!/^[A-Za-z0-9-]{1,76}$/.test(name)) throw new Error("Cannot compose mail: the name of a custom field is invalid");
  const line = oneLine(value);
  return [name, name.toLowerCase() === "list-unsubscribe" ? urlTokens(line) : customTokens(line)];
}

/** The tokens of a list of URLs, percent-encoded, because programs read no encoded words there (RFC 2369 §2). */
function urlTokens(line: string): string[] {
  const ascii = line.replace(/[^ -~]+/gu, encodeURIComponent);
  return ascii
    .replaceAll(/> *, *</g, ">, <")
    .split(" ")
    .filter((token) => token !== "");
}

function fieldWith(name: string, tokens: readonly string[]): Field[] {
  return tokens.length === 0 ? [] : [[name, tokens]];
}

function addressField(name: string, mailboxes: readonly Mailbox[]): Field[] {
  const last = mailboxes.length - 1;
  const tokens = mailboxes.flatMap((mailbox, index) => {
    const own = mailboxTokens(name, mailbox);
    return index === last ? own : own.with(-1, `${own.at(-1)},`);
  });
  return fieldWith(name, tokens);
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
  // domainToASCII reads the host of a URL and would silently drop everything after a `/`.
  const mayNeedALabel = /^[a-z0-9.\-\u{a1}-\u{10ffff}]+$/iu.test(parts.domain);
  const domain = mayNeedALabel && notAscii.test(parts.domain) ? domainToASCII(parts.domain) : parts.domain;
  return hostName.test(domain) ? `${parts.local}@${domain}` : undefined;
}

const maxAddressLength = 320;
const notAscii = /[^\0-\x7f]/;
/** A dot-atom (RFC 5322 §3.2.3), with the letters, digits and symbols of any script, which RFC 6532 §3.2 adds. */
const dotAtom = /^[\w!#$%&'*+/=?^`{|}~\p{L}\p{M}\p{N}\p{S}-]+(?:\.[\w!#$%&'*+/=?^`{|}~\p{L}\p{M}\p{N}\p{S}-]+)*$/u;
const quotedLocal = /^"(?:[ !#-[\]-~]|\\[ -~])*"$/;
const hostName = /^[a-z0-9-]+(?:\.[a-z0-9-]+)*$/i;

function ownId(messageId: string): string[] {
  const ids = writableIds([messageId]);
  if (ids.length === 0) throw new Error("Cannot compose mail: its Message-ID is invalid");
  return ids;
}

/**
 * The Message-IDs in angle brackets. Those with spaces or non-ASCII characters and those that are too long are dropped, since the ids come
 * from strangers' mail.
 */
function writableIds(ids: readonly string[]): string[] {
  return ids.filter((id) => id.length <= maxIdLength && /^[!-;=?-~]+$/.test(id)).map((id) => `<${id}>`);
}

/** The limit of an id, so that `In-Reply-To: <…>` fits into 998 octets (RFC 5322 §2.1.1). */
const maxIdLength = 998 - "In-Reply-To: <>".length;
