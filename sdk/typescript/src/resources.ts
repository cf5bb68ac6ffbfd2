import type { CallOptions } from "./call.ts";
import type { OutgoingFile } from "./files.ts";
import type { List } from "./pages.ts";
import type { StreamOptions } from "./stream.ts";
import type { InboxdEvent, OperationOf, OrUndefined, PathOf, QueryOf, Schemas } from "./types.ts";

export type QueryAt<Path extends PathOf<"GET">> = QueryOf<OperationOf<"GET", Path>>;
export type Body<Name extends keyof Schemas> = OrUndefined<Schemas[Name]>;

export interface Inboxes {
  list(query?: QueryAt<"/v1/inboxes">, options?: CallOptions): List<Schemas["Inbox"], Schemas["InboxPage"]>;
  create(inbox?: Body<"NewInbox">, options?: CallOptions): Promise<Schemas["Inbox"]>;
  get(id: string, options?: CallOptions): Promise<Schemas["Inbox"]>;
  /** Changes the fields that are given. Null clears a field, or a key of `metadata`. */
  change(id: string, change: Body<"InboxChange">, options?: CallOptions): Promise<Schemas["Inbox"]>;
  /** The inbox with this address or username; undefined if the account has none. */
  find(address: string, options?: CallOptions): Promise<Schemas["Inbox"] | undefined>;
  delete(id: string, options?: CallOptions): Promise<void>;
  /** Gives the inbox another address at its domain. `username` is the part before the @, or all of it. */
  addAlias(id: string, username: string, options?: CallOptions): Promise<Schemas["Inbox"]>;
  removeAlias(id: string, username: string, options?: CallOptions): Promise<void>;
  /** All mail of the inbox as a stream of bytes. It is not whole if it ends with an error. */
  export(
    id: string,
    query?: QueryAt<"/v1/inboxes/{id}/export">,
    options?: CallOptions,
  ): Promise<ReadableStream<Uint8Array<ArrayBuffer>>>;
}

/** A mail to send. Its files may be bytes, and of any size that the service takes. */
export type OutgoingEmail = Omit<Body<"NewEmail">, "attachments"> & {
  attachments?: readonly OutgoingFile[] | undefined;
};

/** The result of a send. */
export interface Sent extends Readonly<Schemas["SendResult"]> {
  /** Whether an earlier call with the same idempotency key sent the mail. This call then sent nothing. */
  replayed: boolean;
}

export interface Messages {
  /** Searches the messages of all inboxes. Newest first. */
  search(
    query?: QueryAt<"/v1/messages">,
    options?: CallOptions,
  ): List<Schemas["ListedMessage"], Schemas["MessagePage"]>;
  /** Newest first. */
  list(
    inboxId: string,
    query?: QueryAt<"/v1/inboxes/{id}/messages">,
    options?: CallOptions,
  ): List<Schemas["ListedMessage"], Schemas["MessagePage"]>;
  /** Sends one mail: all attempts have the same idempotency key. Files with more than 512 KiB together are uploaded first. */
  send(inboxId: string, email: OutgoingEmail, options?: CallOptions): Promise<Sent>;
  /** Waits for a mail that matches; `message` is null if none comes in time. */
  wait(
    inboxId: string,
    query?: QueryAt<"/v1/inboxes/{id}/wait">,
    options?: CallOptions,
  ): Promise<Schemas["WaitAnswer"]>;
  get(id: string, options?: CallOptions): Promise<Schemas["Message"]>;
  /** Sends a mail that has failed again, to the recipients that refused it or timed out. */
  retry(id: string, options?: CallOptions): Promise<Schemas["SendResult"]>;
  /** Cancels a mail that was not sent yet. A key with access `send` cancels only its own, and gets the id and the status alone. */
  cancel(id: string, options?: CallOptions): Promise<Schemas["MessageOrCanceled"]>;
  /** Removes a message for good. */
  delete(id: string, options?: CallOptions): Promise<void>;
  /** The bytes of the mail. */
  raw(id: string, options?: CallOptions): Promise<Uint8Array<ArrayBuffer>>;
  /** The HTML of the mail as a page that is safe to show. */
  html(id: string, query?: QueryAt<"/v1/messages/{id}/html">, options?: CallOptions): Promise<string>;
  /** The HTML that a mail with this Markdown would have. Sends nothing. */
  markdown(text: Body<"MarkdownText">, options?: CallOptions): Promise<Schemas["ConvertedMarkdown"]>;
  /** The history of a message: each attempt, report and delivery of its events, oldest first. */
  history(id: string, options?: CallOptions): Promise<Schemas["MessageHistory"]>;
  /** What other servers reported about a mail that was sent: bounces, delays, complaints. */
  reports(id: string, options?: CallOptions): Promise<Schemas["ReportList"]>;
  /** The bytes of the mail that brought a report. */
  rawReport(id: string, reportId: string, options?: CallOptions): Promise<Uint8Array<ArrayBuffer>>;
}

export interface Threads {
  /** Newest first. Skips no thread if others are marked as read meanwhile. */
  list(
    inboxId: string,
    query?: QueryAt<"/v1/inboxes/{id}/threads">,
    options?: CallOptions,
  ): List<Schemas["Thread"], Schemas["ThreadPage"]>;
  /** Oldest first. */
  messages(
    threadId: string,
    query?: QueryAt<"/v1/threads/{id}/messages">,
    options?: CallOptions,
  ): List<Schemas["ListedMessage"], Schemas["ThreadMessages"]>;
  get(threadId: string, options?: CallOptions): Promise<Schemas["Thread"]>;
  /** Marks the thread as read or unread, puts it into a folder, and changes its labels and metadata. */
  change(threadId: string, change: Body<"ThreadChange">, options?: CallOptions): Promise<Schemas["ChangedThread"]>;
  /** Removes all messages of a thread for good. It is not found any more at once; the messages of a long one go in the background. */
  delete(threadId: string, options?: CallOptions): Promise<void>;
  /** Changes up to 100 threads of an inbox: all, or none. */
  changeAll(inboxId: string, change: Body<"ThreadsChange">, options?: CallOptions): Promise<Schemas["FiledThreads"]>;
  /** The labels of the threads of an inbox, with the number of their threads. */
  labels(inboxId: string, options?: CallOptions): Promise<Schemas["LabelList"]>;
}

export interface Attachments {
  /** The bytes of the file, whatever its type. */
  get(messageId: string, filename: string, options?: CallOptions): Promise<Uint8Array<ArrayBuffer>>;
  /** A piece of the text of the file. An `InboxdError` with `text_unavailable` says why it has none. */
  text(
    messageId: string,
    filename: string,
    query?: QueryAt<"/v1/messages/{id}/attachments/{filename}/text">,
    options?: CallOptions,
  ): Promise<Schemas["AttachmentText"]>;
}

export interface Uploads {
  /** Uploads a file for a later send, as `attachments: [{ uploadId }]`. */
  create(filename: string, file: Blob | Uint8Array<ArrayBuffer>, options?: CallOptions): Promise<Schemas["Upload"]>;
  get(id: string, options?: CallOptions): Promise<Schemas["Upload"]>;
  delete(id: string, options?: CallOptions): Promise<void>;
}

export interface Inbound {
  /**
   * Hands in one mail, as a mail server does by SMTP. It may be repeated: the same mail is stored once. The client itself repeats it, except
   * a stream, which has no second beginning.
   */
  take(
    mail: Blob | Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array>,
    envelope: Envelope,
    options?: CallOptions,
  ): Promise<Schemas["PostedMail"]>;
}

export interface Envelope {
  /** One recipient, or up to 100. */
  to: string | readonly string[];
  /** Empty or undefined for the null sender of a bounce. */
  from?: string | undefined;
  /** The IP address of the server that sent the mail. The service believes it with `INGEST_TOKEN` alone, as `clientHelo`. */
  clientAddress?: string | undefined;
  /** The name that this server gave with EHLO. */
  clientHelo?: string | undefined;
}

export interface Events {
  /** Oldest first; with `order: "desc"` newest first. */
  list(query?: QueryAt<"/v1/events">, options?: CallOptions): List<InboxdEvent, Schemas["EventPage"]>;
  get(id: string, query?: QueryAt<"/v1/events/{id}">, options?: CallOptions): Promise<InboxdEvent>;
  /** Each event as it happens, once and in order; see `StreamOptions`. */
  stream(options?: StreamOptions): AsyncGenerator<InboxdEvent, void, undefined>;
  deliveries(
    id: string,
    query?: QueryAt<"/v1/events/{id}/deliveries">,
    options?: CallOptions,
  ): List<Schemas["Delivery"], Schemas["DeliveryPage"]>;
  redeliver(id: string, order?: Body<"RedeliveryOrder">, options?: CallOptions): Promise<Schemas["Redelivery"]>;
}

/** The default endpoint. */
export interface Webhook {
  get(options?: CallOptions): Promise<Schemas["Webhook"]>;
  set(address: Schemas["WebhookAddress"], options?: CallOptions): Promise<Schemas["WebhookWithSecret"]>;
  delete(options?: CallOptions): Promise<void>;
  rotateSecret(rotation?: Body<"SecretRotation">, options?: CallOptions): Promise<Schemas["WebhookSecret"]>;
  test(options?: CallOptions): Promise<Schemas["WebhookTestResult"]>;
}

/** All endpoints, the default one too. */
export interface Webhooks {
  list(options?: CallOptions): Promise<Schemas["WebhookEndpointList"]>;
  create(endpoint: Body<"NewWebhookEndpoint">, options?: CallOptions): Promise<Schemas["CreatedWebhookEndpoint"]>;
  get(id: string, options?: CallOptions): Promise<Schemas["WebhookEndpoint"]>;
  change(id: string, change: Body<"WebhookEndpointChange">, options?: CallOptions): Promise<Schemas["WebhookEndpoint"]>;
  delete(id: string, options?: CallOptions): Promise<void>;
  deliveries(
    id: string,
    query?: QueryAt<"/v1/webhooks/{id}/deliveries">,
    options?: CallOptions,
  ): List<Schemas["EndpointDelivery"], Schemas["EndpointDeliveryPage"]>;
  recover(id: string, recovery: Schemas["Recovery"], options?: CallOptions): Promise<Schemas["RecoveryResult"]>;
  rotateSecret(id: string, rotation?: Body<"SecretRotation">, options?: CallOptions): Promise<Schemas["WebhookSecret"]>;
  test(id: string, options?: CallOptions): Promise<Schemas["WebhookTestResult"]>;
}

/** Mail that is not sent yet, and events that are not delivered yet. */
export interface Outbox {
  /** Oldest first. */
  list(query?: QueryAt<"/v1/outbox">, options?: CallOptions): List<Schemas["OutboxItem"], Schemas["OutboxPage"]>;
  /** Makes the next attempt now. */
  retry(id: string, options?: CallOptions): Promise<Schemas["OutboxItem"]>;
  /** Cancels a delivery, or a mail for all of its recipients. */
  cancel(id: string, options?: CallOptions): Promise<void>;
}

/** Addresses that the service sends nothing to. */
export interface Suppressions {
  /** Newest first. */
  list(
    query?: QueryAt<"/v1/suppressions">,
    options?: CallOptions,
  ): List<Schemas["Suppression"], Schemas["SuppressionPage"]>;
  /** Adds one address, or many as `data`. */
  add(suppression: Body<"NewSuppression">, options?: CallOptions): Promise<Schemas["AddedOrThere"]>;
  get(id: string, options?: CallOptions): Promise<Schemas["Suppression"]>;
  delete(id: string, options?: CallOptions): Promise<void>;
}

/** Whose mail is allowed or blocked, and to whom. */
export interface Rules {
  /** Newest first. */
  list(query?: QueryAt<"/v1/rules">, options?: CallOptions): List<Schemas["Rule"], Schemas["RulePage"]>;
  /** Adds a rule, or returns the existing one. */
  add(rule: Body<"NewRule">, options?: CallOptions): Promise<Schemas["Rule"]>;
  delete(id: string, options?: CallOptions): Promise<void>;
}

/** What happens to mail that no rule decides: of the account, of a tenant (`external_id`) or of an inbox. */
export interface Policies {
  get(query?: QueryAt<"/v1/policy">, options?: CallOptions): Promise<Schemas["Policy"]>;
  /** Replaces the policy of the account, or of a tenant. */
  change(
    policy: Body<"PolicyChange">,
    query?: QueryAt<"/v1/policy">,
    options?: CallOptions,
  ): Promise<Schemas["Policy"]>;
  /** Removes the policy of a tenant. */
  delete(query: { external_id: string }, options?: CallOptions): Promise<void>;
  ofInbox(id: string, options?: CallOptions): Promise<Schemas["Policy"]>;
  changeOfInbox(id: string, policy: Body<"InboxPolicyChange">, options?: CallOptions): Promise<Schemas["Policy"]>;
  deleteOfInbox(id: string, options?: CallOptions): Promise<void>;
}

/** Messages that are not sent yet: written for later, scheduled, or waiting for a person. */
export interface Drafts {
  /** Newest first; without `state` the open ones. */
  list(query?: QueryAt<"/v1/drafts">, options?: CallOptions): List<Schemas["Draft"], Schemas["DraftPage"]>;
  /** Keeps a mail until somebody sends it. All attempts have the same idempotency key. */
  create(inboxId: string, draft?: OutgoingEmail, options?: CallOptions): Promise<Schemas["Draft"]>;
  get(id: string, options?: CallOptions): Promise<Schemas["Draft"]>;
  /** Changes these fields. With `if-match` among the headers, only if the draft has that version. */
  change(id: string, change: Body<"DraftChange">, options?: CallOptions): Promise<Schemas["Draft"]>;
  /** Sends it now, or at `sendAt`. */
  send(id: string, when?: Body<"DraftSend">, options?: CallOptions): Promise<Schemas["SendResult"]>;
  /** Removes a draft, and cancels one that is scheduled or waits for a person. */
  discard(id: string, options?: CallOptions): Promise<void>;
  /** Approves this version. It is sent at once, or at its time. */
  approve(id: string, seen: Body<"DraftApproval">, options?: CallOptions): Promise<Schemas["Draft"]>;
  reject(id: string, seen: Body<"DraftRejection">, options?: CallOptions): Promise<Schemas["Draft"]>;
  /** Makes a link with which a person decides in place of the key. */
  approvalLink(id: string, options?: CallOptions): Promise<Schemas["ApprovalLink"]>;
}

/** Mail that rules and policies have blocked. */
export interface Quarantine {
  /** Newest first. */
  list(
    query?: QueryAt<"/v1/quarantine">,
    options?: CallOptions,
  ): List<Schemas["QuarantinedMail"], Schemas["QuarantinePage"]>;
  get(id: string, options?: CallOptions): Promise<Schemas["QuarantinedMail"]>;
  /** The mail as it came, byte for byte. */
  raw(id: string, options?: CallOptions): Promise<Uint8Array<ArrayBuffer>>;
  /** Makes it a message of its inbox. */
  release(id: string, options?: CallOptions): Promise<Schemas["ReleasedMail"]>;
  delete(id: string, options?: CallOptions): Promise<void>;
}

/** The account of the key: its plan, its limits and the key itself. */
export interface Account {
  get(options?: CallOptions): Promise<Schemas["Account"]>;
  /** Sets how long its mail is kept. */
  change(change: Body<"AccountChange">, options?: CallOptions): Promise<Schemas["Account"]>;
  /** Its mail by minute, the time of its deliveries, and its outbox. */
  stats(query?: QueryAt<"/v1/stats">, options?: CallOptions): Promise<Schemas["Stats"]>;
  /** Its mail by day. */
  usage(query?: QueryAt<"/v1/usage">, options?: CallOptions): Promise<Schemas["Usage"]>;
  /** Who changed what in it, newest first. */
  audit(query?: QueryAt<"/v1/audit">, options?: CallOptions): List<Schemas["AuditEntry"], Schemas["AuditPage"]>;
}

export interface Domains {
  list(query?: QueryAt<"/v1/domains">, options?: CallOptions): List<Schemas["Domain"], Schemas["DomainPage"]>;
  /** Adds a domain, or returns the one that the account has. */
  add(domain: Body<"NewDomain">, options?: CallOptions): Promise<Schemas["Domain"]>;
  get(id: string, options?: CallOptions): Promise<Schemas["Domain"]>;
  change(id: string, change: Body<"DomainChange">, options?: CallOptions): Promise<Schemas["Domain"]>;
  delete(id: string, options?: CallOptions): Promise<void>;
  /** Checks the DNS records now. */
  verify(id: string, options?: CallOptions): Promise<Schemas["Domain"]>;
  rotateDkim(id: string, rotation?: Body<"DkimRotation">, options?: CallOptions): Promise<Schemas["Domain"]>;
  /** The records as a zone file. */
  zone(id: string, options?: CallOptions): Promise<string>;
}

export interface Keys {
  list(query?: QueryAt<"/v1/keys">, options?: CallOptions): List<Schemas["Key"], Schemas["KeyPage"]>;
  /** Creates a key. The answer has it as `key`, which is shown only there. */
  create(key?: Body<"NewKey">, options?: CallOptions): Promise<Schemas["CreatedKey"]>;
  get(id: string, options?: CallOptions): Promise<Schemas["Key"]>;
  change(id: string, change: Body<"KeyChange">, options?: CallOptions): Promise<Schemas["Key"]>;
  revoke(id: string, options?: CallOptions): Promise<void>;
  /** Creates a key like this one, which ends after the overlap. */
  rotate(id: string, rotation?: Body<"KeyRotation">, options?: CallOptions): Promise<Schemas["CreatedKey"]>;
}

/** The access that people have granted to programs, which sign in at `/mcp/connect`. */
export interface Grants {
  list(query?: QueryAt<"/v1/grants">, options?: CallOptions): List<Schemas["Grant"], Schemas["GrantPage"]>;
  delete(id: string, options?: CallOptions): Promise<void>;
}

export interface Tokens {
  create(token?: Body<"NewToken">, options?: CallOptions): Promise<Schemas["Token"]>;
}

/** All accounts and the service, with the key of an operator. */
export interface Admin {
  /** All accounts, newest first. */
  accounts(
    query?: QueryAt<"/v1/admin/accounts">,
    options?: CallOptions,
  ): List<Schemas["AdminAccount"], Schemas["AdminAccountPage"]>;
  /** The answer has the first key of the account, which is shown only there. */
  createAccount(account: Body<"NewAccount">, options?: CallOptions): Promise<Schemas["CreatedAccount"]>;
  getAccount(id: string, options?: CallOptions): Promise<Schemas["AdminAccount"]>;
  /** Renames, suspends or limits an account, or changes its plan. */
  changeAccount(
    id: string,
    change: Body<"AdminAccountChange">,
    options?: CallOptions,
  ): Promise<Schemas["AdminAccount"]>;
  /** `confirm` is the name of the account. It is refused from now on, and removed in steps. */
  deleteAccount(id: string, query: { confirm: string }, options?: CallOptions): Promise<Schemas["AdminAccount"]>;
  /** The whole account as a stream of bytes, with its secrets. It is not whole if it ends with an error. */
  exportAccount(id: string, options?: CallOptions): Promise<ReadableStream<Uint8Array<ArrayBuffer>>>;
  /** The answer has the key, which is shown only there. */
  createKey(id: string, key?: Body<"NewKey">, options?: CallOptions): Promise<Schemas["CreatedKey"]>;
  /** The domains that all accounts may use, newest first. */
  domains(query?: QueryAt<"/v1/admin/domains">, options?: CallOptions): List<Schemas["Domain"], Schemas["DomainPage"]>;
  addDomain(domain: Body<"NewSharedDomain">, options?: CallOptions): Promise<Schemas["Domain"]>;
  getDomain(id: string, options?: CallOptions): Promise<Schemas["Domain"]>;
  verifyDomain(id: string, options?: CallOptions): Promise<Schemas["Domain"]>;
  deleteDomain(id: string, options?: CallOptions): Promise<void>;
  /** Who changed what in all accounts and in the service, newest first. */
  audit(query?: QueryAt<"/v1/admin/audit">, options?: CallOptions): List<Schemas["AuditEntry"], Schemas["AuditPage"]>;
  /** Their mail by account, or by day. */
  usage(query?: QueryAt<"/v1/admin/usage">, options?: CallOptions): Promise<Schemas["UsageOfAll"]>;
  /** How much there is to do, and how far the background work is behind. */
  system(options?: CallOptions): Promise<Schemas["System"]>;
}

/** The resources of a client, by their names. */
export interface Resources {
  readonly inboxes: Inboxes;
  readonly messages: Messages;
  readonly drafts: Drafts;
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
}
