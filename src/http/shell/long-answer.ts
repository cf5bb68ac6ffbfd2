interface Answered {
  responseValue: unknown;
  set: { headers: Record<string, string | number> };
}

/**
 * The answer of a list as a stream of one piece, where it is long; undefined for any other, which is left to the framework.
 *
 * Bun gathers the head of an answer that is made after its request's turn only where the body is short. The head of a long one goes
 * out in eighteen writes, each of them a packet, which takes twice as long as all else about a page of messages. The head of a
 * stream is always gathered.
 */
export function longAnswer({ responseValue, set }: Answered): Response | undefined {
  if (!isListOfSome(responseValue)) return undefined;
  const text = JSON.stringify(responseValue);
  set.headers["content-type"] = "application/json;charset=utf-8";
  return new Response(text.length < gatheredCharacters ? text : inOnePiece(text));
}

/** What is shorter for certain is not worth a look. */
function isListOfSome(value: unknown): boolean {
  return (
    typeof value === "object" && value !== null && "data" in value && Array.isArray(value.data) && value.data.length > 5
  );
}

/** Bun's own kind of stream, which its types leave out: whoever pulls gets all at once. */
function inOnePiece(text: string): ReadableStream {
  const source = {
    type: "direct",
    pull(controller: { write(text: string): unknown; close(): void }) {
      controller.write(text);
      controller.close();
    },
  };
  return new ReadableStream(source as unknown as UnderlyingByteSource);
}

/** Bun's own bound is 15,360 octets. */
const gatheredCharacters = 15_000;
