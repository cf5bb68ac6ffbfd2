import type { AnswerHead } from "./answer-head.ts";

/** What is kept of an answer unless more is asked for. */
export const keptBodyBytes = 4096;
/** Chunk sizes, extensions and trailers are no body, yet someone could send them forever. */
const maxFramingBytes = 4096;

/** The body of an answer, as far as it came. Of more than `mostBytes` nothing is read. */
export interface AnswerBody {
  head: AnswerHead;
  mostBytes: number;
  /** Came, and is not read yet. */
  pending: Buffer;
  /** Bytes that the body or the current chunk still has. */
  left: number;
  kept: Buffer[];
  keptBytes: number;
  /** Of chunks, where they are. */
  step: "size" | "data" | "data_end" | "trailer";
  framingBytes: number;
}

export function newBody(head: AnswerHead, pending: Buffer, mostBytes: number): AnswerBody {
  return { head, mostBytes, pending, left: head.length, kept: [], keptBytes: 0, step: "size", framingBytes: 0 };
}

/** Takes what is pending. A body is `cut` when all is kept that shall be, with more to come. */
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
      if (body.left > 0 && body.keptBytes === body.mostBytes) return "cut";
    }
  }
}

/** Takes up to `left` bytes; true when the cap is reached with more to come. */
function keep(body: AnswerBody): boolean {
  const part = body.pending.subarray(0, Math.min(body.left, body.pending.length, body.mostBytes - body.keptBytes));
  body.kept.push(part);
  body.keptBytes += part.length;
  body.left -= part.length;
  body.pending = body.pending.subarray(part.length);
  return body.keptBytes === body.mostBytes && body.left > 0;
}

function takeLine(body: AnswerBody): string | undefined {
  const end = body.pending.indexOf(0x0a);
  if (end < 0) return undefined;
  const text = body.pending.toString("latin1", 0, end).replace(/\r$/, "");
  body.framingBytes += end + 1;
  body.pending = body.pending.subarray(end + 1);
  return text;
}
