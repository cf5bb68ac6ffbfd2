/** One fault of a query or a body, as the server names it. */
export interface InboxdFault {
  detail: string;
  pointer?: string;
  parameter?: string;
}

/** What the problem of an answer says (RFC 9457); fields that are not known here are there, too. */
export interface InboxdProblem {
  code?: string;
  message?: string;
  request_id?: string;
  errors?: InboxdFault[];
  [field: string]: unknown;
}

/** A call that came to nothing: refused, or without an answer that can be read. */
export class InboxdError extends Error {
  override readonly name: string = "InboxdError";
  /** Of the answer; 0 where none came. */
  readonly status: number;
  /** What to branch on. `no_answer` and `unreadable_answer` are this client's own words. */
  readonly code: string;
  /** For whoever runs the service. */
  readonly requestId: string | undefined;
  /** Every fault of the query or the body. */
  readonly errors: readonly InboxdFault[];
  readonly retryAfterSeconds: number | undefined;
  /** The whole problem, with what only this code has: `limit`, `resource`, `feature` and their like. */
  readonly problem: InboxdProblem;

  constructor(message: string, { status, code, headers, problem = {}, cause }: FailureFacts) {
    super(message, cause === undefined ? undefined : { cause });
    this.status = status;
    this.code = code;
    this.problem = problem;
    this.requestId = problem.request_id ?? headers?.get("x-request-id") ?? undefined;
    this.errors = problem.errors ?? [];
    this.retryAfterSeconds = secondsOf(headers?.get("retry-after"));
  }
}

export interface FailureFacts {
  status: number;
  code: string;
  headers?: Headers;
  problem?: InboxdProblem;
  cause?: unknown;
}

/** What an answer other than 2xx says. A proxy's page says nothing but its status. */
export function refusal(asked: string, { status, headers }: Response, text: string): InboxdError {
  const problem = problemOf(text);
  const code = typeof problem.code === "string" ? problem.code : "unreadable_answer";
  const message = typeof problem.message === "string" ? problem.message : `Cannot ${asked}: answered ${status}`;
  return new InboxdError(message, { status, code, headers, problem });
}

export function noAnswer(asked: string, cause: unknown): InboxdError {
  const reason = cause instanceof Error ? cause.message : String(cause);
  return new InboxdError(`Cannot ${asked}: ${reason}`, { status: 0, code: "no_answer", cause });
}

function problemOf(text: string): InboxdProblem {
  try {
    const said: unknown = JSON.parse(text);
    return typeof said === "object" && said !== null && !Array.isArray(said) ? (said as InboxdProblem) : {};
  } catch {
    return {};
  }
}

/** Proxies may name a day instead: then it is as if nothing had been said. */
function secondsOf(header: string | null | undefined): number | undefined {
  return header !== null && header !== undefined && /^\d{1,9}$/.test(header) ? Number(header) : undefined;
}
