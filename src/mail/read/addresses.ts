import { addressParser } from "postal-mime";
import { endOfComment, endOfQuoted, unquoted } from "./structured.ts";
import { isBlank, trimBlanks } from "./white-space.ts";

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
  const library = { callsLeft: mostLibraryCalls };
  return entriesOf(field).flatMap((entry) => mailboxesOf(entry, library));
}

/** One of a list. */
interface Entry {
  /** What stands outside of brackets and comments. */
  words: string;
  /** What the comments say. */
  comment: string;
  bracketed: string | undefined;
}

/** Entries that need the library and are behind this many have no name, or are left out: it takes microseconds for each. */
const mostLibraryCalls = 2000;

interface Library {
  callsLeft: number;
}

function mailboxesOf({ words, comment, bracketed }: Entry, library: Library): Named[] {
  if (bracketed) return [{ address: bracketed, name: nameOf(words, comment, bracketed, library) }];
  const address = bareAddress(words);
  if (address?.includes("@") || (address !== undefined && bracketed === undefined)) {
    return [{ address, name: nameOf("", comment, address, library) }];
  }
  // An address may also stand within an encoded word.
  if (!addressWithin.test(words) && !words.includes("=?")) {
    const half = words.includes("@") ? cleanAddress(words) : "";
    return half === "" ? [] : [{ address: half, name: nameOf("", comment, half, library) }];
  }
  return namedBy(words, library).flatMap((found) =>
    found.address.includes("@")
      ? [{ address: cleanAddress(found.address), name: found.name || nameOf("", comment, found.address, library) }]
      : [],
  );
}

/** The whole of the words as an address: with a host, or as the host itself writes it (`root`, `MAILER-DAEMON`). */
function bareAddress(words: string): string | undefined {
  if (localName.test(words)) return words.includes("=?") ? undefined : words;
  if (!words.includes("@")) return undefined;
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

const addressWithin = /[^\s@]@+[^\s@]/;

/** A comment is the name where there is no other. An address is no name. */
function nameOf(words: string, comment: string, address: string, library: Library): string {
  if (words === "" && comment === "") return "";
  const phrase = words === "" ? `"${comment.replace(/["\\]/g, "\\$&")}"` : words;
  const [, quoted] = plainQuoted.exec(phrase) ?? [];
  const plain = quoted ?? (plainWords.test(phrase) ? phrase : undefined);
  const name = plain?.trim() ?? namedBy(phrase, library, " <a@b>")[0]?.name ?? "";
  return name === address ? "" : name;
}

/** A phrase that is a name as it stands, without escapes, encoded words and characters that part entries. */
const plainWords = /^[^"\\()<>,;:=\0-\x1f]+$/;
const plainQuoted = /^"([^"\\=\0-\x1f]+)"$/;

/** The library reads what follows a colon again, up to fifty times: more than a few are no groups. */
function namedBy(text: string, library: Library, behind = ""): Named[] {
  if (library.callsLeft === 0) return [];
  library.callsLeft -= 1;
  const short = text.length > mostNamedBy ? text.slice(0, mostNamedBy) : text;
  const isGroup = short.split(":", mostColons + 2).length <= mostColons + 1;
  const entry = `${isGroup ? short : short.replaceAll(":", " ")}${behind}`;
  return addressParser(entry, { flatten: true }).map(({ address = "", name }) => ({ address, name }));
}

const mostColons = 3;
/** Far more than a name and an address may have. */
const mostNamedBy = 16 * 1024;

/**
 * One walk over the field, in time that grows with its length alone. A quote, comment or bracket that never closes is passed over,
 * and so are those behind it.
 */
function entriesOf(field: string): Entry[] {
  const entries: Entry[] = [];
  const lastBracket = field.lastIndexOf(">");
  let entry = newEntry();
  let quotesClose = true;
  let commentsClose = true;

  function finish(): void {
    const { pieces, around, comments, bracketed } = entry;
    // A field may be all commas.
    if (pieces.length + around.length + comments.length === 0 && bracketed === undefined) return;
    const words = wordsOf(entry);
    if (words !== "" || bracketed !== undefined) {
      entries.push({ words, comment: trimBlanks(comments.join(" ")), bracketed });
    }
    entry = newEntry();
  }

  /** How long the run is that begins here. */
  function lengthAt(run: RegExp, at: number): number {
    run.lastIndex = at;
    return run.exec(field)?.[0].length ?? 0;
  }

  function takeWords(words: string): void {
    entry.pieces.push(words);
    entry.hasAt ||= words.includes("@");
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
      if (next > at + 1) takeWords(field.slice(at, next));
    } else if (character === "(") {
      next = behindComment(at);
      if (next > at + 1) entry.comments.push(field.slice(at + 1, next - 1).replace(/\\(.)/gs, "$1"));
    } else if (character === "<") {
      const end = endOfBracketed(next);
      entry.bracketed ||= cleanAddress(field.slice(next, end));
      next = field[end] === ">" ? end + 1 : end;
      entry.around.push(withoutLastBlanks(entry.pieces.join("")));
      entry.pieces = [];
    } else if (character === ">") {
      // The second of `<<a@b>>`.
    } else if (character === "," || character === ";") {
      finish();
      next += lengthAt(separators, next);
    } else if (character === ":" && !entry.hasAt) {
      // What stood before it names a group.
      entry.pieces = [];
      entry.around = [];
      next += lengthAt(colons, next);
    } else {
      next += lengthAt(ordinary, next);
      takeWords(field.slice(at, next));
    }
    at = next;
  }
  finish();
  return entries;
}

/** One of a list that is being read. */
interface OpenEntry {
  /** Its words so far, behind the last bracket. */
  pieces: string[];
  /** Those before each bracket. */
  around: string[];
  comments: string[];
  bracketed: string | undefined;
  /** Whether its words hold an @, so that a colon behind it names no group. */
  hasAt: boolean;
}

function newEntry(): OpenEntry {
  return { pieces: [], around: [], comments: [], bracketed: undefined, hasAt: false };
}

/** Words around brackets have one space between them. */
function wordsOf({ pieces, around }: OpenEntry): string {
  const words = around.filter((each) => each !== "");
  return trimBlanks([...words, pieces.join("")].join(" "));
}

function withoutLastBlanks(text: string): string {
  let end = text.length;
  while (end > 0 && isBlank(text.charCodeAt(end - 1))) end--;
  return text.slice(0, end);
}

/** All up to the next character that may mean something. */
const ordinary = /[^"(<>,;:]*/y;
const separators = /[,; \t]*/y;
const colons = /[: \t]*/y;

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
