import { truncateUtf8, utf8Length } from "../../standards/text.ts";
import { decodedAttribute, decodedText } from "./entities.ts";
import { escapeHtml } from "./html.ts";
import { emptyElements, impliedBy, scanHtml, type Tag } from "./html-tags.ts";
import { shownCss } from "./shown-css.ts";
import { shownElements } from "./tame-html.ts";

export interface ShownHtmlOptions {
  /** Whether pictures of other hosts are named; what a reader may have asked for, since each tells its host who reads. */
  remotePictures: boolean;
  /** The address of a part of the mail, by the id that its HTML names. */
  partAddress(contentId: string): string | undefined;
  /** Whether words make a link look like one to somewhere else. */
  isMisleading(words: string, url: URL): boolean;
}

export const mostShownBytes = 2 << 20;

/**
 * HTML of anybody as it may be shown as a page of its own: its words, its looks, its links and pictures, written anew from a list of what
 * is known to be harmless. In one linear scan, like all that reads mail here. What is not on the list is not there: no script, frame,
 * form, meta, base or object, no attribute that acts. A browser's policy stands behind this as a second wall, never in place of it.
 */
export function shownHtml(html: string, options: ShownHtmlOptions): string {
  const out = boundedOutput();
  const open: string[] = [];
  let link: { url: URL; words: string } | undefined;

  const closeTo = (depth: number) => {
    while (open.length > depth) {
      const name = open.pop();
      out.close(`</${name}>`);
      if (name !== "a" || link === undefined) continue;
      if (options.isMisleading(link.words, link.url)) out.write(targetShown(link.url));
      link = undefined;
    }
  };
  const opened = (tag: Tag) => {
    const name = tag.name === "body" ? "div" : tag.name;
    const implied = impliedBy(name);
    while (implied?.has(open.at(-1) ?? "")) closeTo(open.length - 1);
    // No link within a link: a browser would close the outer one, and its words would be another's.
    if (name === "a" && open.includes("a")) closeTo(open.lastIndexOf("a"));
    if (open.length >= maxDepth) return;
    const target = name === "a" ? linkTarget(tag.attributes.get("href")) : undefined;
    if (!out.write(`<${name}${attributesOf(tag, options)}${target === undefined ? "" : linkAttributes(target)}>`))
      return;
    open.push(name);
    if (target !== undefined) link = { url: target, words: "" };
  };
  scanHtml(html.slice(0, mostShownBytes), {
    keeps: (attribute) => read.has(attribute),
    onText: (start, end) => {
      const written = html.slice(start, Math.min(end, mostShownBytes));
      if (link !== undefined && link.words.length < longestWords) {
        link.words += decodedText(written.slice(0, longestWords));
      }
      out.writeText(written.replaceAll("<", "&lt;").replaceAll(">", "&gt;"));
    },
    onTag: (tag) => {
      if (tag.closes) {
        const depth = open.lastIndexOf(tag.name === "body" ? "" : tag.name);
        if (depth >= 0) closeTo(depth);
        else if (tag.name === "br") out.write("<br>");
      } else if (tag.name === "style") {
        out.write(styleElement(html.slice(tag.end, tag.elementEnd), options));
      } else if (shown.has(tag.name)) {
        if (tag.name === "img") out.write(pictureOf(tag, options));
        else if (emptyElements.has(tag.name)) out.write(`<${tag.name}${attributesOf(tag, options)}>`);
        else opened(tag);
      }
    },
  });
  closeTo(0);
  return html.length > mostShownBytes || out.isCut() ? `${out.text()}${cutNote}` : out.text();
}

/** Pieces up to a size. End tags always fit, since room is kept for them; once a piece did not fit, none does. */
function boundedOutput() {
  const pieces: string[] = [];
  let left = mostShownBytes - roomToClose;
  let isCut = false;
  const push = (piece: string) => {
    left -= utf8Length(piece);
    pieces.push(piece);
  };
  const write = (piece: string): boolean => {
    isCut ||= utf8Length(piece) > left;
    if (!isCut) push(piece);
    return !isCut;
  };
  return {
    write,
    writeText(text: string): void {
      if (isCut || write(text)) return;
      push(truncateUtf8(text, Math.max(0, left)).replace(/&[a-z0-9#]{0,32}$/i, ""));
    },
    close: push,
    isCut: () => isCut,
    text: () => pieces.join(""),
  };
}

/** End tags of the deepest nesting, the note behind the last link and that of the cut, and the page around. */
const roomToClose = 16_384;

const cutNote =
  '<hr><p style="font-style:italic !important">The rest of this message is not shown: it is too long.</p>';

/** No real mail nests deeper; beyond it tags are dropped and their words stay. */
const maxDepth = 200;

/** As much of a link's words as are looked at for another host. */
const longestWords = 2_000;

const shown: ReadonlySet<string> = new Set([
  ...shownElements,
  ..."body article section header footer main nav aside address figure figcaption col colgroup wbr ruby rt rp bdi bdo var dfn time".split(
    " ",
  ),
]);

/** Attributes whose values say how something looks, and nothing else. */
const plain: ReadonlySet<string> = new Set(
  "class id align valign bgcolor color width height border cellpadding cellspacing colspan rowspan alt title dir lang start type face size nowrap hspace vspace span".split(
    " ",
  ),
);
const read: ReadonlySet<string> = new Set([...plain, "style", "href", "src", "background"]);

function attributesOf({ name, attributes }: Tag, options: ShownHtmlOptions): string {
  let text = "";
  let style = attributes.has("style")
    ? shownCss(decodedAttribute(attributes.get("style") ?? ""), options.remotePictures)
    : "";
  // The page's own body stays ours: what a mail's says of its ground is said of the block in its place.
  const ground = name === "body" ? attributes.get("bgcolor") : undefined;
  if (ground !== undefined && /^#?\w{3,20}$/.test(ground)) style = `background-color:${ground};${style}`;
  for (const [attribute, written] of attributes) {
    if (plain.has(attribute)) text += ` ${attribute}="${escapeHtml(decodedAttribute(written))}"`;
  }
  return style === "" ? text : `${text} style="${escapeHtml(style)}"`;
}

function styleElement(content: string, { remotePictures }: ShownHtmlOptions): string {
  const end = content.lastIndexOf("</");
  return `<style>${shownCss(end === -1 ? content : content.slice(0, end), remotePictures)}</style>`;
}

function pictureOf(tag: Tag, options: ShownHtmlOptions): string {
  const source = decodedAttribute(tag.attributes.get("src") ?? "").trim();
  return `<img${attributesOf(tag, options)}${sourceAttribute(source, options)}>`;
}

/** A picture of another host that is not named is marked, so that a page can say how many there are. */
function sourceAttribute(source: string, { remotePictures, partAddress }: ShownHtmlOptions): string {
  if (/^cid:/i.test(source)) {
    const address = partAddress(decodedId(source.slice(4)));
    return address === undefined ? "" : ` src="${escapeHtml(address)}"`;
  }
  if (/^data:image\/(?:png|gif|jpeg|webp|bmp)[;,]/i.test(source)) return ` src="${escapeHtml(source)}"`;
  const url = URL.parse(source);
  if (url === null || !/^https?:$/.test(url.protocol)) return "";
  return remotePictures ? ` src="${escapeHtml(url.href)}"` : " data-remote";
}

function decodedId(written: string): string {
  try {
    return decodeURIComponent(written);
  } catch {
    return written;
  }
}

/** Where a link leads that may be followed. One without a scheme would lead into this service. */
function linkTarget(written: string | undefined): URL | undefined {
  const url = written === undefined ? null : URL.parse(decodedAttribute(written));
  return url !== null && linked.has(url.protocol) ? url : undefined;
}

const linked: ReadonlySet<string> = new Set(["http:", "https:", "mailto:", "tel:"]);

function linkAttributes(target: URL): string {
  return ` href="${escapeHtml(target.href)}" target="_blank" rel="noopener noreferrer"`;
}

/** Said in a way that no style of the mail can hide. */
function targetShown(url: URL): string {
  const target = url.href.length > longestTarget ? `${url.href.slice(0, longestTarget)}…` : url.href;
  return ` <span style="${targetStyle}">[${escapeHtml(target)}]</span>`;
}

const longestTarget = 200;
const targetStyle =
  "all:initial !important;display:inline !important;font:bold 13px sans-serif !important;color:#a40000 !important;background:#fff !important;overflow-wrap:anywhere !important";
