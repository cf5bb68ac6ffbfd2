import { readdirSync } from "node:fs";
import { extname, join } from "node:path";

/** Paths of the mails below a folder, in order. */
export function mailsIn(root: string): string[] {
  const paths = readdirSync(root, { recursive: true, withFileTypes: true })
    .filter(
      (entry) => entry.isFile() && (/^(?:\.eml|\.raw)$/.test(extname(entry.name)) || /^msg_.*\.txt$/.test(entry.name)),
    )
    .map((entry) => join(entry.parentPath, entry.name).slice(root.length).replace(/^\/+/, ""));
  return paths.sort();
}

/** A mail as SMTP carries it; a saved file may have lost its CRs. */
export function withCrlf(raw: Buffer): Buffer {
  return Buffer.from(raw.toString("latin1").replace(/\r?\n/g, "\r\n"), "latin1");
}
