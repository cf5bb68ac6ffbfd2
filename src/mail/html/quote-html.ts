import { attributionLine, maxQuoteBytes, type QuotedMessage } from "../../domain/quote.ts";
import { type ForwardedMessage, forwardedHead, forwardLine } from "../../domain/send/forward.ts";
import { truncateUtf8, utf8Length } from "../../standards/text.ts";
import { escapeHtml, htmlOfLines, imageAttributes, sanitizeHtml } from "./html.ts";
import { tameHtml } from "./tame-html.ts";

/** The caller's HTML with the previous message quoted below it (contract §5.5). In a whole document the quote stands within the body. */
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

/** A stranger's HTML, or text as HTML, made safe for our mail and cut to size. Pictures with a Content-ID in `contentIds` are shown. */
export function quotedHtml(
  { bodyHtml, bodyText }: Pick<QuotedMessage, "bodyHtml" | "bodyText">,
  contentIds: ReadonlySet<string> = new Set(),
): string {
  const source = bodyHtml ?? htmlOfLines(bodyText.trimEnd().slice(0, maxSourceLength));
  const tame = tameHtml(source.slice(0, maxSourceLength), contentIds.size > 0 ? imageAttributes : undefined);
  const html = sanitizeHtml(tame.slice(0, maxTameLength), contentIds).trim();
  const isRead = (bodyHtml ?? bodyText).length <= maxSourceLength && tame.length <= maxTameLength;
  if (isRead && utf8Length(html) <= maxQuoteBytes) return html;
  // The cut may split a tag. Sanitising again drops it and closes the open elements.
  const cut = truncateUtf8(html, maxQuoteBytes - closingBytes).replace(/&[a-z0-9#]{0,8}$/i, "");
  return `${sanitizeHtml(cut, contentIds)}\n<div>[...]</div>`;
}

/** Five times the size of a quote, since styles and embedded pictures make HTML long. Reading more would delay the send. */
const maxSourceLength = 512 * 1024;

/** The limit on tamed HTML, which is hardly longer than its quote. Sanitising takes ten times as long as taming. */
const maxTameLength = 128 * 1024;

/** Room for the end tags of the deepest nesting that `sanitizeHtml` leaves, and for the mark of the cut. */
const closingBytes = 3_000;

/** The offset of the last `</body>`, or else of the last `</html>`, or else the end of the HTML. */
export function endOfBody(html: string): number {
  for (const endTag of [/<\/body\s*>/gi, /<\/html\s*>/gi]) {
    let last = -1;
    for (const { index } of html.matchAll(endTag)) last = index;
    if (last >= 0) return last;
  }
  return html.length;
}

/** The text and HTML that the caller of the API wrote, without the forwarded message. */
interface OwnBodies {
  text: string;
  html: string | undefined;
}

/**
 * The caller's HTML, or text as HTML, with the forwarded message below it, made safe as quotes are. `contentIds` are the Content-IDs of the
 * forwarded pictures that our mail contains; the HTML shows them.
 */
export function withForwardedHtml(
  { text, html }: OwnBodies,
  original: ForwardedMessage,
  contentIds: ReadonlySet<string>,
): string {
  const own = html ?? (text === "" ? "" : `<div>${htmlOfLines(text.trimEnd())}</div>`);
  const end = endOfBody(own);
  return `${own.slice(0, end)}\n${forwardedHtml(original, contentIds)}\n${own.slice(end)}`.trim();
}

function forwardedHtml(original: ForwardedMessage, contentIds: ReadonlySet<string>): string {
  const head = forwardedHead(original).map(([name, words]) => `<b>${name}:</b> ${escapeHtml(words)}`);
  return [`<div><br>${forwardLine}<br>`, `${head.join("<br>\n")}</div><br>`, quotedHtml(original, contentIds)].join(
    "\n",
  );
}
