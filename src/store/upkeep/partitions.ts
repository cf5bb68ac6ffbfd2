import { type SQL, sql } from "drizzle-orm";
import { arrayOf, type Db, query } from "../../database/db.ts";
import {
  eventTables,
  firstPartitionName,
  type Partition,
  type Partitionable,
  type Partitions,
  partitionable,
  partitionableTables,
  partitionName,
} from "../../domain/partitions.ts";
import { lockNumber } from "../locks.ts";

/** An instant between two partitions, and the bound of ids there. */
export interface Boundary {
  at: Date;
  bound: string;
}

/**
 * Lists the partitions of the tables that have any, the oldest first. The database is the only place that knows them: no setting says which
 * tables are partitioned, or how.
 */
export async function listPartitions(db: Db): Promise<Partitions> {
  const rows = await query<{ table: Partitionable; name: string; bound: string }>(
    db,
    sql`select parent.relname::text as "table", child.relname::text as name, pg_get_expr(child.relpartbound, child.oid) as bound
        from pg_class parent join pg_inherits i on i.inhparent = parent.oid join pg_class child on child.oid = i.inhrelid
        where parent.relkind = 'p' and parent.relnamespace = current_schema()::regnamespace
        and parent.relname::text = any(${arrayOf("text", partitionableTables)})`,
  );
  const found = new Map<Partitionable, Partition[]>();
  for (const { table, name, bound } of rows) {
    const partitions = found.get(table) ?? [];
    partitions.push({ name, ...boundsOf(name, bound) });
    found.set(table, partitions);
  }
  for (const partitions of found.values()) partitions.sort((one, other) => (one.to < other.to ? -1 : 1));
  return found;
}

function boundsOf(name: string, bound: string): Pick<Partition, "from" | "to"> {
  const [, from, to] = /^FOR VALUES FROM \((?:MINVALUE|'([^']*)')\) TO \('([^']*)'\)$/.exec(bound) ?? [];
  if (to === undefined) throw new Error(`Cannot read the bounds of partition ${name}: ${bound}`);
  return { from, to };
}

/** Takes the right to add partitions until the end of the transaction. */
export async function lockExtending(tx: Db): Promise<void> {
  await query(tx, sql`select pg_advisory_xact_lock(${lockNumber("extending")})`);
}

/**
 * Lists what stands in the way of partitioning a table. Postgres cannot keep a key unique over partitions unless it has the partition key,
 * and the other things would stay with the first partition, because they belong to a table and not to its name.
 */
export async function listObstacles(db: Db, table: Partitionable): Promise<string[]> {
  const { key } = partitionable[table];
  const rows = await query<{ obstacle: string }>(
    db,
    sql`with t as (select to_regclass(${table})::oid as oid)
        select 'the unique key ' || i.indexrelid::regclass || ' is without ' || ${key} as obstacle from pg_index i, t
          where i.indrelid = t.oid and (i.indisunique or i.indisexclusion) and not exists (
            select from pg_attribute a where a.attrelid = t.oid and a.attname = ${key} and a.attnum = any(i.indkey::int2[]))
        union all select 'the foreign key ' || conname || ' of ' || conrelid::regclass from pg_constraint, t
          where contype = 'f' and t.oid in (conrelid, confrelid)
        union all select 'the trigger ' || tgname from pg_trigger, t where tgrelid = t.oid and not tgisinternal
        union all select 'the policy ' || polname from pg_policy, t where polrelid = t.oid
        union all select 'the publication ' || pubname from pg_publication_rel r join pg_publication p on p.oid = r.prpubid, t
          where r.prrelid = t.oid
        union all select distinct 'the view ' || r.ev_class::regclass from pg_depend d join pg_rewrite r on r.oid = d.objid, t
          where d.classid = 'pg_rewrite'::regclass and d.refclassid = 'pg_class'::regclass and d.refobjid = t.oid
        union all select distinct 'the function ' || d.objid::regprocedure from pg_depend d, t
          where d.classid = 'pg_proc'::regclass and d.refclassid = 'pg_class'::regclass and d.refobjid = t.oid
        union all select 'the table ' || inhrelid::regclass || ', which inherits from it' from pg_inherits, t where inhparent = t.oid`,
  );
  return rows.map(({ obstacle }) => obstacle);
}

/** Whether a table has a row with an id at or above a bound. */
export async function hasRowsFrom(db: Db, table: Partitionable, bound: string): Promise<boolean> {
  const found = await query(
    db,
    sql`select from ${sql.identifier(table)} where ${sql.identifier(partitionable[table].key)} >= ${bound} limit 1`,
  );
  return found.length > 0;
}

/**
 * Makes a table refuse ids at or above a bound. This is the condition of its partition: so Postgres does not read the rows when the table
 * becomes one, while all statements wait. Existing rows are not checked yet. Replaces a bound that an attempt has left.
 */
export async function addBound(tx: Db, table: Partitionable, bound: string): Promise<void> {
  await lockFromChanges(tx, [table]);
  await lockFromAll(tx, [table]);
  const { key } = partitionable[table];
  const name = boundOf(table);
  await tx.script(
    `alter table ${table} drop constraint if exists ${name}, add constraint ${name} check (${key} < ${quoted(bound)}) not valid`,
  );
}

/**
 * Checks all rows of a table against its bound. Statements go on meanwhile. The event log shows nothing new, because the transaction has an
 * id from its beginning. Fails if it takes longer than `mostMs`.
 */
export async function validateBound(tx: Db, table: Partitionable, mostMs: number): Promise<void> {
  const timeoutMs = Math.floor(Math.min(mostMs, longestTimeoutMs));
  await tx.script(
    `set local statement_timeout = ${timeoutMs}; alter table ${table} validate constraint ${boundOf(table)}`,
  );
}

export async function removeBound(tx: Db, table: Partitionable): Promise<void> {
  await lockFromChanges(tx, [table]);
  await lockFromAll(tx, [table]);
  await tx.script(`alter table ${table} drop constraint if exists ${boundOf(table)}`);
}

/** Lists the tables that have a bound and are not partitioned: the process that was to do it has died, or does it now. */
export async function listBounded(db: Db): Promise<Partitionable[]> {
  const rows = await query<{ table: Partitionable }>(
    db,
    sql`select t.relname::text as "table" from pg_constraint c join pg_class t on t.oid = c.conrelid
        where c.contype = 'c' and t.relkind = 'r' and not t.relispartition and t.relnamespace = current_schema()::regnamespace
        and t.relname::text = any(${arrayOf("text", partitionableTables)}) and c.conname::text = t.relname::text || '_partition_bound'`,
  );
  return rows.map(({ table }) => table);
}

/** The longest time limit that Postgres knows. */
const longestTimeoutMs = 2 ** 31 - 1;

const boundOf = (table: Partitionable) => `${table}_partition_bound`;

interface TableParts {
  owner: string;
  keys: { name: string; definition: string }[];
  indexes: { name: string; definition: string }[];
  grants: { privilege: string; role: string }[];
}

/**
 * Puts a partitioned table in the place of a table, which becomes its first partition with all of its rows and indexes. The new table gets
 * the names of the old one's keys and indexes, because later steps of the schema name them.
 */
export async function insertFirstPartition(tx: Db, table: Partitionable, to: Boundary): Promise<void> {
  await lockFromChanges(tx, [table]);
  const { owner, keys, indexes, grants } = await partsOf(tx, table);
  const first = firstPartitionName(table, to.at);
  await lockFromAll(tx, [table]);
  await tx.script(
    [
      `alter table ${table} rename to ${first}`,
      ...keys.map(({ name }, number) => `alter table ${first} rename constraint ${name} to ${first}_key_${number}`),
      ...indexes.map(({ name }, number) => `alter index ${name} rename to ${first}_${number}`),
      `create table ${table} (${likeTable(first)}) partition by range (${partitionable[table].key})`,
      `alter table ${table} drop constraint ${boundOf(table)}`,
      `alter table ${table} owner to ${owner}`,
      ...grants.map(({ privilege, role }) => `grant ${privilege} on ${table} to ${role}`),
      ...keys.map(({ name, definition }) => `alter table ${table} add constraint ${name} ${definition}`),
      ...indexes.map(({ definition }) => definition),
      `alter table ${table} attach partition ${first} for values from (minvalue) to (${quoted(to.bound)})`,
      `alter table ${first} drop constraint ${boundOf(table)}`,
    ].join(";\n"),
  );
}

/** Finds what a new table in the place of this one needs. The names are quoted where SQL needs it. */
async function partsOf(tx: Db, table: Partitionable): Promise<TableParts> {
  const [parts] = await query<TableParts>(
    tx,
    sql`with t as (select c.* from pg_class c where c.oid = to_regclass(${table})::oid),
          keys as (select quote_ident(conname) as name, pg_get_constraintdef(k.oid) as definition from pg_constraint k, t
            where k.conrelid = t.oid and k.contype in ('p', 'u', 'x')),
          indexes as (select quote_ident(c.relname) as name, pg_get_indexdef(c.oid) as definition
            from pg_index i join pg_class c on c.oid = i.indexrelid, t
            where i.indrelid = t.oid and not exists (
              select from pg_constraint k where k.conindid = c.oid and k.contype in ('p', 'u', 'x'))),
          grants as (select a.privilege_type as privilege,
              case a.grantee when 0 then 'public' else quote_ident(pg_get_userbyid(a.grantee)) end as role
            from t, aclexplode(t.relacl) a where a.grantee <> t.relowner)
        select quote_ident(pg_get_userbyid(relowner)) as owner,
          (select coalesce(json_agg(keys), '[]') from keys) as keys,
          (select coalesce(json_agg(indexes), '[]') from indexes) as indexes,
          (select coalesce(json_agg(grants), '[]') from grants) as grants
        from t`,
  );
  if (parts === undefined) throw new Error(`Cannot partition ${table}: there is no such table`);
  return parts;
}

/** Adds a partition after the last one. No statement waits: the new table is attached with a lock that only other changes need. */
export async function insertPartition(
  tx: Db,
  table: Partitionable,
  { from, to }: Record<"from" | "to", Boundary>,
): Promise<void> {
  const name = partitionName(table, from.at);
  await tx.script(
    `create table ${name} (${likeTable(table)});
     alter table ${table} attach partition ${name} for values from (${quoted(from.bound)}) to (${quoted(to.bound)})`,
  );
}

/**
 * Lists the last event of each account if it is below a bound, up to `most`. It must stay, so that a reader of the log can continue from it.
 * An account's last event only ever gets a later one, so the list may be older than its use. It makes one index look-up for each account and
 * partition.
 */
export async function listLastEventsBelow(own: Db, bound: string, most: number): Promise<string[]> {
  const rows = await query<{ id: string }>(
    own,
    sql`select last.id from accounts cross join lateral (
          select id from events where account_id = accounts.id order by written_by desc, id desc limit 1
        ) last where last.id < ${bound} limit ${most}`,
  );
  return rows.map(({ id }) => id);
}

/** Whether an import of an account was interrupted. Its events are not those of an account yet. */
export async function isImportOpen(db: Db): Promise<boolean> {
  return (await query(db, sql`select from settings where name like 'import of %' limit 1`)).length > 0;
}

/** Finds the oldest event that is in line to be delivered. The id of a delivery begins with that of its event. */
export async function findOldestInLine(db: Db): Promise<string | undefined> {
  const [oldest] = await query<{ id: string }>(
    db,
    sql`select subject_id as id from outbox where subject_id >= 'evt_' and subject_id < 'evt_~' order by subject_id limit 1`,
  );
  return oldest?.id;
}

/** Counts the rows of a table below a bound, up to `most`. */
export async function countRowsBelow(db: Db, table: Partitionable, bound: string, most: number): Promise<number> {
  const rows = await query(
    db,
    sql`select from ${sql.identifier(table)} where ${sql.identifier(partitionable[table].key)} < ${bound} limit ${most}`,
  );
  return rows.length;
}

export interface Folding {
  partitions: Partitions;
  to: Boundary;
}

/**
 * Replaces the partitions of events and deliveries up to a bound by new first ones, which get these events and their deliveries. Fails if a
 * delivery of an older event is in line.
 */
export async function foldEvents(tx: Db, folding: Folding, kept: readonly string[]): Promise<void> {
  const ids = arrayOf("text", kept);
  await copyToNew(tx, eventTables, folding, (key) => sql`${key} = any(${ids})`);
  await lockFromAll(tx, eventTables);
  const oldest = await findOldestInLine(tx);
  if (oldest !== undefined && oldest < folding.to.bound) {
    throw new Error(`Cannot drop partitions of events: a delivery of ${oldest.slice(0, 30)} is in line again`);
  }
  for (const table of eventTables) await replaceFirst(tx, table, folding);
}

/** Replaces the partitions of a table up to a bound by a new first one with all of their rows, which must be few. */
export async function foldTable(tx: Db, table: Partitionable, folding: Folding): Promise<void> {
  await copyToNew(tx, [table], folding, () => sql`true`, fewRowsMs);
  await lockFromAll(tx, [table]);
  await replaceFirst(tx, table, folding);
}

function namesBelow({ partitions, to }: Folding, table: Partitionable): string[] {
  return (partitions.get(table) ?? []).filter((each) => each.to <= to.bound).map(({ name }) => name);
}

/**
 * Makes the new first partitions. They have their rows and indexes before all statements wait. Until the end of the transaction, statements
 * wait that change rows of the old partitions, or that may do so by their plan.
 */
async function copyToNew(
  tx: Db,
  tables: readonly Partitionable[],
  folding: Folding,
  isKept: (key: SQL) => SQL,
  mostMs = usualMs,
): Promise<void> {
  const old = tables.flatMap((table) => namesBelow(folding, table));
  await lockFromChanges(tx, old);
  await lockSoon(tx, old, "share row exclusive", mostMs);
  const { at, bound } = folding.to;
  for (const table of tables) {
    const key = sql`t.${sql.identifier(partitionable[table].key)}`;
    const name = firstPartitionName(table, at);
    await tx.script(`create table ${name} (${likeTable(table)} including indexes)`);
    await query(
      tx,
      sql`insert into ${sql.identifier(name)} select t.* from ${sql.identifier(table)} t where ${key} < ${bound} and ${isKept(key)}`,
    );
  }
}

/** The files of the dropped tables are deleted after the commit and after its locks are released, so nothing waits for that. */
async function replaceFirst(tx: Db, table: Partitionable, folding: Folding): Promise<void> {
  const { at, bound } = folding.to;
  await tx.script(
    `drop table ${namesBelow(folding, table).join(", ")};
     alter table ${table} attach partition ${firstPartitionName(table, at)} for values from (minvalue) to (${quoted(bound)})`,
  );
}

/** Keeps vacuum and other changes away from tables, so that only statements are in the way of `lockFromAll`. Postgres ends a vacuum. */
async function lockFromChanges(tx: Db, tables: readonly string[]): Promise<void> {
  await tx.script(
    `set local lock_timeout = ${changesMs};
     lock table ${tables.join(", ")} in share update exclusive mode`,
  );
}

/** Stops all statements on tables until the end of the transaction. The lock of a partitioned table suffices for its partitions. */
async function lockFromAll(tx: Db, tables: readonly string[]): Promise<void> {
  await lockSoon(
    tx,
    tables.map((table) => `only ${table}`),
    "access exclusive",
  );
}

/** Statements that come later wait behind this one, so it gives up soon. `mostMs` is the limit of each further statement. */
async function lockSoon(tx: Db, tables: readonly string[], mode: string, mostMs = usualMs): Promise<void> {
  await tx.script(
    `set local lock_timeout = ${soonMs}; set local statement_timeout = ${mostMs};
     lock table ${tables.join(", ")} in ${mode} mode`,
  );
}

/** The longest wait for a lock that stops statements. Those that come later wait as long. */
const soonMs = 40;
/** Postgres ends an automatic vacuum that is in the way after a second (`deadlock_timeout`). */
const changesMs = 5_000;
/** The limit of each statement while others wait. Theirs is 6 s. */
const usualMs = 5_000;
/** The limit while few rows are copied. A table with deleted rows that are not vacuumed yet takes longer, and waits for a later hour. */
const fewRowsMs = 100;

const likeTable = (table: string) =>
  `like ${table} including defaults including constraints including storage including compression`;

/** A bound as a literal. Statements that change tables have no parameters. */
function quoted(bound: string): string {
  if (!/^[a-z0-9_]+$/.test(bound)) throw new Error(`Cannot partition: ${JSON.stringify(bound)} is no bound`);
  return `'${bound}'`;
}
