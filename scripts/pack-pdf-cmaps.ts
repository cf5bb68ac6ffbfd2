/**
 * Makes `src/mail/documents/pdf-cmaps.zip` from the folder `cmaps` of the npm package pdfjs-dist:
 * `bun scripts/pack-pdf-cmaps.ts FOLDER`. Those of UTF-8 and UTF-32 are left out, because they are not predefined for PDF.
 */
import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";

const [folder] = process.argv.slice(2);
if (folder === undefined) throw new Error("Cannot pack CMaps: name the folder cmaps of pdfjs-dist");
const target = join(import.meta.dir, "../src/mail/documents/pdf-cmaps.zip");
const names = readdirSync(folder).filter((name) => name === "LICENSE" || /^(?!.*UTF(?:8|32)).*\.bcmap$/.test(name));
rmSync(target, { force: true });
const zip = Bun.spawnSync(["zip", "-9", "-X", "-q", target, ...names.toSorted()], { cwd: folder });
if (zip.exitCode !== 0) throw new Error(`Cannot pack CMaps: ${zip.stderr}`);
console.log(`${names.length} files in ${target}`);
