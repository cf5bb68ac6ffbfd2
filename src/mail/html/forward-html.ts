import { type ForwardedMessage, forwardedHead, forwardLine } from "../../domain/send/forward.ts";
import { escapeHtml, htmlOfLines } from "./html.ts";
import { endOfBody, quotedHtml } from "./quote-html.ts";

/** The caller's two versions of a mail, as far as he says something. */
interface Own {
  text: string;
  html: string | undefined;
}

/**
 * The caller's HTML, else his text as HTML, with the forwarded message under it, tamed as quotes are. `contentIds` are those of the
 * forwarded pictures that go along, which are shown where they stood.
 */
export function withForwardedHtml(
  { text, html }: Own,
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
