import { addressParser } from "postal-mime";
import { endOfComment, endOfQuoted, unquoted } from "./structured.ts";
import { isBlank, trimBlanks } from "./white-space.ts";

export interface Named {
  /** The display name, or "" for a mailbox without one. */
  name: string;
  address: string;
}

/**
 * The mailboxes of an address field (RFC 5322 §3.4), with groups flattened and without entries that lack an address. `field` comes from
 * `withWordsAsAtoms`. postal-mime reads the names. We find the entries and addresses ourselves, because postal-mime treats source routes,
 * comments and spaces as parts of an address, and ignores local names.
 */
export function mailboxesIn(field: string): Named[] {
  const library = { callsLeft: mostLibraryCalls };
  return entriesOf(field).flatMap((entry) => mailboxesOf(entry, library));
}

/** An entry of the list of addresses in a field. */
interface Entry {
  /** The text outside of brackets and comments. */
  words: string;
  /** The text of the comments. */
  comment: string;
  bracketed: string | undefined;
}

/** After this many calls of the library, which take microseconds each, further entries that need it have no name or are left out. */
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
  // An encoded word may contain an address.
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

/** The address if all words together are one: with a host, or a local name such as `root` or `MAILER-DAEMON`. */
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

/** The name of an entry, or its comment. A name that is the address itself is dropped. */
function nameOf(words: string, comment: string, address: string, library: Library): string {
  if (words === "" && comment === "") return "";
  const phrase = words === "" ? `"${comment.replace(/["\\]/g, "\\$&")}"` : words;
  const [, quoted] = plainQuoted.exec(phrase) ?? [];
  const plain = quoted ?? (plainWords.test(phrase) ? phrase : undefined);
  const name = plain?.trim() ?? namedBy(phrase, library, " <a@b>")[0]?.name ?? "";
  return name === address ? "" : name;
}

/** Matches a phrase that needs no decoding to be a name: it has no escapes, encoded words or characters that separate entries. */
const plainWords = /^[^"\\()<>,;:=\0-\x1f]+$/;
const plainQuoted = /^"([^"\\=\0-\x1f]+)"$/;

/**
 * Reads an entry with the library, which parses the text after each colon again, up to fifty times. If a text has more than three colons,
 * they become spaces.
 */
function namedBy(text: string, library: Library, behind = ""): Named[] {
  if (library.callsLeft === 0) return [];
  library.callsLeft -= 1;
  const short = text.length > mostNamedBy ? text.slice(0, mostNamedBy) : text;
  const isGroup = short.split(":", mostColons + 2).length <= mostColons + 1;
  const entry = `${isGroup ? short : short.replaceAll(":", " ")}${behind}`;
  return addressParser(entry, { flatten: true }).map(({ address = "", name }) => ({ address, name }));
}

const mostColons = 3;
/** The most characters of an entry that the library reads. A name and an address need far fewer. */
const mostNamedBy = 16 * 1024;

/**
 * The entries of a field, in one pass and linear time. An unclosed quote or comment is ignored, and so are all others of its kind after
 * it. An unclosed bracket ends at the next comma.
 */
function entriesOf(field: string): Entry[] {
  const entries: Entry[] = [];
  const lastBracket = field.lastIndexOf(">");
  let entry = newEntry();
  let quotesClose = true;
  let commentsClose = true;

  function finish(): void {
    const { pieces, around, comments, bracketed } = entry;
    // An entry without any text is skipped early, because a hostile field may have nothing but commas.
    if (pieces.length + around.length + comments.length === 0 && bracketed === undefined) return;
    const words = joinedWords(entry);
    if (words !== "" || bracketed !== undefined) {
      entries.push({ words, comment: trimBlanks(comments.join(" ")), bracketed });
    }
    entry = newEntry();
  }

  /** The length of the run that begins here. */
  function lengthAt(run: RegExp, at: number): number {
    run.lastIndex = at;
    return run.exec(field)?.[0].length ?? 0;
  }

  function takeWords(words: string): void {
    entry.pieces.push(words);
    entry.hasAt ||= words.includes("@");
  }

  /** The offset after the quoted string that begins here, or after its opening quote if it never closes. */
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

  /** The offset of the closing bracket, or of the next comma if it is missing. */
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
      // Skips the second bracket of `<<a@b>>`.
    } else if (character === "," || character === ";") {
      finish();
      next += lengthAt(separators, next);
    } else if (character === ":" && !entry.hasAt) {
      // The words before it name a group.
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

/** An entry while it is read. */
interface OpenEntry {
  /** Its words after the last bracket. */
  pieces: string[];
  /** Its words before each bracket. */
  around: string[];
  comments: string[];
  bracketed: string | undefined;
  /** True if its words have an @. They are then not the name of a group, even with a colon after them. */
  hasAt: boolean;
}

function newEntry(): OpenEntry {
  return { pieces: [], around: [], comments: [], bracketed: undefined, hasAt: false };
}

/** The words before and after brackets, with one space between. */
function joinedWords({ pieces, around }: OpenEntry): string {
  const words = around.filter((each) => each !== "");
  return trimBlanks([...words, pieces.join("")].join(" "));
}

function withoutLastBlanks(text: string): string {
  let end = text.length;
  while (end > 0 && isBlank(text.charCodeAt(end - 1))) end--;
  return text.slice(0, end);
}

/** Matches the characters before the next special one. */
const ordinary = /[^"(<>,;:]*/y;
const separators = /[,; \t]*/y;
const colons = /[: \t]*/y;

/** An address without its source route (RFC 5322 §4.4), comments, white space and needless quotes. */
function cleanAddress(written: string): string {
  // With brackets within brackets, the innermost ones count.
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
