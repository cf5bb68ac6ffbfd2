/** The header fields of a mail that name earlier mails of its conversation. Ids are canonical (standards/message-id.ts). */
export interface ThreadingHeaders {
  inReplyTo: readonly string[];
  references: readonly string[];
}

/** The most ancestors of a mail that are looked up, each one in every inbox of the mail. */
const mostAncestors = 50;

/**
 * The ids that can decide the thread, the strongest first, without duplicates. In-Reply-To wins over References. Within References the last
 * entry is the direct parent (RFC 5322 §3.6.4), so they are read from the last to the first: if a sender
 * has merged two conversations, the reply joins that of its direct parent.
 */
export function namedAncestors({ inReplyTo, references }: ThreadingHeaders): string[] {
  return nearestAndRoot([...new Set([...inReplyTo, ...references.toReversed()])], mostAncestors);
}

/** The id of the message that a mail answers, unless it is too long for a header field of ours (RFC 5322 §2.1.1). */
export function namedParent({ inReplyTo, references }: ThreadingHeaders): string | undefined {
  const parent = inReplyTo[0] ?? references.at(-1);
  return parent !== undefined && parent.length <= mostIdCharacters ? parent : undefined;
}

/** Keeps at most `most` ids: the nearest ones, which come first, and the last one, which is the root that all branches have in common. */
function nearestAndRoot(ids: readonly string[], most: number): string[] {
  return ids.length <= most ? [...ids] : [...ids.slice(0, most - 1), ...ids.slice(-1)];
}

/** Finds the threads of one inbox by Message-ID. It knows only this inbox, so that a forged header cannot reach a thread of another one. */
export interface KnownThreads {
  /** The thread of the message with this id. */
  of: (messageId: string) => string | undefined;
  /** The thread of an earlier mail that named this id, while the inbox had no message with it. */
  awaiting: (messageId: string) => string | undefined;
  /** Whether a message with this id was removed on request. No thread waits for it. */
  wasRemoved: (messageId: string) => boolean;
}

export interface ThreadResolution {
  /** The thread that the mail joins; undefined if it starts a new one. */
  threadId: string | undefined;
  /** The named ids that no message of the inbox has. A later mail that has or names one of them belongs to the same conversation. */
  missing: string[];
}

/** The most missing ids that are stored for one mail. */
const mostMissing = 20;

/**
 * Finds the thread of a mail. The nearest known ancestor decides. If none is known, the mail joins the thread of a mail with the same id (a
 * list's copy beside the direct one), or of a mail that named this one or one of its ancestors. The subject is never used. A mail that names
 * itself is not its own parent.
 */
export function resolveThread(ownId: string, ancestors: readonly string[], known: KnownThreads): ThreadResolution {
  const threadId = firstOf(ancestors, known.of) ?? known.of(ownId) ?? firstOf([ownId, ...ancestors], known.awaiting);
  const missing = ancestors.filter((id) => id !== ownId && known.of(id) === undefined && !known.wasRemoved(id));
  return { threadId, missing: nearestAndRoot(missing, mostMissing) };
}

function firstOf(ids: readonly string[], find: (id: string) => string | undefined): string | undefined {
  for (const id of ids) {
    const found = find(id);
    if (found !== undefined) return found;
  }
  return undefined;
}

/**
 * The References of a reply (contract §5.5): the ancestors, oldest first, and at the end the answered message, which mail programs use as the
 * parent (RFC 5322 §3.6.4). Each id is listed once. A long list keeps its first id, by which other programs know the conversation, and the
 * last ones, which are the nearest ancestors.
 */
export function replyReferences(before: readonly string[], answered: readonly string[]): string[] {
  const last = new Set(answered);
  const ids = [...new Set(before.filter((id) => !last.has(id))), ...last];
  return firstAndLast(ids, maxReferences);
}

const maxReferences = 100;

/** The Message-IDs that the first mail of a thread names, for the References of replies. Those messages were not in the inbox. */
export function foreignAncestors({ inReplyTo, references }: ThreadingHeaders): string[] | undefined {
  const named = [...new Set([...references, ...inReplyTo])].filter((id) => id.length <= mostIdCharacters);
  return named.length === 0 ? undefined : firstAndLast(named, mostForeign);
}

const mostForeign = 50;
/** A longer id does not fit into a header field (RFC 5322 §2.1.1). */
const mostIdCharacters = 998;

function firstAndLast(ids: readonly string[], most: number): string[] {
  return ids.length <= most ? [...ids] : [...ids.slice(0, 1), ...ids.slice(1 - most)];
}
