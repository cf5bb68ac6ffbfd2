import type { PDFDocumentProxy, PDFPageProxy } from "unpdf/pdfjs";
import { NoText } from "./no-text.ts";
import { CMaps } from "./pdf-cmaps.ts";
import { withNamedGlyphs } from "./pdf-glyph-names.ts";
import { type Glyphs, textOfPage } from "./pdf-layout.ts";
import type { TextSheet } from "./text-sheet.ts";

/**
 * Reads a PDF by PDF.js, in the build of `unpdf` that needs no browser. Nothing is fetched, and no script of the document runs: that needs
 * a sandbox, which PDF.js does not have here. A long document is cut when it has used the time that one document gets.
 */
export async function readPdf(bytes: Buffer, sheet: TextSheet): Promise<void> {
  const mayGoOn = budget();
  const document = await opened(bytes);
  try {
    await readPages(document, mayGoOn, sheet);
  } finally {
    // The process reads further documents, which must not start with the memory of this one.
    await document.loadingTask.destroy();
  }
}

async function readPages(document: PDFDocumentProxy, mayGoOn: () => boolean, sheet: TextSheet): Promise<void> {
  let hasText = false;
  for (let number = 1; number <= document.numPages; number++) {
    if (number > 1 && !mayGoOn()) {
      sheet.cut();
      break;
    }
    sheet.beginPage();
    const text = textOfPage(await glyphsOf(document, number));
    hasText ||= text !== "";
    sheet.add(text);
  }
  if (!hasText) throw new NoText("no_text");
}

/**
 * The time after which the rest of a document is cut. The process is killed after 2 s of processor time, or after 6 s and more in all if
 * it gets less than a quarter of a processor (mail/read/job-process.ts).
 */
const most = { workMs: 1200, elapsedMs: 5000 };

function budget(): () => boolean {
  const startedMs = performance.now();
  const started = process.cpuUsage();
  return () => {
    const { user, system } = process.cpuUsage(started);
    return (user + system) / 1000 <= most.workMs && performance.now() - startedMs <= most.elapsedMs;
  };
}

async function opened(bytes: Buffer): Promise<PDFDocumentProxy> {
  const { getDocument, VerbosityLevel } = await import("unpdf/pdfjs");
  const task = getDocument({
    data: new Uint8Array(bytes),
    verbosity: VerbosityLevel.ERRORS,
    disableFontFace: true,
    useSystemFonts: false,
    useWorkerFetch: false,
    cMapUrl: "cmaps/",
    cMapPacked: true,
    fontExtraProperties: true,
    BinaryDataFactory: CMaps,
  });
  try {
    return await task.promise;
  } catch (error) {
    throw new NoText(error instanceof Error && error.name === "PasswordException" ? "encrypted" : "damaged");
  }
}

/** The pieces of text on a page. A page that cannot be read has none. */
async function glyphsOf(document: PDFDocumentProxy, number: number): Promise<Glyphs[]> {
  try {
    const page = await document.getPage(number);
    const pieces = [...(await drawnText(page)), ...(await textOfFields(page))];
    page.cleanup();
    return pieces;
  } catch {
    return [];
  }
}

async function drawnText(page: PDFPageProxy): Promise<Glyphs[]> {
  const { items } = await page.getTextContent();
  const pieces = await withNamedGlyphs(
    page,
    items.filter((item) => "str" in item),
  );
  return pieces.map(({ str, transform, width, dir }) => glyphs(str, transform, width, dir));
}

/** A piece with its place in the direction in which it runs, from its matrix (ISO 32000-1 §9.4.4). */
function glyphs(
  text: string,
  [a = 1, b = 0, c = 0, d = 1, x = 0, y = 0]: number[],
  width: number,
  dir: string,
): Glyphs {
  const angle = Math.round((Math.atan2(b, a) * 180) / Math.PI);
  const [cosine, sine] = [Math.cos((angle * Math.PI) / 180), Math.sin((angle * Math.PI) / 180)];
  return {
    text,
    along: x * cosine + y * sine,
    across: x * sine - y * cosine,
    width,
    size: Math.hypot(c, d),
    isRightToLeft: dir === "rtl",
    angle,
  };
}

/** The fields that matter of what PDF.js says of an annotation, which it does not type. */
interface Annotation {
  subtype?: string;
  annotationFlags?: number;
  rect?: number[];
  password?: boolean;
  checkBox?: boolean;
  radioButton?: boolean;
  fieldValue?: unknown;
  contentsObj?: { str?: string };
}

/** The values of the fields of forms, and the comments, each at its place. */
async function textOfFields(page: PDFPageProxy): Promise<Glyphs[]> {
  const annotations: Annotation[] = await page.getAnnotations({ intent: "display" });
  return annotations.flatMap((annotation) => {
    const [left = 0, , right = 0, top = 0] = annotation.rect ?? [];
    return textOfAnnotation(annotation)
      .split(/\r\n|\r|\n/)
      .filter((line) => line.trim() !== "")
      .map((line, index) => glyphs(line, [10, 0, 0, 10, left, top - 12 * (index + 1)], right - left, "ltr"));
  });
}

/** The flags of an annotation that is not shown (ISO 32000-1 §12.5.3). */
const hiddenFlags = 0b100010;

function textOfAnnotation(annotation: Annotation): string {
  const { subtype, annotationFlags = 0, fieldValue, contentsObj } = annotation;
  if ((annotationFlags & hiddenFlags) !== 0) return "";
  if (subtype === "Widget") return isOfWords(annotation) ? textOfValue(fieldValue) : "";
  const said = contentsObj?.str ?? "";
  if (said === "" || subtype === "Popup" || subtype === "Link") return "";
  return subtype === "FreeText" ? said : `[comment: ${said.replaceAll(/\s+/g, " ")}]`;
}

function isOfWords({ password, checkBox, radioButton }: Annotation): boolean {
  return !password && !checkBox && !radioButton;
}

/** A field has a text, or a list of chosen words. */
function textOfValue(value: unknown): string {
  return (Array.isArray(value) ? value : [value]).filter((each) => typeof each === "string").join("\n");
}
