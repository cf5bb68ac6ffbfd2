import { availableParallelism } from "node:os";
import type { BlobSettings } from "./blobs/blob-store.ts";
import {
  type CorsOrigins,
  type Environment,
  parseAddresses,
  parseApprovers,
  parseBaseUrl,
  parseBlobs,
  parseBlocks,
  parseCell,
  parseDatabaseUrl,
  parseDomain,
  parseDomains,
  parsedNoticeSource,
  parsedOutbound,
  parseJudge,
  parseListenHost,
  parseNamedOrigins,
  parseNameServers,
  parseNaming,
  parseOrigins,
  parseOtlpEndpoint,
  parseOtlpHeaders,
  parsePeers,
  parseProcesses,
  parseSchedule,
  parseSelector,
  parseToken,
  parseWords,
  pemOf,
  readers,
  together,
} from "./config-values.ts";
import type { CellPeer } from "./domain/cell-peer.ts";
import { checkWebhookUrl } from "./domain/events/webhook-url.ts";
import {
  type LimitName,
  type Plan,
  type PlanLimits,
  parsePlanChoice,
  parsePlanLimit,
  perPlan,
  plans,
} from "./domain/limits.ts";
import type { Outbound } from "./domain/outbound.ts";
import { type AuthenticateChoice, authenticateChoices } from "./domain/receive/authentication.ts";
import { judgeFailures } from "./domain/receive/opinion.ts";
import type { NoticeSource } from "./domain/reports/notice-source.ts";
import { returnPathKinds } from "./domain/reports/return-path.ts";
import { type PlanSearchWords, type SearchWords, searchWords } from "./domain/search.ts";
import type { NamingSetting } from "./domain/send/wire-name.ts";
import type { ListenerLimits } from "./flows/listeners.ts";
import type { NameServer } from "./standards/name-server.ts";
import { webhookSecretFault } from "./standards/signature.ts";
import type { JudgeAddress } from "./webhook/judge.ts";

export type { Environment } from "./config-values.ts";

/** The settings, read from the environment at the start. */
export interface Config {
  databaseUrl: string | undefined;
  /** The URL without the pooler to which `databaseUrl` leads; `undefined` if it leads to no such pooler. */
  databaseDirectUrl: string | undefined;
  dataDir: string;
  /** The object store to which older raw mail is moved (BLOBS); `undefined`: all mail stays in the database. */
  blobs: BlobSettings | undefined;
  /** The age at which raw mail is moved there. */
  blobsAfterMinutes: number;
  /** The processes that share the ports. */
  processes: number;
  host: string;
  port: number;
  /** `undefined`: the address of the listener. */
  baseUrl: string | undefined;
  mailDomain: string;
  /** The cell of this service, which its keys and tokens name. */
  cell: string;
  /** The other cells of this service, which get mail for their addresses by HTTP. */
  cellPeers: readonly CellPeer[];
  smtpHost: string;
  smtpPort: number;
  smtpHostname: string;
  smtpTls: { certPath: string; keyPath: string } | undefined;
  smtpMaxBytes: number;
  /** For one IPv4 address or one IPv6 /64. */
  smtpMaxConnectionsPerAddress: number;
  smtpMailsPerMinutePerAddress: number;
  /** The addresses of load balancers before SMTP. Only the limit on all connections applies to them, not that for one address. */
  trustedProxies: readonly string[];
  /** Which mail from outside has its sender authenticated. */
  authenticate: AuthenticateChoice;
  /** The time limit for the authentication of a mail. */
  authTimeoutMs: number;
  /** The program that judges inbound mail (JUDGE_URL); `undefined`: none. */
  judge: JudgeAddress | undefined;
  /** Signs the questions to the judge. */
  judgeSecret: string | undefined;
  judgeTimeoutMs: number;
  /** The action for mail about which the judge gives no opinion in time. */
  judgeFails: (typeof judgeFailures)[number];
  /** The domains of forwarding servers that are believed when they seal a mail (RFC 8617). */
  trustedArcSealers: readonly string[];
  /** The servers whose `Authentication-Results` count in mail of a trusted relay. */
  trustedAuthservIds: readonly string[];
  /** Whether connections of these proxies for mail begin with a PROXY header. */
  smtpProxyProtocol: boolean;
  /** The blocks of addresses of mail servers that pass their mail on to this service. Their Received fields name the sender. */
  trustedRelays: readonly string[];
  outbound: Outbound;
  /** `undefined`: the servers in /etc/resolv.conf. */
  dnsServers: readonly NameServer[] | undefined;
  /** How the relay changes the Message-ID of our mail (RELAY_MESSAGE_ID). */
  relayMessageId: NamingSetting;
  /** The relay that reports bounces and complaints by its webhook (RELAY_NOTICES); `undefined`: none. */
  relayNotices: NoticeSource | undefined;
  /** The token for mail by HTTP to any inbox (INGEST_TOKEN). */
  ingestToken: string | undefined;
  dkim: { selector: string; privateKeyPem: string } | undefined;
  apiKey: string | undefined;
  webhookUrl: string | undefined;
  webhookSecret: string | undefined;
  plan: Plan;
  signingKey: string | undefined;
  /** The key that seals secrets in the database, and the one before it, which still opens them. */
  encryptionKey: string | undefined;
  encryptionKeyPrevious: string | undefined;
  /** The username of the inbox for mail to postmaster and abuse. */
  operatorInbox: string | undefined;
  limits: PlanLimits;
  /** Which words of a message are indexed for search. */
  searchWords: PlanSearchWords;
  /** The limit of recipients of a mail. */
  recipientsMax: number;
  sendWaitMs: number;
  /** The limit of the whole mail, as sent to the relay. */
  sendMaxBytes: number;
  uploadTtlHours: number;
  /** The limit of all uploads of an account together. */
  uploadsMaxBytes: number;
  /** The most drafts of an inbox that are not sent yet. */
  openDrafts: number;
  /** The hours after its last change in which a person can approve a mail. */
  approvalHours: number;
  /** The people who approve mail of inboxes that name no approvers. */
  approvers: readonly string[];
  maxQueueHours: number;
  /** The envelope sender: a return path for each mail, or the address of the inbox. */
  returnPath: (typeof returnPathKinds)[number];
  /** Whether to request reports of successful delivery (RFC 3461). */
  askDelivered: boolean;
  /** The time for which an address that bounced is suppressed; 0: forever. */
  bounceSuppressionDays: number;
  /** How long blocked mail is kept. */
  quarantineDays: number;
  relayRetrySeconds: readonly number[];
  webhookTimeoutMs: number;
  webhookRetrySeconds: readonly number[];
  allowPrivateWebhooks: boolean;
  /** The limit of endpoints of an account, including the default one. */
  webhooksPerAccount: number;
  /** An endpoint that fails for this long is disabled; 0: never. */
  webhookDisableDays: number;
  attachmentUrlTtlSeconds: number;
  eventRetentionDays: number;
  auditRetentionDays: number;
  /** Mail is removed after this many days; 0: never. */
  messageRetentionDays: number;
  /** The days after which a thread in the trash is removed; 0: never. */
  trashDays: number;
  /** The limits of open waits and streams. */
  listeners: ListenerLimits;
  /** The origins whose pages may use the API; `undefined`: none. */
  corsOrigins: CorsOrigins | undefined;
  /** How long a domain whose proof is gone goes on as before. */
  domainGraceHours: number;
  /** Whether to serve the console. */
  console: boolean;
  /** Whether to serve MCP. */
  mcp: boolean;
  /** Whether clients of MCP may sign in at /mcp/connect. */
  mcpConnect: boolean;
  /** The origins whose pages may use MCP, besides our own. */
  mcpOrigins: readonly string[];
  /** A separate port for metrics; 0 takes a free one. */
  metricsPort: number | undefined;
  /** The token for reading metrics. Without a separate port, it also turns metrics on at the port of the API. */
  metricsToken: string | undefined;
  /** The collector that gets traces by OTLP/HTTP, without the path of traces; `undefined`: none, so that there are no traces. */
  otlpEndpoint: string | undefined;
  otlpHeaders: Readonly<Record<string, string>>;
  otelServiceName: string;
  shutdownTimeoutMs: number;
  logLevel: (typeof logLevels)[number];
  logFormat: "json" | "pretty";
}

/** All errors in the settings, in one message. */
export class ConfigError extends Error {
  readonly faults: readonly string[];

  constructor(faults: readonly string[]) {
    super(`Cannot start: the configuration is wrong\n${faults.map((fault) => `  ${fault}`).join("\n")}`);
    this.name = "ConfigError";
    this.faults = faults;
  }
}

const logLevels = ["debug", "info", "warn", "error", "silent"] as const;
const day = 86_400;

/** Reads all settings. Throws one error that names every wrong value. */
export function readConfig(env: Environment, isTerminal = false): Config {
  const faults: string[] = [];
  const { text, secret, integer, choice, checked } = readers(env, faults);
  const given = (name: string) => text(name) !== undefined || text(`${name}_FILE`) !== undefined;

  const host = checked("HOST", text("HOST"), parseListenHost) ?? "127.0.0.1";
  const mailDomain = checked("MAIL_DOMAIN", text("MAIL_DOMAIN") ?? "inbox.localhost", parseDomain) ?? "inbox.localhost";
  const outbound: Outbound = checked("OUTBOUND", secret("OUTBOUND"), parsedOutbound) ?? { kind: "sandbox" };
  const allowPrivateWebhooks =
    choice("ALLOW_PRIVATE_WEBHOOKS", ["0", "1"], outbound.kind === "sandbox" ? "1" : "0") === "1";
  const trustedProxies = checked("TRUSTED_PROXIES", text("TRUSTED_PROXIES"), parseAddresses) ?? [];
  const smtpProxyProtocol = choice("SMTP_PROXY_PROTOCOL", ["0", "1"], "0") === "1";
  if (smtpProxyProtocol && trustedProxies.length === 0) {
    faults.push("SMTP_PROXY_PROTOCOL: TRUSTED_PROXIES must name the proxies that speak it");
  }
  const databaseUrl = checked("DATABASE_URL", secret("DATABASE_URL"), parseDatabaseUrl);
  const databaseDirectUrl = checked("DATABASE_DIRECT_URL", secret("DATABASE_DIRECT_URL"), parseDatabaseUrl);
  const isPooled = choice("DATABASE_POOLED", ["0", "1"], "0") === "1";
  if (isPooled && !(given("DATABASE_URL") && given("DATABASE_DIRECT_URL"))) {
    faults.push("DATABASE_POOLED: DATABASE_URL and DATABASE_DIRECT_URL must be set with it");
  }
  if (!isPooled && databaseDirectUrl !== undefined)
    faults.push("DATABASE_DIRECT_URL: DATABASE_POOLED must be 1 with it");
  const limit = (name: string, fallback: number, mostDigits?: number) =>
    checked(name, text(name), (value) => parsePlanLimit(value, fallback, mostDigits)) ?? perPlan(() => fallback);

  const longToken = (name: string) =>
    checked(name, secret(name), (value) =>
      /^[\x21-\x7e]{32,512}$/.test(value) ? { value } : "must be 32 to 512 visible ASCII characters",
    );
  const longSecret = (name: string) =>
    checked(name, secret(name), (value) => (value.length >= 32 ? { value } : "must have at least 32 characters"));

  const ingestToken = longToken("INGEST_TOKEN");
  const cellPeers = checked("CELL_PEERS", text("CELL_PEERS"), parsePeers) ?? [];
  if (cellPeers.length > 0 && !given("INGEST_TOKEN")) {
    faults.push("CELL_PEERS: INGEST_TOKEN must be set with it, the same in all cells");
  }

  const blobPlace = checked("BLOBS", text("BLOBS"), parseBlobs);
  const blobKeys = together(
    faults,
    "BLOBS_ACCESS_KEY",
    secret("BLOBS_ACCESS_KEY"),
    "BLOBS_SECRET_KEY",
    secret("BLOBS_SECRET_KEY"),
    (accessKey, secretKey) => ({ accessKey, secretKey }),
  );

  const config: Config = {
    databaseUrl,
    databaseDirectUrl,
    dataDir: text("DATA_DIR") ?? "./data",
    blobs: together(faults, "BLOBS", blobPlace, "BLOBS_ACCESS_KEY", blobKeys, (place, keys) => ({ ...place, ...keys })),
    blobsAfterMinutes: integer("BLOBS_AFTER_MINUTES", 60, 1, 60 * 24 * 365),
    processes:
      checked("PROCESSES", text("PROCESSES"), (value) =>
        parseProcesses(value, {
          platform: process.platform,
          cores: availableParallelism(),
          isEmbedded: !given("DATABASE_URL"),
        }),
      ) ?? 1,
    host,
    port: integer("PORT", 3000, 0, 65_535),
    baseUrl: checked("BASE_URL", text("BASE_URL"), parseBaseUrl),
    mailDomain,
    smtpHost: checked("SMTP_HOST", text("SMTP_HOST"), parseListenHost) ?? "127.0.0.1",
    smtpPort: integer("SMTP_PORT", 2525, 0, 65_535),
    smtpHostname: checked("SMTP_HOSTNAME", text("SMTP_HOSTNAME") ?? mailDomain, parseDomain) ?? mailDomain,
    smtpTls: together(
      faults,
      "SMTP_TLS_CERT",
      text("SMTP_TLS_CERT"),
      "SMTP_TLS_KEY",
      text("SMTP_TLS_KEY"),
      (certPath, keyPath) => ({ certPath, keyPath }),
    ),
    smtpMaxBytes: integer("SMTP_MAX_BYTES", 26_214_400, 1024, 1 << 30),
    smtpMaxConnectionsPerAddress: integer("SMTP_MAX_CONNECTIONS_PER_ADDRESS", 50, 1, 10_000),
    smtpMailsPerMinutePerAddress: integer("SMTP_MAILS_PER_MINUTE_PER_ADDRESS", 0, 0, 1_000_000),
    trustedProxies,
    smtpProxyProtocol,
    trustedRelays: checked("TRUSTED_RELAYS", text("TRUSTED_RELAYS"), parseBlocks) ?? [],
    authenticate: choice("AUTHENTICATE", authenticateChoices, "auto"),
    authTimeoutMs: integer("AUTH_TIMEOUT_MS", 3000, 100, 60_000),
    judge: checked("JUDGE_URL", secret("JUDGE_URL"), parseJudge),
    judgeSecret: checked("JUDGE_SECRET", secret("JUDGE_SECRET"), (value) => webhookSecretFault(value) ?? { value }),
    judgeTimeoutMs: integer("JUDGE_TIMEOUT_MS", 2000, 100, 60_000),
    judgeFails: choice("JUDGE_FAILS", judgeFailures, "take"),
    trustedArcSealers: checked("TRUSTED_ARC_SEALERS", text("TRUSTED_ARC_SEALERS"), parseDomains) ?? [],
    trustedAuthservIds: checked("TRUSTED_AUTHSERV_IDS", text("TRUSTED_AUTHSERV_IDS"), parseWords) ?? [],
    outbound,
    dnsServers: checked("DNS_SERVERS", text("DNS_SERVERS"), parseNameServers),
    relayMessageId: checked("RELAY_MESSAGE_ID", text("RELAY_MESSAGE_ID"), parseNaming) ?? "auto",
    relayNotices: checked("RELAY_NOTICES", secret("RELAY_NOTICES"), parsedNoticeSource),
    ingestToken,
    dkim: together(
      faults,
      "DKIM_SELECTOR",
      checked("DKIM_SELECTOR", text("DKIM_SELECTOR"), parseSelector),
      "DKIM_KEY",
      checked("DKIM_KEY", secret("DKIM_KEY"), pemOf),
      (selector, privateKeyPem) => ({ selector, privateKeyPem }),
    ),
    apiKey: checked("API_KEY", secret("API_KEY"), parseToken),
    webhookUrl: checked("WEBHOOK_URL", text("WEBHOOK_URL"), (value) => {
      const url = checkWebhookUrl(value, { allowPrivate: allowPrivateWebhooks });
      return typeof url === "string" ? url : { value };
    }),
    webhookSecret: checked(
      "WEBHOOK_SECRET",
      secret("WEBHOOK_SECRET"),
      (value) => webhookSecretFault(value) ?? { value },
    ),
    plan: choice("PLAN", plans, "developer"),
    signingKey: longSecret("SIGNING_KEY"),
    encryptionKey: longSecret("ENCRYPTION_KEY"),
    encryptionKeyPrevious: longSecret("ENCRYPTION_KEY_PREVIOUS"),
    operatorInbox: text("OPERATOR_INBOX")?.toLowerCase().split("@", 1)[0],
    limits: limitsOf({
      sendsPerMinute: limit("SENDS_PER_MINUTE", 10),
      sendsPerDay: limit("SENDS_PER_DAY", 200),
      coldRecipientDaily: limit("COLD_RECIPIENT_DAILY", 20),
      inboxesPerDay: limit("INBOXES_PER_DAY", 100),
      loopEchoes: limit("LOOP_ECHOES", 3),
      inboxes: limit("INBOXES_PER_ACCOUNT", 0),
      domains: limit("DOMAINS_PER_ACCOUNT", 20),
      keys: limit("KEYS_PER_ACCOUNT", 10_000),
      storageBytes: limit("ACCOUNT_BYTES", 0, 15),
      inboxBytes: limit("INBOX_BYTES", 0, 15),
      receivesPerMinute: limit("RECEIVES_PER_MINUTE", 0),
    }),
    searchWords:
      checked("SEARCH_WORDS", text("SEARCH_WORDS"), (value) =>
        parsePlanChoice<SearchWords>(value, searchWords, "all"),
      ) ?? perPlan<SearchWords>(() => "all"),
    recipientsMax: integer("RECIPIENTS_MAX", 50, 1, 1000),
    sendWaitMs: integer("SEND_WAIT_MS", 2000, 0, 30_000),
    sendMaxBytes: integer("SEND_MAX_BYTES", 26_214_400, 1024, 1 << 30),
    uploadTtlHours: integer("UPLOAD_TTL_HOURS", 24, 1, 24 * 365),
    uploadsMaxBytes: integer("UPLOADS_MAX_BYTES", 1 << 30, 1024, 2 ** 50),
    openDrafts: integer("OPEN_DRAFTS", 1000, 1, 1_000_000),
    approvalHours: integer("APPROVAL_HOURS", 72, 1, 24 * 365),
    approvers: checked("APPROVERS", text("APPROVERS"), (value) => parseApprovers(value, mailDomain)) ?? [],
    maxQueueHours: integer("MAX_QUEUE_HOURS", 48, 1, 24 * 30),
    returnPath: choice("RETURN_PATH", returnPathKinds, "verp"),
    askDelivered: choice("ASK_DELIVERED", ["0", "1"], "0") === "1",
    bounceSuppressionDays: integer("BOUNCE_SUPPRESSION_DAYS", 90, 0, 3650),
    quarantineDays: integer("QUARANTINE_DAYS", 30, 1, 3650),
    relayRetrySeconds:
      checked("RELAY_RETRY_SECONDS", text("RELAY_RETRY_SECONDS") ?? "60,300,900,1800", parseSchedule) ?? [],
    webhookTimeoutMs: integer("WEBHOOK_TIMEOUT_MS", 15_000, 100, 60_000),
    webhookRetrySeconds:
      checked("WEBHOOK_RETRY_SECONDS", text("WEBHOOK_RETRY_SECONDS") ?? "30,180,1080,6480,38880", parseSchedule) ?? [],
    allowPrivateWebhooks,
    webhooksPerAccount: integer("WEBHOOKS_PER_ACCOUNT", 20, 1, 100),
    webhookDisableDays: integer("WEBHOOK_DISABLE_DAYS", 5, 0, 365),
    attachmentUrlTtlSeconds: integer("ATTACHMENT_URL_TTL", 900, 1, 7 * day),
    eventRetentionDays: integer("EVENT_RETENTION_DAYS", 30, 1, 3650),
    cell: checked("CELL", text("CELL") ?? "00", parseCell) ?? "00",
    cellPeers,
    auditRetentionDays: integer("AUDIT_RETENTION_DAYS", 365, 1, 3650),
    messageRetentionDays: integer("MESSAGE_RETENTION_DAYS", 0, 0, 3650),
    trashDays: integer("TRASH_DAYS", 30, 0, 3650),
    corsOrigins: checked("CORS_ORIGINS", text("CORS_ORIGINS"), parseOrigins),
    listeners: {
      perAccount: integer("LISTENERS_PER_ACCOUNT", 1000, 1, 1_000_000),
      perProcess: integer("LISTENERS_PER_PROCESS", 10_000, 1, 1_000_000),
    },
    domainGraceHours: integer("DOMAIN_GRACE_HOURS", 168, 0, 24 * 365),
    console: choice("CONSOLE", ["0", "1"], "1") === "1",
    mcp: choice("MCP", ["0", "1"], "1") === "1",
    mcpConnect: choice("MCP_CONNECT", ["0", "1"], "1") === "1",
    mcpOrigins: checked("MCP_ORIGINS", text("MCP_ORIGINS"), parseNamedOrigins) ?? [],
    metricsPort: text("METRICS_PORT") === undefined ? undefined : integer("METRICS_PORT", 0, 0, 65_535),
    metricsToken: checked("METRICS_TOKEN", secret("METRICS_TOKEN"), parseToken),
    otlpEndpoint: checked("OTEL_EXPORTER_OTLP_ENDPOINT", text("OTEL_EXPORTER_OTLP_ENDPOINT"), parseOtlpEndpoint),
    otlpHeaders: checked("OTEL_EXPORTER_OTLP_HEADERS", secret("OTEL_EXPORTER_OTLP_HEADERS"), parseOtlpHeaders) ?? {},
    otelServiceName: text("OTEL_SERVICE_NAME") ?? "inboxd",
    shutdownTimeoutMs: integer("SHUTDOWN_TIMEOUT_MS", 25_000, 0, 600_000),
    logLevel: choice("LOG_LEVEL", logLevels, "info"),
    logFormat: choice("LOG_FORMAT", ["json", "pretty"], isTerminal ? "pretty" : "json"),
  };
  if (faults.length > 0) throw new ConfigError(faults);
  return config;
}

function limitsOf(byName: Record<LimitName, Readonly<Record<Plan, number>>>): PlanLimits {
  return perPlan((plan) => ({
    sendsPerMinute: byName.sendsPerMinute[plan],
    sendsPerDay: byName.sendsPerDay[plan],
    coldRecipientDaily: byName.coldRecipientDaily[plan],
    inboxesPerDay: byName.inboxesPerDay[plan],
    loopEchoes: byName.loopEchoes[plan],
    inboxes: byName.inboxes[plan],
    domains: byName.domains[plan],
    keys: byName.keys[plan],
    storageBytes: byName.storageBytes[plan],
    inboxBytes: byName.inboxBytes[plan],
    receivesPerMinute: byName.receivesPerMinute[plan],
  }));
}
