import type { BlobPlace } from "./blobs/blob-store.ts";
import type { Config } from "./config.ts";
import type { CellPeer } from "./domain/cell-peer.ts";
import { type LimitName, type Plan, type PlanLimits, plans } from "./domain/limits.ts";
import { describeOutbound } from "./domain/outbound.ts";
import { describeNameServer } from "./standards/name-server.ts";

/** The current settings by the names of their variables. Secrets are masked. */
export function describeConfig(config: Config): Record<string, string | number> {
  const masked = (value: string | undefined) => (value === undefined ? "" : "***");
  return {
    DATABASE_URL: config.databaseUrl === undefined ? "" : withoutPassword(config.databaseUrl),
    DATABASE_POOLED: config.databaseDirectUrl === undefined ? 0 : 1,
    DATABASE_DIRECT_URL: config.databaseDirectUrl === undefined ? "" : withoutPassword(config.databaseDirectUrl),
    DATA_DIR: config.dataDir,
    BLOBS: config.blobs === undefined ? "" : describeBlobs(config.blobs),
    BLOBS_ACCESS_KEY: masked(config.blobs?.accessKey),
    BLOBS_SECRET_KEY: masked(config.blobs?.secretKey),
    BLOBS_AFTER_MINUTES: config.blobsAfterMinutes,
    PROCESSES: config.processes,
    HOST: config.host,
    PORT: config.port,
    BASE_URL: config.baseUrl ?? `http://${config.host}:${config.port}`,
    MAIL_DOMAIN: config.mailDomain,
    CELL: config.cell,
    CELL_PEERS: config.cellPeers.map(describePeer).join(","),
    SMTP_HOST: config.smtpHost,
    SMTP_PORT: config.smtpPort,
    SMTP_HOSTNAME: config.smtpHostname,
    SMTP_TLS_CERT: config.smtpTls?.certPath ?? "",
    SMTP_TLS_KEY: config.smtpTls?.keyPath ?? "",
    SMTP_MAX_BYTES: config.smtpMaxBytes,
    SMTP_MAX_CONNECTIONS_PER_ADDRESS: config.smtpMaxConnectionsPerAddress,
    SMTP_MAILS_PER_MINUTE_PER_ADDRESS: config.smtpMailsPerMinutePerAddress,
    TRUSTED_PROXIES: config.trustedProxies.join(","),
    SMTP_PROXY_PROTOCOL: config.smtpProxyProtocol ? 1 : 0,
    TRUSTED_RELAYS: config.trustedRelays.join(","),
    AUTHENTICATE: config.authenticate,
    AUTH_TIMEOUT_MS: config.authTimeoutMs,
    JUDGE_URL: config.judge === undefined ? "" : `${config.judge.kind === "rspamd" ? "rspamd+" : ""}***`,
    JUDGE_SECRET: masked(config.judgeSecret),
    JUDGE_TIMEOUT_MS: config.judgeTimeoutMs,
    JUDGE_FAILS: config.judgeFails,
    TRUSTED_ARC_SEALERS: config.trustedArcSealers.join(","),
    TRUSTED_AUTHSERV_IDS: config.trustedAuthservIds.join(","),
    OUTBOUND: describeOutbound(config.outbound),
    DNS_SERVERS: config.dnsServers?.map(describeNameServer).join(",") ?? "",
    RELAY_MESSAGE_ID:
      typeof config.relayMessageId === "string" ? config.relayMessageId : `@${config.relayMessageId.domain}`,
    RELAY_NOTICES: config.relayNotices === undefined ? "" : `${config.relayNotices.provider}:***`,
    INGEST_TOKEN: masked(config.ingestToken),
    DKIM_SELECTOR: config.dkim?.selector ?? "",
    DKIM_KEY: masked(config.dkim?.privateKeyPem),
    API_KEY: masked(config.apiKey),
    WEBHOOK_URL: config.webhookUrl ?? "",
    WEBHOOK_SECRET: masked(config.webhookSecret),
    PLAN: config.plan,
    SIGNING_KEY: masked(config.signingKey),
    ENCRYPTION_KEY: masked(config.encryptionKey),
    ENCRYPTION_KEY_PREVIOUS: masked(config.encryptionKeyPrevious),
    OPERATOR_INBOX: config.operatorInbox ?? "",
    SENDS_PER_MINUTE: describeLimit(config.limits, "sendsPerMinute"),
    SENDS_PER_DAY: describeLimit(config.limits, "sendsPerDay"),
    COLD_RECIPIENT_DAILY: describeLimit(config.limits, "coldRecipientDaily"),
    INBOXES_PER_DAY: describeLimit(config.limits, "inboxesPerDay"),
    LOOP_ECHOES: describeLimit(config.limits, "loopEchoes"),
    INBOXES_PER_ACCOUNT: describeLimit(config.limits, "inboxes"),
    DOMAINS_PER_ACCOUNT: describeLimit(config.limits, "domains"),
    KEYS_PER_ACCOUNT: describeLimit(config.limits, "keys"),
    ACCOUNT_BYTES: describeLimit(config.limits, "storageBytes"),
    INBOX_BYTES: describeLimit(config.limits, "inboxBytes"),
    RECEIVES_PER_MINUTE: describeLimit(config.limits, "receivesPerMinute"),
    SEARCH_WORDS: describePerPlan((plan) => config.searchWords[plan]),
    RECIPIENTS_MAX: config.recipientsMax,
    SEND_WAIT_MS: config.sendWaitMs,
    SEND_MAX_BYTES: config.sendMaxBytes,
    UPLOAD_TTL_HOURS: config.uploadTtlHours,
    UPLOADS_MAX_BYTES: config.uploadsMaxBytes,
    OPEN_DRAFTS: config.openDrafts,
    APPROVAL_HOURS: config.approvalHours,
    APPROVERS: config.approvers.join(","),
    MAX_QUEUE_HOURS: config.maxQueueHours,
    RETURN_PATH: config.returnPath,
    ASK_DELIVERED: config.askDelivered ? 1 : 0,
    BOUNCE_SUPPRESSION_DAYS: config.bounceSuppressionDays,
    QUARANTINE_DAYS: config.quarantineDays,
    RELAY_RETRY_SECONDS: config.relayRetrySeconds.join(","),
    WEBHOOK_TIMEOUT_MS: config.webhookTimeoutMs,
    WEBHOOK_RETRY_SECONDS: config.webhookRetrySeconds.join(","),
    ALLOW_PRIVATE_WEBHOOKS: config.allowPrivateWebhooks ? 1 : 0,
    WEBHOOKS_PER_ACCOUNT: config.webhooksPerAccount,
    WEBHOOK_DISABLE_DAYS: config.webhookDisableDays,
    ATTACHMENT_URL_TTL: config.attachmentUrlTtlSeconds,
    EVENT_RETENTION_DAYS: config.eventRetentionDays,
    AUDIT_RETENTION_DAYS: config.auditRetentionDays,
    MESSAGE_RETENTION_DAYS: config.messageRetentionDays,
    TRASH_DAYS: config.trashDays,
    CORS_ORIGINS: config.corsOrigins === undefined ? "" : [config.corsOrigins].flat().join(","),
    LISTENERS_PER_ACCOUNT: config.listeners.perAccount,
    LISTENERS_PER_PROCESS: config.listeners.perProcess,
    DOMAIN_GRACE_HOURS: config.domainGraceHours,
    CONSOLE: config.console ? 1 : 0,
    MCP: config.mcp ? 1 : 0,
    MCP_CONNECT: config.mcpConnect ? 1 : 0,
    MCP_ORIGINS: config.mcpOrigins.join(","),
    METRICS_PORT: config.metricsPort ?? "",
    METRICS_TOKEN: masked(config.metricsToken),
    OTEL_EXPORTER_OTLP_ENDPOINT: config.otlpEndpoint ?? "",
    OTEL_EXPORTER_OTLP_HEADERS: Object.keys(config.otlpHeaders)
      .map((name) => `${name}=***`)
      .join(","),
    OTEL_SERVICE_NAME: config.otelServiceName,
    SHUTDOWN_TIMEOUT_MS: config.shutdownTimeoutMs,
    LOG_LEVEL: config.logLevel,
    LOG_FORMAT: config.logFormat,
  };
}

function describeLimit(limits: PlanLimits, name: LimitName): string {
  return describePerPlan((plan) => limits[plan][name]);
}

function describePerPlan(of: (plan: Plan) => number | string): string {
  const values = plans.map(of);
  return new Set(values).size === 1 ? String(values[0]) : plans.map((plan) => `${plan}=${of(plan)}`).join(",");
}

function describeBlobs({ bucket, prefix, endpoint, region }: BlobPlace): string {
  const parameters = new URLSearchParams({ ...(endpoint !== undefined && { endpoint }), region });
  return `s3://${bucket}/${prefix}?${parameters}`;
}

function describePeer({ host, url }: CellPeer): string {
  return url === `https://${host}` ? host : `${host}=${url}`;
}

function withoutPassword(url: string): string {
  const parsed = new URL(url);
  if (parsed.password !== "") parsed.password = "***";
  return parsed.href;
}
