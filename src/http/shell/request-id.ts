/**
 * The id under which a request is known in its answer and in the log. The caller's own is kept, so that one id
 * follows a request through many services; anything that is not 1–128 visible ASCII characters could forge log lines.
 */
export function requestId(incoming: string | null, newRequestId: () => string): string {
  return incoming !== null && visibleAscii.test(incoming) ? incoming : newRequestId();
}

export const requestIdHeader = "x-request-id";

const visibleAscii = /^[\x21-\x7e]{1,128}$/;
