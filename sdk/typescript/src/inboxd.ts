import { type Admin, admin } from "./admin.ts";
import { caller } from "./call.ts";
import { machine } from "./machine.ts";
import { type Mcp, mcp } from "./mcp.ts";
import type { InboxdOptions } from "./options.ts";
import {
  type Account,
  type Attachments,
  account,
  attachments,
  type Domains,
  domains,
  type Events,
  events,
  type Grants,
  grants,
  type Inbound,
  type Inboxes,
  inbound,
  inboxes,
  type Keys,
  keys,
  type Messages,
  messages,
  type Outbox,
  outbox,
  type Policies,
  policies,
  type Quarantine,
  quarantine,
  type Requester,
  type Rules,
  requester,
  rules,
  type Suppressions,
  suppressions,
  type Threads,
  type Tokens,
  threads,
  tokens,
  type Uploads,
  uploads,
  type Webhook,
  type Webhooks,
  webhook,
  webhooks,
} from "./resources.ts";

export type { CallOptions } from "./call.ts";
export { InboxdError, type InboxdFault, type InboxdProblem } from "./errors.ts";
export type { OutgoingFile } from "./files.ts";
export type { InboxdOptions } from "./options.ts";
export type { List } from "./pages.ts";
export type { Envelope, OutgoingEmail, Sent } from "./resources.ts";
export type { StreamOptions } from "./stream.ts";
export type {
  Attachment,
  DeliveredEvent,
  Domain,
  EventOf,
  EventType,
  Inbox,
  InboxdEvent,
  ListedMessage,
  ListOf,
  Message,
  OrUndefined,
  OutboxItem,
  Report,
  Rule,
  Schemas,
  Suppression,
  Thread,
  Upload,
  WebhookEndpoint,
} from "./types.ts";
export { type Delivery, verifyWebhook, WebhookError, type WebhookReason } from "./webhook.ts";

/** The API of one service, as one account or, in a page, as one session. */
export class Inboxd {
  /** The address of the service, without a slash at its end. */
  readonly baseUrl: string;
  readonly inboxes: Inboxes;
  readonly messages: Messages;
  readonly threads: Threads;
  readonly attachments: Attachments;
  readonly uploads: Uploads;
  readonly inbound: Inbound;
  readonly events: Events;
  readonly webhook: Webhook;
  readonly webhooks: Webhooks;
  readonly outbox: Outbox;
  readonly suppressions: Suppressions;
  readonly quarantine: Quarantine;
  readonly rules: Rules;
  readonly policies: Policies;
  readonly domains: Domains;
  readonly keys: Keys;
  readonly grants: Grants;
  readonly tokens: Tokens;
  readonly account: Account;
  /** Works with the key of an operator alone. */
  readonly admin: Admin;
  /** Makes one request of the Model Context Protocol. The tools of `inboxd/tools` use it. */
  readonly mcp: Mcp;
  /** Calls any operation by its HTTP method and path, also one for which this client has no function. */
  readonly request: Requester;

  constructor(options: InboxdOptions) {
    const calling = caller(options, machine);
    this.baseUrl = calling.baseUrl;
    this.request = requester(calling);
    this.inboxes = inboxes(this.request);
    this.messages = messages(this.request);
    this.threads = threads(this.request);
    this.attachments = attachments(this.request);
    this.uploads = uploads(this.request);
    this.inbound = inbound(this.request);
    this.events = events(this.request, calling);
    this.webhook = webhook(this.request);
    this.webhooks = webhooks(this.request);
    this.outbox = outbox(this.request);
    this.suppressions = suppressions(this.request);
    this.quarantine = quarantine(this.request);
    this.rules = rules(this.request);
    this.policies = policies(this.request);
    this.domains = domains(this.request);
    this.keys = keys(this.request);
    this.grants = grants(this.request);
    this.tokens = tokens(this.request);
    this.account = account(this.request);
    this.admin = admin(this.request);
    this.mcp = mcp(calling);
  }
}
