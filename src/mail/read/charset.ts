import { isAscii, isUtf8 } from "node:buffer";
import { boundedMemory } from "../../primitives/memory.ts";
import { escapedCharsets, pagedCharsets, wideCharsets } from "./old-charsets.ts";

/**
 * The text of bytes whose sender names their charset so, or names none. The bytes have the last word: many a mailer labels
 * what it never looked at. A byte order mark beats the label; without a label, or with one that says nothing, it is
 * UTF-8 where the bytes are, ISO-2022-JP where its escapes stand, and else windows-1252, which in mail is far more often
 * meant than anything else.
 */
export function decodeText(bytes: Buffer, label?: string): string {
  const marked = markedCharset(bytes);
  if (marked !== undefined) return marked.decode(bytes);
  const named = label === undefined ? undefined : charsetNamed(label);
  const ascii = isAscii(bytes);
  if (ascii && named === undefined && hasJapaneseEscapes(bytes)) return japanese.decode(bytes);
  const { kind, decode } = named ?? windows1252;
  if (ascii && kind !== "escapes" && kind !== "wide") return bytes.toString("latin1");
  if (kind === "utf-8" || (kind === "escapes" && ascii)) return decode(bytes);
  if (!isUtf8(bytes)) {
    const isMeant = named === undefined && isCesu(bytes);
    return isMeant || (kind === "letters" && isMostlyUtf8(bytes)) ? utf8.decode(bytes) : decode(bytes);
  }
  const unicode = bytes.toString("utf8");
  return named === undefined || contradicts(unicode, kind, decode(bytes)) ? unicode : decode(bytes);
}

/** The first label that says more of raw bytes than that they should have been ASCII or UTF-8. */
export function tellingCharset(labels: Iterable<string | undefined>): string | undefined {
  for (const label of labels) {
    const named = label === undefined ? undefined : charsetNamed(label);
    if (named !== undefined && named.kind !== "utf-8") return label;
  }
  return undefined;
}

/** What HTML says of its own bytes (HTML Standard §13.2.3.2), looked for where it must stand: at the beginning. */
export function charsetOfHtml(bytes: Buffer): string | undefined {
  const [, label] = metaCharset.exec(bytes.toString("latin1", 0, 2048)) ?? [];
  return label;
}

const metaCharset = /<meta\s[^<>]{0,200}?charset\s{0,9}=\s{0,9}["']?([^\s"'/<>;]{1,40})/i;

interface Charset {
  /** Whether its bytes below 0x80 are ASCII (`letters` of one byte, `pairs`), or begin escapes, or halves of letters. */
  kind: "utf-8" | "letters" | "pairs" | "escapes" | "wide";
  decode: (bytes: Buffer) => string;
}

/** True where bytes that are valid UTF-8 can't be meant as their label says, which reads them as `named`. */
function contradicts(unicode: string, kind: Charset["kind"], named: string): boolean {
  if (kind === "letters") return likelyLetter.test(unicode);
  if (kind === "wide") return !unicode.includes("\0");
  return named.includes("\ufffd") || severalLetters.test(unicode);
}

/** Three bytes don't go together by chance; two may, as the `É…` of windows-1252 does with a letter of no living tongue. */
const likelyLetter = /[\u{800}-\u{10ffff}]|[[\u0080-\u017f\u02b0-\u07ff]&&\p{L}]/v;
const severalLetters = /^(?:(?:[\0-\u07ff]*[\u{800}-\u{10ffff}]){2}|(?:[\0-\x7f]*[^\0-\x7f]){4})/u;

function markedCharset(bytes: Buffer): Charset | undefined {
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) return utf8;
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return charsetNamed("utf-16be");
  if (bytes[0] === 0 && bytes[1] === 0 && bytes[2] === 0xfe && bytes[3] === 0xff) return charsetNamed("utf-32be");
  if (bytes[0] === 0xff && bytes[1] === 0xfe && bytes[2] === 0 && bytes[3] === 0) return charsetNamed("utf-32le");
  return bytes[0] === 0xff && bytes[1] === 0xfe ? charsetNamed("utf-16le") : undefined;
}

/** UTF-8 with a few bytes lost or cut: nine of ten that are not ASCII. What no other charset of single bytes comes near. */
export function isMostlyUtf8(bytes: Buffer): boolean {
  const seen = bytes.subarray(0, 64 * 1024);
  let others = 0;
  for (let at = 0; at < seen.length; at++) others += (seen[at] ?? 0) >> 7;
  const text = utf8Decoder.decode(seen);
  const bad = text.split("\ufffd").length - 1;
  const good = Buffer.byteLength(text) - (seen.length - others) - 3 * bad;
  return good >= 0.9 * others;
}

/** UTF-8 but for surrogates in it (CESU-8), as software writes it that thinks in UTF-16. */
function isCesu(bytes: Buffer): boolean {
  const others = bytes.toString("latin1").replace(/\xed[\xa0-\xbf][\x80-\xbf]/g, "");
  return others.length < bytes.length && isUtf8(Buffer.from(others, "latin1"));
}

function hasJapaneseEscapes(bytes: Buffer): boolean {
  return bytes.includes(0x1b) && (bytes.includes("\x1b$B") || bytes.includes("\x1b$@"));
}

/** Labels are a stranger's words: what was looked up is remembered, but not for ever. */
const known = boundedMemory<string, Charset | "none">(200);

/** The charset of a label; `undefined` where it is unknown, or says ASCII, which needs no charset. */
function charsetNamed(label: string): Charset | undefined {
  const remembered = known.get(label);
  if (remembered !== undefined) return remembered === "none" ? undefined : remembered;
  const charset = label.length > 40 ? undefined : lookedUp(label.toLowerCase().replace(/[\s'"]/g, ""));
  known.set(label, charset ?? "none");
  return charset;
}

function lookedUp(label: string): Charset | undefined {
  // Mailers set prefixes and separators as they like.
  const bare = label.replace(/^(?:x-|cs)/, "").replace(/[-_.:]/g, "");
  const name = aliases.get(bare) ?? bare.replace(/^(?:cp|ms|win|windows)(?=125\d$)/, "windows-");
  if (name === "us-ascii") return undefined;
  const escaped = escapedCharsets.get(name);
  if (escaped !== undefined) return { kind: "escapes", decode: escaped };
  const wide = wideCharsets.get(name);
  if (wide !== undefined) return { kind: "wide", decode: wide };
  const paged = pagedCharsets.get(name);
  if (paged !== undefined) return { kind: "letters", decode: paged };
  return ofRuntime(label) ?? ofRuntime(name);
}

function ofRuntime(label: string): Charset | undefined {
  try {
    const decoder = new TextDecoder(label);
    const kind = kinds.get(decoder.encoding) ?? "letters";
    if (kind === "wide" && label === "utf-16") return { kind, decode: (bytes) => decoderOfUtf16(bytes).decode(bytes) };
    return { kind, decode: (bytes) => decoder.decode(bytes) };
  } catch {
    return undefined;
  }
}

/** Without a mark the first byte is the high one (RFC 2781 §4.3), unless the zeros of Latin letters stand behind. */
function decoderOfUtf16(bytes: Buffer): TextDecoder {
  return new TextDecoder(bytes[1] === 0 ? "utf-16le" : "utf-16be");
}

/** All others have a letter for each byte. */
const kinds: ReadonlyMap<string, Charset["kind"]> = new Map([
  ["utf-8", "utf-8"],
  ["utf-16le", "wide"],
  ["utf-16be", "wide"],
  ["iso-2022-jp", "escapes"],
  ...["gbk", "gb18030", "big5", "euc-jp", "euc-kr", "shift_jis"].map((name) => [name, "pairs"] as const),
]);

/** Labels that the Encoding Standard has not, bare, and ASCII's, which it reads as windows-1252. */
const aliases: ReadonlyMap<string, string> = new Map([
  ...["usascii", "ascii", "646", "iso646us", "ansix341968"].map((name) => [name, "us-ascii"] as const),
  ...["unicode11utf7", "unicode20utf7", "utf7"].map((name) => [name, "utf-7"] as const),
  ...["hzgb2312", "hz"].map((name) => [name, "hz-gb-2312"] as const),
  ["iso2022kr", "iso-2022-kr"],
  ...["ibm437", "cp437", "437", "pc8codepage437"].map((name) => [name, "cp437"] as const),
  ...["ibm850", "cp850", "850", "pc850multilingual"].map((name) => [name, "cp850"] as const),
  ...["cp932", "ms932", "windows932", "sjis"].map((name) => [name, "shift_jis"] as const),
  ...["cp936", "ms936", "windows936", "gb231280"].map((name) => [name, "gbk"] as const),
  ...["cp949", "ms949", "windows949", "uhc"].map((name) => [name, "euc-kr"] as const),
  ...["cp950", "ms950", "windows950"].map((name) => [name, "big5"] as const),
  ...["eucjp", "cp51932"].map((name) => [name, "euc-jp"] as const),
  ...["iso2022jp1", "iso2022jp2", "iso2022jpms", "cp50220", "cp50221", "cp50222", "junet"].map(
    (name) => [name, "iso-2022-jp"] as const,
  ),
  ...["tis620", "cp874"].map((name) => [name, "windows-874"] as const),
  ["macroman", "macintosh"],
  ["utf32", "utf-32"],
  ["utf32le", "utf-32le"],
  ...["utf32be", "ucs4"].map((name) => [name, "utf-32be"] as const),
]);

const utf8: Charset = { kind: "utf-8", decode: (bytes) => utf8Decoder.decode(bytes) };
const utf8Decoder = new TextDecoder("utf-8");
const windows1252: Charset = { kind: "letters", decode: (bytes) => windows1252Decoder.decode(bytes) };
const windows1252Decoder = new TextDecoder("windows-1252");
const japanese = new TextDecoder("iso-2022-jp");
