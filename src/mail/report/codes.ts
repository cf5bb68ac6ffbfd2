/** The codes in a server's reply (RFC 5321 §4.2, RFC 3463), in order. */
export interface Codes {
  code: number | undefined;
  enhancedCodes: string[];
}

const mostCodes = 20;

export function codesIn(text: string): Codes {
  const enhancedCodes: string[] = [];
  for (const [, code = ""] of text.matchAll(enhanced)) {
    if (enhancedCodes.length >= mostCodes) break;
    if (!enhancedCodes.includes(code)) enhancedCodes.push(code);
  }
  const [, code] = beforeEnhanced.exec(text) ?? afterMark.exec(text) ?? [];
  return { code: code === undefined ? undefined : Number(code), enhancedCodes };
}

/** An enhanced code that is not part of an IP address, a version or a date. */
const enhanced = /(?<![\d.a-z-])([245]\.\d{1,3}\.\d{1,3})(?!\.?\d)/gi;

/** Matches an SMTP code directly before an enhanced code: `550 5.1.1`, `550-5.1.1`, `550 #5.1.1`. */
const beforeEnhanced = /(?<![\d.])([45][0-5]\d)[ -]{1,2}[#(]?[45]\.\d{1,3}\.\d{1,3}(?!\.?\d)/;

/** A code at the beginning of a line, or after an introduction: `said: 550 …`, `<<< 550 …`, `(550 …`, `error 550`. */
const afterMark =
  /(?:^[ \t]{0,8}|[:;<("'[=#][ \t]{0,4}|\b(?:error|code|reply|status|said|answer|response|with|smtp)[ \t]{1,4})#?([45][0-5]\d)(?=[ ,;:)\]-]{1,2}[^\d\s]|[ -]{1,2}#?\d\.\d|[\])"'.]?[ \t]{0,4}$)/im;

/** True if the text has words besides codes, hosts and addresses. A text such as `550` alone gives no reason for a failure. */
export function hasWords(text: string): boolean {
  const plain = text.split(/\s/).filter((token) => !/[@.\d]/.test(token));
  const words = plain.join(" ").match(/\p{L}{3,}/gu) ?? [];
  return words.filter((word) => !empty.has(word.toLowerCase())).length >= 2 || /[\u3040-\u9fff]{3}/.test(text);
}

const empty: ReadonlySet<string> = new Set([
  "smtp",
  "unix",
  "error",
  "delivery",
  "host",
  "said",
  "status",
  "code",
  "dns",
  "rfc",
]);
