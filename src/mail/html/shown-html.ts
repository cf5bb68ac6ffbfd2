import { truncateUtf8, utf8Length } from "../../standards/text.ts";
import { decodedAttribute, decodedText } from "./entities.ts";
import { escapeHtml } from "./html.ts";
import { emptyElements, impliedBy, scanHtml, type Tag } from "./html-tags.ts";
import { shownCss } from "./shown-css.ts";
import { shownElements } from "./tame-html.ts";

export interface ShownHtmlOptions {
  /** True to keep the addresses of remote pictures. A reader must allow it, since each picture shows its host who reads the mail. */
  remotePictures: boolean;
  /** The address of a part of the mail, by its Content-ID. */
  partAddress(contentId: string): string | undefined;
  /** True if these words name another host than the URL. */
  isMisleading(words: string, url: URL): boolean;
}

export interface ShownHtml {
  html: string;
  /** The misleading links, with their words; at most 20. */
  misleading: readonly MisleadingLink[];
}

export interface MisleadingLink {
  words: string;
  url: URL;
}

export const mostShownBytes = 2 << 20;

/**
 * Any HTML, made safe to show as a page: words, styles, links and pictures, rewritten from a list of harmless elements and attributes, in
 * one linear scan. Everything else is dropped: scripts, frames, forms, meta, base, objects, active attributes. The browser's content
 * security policy is a second barrier and does not replace this one.
 */
export function shownHtml(html: string, options: ShownHtmlOptions): ShownHtml {
  const out = boundedOutput();
  const open: string[] = [];
  const misleading = new Map<string, MisleadingLink>();
  let link: OpenLink | undefined;

  const closeTo = (depth: number) => {
    while (open.length > depth) {
      const name = open.pop();
      out.close(`</${name}>`);
      if (name !== "a" || link === undefined) continue;
      const words = misleadingWords(link, options);
      if (words !== undefined && misleading.size < mostMisleading)
        misleading.set(`${words} ${link.url.href}`, { words, url: link.url });
      link = undefined;
    }
  };
  const opened = (tag: Tag) => {
    const name = tag.name === "body" ? "div" : tag.name;
    const implied = impliedBy(name);
    while (implied?.has(open.at(-1) ?? "")) closeTo(open.length - 1);
    // Closes an open link, as browsers do, so that each word belongs to one link.
    if (name === "a" && open.includes("a")) closeTo(open.lastIndexOf("a"));
    if (open.length >= maxDepth) return;
    const target = name === "a" ? linkTarget(tag.attributes.get("href")) : undefined;
    if (!out.write(`<${name}${attributesOf(tag, options)}${target === undefined ? "" : linkAttributes(target)}>`))
      return;
    open.push(name);
    if (target !== undefined) link = { url: target, words: [], alternatives: [] };
  };
  scanHtml(html.slice(0, mostShownBytes), {
    keeps: (attribute) => read.has(attribute),
    onText: (start, end) => {
      const written = html.slice(start, Math.min(end, mostShownBytes));
      link?.words.push(decodedText(written));
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
        if (tag.name === "img") {
          link?.alternatives.push(decodedAttribute(tag.attributes.get("alt") ?? ""));
          out.write(pictureOf(tag, options));
        } else if (emptyElements.has(tag.name)) out.write(`<${tag.name}${attributesOf(tag, options)}>`);
        else opened(tag);
      }
    },
  });
  closeTo(0);
  const isCut = html.length > mostShownBytes || out.isCut();
  return { html: isCut ? `${out.text()}${cutNote}` : out.text(), misleading: [...misleading.values()] };
}

interface OpenLink {
  url: URL;
  /** The pieces of its text between tags. */
  words: string[];
  /** The alternative texts of its pictures. */
  alternatives: string[];
}

/**
 * The words of a link that name another host. We check all words together, and each piece of text and each alternative text alone, since
 * the words around them may be hidden.
 */
function misleadingWords(
  { url, words, alternatives }: OpenLink,
  { isMisleading }: ShownHtmlOptions,
): string | undefined {
  for (const some of new Set([words.join(""), ...endsOf(words), ...endsOf(alternatives)])) {
    const parts = some.length > longestWords ? [some.slice(0, longestWords), some.slice(-longestWords)] : [some];
    const misleading = parts.find((part) => overrides.test(part) || isMisleading(part, url));
    if (misleading !== undefined) return misleading.trim();
  }
  return undefined;
}

/** The first 500 and the last 500 pieces, which bounds the time for one link. Real links have fewer. */
function endsOf(pieces: readonly string[]): readonly string[] {
  return pieces.length > 2 * mostPieces ? [...pieces.slice(0, mostPieces), ...pieces.slice(-mostPieces)] : pieces;
}

const mostPieces = 500;

/** Characters that reverse the order of all letters after them. No language needs them. */
const overrides = /[\u202d\u202e]/;

/**
 * Collects pieces of HTML up to `mostShownBytes`. After the first piece that does not fit, only end tags are added, for which room is kept.
 */
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

/** Room for the end tags of the deepest nesting, the note of the cut, the list of misleading links, and the page around. */
const roomToClose = 65_536;

const cutNote =
  '<hr><p style="font-style:italic !important">The rest of this message is not shown: it is too long.</p>';

/** Deeper tags are dropped, and their words stay. Real mail nests less deeply. */
const maxDepth = 200;

/** This many characters at the beginning and at the end of a link's words are searched for another host. */
const longestWords = 2_000;
const mostMisleading = 20;

const shown: ReadonlySet<string> = new Set([
  ...shownElements,
  ..."body article section header footer main nav aside address figure figcaption col colgroup wbr ruby rt rp bdi var dfn time".split(
    " ",
  ),
]);

/** Attributes that affect only how an element looks. */
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
  // The mail's body becomes a block in our page, and its background becomes that of the block.
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

/** The source of a picture. `data-remote` marks a remote picture whose address is left out, so that a page can count these. */
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

/** The target of a link, or undefined if it must not be followed. A link without a scheme would lead into this service. */
function linkTarget(written: string | undefined): URL | undefined {
  const url = written === undefined ? null : URL.parse(decodedAttribute(written));
  return url !== null && linked.has(url.protocol) ? url : undefined;
}

const linked: ReadonlySet<string> = new Set(["http:", "https:", "mailto:", "tel:"]);

function linkAttributes(target: URL): string {
  return ` href="${escapeHtml(target.href)}" target="_blank" rel="noopener noreferrer"`;
}
