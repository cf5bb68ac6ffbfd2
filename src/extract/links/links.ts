import { anchorsOf } from "../../mail/html/anchors.ts";
import { type HtmlWalk, walkHtml } from "../../mail/html/html-walk.ts";
import { oneLine, truncateCodePoints } from "../../standards/text.ts";
import { bareUrls } from "./bare-urls.ts";
import { type LinkKind, linkKindOf } from "./link-kind.ts";
import { isMisleading } from "./misleading.ts";

/** A place on the web that a mail leads to. It is never fetched here: one that works once would be spent. */
export interface Link {
  url: string;
  /** The visible words of the anchor; `""` of a bare address. */
  text: string;
  kind: LinkKind | null;
  /** It is not what it looks like. */
  misleading: boolean;
}

/**
 * The links of a mail in their order: those of the HTML that a reader sees, then addresses of the text that are not there yet. An address
 * is there once, with the first words that it has. Of more than 50 those whose purpose is known stay first.
 */
export function linksOf({ text, html }: { text: string; html: string | null }): Link[] {
  return linksIn(text, html === null ? undefined : walkHtml(html));
}

/** The same where the HTML has been walked through already. */
export function linksIn(text: string, walk: HtmlWalk | undefined): Link[] {
  const links = new Map<string, Link>();
  const add = (written: string, words: string) => {
    const url = shownUrl(written);
    if (url === undefined) return;
    const line = truncateCodePoints(oneLine(words), longestText);
    const link = { url: url.href, text: line, kind: linkKindOf(line, url), misleading: isMisleading(line, url) };
    const known = links.get(url.href);
    links.set(url.href, known === undefined ? link : joined(known, link));
  };
  const hrefs = new Map<string, number>();
  for (const { href, words, isSeen } of walk === undefined ? [] : anchorsOf(walk).take(mostAnchors)) {
    if (hrefs.size >= mostAddresses) break;
    const times = hrefs.get(href) ?? 0;
    hrefs.set(href, times + 1);
    if (isSeen && times < mostTimes) add(href, words);
  }
  const bare = new Set<string>();
  for (const { written, words } of bareUrls(text.slice(0, textWindow))) {
    if (bare.size >= mostAddresses) break;
    if (bare.has(written)) continue;
    bare.add(written);
    const url = shownUrl(written);
    if (url !== undefined && !links.has(url.href)) add(written, words);
  }
  return mostTelling([...links.values()]);
}

const textWindow = 64 * 1024;
const longestUrl = 2048;
const longestText = 200;
const mostLinks = 50;
/** Who writes more different ones into a mail than this has them passed over. */
const mostAddresses = 500;
const mostAnchors = 2_000;
/** A picture, a button, the address in full, and the same below: words behind these say nothing new. */
const mostTimes = 5;

/** The address where it is one of the web, as a browser would ask for it. */
function shownUrl(written: string): URL | undefined {
  if (written.length > 2 * longestUrl || !/^[\s\0]{0,20}https?:/i.test(written)) return undefined;
  const url = URL.parse(written);
  return url !== null && url.href.length <= longestUrl ? url : undefined;
}

function joined(known: Link, again: Link): Link {
  return {
    url: known.url,
    text: known.text === "" ? again.text : known.text,
    kind: known.kind ?? again.kind,
    misleading: known.misleading || again.misleading,
  };
}

/** A footer stands behind everything, and has the link that leaves the list. */
function mostTelling(links: Link[]): Link[] {
  if (links.length <= mostLinks) return links;
  let spare = mostLinks - Math.min(mostLinks, links.filter(({ kind }) => kind !== null).length);
  return links.filter(({ kind }) => kind !== null || spare-- > 0).slice(0, mostLinks);
}
