import { sql } from "drizzle-orm";
import {
  bigint,
  boolean,
  check,
  customType,
  date,
  index,
  integer,
  jsonb,
  pgTable,
  primaryKey,
  smallint,
  text,
  timestamp,
  uniqueIndex,
  uuid,
} from "drizzle-orm/pg-core";
import { type Automated, autoSubmittedValues } from "../domain/automated.ts";
import { type EventData, type EventType, eventTypes } from "../domain/events/event-types.ts";
import type { CustomHeader } from "../domain/message.ts";
import type { StoredFailure } from "../domain/outcome.ts";
import type { FoundRecipient, MailClient } from "../domain/receive/inbound-mail.ts";
import { type Delivery, reportProofs, reportSources } from "../domain/reports/delivery.ts";
import { bounceTypes, reportKinds } from "../domain/reports/report.ts";

/**
 * Ids compare by their bytes, whatever the database's language: their text order is their time order,
 * and memcmp is several times cheaper than a collation.
 */
const id = customType<{ data: string }>({ dataType: () => 'text collate "C"' });
const bytes = customType<{ data: Uint8Array }>({ dataType: () => "bytea" });
const transactionId = customType<{ data: string }>({ dataType: () => "xid8" });
const searchVector = customType<{ data: string }>({ dataType: () => "tsvector" });
const instant = () => timestamp({ withTimezone: true, precision: 3, mode: "date" });

/*
 * No foreign keys on the tables that every mail touches: each would be a look-up per row, and deleting an inbox
 * in bounded steps needs no cascade. Rows of one state change are written in one transaction instead.
 */

/** What the service made once and must keep: the signing key of attachment addresses. */
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
    /** Kept, not counted: the row is locked anyway when an inbox is made. */
    inboxCount: integer().notNull().default(0),
    inboxesMadeOn: date({ mode: "string" }),
    inboxesMade: integer().notNull().default(0),
  },
  (table) => [check("accounts_plan", sql`${table.plan} in ('free', 'developer', 'enterprise')`)],
);

export const apiKeys = pgTable(
  "api_keys",
  {
    id: id().primaryKey(),
    accountId: id()
      .notNull()
      .references(() => accounts.id),
    /** For people, to tell keys apart. Null of a key that was made without one. */
    name: text(),
    /** SHA-256 in hex: the key itself is never kept. */
    hash: text().notNull().unique(),
    prefix: text().notNull(),
    lastFour: text().notNull(),
    createdAt: instant().notNull(),
    lastUsedAt: instant(),
    revokedAt: instant(),
  },
  (table) => [index("api_keys_account").on(table.accountId)],
);

/** What the two tables of endpoints have in common. */
const endpointColumns = () => ({
  secret: text().notNull(),
  previousSecret: text(),
  previousSecretUntil: instant(),
  createdAt: instant().notNull(),
  disabledAt: instant(),
  disabledReason: text({ enum: ["gone", "failing", "manual"] }),
  /** The first failed attempt since the last that was answered with 2xx; written only when it changes. */
  failingSince: instant(),
  /** The first attempt at this address that was answered with 2xx. Null until then, and again with a new address. */
  answeredAt: instant(),
  description: text(),
  eventTypes: text().array().notNull().default(sql`'{message.received}'`),
  /** Null: of all inboxes. */
  inboxIds: text().array(),
  skipAutomated: boolean().notNull().default(false),
  include: text().array().notNull().default(sql`'{}'`),
});

/**
 * The default endpoint of each account. A table of its own: an older inboxd beside this one finds and changes its row by the account
 * alone, so a second row would get the first one's address and mail.
 */
export const webhooks = pgTable("webhooks", {
  accountId: id()
    .primaryKey()
    .references(() => accounts.id),
  /** Null where a secret was made before any address was set. */
  url: text(),
  ...endpointColumns(),
  /** Made by the database, because an older inboxd writes rows without it. In the shape of all ids. */
  id: id().notNull().unique().default(sql`'whk_0' || left(replace(gen_random_uuid()::text, '-', ''), 25)`),
});

/** The further endpoints of an account. */
export const endpoints = pgTable(
  "endpoints",
  {
    id: id().primaryKey(),
    accountId: id()
      .notNull()
      .references(() => accounts.id),
    url: text().notNull(),
    ...endpointColumns(),
  },
  (table) => [index("endpoints_account").on(table.accountId)],
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
    /**
     * Also the last number given: messages of an inbox are numbered without gaps, since what is numbered from a read of
     * this row is written only while the row is as it was read.
     */
    messageCount: integer().notNull().default(0),
    inboundCount: integer().notNull().default(0),
    threadCount: integer().notNull().default(0),
    unreadCount: integer().notNull().default(0),
    lastMessageAt: instant(),
    lastMessageId: id(),
    sentOn: date({ mode: "string" }),
    sentCount: integer().notNull().default(0),
    /** Counts the writes of this row: every statement that updates it raises the revision. */
    revision: bigint({ mode: "number" }).notNull().default(0),
  },
  (table) => [
    index("inboxes_account").on(table.accountId, table.id).where(sql`${table.deletedAt} is null`),
    index("inboxes_external_id")
      .on(table.accountId, table.externalId, table.id)
      .where(sql`${table.deletedAt} is null and ${table.externalId} is not null`),
    index("inboxes_deleted").on(table.deletedAt).where(sql`${table.deletedAt} is not null`),
  ],
);

/** Who holds an address. It outlives its inbox by the quarantine, so it is a row of its own. */
export const addresses = pgTable("addresses", {
  username: text().primaryKey(),
  inboxId: id().notNull(),
  /** Set when the inbox is deleted: free for others after this instant. */
  heldUntil: instant(),
});

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
    /** Number of the last message: in an inbox, the order by it is the order by time. */
    lastSeq: integer().notNull(),
    /** Number of the last inbound message, 0 for none: what a late "mark as read" is held against. */
    lastInboundSeq: integer().notNull(),
    participants: text().array().notNull(),
    preview: text().notNull(),
    hasAttachments: boolean().notNull(),
  },
  (table) => [index("threads_inbox").on(table.inboxId, table.isRead, table.lastSeq)],
);

export const messages = pgTable(
  "messages",
  {
    id: id().primaryKey(),
    inboxId: id().notNull(),
    threadId: id().notNull(),
    seq: integer().notNull(),
    direction: text({ enum: ["inbound", "outbound"] }).notNull(),
    /** Numbers the messages of one direction, also without gaps: a page of them is found at any offset without counting off. */
    directionSeq: integer().notNull(),
    status: text({ enum: ["received", "pending", "sent", "failed"] }).notNull(),
    createdAt: instant().notNull(),
    /** Bare, as its sender wrote it. May be longer than an index row can be: look-ups go by the hash. */
    rfcMessageId: text().notNull(),
    messageIdHash: uuid().notNull(),
    /** Of the raw source: the same Message-ID with other content is another message. Null for what is never taken for a copy. */
    contentHash: uuid(),
    fromAddr: text().notNull(),
    fromName: text(),
    toAddr: text().notNull(),
    cc: text().array().notNull(),
    replyTo: text(),
    subject: text().notNull(),
    bodyText: text().notNull(),
    bodyHtml: text(),
    attachmentCount: integer().notNull(),
    /** Where the raw source and the attachments lie; shared by the recipients of one mail. */
    sourceId: id(),
    /** Size of the raw source. */
    sizeBytes: integer(),
    /** What the mail answers: what In-Reply-To of ours says, and what another's names as its parent. */
    inReplyTo: text(),
    /** Outbound: the mail's References. Inbound: the messages that the first mail of a thread names. */
    referenceIds: text().array(),
    providerMessageId: text(),
    failure: jsonb().$type<StoredFailure>(),
    /** Inbound only: the reverse-path of its SMTP transaction, "" for a bounce. Older mail has none. */
    envelopeFrom: text(),
    /** True where the mail was not read whole: the raw source has all of it. */
    truncated: boolean().notNull().default(false),
    /** Inbound only: by what it shows that no person wrote it; null where it shows nothing. Older mail has none. */
    automated: jsonb().$type<Automated>(),
    /** Outbound only: what the mail says of itself in Auto-Submitted. */
    autoSubmitted: text({ enum: autoSubmittedValues }),
    /** The addresses of the To field. Null where there is the one of `toAddr`, and of older mail that came in. */
    toAddrs: text().array(),
    /** Outbound only: how many it goes to. Where they are several, or one has a name, `recipients` has a row for each. */
    recipientCount: smallint().notNull().default(1),
    /** Outbound only: the caller's own words on it, which the mail does not bear. */
    metadata: jsonb().$type<Record<string, string>>(),
    /** Outbound only: the fields that the caller asked for, in their order. */
    headers: jsonb().$type<CustomHeader[]>(),
    /** Outbound only: the message that it hands on. */
    forwardOf: id(),
    /** Outbound only: what came back about it since, the worst of its recipients'; null until something did. */
    delivery: jsonb().$type<Delivery>(),
  },
  (table) => [
    index("messages_inbox_seq").on(table.inboxId, table.seq),
    index("messages_direction_seq").on(table.inboxId, table.direction, table.directionSeq),
    index("messages_thread_seq").on(table.threadId, table.seq),
    index("messages_message_id").on(table.inboxId, table.messageIdHash, table.contentHash),
    index("messages_sent_at").on(table.inboxId, table.createdAt).where(sql`${table.direction} = 'outbound'`),
    check("messages_direction", sql`${table.direction} in ('inbound', 'outbound')`),
    check("messages_status", sql`${table.status} in ('received', 'pending', 'sent', 'failed')`),
  ],
);

/**
 * Whom an outbound message goes to, each with what became of his copy. Of a message to one recipient without a name all of it
 * stands in its own row.
 */
export const recipients = pgTable(
  "recipients",
  {
    messageId: id().notNull(),
    position: smallint().notNull(),
    address: text().notNull(),
    name: text(),
    type: text({ enum: ["to", "cc", "bcc"] }).notNull(),
    /** Which of the message's rows in the outbox he is of. */
    destination: smallint().notNull(),
    status: text({ enum: ["pending", "sent", "failed"] }).notNull(),
    providerMessageId: text(),
    failure: jsonb().$type<StoredFailure>(),
    delivery: jsonb().$type<Delivery>(),
  },
  (table) => [primaryKey({ columns: [table.messageId, table.position] })],
);

/**
 * Files that came before the mail that will bear them. The bytes are part 0 of a source; the row outlives them, so that a
 * request that named it is known again.
 */
export const uploads = pgTable(
  "uploads",
  {
    id: id().primaryKey(),
    accountId: id().notNull(),
    sourceId: id().notNull(),
    filename: text().notNull(),
    contentType: text().notNull(),
    /** What is taken of the account's allowance: the declared length while it comes. */
    sizeBytes: bigint({ mode: "number" }).notNull(),
    /** SHA-256 in hex; null until it has come whole. */
    digest: text(),
    createdAt: instant().notNull(),
    /** Null while it comes: such a row counts for nothing, and is swept when nobody finishes it. */
    completedAt: instant(),
    expiresAt: instant().notNull(),
  },
  (table) => [
    index("uploads_account").on(table.accountId, table.expiresAt),
    index("uploads_expires").on(table.expiresAt),
  ],
);

/** What came back about messages that we sent. */
export const reports = pgTable(
  "reports",
  {
    id: id().primaryKey(),
    accountId: id().notNull(),
    inboxId: id().notNull(),
    messageId: id().notNull(),
    /** "" where it stands at the message: a unique key takes nulls for different. */
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
    /** The raw report; gone with its message. */
    sourceId: id(),
    receivedAt: instant().notNull(),
  },
  (table) => [uniqueIndex("reports_message").on(table.messageId, table.recipient, table.kind)],
);

/** Addresses that nothing is sent to. */
export const suppressions = pgTable(
  "suppressions",
  {
    id: id().primaryKey(),
    accountId: id().notNull(),
    /** Lower case, with A-labels. */
    address: text().notNull(),
    /** "" for the whole account: a unique key takes nulls for different. */
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

/** Further Message-IDs under which others know a message of ours, since a relay gave it another one. */
export const messageNames = pgTable(
  "message_names",
  {
    nameHash: uuid().notNull(),
    messageId: id().notNull(),
    inboxId: id().notNull(),
    threadId: id().notNull(),
    /** Bare. */
    name: text().notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.nameHash, table.messageId] }),
    index("message_names_message").on(table.messageId),
  ],
);

/**
 * What can be searched for, filled in the background in the order of `seq`: the highest number of an inbox tells how far
 * it has come. Beside the words it holds lexemes for the inbox and the block of numbers, so that one index look-up
 * meets no other inbox's mail (domain/search.ts).
 */
export const messageSearch = pgTable(
  "message_search",
  { inboxId: id().notNull(), seq: integer().notNull(), words: searchVector().notNull() },
  (table) => [
    primaryKey({ columns: [table.inboxId, table.seq] }),
    index("message_search_words").using("gin", table.words),
  ],
);

/** Who has the lease on filling the search index, and how far it has come; one row. */
export const searchIndexing = pgTable("search_indexing", {
  id: smallint().primaryKey(),
  holder: text().notNull(),
  leasedUntil: instant().notNull(),
  /** Messages made long enough before this one have been seen. */
  seenId: id().notNull(),
});

/**
 * Message-IDs that a mail named and that were not here: whatever bears or names one of them later belongs to the thread that waited
 * for it first.
 */
export const awaitedParents = pgTable(
  "awaited_parents",
  {
    inboxId: id().notNull(),
    messageIdHash: uuid().notNull(),
    threadId: id().notNull(),
  },
  (table) => [primaryKey({ columns: [table.inboxId, table.messageIdHash] })],
);

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
    /** Which part of the source holds the bytes; part 0 is the raw mail. */
    part: smallint().notNull(),
    /** SHA-256 in hex: the ETag. */
    digest: text().notNull(),
  },
  (table) => [primaryKey({ columns: [table.messageId, table.filename] })],
);

/** The big bytes, apart from the rows that lists read: raw mail and attachments, in pieces that can be streamed. */
export const sourceChunks = pgTable(
  "source_chunks",
  {
    sourceId: id().notNull(),
    part: smallint().notNull(),
    seq: integer().notNull(),
    compressed: boolean().notNull(),
    bytes: bytes().notNull(),
    /** On the first chunk of the raw mail: how many messages share this source. */
    shares: integer(),
  },
  (table) => [primaryKey({ columns: [table.sourceId, table.part, table.seq] })],
);

/**
 * Mail that was acknowledged before it could be parsed: its raw source is kept, and an outbox row of kind `parse` with the id of
 * the source promises the rest. Nothing shows it before.
 */
export const unparsedMails = pgTable("unparsed_mails", {
  sourceId: id().primaryKey(),
  receivedAt: instant().notNull(),
  envelopeFrom: text().notNull(),
  recipients: jsonb().$type<FoundRecipient[]>().notNull(),
  /** Null of our own mail to ourselves, and of what an older process kept. */
  client: jsonb().$type<MailClient>(),
  sizeBytes: integer().notNull(),
});

/** Who has answered an inbox. Older rows, of all who had written to it, are not `answered`. */
export const correspondents = pgTable(
  "correspondents",
  {
    inboxId: id().notNull(),
    address: text().notNull(),
    /** True once a mail from here named a Message-ID that we had sent to this very address: mail to it is not cold. */
    answered: boolean().notNull().default(false),
  },
  (table) => [primaryKey({ columns: [table.inboxId, table.address] })],
);

/** When an account last asked for what it may ask for only so often: the instants within the window, oldest first. */
export const recentRequests = pgTable(
  "recent_requests",
  {
    accountId: id().notNull(),
    action: text({ enum: ["redeliver", "test_webhook", "recover", "create_webhook"] }).notNull(),
    askedAt: instant().array().notNull(),
  },
  (table) => [primaryKey({ columns: [table.accountId, table.action] })],
);

/** Tokens that count once, kept for as long as each would be valid: of links to sign in by, and of a relay's notices. */
export const usedTokens = pgTable(
  "used_tokens",
  {
    /** Begins with what the token is for, as in `sign_in:…`. */
    token: text().primaryKey(),
    /** Tells a repeated request from another one that brings the same token: a digest, or empty where no repeat counts. */
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
    operation: text({ enum: ["create_inbox", "send", "create_webhook"] }).notNull(),
    key: text().notNull(),
    fingerprint: text().notNull(),
    /** The inbox or message that the first request made. */
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
    /** Null of what belongs to no inbox. */
    inboxId: id(),
    threadId: id(),
    /** Of a message that came in. An older inboxd shows every event that has one as a message that came in. */
    messageId: id(),
    type: text({ enum: eventTypes }).notNull(),
    occurredAt: instant().notNull(),
    /** What it tells that can't be read from other rows later, since they change or go. */
    data: jsonb().$type<EventData[EventType]>(),
    /**
     * The position in the log: the transaction that wrote the row, or the last one that had ended by then if that is later. A
     * reader that takes only rows before the oldest transaction that still runs, in the order of this column, can't miss one
     * that commits late. In a cluster that the database was moved to it is shifted (event-log.ts).
     */
    writtenBy: transactionId().notNull().default(sql`event_log_place()`),
  },
  (table) => [
    index("events_account").on(table.accountId, table.writtenBy, table.id),
    index("events_inbox").on(table.inboxId, table.writtenBy, table.id),
    index("events_occurred").on(table.occurredAt),
  ],
);

export const deliveries = pgTable(
  "deliveries",
  {
    /** Of the promise: the event's, or `<event>.<endpoint>`. */
    eventId: id().notNull(),
    attempt: integer().notNull(),
    attemptedAt: instant().notNull(),
    status: smallint(),
    /** Null where the process died before it could write down what came of the attempt. */
    latencyMs: integer(),
    error: text(),
    response: text(),
  },
  (table) => [primaryKey({ columns: [table.eventId, table.attempt] })],
);

/**
 * What is still to be done, written in the transaction that promised it. Claiming a row counts the attempt and
 * leases it until `dueAt`; a finished row is deleted. One row for each message or event.
 */
export const outbox = pgTable(
  "outbox",
  {
    /**
     * The message to relay (`<message>.<n>` for one of several destinations), the source to parse, or the promise to deliver an
     * event: the event's own id at the default endpoint.
     */
    subjectId: id().primaryKey(),
    /**
     * What an older inboxd could not carry out whole is of a kind that it does not claim: deliveries to an `endpoint`, and mail to
     * one `destination` of several, or with names, attachments or further fields.
     */
    kind: text({ enum: ["relay", "webhook", "parse", "endpoint", "destination"] }).notNull(),
    accountId: id().notNull(),
    /** What belongs to no inbox stands in line under its account's id. */
    inboxId: id().notNull(),
    /** What shares a fate: a recipient's domain or an endpoint. One that is down must not delay others. */
    lane: id().notNull(),
    /**
     * `ready`: in line, in the order of `createdAt` in its inbox, whatever the clock says. `running`: claimed, and ready again
     * at `dueAt` should the claimer have died. `waiting`: not before `dueAt`.
     */
    state: text({ enum: ["ready", "running", "waiting"] })
      .notNull()
      .default("ready"),
    dueAt: instant().notNull(),
    attempt: integer().notNull().default(0),
    /** Attempts that count no more against the schedule: those before a redelivery was asked for. */
    forgivenAttempts: integer().notNull().default(0),
    createdAt: instant().notNull(),
    /** The process that claimed it last, and when by the clock of the database, which all processes share. */
    claimedBy: integer(),
    claimedAt: instant(),
    /** Null: the subject is the event. */
    eventId: id(),
    /** Null: the account's default endpoint. */
    endpointId: id(),
    /** An attempt ended without an answer after the content had gone out: the mail may have been sent. */
    unsure: boolean().notNull().default(false),
    /** Of mail why its last attempt failed, as one clean line. Deliveries have a log. An older inboxd leaves what was there before. */
    lastError: text(),
  },
  (table) => [
    index("outbox_line")
      .on(table.kind, table.lane, table.accountId, table.inboxId, table.createdAt, table.subjectId)
      .where(sql`${table.state} = 'ready'`),
    index("outbox_due").on(table.kind, table.dueAt).where(sql`${table.state} <> 'ready'`),
    index("outbox_waiting").on(table.kind, table.lane, table.createdAt).where(sql`${table.state} = 'waiting'`),
    index("outbox_running").on(table.inboxId, table.lane).where(sql`${table.state} = 'running'`),
    check("outbox_kind", sql`${table.kind} in ('relay', 'webhook', 'parse', 'endpoint', 'destination')`),
    check("outbox_state", sql`${table.state} in ('ready', 'running', 'waiting')`),
  ],
);
