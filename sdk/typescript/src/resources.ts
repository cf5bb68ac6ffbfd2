import type { Caller, CallOptions } from "./call.ts";
import { newIdempotencyKey } from "./machine.ts";
import { type List, type ListPlace, listByCursor, listByOffset, listByPlace } from "./pages.ts";
import { type StreamOptions, streamEvents } from "./stream.ts";
import type { AnswerOf, Asked, InboxdEvent, Method, OperationOf, PathOf, QueryOf, Schemas } from "./types.ts";

/** Any operation of the document by its method and path: also one that has no method of its own here yet. */
export type Requester = <M extends Method, Path extends PathOf<M>>(
  method: M,
  path: Path,
  asked: Asked<OperationOf<M, Path>> & CallOptions,
) => Promise<AnswerOf<OperationOf<M, Path>>>;

export function requester({ ask }: Caller): Requester {
  return (method, path, asked) => {
    const { path: names, ...rest } = asked as CallOptions & { path?: object; query?: object; body?: unknown };
    return ask({ ...rest, method, path, ...(names !== undefined && { names }) }) as never;
  };
}

/** The same question, from another place on. */
function from<Query extends object>(query: Query, place: ListPlace): Query {
  return { ...query, ...place };
}

type QueryAt<Path extends PathOf<"GET">> = QueryOf<OperationOf<"GET", Path>>;

export interface Inboxes {
  list(query?: QueryAt<"/v1/inboxes">, options?: CallOptions): List<Schemas["Inbox"], Schemas["InboxPage"]>;
  create(inbox?: Schemas["NewInbox"], options?: CallOptions): Promise<Schemas["Inbox"]>;
  get(id: string, options?: CallOptions): Promise<Schemas["Inbox"]>;
  delete(id: string, options?: CallOptions): Promise<void>;
}

export const inboxes = (request: Requester): Inboxes => ({
  list: (query = {}, options) =>
    listByOffset((place) => request("GET", "/v1/inboxes", { query: from(query, place), ...options }), query),
  create: (body = {}, options) => request("POST", "/v1/inboxes", { body, ...keyed(options) }),
  get: (id, options) => request("GET", "/v1/inboxes/{id}", { path: { id }, ...options }),
  delete: (id, options) => request("DELETE", "/v1/inboxes/{id}", { path: { id }, ...options }),
});

export interface Messages {
  /** Newest first. */
  list(
    inboxId: string,
    query?: QueryAt<"/v1/inboxes/{id}/messages">,
    options?: CallOptions,
  ): List<Schemas["ListedMessage"], Schemas["MessagePage"]>;
  /** One mail, whatever becomes of the answers: the call and its retries have one idempotency key. */
  send(inboxId: string, email: Schemas["NewEmail"], options?: CallOptions): Promise<Schemas["SendResult"]>;
  /** The mail that fits, as soon as it has come; `message` is null when the time is over. */
  wait(
    inboxId: string,
    query?: QueryAt<"/v1/inboxes/{id}/wait">,
    options?: CallOptions,
  ): Promise<Schemas["WaitAnswer"]>;
  get(id: string, options?: CallOptions): Promise<Schemas["Message"]>;
  /** Takes back a mail that waits to be sent. */
  cancel(id: string, options?: CallOptions): Promise<Schemas["Message"]>;
  /** The bytes of the mail. */
  raw(id: string, options?: CallOptions): Promise<Uint8Array<ArrayBuffer>>;
}

export const messages = (request: Requester): Messages => ({
  list: (id, query = {}, options) =>
    listByCursor((place) =>
      request("GET", "/v1/inboxes/{id}/messages", {
        path: { id },
        query: from(query, place),
        ...options,
      }),
    ),
  send: (id, body, options) => request("POST", "/v1/inboxes/{id}/send", { path: { id }, body, ...keyed(options) }),
  wait: (id, query = {}, options) =>
    request("GET", "/v1/inboxes/{id}/wait", {
      path: { id },
      query,
      ...options,
      thinksMs: (query.timeout ?? longestWaitSeconds) * 1000,
    } as never),
  get: (id, options) => request("GET", "/v1/messages/{id}", { path: { id }, ...options }),
  cancel: (id, options) => request("POST", "/v1/messages/{id}/cancel", { path: { id }, ...options }),
  raw: (id, options) => request("GET", "/v1/messages/{id}/raw", { path: { id }, ...options }),
});

const longestWaitSeconds = 60;

export interface Threads {
  /** The newest first. Those that are marked while the list is read make it skip none. */
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
  mark(threadId: string, mark: Schemas["ThreadMark"], options?: CallOptions): Promise<Schemas["MarkedThread"]>;
}

export const threads = (request: Requester): Threads => ({
  list: (id, query = {}, options) =>
    listByOffset(
      (place) =>
        request("GET", "/v1/inboxes/{id}/threads", {
          path: { id },
          query: from(query, place),
          ...options,
        }),
      query,
    ),
  messages: (id, query = {}, options) =>
    listByOffset(
      (place) =>
        request("GET", "/v1/threads/{id}/messages", {
          path: { id },
          query: from(query, place),
          ...options,
        }),
      query,
    ),
  mark: (id, body, options) => request("PATCH", "/v1/threads/{id}", { path: { id }, body, ...options }),
});

export interface Attachments {
  /** The bytes of the file, whatever type it is said to be. */
  get(messageId: string, filename: string, options?: CallOptions): Promise<Uint8Array<ArrayBuffer>>;
}

export const attachments = (request: Requester): Attachments => ({
  get: (message_id, filename, options) =>
    request("GET", "/v1/attachments/{message_id}/{filename}", { path: { message_id, filename }, ...options }),
});

export interface Events {
  /** Oldest first. */
  list(query?: QueryAt<"/v1/events">, options?: CallOptions): List<InboxdEvent, Schemas["EventPage"]>;
  /** Each event as it happens, once and in order; see `StreamOptions`. */
  stream(options?: StreamOptions): AsyncGenerator<InboxdEvent, void, undefined>;
  deliveries(
    id: string,
    query?: QueryAt<"/v1/events/{id}/deliveries">,
    options?: CallOptions,
  ): List<Schemas["Delivery"], Schemas["DeliveryPage"]>;
  redeliver(id: string, order?: Schemas["RedeliveryOrder"], options?: CallOptions): Promise<Schemas["Redelivery"]>;
}

export const events = (request: Requester, caller: Caller): Events => ({
  list: (query = {}, options) =>
    listByPlace((place) => request("GET", "/v1/events", { query: from(query, place), ...options })),
  stream: (options = {}) => streamEvents(caller, options),
  deliveries: (id, query = {}, options) =>
    listByCursor((place) =>
      request("GET", "/v1/events/{id}/deliveries", {
        path: { id },
        query: from(query, place),
        ...options,
      }),
    ),
  redeliver: (id, body = {}, options) =>
    request("POST", "/v1/events/{id}/redeliver", { path: { id }, body, ...options }),
});

/** The default endpoint. */
export interface Webhook {
  get(options?: CallOptions): Promise<Schemas["Webhook"]>;
  set(address: Schemas["WebhookAddress"], options?: CallOptions): Promise<Schemas["WebhookWithSecret"]>;
  delete(options?: CallOptions): Promise<void>;
  rotateSecret(rotation?: Schemas["SecretRotation"], options?: CallOptions): Promise<Schemas["WebhookSecret"]>;
  test(options?: CallOptions): Promise<Schemas["WebhookTestResult"]>;
}

export const webhook = (request: Requester): Webhook => ({
  get: (options) => request("GET", "/v1/webhook", { ...options }),
  set: (body, options) => request("PUT", "/v1/webhook", { body, ...options }),
  delete: (options) => request("DELETE", "/v1/webhook", { ...options }),
  rotateSecret: (body = {}, options) => request("POST", "/v1/webhook/rotate-secret", { body, ...options }),
  test: (options) => request("POST", "/v1/webhook/test", { ...options }),
});

/** The further endpoints, and the default one by its id. */
export interface Webhooks {
  list(options?: CallOptions): Promise<Schemas["WebhookEndpointList"]>;
  create(endpoint: Schemas["NewWebhookEndpoint"], options?: CallOptions): Promise<Schemas["CreatedWebhookEndpoint"]>;
  get(id: string, options?: CallOptions): Promise<Schemas["WebhookEndpoint"]>;
  change(
    id: string,
    change: Schemas["WebhookEndpointChange"],
    options?: CallOptions,
  ): Promise<Schemas["WebhookEndpoint"]>;
  delete(id: string, options?: CallOptions): Promise<void>;
  deliveries(
    id: string,
    query?: QueryAt<"/v1/webhooks/{id}/deliveries">,
    options?: CallOptions,
  ): List<Schemas["EndpointDelivery"], Schemas["EndpointDeliveryPage"]>;
  recover(id: string, recovery: Schemas["Recovery"], options?: CallOptions): Promise<Schemas["RecoveryResult"]>;
  rotateSecret(
    id: string,
    rotation?: Schemas["SecretRotation"],
    options?: CallOptions,
  ): Promise<Schemas["WebhookSecret"]>;
  test(id: string, options?: CallOptions): Promise<Schemas["WebhookTestResult"]>;
}

export const webhooks = (request: Requester): Webhooks => ({
  list: (options) => request("GET", "/v1/webhooks", { ...options }),
  create: (body, options) => request("POST", "/v1/webhooks", { body, ...keyed(options) }),
  get: (id, options) => request("GET", "/v1/webhooks/{id}", { path: { id }, ...options }),
  change: (id, body, options) => request("PATCH", "/v1/webhooks/{id}", { path: { id }, body, ...options }),
  delete: (id, options) => request("DELETE", "/v1/webhooks/{id}", { path: { id }, ...options }),
  deliveries: (id, query = {}, options) =>
    listByCursor((place) =>
      request("GET", "/v1/webhooks/{id}/deliveries", {
        path: { id },
        query: from(query, place),
        ...options,
      }),
    ),
  recover: (id, body, options) => request("POST", "/v1/webhooks/{id}/recover", { path: { id }, body, ...options }),
  rotateSecret: (id, body = {}, options) =>
    request("POST", "/v1/webhooks/{id}/rotate-secret", { path: { id }, body, ...options }),
  test: (id, options) => request("POST", "/v1/webhooks/{id}/test", { path: { id }, ...options }),
});

/** What is still to be sent and delivered. */
export interface Outbox {
  /** Oldest first. */
  list(query?: QueryAt<"/v1/outbox">, options?: CallOptions): List<Schemas["OutboxItem"], Schemas["OutboxPage"]>;
  /** Now, and not when its next attempt would be due. */
  retry(id: string, options?: CallOptions): Promise<Schemas["OutboxItem"]>;
  /** Of mail all of it, whichever of its destinations this is. */
  cancel(id: string, options?: CallOptions): Promise<void>;
}

export const outbox = (request: Requester): Outbox => ({
  list: (query = {}, options) =>
    listByCursor((place) => request("GET", "/v1/outbox", { query: from(query, place), ...options })),
  retry: (id, options) => request("POST", "/v1/outbox/{id}/retry", { path: { id }, ...options }),
  cancel: (id, options) => request("DELETE", "/v1/outbox/{id}", { path: { id }, ...options }),
});

export interface Tokens {
  create(token?: Schemas["NewToken"], options?: CallOptions): Promise<Schemas["Token"]>;
}

export const tokens = (request: Requester): Tokens => ({
  create: (body = {}, options) => request("POST", "/v1/tokens", { body, ...options }),
});

function keyed(options: CallOptions = {}): CallOptions & { idempotencyKey: string } {
  return { ...options, idempotencyKey: options.idempotencyKey ?? newIdempotencyKey() };
}
