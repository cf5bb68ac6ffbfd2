import { type Reply, reply, tooBig } from "./replies.ts";

/** Parses MAIL. Returns its reverse-path (the address of the sender, "" for the null sender), or the reply that refuses the command. */
export function parseSender(line: string, maxBytes: number): string | Reply {
  const given = parse(line, mailShape);
  if (given === undefined) return reply(501, "5.5.4", "Syntax: MAIL FROM:<address>");
  if (given.address !== "" && !isAddress(given.address)) {
    return reply(501, "5.1.7", "The sender's address is malformed");
  }
  const fault = parameterFault(given.parameters, senderParameters);
  if (fault !== undefined) return fault;
  // RFC 1870 §6.1: a declared size that is too large is refused before the mail is sent.
  return Number(given.parameters?.get("SIZE") ?? 0) > maxBytes ? tooBig(maxBytes) : given.address;
}

/** Parses RCPT. Returns its address as given, or the reply that refuses the command. */
export function parseRecipient(line: string): string | Reply {
  const given = parse(line, rcptShape);
  if (given === undefined) return reply(501, "5.5.4", "Syntax: RCPT TO:<address>");
  // Only "postmaster" needs no domain (RFC 5321 §4.1.1.3).
  if (given.address.toLowerCase() !== "postmaster" && !isAddress(given.address)) {
    return reply(550, "5.1.3", "The recipient's address is malformed", "bad_recipient");
  }
  return parameterFault(given.parameters, recipientParameters) ?? given.address;
}

interface AddressCommand {
  address: string;
  /** Values by upper-case keyword, "" if there is no value; `undefined` if one is malformed or repeated. */
  parameters: ReadonlyMap<string, string> | undefined;
}

/**
 * Parses `MAIL FROM:<…> …` or `RCPT TO:<…> …` (RFC 5321 §4.1.2, §4.1.1.11); `undefined` if there is no `<…>`. It accepts unusual local
 * parts, since other servers may allow them. It is strict about where the address ends, so that the next server reads no other address in
 * it.
 */
function parse(line: string, shape: RegExp): AddressCommand | undefined {
  if (controlOrBroken.test(line)) return undefined;
  const match = shape.exec(line.trimEnd());
  if (match === null) return undefined;
  return { address: (match[1] ?? "").replace(sourceRoute, ""), parameters: parseParameters(match[2] ?? "") };
}

function parameterFault(
  parameters: AddressCommand["parameters"],
  known: ReadonlyMap<string, RegExp>,
): Reply | undefined {
  if (parameters === undefined) return reply(501, "5.5.4", "The parameters are malformed");
  for (const [keyword, value] of parameters) {
    const shape = known.get(keyword);
    // RFC 5321 §4.1.1.11: 555 for a parameter that EHLO did not offer.
    if (shape === undefined) return reply(555, "5.5.4", "A parameter is not supported");
    if (!shape.test(value)) return reply(501, "5.5.4", `The value of ${keyword} is malformed`);
  }
  return undefined;
}

const senderParameters: ReadonlyMap<string, RegExp> = new Map([
  // The forms of the values: RFC 1870 §3, RFC 6152 §2, RFC 6531 §3.4.
  ["SIZE", /^\d{1,20}$/],
  ["BODY", /^(?:7BIT|8BITMIME)$/i],
  ["SMTPUTF8", /^$/],
]);
const recipientParameters: ReadonlyMap<string, RegExp> = new Map();

/** Control characters, invisible characters that make one address look like another, and the replacement for invalid UTF-8. */
const controlOrBroken = /[\x00-\x08\x0a-\x1f\x7f-\x9f\u200b\u2060\ufeff\ufffd]/;

const path = String.raw`<((?:"(?:[^"\\]|\\.)*"|[^<>"])*)>`;
const mailShape = new RegExp(String.raw`^MAIL FROM:\s*${path}((?:\s+\S+)*)$`, "i");
const rcptShape = new RegExp(String.raw`^RCPT TO:\s*${path}((?:\s+\S+)*)$`, "i");

/** A source route such as `@relay.example,@other.example:` is removed from the address and ignored (RFC 5321 §4.1.1.3, appendix C). */
const sourceRoute = /^@[^\s,:@]+(?:,@[^\s,:@]+)*:/;
const quotedLocal = /^"(?:[^"\\]|\\.)*"$/;
const plainLocal = /^[^\s@"\\<>()[\]:;,]+$/;
const domain = /^(?:\[[^[\]\s]+\]|[^\s@"\\<>()[\]:;,]+)$/;
/** A path has at most 256 octets with its `<>` (RFC 5321 §4.5.3.1.3). */
const maxAddressOctets = 254;

function isAddress(address: string): boolean {
  if (Buffer.byteLength(address) > maxAddressOctets) return false;
  const at = address.lastIndexOf("@");
  const local = address.slice(0, Math.max(at, 0));
  return (plainLocal.test(local) || quotedLocal.test(local)) && domain.test(address.slice(at + 1));
}

function parseParameters(text: string): ReadonlyMap<string, string> | undefined {
  const parameters = new Map<string, string>();
  for (const word of text.trim().split(/\s+/)) {
    if (word === "") continue;
    const equals = word.indexOf("=");
    const keyword = (equals === -1 ? word : word.slice(0, equals)).toUpperCase();
    if (!/^[A-Z0-9][A-Z0-9-]*$/.test(keyword) || parameters.has(keyword)) return undefined;
    parameters.set(keyword, equals === -1 ? "" : word.slice(equals + 1));
  }
  return parameters;
}
