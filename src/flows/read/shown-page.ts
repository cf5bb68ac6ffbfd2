import { bareUrls } from "../../extract/links/bare-urls.ts";
import { isMisleading } from "../../extract/links/misleading.ts";
import { escapeHtml } from "../../mail/html/html.ts";
import { mostShownBytes, shownHtml } from "../../mail/html/shown-html.ts";
import type { StoredMessage } from "../../store/mail/message-pages.ts";
import { type AttachmentLinks, linkedAttachments } from "./attachment-links.ts";

export interface ShownPage {
  message: Pick<StoredMessage, "id" | "bodyText" | "bodyHtml" | "attachments">;
  remotePictures: boolean;
  now: Date;
}

/** What a message says as a page that a browser may show beside anything: its HTML made harmless, else its text. */
export async function shownPage(
  links: Pick<AttachmentLinks, "attachmentUrl">,
  { message, remotePictures, now }: ShownPage,
): Promise<string> {
  const source = message.bodyHtml ?? htmlOfText(message.bodyText);
  const files = source.includes("cid:") || /cid/i.test(source) ? message.attachments : [];
  const linked = await linkedAttachments(links, message.id, files ?? [], now);
  const addresses = new Map(linked.map(({ contentId, url }) => [contentId, fromThePage(url)]));
  const body = shownHtml(source, {
    remotePictures,
    isMisleading,
    partAddress: (contentId) => addresses.get(contentId),
  });
  return `<!doctype html><html><head><title></title><style>${pageStyle}</style></head><body>${body}</body></html>`;
}

/** The page is at `/v1/messages/{id}/html`: so it finds its pictures under any host and prefix by which it was found itself. */
function fromThePage(url: string): string {
  return `../../${url.slice(url.lastIndexOf("/v1/attachments/") + "/v1/".length)}`;
}

function htmlOfText(whole: string): string {
  const text = whole.slice(0, mostShownBytes);
  let html = "";
  let at = 0;
  for (const { written } of bareUrls(text)) {
    const start = text.indexOf(written, at);
    if (start === -1) continue;
    html += `${escapeHtml(text.slice(at, start))}<a href="${escapeHtml(written)}">${escapeHtml(written)}</a>`;
    at = start + written.length;
  }
  return `<div style="white-space:pre-wrap">${html}${escapeHtml(text.slice(at))}</div>`;
}

const pageStyle =
  "body{margin:12px;font:15px/1.5 system-ui,sans-serif;color:#1a1c1f;background:#fff;overflow-wrap:anywhere}img{max-width:100%}blockquote{margin:0 0 0 .8ex;padding-left:1ex;border-left:1px solid #ccc}";
