import { type SQL, sql } from "drizzle-orm";
import type { PgTable } from "drizzle-orm/pg-core";
import type { Database } from "../../database/db.ts";
import { allFields, columnName, columnsOf } from "../columns.ts";
import * as schema from "../schema.ts";
import { nameOf, type PortableLine, portable, readTables } from "./portable.ts";

/*
 * The rows of one account. A mail that came for inboxes of several accounts is stored once: the export of one account has it with the shares
 * and the recipients of this account alone.
 */

/** Selects the rows of an account, called `t`, as the rest of a select after `from`. */
type RowsOf = (accountId: string) => SQL;

const inboxesOf: RowsOf = (accountId) => sql`select id from inboxes where account_id = ${accountId}`;

const byAccount =
  (table: PgTable): RowsOf =>
  (accountId) =>
    sql`${named(table)} t where t.account_id = ${accountId}`;

const byInbox =
  (table: PgTable): RowsOf =>
  (accountId) =>
    sql`${named(table)} t where t.inbox_id in (${inboxesOf(accountId)})`;

const byMessage =
  (table: PgTable): RowsOf =>
  (accountId) =>
    sql`${named(table)} t where t.message_id in (select id from messages where inbox_id in (${inboxesOf(accountId)}))`;

/** The recipients of each unparsed mail that are inboxes of the account, and the first of these inboxes. */
const unparsedOf: RowsOf = (accountId) => sql`
  select u.source_id, own.recipients, own.inbox_id, own.holders from unparsed_mails u cross join lateral (
    select jsonb_agg(e.recipient order by e.number) as recipients, (array_agg(i.id order by e.number))[1] as inbox_id,
      count(*) as holders
    from jsonb_array_elements(u.recipients) with ordinality as e (recipient, number)
    join inboxes i on i.id = e.recipient ->> 'inboxId' where i.account_id = ${accountId}
  ) own where own.holders > 0`;

/** The attachments of messages, and of drafts that have no message yet. */
const attachmentsOf: RowsOf = (accountId) => sql`attachments t where t.message_id in (
  select id from messages where inbox_id in (${inboxesOf(accountId)}) union all select id from drafts where account_id = ${accountId})`;

/** The sources that the account uses, each with the number of its shares (mail/shares.ts). */
const heldBy: RowsOf = (accountId) => sql`
  select source_id, sum(holders)::int as shares from (
    select source_id, count(*) as holders from (
      select source_id, id as message_id from messages where inbox_id in (${inboxesOf(accountId)}) and source_id is not null
      union select t.source_id, t.message_id from ${attachmentsOf(accountId)}
    ) held group by source_id
    union all select source_id, 1 from uploads where account_id = ${accountId} and source_id <> ''
    union all select source_id, 1 from reports where account_id = ${accountId} and source_id is not null
    union all select source_id, 1 from quarantine where account_id = ${accountId}
    union all select source_id, holders from (${unparsedOf(accountId)}) unparsed
  ) held group by source_id order by source_id`;

/** The rows of each portable table that belong to an account. The other portable tables belong to the service. */
const rowsOfAccount = new Map<PgTable, RowsOf>([
  [schema.accounts, (accountId) => sql`accounts t where t.id = ${accountId}`],
  [schema.apiKeys, byAccount(schema.apiKeys)],
  [
    schema.oauthClients,
    // Several accounts may use one client.
    (accountId) => sql`oauth_clients t where t.id in (select client_id from grants where account_id = ${accountId})`,
  ],
  [schema.grants, byAccount(schema.grants)],
  [
    schema.domains,
    // With the shared ones that it uses, by whose names they are found in the other service.
    (accountId) => sql`domains t where t.account_id = ${accountId}
      or t.account_id is null and t.id in (select domain_id from inboxes where account_id = ${accountId})`,
  ],
  [
    schema.domainKeys,
    (accountId) => sql`domain_keys t where t.domain_id in (select id from domains where account_id = ${accountId})`,
  ],
  [schema.endpoints, byAccount(schema.endpoints)],
  [schema.inboxes, byAccount(schema.inboxes)],
  [schema.addresses, byInbox(schema.addresses)],
  [schema.threads, byInbox(schema.threads)],
  [schema.threadLabels, byInbox(schema.threadLabels)],
  [schema.labelCounts, byInbox(schema.labelCounts)],
  [schema.messages, byInbox(schema.messages)],
  [schema.recipients, byMessage(schema.recipients)],
  [
    schema.drafts,
    // Links of the other service do not work here, so the approvers get letters again.
    (accountId) => sql`(
        select ${besides(schema.drafts, "d", ["letteredVersion"])}, 0 as lettered_version from drafts d where d.account_id = ${accountId}
      ) t`,
  ],
  [schema.reports, byAccount(schema.reports)],
  [schema.messageNames, byInbox(schema.messageNames)],
  [schema.suppressions, byAccount(schema.suppressions)],
  [schema.rules, byAccount(schema.rules)],
  [schema.policies, byAccount(schema.policies)],
  [schema.quarantine, byAccount(schema.quarantine)],
  [schema.uploads, byAccount(schema.uploads)],
  [schema.awaitedParents, byInbox(schema.awaitedParents)],
  [schema.removedMessages, byInbox(schema.removedMessages)],
  [schema.removedThreads, byInbox(schema.removedThreads)],
  [schema.attachments, attachmentsOf],
  [
    schema.sourceChunks,
    (accountId) => sql`(
        select ${besides(schema.sourceChunks, "c", ["shares"])},
          case when c.part = 0 and c.seq = 0 then held.shares end as shares
        from (${heldBy(accountId)}) held
        cross join lateral (select * from source_chunks where source_id = held.source_id order by part, seq) c
      ) t`,
  ],
  [
    schema.unparsedMails,
    (accountId) => sql`(
        select ${besides(schema.unparsedMails, "u", ["recipients"])}, own.recipients
        from (${unparsedOf(accountId)}) own join unparsed_mails u using (source_id)
      ) t`,
  ],
  [schema.correspondents, byInbox(schema.correspondents)],
  [schema.approvedRecipients, byInbox(schema.approvedRecipients)],
  [schema.coldSends, byInbox(schema.coldSends)],
  [schema.idempotencyKeys, byAccount(schema.idempotencyKeys)],
  [schema.events, byAccount(schema.events)],
  [
    schema.deliveries,
    (accountId) => sql`deliveries t where t.event_id in (select id from events where account_id = ${accountId})`,
  ],
  [
    schema.outbox,
    // The row of an unparsed mail has the account of its first recipient alone.
    (accountId) => sql`(
        select ${besides(schema.outbox, "o", ["accountId", "inboxId"])}, o.account_id, o.inbox_id from outbox o
        where o.account_id = ${accountId} and o.kind <> 'parse'
        union all
        select ${besides(schema.outbox, "o", ["accountId", "inboxId"])}, ${accountId}, own.inbox_id
        from (${unparsedOf(accountId)}) own join outbox o on o.subject_id = own.source_id
      ) t`,
  ],
  [schema.auditEntries, byAccount(schema.auditEntries)],
  [schema.usageDays, byAccount(schema.usageDays)],
  [schema.countedInboxes, byInbox(schema.countedInboxes)],
]);

/** The portable tables that the export of one account leaves out, each with the reason. A test compares both with all portable tables. */
export const ofService: readonly { table: PgTable; why: string }[] = [
  { table: schema.settings, why: "they are the id and the signing key of the service" },
  {
    table: schema.letters,
    why: "they are about drafts of several accounts, and are written again in the other service",
  },
  { table: schema.operatorKeys, why: "operators belong to the service" },
  { table: schema.usedTokens, why: "they name no account, and are kept for some minutes" },
];

const accountTables = portable.map(({ table }) => table).filter((table) => rowsOfAccount.has(table));

/** The name of the table whose rows another account may have brought here before. */
export const sharedTableName = nameOf(schema.oauthClients);

/** The names of the tables of the export of one account. */
export const accountTableNames: ReadonlySet<string> = new Set(accountTables.map(nameOf));

/**
 * The names of the tables that are written last, in one transaction: without their rows nobody reaches the others, and no worker works on
 * them.
 */
export const openingTableNames: ReadonlySet<string> = new Set(
  [
    schema.accounts,
    schema.apiKeys,
    schema.oauthClients,
    schema.grants,
    schema.domains,
    schema.domainKeys,
    schema.endpoints,
    schema.inboxes,
    schema.addresses,
    schema.uploads,
    schema.unparsedMails,
    schema.outbox,
    schema.countedInboxes,
  ].map(nameOf),
);

/** The tables that are read without a sort, which would write all mail to the disk first. */
const large: readonly PgTable[] = [schema.messages, schema.sourceChunks];

/** Reads all rows of an account. */
export function readAccount(
  db: Database,
  accountId: string,
  onLine: (line: PortableLine) => Promise<void>,
): Promise<void> {
  const tables = portable.flatMap(({ table, order, rowsALine }) => {
    const rows = rowsOfAccount.get(table)?.(accountId);
    const sorted = large.includes(table) ? sql`` : sql` order by ${sql.raw(order)}`;
    return rows === undefined ? [] : { table, rowsALine, rows: sql`${rows}${sorted}` };
  });
  return readTables(db, tables, onLine);
}

function named(table: PgTable): SQL {
  return sql`${sql.identifier(nameOf(table))}`;
}

/** The columns of a table, without those of these fields. */
function besides(table: PgTable, of: string, without: readonly string[]): SQL {
  const fields = allFields(table).filter((field) => !without.includes(field));
  const columns = Object.values(columnsOf(table, fields)).map((column) => `${of}.${columnName(column)}`);
  return sql.raw(columns.join(", "));
}
