/**
 * What the log gets of an error. The driver and Drizzle hang parameters and rows on theirs (`params`, `detail`), and
 * Drizzle even writes them into the message: addresses and mail, which no log may hold. So only what is known to
 * speak of the program is taken.
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

/** An error may be its own cause. */
const maxDepth = 5;

/** The frames alone: a stack begins with the message. */
function framesOf(error: Error): string[] {
  const lines = (error.stack ?? "").split("\n").map((line) => line.trim());
  return lines.filter((line) => line.startsWith("at "));
}

/** The name of an attachment is part of someone's mail; the ids before it tell which one it was. */
export function loggablePath(path: string): string {
  return path.replace(/^(\/v1\/attachments\/[^/]+\/).+$/, "$1…");
}
