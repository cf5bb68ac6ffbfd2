/**
 * The fields of an error that may be logged. The driver and Drizzle attach parameters and rows (`params`, `detail`),
 * and Drizzle writes them into the message too. They are addresses and mail, which must not be logged, so only fields
 * about the program are copied.
 */
export function loggable(error: unknown, depth = 0): Record<string, unknown> {
  if (!(error instanceof Error)) return { type: typeof error };
  const query = "query" in error && typeof error.query === "string" ? error.query : undefined;
  return {
    type: error.name,
    message: query === undefined ? error.message : `Failed query: ${query}`,
    ...("code" in error && { code: error.code }),
    stack: framesOf(error),
    ...(error.cause !== undefined && depth < maxDepth && { cause: loggable(error.cause, depth + 1) }),
  };
}

/** The most causes that are logged for an error, because an error may be its own cause. */
const maxDepth = 5;

/** The stack without the message that it begins with. */
function framesOf(error: Error): string[] {
  const lines = (error.stack ?? "").split("\n").map((line) => line.trim());
  return lines.filter((line) => line.startsWith("at "));
}

/**
 * The path without secrets: without the name of an attachment, which is part of someone's mail (the message id is enough to find it), and
 * without the tokens by which a recipient unsubscribes and a person approves.
 */
export function loggablePath(path: string): string {
  return path.replace(/^(\/v1\/attachments\/[^/]+\/|\/u\/|\/approve\/).+$/, "$1…");
}
