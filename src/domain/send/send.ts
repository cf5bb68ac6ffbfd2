import type { Caller } from "../access/access.ts";
import type { Refusal } from "../errors.ts";
import type { KeyUse } from "../idempotency.ts";
import type { Limited, SendUsage } from "../limits.ts";
import type { CustomHeader } from "../message.ts";
import type { Approval } from "./approval.ts";
import type { Draft, DraftStep, WaitingState } from "./draft.ts";
import type { FilesOfSend, Forward } from "./files-of-send.ts";
import type { RecipientOutcome } from "./recipients/recipient-outcome.ts";
import type { AskedMail } from "./send-fingerprint.ts";

/** A validated request to send. Its addresses are in the form that goes on the wire. */
export interface SendRequest extends AskedMail {
  account: Pick<Caller, "id" | "keyId"> & Limited & Partial<Pick<Caller, "reach" | "access" | "sendPolicies">>;
  inboxId: string;
  idempotencyKey: string;
  /** All attachments of the mail: those of `attachments` and those of the forwarded message. */
  files?: FilesOfSend | undefined;
  /**
   * The message to forward. Undefined if there is none, or if the message does not exist: the send is then refused unless it is a replay.
   */
  forward?: Forward | undefined;
  /** The step of a draft that the request takes. Undefined if it sends a mail, now or later. */
  step?: DraftStep | undefined;
}

/** A request with its fingerprint and bodies. Making them takes time, so they are made before the send waits for its batch. */
export interface AskedSend {
  request: SendRequest;
  key: Pick<KeyUse, "accountId" | "operation" | "key"> & { label: string };
  fingerprint: string;
  text: string;
  html: string | undefined;
}

/** A send with the ids that it gets if it is accepted. They are made before the transaction. */
export interface Send extends AskedSend {
  messageId: string;
  newThreadId: string;
  /** The ids of the attachments, in the order of the attachments. */
  attachmentIds: readonly string[];
  rfcMessageId: string;
  messageIdHash: string;
  /** The id of the event that asks for an approval. */
  eventId: string;
  /**
   * The header fields by which the recipient unsubscribes, if the request asks for them. Undefined if mail from this domain cannot have them.
   */
  unsubscribeFields?: readonly CustomHeader[] | undefined;
}

/** The header fields that a mail has besides those that every mail has. */
export function furtherHeaders({ request, unsubscribeFields = [] }: Pick<Send, "request" | "unsubscribeFields">) {
  return [...(request.headers ?? []), ...unsubscribeFields];
}

export interface SentMessage {
  id: string;
  inboxId: string;
  threadId: string;
  status: "received" | "pending" | "sent" | "failed";
  rfcMessageId: string;
  providerMessageId: string | null;
  /** The recipients of the message, in the order of their position. */
  recipients: readonly RecipientOutcome[];
  /** Why it is not sent yet. Undefined if that is over. */
  state?: WaitingState | undefined;
  sendAt?: Date | undefined;
  /** Set while it waits for a person. */
  approval?: Approval | undefined;
}

export type SendResult =
  | {
      kind: "accepted";
      message: SentMessage;
      usage: SendUsage;
      newerInbound: boolean;
      /** The number of rows that the message has in the outbox: one for each destination. */
      destinations: number;
    }
  /** The mail is stored as a draft, and sent at its time, or once a person has approved it. */
  | { kind: "waiting"; message: SentMessage; draft: Draft; usage: SendUsage; newerInbound: boolean }
  /** The draft is stored, and sent when somebody asks for it. */
  | { kind: "kept"; draft: Draft; usage: SendUsage }
  /** `draft` is set if the first request made a draft. */
  | { kind: "replayed"; message: SentMessage; draft?: Draft; usage: SendUsage }
  | { kind: "refused"; refusal: Refusal; usage: SendUsage | undefined };
