import { isUtf8 } from "node:buffer";
import { decodeText, isMostlyUtf8 } from "./charset.ts";
import { decodeTransfer } from "./transfer-encoding.ts";

/**
 * The text of a field with its encoded words decoded (RFC 2047). The field has one character for each byte. Bytes outside of words are
 * UTF-8 (RFC 6532). If they are not valid UTF-8, they are decoded with `rawCharset`, a charset that the mail names elsewhere.
 */
export function decodeWords(field: string, rawCharset?: string): string {
  if (isPlain(field)) return field;
  return piecesOf(field, rawCharset)
    .map(({ text }) => text)
    .join("");
}

/**
 * The text of a field in which each run of encoded words becomes one encoded word. Encoded words are atoms when a field is parsed (RFC 2047
 * §6.2), so that a comma or bracket inside them separates nothing.
 */
export function withWordsAsAtoms(field: string, rawCharset?: string): string {
  if (isPlain(field)) return field;
  return piecesOf(field, rawCharset)
    .map(({ text, isWord }) => (isWord ? `=?utf-8?B?${Buffer.from(text).toString("base64")}?=` : text))
    .join("");
}

/** The charset of the first encoded word in a field. */
export function charsetOfWord(field: string): string | undefined {
  encodedWord.lastIndex = 0;
  return field.includes("=?") ? labelOf(encodedWord.exec(field)?.[1]) : undefined;
}

interface Piece {
  text: string;
  isWord: boolean;
}

interface Word {
  label: string | undefined;
  bytes: Uint8Array;
}

/** Matches an encoded word (RFC 2047 §2). White space in its text is also allowed, because many mailers do not encode spaces. */
const encodedWord = /=\?([^?\s]{1,80})\?([QqBb])\?([^?]*)\?=/g;

function isPlain(field: string): boolean {
  return !field.includes("=?") && !beyondPrintable.test(field);
}

const beyondPrintable = /[\x1b\x80-\xff]/;

function piecesOf(field: string, rawCharset: string | undefined): Piece[] {
  const pieces: Piece[] = [];
  const literals = field.replace(encodedWord, "");
  // Valid UTF-8 is decoded as UTF-8, even if the mail names another charset.
  const literalCharset = charsetOfLiterals(Buffer.from(literals, "latin1"), rawCharset);
  let run: Word[] = [];
  let end = 0;

  function endRun(): void {
    if (run.length > 0) pieces.push({ text: textOfRun(run), isWord: true });
    run = [];
  }

  function takeLiteral(literal: string): void {
    endRun();
    if (literal !== "")
      pieces.push({ text: decodeText(Buffer.from(literal, "latin1"), literalCharset), isWord: false });
  }

  for (const { 0: word, 1: label, 2: encoding = "", 3: text = "", index } of field.matchAll(encodedWord)) {
    const between = field.slice(end, index);
    // White space between two encoded words comes from folding (RFC 2047 §6.2).
    if (run.length === 0 || /[^ \t\r\n]/.test(between)) takeLiteral(between);
    run.push({ label: labelOf(label), bytes: encoding.toUpperCase() === "B" ? ofBase64(text) : ofQ(text) });
    end = index + word.length;
  }
  takeLiteral(field.slice(end));
  return pieces;
}

function charsetOfLiterals(literals: Buffer, rawCharset: string | undefined): string | undefined {
  if (isUtf8(literals)) return undefined;
  return isMostlyUtf8(literals) ? "utf-8" : rawCharset;
}

/** The charset of an encoded word, in lower case and without the language that may follow it (RFC 2231 §5). */
function labelOf(written: string | undefined): string | undefined {
  return written?.split("*", 1)[0]?.toLowerCase();
}

/** Decodes consecutive words of the same charset together, because many mailers split a letter between two words. */
function textOfRun(words: readonly Word[]): string {
  let text = "";
  for (let start = 0, end = 0; start < words.length; start = end) {
    const label = words[start]?.label;
    while (end < words.length && words[end]?.label === label) end++;
    text += textOfWords(words.slice(start, end), label);
  }
  return text;
}

function textOfWords(words: readonly Word[], label: string | undefined): string {
  const joined = decodeText(Buffer.concat(words.map(({ bytes }) => bytes)), label);
  if (words.length === 1 || !joined.includes("\ufffd")) return joined;
  const apart = words.map(({ bytes }) => decodeText(Buffer.from(bytes), label)).join("");
  return apart.includes("\ufffd") ? joined : apart;
}

function ofBase64(text: string): Uint8Array {
  return decodeTransfer(Buffer.from(text, "latin1"), "base64");
}

/** Decodes the Q encoding (RFC 2047 §4.2). */
function ofQ(text: string): Uint8Array {
  const decoded = text
    .replaceAll("_", " ")
    .replace(/=([0-9a-f]{2})/gi, (_, digits) => String.fromCharCode(Number.parseInt(digits, 16)));
  return Buffer.from(decoded, "latin1");
}
