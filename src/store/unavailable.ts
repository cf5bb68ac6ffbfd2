/**
 * The database is away, or too busy to answer in time. Not a bug and not the caller's fault:
 * a door says "come back later" (503, 451).
 */
export class DatabaseUnavailable extends Error {
  /** The server's own word for it, where it had one. */
  readonly sqlState: string | undefined;

  constructor(why: string, options: { cause?: unknown; sqlState?: string | undefined } = {}) {
    super(`Cannot reach the database: ${why}`, { cause: options.cause });
    this.name = "DatabaseUnavailable";
    this.sqlState = options.sqlState;
  }
}

/** What an engine threw, as the rest of the code sees it. */
export function asStoreError(error: unknown): unknown {
  if (error instanceof DatabaseUnavailable) return error;
  const code = codeOf(error);
  if (code === undefined || !meansAway(code)) return error;
  return new DatabaseUnavailable(error instanceof Error ? error.message : String(error), {
    cause: error,
    sqlState: /^[0-9A-Z]{5}$/.test(code) ? code : undefined,
  });
}

/**
 * Classes of SQLSTATE (PostgreSQL, appendix A) that a later attempt may not meet again: 08 connection,
 * 53 out of resources (disk, memory, connections), 57P shutting down, 57014 and 55P03 time-outs of statement and lock,
 * 25006 a server that has become a standby, 25P03 idle in transaction, 40 deadlock and serialisation, 58 an error of the system below.
 * What does not look like a SQLSTATE is the driver's or the socket's word (CONNECTION_CLOSED, ECONNREFUSED …).
 */
function meansAway(code: string): boolean {
  return /^(08...|53...|57P..|57014|55P03|25006|25P0[34]|40...|58...)$/.test(code) || /^(CONNECT|E[A-Z]+$)/.test(code);
}

/** Whether the connection that gave this error can take another statement: only the server's own ERROR leaves it whole. */
export function leavesConnectionWhole(error: unknown): boolean {
  return (
    typeof error === "object" &&
    error !== null &&
    "severity" in error &&
    error.severity === "ERROR" &&
    codeOf(error) !== "25006"
  );
}

function codeOf(error: unknown): string | undefined {
  return typeof error === "object" && error !== null && "code" in error && typeof error.code === "string"
    ? error.code
    : undefined;
}
