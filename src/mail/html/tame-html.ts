/**
 * HTML of anybody as plain, balanced HTML of few elements, in one linear scan (HTML Standard §13.2.5, as far as mail needs it).
 * html-to-text and sanitize-html read it instead of the original, because the parser under both takes time in the square of the
 * nesting: 500 KB of unclosed `<i>` and stray `</b>` held it for 18 s. What comes out:
 *
 * - only elements of `shown`, at most `maxDepth` deep, each closed in order; words inside any other tag stay;
 * - only attributes of `kept`, quoted, so that no later parser can see another tag in them, and of a bounded length;
 * - no comment, doctype, script, style, or other element whose content is not there to be read.
 */
export function tameHtml(html: string): string {
  const out: string[] = [];
  const open: string[] = [];
  const missing = new Set<string>();

  const closeTo = (depth: number) => {
    while (open.length > depth) out.push(`</${open.pop()}>`);
  };
  let at = 0;
  while (at < html.length) {
    const next = html.indexOf("<", at);
    out.push(html.slice(at, next < 0 ? html.length : next).replaceAll(">", "&gt;"));
    if (next < 0) break;
    const tag = tagAt(html, next);
    if (tag === undefined) {
      out.push("&lt;");
      at = next + 1;
      continue;
    }
    at = tag.end;
    const name = Object.hasOwn(renamed, tag.name) ? (renamed[tag.name] ?? tag.name) : tag.name;
    if (tag.closes) {
      const depth = open.lastIndexOf(name);
      if (depth >= 0) closeTo(depth);
      else if (name === "br") out.push("<br>");
      else if (name === "p") out.push("<p></p>");
    } else if (unread.has(name)) {
      at = endOfContent(html, name, at, missing);
    } else if (empty.has(name)) {
      if (shown.has(name)) out.push(`<${name}${attributesOf(tag)}>`);
    } else if (shown.has(name)) {
      const implied = impliedBy(name);
      while (implied?.has(open.at(-1) ?? "")) closeTo(open.length - 1);
      if (open.length < maxDepth) {
        open.push(name);
        out.push(`<${name}${attributesOf(tag)}>`);
      }
    }
  }
  closeTo(0);
  return out.join("");
}

/** Every element that can come out of `tameHtml`. */
export const shownElements = [
  ..."p div span br hr img pre code samp kbd tt blockquote center h1 h2 h3 h4 h5 h6".split(" "),
  ..."a b strong i em u s strike del ins sub sup small big font abbr cite q mark".split(" "),
  ..."ul ol li dl dt dd table caption thead tbody tfoot tr td th".split(" "),
];
const shown: ReadonlySet<string> = new Set(shownElements);

const kept: ReadonlySet<string> = new Set(["href", "alt", "start", "colspan", "rowspan", "align", "dir", "lang"]);

/** No address of a page is so long; whoever looks through a longer one may do so as often as it has parts. */
const maxValueLength = 4096;

/** No real mail nests deeper; beyond it tags are dropped and their words stay. */
const maxDepth = 200;

/** Elements that only begin a new line, for us. */
const renamed: Readonly<Record<string, string>> = Object.fromEntries(
  "article section header footer main nav aside address figure figcaption form fieldset details summary hgroup"
    .split(" ")
    .map((name) => [name, "div"]),
);

/** Elements whose content is raw text: nothing but their own end tag ends it, and without one it takes the rest. */
const raw: ReadonlySet<string> = new Set(
  "script style title textarea xmp iframe noembed noframes noscript plaintext".split(" "),
);

/** All elements whose content is not there to be read. */
const unread: ReadonlySet<string> = new Set([
  ...raw,
  ..."template select object svg math audio video canvas".split(" "),
]);

/** Void elements (HTML Standard §13.1.2, with the obsolete ones of §13.2). */
const empty: ReadonlySet<string> = new Set(
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

/** The elements whose end tag may be left out before this one (HTML Standard §13.1.2.4). */
function impliedBy(name: string): ReadonlySet<string> | undefined {
  if (name === "li") return items;
  if (name === "dt" || name === "dd") return terms;
  if (cells.has(name)) return cells;
  if (name === "tr") return rows;
  if (groups.has(name)) return groups;
  return blocks.has(name) ? paragraph : undefined;
}

interface Tag {
  name: string;
  closes: boolean;
  attributes: Map<string, string>;
  /** Behind the tag. */
  end: number;
}

/** The tag that the `<` at `start` begins, if it begins one. Comments, declarations and unfinished tags have no name: they show nothing. */
function tagAt(html: string, start: number): Tag | undefined {
  const closes = html[start + 1] === "/";
  const nameStart = start + (closes ? 2 : 1);
  if (!closes && (html[nameStart] === "!" || html[nameStart] === "?")) {
    return { name: "", closes, attributes: new Map(), end: endOfDeclaration(html, start) };
  }
  const name = matchAt(/[a-z][^\t\n\f\r />]*/iy, html, nameStart);
  if (name === "") return closes && nameStart < html.length ? bogus(html, nameStart) : undefined;
  const attributes = new Map<string, string>();
  let at = nameStart + name.length;
  for (;;) {
    at += matchAt(/[\t\n\f\r /]*/y, html, at).length;
    if (at >= html.length) return { name: "", closes, attributes, end: at };
    if (html[at] === ">") break;
    const attribute = matchAt(/=?[^\t\n\f\r />=]*/y, html, at);
    at += attribute.length;
    const equals = matchAt(/[\t\n\f\r ]*=[\t\n\f\r ]*/y, html, at);
    at += equals.length;
    let value = "";
    if (equals !== "") {
      const quote = html[at] === '"' || html[at] === "'" ? html[at] : undefined;
      if (quote !== undefined) {
        const close = html.indexOf(quote, at + 1);
        value = html.slice(at + 1, close < 0 ? html.length : close);
        at = close < 0 ? html.length : close + 1;
      } else {
        value = matchAt(/[^\t\n\f\r >]*/y, html, at);
        at += value.length;
      }
    }
    const lower = attribute.toLowerCase();
    if (kept.has(lower) && !attributes.has(lower) && value.length <= maxValueLength) attributes.set(lower, value);
  }
  return { name: name.toLowerCase(), closes, attributes, end: at + 1 };
}

function bogus(html: string, from: number): Tag {
  const close = html.indexOf(">", from);
  return { name: "", closes: true, attributes: new Map(), end: close < 0 ? html.length : close + 1 };
}

/** A comment ends at `-->`, which may share its hyphens with the opening; anything else in `<!` or `<?` at the next `>`. */
function endOfDeclaration(html: string, start: number): number {
  const mark = html.startsWith("<!--", start) ? "-->" : ">";
  const close = html.indexOf(mark, start + 2);
  return close < 0 ? html.length : close + mark.length;
}

/** Behind the end tag of an element that is left out. `missing` keeps the scan linear: no end tag is looked for in vain twice. */
function endOfContent(html: string, name: string, from: number, missing: Set<string>): number {
  const withoutEnd = raw.has(name) ? html.length : from;
  if (missing.has(name)) return withoutEnd;
  const endTag = new RegExp(`</${name}(?=[\\t\\n\\f\\r />])[^>]*>?`, "gi");
  endTag.lastIndex = from;
  if (endTag.exec(html) !== null) return endTag.lastIndex;
  missing.add(name);
  return withoutEnd;
}

function attributesOf({ attributes }: Tag): string {
  let text = "";
  for (const [name, value] of attributes) {
    text += ` ${name}="${value.replaceAll('"', "&quot;").replaceAll("<", "&lt;").replaceAll(">", "&gt;")}"`;
  }
  return text;
}

/** What a sticky pattern matches at a place: `""` where it doesn't. */
function matchAt(sticky: RegExp, text: string, at: number): string {
  sticky.lastIndex = at;
  return sticky.exec(text)?.[0] ?? "";
}
