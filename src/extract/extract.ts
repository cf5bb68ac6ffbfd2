import { type HtmlWalk, htmlWindow, visibleTextOfWalk, walkHtml } from "../mail/html/html-walk.ts";
import { textOfSeenHtml } from "../mail/html/seen-html.ts";
import { type Code, codesOf } from "./codes/codes.ts";
import { type Link, linksIn } from "./links/links.ts";
import { cutHtml } from "./reply-html.ts";
import { newTextOf, type ReplyFacts } from "./reply-text.ts";
import { hasForwardPrefix, hasReplyPrefix } from "./subject-prefixes.ts";

/** The parts of a message that extraction reads. */
export interface ExtractedFrom {
  direction: "inbound" | "outbound";
  subject: string;
  bodyText: string;
  bodyHtml: string | null;
  inReplyTo: string | null;
}

/** The parts of a message that its reader acts on. */
export interface Extraction {
  codes: Code[];
  links: Link[];
  extractedText: string;
  extractedHtml: string | null;
}

/**
 * The codes, the links and the new content of a message. They are computed from its row when it is shown, so that better rules apply
 * to old mail, too. Codes come from the new content only, since a quoted code is an older one.
 */
export function extractionOf({ direction, subject, bodyText, bodyHtml, inReplyTo }: ExtractedFrom): Extraction {
  // Some programs name a forwarded mail in In-Reply-To.
  const isReply = !hasForwardPrefix(subject) && (inReplyTo !== null || hasReplyPrefix(subject));
  const walk = bodyHtml === null ? undefined : walkHtml(bodyHtml);
  const content = newContentOf({ bodyText, bodyHtml: bodyHtml ?? undefined, isReply }, walk);
  const { extractedText, extractedHtml = null } = content;
  if (direction === "outbound") return { codes: [], links: [], extractedText, extractedHtml };
  const newWalk = extractedHtml === null || extractedHtml === bodyHtml ? walk : walkHtml(extractedHtml);
  const htmlText = newWalk && visibleTextOfWalk(newWalk);
  const codes = codesOf({ subject, newText: extractedText, htmlText });
  return { codes, links: linksIn(bodyText, walk), extractedText, extractedHtml };
}

/** The result for a message that could not be examined: no codes, no links, and the whole text and HTML as new content. */
export function nothingExtracted({ bodyText, bodyHtml }: Pick<ExtractedFrom, "bodyText" | "bodyHtml">): Extraction {
  return { codes: [], links: [], extractedText: bodyText, extractedHtml: bodyHtml };
}

interface MessageContent extends ReplyFacts {
  bodyText: string;
  bodyHtml: string | undefined;
}

interface NewContent {
  extractedText: string;
  /** The new part of the HTML, or undefined if the message has no HTML. */
  extractedHtml: string | undefined;
}

/**
 * The new content of a message. `walked` is its HTML if it was parsed already. If only the rules for HTML find a quote, the text is made
 * from the HTML.
 */
export function newContentOf({ bodyText, bodyHtml, isReply }: MessageContent, walked?: HtmlWalk): NewContent {
  const extractedText = newTextOf(bodyText, { isReply });
  if (bodyHtml === undefined) return { extractedText, extractedHtml: undefined };
  const cut = cutHtml(bodyHtml, walked ?? walkHtml(bodyHtml), { isReply });
  // HTML longer than `htmlWindow` was examined only at its beginning, so a text made from it would lack the rest.
  const isFoundInHtmlAlone = cut !== undefined && extractedText === bodyText && cut.html.length <= htmlWindow;
  const extractedHtml = cut?.html ?? bodyHtml;
  if (!isFoundInHtmlAlone) return { extractedText, extractedHtml };
  // Long HTML is only converted to plain lines, because converting it to a text with paragraphs takes longer.
  const text = cut.html.length <= longestLaidOut ? textOfSeenHtml(cut.html) : cut.text();
  return { extractedText: text === "" ? extractedText : newTextOf(text, { isReply }), extractedHtml };
}

const longestLaidOut = 8 * 1024;
