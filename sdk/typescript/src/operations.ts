import type { Caller, CallOptions } from "./call.ts";
import { attachmentsOf } from "./files.ts";
import { listByCursor, listByOffset, listByPosition } from "./pages.ts";
import { functions, type Requester } from "./request.ts";
import type { Inbound, Messages, OutgoingEmail, Resources, Uploads } from "./resources.ts";
import { streamEvents } from "./stream.ts";

/** The same functions as properties, because the compiler compares the arguments of methods less strictly. */
type Strict<Resource> = {
  [Name in keyof Resource]: Resource[Name] extends (...values: infer Values) => infer Result
    ? (...values: Values) => Result
    : Strict<Resource[Name]>;
};

/** The operations of each resource. `resources.ts` has their types. */
export function resources(request: Requester, caller: Caller): Strict<Resources> {
  const { at, once, list } = functions(caller);

  const send = once("/v1/inboxes/{id}/send");
  const keep = once("/v1/inboxes/{id}/drafts");
  const wait = at("GET", "/v1/inboxes/{id}/wait", "query");
  const upload = at("POST", "/v1/uploads", "query");

  const sendEmail: Messages["send"] = async (id, { attachments, ...email }, options) => {
    let replayed = false;
    const files = await uploaded(attachments, options);
    const result = await send(
      id,
      { ...email, attachments: files },
      {
        ...options,
        onResponse(response) {
          replayed = response.headers.get("idempotent-replayed") === "true";
          options?.onResponse?.(response);
        },
      },
    );
    return { ...result, replayed };
  };

  /** The attachments as the service takes them: those that are large are uploaded. */
  const uploaded = async (attachments: OutgoingEmail["attachments"], options: CallOptions | undefined) =>
    attachments &&
    (await attachmentsOf(attachments, uploadFile, { ...options, idempotencyKey: undefined, onResponse: undefined }));

  const uploadFile: Uploads["create"] = (filename, body, options) =>
    // The service deletes an upload that no send uses, so one too many does no harm.
    upload({ filename }, { body, timeoutMs: longestUploadMs, ...options, isRepeatable: true } as CallOptions);

  const takeMail: Inbound["take"] = (body, { to, from = "", clientAddress, clientHelo }, options) =>
    request("POST", "/v1/inbound", {
      body,
      timeoutMs: longestUploadMs,
      ...options,
      headers: {
        "content-type": "message/rfc822",
        "envelope-to": [to].flat().map(encodeURIComponent).join(","),
        "envelope-from": from ? encodeURIComponent(from) : undefined,
        "client-address": clientAddress,
        "client-helo": clientHelo,
        ...options?.headers,
      },
      isRepeatable: !(body instanceof ReadableStream),
    } as never);

  return {
    inboxes: {
      list: list("/v1/inboxes", listByCursor),
      create: once("/v1/inboxes"),
      get: at("GET", "/v1/inboxes/{id}"),
      change: at("PATCH", "/v1/inboxes/{id}", "body"),
      addAlias: at("PUT", "/v1/inboxes/{id}/aliases/{username}"),
      removeAlias: at("DELETE", "/v1/inboxes/{id}/aliases/{username}"),
      async find(address, options) {
        const { data } = await request("GET", "/v1/inboxes", { query: { address, limit: 1 }, ...options });
        return data[0];
      },
      delete: at("DELETE", "/v1/inboxes/{id}"),
      export: at("GET", "/v1/inboxes/{id}/export", "query"),
    },
    messages: {
      search: list("/v1/messages", listByCursor),
      list: list("/v1/inboxes/{id}/messages", listByCursor),
      send: sendEmail,
      wait: (id, query = {}, options) => {
        const serverWaitMs = (query.timeout ?? longestWaitSeconds) * 1000;
        return wait(id, query, { ...options, serverWaitMs } as CallOptions);
      },
      get: at("GET", "/v1/messages/{id}"),
      retry: at("POST", "/v1/messages/{id}/retry"),
      cancel: at("POST", "/v1/messages/{id}/cancel"),
      delete: at("DELETE", "/v1/messages/{id}"),
      raw: at("GET", "/v1/messages/{id}/raw"),
      html: at("GET", "/v1/messages/{id}/html", "query"),
      markdown: at("POST", "/v1/markdown", "body"),
      history: at("GET", "/v1/messages/{id}/history"),
      reports: at("GET", "/v1/messages/{id}/reports"),
      rawReport: at("GET", "/v1/messages/{id}/reports/{report_id}/raw"),
    },
    drafts: {
      list: list("/v1/drafts", listByCursor),
      async create(id, { attachments, ...draft } = {}, options) {
        return keep(id, { ...draft, attachments: await uploaded(attachments, options) }, options);
      },
      get: at("GET", "/v1/drafts/{id}"),
      change: at("PATCH", "/v1/drafts/{id}", "body"),
      send: once("/v1/drafts/{id}/send"),
      discard: at("DELETE", "/v1/drafts/{id}"),
      approve: at("POST", "/v1/drafts/{id}/approve", "body"),
      reject: at("POST", "/v1/drafts/{id}/reject", "body"),
      approvalLink: at("POST", "/v1/drafts/{id}/approval-link"),
    },
    threads: {
      list: list("/v1/inboxes/{id}/threads", listByCursor),
      messages: list("/v1/threads/{id}/messages", listByOffset),
      get: at("GET", "/v1/threads/{id}"),
      change: at("PATCH", "/v1/threads/{id}", "body"),
      delete: at("DELETE", "/v1/threads/{id}"),
      changeAll: at("PATCH", "/v1/inboxes/{id}/threads", "body"),
      labels: at("GET", "/v1/inboxes/{id}/labels"),
    },
    attachments: {
      get: at("GET", "/v1/attachments/{message_id}/{filename}"),
      text: at("GET", "/v1/messages/{id}/attachments/{filename}/text", "query"),
    },
    uploads: {
      create: uploadFile,
      get: at("GET", "/v1/uploads/{id}"),
      delete: at("DELETE", "/v1/uploads/{id}"),
    },
    inbound: { take: takeMail },
    events: {
      list: list("/v1/events", listByPosition),
      get: at("GET", "/v1/events/{id}", "query"),
      stream: (options = {}) => streamEvents(caller, options),
      deliveries: list("/v1/events/{id}/deliveries", listByCursor),
      redeliver: at("POST", "/v1/events/{id}/redeliver", "body"),
    },
    webhook: {
      get: at("GET", "/v1/webhook"),
      set: at("PUT", "/v1/webhook", "body"),
      delete: at("DELETE", "/v1/webhook"),
      rotateSecret: at("POST", "/v1/webhook/rotate-secret", "body"),
      test: at("POST", "/v1/webhook/test"),
    },
    webhooks: {
      list: at("GET", "/v1/webhooks"),
      create: once("/v1/webhooks"),
      get: at("GET", "/v1/webhooks/{id}"),
      change: at("PATCH", "/v1/webhooks/{id}", "body"),
      delete: at("DELETE", "/v1/webhooks/{id}"),
      deliveries: list("/v1/webhooks/{id}/deliveries", listByCursor),
      recover: at("POST", "/v1/webhooks/{id}/recover", "body"),
      rotateSecret: at("POST", "/v1/webhooks/{id}/rotate-secret", "body"),
      test: at("POST", "/v1/webhooks/{id}/test"),
    },
    outbox: {
      list: list("/v1/outbox", listByCursor),
      retry: at("POST", "/v1/outbox/{id}/retry"),
      cancel: at("DELETE", "/v1/outbox/{id}"),
    },
    suppressions: {
      list: list("/v1/suppressions", listByCursor),
      add: at("POST", "/v1/suppressions", "body"),
      get: at("GET", "/v1/suppressions/{id}"),
      delete: at("DELETE", "/v1/suppressions/{id}"),
    },
    quarantine: {
      list: list("/v1/quarantine", listByCursor),
      get: at("GET", "/v1/quarantine/{id}"),
      raw: at("GET", "/v1/quarantine/{id}/raw"),
      release: at("POST", "/v1/quarantine/{id}/release"),
      delete: at("DELETE", "/v1/quarantine/{id}"),
    },
    rules: {
      list: list("/v1/rules", listByOffset),
      add: at("POST", "/v1/rules", "body"),
      delete: at("DELETE", "/v1/rules/{id}"),
    },
    policies: {
      get: at("GET", "/v1/policy", "query"),
      change: (body, query = {}, options) => request("PUT", "/v1/policy", { query, body, ...options }),
      delete: at("DELETE", "/v1/policy", "query"),
      ofInbox: at("GET", "/v1/inboxes/{id}/policy"),
      changeOfInbox: at("PUT", "/v1/inboxes/{id}/policy", "body"),
      deleteOfInbox: at("DELETE", "/v1/inboxes/{id}/policy"),
    },
    domains: {
      list: list("/v1/domains", listByOffset),
      add: at("POST", "/v1/domains", "body"),
      get: at("GET", "/v1/domains/{id}"),
      change: at("PATCH", "/v1/domains/{id}", "body"),
      delete: at("DELETE", "/v1/domains/{id}"),
      verify: at("POST", "/v1/domains/{id}/verify"),
      rotateDkim: at("POST", "/v1/domains/{id}/rotate-dkim", "body"),
      zone: at("GET", "/v1/domains/{id}/zone"),
    },
    keys: {
      list: list("/v1/keys", listByOffset),
      create: at("POST", "/v1/keys", "body"),
      get: at("GET", "/v1/keys/{id}"),
      change: at("PATCH", "/v1/keys/{id}", "body"),
      revoke: at("DELETE", "/v1/keys/{id}"),
      rotate: at("POST", "/v1/keys/{id}/rotate", "body"),
    },
    grants: {
      list: list("/v1/grants", listByCursor),
      delete: at("DELETE", "/v1/grants/{id}"),
    },
    tokens: { create: at("POST", "/v1/tokens", "body") },
    account: {
      get: at("GET", "/v1/account"),
      change: at("PATCH", "/v1/account", "body"),
      stats: at("GET", "/v1/stats", "query"),
      usage: at("GET", "/v1/usage", "query"),
      audit: list("/v1/audit", listByCursor),
    },
    admin: {
      accounts: list("/v1/admin/accounts", listByOffset),
      createAccount: at("POST", "/v1/admin/accounts", "body"),
      getAccount: at("GET", "/v1/admin/accounts/{id}"),
      changeAccount: at("PATCH", "/v1/admin/accounts/{id}", "body"),
      deleteAccount: at("DELETE", "/v1/admin/accounts/{id}", "query"),
      exportAccount: at("GET", "/v1/admin/accounts/{id}/export"),
      createKey: at("POST", "/v1/admin/accounts/{id}/keys", "body"),
      domains: list("/v1/admin/domains", listByOffset),
      addDomain: at("POST", "/v1/admin/domains", "body"),
      getDomain: at("GET", "/v1/admin/domains/{id}"),
      verifyDomain: at("POST", "/v1/admin/domains/{id}/verify"),
      deleteDomain: at("DELETE", "/v1/admin/domains/{id}"),
      audit: list("/v1/admin/audit", listByCursor),
      usage: at("GET", "/v1/admin/usage", "query"),
      system: at("GET", "/v1/admin/system"),
    },
  };
}

const longestWaitSeconds = 60;
/** The longest time that the service allows for one upload. */
const longestUploadMs = 600_000;
