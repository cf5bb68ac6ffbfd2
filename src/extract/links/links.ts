import { anchorsOf } from "../../mail/html/anchors.ts";
import { type HtmlWalk, walkHtml } from "../../mail/html/html-walk.ts";
import { oneLine, truncateCodePoints } from "../../standards/text.ts";
import { bareUrls } from "./bare-urls.ts";
import { type LinkKind, linkKindOf } from "./link-kind.ts";
import { isMisleading } from "./misleading.ts";

/** A web link of a mail. The service never fetches it, since that would use up a link that works once. */
export interface Link {
  url: string;
  /** The visible words of the anchor, or `""` for a bare address. */
  text: string;
  kind: LinkKind | null;
  /** True if the link leads to another host than its words name, or its address deceives readers (`isMisleading`). */
  misleading: boolean;
}

/**
 * The links of a mail, in order: the visible links of the HTML, then the further addresses of the text. Each address is listed once, with
 * its first words. The list has at most 50 links, and those without a known kind are dropped first.
 */
export function linksOf({ text, html }: { text: string; html: string | null }): Link[] {
  return linksIn(text, html === null ? undefined : walkHtml(html));
}

/** The links of a mail whose HTML was parsed already, as `linksOf` returns them. */
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
  return mostUseful([...links.values()]);
}

const textWindow = 64 * 1024;
const longestUrl = 2048;
const longestText = 200;
const mostLinks = 50;
/** Further addresses are ignored. Only distinct ones are counted. */
const mostAddresses = 500;
const mostAnchors = 2_000;
/** An address is usually repeated at most this often: a picture, a button, the address in full, and the same again below. */
const mostTimes = 5;

/** The URL of a web address, normalized as a browser does it; undefined for any other address. */
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

/** At most 50 links. Links without a kind are dropped first, so that the unsubscribe link in the footer is kept. */
function mostUseful(links: Link[]): Link[] {
  if (links.length <= mostLinks) return links;
  let spare = mostLinks - Math.min(mostLinks, links.filter(({ kind }) => kind !== null).length);
  return links.filter(({ kind }) => kind !== null || spare-- > 0).slice(0, mostLinks);
}
