import { parameterOf, parameterText, parseStructured, type StructuredValue } from "./structured.ts";
import type { TransferEncoding } from "./transfer-encoding.ts";
import { trimBlanks } from "./white-space.ts";

/** A part of a mail, with its offsets in the raw bytes. The mail itself is the first part. */
export interface Part {
  /** The range of the header, without the empty line at its end. */
  headStart: number;
  headEnd: number;
  bodyStart: number;
  /** The end of the body, without the line break before the delimiter, which belongs to the delimiter (RFC 2046 §5.1.1). */
  bodyEnd: number;
  role: PartRole;
  encoding: TransferEncoding;
  /** The type as which the part is read: the declared type, or text/plain for a multipart without parts. */
  type: StructuredValue;
  /** The type that the header of the part declares. */
  declaredType: StructuredValue;
  disposition: StructuredValue;
  contentId: string | undefined;
  /** The innermost multipart/alternative around the part. Only one of its versions is shown. */
  alternative: Part | undefined;
}

/** The role of a part. A `variant` repeats the text or HTML beside it for a watch or as AMP. */
export type PartRole = "multipart" | "text" | "html" | "attachment" | "inline_file" | "variant";

/** A multipart while its parts are read. */
export interface OpenMultipart {
  part: Part;
  delimiter: Buffer;
  subtype: string;
  children: number;
  /** True once one of its delimiters began a part. */
  divided: boolean;
}

/** The fields that describe the content of a part, unfolded, with one character for each byte. */
export interface ContentFields {
  type?: string;
  encoding?: string;
  disposition?: string;
  id?: string;
}

/** A part that counts as text until its header is read. */
export function newPart(headStart: number, headEnd: number, bodyStart: number, bodyEnd: number): Part {
  return {
    headStart,
    headEnd,
    bodyStart,
    bodyEnd,
    role: "text",
    encoding: "none",
    type: text,
    declaredType: text,
    disposition: none,
    contentId: undefined,
    alternative: undefined,
  };
}

/** True for attachments and inline files, whose content is kept as bytes and not read as text. */
export function isFile(part: Part): boolean {
  return part.role === "attachment" || part.role === "inline_file";
}

/** Sets the type and role of a part from its fields. Returns the multipart if it is one. */
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

/** Makes a multipart without parts a text, so that its content is shown. */
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
  // Text with a file name after other parts is a file (RFC 8621 §4.1.4), even with the disposition `inline`, which
  // Apple Mail uses for every text file.
  const follows = parent !== undefined && parent.children > 0 && parent.subtype !== "alternative";
  if (follows && isNamed(part)) return "inline_file";
  return type === "text/html" ? "html" : "text";
}

/** The media types of the role `variant`: AMP for Email, and the version for Apple's watch. */
const variants: ReadonlySet<string> = new Set(["text/x-amp-html", "text/watch-html"]);

/** Types of text for programs. All other text, also of unknown types, is for people (RFC 2046 §4.1.4). */
const fileTypes: ReadonlySet<string> = new Set(
  "calendar x-vcalendar directory vcard x-vcard csv tab-separated-values css javascript ecmascript json xml rtf rfc822-headers x-amp-html watch-html"
    .split(" ")
    .map((subtype) => `text/${subtype}`),
);

/**
 * The type of a part. A missing first semicolon is repaired. An invalid type counts as text/plain (RFC 2045 §5.2), unless the name or
 * disposition makes the part a file.
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

/** Repairs the two common types with their halves swapped, which some mailers write. */
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

/** The file name of a part, or undefined if it has none or a blank one. */
export function fileNameOf({ type, disposition }: Part, rawCharset?: string): string | undefined {
  return parameterText(disposition, "filename", rawCharset) ?? parameterText(type, "name", rawCharset);
}

function isNamed(part: Part): boolean {
  return fileNameOf(part) !== undefined;
}

/** The transfer encoding that the field names with its first word. An unknown one counts as "none". */
function encodingOf(field: string): TransferEncoding {
  const [word = ""] = /quoted printable|[\w-]+/.exec(parseStructured(field).value) ?? [];
  if (word.includes("base64")) return "base64";
  if (/quoted.printable/.test(word)) return "quoted-printable";
  return uuencodings.has(word) ? "uuencode" : "none";
}

const uuencodings: ReadonlySet<string> = new Set(["x-uuencode", "uuencode", "x-uue", "uue"]);

/** Stores the value of a field that describes the content, unless an earlier field has its name. Returns false if it was cut. */
export function takeField(raw: Buffer, start: number, end: number, fields: ContentFields): boolean {
  // The first two bytes, `co`, exclude nearly all other fields.
  if (((raw[start] ?? 0) | 0x20) !== 0x63 || ((raw[start + 1] ?? 0) | 0x20) !== 0x6f) return true;
  const colon = raw.subarray(start, Math.min(end, start + 64)).indexOf(0x3a);
  if (colon < 0) return true;
  const key = contentFields.get(trimBlanks(raw.toString("latin1", start, start + colon)).toLowerCase());
  if (key === undefined || fields[key] !== undefined) return true;
  const value = raw.toString("latin1", start + colon + 1, Math.min(end, start + maxContentField));
  fields[key] = trimBlanks(value.replace(/\r?\n(?=[ \t])/g, "").replace(/[\r\n]+/g, " "));
  return end - start <= maxContentField;
}

/** The most bytes of a Content field that are read, enough for a boundary or a file name. */
const maxContentField = 16 * 1024;

const contentFields: ReadonlyMap<string, keyof ContentFields> = new Map([
  ["content-type", "type"],
  ["content-transfer-encoding", "encoding"],
  ["content-disposition", "disposition"],
  ["content-id", "id"],
]);
