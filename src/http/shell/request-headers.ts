import { parseIdempotencyKey } from "../../domain/idempotency.ts";

export const requestIdHeader = "x-request-id";

/**
 * The id of a request in its answer and in the log. The caller's own id is kept, so that one id follows a request through many services.
 * Anything but 1 to 128 visible ASCII characters is replaced, because it could forge log lines.
 */
export function requestId(incoming: string | null, newRequestId: () => string): string {
  return incoming !== null && visibleAscii.test(incoming) ? incoming : newRequestId();
}

const visibleAscii = /^[\x21-\x7e]{1,128}$/;

/**
 * The version that `If-Match` asks for, or undefined if it allows any (RFC 9110 §13.1.1). Entity tags that are no version fit none, which
 * is 0: versions begin at 1.
 */
export function ifMatchOf(request: Request): number | undefined {
  const field = request.headers.get("if-match");
  if (field === null || field.trim() === "*") return undefined;
  return Number(/^"(\d{1,9})"$/.exec(field.trim())?.[1] ?? 0);
}

/** The idempotency key of a request, or undefined if it has none. */
export function idempotencyKeyOf(request: Request): string | undefined {
  const field = request.headers.get("idempotency-key");
  return field === null || field === "" ? undefined : parseIdempotencyKey(field);
}
