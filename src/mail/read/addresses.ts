import { addressParser } from "postal-mime";
import { endOfComment, endOfQuoted, unquoted } from "./structured.ts";
import { trimBlanks } from "./white-space.ts";

export interface Named {
  /** Empty where there is none. */
  name: string;
  address: string;
}

/**
 * The mailboxes of an address field (RFC 5322 §3.4), groups flattened, entries without an address left out. The field comes
 * with its encoded words as atoms. How a name is put together is the library's to say; where an entry ends and what in it is
 * an address is found here, since the library takes source routes, comments and spaces for parts of one, and a local name
 * for none.
 */
export function mailboxesIn(field: string): Named[] {
  return entriesOf(field).flatMap(mailboxesOf);
}

/** One of a list. */
interface Entry {
  /** What stands outside of brackets and comments. */
  words: string;
  /** What the comments say. */
  comment: string;
  bracketed: string | undefined;
}

function mailboxesOf({ words, comment, bracketed }: Entry): Named[] {
  if (bracketed) return [{ address: bracketed, name: nameOf(words, comment, bracketed) }];
  const address = bareAddress(words);
  if (address?.includes("@") || (address !== undefined && bracketed === undefined)) {
    return [{ address, name: nameOf("", comment, address) }];
  }
  return namedBy(words).flatMap((found) =>
    found.address.includes("@")
      ? [{ address: cleanAddress(found.address), name: found.name || nameOf("", comment, found.address) }]
      : [],
  );
}

/** The whole of the words as an address: with a host, or as the host itself writes it (`root`, `MAILER-DAEMON`). */
function bareAddress(words: string): string | undefined {
  if (localName.test(words)) return words.includes("=?") ? undefined : words;
  if (quotedLocal.test(words)) return cleanAddress(words);
  const squeezed = words
    .split(/([@.])/)
    .map((piece) => trimBlanks(piece))
    .join("");
  return withHost.test(squeezed) ? squeezed : undefined;
}

const localName = /^[A-Za-z0-9!#$%&'*+/=?^_`{|}~.-]+$/;
const withHost = /^[^\s"@]+@[^\s"@]+$/;
const quotedLocal = /^"(?:[^"\\]|\\.)*"@[^\s"@]+$/;

/** A comment is the name where there is no other. An address is no name. */
function nameOf(words: string, comment: string, address: string): string {
  if (words === "" && comment === "") return "";
  const phrase = words === "" ? `"${comment.replace(/["\\]/g, "\\$&")}"` : words;
  const name = namedBy(`${phrase} <a@b>`)[0]?.name ?? "";
  return name === address ? "" : name;
}

function namedBy(text: string): Named[] {
  return addressParser(text, { flatten: true }).map(({ address = "", name }) => ({ address, name }));
}

/** One walk over the field. A quote, comment or bracket that never closes is passed over, and so are those behind it. */
function entriesOf(field: string): Entry[] {
  const entries: Entry[] = [];
  const lastBracket = field.lastIndexOf(">");
  let entry: Entry = { words: "", comment: "", bracketed: undefined };
  let quotesClose = true;
  let commentsClose = true;

  function finish(): void {
    entry.words = trimBlanks(entry.words);
    entry.comment = trimBlanks(entry.comment);
    if (entry.words !== "" || entry.bracketed !== undefined) entries.push(entry);
    entry = { words: "", comment: "", bracketed: undefined };
  }

  /** Behind the quoted string that begins here, or behind its quote alone. */
  function behindQuoted(at: number): number {
    const end = quotesClose ? endOfQuoted(field, at) : field.length;
    quotesClose = end < field.length;
    return quotesClose ? end + 1 : at + 1;
  }

  function behindComment(at: number): number {
    const end = commentsClose ? endOfComment(field, at) : -1;
    commentsClose = end >= 0;
    return commentsClose ? end : at + 1;
  }

  /** The place of the bracket that closes; of one that is forgotten, of the comma behind it. */
  function endOfBracketed(from: number): number {
    if (from > lastBracket) {
      const comma = field.indexOf(",", from);
      return comma < 0 ? field.length : comma;
    }
    let at = from;
    while (at < field.length && field[at] !== ">") at = field[at] === '"' ? behindQuoted(at) : at + 1;
    return at;
  }

  for (let at = 0; at < field.length; ) {
    const character = field.charAt(at);
    let next = at + 1;
    if (character === '"') {
      next = behindQuoted(at);
      if (next > at + 1) entry.words += field.slice(at, next);
    } else if (character === "(") {
      next = behindComment(at);
      if (next > at + 1) entry.comment += ` ${field.slice(at + 1, next - 1).replace(/\\(.)/gs, "$1")}`;
    } else if (character === "<") {
      const end = endOfBracketed(next);
      entry.bracketed ||= cleanAddress(field.slice(next, end));
      next = field[end] === ">" ? end + 1 : end;
      entry.words = `${trimBlanks(entry.words)} `;
    } else if (character === ">") {
      // The second of `<<a@b>>`.
    } else if (character === "," || character === ";") {
      finish();
    } else if (character === ":" && !entry.words.includes("@")) {
      // What stood before it names a group.
      entry.words = "";
    } else {
      entry.words += character;
    }
    at = next;
  }
  finish();
  return entries;
}

/** An address without what may stand in it: source route (RFC 5322 §4.4), comments, white space, quotes around what needs none. */
function cleanAddress(written: string): string {
  // Of brackets within brackets the innermost count.
  const text = written.slice(written.lastIndexOf("<") + 1);
  let address = "";
  for (let at = 0; at < text.length; ) {
    const character = text.charAt(at);
    let next = at + 1;
    if (character === '"') {
      next = Math.min(endOfQuoted(text, at) + 1, text.length);
      const local = unquoted(text.slice(at + 1, next - 1));
      address += localName.test(local) ? local : text.slice(at, next);
    } else if (character === "(") {
      const end = endOfComment(text, at);
      next = end < 0 ? text.length : end;
    } else if (!/\s/.test(character)) {
      address += character;
    }
    at = next;
  }
  return address.replace(/^@[^:]*:/, "");
}
