/** The database is away, or too busy to answer in time. Neither a bug nor the caller's fault: the doors answer 503 and 451. */
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

/** The database has not answered in time. It may be busy, locked, frozen or disconnected. */
export class DatabaseSlow extends DatabaseUnavailable {}

/** SQLSTATEs with a message of their own. */
export const diskFull = "53100";
export const readOnly = "25006";
export const missingFile = "58P01";

/**
 * A statement that the database refused. It drops the details of the engines' errors, such as parameters and rows: those are people's mail
 * and secrets, and errors are logged.
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
 * Whether a statement exceeded a limit, of time (57014) or of the engine (class 54): the database is available, and a retry would fail in
 * the same way.
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

/** Translates an error of an engine or its driver. */
export function asStoreError(thrown: unknown): unknown {
  if (!isEngineError(thrown)) return thrown;
  const { code, message } = thrown;
  // Only the server's own errors have a severity. EPIPE looks like a SQLSTATE, too.
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
 * Whether a later attempt may succeed, by SQLSTATE (PostgreSQL, appendix A): 08 connection, 53 out of disk, memory or
 * connections, 57P shutting down or starting, 57014 and 55P03 time-outs of statement and lock, 25006 a server that
 * has become a standby, 25P03 idle in a transaction, 40 deadlock and serialisation, 58 an error of the system below.
 */
function meansAway(sqlState: string): boolean {
  return /^(08...|53...|57P..|57014|55P03|25006|25P03|40...|58...)$/.test(sqlState);
}

/** Whether a code of the driver (CONNECTION_CLOSED, CONNECT_TIMEOUT …) or of the socket (ECONNREFUSED, ENOENT …) is a lost connection. */
function meansLostConnection(code: string): boolean {
  return /^CONNECT|^E[A-Z_]+$/.test(code);
}

/** Whether an open connection was lost, so that its statements have no answer. */
function meansLostStatement(code: string): boolean {
  return /^CONNECTION_|^(?:ECONNRESET|EPIPE)$/.test(code);
}

/** Whether the connection can run another statement after this error: only after an ERROR of the server. */
export function leavesConnectionWhole(thrown: unknown): boolean {
  return isEngineError(thrown) && severityOf(thrown) === "ERROR" && thrown.code !== readOnly;
}

/** The severity in English, or in the server's language: a pooler sends only the latter field. */
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
