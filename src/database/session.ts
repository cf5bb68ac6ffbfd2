/**
 * Statements over a `Runner`, which both engines are. Of Drizzle they need its `sql` templates alone. Its query builder would be a second
 * language for what SQL says, rendered anew at each call; and its sessions wrap each error in one whose message holds the statement's
 * parameters, that is, people's mail.
 */
import { fillPlaceholders, is, Name, noopEncoder, Param, Placeholder, SQL, StringChunk } from "drizzle-orm";
import type { Runner } from "./runner.ts";
import { toWire } from "./wire.ts";

/** The database, or a transaction on it: the rest of the code takes this and cannot tell which. */
export type Db = Runner;

/** Carries out a statement; answers its rows. */
export async function query<Row extends object = Record<string, unknown>>(db: Db, statement: SQL): Promise<Row[]> {
  const { text, params } = rendered(statement);
  return (await db.run(text, params.map(toWire))) as Row[];
}

/**
 * The same for a statement that never changes but for its placeholders. It is rendered once; `query` does that at each call, which
 * for a long one takes longer than to carry it out.
 */
export function statement<Row extends object>(
  template: SQL,
): (db: Db, values: Record<string, unknown>) => Promise<Row[]> {
  const { text, params } = rendered(template);
  return async (db, values) => (await db.run(text, fillPlaceholders(params, values).map(toWire))) as Row[];
}

/** All or nothing. Inside another transaction it is a savepoint. */
export function transaction<T>(db: Db, work: (tx: Db) => Promise<T>): Promise<T> {
  return db.transaction(work);
}

interface Rendered {
  text: string;
  params: unknown[];
}

/**
 * A statement of texts, names, values and other such statements. Drizzle's own way of rendering knows tables and columns too, makes an
 * object of each piece, and took a fifteenth of receiving a mail.
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
      else throw new TypeError("Cannot render a statement: it holds what is neither a value nor SQL");
    }
  }

  add(statement);
  return { text, params };
}

/** An array is none: `arrayOf` says of which type it is. Nor is `undefined`, which would leave a gap in the text. */
function isValue(chunk: unknown): boolean {
  if (chunk === null) return true;
  if (typeof chunk === "object") return chunk instanceof Date || chunk instanceof Uint8Array;
  return chunk !== undefined && typeof chunk !== "function" && typeof chunk !== "symbol";
}
