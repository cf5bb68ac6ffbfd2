import { visibleText } from "../standards/text.ts";
import { type AnswerBody, keptBodyBytes, newBody, takeBody } from "./answer-body.ts";
import { type HeadBytes, takeHead } from "./answer-head.ts";

/**
 * Reads one HTTP/1.1 answer (RFC 9112) out of what a socket brings, and of its body no more than is kept.
 * It knows no content coding: a gzip bomb stays as small as it came.
 */
export interface Answer {
  status: number;
  /** As much as is kept, of text that a database and a terminal can take. */
  body: string;
  retryAfter: string | undefined;
  /** How long the connection may idle before the next request; 0 when it can't carry another. */
  reusableMs: number;
}

export interface AnswerReader {
  /** The answer once it is there; a text tells why there will be none; `undefined` asks for more. */
  take(chunk: Buffer): Answer | string | undefined;
  /** The other side has ended the connection, which is how some answers end. */
  end(): Answer | string;
  /** What it waits for, for the words of a time-out. */
  awaits(): "headers" | "body";
}

export function answerReader(mostBytes = keptBodyBytes): AnswerReader {
  const headBytes: HeadBytes = { pending: Buffer.alloc(0), read: 0 };
  let body: AnswerBody | undefined;

  return {
    take(chunk) {
      if (body === undefined) {
        headBytes.pending = joined(headBytes.pending, chunk);
        const head = takeHead(headBytes);
        if (typeof head !== "object") return head;
        body = newBody(head, headBytes.pending, mostBytes);
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
      // Only here is the close the end of the body (RFC 9112 §6.3); elsewhere the answer is incomplete (§8).
      if (body.head.framing === "until_close") return answerOf(body, true);
      return "the connection was closed within the answer";
    },
    awaits: () => (body === undefined ? "headers" : "body"),
  };
}

function joined(pending: Buffer, chunk: Buffer): Buffer {
  return pending.length === 0 ? chunk : Buffer.concat([pending, chunk]);
}

function answerOf({ head, mostBytes, kept, pending }: AnswerBody, complete: boolean): Answer {
  const reusable = complete && head.persistent && pending.length === 0;
  const bytes = head.coded ? Buffer.alloc(0) : Buffer.concat(kept);
  return {
    status: head.status,
    body: keptText(bytes, !complete, mostBytes),
    retryAfter: head.retryAfter,
    reusableMs: reusable ? head.idleMs : 0,
  };
}

/** Text as Postgres and a terminal take it: valid Unicode, no controls but tab and line ends, at most so long in UTF-8. */
function keptText(bytes: Buffer, cut: boolean, mostBytes: number): string {
  if (bytes.length === 0) return "";
  // A character that the cap has cut in two is left out: the decoder waits for its rest.
  const text = visibleText(new TextDecoder().decode(bytes, { stream: cut }));
  if (text.length * 3 <= mostBytes) return text;
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(mostBytes));
  return text.slice(0, read);
}
