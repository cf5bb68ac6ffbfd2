import type { Automated } from "../automated.ts";
import type { ParsedMail } from "../message.ts";
import type { Chunk } from "./filed-mails.ts";
import type { Envelope } from "./inbound-mail.ts";

/** A mail with all that the decision needs: ids, instants, digests, bytes. */
export interface ArrivedMail {
  mail: ParsedMail;
  sourceId: string;
  envelope: Envelope;
  sizeBytes: number;
  /** Undefined for a mail that is never treated as a copy. */
  contentHash: string | undefined;
  messageIdHash: string;
  /** Hashes of the Message-IDs that can decide the thread, the strongest first. */
  ancestorHashes: readonly string[];
  /** Undefined for a mail that a person wrote. */
  automated: Automated | undefined;
  attachments: readonly { id: string; part: number; digest: string }[];
  chunks: readonly Chunk[];
  /** One for each inbox of the mail. */
  deliveries: readonly ArrivedCopy[];
  receivedAt: Date;
}

export interface ArrivedCopy {
  inboxId: string;
  toAddr: string;
  /** Hash of the Message-ID whose thread the mail joins if its own headers name no message of the inbox. */
  answeredHash?: string;
  messageId: string;
  newThreadId: string;
}
