import { headerText } from "./head.ts";
import { parseStructured, type StructuredValue } from "./structured.ts";
import type { TransferEncoding } from "./transfer.ts";

/** One part of a mail, by its place in the raw bytes. The mail itself is the first. */
export interface Part {
  /** The header block, without the empty line that ends it. */
  headStart: number;
  headEnd: number;
  bodyStart: number;
  /** Without the line break before the delimiter, which belongs to the delimiter (RFC 2046 §5.1.1). */
  bodyEnd: number;
  role: PartRole;
  encoding: TransferEncoding;
  /** True for text that, while it is ASCII, says what its octets say: not encoded, not flowed (RFC 3676). */
  isPlain?: boolean;
  /** Header fields that go before the part's own: of each name the parser reads the first. */
  override?: string;
}

/** `odd` parts are left wholly to the parser. */
export type PartRole = "multipart" | "text" | "html" | "attachment" | "inline_file" | "odd";

/** A multipart whose parts are being read. */
export interface OpenMultipart {
  part: Part;
  delimiter: Buffer;
  subtype: string;
  children: number;
  /** True once a delimiter of it was met. */
  divided: boolean;
}

/** The three fields that the structure of a mail hangs on, unfolded. */
export interface ContentFields {
  type?: string;
  encoding?: string;
  disposition?: string;
}

/** True for parts whose bodies the parser is spared. */
export function isTakenOut(part: Part): boolean {
  return part.role === "attachment" || part.role === "inline_file";
}

/** Gives the part its role, by the rules of the parser; the multipart that it opens, if it does. */
export function decideRole(
  part: Part,
  fields: ContentFields,
  parent: OpenMultipart | undefined,
): OpenMultipart | undefined {
  const disposition = fields.disposition === undefined ? none : parseStructured(fields.disposition);
  const type = typeOf(part, fields, parent, disposition.value === "attachment");
  const encoding = fields.encoding === undefined ? "none" : encodingOf(fields.encoding);
  if (encoding === undefined || type.odd || disposition.odd) return undefined;
  part.encoding = encoding;
  if (type.value.startsWith("multipart/")) {
    const boundary = type.parameters.get("boundary") ?? "";
    part.role = "multipart";
    const delimiter = Buffer.from(`--${boundary}`);
    const subtype = type.value.slice("multipart/".length);
    const multipart = { part, delimiter, subtype, children: 0, divided: false };
    if (boundary !== "") return multipart;
    if (hasContinuedBoundary(type)) part.role = "odd";
    else showUndivided(multipart);
    return undefined;
  }
  if (disposition.value === "attachment") part.role = "attachment";
  else if (type.value === "text/plain") part.role = "text";
  else if (type.value === "text/html") part.role = "html";
  else part.role = "attachment";
  part.isPlain = part.role === "text" && encoding === "none" && readsAscii(type);

  // Text with a file name that follows other parts is a file (RFC 8621 §4.1.4), also where it says `inline`, as
  // Apple Mail does with every text file; the parser would pour it into the body.
  const isText = part.role === "text" || part.role === "html";
  if (
    isText &&
    parent !== undefined &&
    parent.children > 0 &&
    parent.subtype !== "alternative" &&
    isNamed(type, disposition)
  ) {
    part.role = "inline_file";
    part.override = `${part.override ?? ""}Content-Disposition: attachment${parametersOf(fields.disposition ?? "")}\r\n`;
  }
  return undefined;
}

function readsAscii({ parameters }: StructuredValue): boolean {
  return !parameters.has("format") && asciiCharset.test(parameters.get("charset") ?? "utf-8");
}

const asciiCharset = /^(?:utf-8|us-ascii|iso-8859-\d{1,2}|windows-125\d)$/i;

/**
 * The type of a part. One that lacks its first semicolon is put right, and what is no type is text/plain
 * (RFC 2045 §5.2), unless it calls itself an attachment.
 */
function typeOf(
  part: Part,
  fields: ContentFields,
  parent: OpenMultipart | undefined,
  attached: boolean,
): StructuredValue {
  if (fields.type === undefined) return parent?.subtype === "digest" ? message : text;
  const type = parseStructured(fields.type);
  if (type.odd || mediaType.test(type.value)) return type;
  const [, value, rest] = /^([\w.+-]+\/[\w.+-]+)[\s,]+(\S.*)$/.exec(fields.type) ?? [];
  if (value === undefined && attached) return type;
  const repaired = value === undefined ? "text/plain" : `${value}; ${rest}`;
  part.override = `Content-Type: ${repaired}\r\n`;
  return parseStructured(repaired);
}

const mediaType = /^[^\s/,]+\/[^\s/,]+$/;
const text = parseStructured("text/plain");
const message = parseStructured("message/rfc822");
const none = parseStructured("");

/** A multipart whose delimiter never comes is shown as the text it is, rather than not at all. */
export function showUndivided({ part, divided }: OpenMultipart): void {
  if (divided) return;
  part.role = "text";
  part.override = "Content-Type: text/plain\r\n";
}

function isNamed(type: StructuredValue, disposition: StructuredValue): boolean {
  const names = [...disposition.parameters.keys(), ...type.parameters.keys()];
  return names.some((name) => /^(?:file)?name(?:\*|$)/.test(name));
}

/** A boundary that is spread over `boundary*0`, `boundary*1` … (RFC 2231 §3): the parser reads these. */
function hasContinuedBoundary(type: StructuredValue): boolean {
  return [...type.parameters.keys()].some((name) => name.startsWith("boundary*"));
}

function parametersOf(value: string): string {
  const semicolon = value.indexOf(";");
  return semicolon < 0 ? "" : value.slice(semicolon);
}

/** As the parser takes it: the first word decides, and what is unknown is not encoded. */
function encodingOf(value: string): TransferEncoding | undefined {
  if (value.includes("(")) return undefined;
  const word = /[\w-]+/.exec(value.toLowerCase())?.[0] ?? "";
  if (word.includes("base64")) return "base64";
  return word.includes("quoted-printable") ? "quoted-printable" : "none";
}

/** Keeps the value if this is one of the three fields; the first of a name counts, as with the parser. */
export function takeField(raw: Buffer, start: number, end: number, fields: ContentFields): void {
  // A look at two bytes spares all other fields the rest.
  if (((raw[start] ?? 0) | 0x20) !== 0x63 || ((raw[start + 1] ?? 0) | 0x20) !== 0x6f) return;
  const colon = raw.subarray(start, Math.min(end, start + 64)).indexOf(0x3a);
  if (colon < 0) return;
  const key = contentFields.get(
    raw
      .toString("latin1", start, start + colon)
      .trimEnd()
      .toLowerCase(),
  );
  if (key === undefined || fields[key] !== undefined) return;
  const value = raw.subarray(start + colon + 1, Math.min(end, start + maxContentField));
  fields[key] = headerText(value)
    .replace(/[\r\n]+/g, "")
    .trim();
}

/** What a boundary or a name can need; longer ones may be read otherwise by the parser, whose reading then counts. */
const maxContentField = 16 * 1024;

const contentFields: ReadonlyMap<string, keyof ContentFields> = new Map([
  ["content-type", "type"],
  ["content-transfer-encoding", "encoding"],
  ["content-disposition", "disposition"],
]);
