import { createHash } from "node:crypto";
import { cleanText } from "./text.ts";

/**
 * The canonical form of a Message-ID: without `<>` and white space from folding, with the domain in lower case (contract §7.1). Two ids are
 * the same if their canonical forms are equal.
 */
export function canonicalMessageId(raw: string): string | undefined {
  const id = bareMessageId(raw);
  return id === undefined ? undefined : canonical(id);
}

/** The first id in a Message-ID value as its sender wrote it, without `<>`, for mail programs that compare ids byte by byte. */
export function bareMessageId(raw: string): string | undefined {
  return idsIn(raw)[0] ?? bare(raw.replace(/[<>]/g, ""));
}

/** The canonical ids of an In-Reply-To or References value, in order (RFC 5322 §3.6.4). */
export function messageIdsOf(value: string): string[] {
  return idsIn(value).map(canonical);
}

/**
 * The ids in a value. Real mail has comments, phrases ("Your message of …"), commas, ids without `<>` and unclosed brackets, so everything
 * that is no id is skipped. One pass without backtracking, because a header may have 100,000 ids.
 */
function idsIn(value: string): string[] {
  const ids: string[] = [];
  let at = 0;
  while (at < value.length) {
    const code = value.charCodeAt(at);
    let end: number;
    let id: string | undefined;
    if (code === opening) {
      end = endOfBracketed(value, at + 1);
      id = bare(value.slice(at + 1, end));
      if (value.charCodeAt(end) === closing) end++;
    } else if (isSeparator(code)) {
      end = at + 1;
    } else {
      end = endOfWord(value, at);
      const word = value.slice(at, end);
      // Outside of brackets, a word is an id only if it has an @.
      if (word.includes("@")) id = bare(word);
    }
    if (id !== undefined) ids.push(id);
    at = end;
  }
  return ids;
}

/** The id for a mail without one, made from its content, so that the same mail always gets the same id. */
export function contentMessageId(raw: Uint8Array, mailDomain: string): string {
  const digest = createHash("sha256").update(raw).digest("hex");
  return `${digest.slice(0, 40)}@${mailDomain.toLowerCase()}`;
}

function bare(text: string): string | undefined {
  const id = unusual.test(text) ? cleanText(text.replace(blanks, "")) : text;
  return id === "" ? undefined : id;
}

function canonical(id: string): string {
  const at = id.lastIndexOf("@");
  return at < 0 ? id : id.slice(0, at) + id.slice(at).toLowerCase();
}

/** Characters to look for in an id: white space, controls, and characters that Postgres refuses. */
const unusual = /[\s\0-\u001f\u007f-\u009f\ud800-\udfff]/;
/** Characters to remove, since an id is shown, logged, and written into other mails. */
const blanks = /[\s\u0001-\u001f\u007f-\u009f]+/g;

/** The offset of the closing `>`. If it is missing: that of the next `<`, or the end of the value. */
function endOfBracketed(value: string, from: number): number {
  let at = from;
  if (value.charCodeAt(from) === quote) {
    // A quoted local part (RFC 5322 §4.5.4, obsolete) may have brackets. An @ must follow its closing quote.
    const close = endOfQuoted(value, from);
    if (value[close] === "@") at = close;
  }
  for (; at < value.length; at++) {
    const code = value.charCodeAt(at);
    if (code === closing || code === opening) break;
  }
  return at;
}

function endOfQuoted(value: string, from: number): number {
  let at = from + 1;
  while (at < value.length && value.charCodeAt(at) !== quote) at += value[at] === "\\" ? 2 : 1;
  return at + 1;
}

function endOfWord(value: string, from: number): number {
  let at = from + 1;
  while (at < value.length && value.charCodeAt(at) !== opening && !isSeparator(value.charCodeAt(at))) at++;
  return at;
}

/** True for a separator of words. Parentheses count, so that the words of a comment are skipped like those of a phrase. */
function isSeparator(code: number): boolean {
  return code <= 0x20 || code === 0x2c || code === 0x3b || code === closing || code === 0x28 || code === 0x29;
}

const quote = 0x22;
const opening = 0x3c;
const closing = 0x3e;
