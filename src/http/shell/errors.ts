import { NotFoundError, ValidationError } from "elysia";
import type { Logger } from "pino";
import { DatabaseSlow, DatabaseUnavailable } from "../../database/db.ts";
import { type Fault, notFound, Refusal, statusOf } from "../../domain/errors.ts";
import { acceptedQuality } from "../../standards/accept.ts";
import { loggable, loggablePath } from "./loggable.ts";

/** The body of every failure (RFC 9457), with `error` and `message` for clients that read those names. */
export interface Problem {
  type: "about:blank";
  title: string;
  status: number;
  detail: string;
  instance: string;
  code: string;
  error: string;
  message: string;
  request_id: string;
  errors?: readonly Fault[];
  [extra: string]: unknown;
}

export interface ProblemAnswer {
  status: number;
  headers: Record<string, string>;
  body: Problem;
}

/**
 * The answer to a refusal. `path` has no query, which may carry secrets. `accept` is the request's header: a client
 * that accepts plain JSON but no problem+json gets the same bytes as `application/json`.
 */
export function problemOf(
  refusal: Refusal,
  path: string,
  requestId: string,
  accept: string | null = null,
): ProblemAnswer {
  const { extra, faults, retryAfterSeconds, headers } = refusal.details;
  const status = statusOf[refusal.reason];
  return {
    status,
    headers: {
      ...headers,
      ...(retryAfterSeconds !== undefined && { "retry-after": String(Math.max(1, Math.ceil(retryAfterSeconds))) }),
      "content-type": takesOnlyJson(accept) ? "application/json" : "application/problem+json",
      vary: "Accept",
    },
    body: {
      type: "about:blank",
      title: titles[status],
      status,
      detail: refusal.message,
      instance: path,
      code: refusal.reason,
      error: refusal.reason,
      message: refusal.message,
      request_id: requestId,
      ...extra,
      ...(faults !== undefined && faults.length > 0 && { errors: faults }),
    },
  };
}

function takesOnlyJson(accept: string | null): boolean {
  return acceptedQuality(accept, "application/problem+json") === 0 && acceptedQuality(accept, "application/json") > 0;
}

export interface Failure {
  error: unknown;
  method: string;
  path: string;
  request_id: string;
}

/** The refusal that the caller gets for an error. The details of a bug are only logged. */
export function refusalOf({ error, ...failed }: Failure, log: Logger): Refusal {
  if (error instanceof Refusal) return error;
  if (error instanceof NotFoundError) return notFound("route");
  const request = { ...failed, path: loggablePath(failed.path) };
  if (isUnavailable(error)) {
    const isSlow = error instanceof DatabaseSlow || (error instanceof Error && error.cause instanceof DatabaseSlow);
    const why = isSlow ? "the database does not answer in time" : "the database is away";
    log.warn({ error: loggable(error), ...request }, `request refused: ${why}`);
    return unavailable(why);
  }
  log.error(
    { ...(error instanceof ValidationError ? brokenSchema(error) : { error: loggable(error) }), ...request },
    "request failed: unexpected error",
  );
  return new Refusal("internal_error", "Cannot answer: something went wrong on our side");
}

export function unavailable(why: string, headers: Record<string, string> = {}): Refusal {
  return new Refusal("service_unavailable", `Cannot answer: ${why}`, { retryAfterSeconds: 1, headers });
}

function isUnavailable(error: unknown): boolean {
  return error instanceof DatabaseUnavailable || (error instanceof Error && error.cause instanceof DatabaseUnavailable);
}

/**
 * The loggable part of Elysia's error for a response that breaks its schema. Its message repeats the value, which may
 * be someone's mail, so the log gets only the paths of the wrong fields.
 */
function brokenSchema(error: ValidationError) {
  const faults = error.all.map((fault) => ("path" in fault ? String(fault.path) : ""));
  return { brokenSchema: error.type, faults: [...new Set(faults)] };
}

export const titles: Record<(typeof statusOf)[keyof typeof statusOf], string> = {
  400: "Bad Request",
  401: "Unauthorized",
  403: "Forbidden",
  404: "Not Found",
  405: "Method Not Allowed",
  409: "Conflict",
  412: "Precondition Failed",
  413: "Content Too Large",
  415: "Unsupported Media Type",
  422: "Unprocessable Content",
  426: "Upgrade Required",
  429: "Too Many Requests",
  500: "Internal Server Error",
  503: "Service Unavailable",
  507: "Insufficient Storage",
};
