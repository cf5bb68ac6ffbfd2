import { createHash } from "node:crypto";
import type { DkimResult } from "../../domain/receive/authentication.ts";
import { asciiDomain } from "../../standards/address.ts";
import { fieldsOf, type HeaderField, relaxedField, relaxedPieces } from "../write/dkim-canonical.ts";
import { endOfHead, fieldValue, fromDomainOf, type HeadEnd, withFullLineEnds } from "./mail-head.ts";
import { listedIn, readTagList, withoutFolds } from "./tag-list.ts";

/** The parts of a mail that its authentication needs, so that a separate process can read a hostile mail. */
export interface MailReading {
  /** In lower case and with A-labels; undefined if From does not have exactly one valid address. */
  fromDomain: string | undefined;
  /** The DKIM signatures, those of the From domain first. */
  signatures: readonly ReadSignature[];
  /** The fields of the ARC chain, and its last message signature (RFC 8617). */
  arc: { fields: readonly string[]; message: ReadSignature | undefined } | undefined;
  /** The Authentication-Results fields above the second Received field, which the last host before us may have written. */
  results: readonly string[];
}

/** A DKIM signature without its key, which only the DNS has. */
export interface ReadSignature {
  /** In lower case and with A-labels. */
  domain: string;
  selector: string;
  check: SignatureCheck | SignatureFault;
}

export interface SignatureCheck {
  kind: "check";
  keyType: "rsa" | "ed25519";
  /** The canonical header fields that the signature covers. */
  signed: Uint8Array;
  signature: Uint8Array;
  /** The end of validity as Unix time in seconds. */
  expiresAt: number | undefined;
  /** Whether `i=` is below the domain, which the key may forbid. */
  isForSubdomain: boolean;
}

/** A signature that cannot pass, whatever its key is. */
export interface SignatureFault {
  kind: "fault";
  result: DkimResult;
  fault: string;
}

/** Mail up to these sizes is read on the main thread. The worst such mail takes a few milliseconds. */
const ordinary = { headBytes: 32 * 1024, signedBytes: 256 * 1024 };

/** True for a mail that is read in the process for hostile mail: one with a very long header, and a big one with signatures. */
export function isHeavy(raw: Uint8Array): boolean {
  const head = endOfHead(asBuffer(raw), ordinary.headBytes);
  if (head === undefined) return true;
  return raw.length > ordinary.signedBytes && signatureField.test(asBuffer(raw).toString("latin1", 0, head.headEnd));
}

const signatureField = /^(?:dkim|arc-message)-signature[ \t]*:/im;

/** Reads a mail. Its time grows with the size of the mail alone: each canonical form of the body is hashed at most once. */
export function readMail(raw: Uint8Array): MailReading {
  const received = asBuffer(raw);
  const found = endOfHead(received, mostHeadBytes);
  if (found === undefined) return { fromDomain: undefined, signatures: [], arc: undefined, results: [] };
  const { mail, head } = withFullHead(received, found);
  const fields = fieldsOf(mail.subarray(0, head.headEnd));
  const fromDomain = fromDomainOf(fields);
  const named = (name: string) => fields.filter((field) => field.name === name);
  const signatureFields = named("dkim-signature");
  const arcFields = fields.filter(({ name }) => name.startsWith("arc-"));
  const results = resultsOf(fields);
  if (signatureFields.length === 0 && arcFields.length === 0) {
    return { fromDomain, signatures: [], arc: undefined, results };
  }
  const signed = signedMail(fields, mail, head);
  return {
    fromDomain,
    signatures: signaturesIn(signatureFields, fromDomain, signed),
    arc: arcFields.length === 0 ? undefined : arcOf(arcFields, signed),
    results,
  };
}

/** A longer header is not read. The content of such a mail is read up to this size too (mail/read/head.ts). */
const mostHeadBytes = 256 * 1024;

/** The same mail if its header has full line ends. The body is looked at later, if there is a signature. */
function withFullHead(received: Buffer, found: HeadEnd): { mail: Buffer; head: HeadEnd } {
  if (!found.hasBareLineFeed) return { mail: received, head: found };
  const mail = withFullLineEnds(received);
  return { mail, head: endOfHead(mail) ?? found };
}

function resultsOf(fields: readonly HeaderField[]): string[] {
  const received = fields.flatMap(({ name }, index) => (name === "received" ? [index] : []));
  return fields
    .slice(0, received[1] ?? fields.length)
    .filter(({ name, text }) => name === "authentication-results" && text.length <= mostResultsCharacters)
    .slice(0, mostResults)
    .map(fieldValue);
}

const mostResults = 10;
const mostResultsCharacters = 8 * 1024;

/** The canonical forms of a mail, each made once for all signatures. */
interface SignedMail {
  /** The canonical fields of these names, each taken once and the last first (RFC 6376 §5.4.2). */
  header(names: readonly string[], form: Form): string[];
  body(form: Form): { hash: Uint8Array; bytes: number };
}

type Form = "simple" | "relaxed";

function signedMail(fields: readonly HeaderField[], mail: Buffer, head: HeadEnd): SignedMail {
  const byName = Map.groupBy(fields, ({ name }) => name);
  const relaxed = new Map<HeaderField, string>();
  const bodies = new Map<Form, { hash: Uint8Array; bytes: number }>();
  let body: Buffer | undefined;

  function canonical(field: HeaderField, form: Form): string {
    if (form === "simple") return `${field.text}\r\n`;
    const known = relaxed.get(field) ?? relaxedField(field.text);
    relaxed.set(field, known);
    return known;
  }

  return {
    header(names, form) {
      const taken = new Map<string, number>();
      return names.flatMap((name) => {
        const count = (taken.get(name) ?? 0) + 1;
        taken.set(name, count);
        const field = byName.get(name)?.at(-count);
        return field === undefined ? [] : [canonical(field, form)];
      });
    },
    body(form) {
      const known = bodies.get(form);
      if (known !== undefined) return known;
      body ??= withFullLineEnds(mail.subarray(head.bodyStart));
      const made = form === "simple" ? simpleBody(body) : hashedRelaxedBody(body);
      bodies.set(form, made);
      return made;
    },
  };
}

/** RFC 6376 §3.4.3: empty lines at the end become one line end. */
function simpleBody(body: Buffer): { hash: Uint8Array; bytes: number } {
  let end = body.length;
  while (end >= 2 && body[end - 1] === 10 && body[end - 2] === 13) end -= 2;
  const hash = createHash("sha256").update(body.subarray(0, end)).update("\r\n").digest();
  return { hash, bytes: end + 2 };
}

function hashedRelaxedBody(body: Buffer): { hash: Uint8Array; bytes: number } {
  const hash = createHash("sha256");
  let bytes = 0;
  const { take, end } = relaxedPieces((octets) => {
    hash.update(octets);
    bytes += octets.length;
  });
  take(body);
  end();
  return { hash: hash.digest(), bytes };
}

/** The signatures that are judged, and as many of the others as are listed. */
function signaturesIn(
  fields: readonly HeaderField[],
  fromDomain: string | undefined,
  mail: SignedMail,
): ReadSignature[] {
  const found = fields.slice(0, mostFields).flatMap((field) => {
    const named = namedSignature(field);
    return named === undefined ? [] : [named];
  });
  const isOfFrom = ({ domain }: NamedSignature) => domain === fromDomain;
  const inOrder = [...found.filter(isOfFrom), ...found.filter((each) => !isOfFrom(each))];
  return inOrder.slice(0, mostListed).map((signature, index) => {
    const { domain, selector } = signature;
    const check = index < mostJudged ? readSignature(signature, mail, "dkim") : fault("policy", "one of too many");
    return { domain, selector, check };
  });
}

/** The first signatures are judged, more of them are only listed (contract §22). */
const mostJudged = 10;
const mostListed = 20;
const mostFields = 1000;

/** The fields of the chain, if they are not too many to be judged, and the message signature with the highest `i=`. */
function arcOf(fields: readonly HeaderField[], mail: SignedMail): MailReading["arc"] {
  const characters = fields.reduce((sum, { text }) => sum + text.length, 0);
  if (characters > mostArcCharacters) return { fields: [], message: undefined };
  let last: (NamedSignature & { instance: number }) | undefined;
  for (const field of fields) {
    if (field.name !== "arc-message-signature") continue;
    const named = namedSignature(field);
    const instance = Number(named?.tags.get("i"));
    if (named !== undefined && instance > (last?.instance ?? 0)) last = { ...named, instance };
  }
  return {
    fields: fields.map(({ text }) => text),
    message: last && { domain: last.domain, selector: last.selector, check: readSignature(last, mail, "arc") },
  };
}

const mostArcCharacters = 64 * 1024;

interface NamedSignature {
  field: HeaderField;
  tags: ReadonlyMap<string, string>;
  domain: string;
  selector: string;
}

/** The domain and the selector of a signature; undefined for a field that names no key, which is left out of the results. */
function namedSignature(field: HeaderField): NamedSignature | undefined {
  const tags = readTagList(field.text.slice(field.text.indexOf(":") + 1));
  const domain = hostIn(tags?.get("d"));
  const selector = hostIn(tags?.get("s"));
  return tags === undefined || domain === undefined || selector === undefined || !domain.includes(".")
    ? undefined
    : { field, tags, domain, selector };
}

/** A name in A-labels. The tag has one character for each octet, and U-labels are UTF-8 (RFC 8616 §5). */
function hostIn(tag: string | undefined): string | undefined {
  if (tag === undefined || tag.length > 512) return undefined;
  const text = withoutFolds(Buffer.from(tag, "latin1").toString("utf8")).toLowerCase();
  return asciiDomain(text) ?? (dnsLabels.test(text) ? text : undefined);
}

/** Selectors may have labels that are no host names, such as `2026` and `s_1`. */
const dnsLabels = /^[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*$/;

/** Checks everything about a signature except its key (RFC 6376 §6.1). `arc` is a signature of a chain, which has `i=` for its position. */
function readSignature(
  { field, tags, domain }: NamedSignature,
  mail: SignedMail,
  kind: "dkim" | "arc",
): SignatureCheck | SignatureFault {
  const needed = kind === "dkim" ? requiredTags : requiredTags.slice(1);
  const missing = needed.find((tag) => !tags.has(tag));
  if (missing !== undefined) return fault("neutral", `it has no ${missing}=`);
  if (kind === "dkim" && tags.get("v") !== "1") return fault("neutral", "its version is unknown");
  const { algorithm, forms, times, names, identity } = tagsOf(tags, kind);
  if (algorithm === "rsa-sha1") return fault("policy", "rsa-sha1 proves nothing any more (RFC 8301)");
  if (algorithm !== "rsa-sha256" && algorithm !== "ed25519-sha256") return fault("neutral", "unknown algorithm");
  if (forms === undefined) return fault("neutral", "unknown canonical form");
  if (times === undefined) return fault("neutral", "t=, x= or l= is not a number");
  if (!names.includes("from")) return fault("neutral", "it does not cover From");
  if (identity !== undefined && identity !== domain && !identity.endsWith(`.${domain}`)) {
    return fault("neutral", "i= is not below d=");
  }
  if (times.x !== undefined && times.t !== undefined && times.x <= times.t) return fault("neutral", "x= is before t=");
  if (!listedIn(tags.get("q") ?? "dns/txt").includes("dns/txt")) return fault("neutral", "unknown way to its key");

  const header = mail.header(names, forms.header);
  const own = withoutSignature(field.text);
  // The field itself comes last, without its signature and without a line end (RFC 6376 §3.7).
  header.push(forms.header === "simple" ? own : relaxedField(own).slice(0, -2));
  if (header.reduce((sum, text) => sum + text.length, 0) > mostSignedBytes)
    return fault("policy", "it covers too much");

  const body = mail.body(forms.body);
  if (times.l !== undefined && times.l < body.bytes) return fault("policy", "l= leaves a part of the body uncovered");
  if (times.l !== undefined && times.l > body.bytes) return fault("neutral", "l= is longer than the body");
  if (!sameBytes(tags.get("bh") ?? "", body.hash)) return fault("fail", "the body was changed");
  return {
    kind: "check",
    keyType: algorithm === "rsa-sha256" ? "rsa" : "ed25519",
    signed: Buffer.from(header.join(""), "latin1"),
    signature: Buffer.from(withoutFolds(tags.get("b") ?? ""), "base64"),
    expiresAt: times.x,
    isForSubdomain: identity !== undefined && identity !== domain,
  };
}

const requiredTags = ["v", "a", "b", "bh", "d", "h", "s"] as const;
const mostSignedBytes = 512 * 1024;

function fault(result: DkimResult, says: string): SignatureFault {
  return { kind: "fault", result, fault: says };
}

function tagsOf(tags: ReadonlyMap<string, string>, kind: "dkim" | "arc") {
  const identity = kind === "dkim" ? tags.get("i") : undefined;
  return {
    algorithm: (tags.get("a") ?? "").toLowerCase(),
    forms: formsOf(tags.get("c") ?? "simple/simple"),
    times: timesOf(tags),
    names: listedIn(tags.get("h") ?? ""),
    // A tag without an address matches no domain.
    identity: identity === undefined ? undefined : (hostIn(identity.slice(identity.lastIndexOf("@") + 1)) ?? ""),
  };
}

function formsOf(text: string): { header: Form; body: Form } | undefined {
  const [header = "", body = "simple", ...more] = text.toLowerCase().split("/");
  return isForm(header) && isForm(body) && more.length === 0 ? { header, body } : undefined;
}

function isForm(text: string): text is Form {
  return text === "simple" || text === "relaxed";
}

function timesOf(tags: ReadonlyMap<string, string>) {
  const [t, x, l] = ["t", "x", "l"].map((tag) => tags.get(tag));
  const isNumber = (text: string | undefined) => text === undefined || /^\d{1,76}$/.test(text);
  if (![t, x, l].every(isNumber)) return undefined;
  const numberOf = (text: string | undefined) => (text === undefined ? undefined : Number(text));
  return { t: numberOf(t), x: numberOf(x), l: numberOf(l) };
}

/** The field with an empty `b=`. The tags cannot hold a semicolon, so its value ends at the next one. */
function withoutSignature(text: string): string {
  return text.replace(signatureValue, "$1");
}

const signatureValue = /((?:^[^:]*:|;)[ \t\r\n]*b[ \t\r\n]*=)[^;]*/;

function sameBytes(base64: string, bytes: Uint8Array): boolean {
  return Buffer.from(withoutFolds(base64), "base64").equals(bytes);
}

/** A Buffer over the same memory, for the search functions of Buffer. */
function asBuffer(raw: Uint8Array): Buffer {
  return Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength);
}
