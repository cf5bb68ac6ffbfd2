import type { AutoSubmitted, MailSigns } from "./automated.ts";

/** Mail as values: mail/read/parse.ts makes them from bytes, mail/write/compose.ts makes bytes from them. */

/** A bare address (`jane@example.com`) with the name that its owner gives it. */
export interface Mailbox {
  address: string;
  name?: string;
}

/** What a mail says of itself. Every string is valid Unicode without NUL. */
export interface ParsedMail {
  /** Bare, as its sender wrote it (standards/message-id.ts); made from the content where the mail has none. */
  messageId: string;
  /** Canonical ids of In-Reply-To, in their order. */
  inReplyTo: readonly string[];
  /** Canonical ids of References, oldest first. */
  references: readonly string[];
  from: Mailbox | undefined;
  replyTo: string | undefined;
  to: readonly Mailbox[];
  cc: readonly Mailbox[];
  subject: string;
  /** Generated from the HTML where only HTML came; `""` where there is no text at all. */
  bodyText: string;
  bodyHtml: string | undefined;
  attachments: readonly ParsedAttachment[];
  /** By which robots say that they are. */
  signs: MailSigns;
  /** False when the parser gave up (too big, too deep, too slow): the mail is kept raw, with what is known. */
  complete: boolean;
}

export interface ParsedAttachment {
  /** The stored name (contract §9): safe, non-empty, unique within the mail. */
  filename: string;
  /** Lower-case `type/subtype`, `application/octet-stream` where unknown. */
  contentType: string;
  contentId: string | undefined;
  inline: boolean;
  bytes: Uint8Array;
}

/** Everything that goes on the wire for one outbound mail; mail/write/compose.ts turns it into bytes. */
export interface OutgoingMail {
  /** Canonical, without `<>`. */
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
  /** That a program wrote it, and why; undefined where nothing is said of that. */
  autoSubmitted: AutoSubmitted | undefined;
  /** Further fields, behind ours. */
  headers: readonly CustomHeader[];
  /** What is said to the relay alone, which takes it out or writes it anew: it is not signed. */
  relayHeaders?: readonly CustomHeader[] | undefined;
  attachments: readonly OutgoingAttachment[];
}

/** A field of the header as the caller gave it. */
export interface CustomHeader {
  name: string;
  value: string;
}

/** A file that a mail bears. Its bytes lie in the store. */
export interface OutgoingAttachment {
  filename: string;
  contentType: string;
  inline: boolean;
  contentId: string | undefined;
  sizeBytes: number;
  sourceId: string;
  part: number;
}
