import { type SQL, sql } from "drizzle-orm";
import { arrayOf, type Db, query } from "../../database/db.ts";
import { withParents } from "../../domain/domains/domain-name.ts";
import { assigned, type Selected, selected } from "../columns.ts";
import { insertRow, insertRows, recordSet } from "../rows.ts";
import { domainKeys, domains } from "../schema.ts";

export type Domain = typeof domains.$inferSelect;
export type DomainKey = typeof domainKeys.$inferSelect;

const domainFields = selected(domains, "d");

/** A domain that is not deleted. */
const living = sql`d.deleted_at is null`;
/** A domain that nobody else can have: one row of a name, by the index `domains_holder`. */
const isHolder = sql`${living} and d.status in ('verified', 'failing')`;

/** Finds a domain of the account, or a shared one, by its id. */
export async function findDomain(db: Db, accountId: string, id: string): Promise<Domain | undefined> {
  const [domain] = await query<Domain>(
    db,
    sql`select ${domainFields} from domains d
        where d.id = ${id} and (d.account_id = ${accountId} or d.account_id is null) and ${living}`,
  );
  return domain;
}

/**
 * Finds the domain of the account, or the shared one, to which an address at this host belongs: the domain of that name, or the nearest one
 * above that takes names below it. Undefined also if a nearer name is proven by somebody else.
 */
export async function findDomainForHost(db: Db, accountId: string, host: string): Promise<Domain | undefined> {
  const names = arrayOf("text", withParents(host));
  const [domain] = await query<Domain>(
    db,
    sql`select ${domainFields} from domains d
        where d.name = any(${names}) and (d.account_id = ${accountId} or d.account_id is null) and ${living}
          and (d.name = ${host} or d.subdomains) and not exists (
            select from domains h where h.name = any(${names}) and length(h.name) > length(d.name)
              and h.deleted_at is null and h.status in ('verified', 'failing'))
        order by length(d.name) desc, d.account_id limit 1`,
  );
  return domain;
}

/** Locks a domain until the end of the transaction, so that its state and the inboxes at it cannot change in between. */
export async function lockDomain(tx: Db, id: string): Promise<Domain | undefined> {
  const [domain] = await query<Domain>(
    tx,
    sql`select ${domainFields} from domains d where d.id = ${id} and ${living} for no key update`,
  );
  return domain;
}

/**
 * Finds the proven domain with the nearest name: the host itself, or one above it. Only this one can have addresses at the host, if it takes
 * names below it.
 */
export async function findNearestHolder(db: Db, host: string): Promise<Domain | undefined> {
  const [nearest] = await query<Domain>(
    db,
    sql`select ${domainFields} from domains d where d.name = any(${arrayOf("text", withParents(host))}) and ${isHolder}
        order by length(d.name) desc limit 1`,
  );
  return nearest;
}

/** A proven domain with the facts that mail needs. Of the records it has those for MX. */
export type ProvenDomain = Pick<Domain, "id" | "name" | "status" | "returnPath" | "subdomains" | "recordsSeen">;
export type ProvenDomains = ReadonlyMap<string, ProvenDomain>;

/** Lists at most this many proven domains, by their names. */
export async function listProvenDomains(db: Db, most: number): Promise<ProvenDomains> {
  const found = await query<ProvenDomain>(
    db,
    sql`select ${provenFields}, jsonb_path_query_array(d.records_seen, '$[*] ? (@.purpose == "mx")') as "recordsSeen"
        from domains d where ${isHolder} limit ${most}`,
  );
  return new Map(found.map((domain) => [domain.name, domain]));
}

const provenFields = selected(domains, "d", ["id", "name", "status", "returnPath", "subdomains"]);

/**
 * The domain of a message that goes out, with the key that signs it, sealed under `rowOfDomainKey`. Both are null if the keys are destroyed:
 * a deleted domain keeps them as long as accepted mail waits.
 */
export type DomainOfMessage = Selected<typeof fieldsOfMessage> &
  Pick<Domain, "status"> & { messageId: string; selector: string | null; privateKey: string | null };

const fieldsOfMessage = selected(domains, "d", ["id", "name", "returnPath", "recordsSeen"]);

/** Lists the domains of messages. Those from MAIL_DOMAIN have none. */
export async function listDomainsOfMessages(db: Db, messageIds: readonly string[]): Promise<DomainOfMessage[]> {
  if (messageIds.length === 0) return [];
  return query<DomainOfMessage>(
    db,
    sql`select ${fieldsOfMessage}, ${statusFor(sql`split_part(i.username, '@', 2)`)} as status, asked.id as "messageId",
          k.selector, k.private_key as "privateKey"
        from unnest(${arrayOf("text", messageIds)}) as asked (id)
        cross join lateral (select inbox_id from messages where id = asked.id limit 1) m
        cross join lateral (select username, domain_id from inboxes where id = m.inbox_id limit 1) i
        join domains d on d.id = i.domain_id
        left join domain_keys k on k.domain_id = d.id and k.state = 'active'`,
  );
}

/** The domain of an inbox, and whether it has a key that signs mail. */
export type DomainOfInbox = Selected<typeof fieldsOfMessage> &
  Pick<Domain, "status"> & { inboxId: string; hasKey: boolean };

/** Lists the domains of inboxes. Those at MAIL_DOMAIN have none. */
export async function listDomainsOfInboxes(db: Db, inboxIds: readonly string[]): Promise<DomainOfInbox[]> {
  if (inboxIds.length === 0) return [];
  return query<DomainOfInbox>(
    db,
    sql`select ${fieldsOfMessage}, ${statusFor(sql`split_part(i.username, '@', 2)`)} as status, i.id as "inboxId",
          exists (select from domain_keys k where k.domain_id = d.id and k.state = 'active') as "hasKey"
        from inboxes i join domains d on d.id = i.domain_id where i.id = any(${arrayOf("text", inboxIds)})`,
  );
}

/**
 * The domain of the inbox `i` with its status, as JSON; null for MAIL_DOMAIN. Only the nearest proven name has an address, so for an inbox
 * below a domain the status is `failed` while a nearer name is proven by itself. `addresses` are the usernames that the inbox still has: it
 * lacks those that another account has taken while the domain was its own. The test of the id spares other inboxes the look-up.
 */
export const domainOfInbox = sql`case when i.domain_id is not null then (
    select json_build_object('name', d.name, 'status', ${statusFor(sql`split_part(i.username, '@', 2)`)},
      'addresses', array(select a.username from addresses a where a.username = any(i.aliases || i.username) and a.inbox_id = i.id
        and a.held_until is null))
    from domains d where d.id = i.domain_id) end`;

/** The status of the domain `d` for addresses at a host. */
function statusFor(host: SQL): SQL {
  return sql`case when ${host} <> d.name and exists (
      select from generate_subscripts(string_to_array(${host}, '.'), 1) as label (at)
      join domains h on h.name = array_to_string((string_to_array(${host}, '.'))[label.at:], '.')
      where length(h.name) > length(d.name) and h.deleted_at is null and h.status in ('verified', 'failing'))
    then 'failed' else d.status end`;
}

/** Inserts a domain. Returns false and writes nothing if the account has a domain of that name, or if a proven one would be the second. */
export function insertDomain(tx: Db, domain: Domain): Promise<boolean> {
  return insertRow(tx, domains, domain);
}

export function insertDomainKey(tx: Db, key: DomainKey): Promise<void> {
  return insertRows(tx, domainKeys, [key]);
}

/** Lists the keys of domains. */
export function listDomainKeys(db: Db, domainIds: readonly string[]): Promise<DomainKey[]> {
  return query(
    db,
    sql`select ${keyFields} from domain_keys k where k.domain_id = any(${arrayOf("text", domainIds)}) order by k.made_at`,
  );
}

const keyFields = selected(domainKeys, "k");

/** Whether a shared domain has this name. */
export async function isSharedDomain(db: Db, name: string): Promise<boolean> {
  const found = await query(
    db,
    sql`select from domains d where d.name = ${name} and d.account_id is null and ${living} limit 1`,
  );
  return found.length > 0;
}

/** The owner of domains: an account, or null for the shared ones. */
export type DomainOwner = string | null;

function isOf(owner: DomainOwner) {
  return sql`d.account_id is not distinct from ${owner} and ${living}`;
}

export async function findDomainByName(db: Db, owner: DomainOwner, name: string): Promise<Domain | undefined> {
  const [domain] = await query<Domain>(
    db,
    sql`select ${domainFields} from domains d where d.name = ${name} and ${isOf(owner)} limit 1`,
  );
  return domain;
}

export async function countDomains(tx: Db, owner: DomainOwner): Promise<number> {
  const [counted] = await query<{ count: number }>(tx, sql`select count(*) from domains d where ${isOf(owner)}`);
  return counted?.count ?? 0;
}

/** A domain with the number of living inboxes that the owner has in it. */
export type CountedDomain = Domain & { inboxCount: number };

/** The inboxes of an account in a domain `d`, or all of them without an account. */
function inboxCount(accountId: string | null) {
  const ofAccount = accountId === null ? sql`` : sql`and i.account_id = ${accountId}`;
  return sql`(select count(*) from inboxes i where i.domain_id = d.id and i.deleted_at is null ${ofAccount}) as "inboxCount"`;
}

export interface DomainPage {
  owner: DomainOwner;
  status: Domain["status"] | undefined;
  limit: number;
  offset: number;
}

/** Lists the domains of an account, newest first, and then the shared ones; without an account the shared ones alone. */
export function listDomains(db: Db, page: DomainPage): Promise<CountedDomain[]> {
  return query(
    db,
    sql`select ${domainFields}, ${inboxCount(page.owner)} from domains d where ${onPage(page)}
        order by d.account_id is null, d.id desc limit ${page.limit} offset ${page.offset}`,
  );
}

export async function countListedDomains(db: Db, page: DomainPage): Promise<number> {
  const [counted] = await query<{ total: number }>(
    db,
    sql`select count(*) as total from domains d where ${onPage(page)}`,
  );
  return counted?.total ?? 0;
}

function onPage({ owner, status }: DomainPage) {
  const ofStatus = status === undefined ? sql`` : sql`and d.status = ${status}`;
  return sql`(d.account_id = ${owner} or d.account_id is null) and ${living} ${ofStatus}`;
}

/** Finds a domain as `listDomains` lists it. */
export async function findCountedDomain(db: Db, owner: DomainOwner, id: string): Promise<CountedDomain | undefined> {
  const [domain] = await query<CountedDomain>(
    db,
    sql`select ${domainFields}, ${inboxCount(owner)} from domains d
        where d.id = ${id} and (d.account_id = ${owner} or d.account_id is null) and ${living}`,
  );
  return domain;
}

/** Locks the domain that has proven this name, until the end of the transaction. */
export async function lockHolder(tx: Db, name: string): Promise<Domain | undefined> {
  const [domain] = await query<Domain>(
    tx,
    sql`select ${domainFields} from domains d where d.name = ${name} and ${isHolder} for update`,
  );
  return domain;
}

/** Finds the domain that has proven this name. */
export async function findHolder(db: Db, name: string): Promise<Domain | undefined> {
  const [domain] = await query<Domain>(
    db,
    sql`select ${domainFields} from domains d where d.name = ${name} and ${isHolder}`,
  );
  return domain;
}

/**
 * Takes up to `limit` domains whose check is due, longest due first. If this process dies, they are due again at the end of the lease. The
 * select is a CTE because the planner may run a limited subquery again, and update more rows than it chose.
 */
export function claimDueDomains(
  db: Db,
  { now, leaseMs, limit }: { now: Date; leaseMs: number; limit: number },
): Promise<Domain[]> {
  return query(
    db,
    sql`with due as materialized (
          select id from domains where next_check_at <= ${now} and deleted_at is null
            and (leased_until is null or leased_until <= ${now})
          order by next_check_at limit ${limit} for update skip locked
        )
        update domains d set leased_until = ${new Date(now.getTime() + leaseMs)} from due where d.id = due.id
        returning ${domainFields}`,
  );
}

/** Gives back the leases of domains that were not checked. */
export async function releaseDomains(db: Db, ids: readonly string[]): Promise<void> {
  await query(db, sql`update domains set leased_until = null where id = any(${arrayOf("text", ids)})`);
}

/** Notes that a request has a domain checked now. Returns false if one did so after `earliest`. */
export async function markDomainAsked(db: Db, id: string, at: Date, earliest: Date): Promise<boolean> {
  const marked = await query(
    db,
    sql`update domains d set asked_at = ${at} where d.id = ${id} and ${living}
          and (d.asked_at is null or d.asked_at <= ${earliest}) returning 1`,
  );
  return marked.length === 1;
}

const checkable = [
  "status",
  "subdomains",
  "zone",
  "recordsSeen",
  "checkedAt",
  "nextCheckAt",
  "missingSince",
  "pendingSince",
  "verifiedAt",
  "failsAt",
  "failedReason",
] as const;

/** Writes the changeable fields of a domain, and ends the lease of its check. */
export async function markDomainChanged(tx: Db, domain: Domain): Promise<void> {
  await query(
    tx,
    sql`update domains d set ${assigned(domains, checkable)}, leased_until = null
        from ${recordSet(domains, [domain], ["id", ...checkable])} where d.id = row.id`,
  );
}

/** Makes the next key of a domain its active one. The old one retires until `retiresAt`. */
export async function markKeyReplaced(tx: Db, domainId: string, retiresAt: Date): Promise<void> {
  await query(
    tx,
    sql`update domain_keys set state = 'retiring', retires_at = ${retiresAt} where domain_id = ${domainId} and state = 'active'`,
  );
  await query(tx, sql`update domain_keys set state = 'active' where domain_id = ${domainId} and state = 'next'`);
}

/** Changes for how many days the active key stays after the next one has replaced it, or until when a retiring key stays. */
export async function markRetirement(
  tx: Db,
  { domainId, selector, retireDays, retiresAt }: Pick<DomainKey, "domainId" | "selector" | "retireDays" | "retiresAt">,
): Promise<void> {
  await query(
    tx,
    sql`update domain_keys set retire_days = ${retireDays}, retires_at = ${retiresAt}
        where domain_id = ${domainId} and selector = ${selector}`,
  );
}

/** Destroys the keys of domains that have retired. */
export async function removeRetiredKeys(db: Db, now: Date): Promise<number> {
  const removed = await query(
    db,
    sql`delete from domain_keys where state = 'retiring' and retires_at <= ${now} returning 1`,
  );
  return removed.length;
}

/** Counts the living inboxes of all accounts in a domain, and those of them whose address is at a name below it. */
export async function countInboxesIn(tx: Db, { id, name }: Domain): Promise<{ all: number; below: number }> {
  const [counted] = await query<{ all: number; below: number }>(
    tx,
    sql`select count(*) as all, count(*) filter (where right(i.username, ${name.length + 1}) <> ${`@${name}`}) as below
        from inboxes i where i.domain_id = ${id} and i.deleted_at is null`,
  );
  return counted ?? { all: 0, below: 0 };
}

export async function markDomainDeleted(tx: Db, id: string, deletedAt: Date): Promise<void> {
  await query(tx, sql`update domains set deleted_at = ${deletedAt}, next_check_at = null where id = ${id}`);
}

/** Destroys the keys of deleted domains whose mail is all out: each of their inboxes is empty, and gets no mail any more. */
export async function removeKeysOfDeletedDomains(db: Db): Promise<number> {
  const removed = await query(
    db,
    sql`delete from domain_keys k using domains d where d.id = k.domain_id and d.deleted_at is not null
          and not exists (select from inboxes i where i.domain_id = d.id and i.message_count > 0)
        returning 1`,
  );
  return removed.length;
}

/** Deletes the rows of deleted domains that no key and no inbox names. */
export async function removeDeletedDomains(db: Db): Promise<number> {
  const removed = await query(
    db,
    sql`delete from domains d where d.deleted_at is not null
          and not exists (select from domain_keys k where k.domain_id = d.id)
          and not exists (select from inboxes i where i.domain_id = d.id)
        returning 1`,
  );
  return removed.length;
}

/** Counts living domains by status. */
export function countDomainsByStatus(db: Db): Promise<{ status: Domain["status"]; count: number }[]> {
  return query(db, sql`select d.status, count(*) from domains d where ${living} group by d.status`);
}
