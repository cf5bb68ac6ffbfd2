import { isAscii, isUtf8 } from "node:buffer";
import type { DocumentFile, DocumentKind } from "../../domain/document.ts";
import { NoText } from "./no-text.ts";
import { openZip, type Zip } from "./zip.ts";

/** A document whose kind is known. A zipped one is open. */
export type KnownDocument = { kind: PlainKind; bytes: Buffer } | { kind: ZippedKind; zip: Zip };

const zippedKinds = ["docx", "xlsx", "pptx", "odt", "ods", "odp"] as const;
type ZippedKind = (typeof zippedKinds)[number];
type PlainKind = Exclude<DocumentKind, ZippedKind>;

/** Tells the kind of a document by its bytes, then its name, then its label: labels are often general, and any of them may be wrong. */
export function knownDocument({ bytes: given, filename, contentType }: DocumentFile): KnownDocument {
  const bytes = Buffer.from(given.buffer, given.byteOffset, given.byteLength);
  const named = kindByName(filename) ?? kindByLabel(contentType.toLowerCase());
  if (startsWith(bytes, "PK\x03\x04")) return zipped(bytes, named);
  if (startsWith(bytes, "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1")) throw new NoText(reasonOfCompoundFile(bytes));
  const kind = kindByBytes(bytes) ?? named ?? "text";
  if (isZipped(kind)) throw new NoText("damaged");
  if (kind !== "pdf" && !isProbablyText(bytes)) throw new NoText(named === undefined ? "unsupported" : "damaged");
  return { kind, bytes };
}

function kindByBytes(bytes: Buffer): PlainKind | undefined {
  // Readers accept other bytes before the header (ISO 32000-1, Annex H, note 13).
  if (bytes.subarray(0, 1024).includes("%PDF-")) return "pdf";
  const start = bytes.toString("latin1", 0, 1024).replace(/^(?:\xef\xbb\xbf)?\s{0,200}/, "");
  if (start.startsWith("{\\rtf")) return "rtf";
  if (/^BEGIN:VCALENDAR\b/i.test(start)) return "ics";
  return /^(?:<!--[\s\S]{0,500}?-->\s{0,50})?<(?:!doctype html|html)\b/i.test(start) ? "html" : undefined;
}

function kindByName(filename: string): DocumentKind | undefined {
  return byExtension[/\.([a-z]{1,8})$/i.exec(filename)?.[1]?.toLowerCase() ?? ""];
}

const byExtension: Readonly<Record<string, DocumentKind>> = {
  txt: "text",
  text: "text",
  md: "text",
  log: "text",
  json: "text",
  xml: "text",
  htm: "html",
  html: "html",
  xhtml: "html",
  csv: "csv",
  tsv: "csv",
  ics: "ics",
  eml: "eml",
  rtf: "rtf",
  pdf: "pdf",
  docx: "docx",
  docm: "docx",
  dotx: "docx",
  xlsx: "xlsx",
  xlsm: "xlsx",
  xltx: "xlsx",
  pptx: "pptx",
  pptm: "pptx",
  ppsx: "pptx",
  potx: "pptx",
  odt: "odt",
  ott: "odt",
  ods: "ods",
  ots: "ods",
  odp: "odp",
  otp: "odp",
};

function kindByLabel(type: string): DocumentKind | undefined {
  const [, odf] = /^application\/vnd\.oasis\.opendocument\.([a-z]{1,20})/.exec(type) ?? [];
  if (odf !== undefined) return odfKinds[odf];
  const [, ooxml] = /^application\/vnd\.openxmlformats-officedocument\.([a-z]{1,20})ml\./.exec(type) ?? [];
  if (ooxml !== undefined) return ooxmlKinds[ooxml];
  return byLabel[type];
}

const odfKinds: Readonly<Record<string, ZippedKind>> = { text: "odt", spreadsheet: "ods", presentation: "odp" };

const ooxmlKinds: Readonly<Record<string, ZippedKind>> = {
  wordprocessing: "docx",
  spreadsheet: "xlsx",
  presentation: "pptx",
};

const byLabel: Readonly<Record<string, DocumentKind>> = {
  "text/html": "html",
  "application/xhtml+xml": "html",
  "text/csv": "csv",
  "text/tab-separated-values": "csv",
  "text/calendar": "ics",
  "message/rfc822": "eml",
  "message/global": "eml",
  "text/rtf": "rtf",
  "application/rtf": "rtf",
  "application/pdf": "pdf",
};

function isZipped(kind: DocumentKind): kind is ZippedKind {
  return zippedKinds.some((zippedKind) => zippedKind === kind);
}

function zipped(bytes: Buffer, named: DocumentKind | undefined): KnownDocument {
  const zip = openZip(bytes);
  const kind = kindOfZip(zip);
  if (kind !== undefined) return { kind, zip };
  throw new NoText(named !== undefined && isZipped(named) ? "damaged" : "unsupported");
}

function kindOfZip(zip: Zip): ZippedKind | undefined {
  if (zip.has("word/document.xml")) return "docx";
  if (zip.has("xl/workbook.xml")) return "xlsx";
  if (zip.has("ppt/presentation.xml")) return "pptx";
  const kind = kindByLabel(zip.read("mimetype")?.toString("latin1").trim() ?? "");
  return kind !== undefined && isZipped(kind) ? kind : undefined;
}

/** Files of Office with a password are compound files around an encrypted package ([MS-OFFCRYPTO] §2.3.4). Others are of old formats. */
function reasonOfCompoundFile(bytes: Buffer): "encrypted" | "unsupported" {
  return bytes.includes(Buffer.from("EncryptedPackage", "utf16le")) ? "encrypted" : "unsupported";
}

/** Text has no NUL, unless its units have two or four bytes, and hardly any other controls. */
function isProbablyText(bytes: Buffer): boolean {
  if (["\xff\xfe", "\xfe\xff", "\0\0\xfe\xff"].some((mark) => startsWith(bytes, mark))) return true;
  const seen = bytes.subarray(0, 64 << 10);
  if (seen.includes(0)) return false;
  if (isAscii(seen) || isUtf8(seen)) return true;
  let controls = 0;
  for (const byte of seen) if (byte < 0x20 && (byte < 0x08 || byte > 0x0d) && byte !== 0x1b) controls++;
  return controls * 100 <= seen.length;
}

function startsWith(bytes: Buffer, mark: string): boolean {
  return bytes.toString("latin1", 0, mark.length) === mark;
}
