/**
 * The name of a statement in traces: the tables that it writes and how, or else the first table that it reads. It has no values, also none
 * that are written in the statement.
 */
export function statementName(text: string): string {
  const written = new Set(Array.from(text.matchAll(writes), ([, verb = "", table = ""]) => `${verb} ${table}`));
  if (written.size > 0) return [...written].slice(0, mostWrites).join(", ");
  const named = new Set(Array.from(text.matchAll(subqueries), ([, name = ""]) => name));
  const table = Array.from(text.matchAll(reads), ([, name = ""]) => name).find((name) => !named.has(name));
  return table === undefined ? "select" : `select ${table}`;
}

/** Enough to tell statements apart that write a whole mail. */
const mostWrites = 4;

/** Not the `update` of `on conflict do update`, `for update` and `for no key update`. */
const writes = /\b(insert into|delete from|(?<!\b(?:do|for|key)\s+)update)\s+"?([a-z_]+)/g;
/** Not functions, as in `from unnest(…)`. */
const reads = /\b(?:from|join)\s+"?([a-z_]+)(?![a-z_(])/g;
const subqueries = /\b([a-z_]+)\s+as\s+(?:(?:not\s+)?materialized\s+)?\(/g;
