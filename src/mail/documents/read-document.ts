import type { DocumentFile, DocumentText, ReadDocument } from "../../domain/document.ts";
import { readDocx } from "./docx.ts";
import { readEml } from "./eml.ts";
import { readIcs } from "./ics.ts";
import { type KnownDocument, knownDocument } from "./kind.ts";
import { NoText } from "./no-text.ts";
import { readOdf } from "./odf.ts";
import { readHtml, readPlainText } from "./plain-text.ts";
import { readPptx } from "./pptx.ts";
import { readRtf } from "./rtf.ts";
import { SheetFull, type TextSheet, textSheet } from "./text-sheet.ts";
import { readXlsx } from "./xlsx.ts";

/** Reads the text of a document. It runs in a process of its own, since a hostile document can take any time and memory. */
export async function readDocument(file: DocumentFile): Promise<ReadDocument> {
  try {
    return await textOf(knownDocument(file));
  } catch (error) {
    if (error instanceof NoText) return { reason: error.reason };
    throw error;
  }
}

async function textOf(document: KnownDocument): Promise<DocumentText> {
  const sheet = textSheet();
  try {
    await readInto(sheet, document);
  } catch (error) {
    if (!(error instanceof SheetFull)) throw error;
  }
  return sheet.made(document.kind);
}

async function readInto(sheet: TextSheet, document: KnownDocument): Promise<void> {
  switch (document.kind) {
    case "text":
    case "csv":
      return readPlainText(document.bytes, sheet);
    case "html":
      return readHtml(document.bytes, sheet);
    case "ics":
      return readIcs(document.bytes, sheet);
    case "eml":
      return readEml(document.bytes, sheet);
    case "rtf":
      return readRtf(document.bytes, sheet);
    case "pdf":
      return (await import("./pdf.ts")).readPdf(document.bytes, sheet);
    case "docx":
      return readDocx(document.zip, sheet);
    case "xlsx":
      return readXlsx(document.zip, sheet);
    case "pptx":
      return readPptx(document.zip, sheet);
    case "odt":
    case "ods":
    case "odp":
      return readOdf(document.zip, document.kind, sheet);
  }
}
