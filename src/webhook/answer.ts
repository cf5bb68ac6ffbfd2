import { visibleText } from "../standards/text.ts";

/**
 * Reads one HTTP/1.1 answer (RFC 9112) out of what a socket brings, and of its body no more than is kept.
 * It knows no content coding: a gzip bomb stays as small as it came.
 */
export interface Answer {
  status: number;
  /** At most 4 KiB of text that a database and a terminal can take. */
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

export const keptBodyBytes = 4096;
const maxHeadBytes = 16_384;
/** Chunk sizes, extensions and trailers are no body, yet someone could send them forever. */
const maxFramingBytes = 4096;

interface Head {
  status: number;
  persistent: boolean;
  coded: boolean;
  framing: "none" | "length" | "chunked" | "until_close";
  length: number;
  retryAfter: string | undefined;
  idleMs: number;
}

export function answerReader(): AnswerReader {
  let pending: Buffer = Buffer.alloc(0);
  let head: Head | undefined;
  let headBytes = 0;
  const kept: Buffer[] = [];
  let keptBytes = 0;
  let framingBytes = 0;
  /** Bytes that the body or the current chunk still has. */
  let left = 0;
  let step: "size" | "data" | "data_end" | "trailer" = "size";

  /** Takes up to `left` bytes of the body; true when the cap is reached with more to come. */
  function keep(): boolean {
    const part = pending.subarray(0, Math.min(left, pending.length, keptBodyBytes - keptBytes));
    kept.push(part);
    keptBytes += part.length;
    left -= part.length;
    pending = pending.subarray(part.length);
    return keptBytes === keptBodyBytes && left > 0;
  }

  function answer(of: Head, complete: boolean): Answer {
    const reusable = complete && of.persistent && pending.length === 0;
    const bytes = of.coded ? Buffer.alloc(0) : Buffer.concat(kept);
    return {
      status: of.status,
      body: keptText(bytes, !complete),
      retryAfter: of.retryAfter,
      reusableMs: reusable ? of.idleMs : 0,
    };
  }

  function line(): string | undefined {
    const end = pending.indexOf(0x0a);
    if (end < 0) return undefined;
    const text = pending.toString("latin1", 0, end).replace(/\r$/, "");
    framingBytes += end + 1;
    pending = pending.subarray(end + 1);
    return text;
  }

  function readChunks(of: Head): Answer | string | undefined {
    for (;;) {
      if (step === "data") {
        if (keep()) return answer(of, false);
        if (left > 0) return undefined;
        step = "data_end";
      }
      const text = line();
      if (framingBytes + (text === undefined ? pending.length : 0) > maxFramingBytes) return answer(of, false);
      if (text === undefined) return undefined;
      if (step === "data_end") {
        if (text !== "") return "the answer's chunks are malformed";
        step = "size";
      } else if (step === "trailer") {
        if (text === "") return answer(of, true);
      } else {
        const size = /^([0-9a-fA-F]{1,13})[ \t]*(?:;.*)?$/.exec(text)?.[1];
        if (size === undefined) return "the answer's chunks are malformed";
        left = Number.parseInt(size, 16);
        step = left === 0 ? "trailer" : "data";
        if (left > 0 && keptBytes === keptBodyBytes) return answer(of, false);
      }
    }
  }

  function readBody(of: Head): Answer | string | undefined {
    if (of.framing === "none") return answer(of, true);
    if (of.framing === "chunked") return readChunks(of);
    if (keep()) return answer(of, false);
    return left === 0 ? answer(of, true) : undefined;
  }

  /** The final head; interim answers (RFC 9110 §15.2) are passed over. */
  function readHead(): Head | string | undefined {
    for (;;) {
      const end = headEnd(pending);
      if (headBytes + (end ?? pending.length) > maxHeadBytes) return "the answer's headers are too large";
      if (end === undefined) return undefined;
      const parsed = parseHead(pending.toString("latin1", 0, end));
      pending = pending.subarray(end);
      headBytes += end;
      if (typeof parsed === "string" || parsed.status >= 200 || parsed.status === 101) return parsed;
    }
  }

  return {
    take(chunk) {
      pending = pending.length === 0 ? chunk : Buffer.concat([pending, chunk]);
      if (!head) {
        const parsed = readHead();
        if (typeof parsed !== "object") return parsed;
        head = parsed;
        left = parsed.length;
      }
      return readBody(head);
    },
    end() {
      if (!head) return "the connection was closed before an answer";
      // Only here is the close the end of the body (RFC 9112 §6.3); elsewhere the answer is incomplete (§8).
      if (head.framing === "until_close") return answer(head, true);
      return "the connection was closed within the answer";
    },
    awaits: () => (head ? "body" : "headers"),
  };
}

/** Where the head ends; a lone LF ends a line too (RFC 9112 §2.2). */
function headEnd(bytes: Buffer): number | undefined {
  const strict = bytes.indexOf("\r\n\r\n", 0, "latin1");
  if (strict >= 0 && bytes.indexOf("\n\n", 0, "latin1") < 0) return strict + 4;
  const loose = /\n\r?\n/.exec(bytes.toString("latin1", 0, maxHeadBytes + 2));
  return loose ? loose.index + loose[0].length : undefined;
}

function parseHead(text: string): Head | string {
  const [first = "", ...lines] = text.split(/\r?\n/);
  const [, minor, code] = /^HTTP\/1\.([01]) ([1-9]\d\d)(?: |$)/.exec(first) ?? [];
  if (code === undefined) return "the answer is not HTTP/1.1";
  const fields = new Map<string, string>();
  for (const line of lines) {
    const colon = line.indexOf(":");
    // A line that starts with white space continues one that we don't need (obs-fold, RFC 9112 §5.2).
    if (colon < 1 || line.startsWith(" ") || line.startsWith("\t")) continue;
    const name = line.slice(0, colon).toLowerCase();
    const value = line.slice(colon + 1).trim();
    const before = fields.get(name);
    fields.set(name, before === undefined ? value : `${before}, ${value}`);
  }
  const status = Number(code);
  const framing = framingOf(status, fields);
  if (typeof framing === "string") return framing;
  const connection = (fields.get("connection") ?? "").toLowerCase();
  return {
    status,
    ...framing,
    persistent: minor === "1" && framing.persistent && !/\bclose\b|\bupgrade\b/.test(connection),
    coded: !/^(?:identity)?$/i.test(fields.get("content-encoding") ?? ""),
    retryAfter: fields.get("retry-after")?.slice(0, 64),
    idleMs: idleMsOf(fields.get("keep-alive")),
  };
}

/** How long the body is: the rules of RFC 9112 §6.3 in their order. */
function framingOf(status: number, fields: ReadonlyMap<string, string>) {
  const coding = fields.get("transfer-encoding");
  const length = fields.get("content-length");
  if (status < 200) return { framing: "none" as const, length: 0, persistent: false };
  if (status === 204 || status === 304) return { framing: "none" as const, length: 0, persistent: true };
  if (coding !== undefined) {
    // Both at once is how answers are smuggled: the coding counts, and the connection is not used again.
    if (/(?:^|,)\s*chunked$/i.test(coding)) {
      return { framing: "chunked" as const, length: 0, persistent: length === undefined };
    }
    return { framing: "until_close" as const, length: Number.POSITIVE_INFINITY, persistent: false };
  }
  if (length === undefined) {
    return { framing: "until_close" as const, length: Number.POSITIVE_INFINITY, persistent: false };
  }
  const lengths = new Set(length.split(",").map((text) => text.trim()));
  const [only = ""] = lengths;
  if (lengths.size !== 1 || !/^\d{1,15}$/.test(only)) return "the answer's Content-Length is malformed";
  return { framing: "length" as const, length: Number(only), persistent: true };
}

const idleMs = 4000;

/** Under the 5 s after which many servers close; `Keep-Alive: timeout=` (RFC 2068 §19.7.1) may ask for less, of which we leave a second. */
function idleMsOf(keepAlive: string | undefined): number {
  const seconds = /\btimeout\s*=\s*(\d{1,6})/i.exec(keepAlive ?? "")?.[1];
  return seconds === undefined ? idleMs : Math.min(idleMs, Math.max(0, Number(seconds) * 1000 - 1000));
}

/** Text as Postgres and a terminal take it: valid Unicode, no controls but tab and line ends, at most 4 KiB in UTF-8. */
function keptText(bytes: Buffer, cut: boolean): string {
  if (bytes.length === 0) return "";
  // A character that the cap has cut in two is left out: the decoder waits for its rest.
  const text = visibleText(new TextDecoder().decode(bytes, { stream: cut }));
  if (text.length * 3 <= keptBodyBytes) return text;
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(keptBodyBytes));
  return text.slice(0, read);
}
