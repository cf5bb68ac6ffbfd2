/**
 * The declarations of a style attribute (CSS Syntax 3 §4.3). A semicolon separates two, except within strings and brackets. Comments become
 * spaces, escapes become their letters, and strings and addresses become empty.
 */
export function declarationsIn(style: string): readonly string[] {
  return awkward.test(style) ? partedBySigns(style) : style.split(";");
}

const awkward = /["'\\([{]|\/\*/;

function partedBySigns(style: string): string[] {
  const declarations: string[] = [];
  dividing.lastIndex = 0;
  let written = "";
  /** The last four characters of `written`. Reading them from the growing text would copy it each time. */
  let last = "";
  const brackets: string[] = [];
  let at = 0;
  const pass = (instead: string, end: number) => {
    written += instead;
    last = (last + instead.slice(-addressName)).slice(-addressName);
    at = end;
  };
  for (let found = dividing.exec(style); found !== null; found = dividing.exec(style)) {
    const [sign] = found;
    pass(style.slice(at, found.index), found.index);
    if (sign === ";" && brackets.length === 0) {
      declarations.push(written);
      [written, last] = ["", ""];
      at += 1;
    } else if (sign === "\\") {
      const { letter, end } = escapeAt(style, at);
      pass(letter, end);
    } else if (sign === "/*") pass(" ", behind(style, "*/", at + 2));
    else if (sign === '"' || sign === "'") pass('""', endOfString(style, at));
    else if (sign === "(" && beginsAddress(last, style, at + 1)) pass("()", endOfAddress(style, at));
    else {
      const end = closing[sign];
      if (end !== undefined) brackets.push(end);
      else if (brackets.at(-1) === sign) brackets.pop();
      pass(sign, at + 1);
    }
    dividing.lastIndex = at;
  }
  declarations.push(written + style.slice(at));
  return declarations;
}

const dividing = /\/\*|["'\\;()[\]{}]/g;

/** The closing bracket of each opening one. */
const closing: Readonly<Record<string, string>> = { "(": ")", "[": "]", "{": "}" };

/**
 * Decodes an escape of CSS. It becomes its character if that is a letter, a digit, `_` or `-`; any other sign becomes U+FFFD, which has no
 * meaning in CSS.
 */
function escapeAt(style: string, at: number): { letter: string; end: number } {
  const [whole, hex] = /^\\([0-9a-f]{1,6})(?:\r\n|[ \t\r\n\f])?/i.exec(style.slice(at, at + longestEscape)) ?? [];
  if (whole === undefined || hex === undefined) return { letter: nameSign(style.charAt(at + 1)), end: at + 2 };
  const code = Number.parseInt(hex, 16);
  return { letter: nameSign(code < 0x80 ? String.fromCharCode(code) : ""), end: at + whole.length };
}

const longestEscape = 9;

function nameSign(sign: string): string {
  return /^[\w-]$/.test(sign) ? sign : otherSign;
}

const otherSign = "\ufffd";

/** The offset after the closing quote. Without one, the string ends at the end of the line. */
function endOfString(style: string, start: number): number {
  const quote = style[start];
  for (let at = start + 1; at < style.length; at += 1) {
    const sign = style[at];
    if (sign === "\\") at += 1;
    else if (sign === quote) return at + 1;
    else if (sign === "\n" || sign === "\r" || sign === "\f") return at;
  }
  return style.length;
}

/** True if `url(` begins an address without quotes, which reaches to the closing bracket. */
function beginsAddress(before: string, style: string, from: number): boolean {
  if (!/(?:^|[^\w-])url$/i.test(before)) return false;
  let at = from;
  while (isSpace.test(style.charAt(at))) at += 1;
  return !['"', "'"].includes(style.charAt(at));
}

/** The number of characters that `beginsAddress` examines before a bracket: those of `url`, and one before it. */
const addressName = 4;
const isSpace = /^\s$/;

function endOfAddress(style: string, bracket: number): number {
  for (let at = bracket + 1; at < style.length; at += 1) {
    if (style[at] === "\\") at += 1;
    else if (style[at] === ")") return at + 1;
  }
  return style.length;
}

function behind(style: string, mark: string, from: number): number {
  const found = style.indexOf(mark, from);
  return found < 0 ? style.length : found + mark.length;
}
