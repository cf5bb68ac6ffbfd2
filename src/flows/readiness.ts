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
/** How long to wait for our own write alone. After that, any other recent commit is enough too. */
const patienceMs = 200;

/**
 * Checks by a write whether mail can be stored now: a database may answer and still refuse to write. If our write takes more than 200 ms,
 * any commit within the last second is enough, because ours may wait for hundreds of others. After our write has failed, only another write
 * of our own counts, because a full disk still takes small commits.
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

/** The public reason for each SQLSTATE (PostgreSQL, appendix A). */
const reasons: readonly [states: RegExp, reason: string][] = [
  [new RegExp(`^${diskFull}$`), "the disk of the database is full"],
  [new RegExp(`^${missingFile}$`), "a file of the database is gone"],
  [new RegExp(`^${readOnly}$`), "the database is read-only: a standby, or set so"],
  [/^(28...|3D000|42501)$/, "the database refuses access"],
  [/^53300$/, "the database has no free connection"],
  [/^(57P..|08...)$/, "the database is away"],
  [/^(57014|55P03)$/, tooSlow],
  [/^(42P01|3F000)$/, "the database is not migrated"],
];
