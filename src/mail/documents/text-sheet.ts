import { type DocumentKind, type DocumentText, mostDocumentCharacters, mostPages } from "../../domain/document.ts";
import { cleanText, truncateCodePoints, withLineFeeds, withoutControls } from "../../standards/text.ts";

/** Collects the text of a document. It throws `SheetFull` when the text has its greatest length. */
export interface TextSheet {
  add(text: string): void;
  /** Ends the line, if it has text. */
  endLine(): void;
  /** Ends the line, and leaves an empty one. */
  endBlock(): void;
  /** Begins a page, a sheet or a slide. */
  beginPage(): void;
  /** Collects the following text apart, until `takeApart` returns it. Texts apart may be nested. */
  beginApart(): void;
  takeApart(): string;
  /** Marks the text as cut. */
  cut(): void;
  made(kind: DocumentKind): DocumentText;
}

/** Thrown when a text has its greatest length, to end the reading. */
export class SheetFull extends Error {}

interface Part {
  pieces: string[];
  /** The length in UTF-16 units. */
  length: number;
  /** The number of line feeds at the end. The beginning counts as the end of a block. */
  lineEnds: number;
}

const emptyPart = (): Part => ({ pieces: [], length: 0, lineEnds: 2 });

export function textSheet(): TextSheet {
  const main = emptyPart();
  const apart: Part[] = [];
  const pageUnits: number[] = [];
  let total = 0;
  let truncated = false;

  const current = () => apart.at(-1) ?? main;

  function put(text: string, lineEnds: number): void {
    const part = current();
    part.pieces.push(text);
    part.length += text.length;
    part.lineEnds = lineEnds;
    total += text.length;
    // A code point has at most two units.
    if (total <= 2 * mostDocumentCharacters) return;
    truncated = true;
    throw new SheetFull();
  }

  function breakTo(lineEnds: number): void {
    const { lineEnds: has } = current();
    if (has < lineEnds) put("\n".repeat(lineEnds - has), lineEnds);
  }

  return {
    add(given) {
      const text = withoutControls(withLineFeeds(cleanText(given)));
      if (text !== "") put(text, text.endsWith("\n") ? 1 : 0);
    },
    endLine: () => breakTo(1),
    endBlock: () => breakTo(2),
    beginPage() {
      breakTo(2);
      if (pageUnits.length < mostPages) pageUnits.push(main.length);
    },
    beginApart: () => void apart.push(emptyPart()),
    takeApart() {
      const { pieces, length } = apart.pop() ?? emptyPart();
      total -= length;
      return pieces.join("");
    },
    cut() {
      truncated = true;
    },
    made(kind) {
      const whole = [main, ...apart]
        .flatMap(({ pieces }) => pieces)
        .join("")
        .trimEnd();
      const text = truncateCodePoints(whole, mostDocumentCharacters);
      return { kind, text, pages: inCodePoints(text, pageUnits), truncated: truncated || text.length < whole.length };
    },
  };
}

/** Converts offsets in UTF-16 units, in order, to offsets in code points. Offsets behind the text are left out. */
function inCodePoints(text: string, offsets: readonly number[]): number[] {
  const converted: number[] = [];
  let at = 0;
  let passed = 0;
  for (const offset of offsets) {
    if (offset > text.length) break;
    for (; at < offset; passed++) at += (text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1;
    converted.push(passed);
  }
  return converted;
}
