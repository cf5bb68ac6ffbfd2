/**
 * Statements over a `Runner` of either engine. They use only the `sql` templates of Drizzle. Its query builder would be a second language
 * for SQL, rendered at each call, and its sessions put the parameters of a statement, which may be people's mail, into error messages.
 */
import { fillPlaceholders, is, Name, noopEncoder, Param, Placeholder, SQL, StringChunk } from "drizzle-orm";
import type { Runner } from "./runner.ts";
import { toWire } from "./wire.ts";

/** The database, or a transaction on it. */
export type Db = Runner;

/** Runs a statement and returns its rows. */
export async function query<Row extends object = Record<string, unknown>>(db: Db, statement: SQL): Promise<Row[]> {
  const { text, params } = rendered(statement);
  return (await db.run(text, params.map(toWire))) as Row[];
}

/**
 * Renders a statement once, and returns a function that runs it with values for its placeholders. `query` renders at each call, which takes
 * longer than running the statement if it is long.
 */
export function statement<Row extends object>(
  template: SQL,
): (db: Db, values: Record<string, unknown>) => Promise<Row[]> {
  const { text, params } = rendered(template);
  return async (db, values) => (await db.run(text, fillPlaceholders(params, values).map(toWire))) as Row[];
}

/** Runs a transaction, or a savepoint inside of another transaction. */
export function transaction<T>(db: Db, work: (tx: Db) => Promise<T>): Promise<T> {
  return db.transaction(work);
}

interface Rendered {
  text: string;
  params: unknown[];
}

/**
 * Renders a statement of texts, names, values and other such statements. Drizzle's own rendering, which also knows tables and columns,
 * makes an object for each piece, and took a fifteenth of the time for receiving a mail.
 */
function rendered(statement: SQL): Rendered {
  const params: unknown[] = [];
  let text = "";

  function addParam(value: unknown): void {
    params.push(value);
    text += `$${params.length}`;
  }

  function add({ queryChunks }: SQL): void {
    for (const chunk of queryChunks) {
      if (is(chunk, StringChunk)) text += chunk.value.length === 1 ? chunk.value[0] : chunk.value.join("");
      else if (is(chunk, SQL)) add(chunk);
      else if (is(chunk, Param) && chunk.encoder === noopEncoder) addParam(chunk.value);
      else if (isValue(chunk) || is(chunk, Placeholder)) addParam(chunk);
      else if (is(chunk, Name)) text += `"${chunk.value.replaceAll('"', '""')}"`;
      else throw new TypeError("Cannot render a statement: one of its parts is neither a value nor SQL");
    }
  }

  add(statement);
  return { text, params };
}

/** Whether a chunk is a value. An array is not: `arrayOf` must give it a type. `undefined` is not: it is a mistake of the caller. */
function isValue(chunk: unknown): boolean {
  if (chunk === null) return true;
  if (typeof chunk === "object") return chunk instanceof Date || chunk instanceof Uint8Array;
  return chunk !== undefined && typeof chunk !== "function" && typeof chunk !== "symbol";
}
