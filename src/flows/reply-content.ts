import type { ThreadState } from "../domain/conversation.ts";
import { type QuotedMessage, replySubject, withTextQuote } from "../domain/quote.ts";
import { replyReferences } from "../domain/references.ts";
import { withHtmlQuote } from "../mail/quote-html.ts";
import type { RepliedMessage } from "../store/send-facts.ts";
import type { Send } from "./send-email.ts";

export interface RepliedThread extends Pick<ThreadState, "subject"> {
  /** Oldest first: the first one and the last ones. */
  messageIds: readonly { rfcMessageId: string }[];
  /** The last message that did not fail, should there be one. */
  replied: Omit<RepliedMessage, "threadId"> | undefined;
}

export interface Content {
  subject: string;
  bodyText: string;
  bodyHtml: string | undefined;
  inReplyTo: string | undefined;
  references: string[];
}

/** What the mail says, and to what it is an answer (service contract §5.5). */
export function replyContent({ request, text, html }: Send, thread: RepliedThread | undefined): Content {
  const subject = request.subject ?? replySubject(thread?.subject ?? "");
  const references = replyReferences(thread?.messageIds.map(({ rfcMessageId }) => rfcMessageId) ?? []);
  const replied = thread?.replied;
  if (replied === undefined || !request.includeQuote) {
    return { subject, bodyText: text, bodyHtml: html, inReplyTo: replied?.rfcMessageId, references };
  }
  const quoted = quotedMessage(replied);
  return {
    subject,
    bodyText: withTextQuote(text, quoted),
    bodyHtml: html === undefined ? undefined : withHtmlQuote(html, quoted),
    inReplyTo: replied.rfcMessageId,
    references,
  };
}

function quotedMessage(message: Omit<RepliedMessage, "threadId">): QuotedMessage {
  const from =
    message.fromAddr === ""
      ? undefined
      : { address: message.fromAddr, ...(message.fromName !== null && { name: message.fromName }) };
  return { from, at: message.createdAt, bodyText: message.bodyText, bodyHtml: message.bodyHtml ?? undefined };
}
