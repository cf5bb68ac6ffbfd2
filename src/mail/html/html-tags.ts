/**
 * Reads the tags of any HTML in one linear scan (HTML Standard §13.2.5, as far as mail needs it). All code here uses this scan and never
 * a tree parser, whose time grows with the square of the nesting.
 */
export function scanHtml(html: string, { keeps, onText, onTag }: HtmlReader): void {
  const missing = new Set<string>();
  let at = 0;
  let textStart = 0;
  for (;;) {
    const next = html.indexOf("<", at);
    const tag = next < 0 ? undefined : tagAt(html, next, keeps);
    if (next >= 0 && tag === undefined) {
      at = next + 1;
      continue;
    }
    const textEnd = next < 0 ? html.length : next;
    if (textEnd > textStart) onText(textStart, textEnd);
    if (tag === undefined) return;
    if (!tag.closes && unread.has(tag.name)) tag.elementEnd = endOfContent(html, tag.name, tag.end, missing);
    if (tag.name !== "") onTag(tag);
    at = tag.elementEnd ?? tag.end;
    textStart = at;
  }
}

export interface HtmlReader {
  /** Selects attributes by name, in lower case. */
  keeps: (attribute: string) => boolean;
  /** Receives the text between two tags, with its entities. A `<` that begins no tag is text. */
  onText: (start: number, end: number) => void;
  /** Receives a start tag or an end tag. Comments, declarations and unfinished tags are skipped. */
  onTag: (tag: Tag) => void;
}

export interface Tag {
  name: string;
  closes: boolean;
  /** The attributes as written, with their entities. The first of a name wins. */
  attributes: ReadonlyMap<string, string>;
  start: number;
  /** The offset after the tag. */
  end: number;
  /** The offset after the end tag, for an element whose content is not text to read. */
  elementEnd?: number;
}

/** Longer attribute values are dropped. Real addresses are shorter, and the time of some callers grows with the square of the length. */
const maxValueLength = 4096;

/** The most attributes of a tag. Further ones are dropped; mail programs write fewer. */
const maxAttributes = 64;

/** Elements with raw text. It ends only at the end tag of the element, or at the end of the HTML if that tag is missing. */
const raw: ReadonlySet<string> = new Set(
  "script style title textarea xmp iframe noembed noframes noscript plaintext".split(" "),
);

/** All elements whose content is not text to read. */
const unread: ReadonlySet<string> = new Set([
  ...raw,
  ..."template select object svg math audio video canvas".split(" "),
]);

/** Void elements (HTML Standard §13.1.2, with the obsolete ones of §13.2). */
export const emptyElements: ReadonlySet<string> = new Set(
  "area base basefont bgsound br col embed frame hr img input keygen link meta param source track wbr".split(" "),
);

const cells: ReadonlySet<string> = new Set(["td", "th"]);
const rows: ReadonlySet<string> = new Set(["td", "th", "tr"]);
const groups: ReadonlySet<string> = new Set(["td", "th", "tr", "thead", "tbody", "tfoot", "caption"]);
const terms: ReadonlySet<string> = new Set(["dt", "dd", "p"]);
const items: ReadonlySet<string> = new Set(["li", "p"]);
const paragraph: ReadonlySet<string> = new Set(["p"]);
const blocks: ReadonlySet<string> = new Set(
  "p div hr pre blockquote center h1 h2 h3 h4 h5 h6 ul ol dl table".split(" "),
);

/** The names of the elements whose end tag may be left out before a start tag with this name (HTML Standard §13.1.2.4). */
export function impliedBy(name: string): ReadonlySet<string> | undefined {
  if (name === "li") return items;
  if (name === "dt" || name === "dd") return terms;
  if (cells.has(name)) return cells;
  if (name === "tr") return rows;
  if (groups.has(name)) return groups;
  return blocks.has(name) ? paragraph : undefined;
}

/** The tag that begins at `start`, if one does. Comments, declarations and unfinished tags have no name. */
function tagAt(html: string, start: number, keeps: HtmlReader["keeps"]): Tag | undefined {
  const closes = html.charCodeAt(start + 1) === slash;
  const nameStart = start + (closes ? 2 : 1);
  const first = html.charCodeAt(nameStart);
  if (!closes && (first === exclamation || first === question)) return nameless(start, endOfDeclaration(html, start));
  if (!isLetter(first))
    return closes && nameStart < html.length ? nameless(start, behind(html, ">", nameStart)) : undefined;
  let at = nameStart;
  let letters = 0;
  for (; at < html.length; at++) {
    const code = html.charCodeAt(at);
    if (endsName(code)) break;
    letters = isLetter(code) ? letters * 32 + (code & 0x1f) : Number.NaN;
  }
  const name = knownNames.get(letters) ?? html.slice(nameStart, at).toLowerCase();
  let attributes: Map<string, string> | undefined;
  for (;;) {
    while (isSpace(html.charCodeAt(at)) || html.charCodeAt(at) === slash) at++;
    if (at >= html.length) return nameless(start, at);
    if (html.charCodeAt(at) === greater) break;
    attributes ??= new Map();
    at = readAttribute(html, at, attributes, keeps);
  }
  return { name, closes, attributes: attributes ?? none, start, end: at + 1 };
}

/** The names of the most frequent tags, by a hash of their letters. With it, a name is found without creating a string for each tag. */
const knownNames: ReadonlyMap<number, string> = new Map(
  "a b body br center div em font i img li ol p span strong table tbody td th tr u ul".split(" ").map((name) => {
    let letters = 0;
    for (const letter of name) letters = letters * 32 + (letter.charCodeAt(0) & 0x1f);
    return [letters, name];
  }),
);

/** Reads the attribute that begins at `start`, and returns the offset after it. */
function readAttribute(html: string, start: number, into: Map<string, string>, keeps: HtmlReader["keeps"]): number {
  // A `=` at the beginning is part of the name.
  let nameEnd = start + 1;
  if (html.charCodeAt(start) !== equals) nameEnd = start;
  while (nameEnd < html.length && !endsName(html.charCodeAt(nameEnd)) && html.charCodeAt(nameEnd) !== equals) nameEnd++;
  let at = nameEnd;
  while (isSpace(html.charCodeAt(at))) at++;
  let valueStart = nameEnd;
  let valueEnd = nameEnd;
  if (html.charCodeAt(at) === equals) {
    at++;
    while (isSpace(html.charCodeAt(at))) at++;
    const quote = html.charCodeAt(at);
    if (quote === doubleQuote || quote === singleQuote) {
      const close = html.indexOf(quote === doubleQuote ? '"' : "'", at + 1);
      valueStart = at + 1;
      valueEnd = close < 0 ? html.length : close;
      at = close < 0 ? html.length : close + 1;
    } else {
      valueStart = at;
      while (at < html.length && !isSpace(html.charCodeAt(at)) && html.charCodeAt(at) !== greater) at++;
      valueEnd = at;
    }
  }
  if (into.size < maxAttributes && valueEnd - valueStart <= maxValueLength) {
    const name = html.slice(start, nameEnd).toLowerCase();
    if (keeps(name) && !into.has(name)) into.set(name, html.slice(valueStart, valueEnd));
  }
  return at;
}

/** One empty map for all tags without attributes, which most tags are. */
const none: ReadonlyMap<string, string> = new Map();

function nameless(start: number, end: number): Tag {
  return { name: "", closes: false, attributes: none, start, end };
}

/**
 * The offset after a comment or declaration. A comment ends at `-->`, which may share its hyphens with the opening, or at `--!>`.
 * Everything else with `<!` or `<?` ends at the next `>`.
 */
function endOfDeclaration(html: string, start: number): number {
  if (!html.startsWith("<!--", start)) return behind(html, ">", start + 2);
  if (html.startsWith(">", start + 4)) return start + 5;
  if (html.startsWith("->", start + 4)) return start + 6;
  endOfComment.lastIndex = start + 4;
  return endOfComment.test(html) ? endOfComment.lastIndex : html.length;
}

const endOfComment = /--!?>/g;

function behind(html: string, mark: string, from: number): number {
  const found = html.indexOf(mark, from);
  return found < 0 ? html.length : found + mark.length;
}

/**
 * The offset after the end tag of a skipped element. `missing` has the names whose end tag does not occur again, so that each is searched
 * for without success only once, and the scan stays linear.
 */
function endOfContent(html: string, name: string, from: number, missing: Set<string>): number {
  const withoutEnd = raw.has(name) ? html.length : from;
  if (missing.has(name)) return withoutEnd;
  const endTag = endTags.get(name);
  if (endTag === undefined) return withoutEnd;
  endTag.lastIndex = from;
  if (endTag.exec(html) !== null) return endTag.lastIndex;
  missing.add(name);
  return withoutEnd;
}

const endTags: ReadonlyMap<string, RegExp> = new Map(
  [...unread].map((name) => [name, new RegExp(`</${name}(?=[\\t\\n\\f\\r />])[^>]*>?`, "gi")]),
);

const exclamation = 0x21;
const doubleQuote = 0x22;
const singleQuote = 0x27;
const slash = 0x2f;
const equals = 0x3d;
const greater = 0x3e;
const question = 0x3f;

function isSpace(code: number): boolean {
  return code === 0x20 || code === 0x0a || code === 0x09 || code === 0x0d || code === 0x0c;
}

function endsName(code: number): boolean {
  return isSpace(code) || code === slash || code === greater;
}

function isLetter(code: number): boolean {
  const lower = code | 0x20;
  return lower >= 0x61 && lower <= 0x7a;
}
