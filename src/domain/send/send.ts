import type { Refusal } from "../errors.ts";
import type { Plan, SendUsage } from "../limits.ts";
import type { FilesOfSend, Forward } from "./files-of-send.ts";
import type { RecipientOutcome } from "./recipients/recipient-outcome.ts";
import type { AskedMail } from "./send-fingerprint.ts";

/** What is asked for, checked, with addresses in the form that goes on the wire. */
export interface SendRequest extends AskedMail {
  account: { id: string; plan: Plan };
  inboxId: string;
  idempotencyKey: string;
  /** All that the mail will bear, with where its bytes lie: of `attachments` and of what is forwarded. */
  files?: FilesOfSend | undefined;
  /** What is forwarded; undefined also where there is no such message, which a replay need not hear of. */
  forward?: Forward | undefined;
}

/** A send with all that takes time done, before it waits for anybody. */
export interface AskedSend {
  request: SendRequest;
  key: { accountId: string; operation: "send"; key: string; label: string };
  fingerprint: string;
  text: string;
  html: string | undefined;
}

/** The same with the ids that it will have if it is accepted: settled before the transaction. */
export interface Send extends AskedSend {
  messageId: string;
  newThreadId: string;
  /** Of each file. */
  attachmentIds: readonly string[];
  rfcMessageId: string;
  messageIdHash: string;
}

export interface SentMessage {
  id: string;
  inboxId: string;
  threadId: string;
  status: "received" | "pending" | "sent" | "failed";
  rfcMessageId: string;
  providerMessageId: string | null;
  /** In their order, where there are several. */
  recipients?: readonly RecipientOutcome[] | null;
}

export type SendResult =
  | {
      kind: "accepted";
      message: SentMessage;
      usage: SendUsage;
      newerInbound: boolean;
      /** How many rows of the outbox its recipients have; undefined of a plain mail, which has one of its own kind. */
      destinations?: number;
    }
  | { kind: "replayed"; message: SentMessage; usage: SendUsage }
  | { kind: "refused"; refusal: Refusal; usage: SendUsage | undefined };
