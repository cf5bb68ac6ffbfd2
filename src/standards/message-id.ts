import { createHash } from "node:crypto";
import { cleanText } from "./text.ts";

/**
 * Message-IDs in their canonical form: without `<>`, without the white space that folding put in, the domain
 * part in lower case (contract §7.1). Two ids are the same id when their canonical forms are equal.
 */
export function canonicalMessageId(raw: string): string | undefined {
  const id = bareMessageId(raw);
  return id === undefined ? undefined : canonical(id);
}

/** The same id as its sender wrote it: who compares bytes knows it only so in the mails that name it. */
export function bareMessageId(raw: string): string | undefined {
  return idsIn(raw)[0] ?? bare(raw.replace(/[<>]/g, ""));
}

/** The ids of an In-Reply-To or References value, in their order (RFC 5322 §3.6.4), in their canonical form. */
export function messageIdsOf(value: string): string[] {
  return idsIn(value).map(canonical);
}

/**
 * Real mail brings comments, phrases ("Your message of …"), commas, ids without `<>` and brackets that never close: what
 * can be read as an id is read, the rest is passed over. One walk without going back: a header may hold 100,000 ids.
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
      // Outside brackets only what looks like an address is an id; the rest are words of a phrase.
      if (word.includes("@")) id = bare(word);
    }
    if (id !== undefined) ids.push(id);
    at = end;
  }
  return ids;
}

/** The id of a mail that brings none: made from its content, so that the same mail again gets the same id. */
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

/** White space and controls, and what a store would refuse. */
const unusual = /[\s\0-\u001f\u007f-\u009f\ud800-\udfff]/;
/** Taken out: an id is shown, logged, and written into other mails. */
const blanks = /[\s\u0001-\u001f\u007f-\u009f]+/g;

/** The place of the `>` that closes, or of the next `<` where it was forgotten, or the end. */
function endOfBracketed(value: string, from: number): number {
  let at = from;
  if (value.charCodeAt(from) === quote) {
    // A quoted local part (RFC 5322 §4.5.4, obsolete) may hold brackets; a quote that no @ follows is no local part.
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

/** Parentheses too: the words of a comment are passed over like those of a phrase. */
function isSeparator(code: number): boolean {
  return code <= 0x20 || code === 0x2c || code === 0x3b || code === closing || code === 0x28 || code === 0x29;
}

const quote = 0x22;
const opening = 0x3c;
const closing = 0x3e;
