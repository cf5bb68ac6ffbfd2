import type { ThreadState } from "../conversation.ts";
import { type QuotedMessage, replySubject, withTextQuote } from "../quote.ts";
import { replyReferences } from "../references.ts";
import type { Send } from "./send.ts";
import type { AskedReply, RepliedMessage } from "./send-facts.ts";

/** The message that is answered: the last, or the last seen, that did not fail. */
export type Replied = Omit<RepliedMessage, keyof AskedReply>;

export interface RepliedThread extends Pick<ThreadState, "subject"> {
  /** The ancestors, oldest first: the first one and the last ones. */
  messageIds: readonly { rfcMessageId: string }[];
  /** Undefined where all have failed. */
  replied: Replied | undefined;
}

export interface Content {
  subject: string;
  bodyText: string;
  bodyHtml: string | undefined;
  inReplyTo: string | undefined;
  references: string[];
}

/** The caller's HTML with the previous message quoted under it. It is given, since what reads HTML stands above the rules. */
export type WithHtmlQuote = (html: string, previous: QuotedMessage) => string;

/** What the mail says, and to what it is an answer (contract §5.5). */
export function replyContent(
  { request, text, html }: Pick<Send, "request" | "text" | "html">,
  thread: RepliedThread | undefined,
  withHtmlQuote: WithHtmlQuote,
): Content {
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

function quotedMessage(message: Replied): QuotedMessage {
  const from =
    message.fromAddr === ""
      ? undefined
      : { address: message.fromAddr, ...(message.fromName !== null && { name: message.fromName }) };
  return { from, at: message.createdAt, bodyText: message.bodyText, bodyHtml: message.bodyHtml ?? undefined };
}
