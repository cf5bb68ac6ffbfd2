/** What a mail says of its conversation; ids are canonical (message-id.ts). */
export interface ThreadingHeaders {
  inReplyTo: readonly string[];
  references: readonly string[];
}

/**
 * The thread that an email joins, or `undefined` when it starts one of its own.
 * In-Reply-To wins over References. Within References the last entry is the direct parent (RFC 5322 §3.6.4),
 * so we walk backwards: when a sender has merged two conversations, the reply lands in the nearer one.
 * No rule looks at the subject, and `threadOf` knows one inbox only: a forged header can't reach another's thread.
 */
export function resolveThread(headers: ThreadingHeaders, threadOf: ReadonlyMap<string, string>): string | undefined {
  for (const messageId of namedAncestors(headers)) {
    const threadId = threadOf.get(messageId);
    if (threadId !== undefined) return threadId;
  }
  return undefined;
}

/** Every id that can decide the thread, the strongest first, each once. */
export function namedAncestors(headers: ThreadingHeaders): string[] {
  return [...new Set([...headers.inReplyTo, ...headers.references.toReversed()])];
}
