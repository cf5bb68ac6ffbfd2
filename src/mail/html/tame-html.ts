import { emptyElements, impliedBy, scanHtml, type Tag } from "./html-tags.ts";

/**
 * Converts any HTML to plain, balanced HTML of few elements, in one linear scan. html-to-text and sanitize-html read the result instead of
 * the original, because the time of their parser grows with the square of the nesting: 500 KB of unclosed `<i>` and stray `</b>` took 18 s.
 * The result has
 *
 * - only elements of `shown`, at most `maxDepth` deep, each closed in order; words inside other tags stay;
 * - only attributes of `kept`, quoted, so that no later parser can see another tag in them, and of bounded length;
 * - no comment, doctype, script, style, or other element whose content is not text to read.
 *
 * `alsoKept` are further attributes, which the caller checks.
 */
export function tameHtml(html: string, alsoKept: ReadonlySet<string> = new Set()): string {
  const out: string[] = [];
  const open: string[] = [];

  const closeTo = (depth: number) => {
    while (open.length > depth) out.push(`</${open.pop()}>`);
  };
  scanHtml(html, {
    keeps: (attribute) => kept.has(attribute) || alsoKept.has(attribute),
    onText: (start, end) => out.push(html.slice(start, end).replaceAll("<", "&lt;").replaceAll(">", "&gt;")),
    onTag: (tag) => {
      const name = Object.hasOwn(renamed, tag.name) ? (renamed[tag.name] ?? tag.name) : tag.name;
      if (tag.closes) {
        const depth = open.lastIndexOf(name);
        if (depth >= 0) closeTo(depth);
        else if (name === "br") out.push("<br>");
        else if (name === "p") out.push("<p></p>");
      } else if (emptyElements.has(name)) {
        if (shown.has(name)) out.push(`<${name}${attributesOf(tag)}>`);
      } else if (shown.has(name)) {
        const implied = impliedBy(name);
        while (implied?.has(open.at(-1) ?? "")) closeTo(open.length - 1);
        if (open.length < maxDepth) {
          open.push(name);
          out.push(`<${name}${attributesOf(tag)}>`);
        }
      }
    },
  });
  closeTo(0);
  return out.join("");
}

/** All elements in the result of `tameHtml`. */
export const shownElements = [
  ..."p div span br hr img pre code samp kbd tt blockquote center h1 h2 h3 h4 h5 h6".split(" "),
  ..."a b strong i em u s strike del ins sub sup small big font abbr cite q mark".split(" "),
  ..."ul ol li dl dt dd table caption thead tbody tfoot tr td th".split(" "),
];
const shown: ReadonlySet<string> = new Set(shownElements);

const kept: ReadonlySet<string> = new Set(["href", "alt", "start", "colspan", "rowspan", "align", "dir", "lang"]);

/** Deeper tags are dropped, and their words stay. Real mail nests less deeply. */
const maxDepth = 200;

/** Elements that become a `div`, because they only begin a new line. */
const renamed: Readonly<Record<string, string>> = Object.fromEntries(
  "article section header footer main nav aside address figure figcaption form fieldset details summary hgroup"
    .split(" ")
    .map((name) => [name, "div"]),
);

function attributesOf({ attributes }: Tag): string {
  let text = "";
  for (const [name, value] of attributes) {
    text += ` ${name}="${value.replaceAll('"', "&quot;").replaceAll("<", "&lt;").replaceAll(">", "&gt;")}"`;
  }
  return text;
}
