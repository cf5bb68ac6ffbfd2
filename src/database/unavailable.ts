/**
 * The database is away, or too busy to answer in time. Not a bug and not the caller's fault:
 * a door says "come back later" (503, 451).
 */
export class DatabaseUnavailable extends Error {
  /** The server's own word for it, where it had one. */
  readonly sqlState: string | undefined;
  /** Whether a statement had been sent, so that it may have been carried out. */
  readonly isUnanswered: boolean;

  constructor(why: string, sqlState?: string, isUnanswered = false) {
    super(`Cannot reach the database: ${why}`);
    this.name = "DatabaseUnavailable";
    this.sqlState = sqlState;
    this.isUnanswered = isUnanswered;
  }
}

/** The database has not answered in time. It may be busy, locked or frozen, or cut off without a word. */
export class DatabaseSlow extends DatabaseUnavailable {}

/** SQLSTATEs of which more is said than that the database is away. */
export const diskFull = "53100";
export const readOnly = "25006";
export const missingFile = "58P01";

/**
 * A statement that the database refused. It carries none of what the engines hang on their errors (parameters, the
 * row that was in the way): those are people's mail and secrets, and errors are logged.
 */
export class StatementFailed extends Error {
  readonly sqlState: string;
  /** The constraint that was violated. */
  readonly constraint: string | undefined;

  constructor(message: string, sqlState: string, constraint: string | undefined) {
    super(message);
    this.name = "StatementFailed";
    this.sqlState = sqlState;
    this.constraint = constraint;
  }
}

/** Whether a statement failed because of this constraint or unique index. */
export function violates(error: unknown, constraint: string): boolean {
  return error instanceof StatementFailed && error.constraint === constraint;
}

/**
 * Whether a statement asked for more than it may have, of time (57014) or of what the engine can hold (class 54): the database is there,
 * and asked the same again it would say the same.
 */
export function askedTooMuch(error: unknown): boolean {
  const failed = error instanceof DatabaseUnavailable || error instanceof StatementFailed;
  return failed && /^(57014|54...)$/.test(error.sqlState ?? "");
}

/** Whether somebody else held a lock for longer than a statement waits for one. */
export function isLockTimeout(error: unknown): boolean {
  return error instanceof DatabaseUnavailable && error.sqlState === lockNotAvailable;
}

/** Whether a statement failed because of the locks of others: it waited too long, or each waited for the other. */
export function isLockConflict(error: unknown): boolean {
  return isLockTimeout(error) || (error instanceof DatabaseUnavailable && error.sqlState === deadlockDetected);
}

/** SQLSTATEs (PostgreSQL, appendix A). */
const lockNotAvailable = "55P03";
const deadlockDetected = "40P01";

/** What an engine or its driver threw, as the rest of the code sees it. */
export function asStoreError(thrown: unknown): unknown {
  if (!isEngineError(thrown)) return thrown;
  const { code, message } = thrown;
  // Only what the server itself says has a severity. EPIPE looks like a SQLSTATE, too.
  const sqlState = severityOf(thrown) === undefined ? undefined : code;
  if (sqlState === undefined) {
    if (!meansLostConnection(code)) return thrown;
    return new DatabaseUnavailable(message, undefined, meansLostStatement(code));
  }
  if (sqlState === missingFile) {
    return new DatabaseUnavailable(
      `a file of it is gone (${message}); put a backup of the database in its place`,
      sqlState,
    );
  }
  if (meansAway(sqlState)) return new DatabaseUnavailable(message, sqlState);
  // Class 22, data exceptions, quotes the value in the message itself.
  const shown = sqlState.startsWith("22") ? "a value does not fit its type" : message;
  const constraint = thrown.constraint_name ?? thrown.constraint;
  return new StatementFailed(`Cannot run a statement: ${shown} (${sqlState})`, sqlState, constraint);
}

/**
 * SQLSTATEs (PostgreSQL, appendix A) that a later attempt may not meet again: 08 connection, 53 out of disk, memory or
 * connections, 57P shutting down or starting, 57014 and 55P03 time-outs of statement and lock, 25006 a server that
 * has become a standby, 25P03 idle in a transaction, 40 deadlock and serialisation, 58 an error of the system below.
 */
function meansAway(sqlState: string): boolean {
  return /^(08...|53...|57P..|57014|55P03|25006|25P03|40...|58...)$/.test(sqlState);
}

/** The driver's words (CONNECTION_CLOSED, CONNECT_TIMEOUT …) and the socket's (ECONNREFUSED, ENOENT …). */
function meansLostConnection(code: string): boolean {
  return /^CONNECT|^E[A-Z_]+$/.test(code);
}

/** The connection was there and went away: what had been sent on it has no answer. */
function meansLostStatement(code: string): boolean {
  return /^CONNECTION_|^(?:ECONNRESET|EPIPE)$/.test(code);
}

/** Whether the connection that gave this error can take another statement: only the server's own ERROR leaves it whole. */
export function leavesConnectionWhole(thrown: unknown): boolean {
  return isEngineError(thrown) && severityOf(thrown) === "ERROR" && thrown.code !== readOnly;
}

/** A pooler knows only the older field, which a server writes in its own language. */
function severityOf({ severity, severity_local }: EngineError): string | undefined {
  return severity ?? severity_local;
}

interface EngineError extends Error {
  code: string;
  severity?: string;
  severity_local?: string;
  /** The driver calls it by one name, the embedded engine by the other. */
  constraint_name?: string;
  constraint?: string;
}

function isEngineError(thrown: unknown): thrown is EngineError {
  return thrown instanceof Error && "code" in thrown && typeof thrown.code === "string";
}
