import { caller } from "./call.ts";
import { machine } from "./machine.ts";
import type { InboxdOptions } from "./options.ts";
import {
  type Attachments,
  attachments,
  type Events,
  events,
  type Inboxes,
  inboxes,
  type Messages,
  messages,
  type Outbox,
  outbox,
  type Requester,
  requester,
  type Threads,
  type Tokens,
  threads,
  tokens,
  type Webhook,
  type Webhooks,
  webhook,
  webhooks,
} from "./resources.ts";

export type { CallOptions } from "./call.ts";
export { InboxdError, type InboxdFault, type InboxdProblem } from "./failures.ts";
export type { InboxdOptions } from "./options.ts";
export type { List } from "./pages.ts";
export type { StreamOptions } from "./stream.ts";
export type { DeliveredEvent, InboxdEvent, Schemas } from "./types.ts";
export { type Delivery, verifyWebhook, WebhookError, type WebhookReason } from "./webhook.ts";

/** The API of one service, as one account or, in a page, as one session. */
export class Inboxd {
  readonly inboxes: Inboxes;
  readonly messages: Messages;
  readonly threads: Threads;
  readonly attachments: Attachments;
  readonly events: Events;
  readonly webhook: Webhook;
  readonly webhooks: Webhooks;
  readonly outbox: Outbox;
  readonly tokens: Tokens;
  /** Any operation, by its method and path: also one that has no method here yet. */
  readonly request: Requester;

  constructor(options: InboxdOptions) {
    const calling = caller(options, machine);
    this.request = requester(calling);
    this.inboxes = inboxes(this.request);
    this.messages = messages(this.request);
    this.threads = threads(this.request);
    this.attachments = attachments(this.request);
    this.events = events(this.request, calling);
    this.webhook = webhook(this.request);
    this.webhooks = webhooks(this.request);
    this.outbox = outbox(this.request);
    this.tokens = tokens(this.request);
  }
}
