import { textOfSeenHtml } from "../html/seen-html.ts";
import { charsetOfHtml, decodeText } from "../read/charset.ts";
import type { TextSheet } from "./text-sheet.ts";

/** Reads text and CSV as they are. */
export function readPlainText(bytes: Buffer, sheet: TextSheet): void {
  sheet.add(decodeText(bytes));
}

export function readHtml(bytes: Buffer, sheet: TextSheet): void {
  sheet.add(textOfSeenHtml(decodeText(bytes, charsetOfHtml(bytes))));
}
