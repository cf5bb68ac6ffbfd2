import { type SQL, sql } from "drizzle-orm";
import type { PgTable } from "drizzle-orm/pg-core";
import { arrayOf, type Db, query } from "../../database/db.ts";
import { columnName, columnsOf } from "../columns.ts";
import { recordSet } from "../rows.ts";
import * as schema from "../schema.ts";
import { nameOf, type PortableLine, type PortableRow } from "./portable.ts";

/** A field whose value may be in one row only: what it names, and which rows it concerns. */
interface Unique {
  table: PgTable;
  field: string;
  noun: string;
  /** The field that is shown in place of this one. */
  shown?: string;
  concerns?: (row: PortableRow) => boolean;
  among?: SQL;
}

const uniques: readonly Unique[] = [
  { table: schema.accounts, field: "id", noun: "account" },
  { table: schema.accounts, field: "name", noun: "account name" },
  { table: schema.apiKeys, field: "id", noun: "key" },
  { table: schema.apiKeys, field: "hash", noun: "key", shown: "id" },
  { table: schema.domains, field: "id", noun: "domain" },
  {
    table: schema.domains,
    field: "name",
    noun: "domain",
    concerns: ({ deletedAt, status }) => deletedAt === null && (status === "verified" || status === "failing"),
    among: sql`t.deleted_at is null and t.status in ('verified', 'failing')`,
  },
  { table: schema.grants, field: "id", noun: "connected app" },
  { table: schema.endpoints, field: "id", noun: "webhook" },
  { table: schema.inboxes, field: "id", noun: "inbox" },
  { table: schema.addresses, field: "username", noun: "address" },
];

/** Lists the rows of a line that this database has already, in words such as `address ada`. */
export async function listCollisions(db: Db, { table: name, rows }: PortableLine): Promise<string[]> {
  const found: string[] = [];
  for (const { table, field, noun, shown = field, concerns = () => true, among = sql`true` } of uniques) {
    const concerned = rows.filter(concerns);
    if (nameOf(table) !== name || concerned.length === 0) continue;
    const column = sql.raw(columnName(columnOf(table, field)));
    const taken = await query<{ shown: string }>(
      db,
      sql`select row.${sql.identifier(shown)} as shown from ${recordSet(table, concerned, [...new Set([field, shown])])}
          where exists (select from ${sql.identifier(name)} t where t.${column} = row.${sql.identifier(field)} and ${among})`,
    );
    found.push(...taken.map((each) => `${noun} ${each.shown}`));
  }
  return found;
}

function columnOf(table: PgTable, field: string) {
  const [column] = Object.values(columnsOf(table, [field]));
  if (column === undefined) throw new Error(`Cannot compare rows: the table has no ${field}`);
  return column;
}

/** Finds the shared domains with these names. */
export async function listSharedDomains(db: Db, names: readonly string[]): Promise<{ id: string; name: string }[]> {
  return query(
    db,
    sql`select id, name from domains
        where account_id is null and deleted_at is null and name = any(${arrayOf("text", names)})`,
  );
}
