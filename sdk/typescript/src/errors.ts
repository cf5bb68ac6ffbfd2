/** One fault of a query or a body, as the service names it. */
export interface InboxdFault {
  detail: string;
  pointer?: string;
  parameter?: string;
}

/** The problem of a response (RFC 9457), also with fields that this client does not know. */
export interface InboxdProblem {
  code?: string;
  message?: string;
  request_id?: string;
  errors?: InboxdFault[];
  [field: string]: unknown;
}

/** A failed call: the service refused it, or sent no response that can be read. */
export class InboxdError extends Error {
  override readonly name: string = "InboxdError";
  /** The status of the response; 0 without a response. */
  readonly status: number;
  /** The error code, on which a program branches. `no_answer` and `unreadable_answer` come from this client. */
  readonly code: string;
  /** Identifies the request for the operator of the service. */
  readonly requestId: string | undefined;
  /** Every fault of the query or the body. */
  readonly errors: readonly InboxdFault[];
  readonly retryAfterSeconds: number | undefined;
  /** The whole problem of the response. Some error codes have fields of their own, such as `limit`, `resource` and `feature`. */
  readonly problem: InboxdProblem;
  /** The address of the service that was called. */
  readonly baseUrl: string;

  constructor(message: string, { response, code, baseUrl, problem = {}, cause }: FailureFacts) {
    super(message, cause === undefined ? undefined : { cause });
    this.status = response?.status ?? 0;
    this.code = code;
    this.baseUrl = baseUrl;
    this.problem = problem;
    this.requestId = problem.request_id ?? response?.headers.get("x-request-id") ?? undefined;
    this.errors = problem.errors ?? [];
    this.retryAfterSeconds = secondsOf(response?.headers.get("retry-after"));
  }
}

export interface FailureFacts {
  response?: Head;
  code: string;
  baseUrl: string;
  problem?: InboxdProblem;
  cause?: unknown;
}

/** The operation of a call, as `GET /v1/inboxes`, and the address of the service. */
export interface Operation {
  name: string;
  baseUrl: string;
}

type Head = Pick<Response, "status" | "headers">;

/**
 * The error for a response other than 2xx. If its body is not a problem of the service, as with the page of a proxy, only the status is
 * used.
 */
export function refusal({ name, baseUrl }: Operation, response: Head, text: string): InboxdError {
  const problem = problemOf(text);
  const code = typeof problem.code === "string" ? problem.code : "unreadable_answer";
  const message = [problem.detail, problem.message].find((text) => typeof text === "string");
  return new InboxdError(message ?? `Cannot ${name}: answered ${response.status}`, {
    response,
    code,
    baseUrl,
    problem,
  });
}

/** The error for a response of 2xx whose content does not have the type that the OpenAPI document gives. */
export function unreadableAnswer({ name, baseUrl }: Operation, response: Head, cause: Error): InboxdError {
  return new InboxdError(`Cannot ${name}: ${cause.message}`, { response, code: "unreadable_answer", baseUrl, cause });
}

export function noAnswer({ name, baseUrl }: Operation, cause: unknown): InboxdError {
  const message = `Cannot ${name}: ${baseUrl || "the service"} does not answer: ${reasonOf(cause)}`;
  return new InboxdError(message, { code: "no_answer", baseUrl, cause });
}

/** The innermost reason of a failed `fetch`. Node says only "fetch failed", and a host with several addresses has a reason for each. */
function reasonOf(error: unknown, depth = 0): string {
  const inner: unknown = error instanceof AggregateError ? error.errors[0] : (error as Partial<Error> | null)?.cause;
  if (inner !== undefined && depth < 5) return reasonOf(inner, depth + 1);
  return error instanceof Error ? error.message : String(error);
}

function problemOf(text: string): InboxdProblem {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as InboxdProblem) : {};
  } catch {
    return {};
  }
}

/** Undefined for a date, which proxies may send instead of seconds. */
function secondsOf(header: string | null | undefined): number | undefined {
  return /^\d{1,9}$/.test(header ?? "") ? Number(header) : undefined;
}
