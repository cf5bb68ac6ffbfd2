import { readFileSync } from "node:fs";
import packed from "./pdf-cmaps.zip" with { type: "file" };
import { openZip, type Zip } from "./zip.ts";

/**
 * Gives PDF.js its tables of Chinese, Japanese and Korean characters, without which fonts that are not embedded have no text. The archive
 * has the predefined CMaps (ISO 32000-1 §9.7.5.2) of the package pdfjs-dist, which is too large to depend on; scripts/pack-pdf-cmaps.ts
 * makes it. There is one for each document, since an archive has a budget.
 */
export class CMaps {
  #zip: Zip | undefined;

  async fetch({ filename }: { filename: string }): Promise<Uint8Array> {
    this.#zip ??= openZip(readFileSync(packed));
    const cmap = this.#zip.read(filename);
    if (cmap === undefined) throw new Error(`Cannot find CMap ${filename}: it is not packed`);
    return new Uint8Array(cmap);
  }
}
