import type { Automated } from "../automated.ts";
import type { ThreadState } from "../conversation.ts";
import type { NamedMessage, ReadInbox } from "./known-of-mails.ts";

/** What tells one received message and its event from others; their other columns are the same for all. */
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
  /** Undefined for a mail that is never taken for a copy. */
  contentHash: string | undefined;
  envelopeFrom: string;
  fromAddr: string;
  fromName: string | undefined;
  toAddr: string;
  /** The addresses of its To field, where they are not `toAddr` alone. */
  toAddrs: readonly string[] | undefined;
  cc: readonly string[];
  replyTo: string | undefined;
  subject: string;
  /** Which of the bodies is its own, counted from 1. */
  body: number;
  truncated: boolean;
  attachmentCount: number;
  sourceId: string;
  sizeBytes: number;
  inReplyTo: string | undefined;
  /** The ids that a mail names which begins a thread; undefined for other mail. */
  referenceIds: readonly string[] | undefined;
  automated: Automated | undefined;
}

/** The texts of a mail, which go to the database once, however many inboxes it is for. */
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
  /** Which part of the source holds the bytes; part 0 is the raw mail. */
  part: number;
  /** SHA-256 in hex. */
  digest: string;
}

/** Raw mail and attachments as pieces that can be written and streamed one by one. Part 0 is the raw mail. */
export interface Chunk {
  part: number;
  seq: number;
  compressed: boolean;
  bytes: Uint8Array;
}

export interface Source {
  id: string;
  /** How many messages share it. */
  shares: number;
  chunks: readonly Chunk[];
}

export interface Answered {
  inboxId: string;
  address: string;
  answered: true;
}

/** A message that is named and has not come, and the thread that gets it. */
export interface AwaitedParent extends NamedMessage {
  threadId: string;
}

/** The rows that a batch of mails comes to. */
export interface FiledMails {
  threads: readonly ThreadState[];
  messages: readonly InboundMessage[];
  bodies: readonly Body[];
  /** Of each mail once; every message of its source gets them. */
  attachments: readonly FiledAttachment[];
  sources: readonly Source[];
  /** Who answered what had been sent to them, each once: mail to them is not cold any more. */
  correspondents: readonly Answered[];
  awaitedParents: readonly AwaitedParent[];
  inboxes: readonly ReadInbox[];
}
