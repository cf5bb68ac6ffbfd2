import { type SQL, sql } from "drizzle-orm";
import {
  bigint,
  boolean,
  check,
  customType,
  date,
  index,
  integer,
  jsonb,
  type PgColumn,
  pgTable,
  primaryKey,
  smallint,
  text,
  timestamp,
  uniqueIndex,
  uuid,
} from "drizzle-orm/pg-core";
import { accesses } from "../domain/access/access.ts";
import { actorTypes } from "../domain/access/actor.ts";
import { auditActions, auditTargets } from "../domain/access/audit.ts";
import { type Automated, autoSubmittedValues } from "../domain/automated.ts";
import type { Person } from "../domain/conversation.ts";
import { failedReasons } from "../domain/domains/domain-states.ts";
import { domainStatuses } from "../domain/domains/readiness.ts";
import type { SeenRecord } from "../domain/domains/seen-record.ts";
import { type EventData, type EventType, eventTypes } from "../domain/events/event-types.ts";
import { folders } from "../domain/folders.ts";
import { keyedOperations } from "../domain/idempotency.ts";
import type { Limits } from "../domain/limits.ts";
import type { CustomHeader } from "../domain/message.ts";
import type { Metadata } from "../domain/metadata.ts";
import type { StoredFailure } from "../domain/outcome.ts";
import { type InboundPolicy, quarantineReasons, sendPolicies } from "../domain/policy.ts";
import type { Authentication, Spam } from "../domain/receive/authentication.ts";
import type { FoundRecipient, MailClient } from "../domain/receive/inbound-mail.ts";
import { type Delivery, reportProofs, reportSources } from "../domain/reports/delivery.ts";
import { bounceTypes, reportKinds } from "../domain/reports/report.ts";
import { ruleActions, ruleDirections } from "../domain/rules.ts";
import { searchWords } from "../domain/search.ts";
import type { Approval } from "../domain/send/approval.ts";
import { type DraftContent, draftStates } from "../domain/send/draft.ts";
import type { RecipientAttempt } from "../domain/send/recipient-attempt.ts";

/**
 * The type of ids. They compare by their bytes, whatever the locale of the database. So they sort by the time of their creation, and a
 * comparison is several times cheaper than by the rules of a language.
 */
const id = customType<{ data: string }>({ dataType: () => 'text collate "C"' });
/** The type of labels. They are listed in the order of their bytes, whatever the locale of the database. */
const label = customType<{ data: string }>({ dataType: () => 'text collate "C"' });
const bytes = customType<{ data: Uint8Array }>({ dataType: () => "bytea" });
const transactionId = customType<{ data: string }>({ dataType: () => "xid8" });
const searchVector = customType<{ data: string }>({ dataType: () => "tsvector" });
const instant = () => timestamp({ withTimezone: true, precision: 3, mode: "date" });

/*
 * The tables that every mail touches have no foreign keys: each would cost a look-up per row, and an inbox is deleted in steps, without a
 * cascade. Rows of one state change are written in one transaction instead.
 */

/** Values that the service makes once and keeps: its id and its signing key. */
export const settings = pgTable("settings", {
  name: text().primaryKey(),
  value: text().notNull(),
});

export const accounts = pgTable(
  "accounts",
  {
    id: id().primaryKey(),
    name: text().notNull().unique(),
    plan: text({ enum: ["free", "developer", "enterprise"] }).notNull(),
    createdAt: instant().notNull(),
    /** The number of inboxes. It is updated with each change, so that no query counts them: creating an inbox locks this row anyway. */
    inboxCount: integer().notNull().default(0),
    inboxesMadeOn: date({ mode: "string" }),
    /** The number of inboxes and aliases that were made on that day. */
    inboxesMade: integer().notNull().default(0),
    /** The limits that the operator has set for this account alone. A missing one is the plan's. */
    limits: jsonb().$type<Readonly<Partial<Limits>>>().notNull().default({}),
    /** The suspension by the operator: of sends, of everything, or of everything for the time of a move. Null for none. */
    suspended: text({ enum: ["sending", "all", "moving"] }),
    /** The operator's reason for the suspension. */
    suspendedReason: text(),
    /** The host of the cell to which the account has moved, which gets its mail from now on. Null while it is here. */
    movedTo: text(),
    /** The days after which mail is removed; null for the default of the service. */
    retentionDays: integer(),
    /** The words of its mail that are indexed, as the operator has set them for this account alone; null for those of its plan. */
    searchWords: text({ enum: searchWords }),
    sendPolicy: text({ enum: sendPolicies }).notNull().default("open"),
    /** The bytes that the mail of all inboxes takes, as the walker of usage last added them up. */
    storageBytes: bigint({ mode: "number" }).notNull().default(0),
    /** Set when the operator deletes the account. From then on all requests are refused, and its rows are removed in steps. */
    deletedAt: instant(),
  },
  (table) => [
    check("accounts_plan", sql`${table.plan} in ('free', 'developer', 'enterprise')`),
    check("accounts_suspended", sql`${table.suspended} in ('sending', 'all', 'moving')`),
    check("accounts_search_words", sql`${table.searchWords} in ('all', 'head', 'off')`),
    check("accounts_moved_to", sql`${table.movedTo} is null or ${table.suspended} = 'moving'`),
  ],
);

export const apiKeys = pgTable(
  "api_keys",
  {
    id: id().primaryKey(),
    accountId: id()
      .notNull()
      .references(() => accounts.id),
    /** A label for people; null for a key without one. */
    name: text(),
    /** SHA-256 in hex: the key itself is not stored. */
    hash: text().notNull().unique(),
    prefix: text().notNull(),
    lastFour: text().notNull(),
    createdAt: instant().notNull(),
    lastUsedAt: instant(),
    revokedAt: instant(),
    access: text({ enum: accesses }).notNull().default("full"),
    /** The only inbox that the key reaches; null for more than one. */
    inboxId: id(),
    /** The only `externalId` whose inboxes the key reaches; null for all. A key has at most one of `inboxId` and `externalId`. */
    externalId: text(),
    /** The CIDR blocks from which the key may be used; empty for any address. */
    allowedIps: text().array().notNull().default([]),
    expiresAt: instant(),
    /** The id of the key that made this one, `cli` or `operator`. Null for a key of a first start. */
    createdBy: text(),
    /** The policy for what is sent with the key; null for none of its own. */
    sendPolicy: text({ enum: sendPolicies }),
    /** The key of the person who granted this one to a client of MCP, which nobody is shown. Null for all other keys. */
    grantedBy: id(),
  },
  (table) => [
    index("api_keys_granted_by").on(table.grantedBy).where(sql`${table.grantedBy} is not null`),
    index("api_keys_account").on(table.accountId, table.id),
    index("api_keys_inbox").on(table.inboxId).where(sql`${table.inboxId} is not null`),
  ],
);

/** The keys of operators, which open `/v1/admin`. There are none until the command line makes one. */
export const operatorKeys = pgTable("operator_keys", {
  id: id().primaryKey(),
  name: text().notNull().unique(),
  /** SHA-256 in hex: the key itself is not stored. */
  hash: text().notNull().unique(),
  prefix: text().notNull(),
  lastFour: text().notNull(),
  createdAt: instant().notNull(),
  expiresAt: instant(),
  lastUsedAt: instant(),
  revokedAt: instant(),
});

/** The clients of OAuth that have registered themselves. Clients with a metadata document have no row. */
export const oauthClients = pgTable(
  "oauth_clients",
  {
    id: id().primaryKey(),
    name: text().notNull(),
    redirectUris: text().array().notNull(),
    registeredAt: instant().notNull(),
    /** The address from which it was registered. Null without a network. */
    registeredFrom: text(),
    /** Whether a person has granted it access. An unused registration is removed after a day. */
    isUsed: boolean().notNull().default(false),
  },
  (table) => [index("oauth_clients_unused").on(table.registeredAt).where(sql`not ${table.isUsed}`)],
);

/** The access that people have granted to clients of MCP. Each has a key, whose end is the end of the grant. */
export const grants = pgTable(
  "grants",
  {
    id: id().primaryKey(),
    accountId: id().notNull(),
    keyId: id().notNull().unique(),
    clientId: text().notNull(),
    clientName: text().notNull(),
    /** The host that the client's answers go to. */
    clientHost: text().notNull(),
    redirectUri: text().notNull(),
    /** The SHA-256 of the client's secret, in base64url. */
    challenge: text().notNull(),
    createdAt: instant().notNull(),
    /** 0 until the client has exchanged its code, then the number of its refresh token. */
    turn: integer().notNull().default(0),
    turnedAt: instant().notNull(),
    /** When the code or the refresh token ends. */
    turnEndsAt: instant().notNull(),
  },
  (table) => [index("grants_account").on(table.accountId, table.id), index("grants_turn_ends_at").on(table.turnEndsAt)],
);

/** The audit. An entry is written in the transaction of its change. It has no mail and no secret. */
export const auditEntries = pgTable(
  "audit_entries",
  {
    id: id().primaryKey(),
    at: instant().notNull(),
    /** Null for what an operator does to the whole service. */
    accountId: id(),
    action: text({ enum: auditActions }).notNull(),
    actorType: text({ enum: actorTypes }).notNull(),
    actorId: text(),
    actorName: text(),
    targetType: text({ enum: auditTargets }).notNull(),
    targetId: text().notNull(),
    ip: text(),
    requestId: text(),
    details: jsonb().$type<Readonly<Record<string, unknown>>>().notNull(),
  },
  (table) => [
    index("audit_entries_account").on(table.accountId, table.id),
    // Finds the entries in the history of a message.
    index("audit_entries_thread").on(table.targetId, table.id).where(sql`${table.action} = 'thread.marked'`),
  ],
);

/** The domains of accounts, which DNS vouches for, and those that the operator shares with all accounts. */
export const domains = pgTable(
  "domains",
  {
    id: id().primaryKey(),
    /** Null for a shared domain. */
    accountId: id(),
    /** Lower case, with A-labels. */
    name: text().notNull(),
    status: text({ enum: domainStatuses }).notNull(),
    /** The label of the return path's host. */
    returnPath: text().notNull(),
    /** Whether inboxes may have any name below the domain. */
    subdomains: boolean().notNull().default(false),
    /** The zone that has the domain; null until a check has found it. */
    zone: text(),
    /** The records as the last check found them. */
    recordsSeen: jsonb().$type<readonly SeenRecord[]>().notNull().default([]),
    checkedAt: instant(),
    /** Null for a domain that is not checked any more. */
    nextCheckAt: instant(),
    /** When the proof was first found missing, since it was last found. */
    missingSince: instant(),
    /** The start of the 72 hours in which a domain must be proven. */
    pendingSince: instant().notNull(),
    /** When a request last had the domain checked at once. */
    askedAt: instant(),
    verifiedAt: instant(),
    /** When a failing domain fails. */
    failsAt: instant(),
    failedReason: text({ enum: failedReasons }),
    /** The end of the lease of the process that checks the domain. */
    leasedUntil: instant(),
    createdAt: instant().notNull(),
    deletedAt: instant(),
  },
  (table) => [
    uniqueIndex("domains_account").on(table.accountId, table.name).where(sql`${table.deletedAt} is null`),
    // A name has one holder, so the database decides between two processes that verify it for two accounts.
    uniqueIndex("domains_holder")
      .on(table.name)
      .where(sql`${table.deletedAt} is null and ${table.status} in ('verified', 'failing')`),
    index("domains_due").on(table.nextCheckAt).where(sql`${table.nextCheckAt} is not null`),
    check("domains_status", sql`${table.status} in ('pending', 'verified', 'failing', 'failed')`),
  ],
);

/** The DKIM keys of domains. A domain has one active key; during a rotation it also has the next one or the retiring one. */
export const domainKeys = pgTable(
  "domain_keys",
  {
    domainId: id().notNull(),
    selector: text().notNull(),
    state: text({ enum: ["active", "next", "retiring"] }).notNull(),
    /** PKCS #8 in base64, sealed if there is an ENCRYPTION_KEY. */
    privateKey: text().notNull(),
    /** The value of `p=` in the DNS record. */
    publicKey: text().notNull(),
    madeAt: instant().notNull(),
    /** How long a retiring key stays after the next one has replaced it. */
    retireDays: smallint().notNull(),
    retiresAt: instant(),
  },
  (table) => [
    primaryKey({ columns: [table.domainId, table.selector] }),
    uniqueIndex("domain_keys_state").on(table.domainId, table.state),
    check("domain_keys_state", sql`${table.state} in ('active', 'next', 'retiring')`),
  ],
);

/** The webhook endpoints of accounts. Each endpoint has its own subscription, secret and lane in the outbox. */
export const endpoints = pgTable(
  "endpoints",
  {
    id: id().primaryKey(),
    accountId: id()
      .notNull()
      .references(() => accounts.id),
    /** The endpoint of `/v1/webhook`: an account has at most one. */
    isDefault: boolean().notNull(),
    /** Null for a default endpoint that has a secret but no address yet. */
    url: text(),
    secret: text().notNull(),
    previousSecret: text(),
    previousSecretUntil: instant(),
    createdAt: instant().notNull(),
    disabledAt: instant(),
    disabledReason: text({ enum: ["gone", "failing", "manual"] }),
    /** The instant of the first failed attempt since the last 2xx answer. Written only when it changes. */
    failingSince: instant(),
    /** The instant of the first 2xx answer from this URL. Null until then, and again after a change of the URL. */
    answeredAt: instant(),
    description: text(),
    eventTypes: text().array().notNull(),
    /** The inboxes whose events the endpoint gets; null for all inboxes. */
    inboxIds: text().array(),
    /** The `externalId`s of the inboxes whose events the endpoint gets; null for all. */
    externalIds: text().array(),
    skipAutomated: boolean().notNull(),
    include: text().array().notNull(),
    /** The header fields that are sent with each delivery. Their values may be secrets. */
    headers: jsonb().$type<readonly CustomHeader[]>().notNull().default([]),
  },
  (table) => [
    index("endpoints_account").on(table.accountId),
    // Finds an endpoint by the lane of its deliveries (`endpointLane` in events/endpoints.ts).
    uniqueIndex("endpoints_lane").on(sql`(case when ${table.isDefault} then ${table.accountId} else ${table.id} end)`),
  ],
);

export const inboxes = pgTable(
  "inboxes",
  {
    id: id().primaryKey(),
    accountId: id().notNull(),
    username: text().notNull(),
    externalId: text(),
    createdAt: instant().notNull(),
    deletedAt: instant(),
    sendPolicy: text({ enum: sendPolicies }).notNull().default("open"),
    /** When a person rejected a mail of it last. Sends look for rejected mails only if it is recent. */
    rejectedAt: instant(),
    /** When the last rows of a deleted inbox are removed. Null until its mail is removed. */
    erasesAt: instant(),
    /**
     * The number of messages that came and went so far, which is also the `seq` of the last one. Numbers are given without gaps: a message
     * gets its number from a read of this row, and is inserted only if the row has not changed since.
     */
    messageCount: integer().notNull().default(0),
    inboundCount: integer().notNull().default(0),
    /** The number of messages that were removed, and how many of them were inbound. The others keep their numbers. */
    removedCount: integer().notNull().default(0),
    removedInboundCount: integer().notNull().default(0),
    /** The highest `seq` of a removed message: above it no number is missing. Also the number of inbound messages that came up to there. */
    lastRemovedSeq: integer().notNull().default(0),
    lastRemovedInboundSeq: integer().notNull().default(0),
    threadCount: integer().notNull().default(0),
    unreadCount: integer().notNull().default(0),
    /** The numbers of threads in these folders. The other threads are in the folder `inbox`. */
    archiveCount: integer().notNull().default(0),
    trashCount: integer().notNull().default(0),
    lastMessageAt: instant(),
    lastMessageId: id(),
    sentOn: date({ mode: "string" }),
    sentCount: integer().notNull().default(0),
    /** The own or shared domain of the address; null for MAIL_DOMAIN. */
    domainId: id(),
    /** The days after which mail is removed; null for those of the account. */
    retentionDays: integer(),
    /** The words of its mail that are indexed, if these are fewer than those of the account; null for those of the account. */
    searchWords: text({ enum: searchWords }),
    /** The name beside the address in sent mail; null for none. */
    displayName: text(),
    /** The usernames of its aliases, each of which has a row in `addresses`. They are at the domain of the address. */
    aliases: text().array().notNull().default([]),
    /** Strings of the owner, by name. They are never in a mail. */
    metadata: jsonb().$type<Readonly<Record<string, string>>>().notNull().default({}),
    /** The people who approve its mail, each by an address; null for those of the service. */
    approvers: text().array(),
    /** Whether the owner has disabled it: it takes and sends no mail. Mail that was accepted before still comes and goes. */
    disabled: boolean().notNull().default(false),
    /** When it is deleted; null for never. */
    expiresAt: instant(),
    /** When a field that the owner sets was last changed. Null until then. */
    updatedAt: instant(),
    /** The sum of `size_bytes` of the messages. */
    storageBytes: bigint({ mode: "number" }).notNull().default(0),
    /** Counts the writes of this row: every statement that updates it raises the revision. */
    revision: bigint({ mode: "number" }).notNull().default(0),
  },
  (table) => [
    index("inboxes_account").on(table.accountId, table.id).where(sql`${table.deletedAt} is null`),
    index("inboxes_external_id")
      .on(table.accountId, table.externalId, table.id)
      .where(sql`${table.deletedAt} is null and ${table.externalId} is not null`),
    index("inboxes_deleted").on(table.erasesAt, table.id).where(sql`${table.deletedAt} is not null`),
    index("inboxes_expires_at")
      .on(table.expiresAt)
      .where(sql`${table.expiresAt} is not null and ${table.deletedAt} is null`),
    index("inboxes_domain").on(table.domainId).where(sql`${table.domainId} is not null and ${table.deletedAt} is null`),
    check("inboxes_search_words", sql`${table.searchWords} in ('all', 'head', 'off')`),
  ],
);

/**
 * The inbox of each address and alias: the local part at MAIL_DOMAIN, or the whole address at another domain. If the inbox or the alias is
 * deleted, the row stays while the address is reserved.
 */
export const addresses = pgTable(
  "addresses",
  {
    username: text().primaryKey(),
    inboxId: id().notNull(),
    /** When others may take the address. Null until the inbox or the alias is deleted. */
    heldUntil: instant(),
  },
  (table) => [index("addresses_held").on(table.heldUntil).where(sql`${table.heldUntil} is not null`)],
);

export const threads = pgTable(
  "threads",
  {
    id: id().primaryKey(),
    inboxId: id().notNull(),
    subject: text().notNull(),
    isRead: boolean().notNull(),
    messageCount: integer().notNull(),
    createdAt: instant().notNull(),
    lastMessageAt: instant().notNull(),
    lastMessageId: id().notNull(),
    /** The number of the last message. In an inbox, the order by number is the order by time. */
    lastSeq: integer().notNull(),
    /** The number of the last inbound message, 0 for none. It shows whether mail arrived after the message that a client marks as read. */
    lastInboundSeq: integer().notNull(),
    people: jsonb().$type<Person[]>().notNull(),
    preview: text().notNull(),
    hasAttachments: boolean().notNull(),
    folder: text({ enum: folders }).notNull().default("inbox"),
    labels: text().array().notNull().default([]),
    /** The caller's metadata; null for none. */
    metadata: jsonb().$type<Metadata>(),
    /** When the thread was put into the folder `trash`; null in any other folder. */
    trashedAt: instant(),
  },
  (table) => [
    // Each list is one range of this index or a merge of some, so that a folder costs the same among any number of threads in others.
    index("threads_inbox").on(table.inboxId, table.folder, table.isRead, table.lastSeq),
    index("threads_trashed").on(table.trashedAt).where(sql`${table.trashedAt} is not null`),
    check("threads_folder", sql`${table.folder} in ('inbox', 'archive', 'trash')`),
    check("threads_unread", sql`${table.isRead} or ${table.folder} = 'inbox'`),
    check("threads_trashed_at", sql`(${table.folder} = 'trash') = (${table.trashedAt} is not null)`),
  ],
);

/**
 * The numbers of threads whose last message is in a block of numbers (`threadBlock`), by the lists that show them. A block without a row is
 * not counted yet.
 */
export const threadBlocks = pgTable(
  "thread_blocks",
  {
    inboxId: id().notNull(),
    block: integer().notNull(),
    unread: integer().notNull(),
    read: integer().notNull(),
    archived: integer().notNull(),
    trashed: integer().notNull(),
  },
  (table) => [primaryKey({ columns: [table.inboxId, table.block] })],
);

/** The labels of threads, a row for each label of a thread that is not in the trash. A row changes with its thread. */
export const threadLabels = pgTable(
  "thread_labels",
  {
    threadId: id().notNull(),
    label: label().notNull(),
    inboxId: id().notNull(),
    isRead: boolean().notNull(),
    lastSeq: integer().notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.threadId, table.label] }),
    index("thread_labels_inbox").on(table.inboxId, table.label, table.isRead, table.lastSeq, table.threadId),
  ],
);

/** The labels of each inbox, with the number of their threads outside the trash. A label without such a thread has no row. */
export const labelCounts = pgTable(
  "label_counts",
  {
    inboxId: id().notNull(),
    label: label().notNull(),
    threadCount: integer().notNull(),
    unreadCount: integer().notNull(),
  },
  (table) => [primaryKey({ columns: [table.inboxId, table.label] })],
);

/**
 * The key by which the messages with a Message-ID are found in an inbox: a hash of 64 bits of both, so its index has half the size of one
 * of both columns. No other index fits it. If the inbox is a condition, other indexes fit too, and in the plan for an empty table or
 * partition they are as good as this one.
 */
export function messageKey(inboxId: PgColumn | SQL, messageIdHash: PgColumn | SQL): SQL {
  return sql`uuid_hash_extended(${messageIdHash}, hashtextextended(${inboxId}, 0))`;
}

export const messages = pgTable(
  "messages",
  {
    id: id().primaryKey(),
    inboxId: id().notNull(),
    threadId: id().notNull(),
    seq: integer().notNull(),
    direction: text({ enum: ["inbound", "outbound"] }).notNull(),
    /** The number of the message among those of its inbox and direction. It is given without gaps, so an index finds a page at any offset. */
    directionSeq: integer().notNull(),
    status: text({ enum: ["received", "pending", "sent", "failed"] }).notNull(),
    createdAt: instant().notNull(),
    /** The Message-ID without brackets, as its sender wrote it. It may be too long for an index: look-ups use the hash. */
    rfcMessageId: text().notNull(),
    messageIdHash: uuid().notNull(),
    /**
     * The hash of the raw source: a mail with the same Message-ID but other content is another message. Null for messages that never count
     * as copies: our own, and mail without Message-ID and Date.
     */
    contentHash: uuid(),
    fromAddr: text().notNull(),
    fromName: text(),
    toAddr: text().notNull(),
    cc: text().array().notNull(),
    replyTo: text(),
    /** Inbound only: all addresses of the Reply-To field, if it has several. */
    replyTos: text().array(),
    subject: text().notNull(),
    bodyText: text().notNull(),
    bodyHtml: text(),
    attachmentCount: integer().notNull(),
    /** The stored bytes of the raw source and the attachments. The messages of one mail in several inboxes share them. */
    sourceId: id(),
    /** The bytes that the message counts for usage and quotas: inbound the raw source, outbound the bodies and the attachments. */
    sizeBytes: integer().notNull(),
    /** The Message-ID of the message that this one answers. Outbound: the mail's In-Reply-To. Inbound: the parent that the mail names. */
    inReplyTo: text(),
    /** Outbound: the mail's References. Inbound: the Message-IDs that the first mail of a thread names. */
    referenceIds: text().array(),
    providerMessageId: text(),
    failure: jsonb().$type<StoredFailure>(),
    /** Inbound only: the sender address of the SMTP transaction (MAIL FROM), "" for a bounce. */
    envelopeFrom: text(),
    /** Whether parts of the mail were not parsed; the raw source is complete. */
    truncated: boolean().notNull().default(false),
    /** Inbound only: the signs that a program wrote the mail; null if there are none. */
    automated: jsonb().$type<Automated>(),
    /** Outbound only: the value of Auto-Submitted. */
    autoSubmitted: text({ enum: autoSubmittedValues }),
    /** The addresses of the To field. */
    toAddrs: text().array().notNull(),
    /** Outbound only: the caller's metadata, which is not part of the mail. */
    metadata: jsonb().$type<Record<string, string>>(),
    /** Outbound only: the caller's own header fields, in order. */
    headers: jsonb().$type<CustomHeader[]>(),
    /** Outbound only: the message that this one forwards. */
    forwardOf: id(),
    /** Outbound only: the worst report about its recipients; null without reports. */
    delivery: jsonb().$type<Delivery>(),
    /** Outbound only: the key with which it was sent, or with a token of it. A key with access `send` cancels only this mail. */
    sentBy: id(),
    /** Outbound only: how often it was put into the outbox again after it had failed. */
    retries: smallint().notNull().default(0),
    /** Inbound only: the sender authentication; null if the sender was not checked. */
    authentication: jsonb().$type<Authentication>(),
    /** Inbound only: the opinion of the operator's spam filter; null without one. */
    spam: jsonb().$type<Spam>(),
  },
  (table) => [
    index("messages_inbox_seq").on(table.inboxId, table.seq),
    index("messages_direction_seq").on(table.inboxId, table.direction, table.directionSeq),
    index("messages_thread_seq").on(table.threadId, table.seq),
    index("messages_attached").on(table.inboxId, table.seq, table.direction).where(sql`${table.attachmentCount} > 0`),
    index("messages_message_id").on(messageKey(table.inboxId, table.messageIdHash), table.contentHash),
    index("messages_sent_at").on(table.inboxId, table.createdAt).where(sql`${table.direction} = 'outbound'`),
    check("messages_direction", sql`${table.direction} in ('inbound', 'outbound')`),
    check("messages_status", sql`${table.status} in ('received', 'pending', 'sent', 'failed')`),
  ],
);

/** The recipients of outbound messages, each with the status of their copy. */
export const recipients = pgTable(
  "recipients",
  {
    messageId: id().notNull(),
    position: smallint().notNull(),
    address: text().notNull(),
    name: text(),
    type: text({ enum: ["to", "cc", "bcc"] }).notNull(),
    /** Names the outbox row that delivers to this recipient. The id of that row is `<message>` for 0, else `<message>.<number>`. */
    destination: smallint().notNull(),
    status: text({ enum: ["pending", "sent", "failed"] }).notNull(),
    providerMessageId: text(),
    failure: jsonb().$type<StoredFailure>(),
    delivery: jsonb().$type<Delivery>(),
    /** The last attempts to send to this recipient, the oldest first. Null before the first one. */
    attempts: jsonb().$type<RecipientAttempt[]>(),
  },
  (table) => [primaryKey({ columns: [table.messageId, table.position] })],
);

/**
 * Messages that are not sent yet, and what became of them. A draft has the id of its message for life: the message gets its row when the
 * draft is dispatched. Its attachments have rows in `attachments` from the start. Every change of a draft raises the revision of its inbox.
 */
export const drafts = pgTable(
  "drafts",
  {
    id: id().primaryKey(),
    accountId: id().notNull(),
    inboxId: id().notNull(),
    /** The thread of the answered message, or the id that the new thread will have. */
    threadId: id().notNull(),
    /** The message that a reply answers. It is fixed when the draft is written, so that later mail does not change what is sent. */
    answeredId: id(),
    /** The Message-ID that its mail will have, without brackets. */
    rfcMessageId: text().notNull(),
    state: text({ enum: draftStates }).notNull(),
    /** Counts the changes of the content by callers, from 1. */
    version: integer().notNull(),
    /** The mail, without its attachments. Null once the content of a final draft is removed. */
    content: jsonb().$type<DraftContent>(),
    /** When it is to be sent; null for a draft without a time. */
    sendAt: instant(),
    /**
     * When the clock takes its next step: the dispatch of a scheduled one is tried, at `sendAt` or later if a limit delays it; one that waits
     * for a person expires. Null for all others.
     */
    dueAt: instant(),
    /** The end of the lease of the process that dispatches it. Other drafts of its inbox are not claimed until then, to keep their order. */
    leasedUntil: instant(),
    /** When its sending was accepted; null for a draft that nobody has sent. */
    acceptedAt: instant(),
    /** The number of the last inbound message of the thread when its sending was accepted, by which `unlessReplied` sees later mail. */
    acceptedInboundSeq: integer(),
    /** Whether accepting it marked its thread as read. If it ends unsent, the thread becomes unread again. */
    madeRead: boolean().notNull().default(false),
    /** The key with which it was made, or with a token of it. */
    requestedBy: id().notNull(),
    /** The request for the approval of a person, with the decision. Null if none was asked for. */
    approval: jsonb().$type<Approval>(),
    /** The fingerprint of a mail that a person was asked about. While the rejection is new, the same mail is refused. */
    fingerprint: text(),
    /** Why it was not sent. */
    failure: jsonb().$type<StoredFailure>(),
    createdAt: instant().notNull(),
    updatedAt: instant().notNull(),
    /** The last version about which the approvers get letters; 0 for none. */
    letteredVersion: integer().notNull().default(0),
  },
  (table) => [
    index("drafts_inbox").on(table.inboxId, table.state, table.id),
    index("drafts_account").on(table.accountId, table.state, table.id),
    // Finds the open drafts of a thread, and, if it is removed, all that have no message.
    index("drafts_thread").on(table.threadId).where(sql`${table.state} <> 'sent'`),
    index("drafts_due").on(table.dueAt).where(sql`${table.dueAt} is not null`),
    // A rejected draft was changed last when it was rejected.
    index("drafts_rejected").on(table.inboxId, table.updatedAt).where(sql`${table.state} = 'rejected'`),
    index("drafts_content").on(table.updatedAt).where(sql`${table.content} is not null`),
    index("drafts_unlettered")
      .on(table.id)
      .where(sql`${table.state} = 'awaiting_approval' and ${table.letteredVersion} < ${table.version}`),
    index("drafts_leased").on(table.inboxId).where(sql`${table.leasedUntil} is not null`),
    check("drafts_state", sql.raw(`state in (${draftStates.map((state) => `'${state}'`).join(", ")})`)),
  ],
);

/**
 * Letters to approvers about mail that waits for them. A letter has no text, which is made from the drafts at each attempt: so no mail and no
 * link is stored twice. An outbox row of kind `relay` has its id.
 */
export const letters = pgTable(
  "letters",
  {
    id: id().primaryKey(),
    address: text().notNull(),
    /** The drafts that it is about, in the order in which they began to wait. */
    draftIds: text().array().notNull(),
    createdAt: instant().notNull(),
    /** When the first attempt began. Until then, further drafts are added. */
    takenAt: instant(),
  },
  (table) => [
    uniqueIndex("letters_open").on(sql`lower(${table.address} collate "C")`).where(sql`${table.takenAt} is null`),
    index("letters_taken").on(table.takenAt).where(sql`${table.takenAt} is not null`),
  ],
);

/**
 * Files that are uploaded before the mail that attaches them. The bytes are part 0 of a source. The row stays after its bytes are deleted,
 * so that a repeated request that names the upload is recognised.
 */
export const uploads = pgTable(
  "uploads",
  {
    id: id().primaryKey(),
    accountId: id().notNull(),
    /** The caller that made it: its key, and the reach of a token. Empty for files that a send wrote. */
    madeBy: text().notNull(),
    sourceId: id().notNull(),
    filename: text().notNull(),
    contentType: text().notNull(),
    /** The size that counts against the account's limit: the declared length until the upload is complete. */
    sizeBytes: bigint({ mode: "number" }).notNull(),
    /** SHA-256 in hex; null until the upload is complete. */
    digest: text(),
    createdAt: instant().notNull(),
    /** Null until the upload is complete. An incomplete upload cannot be used, and is deleted after a while. */
    completedAt: instant(),
    expiresAt: instant().notNull(),
  },
  (table) => [
    index("uploads_account").on(table.accountId, table.expiresAt),
    index("uploads_expires").on(table.expiresAt),
  ],
);

/** Reports about messages that we sent. */
export const reports = pgTable(
  "reports",
  {
    id: id().primaryKey(),
    accountId: id().notNull(),
    inboxId: id().notNull(),
    messageId: id().notNull(),
    /** "" for a report about the whole message. It is not null, because a unique key does not compare nulls as equal. */
    recipient: text().notNull(),
    kind: text({ enum: reportKinds }).notNull(),
    type: text({ enum: bounceTypes }),
    code: smallint(),
    enhancedCode: text(),
    diagnostic: text(),
    reportedRecipient: text(),
    remoteMta: text(),
    reportingMta: text(),
    source: text({ enum: reportSources }).notNull(),
    proof: text({ enum: reportProofs }).notNull(),
    suppressed: boolean().notNull().default(false),
    /** The raw report, which is deleted with its message. */
    sourceId: id(),
    receivedAt: instant().notNull(),
  },
  (table) => [uniqueIndex("reports_message").on(table.messageId, table.recipient, table.kind)],
);

/** Addresses to which no mail is sent, for an inbox or for a whole account. */
export const suppressions = pgTable(
  "suppressions",
  {
    id: id().primaryKey(),
    accountId: id().notNull(),
    /** Lower case, with A-labels. */
    address: text().notNull(),
    /** "" for the whole account. It is not null, because a unique key does not compare nulls as equal. */
    inboxId: id().notNull(),
    reason: text({ enum: ["bounce", "complaint", "unsubscribe", "manual"] }).notNull(),
    detail: text(),
    messageId: id(),
    createdAt: instant().notNull(),
    expiresAt: instant(),
  },
  (table) => [
    uniqueIndex("suppressions_address").on(table.accountId, table.address, table.inboxId),
    index("suppressions_account").on(table.accountId, table.id),
    index("suppressions_expires").on(table.expiresAt).where(sql`${table.expiresAt} is not null`),
  ],
);

/**
 * Addresses and domains whose mail is allowed or blocked, for an inbox, for a tenant (the inboxes with one `externalId`) or for a whole
 * account.
 */
export const rules = pgTable(
  "rules",
  {
    id: id().primaryKey(),
    accountId: id().notNull(),
    /** "" for no single inbox. It is not null, because a unique key does not compare nulls as equal. */
    inboxId: id().notNull(),
    /** "" for no single tenant. A rule has at most one of `inboxId` and `externalId`. */
    externalId: text().notNull(),
    direction: text({ enum: ruleDirections }).notNull(),
    action: text({ enum: ruleActions }).notNull(),
    /** An address, a domain, or `*.` and a domain for its subdomains. Lower case, with A-labels. */
    pattern: text().notNull(),
    /** Only an inbound `allow`: whether it also holds for mail whose sender is not proven. */
    evenUnauthenticated: boolean().notNull().default(false),
    note: text(),
    createdAt: instant().notNull(),
  },
  (table) => [
    uniqueIndex("rules_pattern").on(
      table.accountId,
      table.inboxId,
      table.externalId,
      table.direction,
      table.action,
      table.pattern,
    ),
    index("rules_account").on(table.accountId, table.id),
  ],
);

/** The policies for mail that no rule decides: of an account, of a tenant or of an inbox. The nearest counts. */
export const policies = pgTable(
  "policies",
  {
    accountId: id().notNull(),
    /** "" for no single inbox, as in `rules`. */
    inboxId: id().notNull(),
    /** "" for no single tenant, as in `rules`. */
    externalId: text().notNull(),
    /** The policy for inbound mail; null if only `sendPolicy` is set, so that the account's policy counts. */
    inbound: jsonb().$type<InboundPolicy>(),
    /** Only of a tenant: the policy for what its inboxes send. */
    sendPolicy: text({ enum: sendPolicies }).notNull().default("open"),
  },
  (table) => [primaryKey({ columns: [table.accountId, table.inboxId, table.externalId] })],
);

/** Inbound mail that was blocked. It is no message until it is released. */
export const quarantine = pgTable(
  "quarantine",
  {
    id: id().primaryKey(),
    accountId: id().notNull(),
    inboxId: id().notNull(),
    reason: text({ enum: quarantineReasons }).notNull(),
    ruleId: id(),
    messageIdHash: uuid().notNull(),
    contentHash: uuid(),
    /** The stored bytes of the mail, which it shares with the messages of the same mail in other inboxes. */
    sourceId: id().notNull(),
    /** The sender address of the SMTP transaction. */
    envelopeFrom: text().notNull(),
    client: jsonb().$type<MailClient>(),
    toAddr: text().notNull(),
    fromAddr: text().notNull(),
    fromName: text(),
    subject: text().notNull(),
    preview: text().notNull(),
    sizeBytes: integer().notNull(),
    authentication: jsonb().$type<Authentication>(),
    spam: jsonb().$type<Spam>(),
    receivedAt: instant().notNull(),
    expiresAt: instant().notNull(),
    /** The message that it became when it was released. */
    messageId: id(),
    threadId: id(),
  },
  (table) => [
    index("quarantine_account").on(table.accountId, table.id),
    index("quarantine_inbox").on(table.inboxId, table.id),
    index("quarantine_copies").on(table.inboxId, table.messageIdHash, table.contentHash),
    index("quarantine_expires").on(table.expiresAt),
    // Finds the quarantined mail that became a message, with which it is removed.
    index("quarantine_message").on(table.messageId).where(sql`${table.messageId} is not null`),
  ],
);

/** Other names of messages that we sent: the Message-IDs that a relay gave them, and the ids by which the relay itself knows them. */
export const messageNames = pgTable(
  "message_names",
  {
    nameHash: uuid().notNull(),
    messageId: id().notNull(),
    inboxId: id().notNull(),
    threadId: id().notNull(),
    /** Without angle brackets. */
    name: text().notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.nameHash, table.messageId] }),
    index("message_names_message").on(table.messageId),
  ],
);

/**
 * The search index. It is filled in the background in the order of `seq`, so an inbox is indexed up to its highest `seq` in this table.
 * `words` also has lexemes for the inbox, the account and blocks of both, so that a look-up finds only mail of one of them (domain/search.ts).
 */
export const messageSearch = pgTable(
  "message_search",
  {
    inboxId: id().notNull(),
    seq: integer().notNull(),
    messageId: id().notNull(),
    threadId: id().notNull(),
    /** The instant of the message, by which the matches of several inboxes are sorted. */
    atMs: bigint({ mode: "number" }).notNull(),
    /** Which words of the message `words` has. A later change of the setting does not change it. */
    indexed: text({ enum: searchWords }).notNull(),
    words: searchVector().notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.inboxId, table.seq] }),
    index("message_search_words").using("gin", table.words),
    // Tells whether an inbox has messages that are not indexed whole. While SEARCH_WORDS is `all` it has hardly a row.
    index("message_search_indexed").on(table.inboxId, table.indexed).where(sql`${table.indexed} <> 'all'`),
  ],
);

/** The parts of the search index, each with the inboxes of some hashes, the lease of the process that fills it, and its progress. */
export const searchIndexing = pgTable("search_indexing", {
  /** The number of the part. */
  id: smallint().primaryKey(),
  holder: text().notNull(),
  leasedUntil: instant().notNull(),
  /** The id up to which all messages were looked at. It is so old that a message with a lower id is unlikely to be committed later. */
  seenId: id().notNull(),
});

/** The processes that fill the search index. Their number decides how many parts each of them takes. */
export const searchIndexers = pgTable("search_indexers", {
  holder: text().primaryKey(),
  leasedUntil: instant().notNull(),
});

/**
 * Message-IDs that a received mail named and that its inbox does not know. A later mail that has or names one of them joins the first
 * thread that waits for it.
 */
export const awaitedParents = pgTable(
  "awaited_parents",
  {
    inboxId: id().notNull(),
    messageIdHash: uuid().notNull(),
    threadId: id().notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.inboxId, table.messageIdHash] }),
    index("awaited_parents_thread").on(table.threadId),
  ],
);

/**
 * The Message-IDs of messages that were removed on request. They are kept for 30 days: a copy of such a mail, which its sender repeats, is
 * not stored again, and no thread waits for such a message.
 */
export const removedMessages = pgTable(
  "removed_messages",
  {
    inboxId: id().notNull(),
    messageIdHash: uuid().notNull(),
    messageId: id().notNull(),
    /** As in `messages`. */
    contentHash: uuid(),
    removedAt: instant().notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.inboxId, table.messageIdHash, table.messageId] }),
    index("removed_messages_removed_at").on(table.removedAt),
  ],
);

/** Removed threads that still have messages. A worker removes these in steps. The threads have no row in `threads` any more. */
export const removedThreads = pgTable("removed_threads", {
  threadId: id().primaryKey(),
  inboxId: id().notNull(),
  removedAt: instant().notNull(),
});

export const attachments = pgTable(
  "attachments",
  {
    messageId: id().notNull(),
    filename: text().notNull(),
    id: id().notNull(),
    position: smallint().notNull(),
    contentType: text().notNull(),
    sizeBytes: integer().notNull(),
    contentId: text(),
    inline: boolean().notNull(),
    sourceId: id().notNull(),
    /** The part of the source with the bytes; part 0 is the raw mail. */
    part: smallint().notNull(),
    /** SHA-256 in hex, which is also the ETag. */
    digest: text().notNull(),
  },
  (table) => [primaryKey({ columns: [table.messageId, table.filename] })],
);

/**
 * The bytes of raw mail and attachments, in chunks that can be streamed. They are not in `messages`, so that lists do not read them. With
 * BLOBS, older chunks have their bytes in a segment in the object store, sealed with a key of their own. Deleting the row deletes this key.
 */
export const sourceChunks = pgTable(
  "source_chunks",
  {
    sourceId: id().notNull(),
    part: smallint().notNull(),
    seq: integer().notNull(),
    compressed: boolean().notNull(),
    /** Null if the bytes are in a segment. */
    bytes: bytes(),
    /** The number of messages, drafts and uploads that use this source. Only the first chunk of part 0 has it; all others have null. */
    shares: integer(),
    segmentId: id(),
    /** The offset in the segment, and the number of bytes there. */
    segmentAt: integer(),
    sealedBytes: integer(),
    sealKey: bytes(),
  },
  (table) => [
    primaryKey({ columns: [table.sourceId, table.part, table.seq] }),
    index("source_chunks_segment").on(table.segmentId).where(sql`segment_id is not null`),
  ],
);

/** The objects with chunks of sources in the object store. The row is written before the object, so that no object is unknown. */
export const segments = pgTable(
  "segments",
  {
    id: id().primaryKey(),
    sizeBytes: integer().notNull(),
    /** When its chunks were last counted; at first, when the row was written. */
    lookedAt: instant().notNull(),
    /** When it was found without chunks. Its object is removed a day later. */
    deadAt: instant(),
  },
  (table) => [index("segments_looked").on(table.lookedAt)],
);

/** The lease of the process that packs sources into segments, and its progress. The table has one row. */
export const packing = pgTable("packing", {
  id: smallint().primaryKey(),
  holder: text().notNull(),
  leasedUntil: instant().notNull(),
  /** The id up to which sources are packed. */
  seenId: id().notNull(),
});

/** Mail that was acknowledged but is not parsed yet, and that the API does not show. An outbox row of kind `parse` has its `sourceId`. */
export const unparsedMails = pgTable(
  "unparsed_mails",
  {
    sourceId: id().primaryKey(),
    receivedAt: instant().notNull(),
    envelopeFrom: text().notNull(),
    recipients: jsonb().$type<FoundRecipient[]>().notNull(),
    /** Null for mail that the service sent to itself. */
    client: jsonb().$type<MailClient>(),
    sizeBytes: integer().notNull(),
    /** As in `messages`. */
    contentHash: uuid(),
  },
  (table) => [index("unparsed_mails_content").on(table.contentHash)],
);

/**
 * The addresses that are known to an inbox: the sender of their mail was proven, or it was not checked and the mail named the Message-ID of
 * a mail that we sent to them. Mail to them is not cold.
 */
export const correspondents = pgTable(
  "correspondents",
  {
    inboxId: id().notNull(),
    address: text().notNull(),
    /** The time of the first mail, if its sender was proven; null for an answer whose sender was not checked. */
    verifiedAt: instant(),
  },
  (table) => [primaryKey({ columns: [table.inboxId, table.address] })],
);

/** The addresses to which an approved mail of an inbox was sent. They are known to `sendPolicy`. Mail to them is no less cold. */
export const approvedRecipients = pgTable(
  "approved_recipients",
  { inboxId: id().notNull(), address: text().notNull() },
  (table) => [primaryKey({ columns: [table.inboxId, table.address] })],
);

/**
 * The usage of each account on each day: the mail of each inbox by the day of its messages, and each inbox on the day of its creation. Days
 * that are more than 62 days old are added up to one row, with "" as inbox.
 */
export const usageDays = pgTable(
  "usage_days",
  {
    accountId: id().notNull(),
    day: date({ mode: "string" }).notNull(),
    inboxId: id().notNull(),
    received: integer().notNull().default(0),
    receivedBytes: bigint({ mode: "number" }).notNull().default(0),
    sent: integer().notNull().default(0),
    sentBytes: bigint({ mode: "number" }).notNull().default(0),
    inboxesCreated: integer().notNull().default(0),
  },
  (table) => [
    primaryKey({ columns: [table.accountId, table.day, table.inboxId] }),
    // Finds the rows of old days that are still by inbox.
    index("usage_days_by_inbox").on(table.day).where(sql`${table.inboxId} <> ''`),
  ],
);

/**
 * The progress of counting in each inbox. The messages of an inbox have numbers without gaps, which are committed in order: so a message
 * cannot be counted twice, and none is left out, however late it is committed.
 */
export const countedInboxes = pgTable("counted_inboxes", {
  inboxId: id().primaryKey(),
  /** The number of the last counted message. */
  seq: integer().notNull(),
  /** The bytes of the inbox that are part of the account's `storage_bytes`. */
  storageBytes: bigint({ mode: "number" }).notNull(),
  /** The revision of the inbox that was counted: with the same revision there is nothing new. */
  revision: bigint({ mode: "number" }).notNull(),
});

/** The lease of the process that counts usage, and its progress. The table has one row. */
export const usageCounting = pgTable("usage_counting", {
  id: smallint().primaryKey(),
  holder: text().notNull(),
  leasedUntil: instant().notNull(),
  /** The ids up to which messages and inboxes were looked at. They are so old that one with a lower id is unlikely to be committed later. */
  seenMessageId: id().notNull(),
  seenInboxId: id().notNull(),
  /** The id up to which the pass over all inboxes has come. It finds what was committed too late for the ids above. */
  passedInboxId: id().notNull(),
  countedUntil: instant(),
});

/** The recent requests of an account for an action with a rate limit, the oldest first. */
export const recentRequests = pgTable(
  "recent_requests",
  {
    accountId: id().notNull(),
    action: text({ enum: ["redeliver", "test_webhook", "recover", "create_webhook"] }).notNull(),
    askedAt: instant().array().notNull(),
  },
  (table) => [primaryKey({ columns: [table.accountId, table.action] })],
);

/** Used tokens that may be used only once: sign-in links, and notices of a relay. A row is kept until its token expires. */
export const usedTokens = pgTable(
  "used_tokens",
  {
    /** Begins with the token's purpose, as in `sign_in:…`. */
    token: text().primaryKey(),
    /** A digest of the request, by which a repeated request is recognised; empty if no repeat is allowed. */
    usedFor: text().notNull(),
    validUntil: instant().notNull(),
  },
  (table) => [index("used_tokens_valid_until").on(table.validUntil)],
);

export const coldSends = pgTable(
  "cold_sends",
  {
    inboxId: id().notNull(),
    recipient: text().notNull(),
    sentOn: date({ mode: "string" }).notNull(),
    count: integer().notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.inboxId, table.recipient, table.sentOn] }),
    index("cold_sends_day").on(table.sentOn),
  ],
);

export const idempotencyKeys = pgTable(
  "idempotency_keys",
  {
    accountId: id().notNull(),
    operation: text({ enum: keyedOperations }).notNull(),
    key: text().notNull(),
    fingerprint: text().notNull(),
    /** The id of the inbox, message, draft or endpoint that the first request with this key made. */
    subjectId: id().notNull(),
    createdAt: instant().notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.accountId, table.operation, table.key] }),
    index("idempotency_keys_created").on(table.createdAt),
  ],
);

export const events = pgTable(
  "events",
  {
    id: id().primaryKey(),
    accountId: id().notNull(),
    /** Null for an event without an inbox. */
    inboxId: id(),
    threadId: id(),
    /** Null for an event that is not about a message. */
    messageId: id(),
    type: text({ enum: eventTypes }).notNull(),
    occurredAt: instant().notNull(),
    /** The content of the event that is kept here, because the rows that have it may change or be deleted later. */
    data: jsonb().$type<EventData[EventType]>(),
    /**
     * The position in the log: the id of the transaction that wrote the row, or of the last transaction that had ended by then if that is
     * higher. A reader takes rows in the order of this column, and only those before the oldest transaction that still runs. So it cannot
     * miss a row that commits late. After a move to another cluster the positions are shifted (event-log.ts).
     */
    writtenBy: transactionId().notNull().default(sql`event_log_position()`),
  },
  (table) => [
    index("events_account").on(table.accountId, table.writtenBy, table.id),
    index("events_inbox").on(table.inboxId, table.writtenBy, table.id),
    index("events_occurred").on(table.occurredAt),
    // Finds the events to remove with a message. The one of a received message is found by its id, so receiving pays nothing for this.
    index("events_message")
      .on(table.messageId)
      .where(sql`${table.type} <> 'message.received' and ${table.messageId} is not null`),
  ],
);

/** The attempts to deliver events. */
export const deliveries = pgTable(
  "deliveries",
  {
    eventId: id().notNull(),
    /** The endpoint's lane in the outbox. */
    lane: id().notNull(),
    attempt: integer().notNull(),
    attemptedAt: instant().notNull(),
    status: smallint(),
    /** The duration of the attempt. Null if the process died before it could write down the result. */
    latencyMs: integer(),
    error: text(),
    response: text(),
  },
  (table) => [
    primaryKey({ columns: [table.eventId, table.lane, table.attempt] }),
    // Finds the last attempt to deliver to an endpoint.
    index("deliveries_lane").on(table.lane, table.attemptedAt),
  ],
);

/**
 * Work to do: mail to parse, mail to relay, and events to deliver. A row is inserted in the transaction that causes the work. A claim
 * counts the attempt and leases the row until `dueAt`. A finished row is deleted.
 */
export const outbox = pgTable(
  "outbox",
  {
    /**
     * The id of the source to parse, of the letter or the message to relay (`<message>.<n>` for its second and further destinations), or of
     * the delivery: the event's id for the default endpoint, and `<event>.<endpoint>` for any other.
     */
    subjectId: id().primaryKey(),
    kind: text({ enum: ["relay", "webhook", "parse"] }).notNull(),
    accountId: id().notNull(),
    /** The account's id for an event without an inbox. */
    inboxId: id().notNull(),
    /**
     * The queue of the row, so that a destination that is down does not delay others: by recipient's domain, by sender's network, or by
     * endpoint. An endpoint's lane is its id. The default endpoint's lane is the account's id, so that a later default endpoint takes over
     * its deliveries.
     */
    lane: id().notNull(),
    /**
     * `ready`: in line, in the order of `createdAt` in its inbox. `running`: claimed, and ready again at `dueAt` if the claimer has died.
     * `waiting`: not before `dueAt`.
     */
    state: text({ enum: ["ready", "running", "waiting"] })
      .notNull()
      .default("ready"),
    dueAt: instant().notNull(),
    attempt: integer().notNull().default(0),
    /** The number of attempts that do not count against the schedule of retries, such as those before a redelivery. */
    forgivenAttempts: integer().notNull().default(0),
    createdAt: instant().notNull(),
    /** The number of the process that claimed the row last, and when it did so by the clock of the database. */
    claimedBy: integer(),
    claimedAt: instant(),
    /** The event to deliver; null for mail. */
    eventId: id(),
    /** Whether an attempt ended without an answer after the content was sent, so that the mail may have been delivered. */
    unsure: boolean().notNull().default(false),
    /** The error of the last attempt to send or parse mail, as one clean line. The errors of deliveries are in their log. */
    lastError: text(),
  },
  (table) => [
    index("outbox_line")
      .on(table.kind, table.lane, table.accountId, table.inboxId, table.createdAt, table.subjectId)
      .where(sql`${table.state} = 'ready'`),
    index("outbox_due").on(table.kind, table.dueAt).where(sql`${table.state} <> 'ready'`),
    index("outbox_waiting").on(table.kind, table.lane, table.createdAt).where(sql`${table.state} = 'waiting'`),
    index("outbox_running").on(table.inboxId, table.lane).where(sql`${table.state} = 'running'`),
    check("outbox_kind", sql`${table.kind} in ('relay', 'webhook', 'parse')`),
    check("outbox_state", sql`${table.state} in ('ready', 'running', 'waiting')`),
  ],
);
