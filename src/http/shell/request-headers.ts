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

/** The idempotency key of a request, or undefined if it has none. */
export function idempotencyKeyOf(request: Request): string | undefined {
  const field = request.headers.get("idempotency-key");
  return field === null || field === "" ? undefined : parseIdempotencyKey(field);
}
