import { forwardSubject } from "../quote.ts";
import { type ForwardedMessage, withForwardedText } from "./forward.ts";
import { type Content, type RepliedThread, replyContent, type WithHtmlQuote } from "./reply-content.ts";
import type { Send } from "./send.ts";

/** Makes the HTML of a forward: the HTML of the request, or its text as HTML if it has none, followed by the forwarded message. */
export type WithForwardedHtml = (
  own: { text: string; html: string | undefined },
  original: ForwardedMessage,
  contentIds: ReadonlySet<string>,
) => string;

/** Passed in: domain may not import mail/html. */
export interface HtmlBodies {
  /** Whether the relay is known to give mails another Message-ID. */
  isRenamed: boolean;
  withHtmlQuote: WithHtmlQuote;
  withForwardedHtml: WithForwardedHtml;
}

/** The content of the mail to send: a new mail, an answer, or a forward. */
export function mailContent(send: Send, thread: RepliedThread | undefined, bodies: HtmlBodies): Content {
  const { request, text, html } = send;
  const { forward } = request;
  if (forward === undefined) return replyContent(send, thread, bodies);
  const subject = request.subject ?? forwardSubject(forward.message.subject);
  const asked = { rfcMessageId: send.rfcMessageId, request: { ...request, subject, includeQuote: false }, text, html };
  const content = replyContent(asked, thread, bodies);
  if (forward.as === "attachment") return content;
  const { message, contentIds } = forward;
  const isHtml = request.bodyFormat !== "text" && (html !== undefined || message.bodyHtml !== undefined);
  return {
    ...content,
    bodyText: withForwardedText(text, message),
    bodyHtml: isHtml ? bodies.withForwardedHtml({ text, html }, message, contentIds) : undefined,
  };
}
