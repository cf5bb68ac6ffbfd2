/** Any text as printable ASCII in short lines, which every relay of the last forty years passes on unchanged. */

export interface EncodedBody {
  encoding: "quoted-printable" | "base64";
  /** Lines of at most 76 octets apart by CRLF, none after the last. */
  data: string;
}

/**
 * A body in the shorter of the two encodings (RFC 2045 §6); ASCII stays readable, also because filters distrust it in base64. Every
 * line end, CRLF, LF or CR, becomes one CRLF, and the last line is ended whether the text ends it or not.
 */
export function encodeBody(text: string): EncodedBody {
  const lines = text.replaceAll(/\r\n?|\n/g, "\r\n");
  const ended = lines.endsWith("\r\n") ? lines : `${lines}\r\n`;
  // Of quoted-printable the last line end is the one that follows the data; base64 holds its own.
  const quoted = quotedPrintable(new TextEncoder().encode(ended.slice(0, -2)));
  if (!notAscii.test(text)) return { encoding: "quoted-printable", data: quoted };
  const base64 = (
    new TextEncoder()
      .encode(ended)
      .toBase64()
      .match(/.{1,76}/g) ?? []
  ).join("\r\n");
  return base64.length < quoted.length
    ? { encoding: "base64", data: base64 }
    : { encoding: "quoted-printable", data: quoted };
}

/**
 * The tokens of an unstructured field (RFC 5322 §2.2.1): the words as they are where they are ASCII and short enough to
 * fold, else encoded words. `text` is one line.
 */
export function unstructuredTokens(text: string): string[] {
  return isPlain(text) ? text.split(" ") : encodedWords(text);
}

/**
 * The tokens of a field that a caller made up. Its grammar is not known, so ASCII stays as it is where lines of 998 octets
 * can hold it; the rest is encoded, but for an id in angle brackets at its end, as List-Id has one.
 */
export function customTokens(text: string): string[] {
  const words = wordsOf(text);
  if (printable.test(text) && !text.includes("=?") && words.every((word) => word.length <= longestWord)) return words;
  const at = text.lastIndexOf(" <");
  const id = text.slice(at + 1);
  return at > 0 && /^<[!-;=?-~]{1,900}>$/.test(id) ? [...encodedWords(text.slice(0, at)), id] : encodedWords(text);
}

/** One space stands between two; what more there is belongs to the second. */
function wordsOf(text: string): string[] {
  const words: string[] = [];
  let gap = "";
  for (const word of text.split(" ")) {
    if (word === "") {
      gap += " ";
    } else {
      words.push(`${gap}${word}`);
      gap = "";
    }
  }
  return words;
}

/** The tokens of a display name (RFC 5322 §3.2.5): atoms, one quoted string, or encoded words. */
export function phraseTokens(name: string): string[] {
  if (!isPlain(name)) return encodedWords(name);
  if (atoms.test(name)) return name.split(" ");
  return name.length <= maxTokenLength ? [`"${name.replaceAll(/["\\]/g, "\\$&")}"`] : encodedWords(name);
}

/** The header field with a fold before each token that would pass 76 octets, the most beside an encoded word (RFC 5322 §2.2.3, RFC 2047 §2). */
export function foldedField(name: string, tokens: readonly string[]): string {
  let field = `${name}: ${tokens[0] ?? ""}`;
  let column = field.length;
  for (const token of tokens.slice(1)) {
    const folds = column + 1 + token.length > 76;
    field += `${folds ? "\r\n" : ""} ${token}`;
    column = (folds ? 0 : column) + 1 + token.length;
  }
  return field;
}

/** Room for `Subject: ` or another short name before the first token, within those 76. */
const maxTokenLength = 64;

/** Printable ASCII that unfolding and decoding give back: no runs of spaces, nothing that looks like an encoded word. */
function isPlain(text: string): boolean {
  return (
    plainWords.test(text) && !text.includes("=?") && text.split(" ").every((word) => word.length <= maxTokenLength)
  );
}

/** Leaves room for the name of the field, which stands in the first line. */
const longestWord = 900;

const printable = /^[ -~]*$/;
const notAscii = /[^\0-\x7f]/;
const plainWords = /^(?:[!-~]+(?: [!-~]+)*)?$/;
const atoms = /^[\w!#$%&'*+/=?^`{|}~-]+(?: [\w!#$%&'*+/=?^`{|}~-]+)*$/;

/** RFC 2047 in the shorter of its encodings, each word whole characters: a decoder may look at each alone (§5). */
function encodedWords(text: string): string[] {
  const characters = [...text.toWellFormed()];
  const bytesOf = characters.map((character) => new TextEncoder().encode(character));
  const quotedOf = bytesOf.map((bytes) => [...bytes].map(qEncoded).join(""));
  const size = bytesOf.reduce((sum, bytes) => sum + bytes.length, 0);
  const quotedSize = quotedOf.reduce((sum, quoted) => sum + quoted.length, 0);
  const room = maxTokenLength - "=?utf-8?Q??=".length;
  if (quotedSize <= Math.ceil(size / 3) * 4 || !notAscii.test(text)) {
    const words = packed(quotedOf, (quoted) => quoted.length, room);
    return words.map((word) => `=?utf-8?Q?${word.join("")}?=`);
  }
  const words = packed(bytesOf, (bytes) => bytes.length, (room / 4) * 3);
  return words.map((word) => `=?utf-8?B?${Uint8Array.from(word.flatMap((bytes) => [...bytes])).toBase64()}?=`);
}

/** The octets that stand for themselves wherever an encoded word may stand (RFC 2047 §5, rule 3). */
function qEncoded(byte: number): string {
  const character = String.fromCharCode(byte);
  if (character === " ") return "_";
  return /[A-Za-z0-9!*+/-]/.test(character) ? character : `=${hex(byte)}`;
}

/** The pieces in groups of at most `room`, in order. */
function packed<Piece>(pieces: readonly Piece[], sizeOf: (piece: Piece) => number, room: number): Piece[][] {
  const groups: Piece[][] = [];
  let left = 0;
  for (const piece of pieces) {
    const size = sizeOf(piece);
    const group = groups.at(-1);
    if (group !== undefined && size <= left) {
      group.push(piece);
      left -= size;
    } else {
      groups.push([piece]);
      left = room - size;
    }
  }
  return groups;
}

const [tab, lineFeed, carriageReturn, space, hyphen, dot, equals, letterF] = [9, 10, 13, 32, 45, 46, 61, 70] as const;

/**
 * RFC 2045 §6.7. At the start of a line three more octets are encoded: a dot (no line can end an SMTP transaction, whatever a relay
 * makes of line ends), a hyphen (no line can be a boundary), and the F of `From ` (no mailbox file escapes it).
 */
function quotedPrintable(bytes: Uint8Array): string {
  // Three octets for one, and a soft break of three after each 72 or more.
  const out = new Uint8Array(Math.ceil(bytes.length * 3.2) + 8);
  let length = 0;
  let column = 0;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at] ?? 0;
    if (byte === carriageReturn) {
      out[length++] = carriageReturn;
      out[length++] = lineFeed;
      column = 0;
      at += 1;
      continue;
    }
    const endsLine = at + 1 === bytes.length || bytes[at + 1] === carriageReturn;
    let isLiteral = standsForItself(bytes, at, column, endsLine);
    if (column + (isLiteral ? 1 : 3) > (endsLine ? 76 : 75)) {
      out[length++] = equals;
      out[length++] = carriageReturn;
      out[length++] = lineFeed;
      column = 0;
      isLiteral = standsForItself(bytes, at, column, endsLine);
    }
    if (isLiteral) {
      out[length++] = byte;
      column += 1;
    } else {
      out[length++] = equals;
      out[length++] = hexDigits.charCodeAt(byte >> 4);
      out[length++] = hexDigits.charCodeAt(byte & 15);
      column += 3;
    }
  }
  return new TextDecoder().decode(out.subarray(0, length));
}

function standsForItself(bytes: Uint8Array, at: number, column: number, endsLine: boolean): boolean {
  const byte = bytes[at] ?? 0;
  if (byte === space || byte === tab) return !endsLine;
  if (byte < 33 || byte > 126 || byte === equals) return false;
  if (column > 0) return true;
  return byte !== dot && byte !== hyphen && !(byte === letterF && bytes[at + 4] === space);
}

const hexDigits = "0123456789ABCDEF";

function hex(byte: number): string {
  return `${hexDigits[byte >> 4]}${hexDigits[byte & 15]}`;
}
