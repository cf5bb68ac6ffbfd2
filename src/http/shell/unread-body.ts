import { within } from "../../primitives/within.ts";

/** How much is read of a body only to be thrown away, and for how long. */
export interface ThrownAway {
  maxBytes: number;
  maxMs: number;
  /** Who sends nothing for so long waits for the answer. */
  silentMs: number;
}

/** Room for the files of the largest mail in base64. */
const usualThrownAway: ThrownAway = { maxBytes: 40_000_000, maxMs: 10_000, silentMs: 1000 };

/**
 * Where an answer ends its connection, what the client is still sending is thrown away before it goes out: most clients send all before
 * they read, and would see a broken connection in place of the answer. What declares more than that is not waited for.
 */
export async function answerOnceSent(
  request: Request,
  answer: Response,
  bounds: ThrownAway = usualThrownAway,
): Promise<Response> {
  if (answer.headers.get("connection") !== "close") return answer;
  if (Number(request.headers.get("content-length") ?? 0) > bounds.maxBytes) return answer;
  const { body } = request;
  if (body !== null && !body.locked) await throwAway(body, bounds).catch(() => undefined);
  return answer;
}

async function throwAway(body: ReadableStream<Uint8Array>, { maxBytes, maxMs, silentMs }: ThrownAway): Promise<void> {
  const reader = body.getReader();
  const startMs = performance.now();
  let leftBytes = maxBytes;
  while (leftBytes > 0) {
    const leftMs = Math.min(silentMs, startMs + maxMs - performance.now());
    const piece = await within(leftMs, reader.read(), () => undefined);
    if (piece?.value === undefined) return;
    leftBytes -= piece.value.length;
  }
}
