/** Reads one mail from the connection, from the reply 354 to the final dot. */
export interface DataReader {
  /** Reads the next octets. Returns the index after the final dot's CRLF, or -1 if the mail goes on. */
  read(chunk: Buffer): number;
  /** Frees the octets. The rest of the mail is only counted and searched for its end. */
  discard(): void;
  /** The mail so far; empty if it was discarded. */
  bytes(): Uint8Array;
  /** Octets of the mail so far, also the discarded ones. */
  readonly sizeBytes: number;
  /** Octets of the mail that are in memory: 0 if it was discarded or is too large. */
  readonly heldBytes: number;
  /** Whether the mail has a line of a single dot with a bare CR or LF as one of its line ends. */
  readonly loneDot: boolean;
}

/**
 * Makes a reader that keeps a mail of up to `maxBytes`. Only CRLF ends a line (RFC 5321 §2.3.8), so only CRLF "." CRLF ends the mail
 * (§4.1.1.4) and only a dot after CRLF was stuffed (§4.5.2). A bare LF or CR is an ordinary octet and stays in the mail. A server that
 * reads it as the end of a line can be made to see two mails instead of one (SMTP smuggling). `loneDot` reports a line of one dot next to
 * such an octet, since the next server might take it for the end of the mail.
 *
 * A dot matters only after CR or LF, which is rare. So the reader finds each such dot by native search, and reads only the two or three
 * octets after it one by one.
 */
export function dataReader(maxBytes: number): DataReader {
  let state: State = LINE_START;
  let sizeBytes = 0;
  let loneDot = false;
  let store: ByteStore | undefined = byteStore();

  function keep(chunk: Buffer, from: number, to: number): void {
    sizeBytes += to - from;
    if (sizeBytes > maxBytes) store = undefined;
    else store?.add(chunk, from, to);
  }

  /**
   * Handles the octet after a dot whose meaning is still open. Returns whether the octet is consumed (`taken`), is still to be read
   * (`left`), or ends the mail (`end`).
   */
  function decide(octet: number | undefined): "taken" | "left" | "end" {
    if (state === DOT && octet === CR_OCTET) {
      state = DOT_CR;
      return "taken";
    }
    if (state === DOT_CR && octet === LF_OCTET) return "end";
    if (state === DOT_CR) {
      loneDot = true;
      keep(LONE_CR, 0, 1);
      state = CR;
      return "left";
    }
    if (octet === LF_OCTET || octet === CR_OCTET) loneDot = true;
    state = TEXT;
    return "left";
  }

  function read(chunk: Buffer): number {
    let at = 0;
    let dotBehindLf = 0;
    let dotBehindCr = 0;
    while (at < chunk.length) {
      if (state >= DOT) {
        const decision = decide(chunk[at]);
        if (decision === "end") return at + 1;
        if (decision === "taken") at += 1;
        continue;
      }
      let dot = at;
      if (state === TEXT || chunk[at] !== DOT_OCTET) {
        // Searches for a position again only when the reader has passed it: a search at each dot would take quadratic time.
        if (dotBehindLf <= at) dotBehindLf = positionBehind(chunk, LF_DOT, at);
        if (dotBehindCr <= at) dotBehindCr = positionBehind(chunk, CR_DOT, at);
        dot = Math.min(dotBehindLf, dotBehindCr, chunk.length);
        keep(chunk, at, dot);
        state = stateBehind(chunk, at, dot, state);
      }
      if (dot === chunk.length) break;
      if (state === LINE_START) {
        state = DOT;
      } else {
        keep(chunk, dot, dot + 1);
        state = BARE_DOT;
      }
      at = dot + 1;
    }
    return -1;
  }

  return {
    read,
    discard() {
      store = undefined;
    },
    bytes: () => store?.bytes() ?? new Uint8Array(0),
    get sizeBytes() {
      return sizeBytes;
    },
    get heldBytes() {
      return store === undefined ? 0 : sizeBytes;
    },
    get loneDot() {
      return loneDot;
    },
  };
}

/** Makes a reader of a mail that comes without SMTP: every octet is kept as it came, and the mail ends where its connection says so. */
export function plainReader(maxBytes: number): DataReader {
  let sizeBytes = 0;
  let store: ByteStore | undefined = byteStore();
  return {
    read(chunk) {
      sizeBytes += chunk.length;
      if (sizeBytes > maxBytes) store = undefined;
      else store?.add(chunk, 0, chunk.length);
      return -1;
    },
    discard() {
      store = undefined;
    },
    bytes: () => store?.bytes() ?? new Uint8Array(0),
    get sizeBytes() {
      return sizeBytes;
    },
    get heldBytes() {
      return store === undefined ? 0 : sizeBytes;
    },
    loneDot: false,
  };
}

/** The position of the reader in a line. In the states from DOT on, the next octet decides what the last dot means. */
type State =
  | typeof LINE_START
  | typeof TEXT
  | typeof CR
  | typeof BARE_LF
  | typeof DOT
  | typeof DOT_CR
  | typeof BARE_DOT;
/** The reader is after CRLF, or at the start of the mail. */
const LINE_START = 0;
const TEXT = 1;
const CR = 2;
const BARE_LF = 3;
/** The reader is after CRLF "." (DOT), or after CRLF "." CR (DOT_CR). This dot is never kept; the CR is kept only if the mail goes on. */
const DOT = 4;
const DOT_CR = 5;
/** The reader is after a dot that follows a bare CR or LF. Such a dot is kept. */
const BARE_DOT = 6;

const CR_OCTET = 0x0d;
const LF_OCTET = 0x0a;
const DOT_OCTET = 0x2e;
const LF_DOT = Buffer.from("\n.");
const CR_DOT = Buffer.from("\r.");
const LONE_CR = Buffer.from("\r");

function positionBehind(chunk: Buffer, pair: Buffer, from: number): number {
  const found = chunk.indexOf(pair, from);
  return found === -1 ? Number.POSITIVE_INFINITY : found + 1;
}

function stateBehind(chunk: Buffer, from: number, to: number, before: State): State {
  const last = chunk[to - 1];
  if (last === CR_OCTET) return CR;
  if (last !== LF_OCTET) return TEXT;
  const behindCr = to - 2 >= from ? chunk[to - 2] === CR_OCTET : before === CR;
  return behindCr ? LINE_START : BARE_LF;
}

interface ByteStore {
  add(chunk: Buffer, from: number, to: number): void;
  bytes(): Uint8Array;
}

const mostBlockBytes = 16 << 10;
const smallPieceBytes = 4 << 10;
/** Pieces up to this size are copied in a loop, which is faster for them than a call of `copy`. */
const tinyPieceBytes = 32;

/**
 * Keeps pieces by reference and copies them once, at the end; a mail of one piece is not copied. Small pieces are collected into
 * blocks: for a mail full of stuffed dots, or one that comes octet by octet, one object for each piece would take a hundred times the
 * size of the mail.
 */
function byteStore(): ByteStore {
  const pieces: Buffer[] = [];
  let block: Buffer | undefined;
  let blockBytes = smallPieceBytes;
  let used = 0;

  function closeBlock(): void {
    if (block !== undefined) pieces.push(block.subarray(0, used));
    block = undefined;
    used = 0;
  }

  /**
   * Makes each block twice as large as the one before, up to a limit: the end of a mail needs only a small block, but a mail in many
   * small pieces needs large ones.
   */
  function newBlock(): Buffer {
    const fresh = Buffer.allocUnsafeSlow(blockBytes);
    blockBytes = Math.min(2 * blockBytes, mostBlockBytes);
    return fresh;
  }

  return {
    add(chunk, from, to) {
      const length = to - from;
      if (length === 0) return;
      if (length >= smallPieceBytes || (pieces.length === 0 && block === undefined)) {
        closeBlock();
        pieces.push(chunk.subarray(from, to));
        return;
      }
      if (block !== undefined && used + length > block.length) closeBlock();
      block ??= newBlock();
      if (length > tinyPieceBytes) used += chunk.copy(block, used, from, to);
      else for (let at = from; at < to; at++) block[used++] = chunk[at] ?? 0;
    },
    bytes() {
      closeBlock();
      const [first] = pieces;
      const whole = pieces.length === 1 && first !== undefined ? first : Buffer.concat(pieces);
      // Replaces the pieces by the whole mail. Otherwise both would be in memory while the mail is stored.
      pieces.splice(0, pieces.length, whole);
      return new Uint8Array(whole.buffer, whole.byteOffset, whole.length);
    },
  };
}
