import type { AutoSubmitted } from "../automated.ts";
import type { Refusal } from "../errors.ts";
import type { Plan, SendUsage } from "../limits.ts";

export interface SendRequest {
  account: { id: string; plan: Plan };
  inboxId: string;
  idempotencyKey: string;
  /** Checked and in the form that goes on the wire. */
  to: string;
  subject: string | undefined;
  body: string;
  bodyHtml: string | undefined;
  threadId: string | undefined;
  includeQuote: boolean;
  replyTo: string | undefined;
  readUpToMessageId: string | undefined;
  /** Undefined: a person wrote it, for all that the mail says. */
  autoSubmitted: AutoSubmitted | undefined;
  /** True: also where the thread looks like a loop. Never false, so that left out and false are one request. */
  ignoreLoop: true | undefined;
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
}

export type SendResult =
  | { kind: "accepted"; message: SentMessage; usage: SendUsage; newerInbound: boolean }
  | { kind: "replayed"; message: SentMessage; usage: SendUsage }
  | { kind: "refused"; refusal: Refusal; usage: SendUsage | undefined };
