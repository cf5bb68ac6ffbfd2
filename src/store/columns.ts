import { getTableColumns, type SQL, sql } from "drizzle-orm";
import type { PgColumn, PgTable } from "drizzle-orm/pg-core";

/*
 * Makes lists of columns for statements from the schema, when the file with the statement is loaded. So no statement names all columns.
 */

/** The names of the fields that the rows of a table have in TypeScript. */
export type FieldOf<Table extends PgTable> = keyof Table["$inferSelect"] & string;

/** The type of the rows that a select list returns. */
export type Selected<Fields extends SQL> = Fields extends SQL<infer Row> ? Row : never;

/** A select list: `t.id, t.inbox_id as "inboxId"`. It has all columns of the table if `fields` is not given. */
export function selected<Table extends PgTable, Field extends FieldOf<Table> = FieldOf<Table>>(
  table: Table,
  of: string,
  fields: readonly Field[] = allFields(table) as Field[],
): SQL<Pick<Table["$inferSelect"], Field>> {
  return listed(table, fields, (field, column) => {
    const shown = column === field ? "" : ` as "${field}"`;
    return `${of}.${column}${shown}`;
  }) as SQL<Pick<Table["$inferSelect"], Field>>;
}

/** These fields of a row as one JSON object: `json_build_object('id', a.id)`. */
export function asJson<Table extends PgTable>(table: Table, of: string, fields: readonly FieldOf<Table>[]): SQL {
  const pairs = listed(table, fields, (field, column) => `'${field}', ${of}.${column}`);
  return sql`json_build_object(${pairs})`;
}

/** The columns of an insert: `id, inbox_id`. */
export function columnNames<Table extends PgTable>(table: Table, fields: readonly FieldOf<Table>[]): SQL {
  return listed(table, fields, (_, column) => column);
}

/** The values of an insert, from a set of rows: `row."id", row."inboxId"`. */
export function fieldsOf(row: string, fields: readonly string[]): SQL {
  return sql.raw(fields.map((field) => `${row}."${field}"`).join(", "));
}

/** The assignments of an update, from a set of rows called `row`: `is_read = row."isRead"`. */
export function assigned<Table extends PgTable>(table: Table, fields: readonly FieldOf<Table>[]): SQL {
  return listed(table, fields, (field, column) => `${column} = row."${field}"`);
}

/** The assignments of `on conflict … do update`, for an insert whose key may exist: `is_read = excluded.is_read`. */
export function replaced<Table extends PgTable>(table: Table, fields: readonly FieldOf<Table>[]): SQL {
  return listed(table, fields, (_, column) => `${column} = excluded.${column}`);
}

/** The name of a column in the database (`casing: "snake_case"`). */
export function columnName(column: PgColumn): string {
  return column.name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

export function allFields<Table extends PgTable>(table: Table): FieldOf<Table>[] {
  return Object.keys(getTableColumns(table)) as FieldOf<Table>[];
}

/** The columns of these fields, by field. Throws if the table has no such field. */
export function columnsOf(table: PgTable, fields: readonly string[]): Record<string, PgColumn> {
  const columns: Record<string, PgColumn> = getTableColumns(table);
  return Object.fromEntries(
    fields.map((field) => {
      const column = columns[field];
      if (column === undefined) throw new Error(`Cannot name a column: the table has none for ${field}`);
      return [field, column];
    }),
  );
}

function listed(table: PgTable, fields: readonly string[], each: (field: string, column: string) => string): SQL {
  const texts = Object.entries(columnsOf(table, fields)).map(([field, column]) => each(field, columnName(column)));
  return sql.raw(texts.join(", "));
}
