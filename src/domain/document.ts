import { codePointLength } from "../standards/text.ts";

/** A file whose text is wanted: its bytes, and its name and media type as the sender wrote them. */
export interface DocumentFile {
  bytes: Uint8Array;
  filename: string;
  contentType: string;
}

export const documentKinds = [
  "text",
  "html",
  "csv",
  "ics",
  "eml",
  "rtf",
  "pdf",
  "docx",
  "xlsx",
  "pptx",
  "odt",
  "ods",
  "odp",
] as const;

export type DocumentKind = (typeof documentKinds)[number];

/** The text of a document. */
export interface DocumentText {
  kind: DocumentKind;
  text: string;
  /** The offset of each page, sheet or slide in code points, at most `mostPages`. Empty for kinds without pages. */
  pages: readonly number[];
  /** Whether the document has more text than was read. */
  truncated: boolean;
}

/** The reasons for which a document has no text. `no_text`: it has none that a program can read, such as a scan. */
export const noTextReasons = ["unsupported", "encrypted", "damaged", "too_large", "no_text"] as const;

export type NoTextReason = (typeof noTextReasons)[number];

export type ReadDocument = DocumentText | { reason: NoTextReason };

export const mostPages = 1000;

/** The most code points of text that are read from a document. */
export const mostDocumentCharacters = 2 * 1024 * 1024;

/** A piece of a text. Offsets and lengths count code points, as all limits on characters do. */
export interface TextPiece {
  text: string;
  /** The length of the whole text. */
  length: number;
  /** The offset of the next piece; undefined after the last. */
  nextOffset: number | undefined;
}

export function pieceOf(text: string, offset: number, limit: number): TextPiece {
  const length = codePointLength(text);
  const start = unitOffset(text, length, Math.min(offset, length));
  const end = unitOffset(text, length, Math.min(offset + limit, length));
  return { text: text.slice(start, end), length, nextOffset: offset + limit < length ? offset + limit : undefined };
}

/** The offset in UTF-16 units of the code point at `offset`. */
function unitOffset(text: string, length: number, offset: number): number {
  if (text.length === length) return offset;
  let at = 0;
  for (let passed = 0; passed < offset; passed++) at += (text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1;
  return at;
}
