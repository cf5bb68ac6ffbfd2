import { type Database, DatabaseUnavailable, diskFull, readOnly, StatementFailed } from "../database/db.ts";
import { tryToWrite } from "../store/upkeep/readiness.ts";
import { remembered } from "./remembered.ts";

/** Whether the service can do its work; the reason is shown to whoever asks, so it names no address and no secret. */
export type Readiness = { ready: true } | { ready: false; reason: string };

/** However many ask, and however often: the database has to write once in so long. */
const lookedEveryMs = 1_000;

/** Whether what comes could be stored, which a database that only answers may not do. */
export function readiness(db: Database): () => Promise<Readiness> {
  return remembered(async () => {
    try {
      await db.promptly(tryToWrite);
      return { ready: true };
    } catch (error) {
      return { ready: false, reason: reasonOf(error) };
    }
  }, lookedEveryMs);
}

function reasonOf(error: unknown): string {
  if (!(error instanceof DatabaseUnavailable || error instanceof StatementFailed)) return "the database can't be used";
  const { sqlState } = error;
  if (sqlState === undefined) return "the database is away";
  return reasons.find(([states]) => states.test(sqlState))?.[1] ?? "the database refuses to write";
}

/** By SQLSTATE (PostgreSQL, appendix A). */
const reasons: readonly [states: RegExp, reason: string][] = [
  [new RegExp(`^${diskFull}$`), "the disk of the database is full"],
  [new RegExp(`^${readOnly}$`), "the database is read-only: a standby, or set so"],
  [/^(28...|3D000|42501)$/, "the database does not let us in"],
  [/^53300$/, "the database has no connection left for us"],
  [/^(57P..|08...)$/, "the database is away"],
  [/^(57014|55P03)$/, "the database does not answer in time"],
  [/^(42P01|3F000)$/, "the database is not migrated"],
];
