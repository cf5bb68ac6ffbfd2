import type { AnswerHead } from "./answer-head.ts";

/** The number of bytes of a body to keep by default. */
export const keptBodyBytes = 4096;
/** The most bytes of chunk sizes, extensions and trailers in one body: a receiver could otherwise send them forever. */
const maxFramingBytes = 4096;

/** The state of reading a body. At most `maxBytes` of it are kept. */
export interface AnswerBody {
  head: AnswerHead;
  maxBytes: number;
  /** The bytes that have arrived and are not read yet. */
  pending: Buffer;
  /** The number of bytes that the body, or the current chunk, still has. */
  left: number;
  kept: Buffer[];
  keptBytes: number;
  /** The next part of a chunked body. */
  step: "size" | "data" | "data_end" | "trailer";
  framingBytes: number;
}

export function newBody(head: AnswerHead, pending: Buffer, maxBytes: number): AnswerBody {
  return { head, maxBytes, pending, left: head.length, kept: [], keptBytes: 0, step: "size", framingBytes: 0 };
}

/** Reads the pending bytes. `cut`: the body is longer than `maxBytes`, or its framing is longer than `maxFramingBytes`. */
export function takeBody(body: AnswerBody): "more" | "whole" | "cut" | "malformed" {
  const { framing } = body.head;
  if (framing === "none") return "whole";
  if (framing === "chunked") return takeChunks(body);
  if (keep(body)) return "cut";
  return body.left === 0 ? "whole" : "more";
}

function takeChunks(body: AnswerBody): "more" | "whole" | "cut" | "malformed" {
  for (;;) {
    if (body.step === "data") {
      if (keep(body)) return "cut";
      if (body.left > 0) return "more";
      body.step = "data_end";
    }
    const text = takeLine(body);
    if (body.framingBytes + (text === undefined ? body.pending.length : 0) > maxFramingBytes) return "cut";
    if (text === undefined) return "more";
    if (body.step === "data_end") {
      if (text !== "") return "malformed";
      body.step = "size";
    } else if (body.step === "trailer") {
      if (text === "") return "whole";
    } else {
      const size = /^([0-9a-fA-F]{1,13})[ \t]*(?:;.*)?$/.exec(text)?.[1];
      if (size === undefined) return "malformed";
      body.left = Number.parseInt(size, 16);
      body.step = body.left === 0 ? "trailer" : "data";
      if (body.left > 0 && body.keptBytes === body.maxBytes) return "cut";
    }
  }
}

/** Moves up to `left` pending bytes to `kept`. Returns true if `maxBytes` are kept and more bytes would follow. */
function keep(body: AnswerBody): boolean {
  const part = body.pending.subarray(0, Math.min(body.left, body.pending.length, body.maxBytes - body.keptBytes));
  body.kept.push(part);
  body.keptBytes += part.length;
  body.left -= part.length;
  body.pending = body.pending.subarray(part.length);
  return body.keptBytes === body.maxBytes && body.left > 0;
}

function takeLine(body: AnswerBody): string | undefined {
  const end = body.pending.indexOf(0x0a);
  if (end < 0) return undefined;
  const text = body.pending.toString("latin1", 0, end).replace(/\r$/, "");
  body.framingBytes += end + 1;
  body.pending = body.pending.subarray(end + 1);
  return text;
}
