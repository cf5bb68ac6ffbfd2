import type { DocumentText, ReadDocument } from "../../../src/domain/document.ts";
import { readDocument } from "../../../src/mail/documents/read-document.ts";

/** Reads a document in this process. */
export function readAs(filename: string, content: string | Uint8Array, contentType = "application/octet-stream") {
  const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content;
  return readDocument({ bytes, filename, contentType });
}

export async function textIn(filename: string, content: string | Uint8Array): Promise<DocumentText> {
  const read = await readAs(filename, content);
  if ("reason" in read) throw new Error(`Cannot read ${filename}: ${read.reason}`);
  return read;
}

export function reasonOf(read: ReadDocument | undefined): string | undefined {
  return read !== undefined && "reason" in read ? read.reason : undefined;
}
