import type { ThreadState } from "../conversation.ts";
import { type QuotedMessage, replySubject, withTextQuote } from "../quote.ts";
import { replyReferences } from "../references.ts";
import type { Send } from "./send.ts";
import type { AskedReply, RepliedMessage } from "./send-facts.ts";

/** The message that is answered: the last, or the last seen, that did not fail. */
export interface Replied extends Omit<RepliedMessage, keyof AskedReply> {
  bcc?: readonly string[] | null;
}

export interface RepliedThread extends Pick<ThreadState, "subject"> {
  /** The ancestors, oldest first: the first one and the last ones. */
  messageIds: readonly (Names & { ancestors?: readonly string[] | null })[];
  /** Undefined where all have failed. */
  replied: Replied | undefined;
  /** An earlier message where no recipient has a part in the answered one; undefined where none may be quoted. */
  quoted: Replied | undefined;
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

/**
 * What the mail says, and to what it is an answer (contract §5.5). Where the relay gives mails another name, each is named by both,
 * and the mail names itself: most programs hand References back, some the name on the wire alone.
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

/** Where no relay is known to rename, nobody asks for other names, and there are none. */
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
