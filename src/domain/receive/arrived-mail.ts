import type { Automated } from "../automated.ts";
import type { ParsedMail } from "../message.ts";
import type { Authentication, Spam } from "./authentication.ts";
import type { Chunk } from "./filed-mails.ts";
import type { Envelope } from "./inbound-mail.ts";
import type { Blocking } from "./judge-mail.ts";

/** A mail that is ready to be filed: parsed, and with the ids, instants, digests and bytes of its rows. */
export interface ArrivedMail {
  mail: ParsedMail;
  sourceId: string;
  envelope: Envelope;
  sizeBytes: number;
  /** The hash by which copies of a mail are recognized. Undefined for a mail that is never treated as a copy. */
  contentHash: string | undefined;
  messageIdHash: string;
  /** Hashes of the Message-IDs that can decide the thread, the strongest first. */
  ancestorHashes: readonly string[];
  /** The kind of automated mail. Undefined for a mail without signs of that. */
  automated: Automated | undefined;
  /** The sender authentication. Undefined if the sender was not checked. */
  authentication: Authentication | undefined;
  /** Undefined without a judge, or if it gave no score. */
  spam: Spam | undefined;
  attachments: readonly { id: string; part: number; digest: string }[];
  chunks: readonly Chunk[];
  /** One entry for each inbox of the mail. */
  deliveries: readonly ArrivedCopy[];
  receivedAt: Date;
  /** Whether the service has answered for the mail before. It is then filed in a disabled inbox too. */
  isAcknowledged?: boolean;
  /** Whether the mail comes out of the quarantine. It is then filed although the quarantine has a copy of it. */
  isReleased?: boolean;
}

export interface ArrivedCopy {
  inboxId: string;
  toAddr: string;
  /** The hash of a Message-ID. The mail joins the thread of that message if its own headers lead to no thread of the inbox. */
  answeredHash?: string;
  messageId: string;
  newThreadId: string;
  /** Only for an inbox that does not take the mail: the facts for its row in the quarantine. */
  quarantined?: Quarantining | undefined;
}

/** The reason for a quarantine, the id of the row, and its end. */
export interface Quarantining extends Pick<Blocking, "reason" | "ruleId"> {
  id: string;
  expiresAt: Date;
}
