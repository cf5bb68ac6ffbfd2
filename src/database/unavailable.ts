/**
 * Thrown if the database cannot be reached, or is too busy to answer in time. It is neither a bug nor the caller's fault: the HTTP API
 * answers with 503, and SMTP with 451.
 */
export class DatabaseUnavailable extends Error {
  /** The SQLSTATE of the server, if it sent one. */
  readonly sqlState: string | undefined;
  /** Whether a statement was sent, so that it may have been executed. */
  readonly isUnanswered: boolean;

  constructor(why: string, sqlState?: string, isUnanswered = false) {
    super(`Cannot reach the database: ${why}`);
    this.name = "DatabaseUnavailable";
    this.sqlState = sqlState;
    this.isUnanswered = isUnanswered;
  }
}

/** Thrown if the database has not answered in time. It may be busy, locked, frozen or disconnected. */
export class DatabaseSlow extends DatabaseUnavailable {}

/** The SQLSTATEs for which callers have messages of their own. */
export const diskFull = "53100";
export const readOnly = "25006";
export const missingFile = "58P01";

/**
 * Thrown if the database refused a statement. It leaves out the details of the engine's error, such as parameters and rows, because errors
 * are logged, and those may be people's mail and secrets.
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
 * Whether a statement exceeded a limit, of time (SQLSTATE 57014) or of the engine (class 54). The database is available then, but a retry
 * would fail in the same way.
 */
export function askedTooMuch(error: unknown): boolean {
  const failed = error instanceof DatabaseUnavailable || error instanceof StatementFailed;
  return failed && /^(57014|54...)$/.test(error.sqlState ?? "");
}

/** Whether a statement waited too long for a lock. */
export function isLockTimeout(error: unknown): boolean {
  return error instanceof DatabaseUnavailable && error.sqlState === lockNotAvailable;
}

/** Whether a statement waited too long for a lock, or was canceled to end a deadlock. */
export function isLockConflict(error: unknown): boolean {
  return isLockTimeout(error) || (error instanceof DatabaseUnavailable && error.sqlState === deadlockDetected);
}

/** SQLSTATEs (PostgreSQL, appendix A). */
const lockNotAvailable = "55P03";
const deadlockDetected = "40P01";

/** Makes a `DatabaseUnavailable` or `StatementFailed` of an error of an engine or its driver. Returns any other error as it is. */
export function asStoreError(thrown: unknown): unknown {
  if (!isEngineError(thrown)) return thrown;
  const { code, message } = thrown;
  // The code is a SQLSTATE only if the error has a severity, as the server's own errors have. EPIPE only looks like a SQLSTATE.
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
  // The messages of class 22 (data exceptions) quote the value, so they are replaced.
  const shown = sqlState.startsWith("22") ? "a value does not fit its type" : message;
  const constraint = thrown.constraint_name ?? thrown.constraint;
  return new StatementFailed(`Cannot run a statement: ${shown} (${sqlState})`, sqlState, constraint);
}

/**
 * Whether a later attempt may succeed, by SQLSTATE (PostgreSQL, appendix A): 08 connection, 53 out of disk, memory or
 * connections, 57P shutting down or starting, 57014 and 55P03 time-outs of statement and lock, 25006 a server that
 * has become a standby, 25P03 idle in a transaction, 40 deadlock and serialisation, 58 an error of the system below.
 */
function meansAway(sqlState: string): boolean {
  return /^(08...|53...|57P..|57014|55P03|25006|25P03|40...|58...)$/.test(sqlState);
}

/** Whether an error code of the driver (CONNECT_TIMEOUT …) or of the socket (ECONNREFUSED …) means that the connection was lost. */
function meansLostConnection(code: string): boolean {
  return /^CONNECT|^E[A-Z_]+$/.test(code);
}

/** Whether an error code means that an open connection was lost, so that its statements may have been executed without an answer. */
function meansLostStatement(code: string): boolean {
  return /^CONNECTION_|^(?:ECONNRESET|EPIPE)$/.test(code);
}

/** Whether the connection can run another statement after this error: only after the server's ERROR, unless the server is read-only. */
export function leavesConnectionWhole(thrown: unknown): boolean {
  return isEngineError(thrown) && severityOf(thrown) === "ERROR" && thrown.code !== readOnly;
}

/** The severity of an error: in English, or in the server's language if the error has only that field, as a pooler's errors do. */
function severityOf({ severity, severity_local }: EngineError): string | undefined {
  return severity ?? severity_local;
}

interface EngineError extends Error {
  code: string;
  severity?: string;
  severity_local?: string;
  /** The name in the driver, and the name in the embedded engine. */
  constraint_name?: string;
  constraint?: string;
}

function isEngineError(thrown: unknown): thrown is EngineError {
  return thrown instanceof Error && "code" in thrown && typeof thrown.code === "string";
}
