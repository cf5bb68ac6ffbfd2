import { parameterOf, parameterText, parseStructured, type StructuredValue } from "./structured.ts";
import type { TransferEncoding } from "./transfer-encoding.ts";
import { trimBlanks } from "./white-space.ts";

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
  /** As what it is read. */
  type: StructuredValue;
  /** As what its head gives it out. */
  declaredType: StructuredValue;
  disposition: StructuredValue;
  contentId: string | undefined;
  /** The closest multipart/alternative around it: of what says the same, one is shown. */
  alternative: Part | undefined;
}

/** A `variant` says once more, for a clock or a page that moves, what stands beside it as text or HTML. */
export type PartRole = "multipart" | "text" | "html" | "attachment" | "inline_file" | "variant";

/** A multipart whose parts are being read. */
export interface OpenMultipart {
  part: Part;
  delimiter: Buffer;
  subtype: string;
  children: number;
  /** True once a delimiter of it began a part. */
  divided: boolean;
}

/** The fields that say what a part is, unfolded, their bytes one a character. */
export interface ContentFields {
  type?: string;
  encoding?: string;
  disposition?: string;
  id?: string;
}

/** A part that is text until its head says more. */
export function newPart(headStart: number, headEnd: number, bodyStart: number, bodyEnd: number): Part {
  const place = { headStart, headEnd, bodyStart, bodyEnd };
  return {
    ...place,
    role: "text",
    encoding: "none",
    type: text,
    declaredType: text,
    disposition: none,
    contentId: undefined,
    alternative: undefined,
  };
}

/** True for parts that are kept as bytes. */
export function isFile(part: Part): boolean {
  return part.role === "attachment" || part.role === "inline_file";
}

/** Says what the part is; the multipart that it opens, if it does. */
export function describePart(
  part: Part,
  fields: ContentFields,
  parent: OpenMultipart | undefined,
): OpenMultipart | undefined {
  part.disposition = fields.disposition === undefined ? none : parseStructured(fields.disposition);
  part.encoding = fields.encoding === undefined ? "none" : encodingOf(fields.encoding);
  part.contentId = fields.id;
  part.alternative = parent?.subtype === "alternative" ? parent.part : parent?.part.alternative;
  part.type = typeOf(part, fields, parent);
  part.declaredType = part.type;
  if (!part.type.value.startsWith("multipart/")) {
    part.role = roleOf(part, parent);
    return undefined;
  }
  const boundary = (parameterOf(part.type, "boundary") ?? "").trimEnd();
  if (boundary === "") {
    showAsText(part);
    return undefined;
  }
  part.role = "multipart";
  const subtype = part.type.value.slice("multipart/".length);
  return { part, delimiter: Buffer.from(`--${boundary}`, "latin1"), subtype, children: 0, divided: false };
}

/** A multipart without parts is shown as the text it is, rather than not at all. */
export function showAsText(part: Part): void {
  part.role = "text";
  part.type = text;
  part.encoding = "none";
}

function roleOf(part: Part, parent: OpenMultipart | undefined): PartRole {
  const type = part.type.value;
  if (part.disposition.value === "attachment") return "attachment";
  if (variants.has(type) && part.alternative !== undefined) return "variant";
  const isBody = type === "text/plain" || type === "text/html";
  if (!isBody && (!type.startsWith("text/") || fileTypes.has(type) || isNamed(part))) return "attachment";
  // Text with a file name that follows other parts is a file (RFC 8621 §4.1.4), also where it says `inline`, as
  // Apple Mail does with every text file.
  const follows = parent !== undefined && parent.children > 0 && parent.subtype !== "alternative";
  if (follows && isNamed(part)) return "inline_file";
  return type === "text/html" ? "html" : "text";
}

/** AMP for Email, and what Apple's watch shows. */
const variants: ReadonlySet<string> = new Set(["text/x-amp-html", "text/watch-html"]);

/** Text that a program reads. All other text is there to be read by people (RFC 2046 §4.1.4), also of a kind that is unknown. */
const fileTypes: ReadonlySet<string> = new Set(
  [
    ...["calendar", "x-vcalendar", "directory", "vcard", "x-vcard", "csv", "tab-separated-values"],
    ...["css", "javascript", "ecmascript", "json", "xml", "rtf", "rfc822-headers", "x-amp-html", "watch-html"],
  ].map((subtype) => `text/${subtype}`),
);

/**
 * The type of a part. One that lacks its first semicolon is put right, and what is no type is text/plain
 * (RFC 2045 §5.2), unless the part is a file by its name or disposition.
 */
function typeOf(part: Part, fields: ContentFields, parent: OpenMultipart | undefined): StructuredValue {
  if (fields.type === undefined) return parent?.subtype === "digest" ? message : text;
  const type = inOrder(parseStructured(fields.type));
  if (mediaType.test(type.value)) return type;
  const [, value, rest] = /^([\w.+-]+\/[\w.+-]+)[\s,]+([^\s,].*)$/s.exec(fields.type) ?? [];
  if (value !== undefined) return parseStructured(`${value}; ${rest}`);
  const isFile = part.disposition.value === "attachment" || (type.value !== "text" && isNamed({ ...part, type }));
  return isFile ? type : text;
}

/** Some mailers write the halves of the two common types the other way round. */
function inOrder(type: StructuredValue): StructuredValue {
  const value = swappedTypes.get(type.value);
  return value === undefined ? type : { ...type, value };
}

const swappedTypes: ReadonlyMap<string, string> = new Map([
  ["plain/text", "text/plain"],
  ["html/text", "text/html"],
]);

const mediaType = /^[^\s/,]+\/[^\s/,]+$/;
const text = parseStructured("text/plain");
const message = parseStructured("message/rfc822");
const none = parseStructured("");

/** The name that the part gives itself. One that is blank is none. */
export function fileNameOf({ type, disposition }: Part, rawCharset?: string): string | undefined {
  return parameterText(disposition, "filename", rawCharset) ?? parameterText(type, "name", rawCharset);
}

function isNamed(part: Part): boolean {
  return fileNameOf(part) !== undefined;
}

/** The first word decides, and what is unknown is not encoded. */
function encodingOf(field: string): TransferEncoding {
  const [word = ""] = /quoted printable|[\w-]+/.exec(parseStructured(field).value) ?? [];
  if (word.includes("base64")) return "base64";
  if (/quoted.printable/.test(word)) return "quoted-printable";
  return uuencodings.has(word) ? "uuencode" : "none";
}

const uuencodings: ReadonlySet<string> = new Set(["x-uuencode", "uuencode", "x-uue", "uue"]);

/** Keeps the value if this is one of the fields; the first of a name counts. False where it was cut. */
export function takeField(raw: Buffer, start: number, end: number, fields: ContentFields): boolean {
  // A look at two bytes spares all other fields the rest.
  if (((raw[start] ?? 0) | 0x20) !== 0x63 || ((raw[start + 1] ?? 0) | 0x20) !== 0x6f) return true;
  const colon = raw.subarray(start, Math.min(end, start + 64)).indexOf(0x3a);
  if (colon < 0) return true;
  const key = contentFields.get(trimBlanks(raw.toString("latin1", start, start + colon)).toLowerCase());
  if (key === undefined || fields[key] !== undefined) return true;
  const value = raw.toString("latin1", start + colon + 1, Math.min(end, start + maxContentField));
  fields[key] = trimBlanks(value.replace(/\r?\n(?=[ \t])/g, "").replace(/[\r\n]+/g, " "));
  return end - start <= maxContentField;
}

/** What a boundary or a name can need. */
const maxContentField = 16 * 1024;

const contentFields: ReadonlyMap<string, keyof ContentFields> = new Map([
  ["content-type", "type"],
  ["content-transfer-encoding", "encoding"],
  ["content-disposition", "disposition"],
  ["content-id", "id"],
]);
