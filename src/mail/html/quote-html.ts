import { attributionLine, maxQuoteBytes, type QuotedMessage } from "../../domain/quote.ts";
import { truncateUtf8, utf8Length } from "../../standards/text.ts";
import { escapeHtml, htmlOfLines, imageAttributes, sanitizeHtml } from "./html.ts";
import { tameHtml } from "./tame-html.ts";

/** The caller's HTML with the previous message quoted under it (contract §5.5), within its body where it is a whole document. */
export function withHtmlQuote(html: string, previous: QuotedMessage): string {
  const end = endOfBody(html);
  return `${html.slice(0, end)}\n${htmlQuote(previous)}\n${html.slice(end)}`;
}

function htmlQuote(previous: QuotedMessage): string {
  return [
    `<div><br>${escapeHtml(attributionLine(previous))}</div>`,
    `<blockquote type="cite" style="${quoteStyle}">`,
    quotedHtml(previous),
    "</blockquote>",
  ].join("\n");
}

const quoteStyle = "margin:0 0 0 0.8ex;border-left:1px solid #ccc;padding-left:1ex";

/**
 * A stranger's HTML, or his text as HTML, fit to stand in our mail; what is too long is cut. Pictures are shown where `contentIds` names
 * parts of that mail.
 */
export function quotedHtml(
  { bodyHtml, bodyText }: Pick<QuotedMessage, "bodyHtml" | "bodyText">,
  contentIds: ReadonlySet<string> = new Set(),
): string {
  const source = bodyHtml ?? htmlOfLines(bodyText.trimEnd().slice(0, maxSourceLength));
  const tame = tameHtml(source.slice(0, maxSourceLength), contentIds.size > 0 ? imageAttributes : undefined);
  const html = sanitizeHtml(tame.slice(0, maxTameLength), contentIds).trim();
  const isRead = (bodyHtml ?? bodyText).length <= maxSourceLength && tame.length <= maxTameLength;
  if (isRead && utf8Length(html) <= maxQuoteBytes) return html;
  // Cut anywhere, then sanitised again: that drops a tag cut in two and closes what is open.
  const cut = truncateUtf8(html, maxQuoteBytes - closingBytes).replace(/&[a-z0-9#]{0,8}$/i, "");
  return `${sanitizeHtml(cut, contentIds)}\n<div>[...]</div>`;
}

/** Styles and embedded pictures make HTML long, so five times what a quote may hold is read; more would hold up the sender. */
const maxSourceLength = 512 * 1024;

/** Without those it is hardly longer than the quote that is made of it, and making that takes ten times as long as taming. */
const maxTameLength = 128 * 1024;

/** Room for the end tags of the deepest nesting that `sanitizeHtml` leaves, and for the mark of the cut. */
const closingBytes = 3_000;

/** Before the end tags of a whole document, else its end. */
export function endOfBody(html: string): number {
  for (const endTag of [/<\/body\s*>/gi, /<\/html\s*>/gi]) {
    let last = -1;
    for (const { index } of html.matchAll(endTag)) last = index;
    if (last >= 0) return last;
  }
  return html.length;
}
