/** What a mail says of its conversation; ids are canonical (message-id.ts). */
export interface ThreadingHeaders {
  inReplyTo: readonly string[];
  references: readonly string[];
}

/** A reply names its parent last; who names thousands is not in a conversation. */
const mostAncestors = 1_000;

/**
 * The ids that can decide the thread, the strongest first, each once. In-Reply-To wins over References. Within
 * References the last entry is the direct parent (RFC 5322 §3.6.4), so we walk backwards: when a sender has merged
 * two conversations, the reply lands in the nearer one. Of very many the nearest count, and the root.
 */
export function namedAncestors({ inReplyTo, references }: ThreadingHeaders): string[] {
  const all = [...new Set([...inReplyTo, ...references.toReversed()])];
  return all.length <= mostAncestors ? all : [...all.slice(0, mostAncestors - 1), ...all.slice(-1)];
}

export interface ThreadResolution {
  /** The thread that the mail joins; undefined when it starts one of its own. */
  threadId: string | undefined;
  /** What the mail named before that and is not here: should it come later, it belongs to the same conversation. */
  missing: string[];
}

/** So many parents that have not come yet are remembered for one mail. */
const mostMissing = 20;

/**
 * No rule looks at the subject, and `threadOf` knows one inbox only: a forged header can't reach another's thread.
 * A mail that names itself is not its own parent.
 */
export function resolveThread(
  ownId: string,
  ancestors: readonly string[],
  threadOf: (messageId: string) => string | undefined,
): ThreadResolution {
  const missing: string[] = [];
  for (const messageId of ancestors) {
    const threadId = threadOf(messageId);
    if (threadId !== undefined) return { threadId, missing };
    if (messageId !== ownId && missing.length < mostMissing) missing.push(messageId);
  }
  return { threadId: undefined, missing };
}
