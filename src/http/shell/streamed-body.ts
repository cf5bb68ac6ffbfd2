import { Refusal } from "../../domain/errors.ts";
import { within } from "../../primitives/within.ts";
import { isForm, isSend, refuseDeclaredTooLarge, refuseEncoded, tooLarge } from "./body.ts";

/**
 * The bytes of a body of any kind, as they come. Nothing is read before somebody asks for it, and then no more than he takes: the
 * connection waits meanwhile. What ends early, takes too long or is too large throws, and closes the connection.
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
        throw broken("it came too slowly");
      });
      if (done) return;
      sizeBytes += value.length;
      if (sizeBytes > maxBytes) throw tooLarge({ maxBytes });
      yield value;
    }
  } catch (error) {
    throw error instanceof Refusal ? error : broken("it ended too early");
  } finally {
    void reader.cancel().catch(() => undefined);
  }
}

/** A minute, and what a slow line needs for what has come so far; never more than ten. */
function mayTakeMs(sizeBytes: number): number {
  return Math.min(60_000 + sizeBytes / slowestBytesAMs, 600_000);
}

const slowestBytesAMs = 16;

function broken(why: string): Refusal {
  return new Refusal("validation_error", `Cannot read body: ${why}`, {
    faults: [{ pointer: "#", detail: "must come whole" }],
    headers: { connection: "close" },
  });
}

/** What a body says of its length; undefined where it comes in chunks. */
export function declaredBytes(request: Request): number | undefined {
  const declared = request.headers.get("content-length");
  return declared === null ? undefined : Number(declared);
}

/** Bodies that are read as streams, each under a limit of its own: the one for JSON is not theirs. */
export function isStreamed(request: Request): boolean {
  if (isSend(request)) return isForm(request);
  const [path = ""] = request.url.split("?", 1);
  return request.method === "POST" && path.endsWith("/v1/uploads");
}
