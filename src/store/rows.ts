import { getTableColumns, type SQL, sql } from "drizzle-orm";
import { getTableConfig, type PgColumn, type PgTable } from "drizzle-orm/pg-core";
import { type Db, query } from "./db.ts";

/**
 * Many rows in one statement with one parameter. The text of the statement depends on the table alone, so it is
 * prepared once for each connection, however many rows come; VALUES would be another statement for each count.
 */
export async function insertRows<T extends PgTable>(
  db: Db,
  table: T,
  rows: readonly T["$inferInsert"][],
  ending: SQL = sql``,
): Promise<void> {
  if (rows.length > 0) await query(db, insertion(table, rows, ending));
}

/** The statement of `insertRows`, to be part of another. Every row names the same columns; what none names keeps the table's default. */
export function insertion<T extends PgTable>(table: T, rows: readonly T["$inferInsert"][], ending: SQL = sql``): SQL {
  const first = rows[0] ?? {};
  const named = columnsOf(table).filter(([name]) => name in first);
  const into = sql.raw(named.map(([, column]) => `"${columnName(column)}"`).join(", "));
  const from = sql.raw(named.map(([name]) => `row."${name}"`).join(", "));
  return sql`insert into ${sql.identifier(getTableConfig(table).name)} (${into}) select ${from} from ${recordSet(table, rows, Object.keys(first))}${ending}`;
}

/** The same, passing over rows whose key is there already. */
export function insertNewRows<T extends PgTable>(db: Db, table: T, rows: readonly T["$inferInsert"][]): Promise<void> {
  return insertRows(db, table, rows, sql` on conflict do nothing`);
}

/** Values as a set of rows called `row`, with the names of `names` and the types that `table` gives them. */
export function recordSet(table: PgTable, values: readonly object[], names: readonly string[]): SQL {
  const fields = columnsOf(table)
    .filter(([name]) => names.includes(name))
    .map(([name, column]) => `"${name}" ${column.getSQLType()}`);
  return sql`json_to_recordset(${JSON.stringify(values)}::json) as row(${sql.raw(fields.join(", "))})`;
}

function columnsOf(table: PgTable): [string, PgColumn][] {
  return Object.entries(getTableColumns(table));
}

/** As `casing: "snake_case"` names it. */
function columnName(column: PgColumn): string {
  return column.name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
