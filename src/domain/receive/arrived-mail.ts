import type { Automated } from "../automated.ts";
import type { ParsedMail } from "../message.ts";
import type { Chunk } from "./filed-mails.ts";
import type { Envelope } from "./inbound-mail.ts";

/** A mail with all that is uncertain settled before the decision: ids, instants, digests, bytes. */
export interface ArrivedMail {
  mail: ParsedMail;
  sourceId: string;
  envelope: Envelope;
  sizeBytes: number;
  /** Undefined for a mail that is never taken for a copy. */
  contentHash: string | undefined;
  messageIdHash: string;
  /** Hashes of the Message-IDs that can decide the thread, the strongest first. */
  ancestorHashes: readonly string[];
  /** Undefined where nothing tells of a robot. */
  automated: Automated | undefined;
  attachments: readonly { id: string; part: number; digest: string }[];
  chunks: readonly Chunk[];
  /** One for each inbox that the mail is for. */
  deliveries: readonly ArrivedCopy[];
  receivedAt: Date;
}

export interface ArrivedCopy {
  inboxId: string;
  toAddr: string;
  /** Hash of the Message-ID whose thread the mail joins if its own fields name none that is here. */
  answeredHash?: string;
  messageId: string;
  newThreadId: string;
}
