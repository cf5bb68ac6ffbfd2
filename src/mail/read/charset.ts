import { isAscii, isUtf8 } from "node:buffer";
import { boundedMemory } from "../../primitives/memory.ts";
import { escapedCharsets, pagedCharsets, wideCharsets } from "./old-charsets.ts";

/**
 * Decodes bytes with the sender's charset label, if there is one. Bytes that contradict the label overrule it, because many mailers label
 * text without reading it. A byte order mark overrules it, too. Without a useful label, the text is UTF-8 if the bytes are valid,
 * ISO-2022-JP if they have its escapes, and otherwise windows-1252, the most frequent charset of such mail.
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

/** The first label of a charset other than ASCII and UTF-8. */
export function firstCharset(labels: Iterable<string | undefined>): string | undefined {
  for (const label of labels) {
    const named = label === undefined ? undefined : charsetNamed(label);
    if (named !== undefined && named.kind !== "utf-8") return label;
  }
  return undefined;
}

/** The charset that HTML declares at its beginning (HTML Standard §13.2.3.2). */
export function charsetOfHtml(bytes: Buffer): string | undefined {
  const [, label] = metaCharset.exec(bytes.toString("latin1", 0, 2048)) ?? [];
  return label;
}

const metaCharset = /<meta\s[^<>]{0,200}?charset\s{0,9}=\s{0,9}["']?([^\s"'/<>;]{1,40})/i;

interface Charset {
  /**
   * The meaning of bytes below 0x80. In `utf-8`, `letters` (one byte for each letter) and `pairs` (two bytes for most), they are ASCII. In
   * `escapes` and `wide` (units of two or four bytes), they can be parts of other letters.
   */
  kind: "utf-8" | "letters" | "pairs" | "escapes" | "wide";
  decode: (bytes: Buffer) => string;
}

/**
 * True if bytes that are valid UTF-8 are probably UTF-8, although their label names another charset. `unicode` is their text in UTF-8, `named`
 * their text in the charset of the label.
 */
function contradicts(unicode: string, kind: Charset["kind"], named: string): boolean {
  if (kind === "letters") return likelyLetter.test(unicode);
  if (kind === "wide") return !unicode.includes("\0");
  return named.includes("\ufffd") || severalLetters.test(unicode);
}

/** Three bytes are not valid UTF-8 by chance. Two may be, like `É…` in windows-1252, but they rarely decode to a common letter. */
const likelyLetter = /[\u{800}-\u{10ffff}]|[[\u0080-\u017f\u02b0-\u07ff]&&\p{L}]/v;
const severalLetters = /^(?:(?:[\0-\u07ff]*[\u{800}-\u{10ffff}]){2}|(?:[\0-\x7f]*[^\0-\x7f]){4})/u;

function markedCharset(bytes: Buffer): Charset | undefined {
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) return utf8;
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return charsetNamed("utf-16be");
  if (bytes[0] === 0 && bytes[1] === 0 && bytes[2] === 0xfe && bytes[3] === 0xff) return charsetNamed("utf-32be");
  if (bytes[0] === 0xff && bytes[1] === 0xfe && bytes[2] === 0 && bytes[3] === 0) return charsetNamed("utf-32le");
  return bytes[0] === 0xff && bytes[1] === 0xfe ? charsetNamed("utf-16le") : undefined;
}

/**
 * True for UTF-8 that lost a few bytes: at least nine of ten bytes beyond ASCII are valid UTF-8. In text of other charsets far fewer are.
 */
export function isMostlyUtf8(bytes: Buffer): boolean {
  const seen = bytes.subarray(0, 64 * 1024);
  let others = 0;
  for (let at = 0; at < seen.length; at++) others += (seen[at] ?? 0) >> 7;
  const text = utf8Decoder.decode(seen);
  const bad = text.split("\ufffd").length - 1;
  const good = Buffer.byteLength(text) - (seen.length - others) - 3 * bad;
  return good >= 0.9 * others;
}

/** True for UTF-8 with encoded surrogates (CESU-8), which some software based on UTF-16 writes. */
function isCesu(bytes: Buffer): boolean {
  const others = bytes.toString("latin1").replace(/\xed[\xa0-\xbf][\x80-\xbf]/g, "");
  return others.length < bytes.length && isUtf8(Buffer.from(others, "latin1"));
}

function hasJapaneseEscapes(bytes: Buffer): boolean {
  return bytes.includes(0x1b) && (bytes.includes("\x1b$B") || bytes.includes("\x1b$@"));
}

/** Caches the charsets of the last 200 labels. The cache is bounded, because labels come from strangers. */
const known = boundedMemory<string, Charset | "none">(200);

/** The charset of a label; `undefined` if it is unknown or ASCII, which needs no charset. */
function charsetNamed(label: string): Charset | undefined {
  const remembered = known.get(label);
  if (remembered !== undefined) return remembered === "none" ? undefined : remembered;
  const charset = label.length > 40 ? undefined : lookedUp(label.toLowerCase().replace(/[\s'"]/g, ""));
  known.set(label, charset ?? "none");
  return charset;
}

function lookedUp(label: string): Charset | undefined {
  // Mailers write the same charset with different prefixes and separators, so these are removed.
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

/** Without a byte order mark the first byte is the high one (RFC 2781 §4.3), unless a zero follows, as in Latin letters. */
function decoderOfUtf16(bytes: Buffer): TextDecoder {
  return new TextDecoder(bytes[1] === 0 ? "utf-16le" : "utf-16be");
}

/** The kinds of the runtime's charsets. All others have one byte for each letter. */
const kinds: ReadonlyMap<string, Charset["kind"]> = new Map([
  ["utf-8", "utf-8"],
  ["utf-16le", "wide"],
  ["utf-16be", "wide"],
  ["iso-2022-jp", "escapes"],
  ["gbk", "pairs"],
  ["gb18030", "pairs"],
  ["big5", "pairs"],
  ["euc-jp", "pairs"],
  ["euc-kr", "pairs"],
  ["shift_jis", "pairs"],
]);

/** Labels that the Encoding Standard lacks, and those of ASCII, which it takes for windows-1252. All are written without separators. */
const aliases: ReadonlyMap<string, string> = new Map(
  Object.entries({
    "us-ascii": "usascii ascii 646 iso646us ansix341968",
    "utf-7": "unicode11utf7 unicode20utf7 utf7",
    "hz-gb-2312": "hzgb2312 hz",
    "iso-2022-kr": "iso2022kr",
    cp437: "ibm437 cp437 437 pc8codepage437",
    cp850: "ibm850 cp850 850 pc850multilingual",
    shift_jis: "cp932 ms932 windows932 sjis",
    gbk: "cp936 ms936 windows936 gb231280",
    "euc-kr": "cp949 ms949 windows949 uhc",
    big5: "cp950 ms950 windows950",
    "euc-jp": "eucjp cp51932",
    "iso-2022-jp": "iso2022jp1 iso2022jp2 iso2022jpms cp50220 cp50221 cp50222 junet",
    "windows-874": "tis620 cp874",
    macintosh: "macroman",
    "utf-32": "utf32",
    "utf-32le": "utf32le",
    "utf-32be": "utf32be ucs4",
  }).flatMap(([name, labels]) => labels.split(" ").map((label) => [label, name] as const)),
);

const utf8: Charset = { kind: "utf-8", decode: (bytes) => utf8Decoder.decode(bytes) };
const utf8Decoder = new TextDecoder("utf-8");
const windows1252: Charset = { kind: "letters", decode: (bytes) => windows1252Decoder.decode(bytes) };
const windows1252Decoder = new TextDecoder("windows-1252");
const japanese = new TextDecoder("iso-2022-jp");
