import type { PDFPageProxy } from "unpdf/pdfjs";

/** A piece of text as PDF.js gives it. */
interface Piece {
  str: string;
  fontName: string;
}

/** The part of a loaded font that has the names of its glyphs, which PDF.js does not type. */
interface LoadedFont {
  differences?: (string | null)[];
}

const control = /[\0-\x08\x0e-\x1f\x7f-\x9f]/g;

/**
 * Puts letters in place of codes. PDF.js knows no letter for a glyph such as `one.oldstyle`, and gives its code, which is a control.
 * The part of the name before the first dot is that of the letter (Adobe Glyph List Specification §2). Digits and single letters
 * are found by it: old figures and small capitals. Other codes are left out.
 */
export async function withNamedGlyphs<Each extends Piece>(
  page: PDFPageProxy,
  pieces: readonly Each[],
): Promise<Each[]> {
  if (!pieces.some(({ str }) => str.search(control) >= 0)) return [...pieces];
  // It loads the fonts.
  await page.getOperatorList();
  const names = new Map(pieces.map(({ fontName }) => [fontName, glyphNames(page, fontName)]));
  return pieces.map((piece) => {
    const letterOf = (sign: string) => {
      const code = sign.charCodeAt(0);
      return letterNamed(names.get(piece.fontName)?.[code]) ?? onlyLetter(names.values(), code) ?? "";
    };
    return { ...piece, str: piece.str.replace(control, letterOf) };
  });
}

function glyphNames(page: PDFPageProxy, fontName: string): LoadedFont["differences"] {
  const font: LoadedFont = page.commonObjs.has(fontName) ? page.commonObjs.get(fontName) : {};
  return font.differences;
}

/** The letter of a code in the fonts of the page, if they agree: a piece can go on in another font than that of its beginning. */
function onlyLetter(fonts: Iterable<LoadedFont["differences"]>, code: number): string | undefined {
  const letters = new Set([...fonts].flatMap((names) => letterNamed(names?.[code]) ?? []));
  return letters.size === 1 ? [...letters][0] : undefined;
}

function letterNamed(name: string | null | undefined): string | undefined {
  if (name == null) return undefined;
  const dot = name.indexOf(".");
  if (dot <= 0) return undefined;
  const base = name.slice(0, dot);
  const digit = digits.indexOf(base);
  if (digit >= 0) return String(digit);
  return /^[A-Za-z]$/.test(base) ? base : undefined;
}

const digits = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"];
