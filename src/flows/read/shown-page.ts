import { bareUrls } from "../../extract/links/bare-urls.ts";
import { isMisleading } from "../../extract/links/misleading.ts";
import { escapeHtml } from "../../mail/html/html.ts";
import { type MisleadingLink, mostShownBytes, shownHtml } from "../../mail/html/shown-html.ts";
import { withoutInvisible } from "../../standards/invisible.ts";
import { oneLine, truncateCodePoints } from "../../standards/text.ts";
import type { StoredMessage } from "../../store/mail/message-pages.ts";
import { type AttachmentLinks, linkedAttachments } from "./attachment-links.ts";

export interface ShownPage {
  message: Pick<StoredMessage, "id" | "bodyText" | "bodyHtml" | "attachments">;
  remotePictures: boolean;
  now: Date;
}

/**
 * A message as a page that is safe in a browser: its sanitised HTML, or else its text. The mail is in a shadow tree, so that its styles
 * have no effect outside, and in a box that it can't leave, so that it can't cover the list of misleading links above it.
 */
export async function shownPage(
  links: Pick<AttachmentLinks, "attachmentUrl">,
  { message, remotePictures, now }: ShownPage,
): Promise<string> {
  const source = message.bodyHtml ?? htmlOfText(message.bodyText);
  const files = source.includes("cid:") || /cid/i.test(source) ? message.attachments : [];
  const linked = await linkedAttachments(links, message.id, files ?? [], now);
  const addresses = new Map(linked.map(({ contentId, url }) => [contentId, fromThePage(url)]));
  const { html, misleading } = shownHtml(source, {
    remotePictures,
    isMisleading,
    partAddress: (contentId) => addresses.get(contentId),
  });
  const mail = `<template shadowrootmode="open"><style>${mailStyle}</style><div data-mail>${html}</div></template>`;
  return `<!doctype html><html><head><title></title><style>${pageStyle}</style></head><body>${warning(misleading)}<div id="box"><div id="mail">${mail}</div></div></body></html>`;
}

/** A list of the links whose visible words name another target than the URL that they lead to. */
function warning(misleading: readonly MisleadingLink[]): string {
  if (misleading.length === 0) return "";
  const links = misleading.map(
    ({ words, url }) =>
      `<li>“${escapeHtml(shortened(oneLine(withoutInvisible(words)), longestWords))}” leads to <b>${escapeHtml(shortened(url.href, longestTarget))}</b></li>`,
  );
  return `<div id="links"><p>Links in this mail that are not what they seem:</p><ul>${links.join("")}</ul></div>`;
}

function shortened(text: string, length: number): string {
  const short = truncateCodePoints(text, length);
  return short === text ? text : `${short}…`;
}

const longestWords = 80;
const longestTarget = 200;

/** A URL relative to the page at `/v1/messages/{id}/html`, so that it works under any host and prefix. */
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

/** `break-word` and not `anywhere`, with which a column of a table could shrink to one letter. A wide table scrolls sideways. */
const pageStyle =
  "body{margin:0;font:15px/1.5 system-ui,sans-serif;color:#1a1c1f;background:#fff;overflow-wrap:break-word}#box{contain:content;overflow:auto}#links{margin:12px;padding:8px 12px;border:1px solid #a40000;color:#a40000}#links p,#links ul{margin:0}#links p{font-weight:600}#links ul{padding-left:1.2em}";
/** On a phone the fixed widths of newsletters give way, as far as their words allow. */
const mailStyle =
  "[data-mail]{display:flow-root;padding:12px}img{max-width:100%}blockquote{margin:0 0 0 .8ex;padding-left:1ex;border-left:1px solid #ccc}@media(max-width:600px){[data-mail] *{max-width:100%!important;min-width:0!important}table{width:100%!important;table-layout:auto!important}td,th,div,p,center{width:auto!important}img{height:auto!important}}";
