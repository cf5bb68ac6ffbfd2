import { compile, type DomNode, type FormatCallback } from "html-to-text";
import sanitize from "sanitize-html";
import { quotedLines } from "../../domain/quote.ts";
import { shownElements, tameHtml } from "./tame-html.ts";

/**
 * The text alternative of HTML, for a reader without a browser. Links become `text (url)`, table rows become lines, images their `alt`. It
 * never throws, and its time is linear in the length.
 */
export function textOfHtml(html: string): string {
  toText ??= textMaker();
  return toText(tameHtml(html.slice(0, maxInputLength)))
    .replaceAll("\0", "\uFFFD")
    .toWellFormed()
    .split(/\r\n|\r|\n/)
    .map((line) => line.trimEnd())
    .join("\n")
    .replaceAll(/\n{3,}/g, "\n\n")
    .replace(/^\n+/, "")
    .trimEnd();
}

/**
 * A stranger's HTML, made safe to stand inside our own mail. Only structure and words remain: no script, style, class or id (an overlay
 * would need one), no form, frame or embedded object, and links only with http, https, mailto and tel. An image is kept only if its `cid:`
 * address names a part of our mail (`contentIds`). Others become their `alt`, because a remote image shows its owner who reads the quote
 * and when. Every open element is closed, so nothing escapes the element around the quote.
 */
export function sanitizeHtml(html: string, contentIds: ReadonlySet<string> = new Set()): string {
  return sanitize(tameHtml(html.slice(0, maxInputLength), contentIds.size > 0 ? imageAttributes : undefined), {
    allowedTags: contentIds.size > 0 ? shownElements : shownElements.filter((name) => name !== "img"),
    allowedAttributes: {
      img: ["src", "alt", "width", "height"],
      a: ["href"],
      td: ["colspan", "rowspan", "align"],
      th: ["colspan", "rowspan", "align"],
      ol: ["start"],
      "*": ["dir", "lang"],
    },
    allowedSchemes: ["http", "https", "mailto", "tel"],
    allowedSchemesByTag: { img: ["cid"] },
    allowProtocolRelative: false,
    transformTags: {
      img: (_name, { src = "", alt = "", width, height }) => {
        const contentId = contentIdIn(src);
        if (contentId === undefined || !contentIds.has(contentId)) {
          return { tagName: "span", attribs: {}, ...(alt ? { text: `[${alt}]` } : {}) };
        }
        return { tagName: "img", attribs: { src: `cid:${contentId}`, alt, ...sizes({ width, height }) } };
      },
    },
  });
}

/** The attributes that `tameHtml` must keep if pictures are shown. */
export const imageAttributes: ReadonlySet<string> = new Set(["src", "width", "height"]);

/** The Content-ID in a `cid:` address (RFC 2392 §2), which may be percent-encoded. */
function contentIdIn(src: string): string | undefined {
  const [, encoded] = /^cid:([!-~]{1,400})$/i.exec(src.trim()) ?? [];
  try {
    return encoded === undefined ? undefined : decodeURIComponent(encoded);
  } catch {
    return encoded;
  }
}

function sizes(given: Readonly<Record<string, string | undefined>>): Record<string, string> {
  const numbers = Object.entries(given).filter(([, size]) => size !== undefined && /^\d{1,5}$/.test(size));
  return Object.fromEntries(numbers) as Record<string, string>;
}

/** Plain text as HTML with the same lines. */
export function htmlOfLines(text: string): string {
  return escapeHtml(text).replaceAll(/\r\n|\r|\n/g, "<br>\n");
}

/** Plain text with the special characters of HTML escaped. */
export function escapeHtml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
}

/** The most characters of HTML that are read. Mail has fewer: at most 8 MiB of each part are read (mail/read/bodies.ts). */
const maxInputLength = 16 * 1024 * 1024;

/** Deeper levels get no marks: each level copies all lines within, so depth would multiply the time. */
const maxListLevels = 8;
const maxQuoteLevels = 16;

/** The marks before lines may have this many characters more than the HTML; real mail needs fewer. */
const freeMarks = 10_000;

const block = (selector: string, lineBreaks: number) => ({
  selector,
  format: "block",
  options: { leadingLineBreaks: lineBreaks, trailingLineBreaks: lineBreaks },
});

/** The converter of `textOfHtml`. It is created for the first HTML, so that the service starts sooner. */
let toText: ReturnType<typeof textMaker> | undefined;

/**
 * Creates the converter. The marks of lists and quotes before lines add at most as many characters as the HTML has, plus `freeMarks`;
 * further lines get no marks. Without this limit, each `<br>`, which has four characters, could add a line with a long indentation.
 */
function textMaker(): (html: string) => string {
  let spare = 0;
  const marked: Marked = (text, longer) => {
    const more = longer.length - text.length;
    if (more > spare) return text;
    spare -= more;
    return longer;
  };
  const convert = compile({
    wordwrap: false,
    formatters: {
      link: formatLink,
      cell: formatCell,
      alt: formatAlt,
      list: listFormat(marked),
      quote: quoteFormat(marked),
      rule: ruleFormat(marked),
    },
    selectors: [
      ...["h1", "h2", "h3", "h4", "h5", "h6"].map((selector) => block(selector, 2)),
      ...["table", "dl"].map((selector) => block(selector, 2)),
      ...["tr", "caption", "dt", "dd", "center"].map((selector) => block(selector, 1)),
      { selector: "hr", format: "rule" },
      { selector: "a", format: "link" },
      { selector: "ul", format: "list" },
      { selector: "ol", format: "list" },
      { selector: "blockquote", format: "quote" },
      { selector: "td", format: "cell" },
      { selector: "th", format: "cell" },
      { selector: "img", format: "alt" },
    ],
  });
  return (html) => {
    spare = html.length + freeMarks;
    return convert(html);
  };
}

/** Returns `longer`, which is the text with marks, if there is room for the marks, otherwise `text`. */
type Marked = (text: string, longer: string) => string;

type Walk = Parameters<FormatCallback>[1];
type Builder = Parameters<FormatCallback>[2];

function formatLink(element: DomNode, walk: Walk, builder: Builder): void {
  const url = shownUrl(String(element.attribs?.href ?? ""));
  if (url === "" || ancestors(element, ["a"]) > 0) {
    walk(element.children, builder);
    return;
  }
  let label = "";
  builder.pushWordTransform((word) => {
    label += word;
    return word;
  });
  walk(element.children, builder);
  builder.popWordTransform();
  if (label === "") builder.addInline(url, { noWordTransform: true });
  else if (label !== url && `${label}/` !== url) builder.addInline(` (${url})`, { noWordTransform: true });
}

/** The address of a link for readers, or `""` for an anchor within the page and for schemes that run or embed something. */
function shownUrl(href: string): string {
  const url = href.replaceAll(/[\0-\x1f\x7f]/g, "").trim();
  if (url === "" || url.startsWith("#")) return "";
  const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(url)?.[1]?.toLowerCase();
  if (scheme === "mailto") return url.slice("mailto:".length).replaceAll(" ", "%20");
  if (scheme !== undefined && !["http", "https", "ftp", "tel", "sms"].includes(scheme)) return "";
  return url.replaceAll(" ", "%20");
}

function listFormat(marked: Marked): FormatCallback {
  return (element, walk, builder) => {
    const levels = ancestors(element, ["ul", "ol"]);
    const items = element.children.filter((child) => child.type === "tag" || (child.data ?? "").trim() !== "");
    const first = Number.parseInt(String(element.attribs?.start ?? "1"), 10);
    let number = Number.isSafeInteger(first) ? first : 1;
    const prefixes = items.map((item) => {
      if (item.name !== "li" || levels >= maxListLevels) return "";
      return element.name === "ol" ? `${number++}. ` : "* ";
    });
    const lineBreaks = levels > 0 ? 1 : 2;
    const width = prefixes.reduce((longest, prefix) => Math.max(longest, prefix.length), 0);
    builder.openList({ leadingLineBreaks: lineBreaks });
    for (const [index, item] of items.entries()) {
      const prefix = (prefixes[index] ?? "").padEnd(width);
      builder.openBlock({ leadingLineBreaks: 1 });
      walk(item.name === "li" ? item.children : [item], builder);
      builder.closeBlock({
        trailingLineBreaks: 1,
        blockTransform: (text) => marked(text, prefix + text.replaceAll("\n", `\n${" ".repeat(width)}`)),
      });
    }
    builder.closeList({ trailingLineBreaks: lineBreaks });
  };
}

function quoteFormat(marked: Marked): FormatCallback {
  return (element, walk, builder) => {
    const plain = ancestors(element, ["blockquote"]) >= maxQuoteLevels;
    builder.openBlock({ leadingLineBreaks: 2 });
    walk(element.children, builder);
    builder.closeBlock({
      trailingLineBreaks: 2,
      blockTransform: (text) => (plain ? text : marked(text, quotedLines(text).join("\n"))),
    });
  };
}

function ruleFormat(marked: Marked): FormatCallback {
  return (_element, _walk, builder) => {
    builder.openBlock({ leadingLineBreaks: 2 });
    builder.addInline(marked("---", "-".repeat(40)));
    builder.closeBlock({ trailingLineBreaks: 2 });
  };
}

/** Cells with only words share a line, with ` | ` between them. A cell with blocks, as in most tables of mail, is a block itself. */
function formatCell(element: DomNode, walk: Walk, builder: Builder): void {
  if (laysOut(element)) {
    builder.openBlock({ leadingLineBreaks: 1 });
    walk(element.children, builder);
    builder.closeBlock({ trailingLineBreaks: 1 });
    return;
  }
  if (hasWords(element) && followsWords(element)) builder.addInline(" | ");
  walk(element.children, builder);
}

type Sibling = DomNode & { prev?: Sibling | null };

function followsWords(cell: Sibling): boolean {
  for (let before = cell.prev; before; before = before.prev) {
    if (before.type === "tag" && hasWords(before)) return !laysOut(before);
  }
  return false;
}

function laysOut(cell: DomNode): boolean {
  return cell.children.some((child) => layoutTags.has(child.name ?? ""));
}

const layoutTags = new Set("p div table ul ol dl blockquote center pre h1 h2 h3 h4 h5 h6 hr".split(" "));

function hasWords(cell: DomNode): boolean {
  return cell.children.some((child) => child.type === "tag" || (child.data ?? "").trim() !== "");
}

function formatAlt(element: DomNode, _walk: Walk, builder: Builder): void {
  builder.addInline(String(element.attribs?.alt ?? ""));
}

function ancestors(element: DomNode, names: readonly string[]): number {
  let count = 0;
  for (let parent = element.parent; parent; parent = parent.parent) {
    if (names.includes(parent.name ?? "")) count += 1;
  }
  return count;
}
