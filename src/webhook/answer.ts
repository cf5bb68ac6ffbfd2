import { visibleText } from "../standards/text.ts";
import { type AnswerBody, keptBodyBytes, newBody, takeBody } from "./answer-body.ts";
import { type HeadBytes, takeHead } from "./answer-head.ts";

/**
 * One HTTP/1.1 answer (RFC 9112), with the beginning of its body. Content codings are not decoded, so a gzip bomb stays
 * small.
 */
export interface Answer {
  status: number;
  /** The beginning of the body, as text that is safe for a database and a terminal. */
  body: string;
  retryAfter: string | undefined;
  /** The time for which the connection may idle before the next request; 0 if it cannot be used again. */
  reusableMs: number;
}

export interface AnswerReader {
  /** Reads a chunk. Returns the answer once it is complete, an error text, or `undefined` if more is needed. */
  take(chunk: Buffer): Answer | string | undefined;
  /** Handles the end of the connection: returns the answer if its body has no other end, else an error text. */
  end(): Answer | string;
  /** The part of the answer that has not arrived yet, for the message of a time-out. */
  awaits(): "headers" | "body";
}

export function answerReader(maxBytes = keptBodyBytes): AnswerReader {
  const headBytes: HeadBytes = { pending: Buffer.alloc(0), read: 0 };
  let body: AnswerBody | undefined;

  return {
    take(chunk) {
      if (body === undefined) {
        headBytes.pending = joined(headBytes.pending, chunk);
        const head = takeHead(headBytes);
        if (typeof head !== "object") return head;
        body = newBody(head, headBytes.pending, maxBytes);
      } else {
        body.pending = joined(body.pending, chunk);
      }
      const taken = takeBody(body);
      if (taken === "more") return undefined;
      if (taken === "malformed") return "the answer's chunks are malformed";
      return answerOf(body, taken === "whole");
    },
    end() {
      if (body === undefined) return "the connection was closed before an answer";
      // The end of the connection ends an `until_close` body (RFC 9112 §6.3). Any other answer is incomplete (§8).
      if (body.head.framing === "until_close") return answerOf(body, true);
      return "the connection was closed within the answer";
    },
    awaits: () => (body === undefined ? "headers" : "body"),
  };
}

function joined(pending: Buffer, chunk: Buffer): Buffer {
  return pending.length === 0 ? chunk : Buffer.concat([pending, chunk]);
}

function answerOf({ head, maxBytes, kept, pending }: AnswerBody, complete: boolean): Answer {
  const reusable = complete && head.persistent && pending.length === 0;
  const bytes = head.coded ? Buffer.alloc(0) : Buffer.concat(kept);
  return {
    status: head.status,
    body: keptText(bytes, !complete, maxBytes),
    retryAfter: head.retryAfter,
    reusableMs: reusable ? head.idleMs : 0,
  };
}

/** Text for Postgres and a terminal: valid Unicode, no controls but tab and line ends, at most `maxBytes` in UTF-8. */
function keptText(bytes: Buffer, cut: boolean, maxBytes: number): string {
  if (bytes.length === 0) return "";
  // With `stream`, the decoder leaves out a last character that the limit has cut in two.
  const text = visibleText(new TextDecoder().decode(bytes, { stream: cut }));
  if (text.length * 3 <= maxBytes) return text;
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(maxBytes));
  return text.slice(0, read);
}
