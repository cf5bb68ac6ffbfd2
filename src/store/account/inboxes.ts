import { type SQL, sql } from "drizzle-orm";
import { arrayOf, type Db, jsonb, query, statement } from "../../database/db.ts";
import { isWholeAccount, type Reach } from "../../domain/access/access.ts";
import type { InboxTotals } from "../../domain/conversation.ts";
import { withParents } from "../../domain/domains/domain-name.ts";
import type { MetadataPatch } from "../../domain/metadata.ts";
import type { SendPolicy } from "../../domain/policy.ts";
import type { SearchWords } from "../../domain/search.ts";
import { assigned, type Selected, selected } from "../columns.ts";
import { isPlacedInReach, isReached, reachPlaces } from "../reach.ts";
import { insertRows, recordSet } from "../rows.ts";
import { accounts, inboxes, messages } from "../schema.ts";
import { inboxTotals, totalsOf } from "./inbox-totals.ts";

const identity = ["id", "accountId", "username", "domainId", "externalId", "createdAt"] as const;
const identityFields = selected(inboxes, "i", identity);
const inboxFields = selected(inboxes, "i", [
  ...identity,
  "unreadCount",
  "lastMessageAt",
  "retentionDays",
  "sendPolicy",
  "displayName",
  "aliases",
  "metadata",
  "approvers",
  "disabled",
  "expiresAt",
  "updatedAt",
  "searchWords",
]);

export type InboxIdentity = Selected<typeof identityFields>;

/** An inbox with the number of its unread threads and the time of its last message. */
export type Inbox = Selected<typeof inboxFields>;

export async function findInbox(db: Db, reach: Reach, id: string): Promise<Inbox | undefined> {
  const [inbox] = await inboxInReach(db, { id, ...reachPlaces(reach) });
  return inbox;
}

const inboxInReach = statement<Inbox>(
  sql`select ${inboxFields} from inboxes i where i.id = ${sql.placeholder("id")} and ${isPlacedInReach}`,
);

const ofAccount = selected(accounts, "account", ["plan", "limits"]);

/** An inbox with what decides whether it has room for mail. */
export interface ReceivingInbox extends InboxIdentity, Selected<typeof ofAccount> {
  storageBytes: number;
  accountStorageBytes: number;
  disabled: boolean;
}

/** Finds the inbox that receives mail for a username. */
export async function findInboxByUsername(db: Db, username: string): Promise<ReceivingInbox | undefined> {
  const [inbox] = await inboxOfUsername(db, { username });
  return inbox;
}

const inboxOfUsername = statement<ReceivingInbox>(
  sql`select ${identityFields}, i.storage_bytes as "storageBytes", i.disabled, ${ofAccount}, account.storage_bytes as "accountStorageBytes"
      from addresses a join inboxes i on i.id = a.inbox_id join accounts account on account.id = i.account_id
      where a.username = ${sql.placeholder("username")} and a.held_until is null and i.deleted_at is null`,
);

/**
 * Finds when the inbound message of an inbox came that has `later` others behind it, or the last one before it if it is removed. Undefined
 * if there were fewer. Numbers are given without gaps, so it is one look-up in an index.
 */
export async function findReceivedAt(db: Db, inboxId: string, later: number): Promise<Date | undefined> {
  const [message] = await inboundBehind(db, { inboxId, later });
  return message?.createdAt;
}

const receivedFields = selected(messages, "m", ["createdAt"]);

const inboundBehind = statement<Selected<typeof receivedFields>>(
  sql`select ${receivedFields} from inboxes i join messages m on m.inbox_id = i.id and m.direction = 'inbound'
        and m.direction_seq <= i.inbound_count - ${sql.placeholder("later")}::int
      where i.id = ${sql.placeholder("inboxId")} order by m.direction_seq desc limit 1`,
);

/** Lists the accounts and `externalId`s of inboxes. */
export function listInboxOwners(
  db: Db,
  ids: readonly string[],
): Promise<Pick<InboxIdentity, "id" | "accountId" | "externalId">[]> {
  return query(
    db,
    sql`select id, account_id as "accountId", external_id as "externalId" from inboxes where id = any(${arrayOf("text", ids)})`,
  );
}

/** Finds the accounts of these inboxes and messages, by their ids. */
export async function findAccountsOf(
  db: Db,
  { inboxIds, messageIds }: { inboxIds: readonly string[]; messageIds: readonly string[] },
): Promise<Map<string, string>> {
  const rows = await query<{ id: string; accountId: string }>(
    db,
    sql`select concerned.id, i.account_id as "accountId" from (
          select id collate "C" as id, id collate "C" as inbox_id from unnest(${arrayOf("text", inboxIds)}) as asked (id)
          union all
          select id, inbox_id from messages where id = any(${arrayOf("text", messageIds)})
        ) concerned join inboxes i on i.id = concerned.inbox_id`,
  );
  return new Map(rows.map(({ id, accountId }) => [id, accountId]));
}

/** Lists the ids among these that belong to disabled inboxes. */
export async function listDisabledInboxes(db: Db, ids: readonly string[]): Promise<Set<string>> {
  const disabled = await query<{ id: string }>(
    db,
    sql`select id from inboxes where id = any(${arrayOf("text", ids)}) and disabled and deleted_at is null`,
  );
  return new Set(disabled.map(({ id }) => id));
}

/** Lists the ids among these that belong to inboxes within the reach. */
export async function listOwnInboxIds(db: Db, reach: Reach, ids: readonly string[]): Promise<Set<string>> {
  const own = await query<{ id: string }>(
    db,
    sql`select id from inboxes i where i.id = any(${arrayOf("text", ids)}) and ${isReached(reach)}`,
  );
  return new Set(own.map(({ id }) => id));
}

export interface InboxPage {
  reach: Reach;
  externalId: string | undefined;
  /** Lists only the inbox with this username or alias; undefined for all. */
  username: string | undefined;
  /** Lists only inboxes with addresses at this host; null for MAIL_DOMAIN, undefined for all. */
  host: string | null | undefined;
  /** Lists only inboxes that were created before the one with this id; undefined for all. */
  before?: string | undefined;
  limit: number;
  offset: number;
}

export function listInboxes(db: Db, page: InboxPage): Promise<Inbox[]> {
  const earlier = page.before === undefined ? sql`` : sql`and i.id < ${page.before}`;
  return query(
    db,
    sql`select ${inboxFields} from inboxes i where ${livingOf(page)} ${earlier} order by i.id desc
        limit ${page.limit} offset ${page.offset}`,
  );
}

/** Lists some of the `externalId`s within a reach. */
export async function listExternalIds(db: Db, reach: Reach, limit: number): Promise<string[]> {
  const found = await query<{ externalId: string }>(
    db,
    sql`select distinct external_id as "externalId" from (
          select i.external_id from inboxes i where ${isReached(reach)} and i.external_id is not null order by i.id desc limit 1000
        ) i order by 1 limit ${limit}`,
  );
  return found.map(({ externalId }) => externalId);
}

/** Returns the length of the whole list. The account's row has it; with a filter the inboxes are counted, since those are few. */
export async function countInboxes(db: Db, page: InboxPage): Promise<number> {
  const [counted] = await query<{ total: number }>(
    db,
    page.externalId === undefined &&
      page.username === undefined &&
      page.host === undefined &&
      isWholeAccount(page.reach)
      ? sql`select inbox_count as total from accounts where id = ${page.reach.accountId}`
      : sql`select count(*) as total from inboxes i where ${livingOf(page)}`,
  );
  return counted?.total ?? 0;
}

function livingOf({ reach, externalId, username, host }: InboxPage): SQL {
  const conditions = [isReached(reach)];
  if (externalId !== undefined) conditions.push(sql`i.external_id = ${externalId}`);
  if (username !== undefined)
    conditions.push(sql`i.id = (select inbox_id from addresses where username = ${username} and held_until is null)`);
  if (host === null) conditions.push(sql`i.domain_id is null`);
  if (typeof host === "string")
    // The username ends in the host. The ids of the domains let the index find the few inboxes at own domains.
    conditions.push(sql`i.domain_id in (select id from domains where name = any(${arrayOf("text", withParents(host))}))
      and right(i.username, ${host.length + 1}::int) = ${`@${host}`}`);
  return sql.join(conditions, sql` and `);
}

/**
 * Gives an inbox a username that is new, reserved no longer, or reserved for this inbox. Returns false if another inbox has it. Of two
 * requests at the same time, the unique key lets only one succeed. At a domain, the names of its earlier holder's inboxes count as new; the
 * caller has locked the domain, because the statement would not see an inbox that another transaction commits while it waits.
 */
export async function insertAddress(
  tx: Db,
  { username, id, domainId }: Pick<Inbox, "username" | "id" | "domainId">,
  now: Date,
): Promise<boolean> {
  const isLost = sql`not exists (select from inboxes i where i.id = addresses.inbox_id and i.domain_id = ${domainId}
          and i.deleted_at is null)`;
  const taken = await query(
    tx,
    sql`insert into addresses (username, inbox_id) values (${username}, ${id})
        on conflict (username) do update set inbox_id = excluded.inbox_id, held_until = null
        where addresses.held_until <= ${now} or addresses.inbox_id = excluded.inbox_id${domainId === null ? sql`` : sql` or ${isLost}`} returning username`,
  );
  return taken.length === 1;
}

export function insertInbox(tx: Db, inbox: Inbox): Promise<void> {
  return insertRows(tx, inboxes, [inbox]);
}

/** The fields of an inbox that its owner may change. Those that are undefined stay. */
export interface InboxChange {
  externalId?: string | null | undefined;
  retentionDays?: number | null | undefined;
  sendPolicy?: SendPolicy | undefined;
  displayName?: string | null | undefined;
  /** Merged into the metadata: a null removes its key, and null in place of the object removes all. */
  metadata?: MetadataPatch | undefined;
  approvers?: readonly string[] | null | undefined;
  disabled?: boolean | undefined;
  expiresAt?: Date | null | undefined;
  searchWords?: SearchWords | null | undefined;
}

/** Changes an inbox, and returns it; undefined if there is none within the reach. */
export async function markInboxChanged(
  db: Db,
  reach: Reach,
  id: string,
  change: InboxChange,
  updatedAt: Date,
): Promise<Inbox | undefined> {
  const { externalId, retentionDays, sendPolicy, displayName, metadata, approvers, disabled, expiresAt, searchWords } =
    change;
  const changes = [
    externalId === undefined ? sql`` : sql`, external_id = ${externalId}`,
    retentionDays === undefined ? sql`` : sql`, retention_days = ${retentionDays}`,
    sendPolicy === undefined ? sql`` : sql`, send_policy = ${sendPolicy}`,
    displayName === undefined ? sql`` : sql`, display_name = ${displayName}`,
    metadata === undefined ? sql`` : sql`, metadata = ${merged(metadata)}`,
    approvers === undefined ? sql`` : sql`, approvers = ${approvers === null ? sql`null` : arrayOf("text", approvers)}`,
    disabled === undefined ? sql`` : sql`, disabled = ${disabled}`,
    expiresAt === undefined ? sql`` : sql`, expires_at = ${expiresAt}`,
    searchWords === undefined ? sql`` : sql`, search_words = ${searchWords}`,
  ];
  const [changed] = await query<Inbox>(
    db,
    sql`update inboxes i set revision = revision + 1, updated_at = ${updatedAt} ${sql.join(changes, sql` `)}
        where i.id = ${id} and ${isReached(reach)} returning ${inboxFields}`,
  );
  return changed;
}

/** The metadata after a change. Its values are strings, so the only nulls are those of removed keys. */
function merged(metadata: MetadataPatch): SQL {
  return metadata === null ? sql`'{}'` : sql`jsonb_strip_nulls(metadata || ${jsonb(metadata)})`;
}

/** Adds an alias to an inbox that the caller has locked, or removes it, and returns the inbox. */
export async function markAlias(
  tx: Db,
  id: string,
  { username, isAdded, at }: { username: string; isAdded: boolean; at: Date },
): Promise<Inbox> {
  const aliases = isAdded ? sql`array_append(aliases, ${username})` : sql`array_remove(aliases, ${username})`;
  const [changed] = await query<Inbox>(
    tx,
    sql`update inboxes i set aliases = ${aliases}, updated_at = ${at}, revision = revision + 1 where i.id = ${id}
        returning ${inboxFields}`,
  );
  if (changed === undefined) throw new Error("Cannot change aliases: the locked inbox is gone");
  return changed;
}

/** Locks an inbox, and returns it; undefined if there is none within the reach. */
export async function lockInbox(tx: Db, reach: Reach, id: string): Promise<Inbox | undefined> {
  const [inbox] = await query<Inbox>(
    tx,
    sql`select ${inboxFields} from inboxes i where i.id = ${id} and ${isReached(reach)} for update`,
  );
  return inbox;
}

export interface ExpiredInbox {
  id: string;
  accountId: string;
}

/** Lists inboxes whose time is over, by id, behind the id `after`. */
export function listExpiredInboxes(
  db: Db,
  { now, after, limit }: { now: Date; after: string; limit: number },
): Promise<ExpiredInbox[]> {
  return query(
    db,
    sql`select id, account_id as "accountId" from inboxes
        where expires_at <= ${now} and deleted_at is null and id > ${after} order by id limit ${limit}`,
  );
}

/**
 * Marks an inbox as deleted. Returns false if there is none within the reach, if it is already deleted, or if it has not expired by
 * `expiredBy`, if that is given.
 */
export async function markInboxDeleted(
  tx: Db,
  reach: Reach,
  id: string,
  deletedAt: Date,
  expiredBy?: Date,
): Promise<boolean> {
  const hasExpired = expiredBy === undefined ? sql`` : sql`and i.expires_at <= ${expiredBy}`;
  const deleted = await query(
    tx,
    sql`update inboxes i set deleted_at = ${deletedAt}, revision = revision + 1
        where i.id = ${id} and ${isReached(reach)} ${hasExpired} returning 1`,
  );
  return deleted.length === 1;
}

/** Reserves addresses that an inbox had. */
export async function markAddressesHeld(
  tx: Db,
  inboxId: string,
  usernames: readonly string[],
  heldUntil: Date,
): Promise<void> {
  await query(
    tx,
    sql`update addresses set held_until = ${heldUntil}
        where username = any(${arrayOf("text", usernames)}) and inbox_id = ${inboxId}`,
  );
}

/** Locks inboxes, and returns their totals. It locks in the order of ids, so that two batches that share inboxes cannot deadlock. */
export function lockInboxes(tx: Db, ids: readonly string[]): Promise<InboxTotals[]> {
  return query(
    tx,
    sql`select ${totalsOf("i")}
        from inboxes i where id in (select json_array_elements_text(${JSON.stringify(ids)}::json)) and deleted_at is null
        order by id for update`,
  );
}

/** Locks those of these inboxes that no other transaction has locked. Returns the ids of the other ones. */
export async function lockFreeInboxes(db: Db, ids: readonly string[]): Promise<string[]> {
  const held = await query<{ id: string }>(
    db,
    sql`with asked as materialized (select json_array_elements_text(${JSON.stringify(ids)}::json) as id),
        free as materialized (select id from inboxes where id in (select id from asked) and deleted_at is null
          order by id for update skip locked)
        select id from inboxes where id in (select id from asked) and deleted_at is null and id not in (select id from free)`,
  );
  return held.map(({ id }) => id);
}

const totalsAssigned = assigned(inboxes, inboxTotals);

/** Writes the totals of inboxes that the caller has locked. */
export async function markInboxTotals(tx: Db, states: readonly InboxTotals[]): Promise<void> {
  if (states.length === 0) return;
  await query(
    tx,
    sql`update inboxes set ${totalsAssigned}, revision = revision + 1
        from ${recordSet(inboxes, states, ["id", ...inboxTotals])} where inboxes.id = row.id`,
  );
}
