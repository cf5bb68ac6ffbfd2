import { Refusal } from "../errors.ts";
import type { SentAttachment } from "./files-of-send.ts";
import type { Recipient } from "./recipients/entries.ts";
import type { Content } from "./reply-content.ts";
import type { Send } from "./send.ts";

/** All that the length of a mail depends on. */
export interface MeasuredSend {
  request: Send["request"];
  messageId: string;
  rfcMessageId: string;
  at: Date;
  from: string;
  recipients: readonly Recipient[];
  content: Content;
  text: string;
  html: string;
  attachments: readonly SentAttachment[];
}

/** Given, since what writes mail stands above the rules. */
export interface MeasureMail {
  maxBytes: number;
  /** Undefined where it is certainly not too long. */
  measure(send: MeasuredSend): number | undefined;
}

/** The whole mail counts, with what it quotes and as it is encoded: what a relay refuses later helps nobody. */
export function refuseTooLarge(
  { request, messageId, rfcMessageId }: Send,
  written: Pick<MeasuredSend, "at" | "from" | "recipients" | "content">,
  mailLimit: MeasureMail | undefined,
): void {
  if (mailLimit === undefined) return;
  const { bodyText: text, bodyHtml: html = "" } = written.content;
  const attachments = request.files?.attachments ?? [];
  const size = mailLimit.measure({ request, messageId, rfcMessageId, ...written, text, html, attachments });
  const limit = mailLimit.maxBytes;
  if (size === undefined || size <= limit) return;
  const why = `the mail would have ${size} bytes, and ${limit} are the most`;
  throw new Refusal("payload_too_large", `Cannot send: ${why}`, { extra: { limit, size } });
}
