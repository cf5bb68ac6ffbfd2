import type { Automated } from "../automated.ts";
import type { ThreadState } from "../conversation.ts";
import type { QuarantineReason } from "../policy.ts";
import type { BlockChange } from "../thread-blocks.ts";
import type { Authentication, Spam } from "./authentication.ts";
import type { MailClient } from "./inbound-mail.ts";
import type { NamedMessage, ReadInbox } from "./known-of-mails.ts";

/** The columns of a received message and of its event. Columns that are the same for all received messages are left out. */
export interface InboundMessage {
  id: string;
  eventId: string;
  accountId: string;
  inboxId: string;
  threadId: string;
  seq: number;
  directionSeq: number;
  createdAt: Date;
  rfcMessageId: string;
  messageIdHash: string;
  /** Undefined for a mail that is never treated as a copy. */
  contentHash: string | undefined;
  envelopeFrom: string;
  fromAddr: string;
  fromName: string | undefined;
  toAddr: string;
  /** The addresses of the mail's To field. */
  toAddrs: readonly string[];
  cc: readonly string[];
  replyTo: string | undefined;
  replyTos: readonly string[] | undefined;
  subject: string;
  /** The position of the message's body in `bodies`, counted from 1. */
  body: number;
  truncated: boolean;
  attachmentCount: number;
  sourceId: string;
  sizeBytes: number;
  inReplyTo: string | undefined;
  /** The Message-IDs that the mail refers to, if it begins a thread. */
  referenceIds: readonly string[] | undefined;
  automated: Automated | undefined;
  /** Undefined if the sender was not checked. */
  authentication: Authentication | undefined;
  spam: Spam | undefined;
}

/** A row of the quarantine, and the id of its event. */
export interface QuarantinedMail extends NamedMessage {
  id: string;
  eventId: string;
  accountId: string;
  reason: QuarantineReason;
  ruleId: string | null;
  contentHash: string | undefined;
  sourceId: string;
  envelopeFrom: string;
  client: MailClient | undefined;
  toAddr: string;
  fromAddr: string;
  fromName: string | undefined;
  subject: string;
  preview: string;
  sizeBytes: number;
  authentication: Authentication | undefined;
  spam: Spam | undefined;
  receivedAt: Date;
  expiresAt: Date;
}

/** The text and the HTML of a mail. They are written once for all its inboxes. */
export interface Body {
  text: string;
  html: string | undefined;
}

export interface FiledAttachment {
  filename: string;
  id: string;
  position: number;
  contentType: string;
  sizeBytes: number;
  contentId: string | null;
  inline: boolean;
  sourceId: string;
  /** The part of the source with the bytes. Part 0 is the raw mail. */
  part: number;
  /** SHA-256 in hex. */
  digest: string;
}

/** A piece of a raw mail (part 0) or of an attachment. Pieces are written and streamed one by one. */
export interface Chunk {
  part: number;
  seq: number;
  compressed: boolean;
  bytes: Uint8Array;
}

export interface Source {
  id: string;
  /** The number of messages and quarantined mails that have this source. */
  shares: number;
  chunks: readonly Chunk[];
}

/** A sender who becomes known to an inbox. */
export interface Correspondent {
  inboxId: string;
  address: string;
  /** The time of the mail, if its sender was proven. */
  verifiedAt: Date | null;
}

/** A message that a mail refers to and that has not arrived yet, with the thread that it will join. */
export interface AwaitedParent extends NamedMessage {
  threadId: string;
}

/** The rows to write for a batch of mails. */
export interface FiledMails {
  threads: readonly ThreadState[];
  threadBlocks: readonly BlockChange[];
  messages: readonly InboundMessage[];
  bodies: readonly Body[];
  /** The attachments of each mail, listed once. All messages of a mail have the same source and share them. */
  attachments: readonly FiledAttachment[];
  sources: readonly Source[];
  /** Senders who become known, each once. Mail to them is not cold any more. */
  correspondents: readonly Correspondent[];
  awaitedParents: readonly AwaitedParent[];
  quarantined: readonly QuarantinedMail[];
  inboxes: readonly ReadInbox[];
}
