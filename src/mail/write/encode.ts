/** Any text as printable ASCII in short lines, which every relay passes on unchanged. */

export interface EncodedBody {
  encoding: "quoted-printable" | "base64";
  /** Lines of at most 76 octets with CRLF between, and none after the last. */
  data: string;
}

/**
 * Encodes a body in the shorter of the two encodings (RFC 2045 §6). ASCII is never base64, because spam filters distrust that. Every line
 * end (CRLF, LF or CR) becomes CRLF, and the last line gets one if it lacks it.
 */
export function encodeBody(text: string): EncodedBody {
  const lines = text.replaceAll(/\r\n?|\n/g, "\r\n");
  const ended = lines.endsWith("\r\n") ? lines : `${lines}\r\n`;
  // In quoted-printable the last line end follows the data; in base64 it is encoded.
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
 * The tokens of an unstructured field (RFC 5322 §2.2.1): its words if they are short ASCII, otherwise encoded words. `text` is one line.
 */
export function unstructuredTokens(text: string): string[] {
  return isPlain(text) ? text.split(" ") : encodedWords(text);
}

/**
 * The tokens of a custom field. Its grammar is unknown, so ASCII is unchanged if it fits into lines of 998 octets. Other text is encoded,
 * except an id in angle brackets at the end, as in List-Id.
 */
export function customTokens(text: string): string[] {
  const words = splitAtSpaces(text);
  if (printable.test(text) && !text.includes("=?") && words.every((word) => word.length <= longestWord)) return words;
  const at = text.lastIndexOf(" <");
  const id = text.slice(at + 1);
  return at > 0 && /^<[!-;=?-~]{1,900}>$/.test(id) ? [...encodedWords(text.slice(0, at)), id] : encodedWords(text);
}

/** Splits a text at spaces. All but the first of several spaces in a row belong to the next word. */
function splitAtSpaces(text: string): string[] {
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

/**
 * A header field. A token goes on a new line if its line would otherwise be longer than 76 octets (RFC 5322 §2.2.3, RFC 2047 §2).
 */
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

/** Leaves room for `Subject: ` or another short name before the first token, in a line of 76 octets. */
const maxTokenLength = 64;

/** True for printable ASCII that folding does not change: without runs of spaces, long words and encoded words. */
function isPlain(text: string): boolean {
  return (
    plainWords.test(text) && !text.includes("=?") && text.split(" ").every((word) => word.length <= maxTokenLength)
  );
}

/** Leaves room for the name of the field on the first line, which may have 998 octets. */
const longestWord = 900;

const printable = /^[ -~]*$/;
const notAscii = /[^\0-\x7f]/;
const plainWords = /^(?:[!-~]+(?: [!-~]+)*)?$/;
const atoms = /^[\w!#$%&'*+/=?^`{|}~-]+(?: [\w!#$%&'*+/=?^`{|}~-]+)*$/;

/** Encodes a text as words of RFC 2047 in the shorter encoding. Each word has whole characters, since decoders may read it alone (§5). */
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

/** Encodes an octet in the Q encoding. Only characters that are safe in every position are literal (RFC 2047 §5, rule 3). */
function qEncoded(byte: number): string {
  const character = String.fromCharCode(byte);
  if (character === " ") return "_";
  return /[A-Za-z0-9!*+/-]/.test(character) ? character : `=${hex(byte)}`;
}

/** Divides the pieces into groups, in order, so that the sizes in each group add up to at most `room`. */
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
 * Encodes quoted-printable (RFC 2045 §6.7). Three more octets are encoded at the start of a line: a dot, so that no line ends an SMTP
 * transaction; a hyphen, so that no line is a boundary; the F of `From `, so that no mailbox file puts `>` before it.
 */
function quotedPrintable(bytes: Uint8Array): string {
  // Enough for three octets per octet, and for a soft break of three after each line of 72 or more.
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
    let isLiteral = isLiteralAt(bytes, at, column, endsLine);
    if (column + (isLiteral ? 1 : 3) > (endsLine ? 76 : 75)) {
      out[length++] = equals;
      out[length++] = carriageReturn;
      out[length++] = lineFeed;
      column = 0;
      isLiteral = isLiteralAt(bytes, at, column, endsLine);
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

function isLiteralAt(bytes: Uint8Array, at: number, column: number, endsLine: boolean): boolean {
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
