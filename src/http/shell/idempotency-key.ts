import { parseIdempotencyKey } from "../../domain/idempotency.ts";

/** The key that a request is to be known by when it comes again, or `undefined` where it has none. */
export function idempotencyKeyOf(request: Request): string | undefined {
  const field = request.headers.get("idempotency-key");
  return field === null || field === "" ? undefined : parseIdempotencyKey(field);
}
