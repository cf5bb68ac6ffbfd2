/** The status of an answer, and the properties of its body and connection, as read from its head. */
export interface AnswerHead {
  status: number;
  persistent: boolean;
  coded: boolean;
  framing: "none" | "length" | "chunked" | "until_close";
  /** The length of the body if the head has it. Infinite if the body ends with the connection. */
  length: number;
  retryAfter: string | undefined;
  idleMs: number;
}

/** `pending`: the bytes that have arrived and are not read yet. `read`: the number of bytes read. */
export interface HeadBytes {
  pending: Buffer;
  read: number;
}

const maxHeadBytes = 16_384;

/**
 * Reads the head of the final answer, and skips interim answers (RFC 9110 §15.2). Returns an error text if it is
 * malformed or too large, and undefined if more bytes are needed.
 */
export function takeHead(bytes: HeadBytes): AnswerHead | string | undefined {
  for (;;) {
    const end = headEnd(bytes.pending);
    if (bytes.read + (end ?? bytes.pending.length) > maxHeadBytes) return "the answer's headers are too large";
    if (end === undefined) return undefined;
    const parsed = parseHead(bytes.pending.toString("latin1", 0, end));
    bytes.pending = bytes.pending.subarray(end);
    bytes.read += end;
    if (typeof parsed === "string" || parsed.status >= 200 || parsed.status === 101) return parsed;
  }
}

/** The offset of the end of the head; undefined if it has not arrived. A bare LF also ends a line (RFC 9112 §2.2). */
function headEnd(bytes: Buffer): number | undefined {
  const strict = bytes.indexOf("\r\n\r\n", 0, "latin1");
  if (strict >= 0 && bytes.indexOf("\n\n", 0, "latin1") < 0) return strict + 4;
  const loose = /\n\r?\n/.exec(bytes.toString("latin1", 0, maxHeadBytes + 2));
  return loose ? loose.index + loose[0].length : undefined;
}

function parseHead(text: string): AnswerHead | string {
  const [first = "", ...lines] = text.split(/\r?\n/);
  const [, minor, code] = /^HTTP\/1\.([01]) ([1-9]\d\d)(?: |$)/.exec(first) ?? [];
  if (code === undefined) return "the answer is not HTTP/1.1";
  const fields = new Map<string, string>();
  for (const line of lines) {
    const colon = line.indexOf(":");
    // A line that starts with white space continues the line before (obs-fold, RFC 9112 §5.2). It is skipped, because no
    // field that we read is folded.
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

/** Finds out how the body ends, and its length, by the rules of RFC 9112 §6.3 in their order. A string is an error. */
function framingOf(status: number, fields: ReadonlyMap<string, string>) {
  const coding = fields.get("transfer-encoding");
  const length = fields.get("content-length");
  if (status < 200) return { framing: "none" as const, length: 0, persistent: false };
  if (status === 204 || status === 304) return { framing: "none" as const, length: 0, persistent: true };
  if (coding !== undefined) {
    // An answer with a transfer coding and a length may be an attempt to smuggle another answer. The coding counts, and the
    // connection is not used again.
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

/**
 * The time for which a connection may be idle. It is below 5 s, after which many servers close, and one second less than
 * `Keep-Alive: timeout=` (RFC 2068 §19.7.1) if that is lower.
 */
function idleMsOf(keepAlive: string | undefined): number {
  const seconds = /\btimeout\s*=\s*(\d{1,6})/i.exec(keepAlive ?? "")?.[1];
  return seconds === undefined ? idleMs : Math.min(idleMs, Math.max(0, Number(seconds) * 1000 - 1000));
}
