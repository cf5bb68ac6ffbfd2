/**
 * Drizzle over a `Runner`: one session for both engines. Drizzle's own sessions differ (result objects, how a
 * timestamp is read) and wrap each error in one whose message holds the statement's parameters, that is, people's mail.
 */
import {
  entityKind,
  fillPlaceholders,
  is,
  noopEncoder,
  Param,
  type Query,
  type SQL,
  SQL as SQLTemplate,
  StringChunk,
} from "drizzle-orm";
import {
  PgDatabase,
  PgDialect,
  PgPreparedQuery,
  type PgQueryResultHKT,
  PgSession,
  PgTransaction,
  type PreparedQueryConfig,
} from "drizzle-orm/pg-core";
import type { SelectedFieldsOrdered } from "drizzle-orm/pg-core/query-builders/select.types";
import { mapResultRow } from "drizzle-orm/utils";
import type { Runner } from "./pool.ts";
import { toWire } from "./wire.ts";

/** What a statement without a shape of its own answers: its rows. */
export interface RowsResult extends PgQueryResultHKT {
  type: this["row"][];
}

/** The database, or a transaction on it: the rest of the code takes this and cannot tell which. */
export type Db = PgDatabase<RowsResult>;

const dialect = new PgDialect({ casing: "snake_case" });

export function drizzleOver(runner: Runner): Db {
  return new PgDatabase(dialect, new RunnerSession(runner), undefined);
}

type NoSchema = Record<string, never>;

class RunnerSession extends PgSession<RowsResult, NoSchema, NoSchema> {
  static override readonly [entityKind] = "RunnerSession";
  readonly runner: Runner;

  constructor(runner: Runner) {
    super(dialect);
    this.runner = runner;
  }

  override prepareQuery<T extends PreparedQueryConfig>(
    query: Query,
    fields: SelectedFieldsOrdered | undefined,
    _name: string | undefined,
    _isResponseInArrayMode: boolean,
    mapRows?: (rows: unknown[][]) => T["execute"],
  ): PgPreparedQuery<T> {
    return new RunnerQuery<T>(this.runner, query, fields, mapRows);
  }

  override transaction<T>(work: (tx: PgTransaction<RowsResult, NoSchema, NoSchema>) => Promise<T>): Promise<T> {
    return this.runner.transaction((runner) =>
      work(new RunnerTransaction(dialect, new RunnerSession(runner), undefined)),
    );
  }
}

class RunnerTransaction extends PgTransaction<RowsResult, NoSchema, NoSchema> {
  static override readonly [entityKind] = "RunnerTransaction";
  readonly #session: RunnerSession;

  constructor(dialect: PgDialect, session: RunnerSession, schema: undefined) {
    super(dialect, session, schema);
    this.#session = session;
  }

  override transaction<T>(work: (tx: PgTransaction<RowsResult, NoSchema, NoSchema>) => Promise<T>): Promise<T> {
    return this.#session.transaction(work);
  }
}

class RunnerQuery<T extends PreparedQueryConfig> extends PgPreparedQuery<T> {
  static override readonly [entityKind] = "RunnerQuery";
  readonly #runner: Runner;
  readonly #fields: SelectedFieldsOrdered | undefined;
  readonly #mapRows: ((rows: unknown[][]) => T["execute"]) | undefined;
  /** Set by Drizzle's select: which tables an outer join may leave without a row. */
  declare joinsNotNullableMap: Record<string, boolean> | undefined;

  constructor(
    runner: Runner,
    query: Query,
    fields: SelectedFieldsOrdered | undefined,
    mapRows: ((rows: unknown[][]) => T["execute"]) | undefined,
  ) {
    super(query, undefined, undefined);
    this.#runner = runner;
    this.#fields = fields;
    this.#mapRows = mapRows;
  }

  override async execute(placeholders: Record<string, unknown> = {}): Promise<T["execute"]> {
    const fields = this.#fields;
    if (!fields && !this.#mapRows) return this.all(placeholders);
    const rows = (await this.#run(placeholders, "arrays")) as unknown[][];
    if (this.#mapRows) return this.#mapRows(rows);
    return rows.map((row) => mapResultRow(fields ?? [], row, this.joinsNotNullableMap));
  }

  all(placeholders: Record<string, unknown> = {}): Promise<T["all"]> {
    return this.#run(placeholders, "objects");
  }

  #run(placeholders: Record<string, unknown>, shape: "objects" | "arrays"): Promise<unknown[]> {
    const values = fillPlaceholders(this.query.params, placeholders).map(toWire);
    return this.#runner.run(this.query.sql, values, shape);
  }
}

declare module "drizzle-orm/utils" {
  /** Drizzle's own sessions use it; its declarations leave it out. */
  function mapResultRow(
    columns: SelectedFieldsOrdered,
    row: unknown[],
    joinsNotNullableMap: Record<string, boolean> | undefined,
  ): Record<string, unknown>;
}

/** Rows of a statement written by hand. */
export async function query<Row extends Record<string, unknown>>(db: Db, statement: SQL): Promise<Row[]> {
  const rendered = renderedPlainly(statement);
  if (rendered === undefined) return db.execute<Row>(statement);
  return db._.session
    .prepareQuery<PreparedQueryConfig & { execute: Row[] }>(rendered, undefined, undefined, false)
    .execute();
}

/**
 * A statement of texts, values and other such statements, without tables and columns of Drizzle's: nearly all that are written by
 * hand. Drizzle's own way of rendering makes an object of each piece and took a fifteenth of receiving a mail.
 */
function renderedPlainly(statement: SQL): Query | undefined {
  const params: unknown[] = [];
  let text = "";
  function add({ queryChunks }: SQL): boolean {
    for (const chunk of queryChunks) {
      if (is(chunk, StringChunk)) text += chunk.value.length === 1 ? chunk.value[0] : chunk.value.join("");
      else if (is(chunk, SQLTemplate)) {
        if (!add(chunk)) return false;
      } else if (is(chunk, Param) && chunk.encoder === noopEncoder) {
        params.push(chunk.value);
        text += `$${params.length}`;
      } else if (chunk === null || typeof chunk !== "object" || chunk instanceof Date || chunk instanceof Uint8Array) {
        if (chunk === undefined) return false;
        params.push(chunk);
        text += `$${params.length}`;
      } else return false;
    }
    return true;
  }
  return add(statement) ? { sql: text, params } : undefined;
}

/**
 * The same for a statement that never changes but for its placeholders. It is rendered once; `query` does that at each call, which
 * for a long one takes longer than to carry it out.
 */
export function statement<Row extends Record<string, unknown>>(
  text: SQL,
): (db: Db, values: Record<string, unknown>) => Promise<Row[]> {
  let rendered: Query | undefined;
  return async (db, values) => {
    rendered ??= dialect.sqlToQuery(text);
    return db._.session
      .prepareQuery<PreparedQueryConfig & { execute: Row[] }>(rendered, undefined, undefined, false)
      .execute(values);
  };
}

/** All or nothing. Inside another transaction it is a savepoint. */
export function transaction<T>(db: Db, work: (tx: Db) => Promise<T>): Promise<T> {
  return db.transaction(work);
}
