import type { CallOptions } from "./call.ts";
import { type List, listByCursor, listByOffset } from "./pages.ts";
import { type Body, pagesAt, type QueryAt, type Requester } from "./resources.ts";
import type { Schemas } from "./types.ts";

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

export const admin = (request: Requester): Admin => ({
  accounts: (query = {}, options) => listByOffset(pagesAt(request, "/v1/admin/accounts", { query, ...options }), query),
  createAccount: (body, options) => request("POST", "/v1/admin/accounts", { body, ...options }),
  getAccount: (id, options) => request("GET", "/v1/admin/accounts/{id}", { path: { id }, ...options }),
  changeAccount: (id, body, options) => request("PATCH", "/v1/admin/accounts/{id}", { path: { id }, body, ...options }),
  deleteAccount: (id, query, options) =>
    request("DELETE", "/v1/admin/accounts/{id}", { path: { id }, query, ...options }),
  exportAccount: async (id, options) =>
    (await request("GET", "/v1/admin/accounts/{id}/export", { path: { id }, ...options })) as never,
  createKey: (id, body = {}, options) =>
    request("POST", "/v1/admin/accounts/{id}/keys", { path: { id }, body, ...options }),
  domains: (query = {}, options) => listByOffset(pagesAt(request, "/v1/admin/domains", { query, ...options }), query),
  addDomain: (body, options) => request("POST", "/v1/admin/domains", { body, ...options }),
  getDomain: (id, options) => request("GET", "/v1/admin/domains/{id}", { path: { id }, ...options }),
  verifyDomain: (id, options) => request("POST", "/v1/admin/domains/{id}/verify", { path: { id }, ...options }),
  deleteDomain: (id, options) => request("DELETE", "/v1/admin/domains/{id}", { path: { id }, ...options }),
  audit: (query = {}, options) => listByCursor(pagesAt(request, "/v1/admin/audit", { query, ...options })),
  usage: (query = {}, options) => request("GET", "/v1/admin/usage", { query, ...options }),
  system: (options) => request("GET", "/v1/admin/system", { ...options }),
});
