import { decodeText } from "./charset.ts";
import { decodeWords } from "./encoded-words.ts";
import { isBlank, trimBlanks } from "./white-space.ts";

/** A header value such as `text/plain; charset=utf-8` (RFC 2045 §5.1). Its strings have one character for each byte. */
export interface StructuredValue {
  /** The value in lower case, without parameters. */
  value: string;
  /** The parameters by name in lower case; the first of a name counts. The pieces of a long value (RFC 2231 §3) are separate. */
  parameters: ReadonlyMap<string, string>;
  /** True if the value of a parameter may be in pieces (`filename*0`, `filename*1`). */
  isPieced: boolean;
}

export function parseStructured(text: string): StructuredValue {
  return /["(\\]/.test(text) ? parseWithQuotes(text) : parsePlain(text);
}

/** The bytes of a parameter, with its pieces joined (RFC 2231 §3). */
export function parameterOf(structured: StructuredValue, name: string): string | undefined {
  return piecedTogether(structured, name)?.bytes ?? structured.parameters.get(name);
}

/** The decoded text of a parameter; `undefined` if it is missing or blank. */
export function parameterText(structured: StructuredValue, name: string, rawCharset?: string): string | undefined {
  const { bytes, charset } = piecedTogether(structured, name) ?? { bytes: structured.parameters.get(name) };
  if (bytes === undefined) return undefined;
  // Many mailers write encoded words here, although RFC 2047 §5 forbids them.
  const text =
    charset === undefined ? decodeWords(bytes, rawCharset) : decodeText(Buffer.from(bytes, "latin1"), charset);
  return text.trim() === "" ? undefined : text;
}

interface Pieced {
  bytes: string;
  /** The charset of the bytes: undefined if no piece is percent-encoded, "" if the value names no charset. */
  charset: string | undefined;
}

function piecedTogether({ parameters, isPieced }: StructuredValue, name: string): Pieced | undefined {
  if (!isPieced) return undefined;
  const pieces: { number: number; value: string; isEncoded: boolean }[] = [];
  for (const [key, value] of parameters) {
    if (!key.startsWith(`${name}*`)) continue;
    const [isPiece, number, star] = pieceKey.exec(key.slice(name.length)) ?? [];
    if (isPiece === undefined) continue;
    pieces.push({ number: Number(number ?? 0), value, isEncoded: number === undefined || star !== undefined });
  }
  if (pieces.length === 0) return undefined;
  pieces.sort((one, other) => one.number - other.number);
  const first = pieces[0]?.isEncoded ? charsetAndLanguage.exec(pieces[0].value) : null;
  const bytes = pieces.map(({ value, isEncoded }, index) => {
    const written = index === 0 && first !== null ? value.slice(first[0].length) : value;
    return isEncoded ? percentDecoded(written) : written;
  });
  return { bytes: bytes.join(""), charset: pieces.some(({ isEncoded }) => isEncoded) ? (first?.[1] ?? "") : undefined };
}

/** Matches the suffix of a parameter's name: `*` alone, or `*0`, `*1*` … With a star at the end, the piece is percent-encoded. */
const pieceKey = /^\*(\d{1,4})?(\*)?$/;

/** Matches the charset and language at the beginning of an encoded value: `utf-8'en'` (RFC 2231 §4). */
const charsetAndLanguage = /^([^']{0,80})'[^']{0,80}'/;

function percentDecoded(text: string): string {
  return text.replace(/%([0-9a-f]{2})/gi, (_, digits) => String.fromCharCode(Number.parseInt(digits, 16)));
}

/** Parses a value without quotes and comments, as most are. Each part of a mail has two or three values, so this is fast. */
function parsePlain(text: string): StructuredValue {
  const [value = "", ...pieces] = text.split(";");
  const parameters = new Map<string, string>();
  for (const piece of pieces) {
    const equals = piece.indexOf("=");
    if (equals < 0) continue;
    const name = trimBlanks(piece.slice(0, equals)).toLowerCase();
    if (!parameters.has(name)) parameters.set(name, trimBlanks(piece, equals + 1));
  }
  return { value: trimBlanks(value).toLowerCase(), parameters, isPieced: text.includes("*") };
}

/** Parses a value with quotes and comments in one pass. `name="; boundary=x"` is one name, and comments are skipped. */
function parseWithQuotes(text: string): StructuredValue {
  const parameters = new Map<string, string>();
  let value: string | undefined;
  let name: string | undefined;
  let token = "";
  /** True if the token ends with a blank. Reading the end of the growing token would copy it each time. */
  let endsBlank = false;
  let wasQuoted = false;
  let commentsClose = true;

  function finish(): void {
    const kept = wasQuoted ? token : trimBlanks(token);
    if (value === undefined) value = kept.toLowerCase();
    else if (name !== undefined && !parameters.has(name)) parameters.set(name, kept);
    name = undefined;
    token = "";
    wasQuoted = false;
  }

  /** True if a bracket begins a comment here. Within a word, as in `Invoice(1).pdf`, it is an ordinary character. */
  function beginsComment(): boolean {
    return commentsClose && (name === undefined || token === "" || endsBlank);
  }

  function take(character: string): void {
    token += character;
    endsBlank = isBlank(character.charCodeAt(0));
  }

  for (let at = 0; at < text.length; at++) {
    const character = text.charAt(at);
    if (character === ";") {
      finish();
    } else if (character === "(" && beginsComment()) {
      const end = endOfComment(text, at);
      if (end < 0 && !text.includes(";", at)) break;
      // An unclosed comment is ordinary text, so that it does not hide a boundary after it.
      commentsClose = end >= 0;
      if (commentsClose) at = end - 1;
      else take(character);
    } else if (wasQuoted) {
      // A value ends at its closing quote.
    } else if (character === '"') {
      const end = endOfQuoted(text, at);
      token = trimBlanks(token) + unquoted(text.slice(at + 1, end));
      endsBlank = isBlank(token.charCodeAt(token.length - 1));
      wasQuoted = true;
      at = end;
    } else if (character === "=" && value !== undefined && name === undefined) {
      name = trimBlanks(token).toLowerCase();
      token = "";
    } else {
      take(character);
    }
  }
  finish();
  return { value: value ?? "", parameters, isPieced: text.includes("*") };
}

/** The offset of the quote that closes the one at `from`, or the end of the text. */
export function endOfQuoted(text: string, from: number): number {
  let at = from + 1;
  while (at < text.length && text[at] !== '"') at += text[at] === "\\" ? 2 : 1;
  return Math.min(at, text.length);
}

/** Removes the backslashes before quotes and backslashes. Before a letter a backslash stays, as in `C:\TEMP\x.png`. */
export function unquoted(text: string): string {
  return text.replace(/\\(["\\])/g, "$1");
}

/** The offset after the comment that begins at `from`, with nested comments (RFC 5322 §3.2.2), or -1 if it never closes. */
export function endOfComment(text: string, from: number): number {
  let depth = 0;
  for (let at = from; at < text.length; at++) {
    const character = text[at];
    if (character === "\\") at++;
    else if (character === "(") depth++;
    else if (character === ")" && --depth === 0) return at + 1;
  }
  return -1;
}
