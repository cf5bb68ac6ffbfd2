import { Refusal } from "../errors.ts";
import type { CustomHeader } from "../message.ts";
import type { SentAttachment } from "./files-of-send.ts";
import type { Recipient } from "./recipients/entries.ts";
import type { Content } from "./reply-content.ts";
import { furtherHeaders, type Send } from "./send.ts";

/** The facts about a mail that its size depends on. */
export interface MeasuredSend {
  request: Send["request"];
  messageId: string;
  rfcMessageId: string;
  at: Date;
  from: string;
  fromName: string | null | undefined;
  recipients: readonly Recipient[];
  content: Content;
  text: string;
  html: string;
  attachments: readonly SentAttachment[];
  headers: readonly CustomHeader[];
}

/** The limit on the size of a mail, with the function that measures it. Passed in, because domain may not import mail/write. */
export interface MeasureMail {
  maxBytes: number;
  /** Returns the size of the mail in bytes, or undefined if the mail is certainly within the limit. */
  measure(send: MeasuredSend): number | undefined;
}

/** Refuses a mail above the limit, which a relay would refuse later. The size is that of the encoded mail with its quote. */
export function refuseTooLarge(
  send: Send,
  written: Pick<MeasuredSend, "at" | "from" | "fromName" | "recipients" | "content">,
  mailLimit: MeasureMail | undefined,
): void {
  if (mailLimit === undefined) return;
  const { request, messageId, rfcMessageId } = send;
  const headers = furtherHeaders(send);
  const { bodyText: text, bodyHtml: html = "" } = written.content;
  const attachments = request.files?.attachments ?? [];
  const size = mailLimit.measure({ request, messageId, rfcMessageId, ...written, text, html, attachments, headers });
  const limit = mailLimit.maxBytes;
  if (size === undefined || size <= limit) return;
  const why = `the mail would have ${size} bytes, and the limit is ${limit}`;
  throw new Refusal("payload_too_large", `Cannot send: ${why}`, { extra: { limit, size } });
}
