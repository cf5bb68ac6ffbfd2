import { type Draft, isJson } from "./draft.ts";

/** How the TypeScript client calls an operation. */
interface ClientCall {
  /** The function, such as `messages.send`. Its first arguments are the parameters of the path. */
  name: string;
  /** The argument after those. An upload has its file's name there, and its content behind it; a mail has its envelope behind it. */
  takes?: "query" | "body" | "upload" | "mail";
  /** Whether the result is a list or a stream, which `for await` reads. */
  isEach?: true;
}

const calls: Readonly<Record<string, ClientCall>> = {
  listInboxes: { name: "inboxes.list", takes: "query", isEach: true },
  createInbox: { name: "inboxes.create", takes: "body" },
  getInbox: { name: "inboxes.get" },
  changeInbox: { name: "inboxes.change", takes: "body" },
  deleteInbox: { name: "inboxes.delete" },
  exportInbox: { name: "inboxes.export", takes: "query" },
  addAlias: { name: "inboxes.addAlias" },
  removeAlias: { name: "inboxes.removeAlias" },
  listMessages: { name: "messages.list", takes: "query", isEach: true },
  searchMessages: { name: "messages.search", takes: "query", isEach: true },
  sendEmail: { name: "messages.send", takes: "body" },
  convertMarkdown: { name: "messages.markdown", takes: "body" },
  waitForMail: { name: "messages.wait", takes: "query" },
  getMessage: { name: "messages.get" },
  cancelMessage: { name: "messages.cancel" },
  deleteMessage: { name: "messages.delete" },
  retryMessage: { name: "messages.retry" },
  createDraft: { name: "drafts.create", takes: "body" },
  listDrafts: { name: "drafts.list", takes: "query", isEach: true },
  getDraft: { name: "drafts.get" },
  changeDraft: { name: "drafts.change", takes: "body" },
  discardDraft: { name: "drafts.discard" },
  sendDraft: { name: "drafts.send", takes: "body" },
  approveDraft: { name: "drafts.approve", takes: "body" },
  rejectDraft: { name: "drafts.reject", takes: "body" },
  createApprovalLink: { name: "drafts.approvalLink" },
  downloadRawMessage: { name: "messages.raw" },
  showMessage: { name: "messages.html", takes: "query" },
  getMessageHistory: { name: "messages.history" },
  listReports: { name: "messages.reports" },
  downloadRawReport: { name: "messages.rawReport" },
  listThreads: { name: "threads.list", takes: "query", isEach: true },
  listMessagesOfThread: { name: "threads.messages", takes: "query", isEach: true },
  getThread: { name: "threads.get" },
  changeThread: { name: "threads.change", takes: "body" },
  deleteThread: { name: "threads.delete" },
  changeThreads: { name: "threads.changeAll", takes: "body" },
  listLabels: { name: "threads.labels" },
  downloadAttachment: { name: "attachments.get" },
  readAttachment: { name: "attachments.text", takes: "query" },
  uploadFile: { name: "uploads.create", takes: "upload" },
  getUpload: { name: "uploads.get" },
  deleteUpload: { name: "uploads.delete" },
  takeMail: { name: "inbound.take", takes: "mail" },
  listEvents: { name: "events.list", takes: "query", isEach: true },
  getEvent: { name: "events.get", takes: "query" },
  streamEvents: { name: "events.stream", takes: "query", isEach: true },
  listDeliveries: { name: "events.deliveries", takes: "query", isEach: true },
  redeliverEvent: { name: "events.redeliver", takes: "body" },
  getWebhook: { name: "webhook.get" },
  setWebhook: { name: "webhook.set", takes: "body" },
  deleteWebhook: { name: "webhook.delete" },
  rotateWebhookSecret: { name: "webhook.rotateSecret", takes: "body" },
  testWebhook: { name: "webhook.test" },
  listWebhookEndpoints: { name: "webhooks.list" },
  createWebhookEndpoint: { name: "webhooks.create", takes: "body" },
  getWebhookEndpoint: { name: "webhooks.get" },
  changeWebhookEndpoint: { name: "webhooks.change", takes: "body" },
  deleteWebhookEndpoint: { name: "webhooks.delete" },
  listWebhookEndpointDeliveries: { name: "webhooks.deliveries", takes: "query", isEach: true },
  recoverWebhookEndpointEvents: { name: "webhooks.recover", takes: "body" },
  rotateWebhookEndpointSecret: { name: "webhooks.rotateSecret", takes: "body" },
  testWebhookEndpoint: { name: "webhooks.test" },
  listOutboxItems: { name: "outbox.list", takes: "query", isEach: true },
  retryOutboxItem: { name: "outbox.retry" },
  cancelOutboxItem: { name: "outbox.cancel" },
  listSuppressions: { name: "suppressions.list", takes: "query", isEach: true },
  addSuppressions: { name: "suppressions.add", takes: "body" },
  getSuppression: { name: "suppressions.get" },
  deleteSuppression: { name: "suppressions.delete" },
  listQuarantine: { name: "quarantine.list", takes: "query", isEach: true },
  getQuarantinedMail: { name: "quarantine.get" },
  downloadRawQuarantinedMail: { name: "quarantine.raw" },
  releaseQuarantinedMail: { name: "quarantine.release" },
  deleteQuarantinedMail: { name: "quarantine.delete" },
  listRules: { name: "rules.list", takes: "query", isEach: true },
  addRule: { name: "rules.add", takes: "body" },
  deleteRule: { name: "rules.delete" },
  getPolicy: { name: "policies.get", takes: "query" },
  changePolicy: { name: "policies.change", takes: "body" },
  deletePolicy: { name: "policies.delete", takes: "query" },
  getInboxPolicy: { name: "policies.ofInbox" },
  changeInboxPolicy: { name: "policies.changeOfInbox", takes: "body" },
  deleteInboxPolicy: { name: "policies.deleteOfInbox" },
  getAccount: { name: "account.get" },
  changeAccount: { name: "account.change", takes: "body" },
  getStats: { name: "account.stats", takes: "query" },
  getUsage: { name: "account.usage", takes: "query" },
  listAuditEntries: { name: "account.audit", takes: "query", isEach: true },
  listDomains: { name: "domains.list", takes: "query", isEach: true },
  addDomain: { name: "domains.add", takes: "body" },
  getDomain: { name: "domains.get" },
  changeDomain: { name: "domains.change", takes: "body" },
  deleteDomain: { name: "domains.delete" },
  verifyDomain: { name: "domains.verify" },
  rotateDomainKey: { name: "domains.rotateDkim", takes: "body" },
  downloadZoneFile: { name: "domains.zone" },
  listAccounts: { name: "admin.accounts", takes: "query", isEach: true },
  createAccount: { name: "admin.createAccount", takes: "body" },
  getAnyAccount: { name: "admin.getAccount" },
  changeAnyAccount: { name: "admin.changeAccount", takes: "body" },
  deleteAnyAccount: { name: "admin.deleteAccount", takes: "query" },
  exportAnyAccount: { name: "admin.exportAccount" },
  createKeyOfAnyAccount: { name: "admin.createKey", takes: "body" },
  listSharedDomains: { name: "admin.domains", takes: "query", isEach: true },
  addSharedDomain: { name: "admin.addDomain", takes: "body" },
  getSharedDomain: { name: "admin.getDomain" },
  verifySharedDomain: { name: "admin.verifyDomain" },
  deleteSharedDomain: { name: "admin.deleteDomain" },
  listAuditEntriesOfAllAccounts: { name: "admin.audit", takes: "query", isEach: true },
  getUsageOfAllAccounts: { name: "admin.usage", takes: "query" },
  getSystem: { name: "admin.system" },
  listKeys: { name: "keys.list", takes: "query", isEach: true },
  createKey: { name: "keys.create", takes: "body" },
  getKey: { name: "keys.get" },
  changeKey: { name: "keys.change", takes: "body" },
  revokeKey: { name: "keys.revoke" },
  rotateKey: { name: "keys.rotate", takes: "body" },
  listGrants: { name: "grants.list", takes: "query", isEach: true },
  deleteGrant: { name: "grants.delete" },
  createToken: { name: "tokens.create", takes: "body" },
};

/** Code that makes the request with the TypeScript client. An operation without a function is called by its path. */
export function clientSample(draft: Draft): string {
  const { base, needsKey, operationId, query } = draft;
  const token = query.find(({ name }) => name === "token");
  const key = needsKey ? ['  apiKey: process.env.INBOXD_API_KEY ?? "",'] : [];
  const credential = token === undefined ? key : [`  token: ${JSON.stringify(token.value)},`];
  const call = calls[operationId] ?? { name: "request", takes: "body" as const };
  const others = { ...draft, query: query.filter((parameter) => parameter !== token) };
  const made = `inboxd.${call.name}(${argumentsOf(others, call).join(", ")})`;
  return [
    'import { Inboxd } from "inboxd";',
    "",
    "const inboxd = new Inboxd({",
    `  baseUrl: ${JSON.stringify(base)},`,
    ...credential,
    "});",
    call.isEach ? `for await (const each of ${made}) {\n  console.log(each);\n}` : `console.log(await ${made});`,
  ].join("\n");
}

function argumentsOf(draft: Draft, { name, takes, isEach }: ClientCall): string[] {
  const { method, path, pathValues, query, body } = draft;
  const named = Object.entries(pathValues).map(([name, value]) => [name, value || `<${name}>`] as const);
  const values = named.map(([, value]) => JSON.stringify(value));
  const options = optionsOf(draft);
  if (name === "request") {
    const fields = [
      ...(values.length > 0 ? [`path: ${JSON.stringify(Object.fromEntries(named))}`] : []),
      ...(query.length > 0 ? [`query: ${fieldsOf(query)}`] : []),
      ...(body === undefined ? [] : [`body: ${bodyOf(draft)}`]),
      ...options,
    ];
    return [JSON.stringify(method), JSON.stringify(path), braced(fields)];
  }
  // A stream has one argument, its options, which include the query.
  const given = {
    query: query.length > 0 ? fieldsOf(query) : undefined,
    body: body === undefined ? undefined : bodyOf(draft),
    mail: `${bodyOf(draft)}, ${envelopeOf(draft)}`,
    upload: `${JSON.stringify(query.find((parameter) => parameter.name === "filename")?.value ?? "")}, ${bodyOf(draft)}`,
  };
  const argument = takes === undefined ? undefined : given[takes];
  const isLast = options.length === 0 || (isEach && name === "events.stream");
  if (isLast) return [...values, ...(argument === undefined ? [] : [argument])];
  return [...values, ...(takes === undefined ? [] : [argument ?? "{}"]), braced(options)];
}

/** The headers with the envelope of a mail that is handed in, and their names in the client. */
const envelopeNames: ReadonlyMap<string, string> = new Map([
  ["Envelope-To", "to"],
  ["Envelope-From", "from"],
  ["Client-Address", "clientAddress"],
  ["Client-Helo", "clientHelo"],
]);

function envelopeOf({ headers }: Draft): string {
  return braced(
    headers.flatMap(([header, value]) => {
      const name = envelopeNames.get(header);
      return name === undefined ? [] : `${name}: ${JSON.stringify(value)}`;
    }),
  );
}

function optionsOf({ headers }: Draft): string[] {
  const others = headers.filter(
    ([name]) => name !== "Content-Type" && name !== "Idempotency-Key" && !envelopeNames.has(name),
  );
  const [, key] = headers.find(([name]) => name === "Idempotency-Key") ?? [];
  return [
    ...(key === undefined ? [] : [`idempotencyKey: ${JSON.stringify(key)}`]),
    ...(others.length === 0 ? [] : [`headers: ${JSON.stringify(Object.fromEntries(others))}`]),
  ];
}

function fieldsOf(query: Draft["query"]): string {
  return braced(query.map(({ name, value, kind }) => `${nameOf(name)}: ${literalOf(value, kind)}`));
}

function literalOf(value: string, kind: string): string {
  if (kind === "array") return JSON.stringify(value.split(","));
  return isBare(value, kind) ? value : JSON.stringify(value);
}

function isBare(value: string, kind: string): boolean {
  return kind === "boolean"
    ? /^(?:true|false)$/.test(value)
    : /^(?:integer|number)$/.test(kind) && /^-?\d+$/.test(value);
}

function nameOf(name: string): string {
  return /^[a-z_]\w*$/i.test(name) ? name : JSON.stringify(name);
}

/** The typed JSON as it stands, which is also TypeScript; or a file. */
function bodyOf({ headers, body = "" }: Draft): string {
  const [, type = ""] = headers.find(([name]) => name === "Content-Type") ?? [];
  if (isJson(type)) return body.trim();
  return `new Blob([${JSON.stringify(body)}], { type: ${JSON.stringify(type)} })`;
}

function braced(fields: readonly string[]): string {
  return fields.length === 0 ? "{}" : `{ ${fields.join(", ")} }`;
}
