import { getTableColumns, type SQL, sql } from "drizzle-orm";
import { getTableConfig, type PgColumn, type PgTable } from "drizzle-orm/pg-core";
import { arrayOf, type Db, query } from "../database/db.ts";
import { columnName } from "./columns.ts";

/**
 * Inserts many rows by one statement. Its parameters are one JSON text, and an array for each column of long texts. The text of the
 * statement depends only on the table and the columns, so each connection prepares it once for any number of rows. With VALUES, each number
 * of rows would need another text.
 */
export async function insertRows<T extends PgTable>(
  db: Db,
  table: T,
  rows: readonly T["$inferInsert"][],
  ending: SQL = sql``,
): Promise<void> {
  if (rows.length > 0) await query(db, insertion(table, rows, ending));
}

/** The statement of `insertRows`, as a part of another one. All rows must have the same fields. Other columns get the table's default. */
export function insertion<T extends PgTable>(table: T, rows: readonly T["$inferInsert"][], ending: SQL = sql``): SQL {
  const names = Object.keys(rows[0] ?? {});
  return sql`${shapeOf(table, names).into}${recordSet(table, rows, names)}${ending}`;
}

/** Inserts rows and skips those whose key exists. */
export function insertNewRows<T extends PgTable>(db: Db, table: T, rows: readonly T["$inferInsert"][]): Promise<void> {
  return insertRows(db, table, rows, sql` on conflict do nothing`);
}

/** Inserts a row. Returns false and writes nothing if its key exists. */
export async function insertRow<T extends PgTable>(db: Db, table: T, row: T["$inferInsert"]): Promise<boolean> {
  const made = await query(db, insertion(table, [row], sql` on conflict do nothing returning 1`));
  return made.length === 1;
}

/** A set of rows called `row` with these values. `names` are the fields to take, which have the types of the columns of `table`. */
export function recordSet(table: PgTable, values: readonly object[], names: readonly string[]): SQL {
  return recordsOf(shapeOf(table, names).records, values);
}

/** A set of rows called `row` with these values, whose columns may be those of several tables (`recordsWith`). */
export function recordsOf({ set, inJson, apart, named }: Records, values: readonly object[]): SQL {
  const json = JSON.stringify(values.map((value) => recordOf(value, inJson)));
  if (apart.length === 0) return sql`${set.begin}${json}${set.end}${named}`;
  const columns = apart.map((name) => arrayOf("text", pluck(values, name)));
  return sql`rows from (${set.begin}${json}${set.end}, unnest(${sql.join(columns, comma)}))${named}`;
}

/** The fields of a row that are not null. Its instants are texts, because `JSON.stringify` takes twice as long for a value with a Date. */
function recordOf(value: object, names: readonly string[]): object {
  const record: Record<string, unknown> = {};
  for (const name of names) {
    const field = (value as Record<string, unknown>)[name];
    if (field !== null && field !== undefined) record[name] = field instanceof Date ? field.toISOString() : field;
  }
  return record;
}

/** The fields with long texts. They are separate parameters: as JSON they would be escaped here, and parsed by character in Postgres. */
const longTexts = ["bodyText", "bodyHtml"];
const comma = sql.raw(", ");

function pluck(values: readonly object[], name: string): (string | null)[] {
  return values.map((value) => (value as Record<string, string | null | undefined>)[name] ?? null);
}

interface Shape {
  /** `insert into … select … from ` */
  into: SQL;
  records: Records;
}

/** The text of a set of rows around its parameters. It is made once, because a busy service needs it thousands of times a second. */
export interface Records {
  set: {
    /** `json_to_recordset(` */
    begin: SQL;
    /** `::json)`, followed by the types of the columns if an `unnest` follows */
    end: SQL;
  };
  /** `as row(…)` */
  named: SQL;
  /** The fields in the JSON. */
  inJson: readonly string[];
  /** The fields that are not part of the JSON, but parameters of their own. */
  apart: readonly string[];
}

const shapes = new WeakMap<PgTable, Map<string, Shape>>();

function shapeOf(table: PgTable, names: readonly string[]): Shape {
  const ofTable = shapes.get(table) ?? new Map<string, Shape>();
  shapes.set(table, ofTable);
  const key = names.join();
  const known = ofTable.get(key);
  if (known !== undefined) return known;
  const columns = Object.entries(getTableColumns(table)).filter(([name]) => names.includes(name));
  const into = list(columns, (_, column) => `"${columnName(column)}"`);
  const selected = list(columns, (name) => `row."${name}"`);
  const shape = {
    into: sql.raw(`insert into "${getTableConfig(table).name}" (${into}) select ${selected} from `),
    records: recordsWith(Object.fromEntries(columns)),
  };
  ofTable.set(key, shape);
  return shape;
}

export function recordsWith(columns: Record<string, PgColumn>): Records {
  const all = Object.entries(columns);
  const isLong = ([name]: [string, PgColumn]) => longTexts.includes(name);
  const apart = all.filter(isLong);
  const inJson = all.filter((column) => !isLong(column));
  const typed = list(inJson, (name, column) => `"${name}" ${column.getSQLType()}`);
  const namesOnly = list([...inJson, ...apart], (name) => `"${name}"`);
  return {
    set: {
      begin: sql.raw("json_to_recordset("),
      end: sql.raw(apart.length === 0 ? "::json)" : `::json) as (${typed})`),
    },
    named: sql.raw(apart.length === 0 ? ` as row(${typed})` : ` as row(${namesOnly})`),
    inJson: inJson.map(([name]) => name),
    apart: apart.map(([name]) => name),
  };
}

function list(columns: [string, PgColumn][], each: (name: string, column: PgColumn) => string): string {
  return columns.map(([name, column]) => each(name, column)).join(", ");
}
