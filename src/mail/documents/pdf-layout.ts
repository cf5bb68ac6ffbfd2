/** A piece of text on a page, as the file draws it. */
export interface Glyphs {
  text: string;
  /** The place of its beginning, in the directions in which its line runs. `across` grows downwards. */
  along: number;
  across: number;
  width: number;
  size: number;
  isRightToLeft: boolean;
  /** The angle of its line in degrees. */
  angle: number;
}

interface Line {
  text: string;
  start: number;
  end: number;
  across: number;
  size: number;
  angle: number;
}

/** Lines that a file draws one below the other. */
interface Block {
  lines: Line[];
  start: number;
  end: number;
  top: number;
  bottom: number;
  angle: number;
}

/**
 * The text of a page in reading order. Most files draw their text in that order, column by column, so it is kept; a block moves only
 * before blocks that stand below it. Hyphens at the ends of lines are undone.
 */
export function textOfPage(glyphs: readonly Glyphs[]): string {
  return inReadingOrder(blocksOf(linesOf(drawnOnce(glyphs))))
    .map(({ lines }) => joined(lines))
    .join("\n");
}

/** Leaves out pieces that the page draws twice almost at the same place. Programs do that for a bold look. */
function drawnOnce(glyphs: readonly Glyphs[]): Glyphs[] {
  const drawn = new Map<string, Glyphs[]>();
  return glyphs.filter((glyph) => {
    if (glyph.text.trim() === "") return true;
    const row = Math.round(glyph.across / rowHeight);
    const near = [row - 1, row, row + 1].flatMap((at) => drawn.get(`${at} ${glyph.text}`) ?? []);
    if (near.some((other) => isSamePlace(glyph, other))) return false;
    const key = `${row} ${glyph.text}`;
    const others = drawn.get(key) ?? [];
    if (others.length < mostInRow) others.push(glyph);
    drawn.set(key, others);
    return true;
  });
}

/** Units of a page, 1/72 of an inch. */
const rowHeight = 5;
/** Each piece is compared with at most this many of the same text in a row. */
const mostInRow = 50;

/** The limits are below the width of the narrowest letters, so that `ll` stays. */
function isSamePlace(one: Glyphs, other: Glyphs): boolean {
  if (one.angle !== other.angle || one.size !== other.size) return false;
  return Math.abs(one.along - other.along) <= 0.1 * one.size && Math.abs(one.across - other.across) <= 0.2 * one.size;
}

function linesOf(glyphs: readonly Glyphs[]): Line[] {
  const lines: Line[] = [];
  for (const glyph of glyphs) {
    const line = lines.at(-1);
    if (line !== undefined && continues(line, glyph)) append(line, glyph);
    else if (glyph.text.trim() !== "") lines.push(lineOf(glyph));
  }
  return lines;
}

function lineOf({ text, along, across, width, size, angle }: Glyphs): Line {
  return { text, start: along, end: along + width, across, size, angle };
}

/** Whether a piece stands on the line. Raised and lowered letters do. */
function continues(line: Line, { text, along, across, width, size, angle, isRightToLeft }: Glyphs): boolean {
  if (text.trim() === "") return true;
  const largest = Math.max(line.size, size);
  if (angle !== line.angle || Math.abs(across - line.across) > largest / 2) return false;
  return isRightToLeft ? along + width <= line.start + largest : along >= line.end - largest;
}

function append(line: Line, { text, along, across, width, size, isRightToLeft }: Glyphs): void {
  if (text.trim() === "") {
    if (!/\s$/.test(line.text)) line.text += " ";
    return;
  }
  const gap = isRightToLeft ? line.start - (along + width) : along - line.end;
  const isApart = gap > Math.max(line.size, size) * gapOfWords && !/\s$/.test(line.text) && !/^\s/.test(text);
  line.text += isApart ? ` ${text}` : text;
  line.start = Math.min(line.start, along);
  line.end = Math.max(line.end, along + width);
  // The line stands where its largest letters do.
  if (size > line.size) Object.assign(line, { size, across });
}

/** A gap between words, as a part of the size of the letters. */
const gapOfWords = 0.2;

function blocksOf(lines: readonly Line[]): Block[] {
  const blocks: Block[] = [];
  for (const line of lines) {
    const block = blocks.at(-1);
    if (block !== undefined && isNext(block, line)) {
      block.lines.push(line);
      block.start = Math.min(block.start, line.start);
      block.end = Math.max(block.end, line.end);
      block.bottom = line.across;
    } else {
      const { start, end, across, size, angle } = line;
      blocks.push({ lines: [line], start, end, top: across - size, bottom: across, angle });
    }
  }
  return blocks;
}

/** Whether a line stands right below a block. */
function isNext({ start, end, bottom, angle }: Block, line: Line): boolean {
  const step = line.across - bottom;
  return angle === line.angle && step >= 0 && step <= 2 * line.size && line.start < end && line.end > start;
}

/** A page with more blocks keeps the order of its file, since each block is compared with all others. */
const mostBlocks = 5000;

function inReadingOrder(blocks: readonly Block[]): readonly Block[] {
  if (blocks.length > mostBlocks) return blocks;
  const ordered: Block[] = [];
  for (const block of blocks) {
    const below = ordered.findIndex((other) => isAbove(block, other));
    if (below < 0) ordered.push(block);
    else ordered.splice(below, 0, block);
  }
  return ordered;
}

function isAbove(block: Block, other: Block): boolean {
  return block.angle === other.angle && block.bottom <= other.top && block.start < other.end && block.end > other.start;
}

/** The lines of a block as text. A hyphen between letters goes with the end of its line, if the next line begins with a small letter. */
function joined(lines: readonly Line[]): string {
  let text = "";
  for (const [index, line] of lines.entries()) {
    const words = line.text.trim();
    if (index > 0 && /\p{L}[-\u00ad\u2010]$/u.test(text.slice(-3)) && /^\p{Ll}/u.test(words)) {
      text = text.slice(0, -1) + words;
    } else text += index === 0 ? words : `\n${words}`;
  }
  return text;
}
