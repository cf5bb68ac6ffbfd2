import {
  type Database,
  DatabaseSlow,
  DatabaseUnavailable,
  diskFull,
  missingFile,
  readOnly,
  StatementFailed,
} from "../database/db.ts";
import { within } from "../primitives/within.ts";
import { tryToWrite } from "../store/upkeep/readiness.ts";
import { remembered } from "./remembered.ts";

/** Whether the service can work. The reason is public, so it has no address and no secret. */
export type Readiness = { ready: true } | { ready: false; reason: string };

/** The database is checked at most once in this time. */
const lookedEveryMs = 1_000;
/** After this time a commit by anybody counts instead of our own write. */
const patienceMs = 200;

/**
 * Whether mail could be stored now. It writes, since a database may answer and refuse to write. If the write takes long, a commit by
 * anybody within the last second is enough, since ours may wait behind hundreds that succeed. A write that failed counts until one
 * succeeds, because a full disk still takes small commits.
 */
export function readiness(db: Database): () => Promise<Readiness> {
  let isRefused = false;

  async function look(): Promise<Readiness> {
    try {
      await db.promptly(tryToWrite);
      isRefused = false;
      return { ready: true };
    } catch (error) {
      const isSlow = error instanceof DatabaseSlow;
      if (!isSlow) isRefused = true;
      return isSlow && hasCommitted() ? { ready: true } : { ready: false, reason: reasonOf(error) };
    }
  }

  function hasCommitted(): boolean {
    return !isRefused && performance.now() - (db.committedMs() ?? Number.NEGATIVE_INFINITY) < lookedEveryMs;
  }

  return remembered(async () => {
    const looked = look();
    return within(patienceMs, looked, () => (hasCommitted() ? { ready: true } : looked));
  }, lookedEveryMs);
}

function reasonOf(error: unknown): string {
  if (error instanceof DatabaseSlow) return tooSlow;
  if (!(error instanceof DatabaseUnavailable || error instanceof StatementFailed)) return "the database can't be used";
  const { sqlState } = error;
  if (sqlState === undefined) return "the database is away";
  return reasons.find(([states]) => states.test(sqlState))?.[1] ?? "the database refuses to write";
}

const tooSlow = "the database does not answer in time";

/** By SQLSTATE (PostgreSQL, appendix A). */
const reasons: readonly [states: RegExp, reason: string][] = [
  [new RegExp(`^${diskFull}$`), "the disk of the database is full"],
  [new RegExp(`^${missingFile}$`), "a file of the database is gone"],
  [new RegExp(`^${readOnly}$`), "the database is read-only: a standby, or set so"],
  [/^(28...|3D000|42501)$/, "the database does not let us in"],
  [/^53300$/, "the database has no connection left for us"],
  [/^(57P..|08...)$/, "the database is away"],
  [/^(57014|55P03)$/, tooSlow],
  [/^(42P01|3F000)$/, "the database is not migrated"],
];
