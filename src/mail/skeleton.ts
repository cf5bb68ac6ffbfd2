import { readableHead } from "./head.ts";
import { isTakenOut, type Part } from "./part.ts";
import type { Outline } from "./prescan.ts";
import { decodeTransfer } from "./transfer.ts";

export interface Skeleton {
  bytes: Uint8Array;
  /** The decoded bodies that were taken out, by the words that stand in their places. */
  bodies: ReadonlyMap<string, { bytes: Uint8Array; part: Part }>;
  /** False where something was cut off. */
  whole: boolean;
}

/**
 * The mail as it is given to the parser: heads within limits and in UTF-8, and attachments taken out, with a word in
 * the place of each. The parser turns CRLF into LF and adds a line feed to all that is not base64, so only bytes
 * that are cut out here are the bytes that were sent; and it is spared megabytes.
 */
export function skeletonOf(raw: Buffer, outline: Outline, takeOut: boolean): Skeleton {
  const pieces: Uint8Array[] = [];
  const bodies = new Map<string, { bytes: Uint8Array; part: Part }>();
  let { whole } = outline;
  let kept = 0; // all before this is in `pieces`

  function replace(start: number, end: number, bytes: Uint8Array): void {
    pieces.push(raw.subarray(kept, start), bytes);
    kept = end;
  }

  for (const part of outline.parts) {
    if (part.override !== undefined) replace(part.headStart, part.headStart, Buffer.from(part.override));
    const block = raw.subarray(part.headStart, part.headEnd);
    const head = readableHead(block);
    whole &&= head.whole;
    if (head.bytes !== block) replace(part.headStart, part.headEnd, head.bytes);
    if (!takeOut || !isTakenOut(part)) continue;
    const bytes = decodeTransfer(raw.subarray(part.bodyStart, part.bodyEnd), part.encoding);
    const word = `attachment body ${bodies.size}`;
    bodies.set(word, { bytes, part });
    replace(part.bodyStart, part.bodyEnd, Buffer.from(part.encoding === "base64" ? btoa(word) : word));
  }
  if (pieces.length === 0 && outline.end === raw.length) return { bytes: raw, bodies, whole };
  pieces.push(raw.subarray(kept, outline.end));
  return { bytes: Buffer.concat(pieces), bodies, whole };
}
