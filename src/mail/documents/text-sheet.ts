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

export function textSheet(): TextSheet {
  const pieces: string[] = [];
  const pageUnits: number[] = [];
  const apart: string[] = [];
  let units = 0;
  let apartUnits = 0;
  let lineEnds = 2;
  let truncated = false;

  function add(given: string): void {
    const text = withoutControls(withLineFeeds(cleanText(given)));
    if (text === "") return;
    const last = apart.length - 1;
    if (last >= 0) {
      apart[last] += text;
      apartUnits += text.length;
      refuseMore(units + apartUnits);
      return;
    }
    pieces.push(text);
    units += text.length;
    lineEnds = text.endsWith("\n") ? 1 : 0;
    refuseMore(units);
  }

  // A code point has at most two units.
  function refuseMore(total: number): void {
    if (total <= 2 * mostDocumentCharacters) return;
    truncated = true;
    throw new SheetFull();
  }

  function breakTo(wanted: number): void {
    const last = apart.length - 1;
    if (last >= 0) {
      if (apart[last] !== "" && !apart[last]?.endsWith("\n")) add("\n");
      return;
    }
    for (; lineEnds < wanted; lineEnds++) {
      pieces.push("\n");
      units++;
    }
  }

  return {
    add,
    endLine: () => breakTo(1),
    endBlock: () => breakTo(2),
    beginPage() {
      breakTo(2);
      if (pageUnits.length < mostPages) pageUnits.push(units);
    },
    beginApart: () => void apart.push(""),
    takeApart() {
      const text = apart.pop() ?? "";
      apartUnits -= text.length;
      return text;
    },
    cut() {
      truncated = true;
    },
    made(kind) {
      const whole = (pieces.join("") + apart.join("")).trimEnd();
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
