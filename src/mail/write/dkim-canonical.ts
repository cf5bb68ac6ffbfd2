/** The relaxed form of a mail, which DKIM signs (RFC 6376 §3.4.2, §3.4.4). Header text has one character for each octet. */

export interface HeaderField {
  /** The name in lower case. */
  name: string;
  /** Name, value and folds, without the last line end. */
  text: string;
}

/** The header fields, in order, and the body. Line ends are CRLF. */
export function splitMail(raw: Uint8Array): { fields: HeaderField[]; body: Uint8Array } {
  const buffer = Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength);
  const gap = buffer.indexOf("\r\n\r\n");
  const fields = fieldsOf(gap < 0 ? raw : raw.subarray(0, gap));
  return { fields, body: gap < 0 ? raw.subarray(raw.length) : raw.subarray(gap + 4) };
}

/** The fields of a header, in order. */
export function fieldsOf(header: Uint8Array): HeaderField[] {
  return Buffer.from(header.buffer, header.byteOffset, header.byteLength)
    .toString("latin1")
    .split(/\r\n(?![ \t])/)
    .map((text) => ({
      name: text
        .slice(0, Math.max(0, text.indexOf(":")))
        .trim()
        .toLowerCase(),
      text,
    }));
}

/** The relaxed form of a field: its name in lower case, its value on one line, trimmed and with single spaces, and CRLF at the end. */
export function relaxedField(text: string): string {
  const colon = text.indexOf(":");
  const value = text
    .slice(colon + 1)
    .replaceAll("\r\n", "")
    // A single space is not matched, because replacing each of them took most of the time.
    .replace(/[ \t]{2,}|\t/g, " ");
  // trim() would remove 0xA0, the last octet of `à` in UTF-8.
  const trimmed = value.slice(value.startsWith(" ") ? 1 : 0, value.endsWith(" ") ? -1 : undefined);
  return `${text.slice(0, colon).trim().toLowerCase()}:${trimmed}\r\n`;
}

/** The relaxed form of a body: no white space at the ends of lines, single spaces within lines, no empty lines at the end of the body. */
export function relaxedBody(body: Uint8Array): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(body.length + 2);
  let length = 0;
  const { take, end } = relaxedPieces((octets) => {
    whole.set(octets, length);
    length += octets.length;
  });
  take(body);
  end();
  return whole.slice(0, length);
}

/**
 * Brings a body into the same form as `relaxedBody` does, in pieces that may end at any octet. The octets passed to `write` are valid only
 * during the call.
 */
export function relaxedPieces(write: (octets: Uint8Array) => void) {
  const out = new Uint8Array(16_384);
  let length = 0;
  /** True if the next octet starts a line. */
  let startsLine = true;
  let isSpace = false;
  let emptyLines = 0;
  let endsInReturn = false;

  function flush(): void {
    if (length > 0) write(out.subarray(0, length));
    length = 0;
  }

  function endLine(): void {
    if (length + 2 > out.length) flush();
    out[length++] = carriageReturn;
    out[length++] = lineFeed;
  }

  /** Writes what was held back before an octet that is no white space: empty lines, and a space. */
  function putHeldBack(): void {
    for (; emptyLines > 0; emptyLines--) endLine();
    if (length + 2 > out.length) flush();
    if (isSpace) out[length++] = space;
    isSpace = false;
    startsLine = false;
  }

  function putReturn(): void {
    putHeldBack();
    out[length++] = carriageReturn;
    endsInReturn = false;
  }

  function takeLineFeed(): void {
    endsInReturn = false;
    isSpace = false;
    if (startsLine) emptyLines += 1;
    else endLine();
    startsLine = true;
  }

  /** Words are copied in a loop of their own, which is ten times as fast as a call for each octet. */
  function takeOctets(octets: Uint8Array): void {
    for (let at = 0; at < octets.length; ) {
      const octet = octets[at] ?? 0;
      if (endsInReturn && octet === lineFeed) takeLineFeed();
      else if (endsInReturn) {
        putReturn();
        continue;
      } else if (octet === carriageReturn) endsInReturn = true;
      else if (octet === space || octet === tab) isSpace = true;
      else {
        putHeldBack();
        at = copyWords(octets, at);
        continue;
      }
      at += 1;
    }
  }

  /** Copies words with single spaces between, as many octets as there is room for, and at least one. Returns the offset of the next octet. */
  function copyWords(octets: Uint8Array, from: number): number {
    const most = Math.min(octets.length, from + out.length - length);
    let end = length;
    let at = from;
    for (; at < most; at += 1) {
      const octet = octets[at] ?? 0;
      if (octet === carriageReturn || octet === tab || (octet === space && !isInWord(octets[at + 1]))) break;
      out[end++] = octet;
    }
    length = end;
    return at;
  }

  /** True if octets are held back that may have to be dropped. */
  function holdsBack(): boolean {
    return isSpace || endsInReturn || emptyLines > 0;
  }

  /** True for a piece that needs no change, except for empty lines at its end. Most mail is such pieces. */
  function isRelaxed(piece: Uint8Array): boolean {
    if (holdsBack() || piece.length < worthLookingBytes) return false;
    const last = piece.at(-1);
    // A line may end in the next piece.
    if (last === carriageReturn || last === space) return false;
    const octets = Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength);
    return !(octets.includes("  ") || octets.includes(" \r") || octets.includes(tab));
  }

  /** Writes a relaxed piece as it is, and holds back the empty lines at its end. */
  function takeRelaxed(piece: Uint8Array): void {
    let end = piece.length;
    while (end >= 2 && piece[end - 1] === lineFeed && piece[end - 2] === carriageReturn) end -= 2;
    const lineEnds = (piece.length - end) / 2;
    const isText = end > 0 || !startsLine;
    flush();
    if (isText) write(piece.subarray(0, lineEnds === 0 ? end : end + 2));
    emptyLines = isText ? Math.max(0, lineEnds - 1) : lineEnds;
    startsLine = lineEnds > 0;
  }

  return {
    take(piece: Uint8Array): void {
      let at = 0;
      // Writes held-back octets first, such as the empty line before a file, so that the rest may need no change.
      for (; holdsBack() && at < piece.length && at < mostLeadingOctets; at += 1)
        takeOctets(piece.subarray(at, at + 1));
      const rest = piece.subarray(at);
      if (isRelaxed(rest)) takeRelaxed(rest);
      else takeOctets(rest);
    },
    end(): void {
      if (endsInReturn) putReturn();
      if (!startsLine) endLine();
      flush();
    },
  };
}

/** False for white space, for a CR, and at the end of a piece, where it is not known yet. */
function isInWord(octet: number | undefined): boolean {
  return octet !== undefined && octet !== space && octet !== tab && octet !== carriageReturn;
}

const worthLookingBytes = 256;
const mostLeadingOctets = 4;
const [tab, lineFeed, carriageReturn, space] = [9, 10, 13, 32];
