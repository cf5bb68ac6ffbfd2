import type { Schemas } from "../../sdk/typescript/src/inboxd.ts";
import { previewOf } from "../domain/preview.ts";
import { withoutInvisible } from "../standards/invisible.ts";
import { jsonLength, type Marks, markBegin, mostTextCharacters, type Room, short, shortNames } from "./marks.ts";

/** Shows the values of the API to a model, with the texts of outsiders cleaned, marked and cut. */

/** A message of the API. One from a list has codes, links and the extracted text only on request. */
type Message = Schemas["ListedMessage"];

export function shownInbox(inbox: Schemas["Inbox"]) {
  const { id, address, externalId, createdAt, unreadThreads, lastMessageAt, displayName, aliases } = inbox;
  return { id, address, externalId, createdAt, unreadThreads, lastMessageAt, displayName, aliases };
}

/** The fields of a message without its text, with at most `mostAttachments` files. */
export function messageHead(message: Message, mostAttachments: number) {
  const { attachments } = message;
  const names = shortNames(attachments.map(({ filename }) => filename));
  return {
    id: message.id,
    threadId: message.threadId,
    direction: message.direction,
    status: message.status,
    fromAddr: short(message.fromAddr),
    fromName: message.fromName === null ? null : short(message.fromName),
    toAddr: short(message.toAddr),
    subject: short(message.subject),
    createdAt: message.createdAt,
    automated: message.automated,
    verdict: message.authentication?.verdict ?? null,
    codes: (message.codes ?? []).map(({ code, domain, source }) => ({
      code: short(code),
      domain: domain === null ? null : short(domain),
      source,
    })),
    attachments: attachments.slice(0, mostAttachments).map(({ contentType, sizeBytes }, index) => ({
      filename: names[index] ?? "",
      contentType: short(contentType),
      sizeBytes,
    })),
    ...(attachments.length > mostAttachments && { moreAttachments: attachments.length - mostAttachments }),
  };
}

/** The part of a message: its new text, its whole text, or its HTML. */
export type Part = "text" | "full_text" | "html";

/**
 * The text of a part without invisible characters. They are removed first, so that lengths and offsets count only
 * visible text.
 */
export function partOf(message: Message, part: Part): string {
  if (part === "html") return withoutInvisible(message.bodyHtml ?? "");
  return withoutInvisible(part === "text" ? (message.extractedText ?? "") : message.bodyText);
}

export function previewText(message: Message): string {
  return short(previewOf(withoutInvisible(message.extractedText ?? "")));
}

/** A whole message, with `text` from `offset` on between marks. */
export function messageWhole(message: Message, marks: Marks, text: string, offset: number) {
  const found = message.links ?? [];
  const links = linksIn(found);
  return {
    ...messageHead(message, 20),
    inboxId: message.inboxId,
    cc: message.cc.slice(0, 20).map(short),
    replyTo: message.replyTo === null ? null : short(message.replyTo),
    failure: message.failure === null ? null : short(message.failure.message),
    links,
    ...(links.length < found.length && { moreLinks: found.length - links.length }),
    ...marks.text(text, textRoom(), offset),
  };
}

/** The room for a text that is the only one of its result. */
export function textRoom(): Room {
  return { characters: mostTextCharacters, jsonCharacters: 25_000 };
}

/** The first links that fit. A link is shown whole or not at all, because a cut URL is useless. */
function linksIn(links: readonly Schemas["Link"][]) {
  let room = 12_000;
  const kept = [];
  for (const { url, text, kind, misleading } of links) {
    const link = { url: withoutInvisible(url).replaceAll(markBegin, "%5B%5B"), text: short(text), kind, misleading };
    room -= jsonLength(link);
    if (room < 0) break;
    kept.push(link);
  }
  return kept;
}
