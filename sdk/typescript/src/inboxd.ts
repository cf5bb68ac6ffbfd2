import { caller } from "./call.ts";
import { machine } from "./machine.ts";
import { type Mcp, mcp } from "./mcp.ts";
import { resources } from "./operations.ts";
import type { InboxdOptions } from "./options.ts";
import { type Requester, requester } from "./request.ts";
import type { Resources } from "./resources.ts";

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
// biome-ignore lint/suspicious/noUnsafeDeclarationMerging: the constructor assigns the resources
export class Inboxd {
  /** The address of the service, without a slash at its end. */
  readonly baseUrl: string;
  /** Makes one request of the Model Context Protocol. The tools of `inboxd/tools` use it. */
  readonly mcp: Mcp;
  /** Calls any operation by its HTTP method and path, also one for which this client has no function. */
  readonly request: Requester;

  constructor(options: InboxdOptions) {
    const calling = caller(options, machine);
    this.baseUrl = calling.baseUrl;
    this.mcp = mcp(calling);
    this.request = requester(calling);
    Object.assign(this, resources(this.request, calling));
  }
}

export interface Inboxd extends Resources {}
