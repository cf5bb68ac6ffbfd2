import { type SQL, sql } from "drizzle-orm";
import { arrayOf, type Db, query } from "../../database/db.ts";
import { withParents } from "../../domain/domains/domain-name.ts";
import { selected } from "../columns.ts";
import { insertRow, insertRows } from "../rows.ts";
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
 * Finds the proven domain that has the addresses at this host. Only the nearest proven name counts: the host itself, or a name above it that
 * takes names below it.
 */
export async function findHolderOfHost(db: Db, host: string): Promise<Domain | undefined> {
  const nearest = await findNearestHolder(db, host);
  return nearest?.name === host || nearest?.subdomains ? nearest : undefined;
}

/** Finds the proven domain with the nearest name: the host itself, or one above it. */
export async function findNearestHolder(db: Db, host: string): Promise<Domain | undefined> {
  const [nearest] = await query<Domain>(
    db,
    sql`select ${domainFields} from domains d where d.name = any(${arrayOf("text", withParents(host))}) and ${isHolder}
        order by length(d.name) desc limit 1`,
  );
  return nearest;
}

/** Lists the names of at most this many proven domains. */
export async function listProvenNames(db: Db, most: number): Promise<ReadonlySet<string>> {
  const names = await query<{ name: string }>(db, sql`select name from domains d where ${isHolder} limit ${most}`);
  return new Set(names.map(({ name }) => name));
}

/** A domain with the selector and the private key by which its mail is signed. The key is sealed under `rowOfDomainKey`. */
export type SigningDomain = Domain & Pick<DomainKey, "selector" | "privateKey">;

/** Finds a domain with its active key. A deleted one is found too as long as it has a key, because accepted mail still goes out. */
export async function findSigningDomain(db: Db, id: string): Promise<SigningDomain | undefined> {
  const [domain] = await query<SigningDomain>(
    db,
    sql`select ${domainFields}, k.selector, k.private_key as "privateKey" from domains d
        join domain_keys k on k.domain_id = d.id and k.state = 'active' where d.id = ${id}`,
  );
  return domain;
}

/**
 * The domain of the inbox `i` with its status, as JSON; null for MAIL_DOMAIN. Only the nearest proven name has an address, so for an inbox
 * below a domain the status is `failed` while a nearer name is proven by itself. The test of the id spares other inboxes the look-up.
 */
export const domainOfInbox = sql`case when i.domain_id is not null then (
    select json_build_object('name', d.name, 'status', ${statusFor(sql`split_part(i.username, '@', 2)`)})
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
