import { Refusal } from "../../domain/errors.ts";
import { within } from "../../primitives/within.ts";
import { inboundPath, isForm, isSend, refuseDeclaredTooLarge, refuseEncoded, tooLarge } from "./body.ts";

/**
 * The chunks of a body of any type. Each chunk is read when the caller wants it, so a slow caller slows the connection
 * down. Throws a refusal that closes the connection if the body ends early, is too slow or is too large.
 */
export async function* streamedBody(request: Request, maxBytes: number): AsyncGenerator<Uint8Array> {
  refuseEncoded(request);
  refuseDeclaredTooLarge(request, { maxBytes });
  if (request.body === null) return;
  const reader = request.body.getReader();
  const startMs = performance.now();
  let sizeBytes = 0;
  try {
    for (;;) {
      const leftMs = startMs + mayTakeMs(sizeBytes) - performance.now();
      const { done, value } = await within(leftMs, reader.read(), () => {
        throw brokenBody("it came too slowly");
      });
      if (done) return;
      sizeBytes += value.length;
      if (sizeBytes > maxBytes) throw tooLarge({ maxBytes });
      yield value;
    }
  } catch (error) {
    throw error instanceof Refusal ? error : brokenBody("it ended too early");
  } finally {
    void reader.cancel().catch(() => undefined);
  }
}

/** The time limit: one minute and 1 ms for every 16 bytes that came so far, at most ten minutes. */
function mayTakeMs(sizeBytes: number): number {
  return Math.min(60_000 + sizeBytes / slowestBytesAMs, 600_000);
}

const slowestBytesAMs = 16;

/** The refusal of a body that did not come whole. It closes the connection. */
export function brokenBody(why: string): Refusal {
  return new Refusal("validation_error", `Cannot read body: ${why}`, {
    faults: [{ pointer: "#", detail: "must come whole" }],
    headers: { connection: "close" },
  });
}

/** The Content-Length of a body; undefined if it is chunked. */
export function declaredBytes(request: Request): number | undefined {
  const declared = request.headers.get("content-length");
  return declared === null ? undefined : Number(declared);
}

/** Whether the body is read as a stream. Such a body has its own limit, not the one for JSON. */
export function isStreamed(request: Request): boolean {
  if (isSend(request)) return isForm(request);
  const [path = ""] = request.url.split("?", 1);
  return request.method === "POST" && (path.endsWith("/v1/uploads") || path.endsWith(inboundPath));
}
