import type { ThreadState } from "../conversation.ts";
import { type QuotedMessage, replySubject, withTextQuote } from "../quote.ts";
import { replyReferences } from "../threading.ts";
import type { Send } from "./send.ts";
import type { AskedReply, RepliedMessage } from "./send-facts.ts";

/**
 * The message that a reply answers: the one that the request names by id, else the last one of the thread that did not fail, not counting
 * messages after the last one that the caller has seen.
 */
export interface Replied extends Omit<RepliedMessage, keyof AskedReply> {
  bcc?: readonly string[] | null;
}

export interface RepliedThread extends Pick<ThreadState, "subject"> {
  /** The Message-IDs of the thread, oldest first. In a long thread those in the middle are left out. */
  messageIds: readonly (Names & { ancestors?: readonly string[] | null })[];
  /** The message that the reply answers. Undefined if all messages of the thread have failed. */
  replied: Replied | undefined;
  /** The message to quote. It is an earlier one if no recipient wrote or got the answered one. Undefined if no message may be quoted. */
  quoted: Replied | undefined;
}

export interface Content {
  subject: string;
  bodyText: string;
  bodyHtml: string | undefined;
  inReplyTo: string | undefined;
  references: string[];
}

/** Appends the quoted message to the HTML of the request. Passed in: domain may not import mail/html. */
export type WithHtmlQuote = (html: string, previous: QuotedMessage) => string;

/**
 * The content of a mail that is new or a reply, with In-Reply-To and References (contract §5.5). If the relay gives mails another
 * Message-ID, References has both ids of each message, and also the id that we gave this mail: most programs repeat References in an
 * answer, so the answer is found by our id. Some programs name only the Message-ID that the relay gave.
 */
export function replyContent(
  { request, text, html, rfcMessageId }: Pick<Send, "request" | "text" | "html" | "rfcMessageId">,
  thread: RepliedThread | undefined,
  { withHtmlQuote, isRenamed }: { withHtmlQuote: WithHtmlQuote; isRenamed: boolean },
): Content {
  const subject = request.subject ?? replySubject(thread?.subject ?? "");
  const messageIds = thread?.messageIds ?? [];
  const before = messageIds.flatMap((names) => [...(names.ancestors ?? []), ...namesOf(names)]);
  const answered = thread?.replied === undefined ? [] : namesOf(thread.replied);
  const references = replyReferences(before, isRenamed ? [...answered, rfcMessageId] : answered);
  const inReplyTo = thread?.replied && nameOnTheWire(thread.replied);
  if (thread?.quoted === undefined || !request.includeQuote) {
    return { subject, bodyText: text, bodyHtml: html, inReplyTo, references };
  }
  const quoted = quotedMessage(thread.quoted);
  return {
    subject,
    bodyText: withTextQuote(text, quoted),
    bodyHtml: html === undefined ? undefined : withHtmlQuote(html, quoted),
    inReplyTo,
    references,
  };
}

interface Names {
  rfcMessageId: string;
  wireName: string | null;
}

/** `wireName` is null if the relay does not rename mail, because it is not read then. */
function namesOf({ rfcMessageId, wireName }: Names): string[] {
  return wireName === null ? [rfcMessageId] : [rfcMessageId, wireName];
}

function nameOnTheWire({ rfcMessageId, wireName }: Replied): string {
  return wireName ?? rfcMessageId;
}

function quotedMessage(message: Replied): QuotedMessage {
  const from =
    message.fromAddr === ""
      ? undefined
      : { address: message.fromAddr, ...(message.fromName !== null && { name: message.fromName }) };
  return { from, at: message.createdAt, bodyText: message.bodyText, bodyHtml: message.bodyHtml ?? undefined };
}
