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
  const { into, set } = shapeOf(table, Object.keys(rows[0] ?? {}));
  return sql`${into}${JSON.stringify(rows)}${set}${ending}`;
}

/** The same, passing over rows whose key is there already. */
export function insertNewRows<T extends PgTable>(db: Db, table: T, rows: readonly T["$inferInsert"][]): Promise<void> {
  return insertRows(db, table, rows, sql` on conflict do nothing`);
}

/** Values as a set of rows called `row`, with the names of `names` and the types that `table` gives them. */
export function recordSet(table: PgTable, values: readonly object[], names: readonly string[]): SQL {
  return sql`json_to_recordset(${JSON.stringify(values)}${shapeOf(table, names).set}`;
}

/** What stands around the parameter. Written once: a busy service says it some thousand times a second. */
interface Shape {
  /** `insert into … select … from json_to_recordset(` */
  into: SQL;
  /** `::json) as row(…)` */
  set: SQL;
}

const shapes = new WeakMap<PgTable, Map<string, Shape>>();

function shapeOf(table: PgTable, names: readonly string[]): Shape {
  const ofTable = shapes.get(table) ?? new Map<string, Shape>();
  shapes.set(table, ofTable);
  const key = names.join();
  const known = ofTable.get(key);
  if (known !== undefined) return known;
  const columns = Object.entries(getTableColumns(table)).filter(([name]) => names.includes(name));
  const list = (each: (name: string, column: PgColumn) => string) =>
    columns.map(([name, column]) => each(name, column)).join(", ");
  const into = list((_, column) => `"${columnName(column)}"`);
  const selected = list((name) => `row."${name}"`);
  const typed = list((name, column) => `"${name}" ${column.getSQLType()}`);
  const shape = {
    into: sql.raw(`insert into "${getTableConfig(table).name}" (${into}) select ${selected} from json_to_recordset(`),
    set: sql.raw(`::json) as row(${typed})`),
  };
  ofTable.set(key, shape);
  return shape;
}

/** As `casing: "snake_case"` names it. */
function columnName(column: PgColumn): string {
  return column.name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
