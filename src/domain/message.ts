import type { AutoSubmitted, MailSigns } from "./automated.ts";

/** The types of mails as values. mail/read/parse.ts makes them from bytes, and mail/write/compose.ts makes bytes from them. */

/** A bare address (`jane@example.com`) with its display name. */
export interface Mailbox {
  address: string;
  name?: string;
}

/** A parsed mail. Every string is valid Unicode without NUL. */
export interface ParsedMail {
  /** The bare id as its sender wrote it (see standards/message-id.ts), or one made from the content if the mail has none. */
  messageId: string;
  /** Canonical ids of In-Reply-To, in order. */
  inReplyTo: readonly string[];
  /** Canonical ids of References, oldest first. */
  references: readonly string[];
  from: Mailbox | undefined;
  replyTo: string | undefined;
  /** All addresses of the Reply-To field, if it has several. */
  replyTos?: readonly string[] | undefined;
  to: readonly Mailbox[];
  cc: readonly Mailbox[];
  subject: string;
  /** The text of the mail. It is made from the HTML if the mail has only HTML, and `""` if it has neither. */
  bodyText: string;
  bodyHtml: string | undefined;
  attachments: readonly ParsedAttachment[];
  /** The signs of automated mail. */
  signs: MailSigns;
  /** False if the parser gave up (too large, too deep, too slow). The raw mail is kept, with the known facts. */
  complete: boolean;
}

export interface ParsedAttachment {
  /** The stored name (contract §9): safe, non-empty, unique within the mail. */
  filename: string;
  /** The `type/subtype` in lower case, or `application/octet-stream` if it is unknown. */
  contentType: string;
  contentId: string | undefined;
  inline: boolean;
  bytes: Uint8Array;
}

/** The whole content of an outbound mail. */
export interface OutgoingMail {
  /** The canonical id, without `<>`. */
  messageId: string;
  date: Date;
  from: Mailbox;
  to: readonly Mailbox[];
  cc: readonly Mailbox[];
  replyTo: string | undefined;
  subject: string;
  bodyText: string;
  bodyHtml: string | undefined;
  inReplyTo: string | undefined;
  references: readonly string[];
  /** The value of Auto-Submitted; undefined for none. */
  autoSubmitted: AutoSubmitted | undefined;
  /** Fields from the caller. They follow the fields of the service. */
  headers: readonly CustomHeader[];
  /** Fields for the relay only. They are not signed, because the relay removes or rewrites them. */
  relayHeaders?: readonly CustomHeader[] | undefined;
  attachments: readonly OutgoingAttachment[];
}

/** A header field from the caller. */
export interface CustomHeader {
  name: string;
  value: string;
}

/** A file in a mail. Its bytes are in the store. */
export interface OutgoingAttachment {
  filename: string;
  contentType: string;
  inline: boolean;
  contentId: string | undefined;
  sizeBytes: number;
  sourceId: string;
  part: number;
}
