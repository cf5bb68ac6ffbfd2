/** A token of Rich Text Format: the beginning or end of a group, a control word or symbol, or an octet of text. */
export type RtfToken =
  | { kind: "open" | "close" }
  | { kind: "control"; word: string; value: number | undefined }
  | { kind: "octet"; value: number };

const open = { kind: "open" } as const;
const close = { kind: "close" } as const;

export function* rtfTokens(bytes: Buffer): Generator<RtfToken> {
  for (let at = 0; at < bytes.length; ) {
    const octet = bytes[at++] ?? 0;
    if (octet === openBrace) yield open;
    else if (octet === closeBrace) yield close;
    else if (octet === backslash) {
      const symbol = String.fromCharCode(bytes[at] ?? 0);
      if (symbol === "'") {
        const hex = bytes.toString("latin1", at + 1, at + 3);
        if (/^[0-9a-fA-F]{2}$/.test(hex)) yield { kind: "octet", value: Number.parseInt(hex, 16) };
        at += 3;
      } else if (!isLetter(bytes[at])) {
        at++;
        if (symbol === "\\" || symbol === "{" || symbol === "}") yield { kind: "octet", value: symbol.charCodeAt(0) };
        else yield { kind: "control", word: symbol, value: undefined };
      } else {
        const [control, end] = controlAt(bytes, at);
        // Binary data stands raw behind its length.
        at = control.word === "bin" ? end + Math.max(0, control.value ?? 0) : end;
        yield control;
      }
    } else if (octet !== cr && octet !== lf && octet !== 0) yield { kind: "octet", value: octet };
  }
}

const longestWord = 32;
const longestNumber = 10;

/** Reads the control word at `start`, with its number and the space that ends it. */
function controlAt(bytes: Buffer, start: number): [control: RtfToken & { kind: "control" }, end: number] {
  let at = start;
  while (isLetter(bytes[at]) && at - start < longestWord) at++;
  const word = bytes.toString("latin1", start, at);
  const numberStart = at;
  if (bytes[at] === minus) at++;
  while (isDigit(bytes[at]) && at - numberStart < longestNumber) at++;
  const digits = bytes.toString("latin1", numberStart, at);
  if (bytes[at] === space) at++;
  const value = /\d/.test(digits) ? Number.parseInt(digits, 10) : undefined;
  return [{ kind: "control", word, value }, at];
}

const lf = 0x0a;
const cr = 0x0d;
const space = 0x20;
const minus = 0x2d;
const backslash = 0x5c;
const openBrace = 0x7b;
const closeBrace = 0x7d;

function isLetter(octet = 0): boolean {
  const lower = octet | 0x20;
  return lower >= 0x61 && lower <= 0x7a;
}

function isDigit(octet = 0): boolean {
  return octet >= 0x30 && octet <= 0x39;
}
