import { visibleTextOfWalk, walkHtml } from "../mail/html/html-walk.ts";
import { type Code, codesOf } from "./codes/codes.ts";
import { type Link, linksIn } from "./links/links.ts";
import { newContentOf } from "./new-content.ts";
import { hasForwardPrefix, hasReplyPrefix } from "./subject-prefixes.ts";

/** What of a message is looked at. */
export interface ExtractedFrom {
  direction: "inbound" | "outbound";
  subject: string;
  bodyText: string;
  bodyHtml: string | null;
  inReplyTo: string | null;
}

/** What a message says to who has to act on it. */
export interface Extraction {
  codes: Code[];
  links: Link[];
  extractedText: string;
  extractedHtml: string | null;
}

/**
 * Codes, links and what is new in a message: made of its row alone, each time that it is shown, so that a better rule serves old mail too.
 * A code that is quoted is an older one, so codes are looked for in what is new.
 */
export function extractionOf({ direction, subject, bodyText, bodyHtml, inReplyTo }: ExtractedFrom): Extraction {
  // Some programs name the mail that they pass on as its parent.
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

/** What is shown of a message that could not be looked through. */
export function nothingExtracted({ bodyText, bodyHtml }: Pick<ExtractedFrom, "bodyText" | "bodyHtml">): Extraction {
  return { codes: [], links: [], extractedText: bodyText, extractedHtml: bodyHtml };
}
