import type { Caller, CallOptions } from "./call.ts";
import { attachmentsOf, type OutgoingFile } from "./files.ts";
import { newIdempotencyKey } from "./machine.ts";
import { type FetchPage, type List, listByCursor, listByOffset, listByPosition } from "./pages.ts";
import { type StreamOptions, streamEvents } from "./stream.ts";
import type {
  AnswerOf,
  InboxdEvent,
  InputOf,
  Method,
  OperationOf,
  OrUndefined,
  PathOf,
  QueryOf,
  Schemas,
} from "./types.ts";

/** Calls any operation of the OpenAPI document by its HTTP method and path, also one for which this client has no function. */
export type Requester = <M extends Method, Path extends PathOf<M>>(
  method: M,
  path: Path,
  input: InputOf<OperationOf<M, Path>> & CallOptions,
) => Promise<AnswerOf<OperationOf<M, Path>>>;

export function requester({ call }: Caller): Requester {
  return (method, path, input) => {
    const { path: parameters, ...rest } = input as CallOptions & { path?: object; query?: object; body?: unknown };
    return call({ ...rest, method, path, ...(parameters !== undefined && { parameters }) }) as never;
  };
}

/** Fetches the pages of the list at a path. */
export function pagesAt<Path extends PathOf<"GET">>(
  request: Requester,
  path: Path,
  input: InputOf<OperationOf<"GET", Path>> & CallOptions & { query: object },
): FetchPage<AnswerOf<OperationOf<"GET", Path>>> {
  return (position) => request("GET", path, { ...input, query: { ...input.query, ...position } });
}

export type QueryAt<Path extends PathOf<"GET">> = QueryOf<OperationOf<"GET", Path>>;
export type Body<Name extends keyof Schemas> = OrUndefined<Schemas[Name]>;

export interface Inboxes {
  list(query?: QueryAt<"/v1/inboxes">, options?: CallOptions): List<Schemas["Inbox"], Schemas["InboxPage"]>;
  create(inbox?: Body<"NewInbox">, options?: CallOptions): Promise<Schemas["Inbox"]>;
  get(id: string, options?: CallOptions): Promise<Schemas["Inbox"]>;
  /** Gives the inbox another `externalId`. */
  change(id: string, change: Body<"InboxChange">, options?: CallOptions): Promise<Schemas["Inbox"]>;
  /** The inbox with this address or username; undefined if the account has none. */
  find(address: string, options?: CallOptions): Promise<Schemas["Inbox"] | undefined>;
  delete(id: string, options?: CallOptions): Promise<void>;
  /** All mail of the inbox as a stream of bytes. It is not whole if it ends with an error. */
  export(
    id: string,
    query?: QueryAt<"/v1/inboxes/{id}/export">,
    options?: CallOptions,
  ): Promise<ReadableStream<Uint8Array<ArrayBuffer>>>;
}

export const inboxes = (request: Requester): Inboxes => ({
  list: (query = {}, options) => listByOffset(pagesAt(request, "/v1/inboxes", { query, ...options }), query),
  create: (body = {}, options) => request("POST", "/v1/inboxes", { body, ...keyed(options) }),
  get: (id, options) => request("GET", "/v1/inboxes/{id}", { path: { id }, ...options }),
  change: (id, body, options) => request("PATCH", "/v1/inboxes/{id}", { path: { id }, body, ...options }),
  async find(address, options) {
    const { data } = await request("GET", "/v1/inboxes", { query: { address, limit: 1 }, ...options });
    return data[0];
  },
  delete: (id, options) => request("DELETE", "/v1/inboxes/{id}", { path: { id }, ...options }),
  export: async (id, query = {}, options) =>
    (await request("GET", "/v1/inboxes/{id}/export", { path: { id }, query, ...options })) as never,
});

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
  /** Cancels a mail that was not sent yet. A key with access `send` cancels only its own, and gets the id and the status alone. */
  cancel(id: string, options?: CallOptions): Promise<Schemas["MessageOrCanceled"]>;
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

export const messages = (request: Requester): Messages => ({
  search: (query = {}, options) => listByCursor(pagesAt(request, "/v1/messages", { query, ...options })),
  list: (id, query = {}, options) =>
    listByCursor(pagesAt(request, "/v1/inboxes/{id}/messages", { path: { id }, query, ...options })),
  async send(id, { attachments, ...email }, options) {
    let replayed = false;
    const upload = uploads(request).create;
    const { idempotencyKey: _, onResponse: __, ...ofUploads } = options ?? {};
    const files = attachments && (await attachmentsOf(attachments, upload, ofUploads));
    const result = await request("POST", "/v1/inboxes/{id}/send", {
      path: { id },
      body: { ...email, attachments: files },
      ...keyed(options),
      onResponse(response) {
        replayed = response.headers.get("idempotent-replayed") === "true";
        options?.onResponse?.(response);
      },
    });
    return { ...result, replayed };
  },
  wait: (id, query = {}, options) =>
    request("GET", "/v1/inboxes/{id}/wait", {
      path: { id },
      query,
      ...options,
      serverWaitMs: (query.timeout ?? longestWaitSeconds) * 1000,
    } as never),
  get: (id, options) => request("GET", "/v1/messages/{id}", { path: { id }, ...options }),
  cancel: (id, options) => request("POST", "/v1/messages/{id}/cancel", { path: { id }, ...options }),
  raw: (id, options) => request("GET", "/v1/messages/{id}/raw", { path: { id }, ...options }),
  html: (id, query = {}, options) => request("GET", "/v1/messages/{id}/html", { path: { id }, query, ...options }),
  markdown: (body, options) => request("POST", "/v1/markdown", { body, ...options }),
  history: (id, options) => request("GET", "/v1/messages/{id}/history", { path: { id }, ...options }),
  reports: (id, options) => request("GET", "/v1/messages/{id}/reports", { path: { id }, ...options }),
  rawReport: (id, report_id, options) =>
    request("GET", "/v1/messages/{id}/reports/{report_id}/raw", { path: { id, report_id }, ...options }),
});

const longestWaitSeconds = 60;

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
  mark(threadId: string, mark: Body<"ThreadMark">, options?: CallOptions): Promise<Schemas["MarkedThread"]>;
}

export const threads = (request: Requester): Threads => ({
  list: (id, query = {}, options) =>
    listByOffset(pagesAt(request, "/v1/inboxes/{id}/threads", { path: { id }, query, ...options }), query),
  messages: (id, query = {}, options) =>
    listByOffset(pagesAt(request, "/v1/threads/{id}/messages", { path: { id }, query, ...options }), query),
  mark: (id, body, options) => request("PATCH", "/v1/threads/{id}", { path: { id }, body, ...options }),
});

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

export const attachments = (request: Requester): Attachments => ({
  get: (message_id, filename, options) =>
    request("GET", "/v1/attachments/{message_id}/{filename}", { path: { message_id, filename }, ...options }),
  text: (id, filename, query = {}, options) =>
    request("GET", "/v1/messages/{id}/attachments/{filename}/text", { path: { id, filename }, query, ...options }),
});

export interface Uploads {
  /** Uploads a file for a later send, as `attachments: [{ uploadId }]`. */
  create(filename: string, file: Blob | Uint8Array<ArrayBuffer>, options?: CallOptions): Promise<Schemas["Upload"]>;
  get(id: string, options?: CallOptions): Promise<Schemas["Upload"]>;
  delete(id: string, options?: CallOptions): Promise<void>;
}

export const uploads = (request: Requester): Uploads => ({
  create: (filename, body, options) =>
    request("POST", "/v1/uploads", {
      query: { filename },
      body,
      timeoutMs: longestUploadMs,
      ...options,
      // The service deletes an upload that no send uses, so one too many does no harm.
      isRepeatable: true,
    } as never),
  get: (id, options) => request("GET", "/v1/uploads/{id}", { path: { id }, ...options }),
  delete: (id, options) => request("DELETE", "/v1/uploads/{id}", { path: { id }, ...options }),
});

/** The longest time that the service allows for one upload. */
const longestUploadMs = 600_000;

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

export const inbound = (request: Requester): Inbound => ({
  take: (body, { to, from = "", clientAddress, clientHelo }, options) =>
    request("POST", "/v1/inbound", {
      body,
      timeoutMs: longestUploadMs,
      ...options,
      headers: {
        "content-type": "message/rfc822",
        "envelope-to": [to].flat().map(encodeURIComponent).join(","),
        ...(from !== "" && { "envelope-from": encodeURIComponent(from) }),
        ...(clientAddress !== undefined && { "client-address": clientAddress }),
        ...(clientHelo !== undefined && { "client-helo": clientHelo }),
        ...options?.headers,
      },
      isRepeatable: !(body instanceof ReadableStream),
    } as never),
});

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

export const events = (request: Requester, caller: Caller): Events => ({
  list: (query = {}, options) => listByPosition(pagesAt(request, "/v1/events", { query, ...options }), query),
  get: (id, query = {}, options) => request("GET", "/v1/events/{id}", { path: { id }, query, ...options }),
  stream: (options = {}) => streamEvents(caller, options),
  deliveries: (id, query = {}, options) =>
    listByCursor(pagesAt(request, "/v1/events/{id}/deliveries", { path: { id }, query, ...options })),
  redeliver: (id, body = {}, options) =>
    request("POST", "/v1/events/{id}/redeliver", { path: { id }, body, ...options }),
});

/** The default endpoint. */
export interface Webhook {
  get(options?: CallOptions): Promise<Schemas["Webhook"]>;
  set(address: Schemas["WebhookAddress"], options?: CallOptions): Promise<Schemas["WebhookWithSecret"]>;
  delete(options?: CallOptions): Promise<void>;
  rotateSecret(rotation?: Body<"SecretRotation">, options?: CallOptions): Promise<Schemas["WebhookSecret"]>;
  test(options?: CallOptions): Promise<Schemas["WebhookTestResult"]>;
}

export const webhook = (request: Requester): Webhook => ({
  get: (options) => request("GET", "/v1/webhook", { ...options }),
  set: (body, options) => request("PUT", "/v1/webhook", { body, ...options }),
  delete: (options) => request("DELETE", "/v1/webhook", { ...options }),
  rotateSecret: (body = {}, options) => request("POST", "/v1/webhook/rotate-secret", { body, ...options }),
  test: (options) => request("POST", "/v1/webhook/test", { ...options }),
});

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

export const webhooks = (request: Requester): Webhooks => ({
  list: (options) => request("GET", "/v1/webhooks", { ...options }),
  create: (body, options) => request("POST", "/v1/webhooks", { body, ...keyed(options) }),
  get: (id, options) => request("GET", "/v1/webhooks/{id}", { path: { id }, ...options }),
  change: (id, body, options) => request("PATCH", "/v1/webhooks/{id}", { path: { id }, body, ...options }),
  delete: (id, options) => request("DELETE", "/v1/webhooks/{id}", { path: { id }, ...options }),
  deliveries: (id, query = {}, options) =>
    listByCursor(pagesAt(request, "/v1/webhooks/{id}/deliveries", { path: { id }, query, ...options })),
  recover: (id, body, options) => request("POST", "/v1/webhooks/{id}/recover", { path: { id }, body, ...options }),
  rotateSecret: (id, body = {}, options) =>
    request("POST", "/v1/webhooks/{id}/rotate-secret", { path: { id }, body, ...options }),
  test: (id, options) => request("POST", "/v1/webhooks/{id}/test", { path: { id }, ...options }),
});

/** Mail that is not sent yet, and events that are not delivered yet. */
export interface Outbox {
  /** Oldest first. */
  list(query?: QueryAt<"/v1/outbox">, options?: CallOptions): List<Schemas["OutboxItem"], Schemas["OutboxPage"]>;
  /** Makes the next attempt now. */
  retry(id: string, options?: CallOptions): Promise<Schemas["OutboxItem"]>;
  /** Cancels a delivery, or a mail for all of its recipients. */
  cancel(id: string, options?: CallOptions): Promise<void>;
}

export const outbox = (request: Requester): Outbox => ({
  list: (query = {}, options) => listByCursor(pagesAt(request, "/v1/outbox", { query, ...options })),
  retry: (id, options) => request("POST", "/v1/outbox/{id}/retry", { path: { id }, ...options }),
  cancel: (id, options) => request("DELETE", "/v1/outbox/{id}", { path: { id }, ...options }),
});

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

export const suppressions = (request: Requester): Suppressions => ({
  list: (query = {}, options) => listByCursor(pagesAt(request, "/v1/suppressions", { query, ...options })),
  add: (body, options) => request("POST", "/v1/suppressions", { body, ...options }),
  get: (id, options) => request("GET", "/v1/suppressions/{id}", { path: { id }, ...options }),
  delete: (id, options) => request("DELETE", "/v1/suppressions/{id}", { path: { id }, ...options }),
});

/** Whose mail is allowed or blocked, and to whom. */
export interface Rules {
  /** Newest first. */
  list(query?: QueryAt<"/v1/rules">, options?: CallOptions): List<Schemas["Rule"], Schemas["RulePage"]>;
  /** Adds a rule, or returns the existing one. */
  add(rule: Body<"NewRule">, options?: CallOptions): Promise<Schemas["Rule"]>;
  delete(id: string, options?: CallOptions): Promise<void>;
}

export const rules = (request: Requester): Rules => ({
  list: (query = {}, options) => listByOffset(pagesAt(request, "/v1/rules", { query, ...options }), query),
  add: (body, options) => request("POST", "/v1/rules", { body, ...options }),
  delete: (id, options) => request("DELETE", "/v1/rules/{id}", { path: { id }, ...options }),
});

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

export const policies = (request: Requester): Policies => ({
  get: (query = {}, options) => request("GET", "/v1/policy", { query, ...options }),
  change: (body, query = {}, options) => request("PUT", "/v1/policy", { query, body, ...options }),
  delete: (query, options) => request("DELETE", "/v1/policy", { query, ...options }),
  ofInbox: (id, options) => request("GET", "/v1/inboxes/{id}/policy", { path: { id }, ...options }),
  changeOfInbox: (id, body, options) => request("PUT", "/v1/inboxes/{id}/policy", { path: { id }, body, ...options }),
  deleteOfInbox: (id, options) => request("DELETE", "/v1/inboxes/{id}/policy", { path: { id }, ...options }),
});

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

export const quarantine = (request: Requester): Quarantine => ({
  list: (query = {}, options) => listByCursor(pagesAt(request, "/v1/quarantine", { query, ...options })),
  get: (id, options) => request("GET", "/v1/quarantine/{id}", { path: { id }, ...options }),
  raw: (id, options) => request("GET", "/v1/quarantine/{id}/raw", { path: { id }, ...options }),
  release: (id, options) => request("POST", "/v1/quarantine/{id}/release", { path: { id }, ...options }),
  delete: (id, options) => request("DELETE", "/v1/quarantine/{id}", { path: { id }, ...options }),
});

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

export const account = (request: Requester): Account => ({
  get: (options) => request("GET", "/v1/account", { ...options }),
  change: (change, options) => request("PATCH", "/v1/account", { body: change, ...options }),
  stats: (query = {}, options) => request("GET", "/v1/stats", { query, ...options }),
  usage: (query = {}, options) => request("GET", "/v1/usage", { query, ...options }),
  audit: (query = {}, options) => listByCursor(pagesAt(request, "/v1/audit", { query, ...options })),
});

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

export const domains = (request: Requester): Domains => ({
  list: (query = {}, options) => listByOffset(pagesAt(request, "/v1/domains", { query, ...options }), query),
  add: (body, options) => request("POST", "/v1/domains", { body, ...options }),
  get: (id, options) => request("GET", "/v1/domains/{id}", { path: { id }, ...options }),
  change: (id, body, options) => request("PATCH", "/v1/domains/{id}", { path: { id }, body, ...options }),
  delete: (id, options) => request("DELETE", "/v1/domains/{id}", { path: { id }, ...options }),
  verify: (id, options) => request("POST", "/v1/domains/{id}/verify", { path: { id }, ...options }),
  rotateDkim: (id, body = {}, options) =>
    request("POST", "/v1/domains/{id}/rotate-dkim", { path: { id }, body, ...options }),
  zone: (id, options) => request("GET", "/v1/domains/{id}/zone", { path: { id }, ...options }),
});

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

export const keys = (request: Requester): Keys => ({
  list: (query = {}, options) => listByOffset(pagesAt(request, "/v1/keys", { query, ...options }), query),
  create: (body = {}, options) => request("POST", "/v1/keys", { body, ...options }),
  get: (id, options) => request("GET", "/v1/keys/{id}", { path: { id }, ...options }),
  change: (id, body, options) => request("PATCH", "/v1/keys/{id}", { path: { id }, body, ...options }),
  revoke: (id, options) => request("DELETE", "/v1/keys/{id}", { path: { id }, ...options }),
  rotate: (id, body = {}, options) => request("POST", "/v1/keys/{id}/rotate", { path: { id }, body, ...options }),
});

/** The access that people have granted to programs, which sign in at `/mcp/connect`. */
export interface Grants {
  list(query?: QueryAt<"/v1/grants">, options?: CallOptions): List<Schemas["Grant"], Schemas["GrantPage"]>;
  delete(id: string, options?: CallOptions): Promise<void>;
}

export const grants = (request: Requester): Grants => ({
  list: (query = {}, options) => listByCursor(pagesAt(request, "/v1/grants", { query, ...options })),
  delete: (id, options) => request("DELETE", "/v1/grants/{id}", { path: { id }, ...options }),
});

export interface Tokens {
  create(token?: Body<"NewToken">, options?: CallOptions): Promise<Schemas["Token"]>;
}

export const tokens = (request: Requester): Tokens => ({
  create: (body = {}, options) => request("POST", "/v1/tokens", { body, ...options }),
});

function keyed(options: CallOptions = {}): CallOptions & { idempotencyKey: string } {
  return { ...options, idempotencyKey: options.idempotencyKey ?? newIdempotencyKey() };
}
