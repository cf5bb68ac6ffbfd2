import type { Db } from "./db.ts";

/**
 * A query that is always the same but for its placeholders. Drizzle renders a query at each call, which costs more
 * than asking the database; this one is rendered once for each handle.
 */
export function prepared<Query>(build: (db: Db) => Query): (db: Db) => Query {
  const built = new WeakMap<Db, Query>();
  return (db) => {
    const known = built.get(db);
    if (known !== undefined) return known;
    const query = build(db);
    built.set(db, query);
    return query;
  };
}
