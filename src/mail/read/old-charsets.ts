/** Decoders of 7-bit charsets with escapes, which the runtime lacks, by label. */
export const escapedCharsets: ReadonlyMap<string, (bytes: Buffer) => string> = new Map([
  ["utf-7", decodeUtf7],
  ["hz-gb-2312", decodeHz],
  ["iso-2022-kr", decodeIso2022Kr],
]);

/** Decoders of UTF-32, which the runtime lacks. Without a byte order in the label, a zero in the first byte means big-endian. */
export const wideCharsets: ReadonlyMap<string, (bytes: Buffer) => string> = new Map([
  ["utf-32", (bytes: Buffer) => decodeUtf32(bytes, bytes[0] !== 0)],
  ["utf-32le", (bytes: Buffer) => decodeUtf32(bytes, true)],
  ["utf-32be", (bytes: Buffer) => decodeUtf32(bytes, false)],
]);

function decodeUtf32(bytes: Buffer, isLittleEndian: boolean): string {
  const units = new Uint16Array(bytes.length >> 1);
  let length = 0;
  for (let at = 0; at + 4 <= bytes.length; at += 4) {
    const point = isLittleEndian ? bytes.readUInt32LE(at) : bytes.readUInt32BE(at);
    const isMark = at === 0 && point === 0xfeff;
    if (isMark) continue;
    const isLetter = point < 0xd800 || (point > 0xdfff && point <= 0x10ffff);
    if (isLetter && point > 0xffff) {
      units[length++] = 0xd800 + ((point - 0x10000) >> 10);
      units[length++] = 0xdc00 + ((point - 0x10000) & 0x3ff);
    } else {
      units[length++] = isLetter ? point : 0xfffd;
    }
  }
  return Buffer.from(units.buffer, 0, 2 * length).toString("utf16le");
}

/** The letters of each code page for the bytes from 0x80 on. */
const codePages: ReadonlyMap<string, string> = new Map([
  [
    "cp437",
    "ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜ¢£¥₧ƒáíóúñÑªº¿⌐¬½¼¡«»░▒▓│┤╡╢╖╕╣║╗╝╜╛┐└┴┬├─┼╞╟╚╔╩╦╠═╬╧╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀αßΓπΣσµτΦΘΩδ∞φε∩≡±≥≤⌠⌡÷≈°∙·√ⁿ²■\u00a0",
  ],
  [
    "cp850",
    "ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜø£Ø×ƒáíóúñÑªº¿®¬½¼¡«»░▒▓│┤ÁÂÀ©╣║╗╝¢¥┐└┴┬├─┼ãÃ╚╔╩╦╠═╬¤ðÐÊËÈıÍÎÏ┘┌█▄¦Ì▀ÓßÔÒõÕµþÞÚÛÙýÝ¯´\u00ad±‗¾¶§÷¸°¨·¹³²■\u00a0",
  ],
]);

export const pagedCharsets: ReadonlyMap<string, (bytes: Buffer) => string> = new Map(
  [...codePages].map(([label, letters]) => [label, (bytes: Buffer) => decodePage(bytes, letters)]),
);

function decodePage(bytes: Buffer, letters: string): string {
  return bytes.toString("latin1").replace(/[\x80-\xff]/g, (byte) => letters.charAt(byte.charCodeAt(0) - 0x80));
}

/** Decodes UTF-7 (RFC 2152): `+` begins UTF-16 in base64, `-` or another character ends it, and `+-` is a plus. */
function decodeUtf7(bytes: Buffer): string {
  return bytes.toString("latin1").replace(/\+([A-Za-z0-9+/]*)-?/g, (written, digits) => {
    if (digits === "") return "+";
    const units = Buffer.from(digits, "base64");
    const whole = units.subarray(0, units.length - (units.length % 2));
    return whole.length === 0 ? written : whole.swap16().toString("utf16le");
  });
}

/** Decodes HZ (RFC 1843): pairs of 7-bit bytes stand between `~{` and `~}`; `~~` is a tilde; `~` at the end of a line is dropped. */
function decodeHz(bytes: Buffer): string {
  return bytes.toString("latin1").replace(/~\{((?:[!-w][!-~])*)(?:~\})?|~~|~\r?\n/g, (written, pairs) => {
    if (pairs !== undefined) return chinese.decode(raised(pairs));
    return written === "~~" ? "~" : "";
  });
}

/** Decodes ISO-2022-KR (RFC 1557): pairs of 7-bit bytes stand between SO and SI. */
function decodeIso2022Kr(bytes: Buffer): string {
  return bytes
    .toString("latin1")
    .replaceAll("\x1b$)C", "")
    .replace(/\x0e([^\x0f\r\n]*)\x0f?/g, (_, pairs) => korean.decode(raised(pairs)));
}

/** Sets the high bit of printable 7-bit bytes, which turns the pairs of a 7-bit charset into those of its 8-bit form. */
function raised(pairs: string): Uint8Array {
  return Buffer.from(pairs, "latin1").map((byte) => (byte > 0x20 && byte < 0x7f ? byte | 0x80 : byte));
}

const chinese = new TextDecoder("gbk");
const korean = new TextDecoder("euc-kr");
