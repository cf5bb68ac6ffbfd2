/** Control words that stand for characters. */
export const rtfCharacters: Readonly<Record<string, string>> = {
  tab: "\t",
  line: "\n",
  emdash: "—",
  endash: "–",
  emspace: "\u2003",
  enspace: "\u2002",
  qmspace: "\u2005",
  bullet: "•",
  lquote: "‘",
  rquote: "’",
  ldblquote: "“",
  rdblquote: "”",
  "~": "\u00a0",
  _: "\u2011",
  "\n": "\n",
  "\r": "\n",
};

/** The code pages of the charsets of fonts (RTF 1.9.1, "Font Table"). Charset 0 is the page of the document. */
export const charsetPages: Readonly<Record<number, number>> = {
  77: 10_000,
  128: 932,
  129: 949,
  134: 936,
  136: 950,
  161: 1253,
  162: 1254,
  163: 1258,
  177: 1255,
  178: 1256,
  186: 1257,
  204: 1251,
  222: 874,
  238: 1250,
};

const labels: Readonly<Record<number, string>> = {
  866: "ibm866",
  874: "windows-874",
  932: "shift_jis",
  936: "gbk",
  949: "euc-kr",
  950: "big5",
  10000: "macintosh",
  20866: "koi8-r",
  65001: "utf-8",
};

const decoders = new Map<number, TextDecoder>();

/** The decoder of a code page; that of 1252 for an unknown one. */
export function decoderOfPage(page: number): TextDecoder {
  const label = labels[page] ?? (page >= 1250 && page <= 1258 ? `windows-${page}` : "windows-1252");
  const decoder = decoders.get(page) ?? new TextDecoder(label);
  if (decoders.size < 50) decoders.set(page, decoder);
  return decoder;
}
