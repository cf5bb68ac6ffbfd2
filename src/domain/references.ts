/**
 * The References of a reply (contract §5.5): what came before, oldest first, and the answered message at the end, under which mail
 * programs file the reply (RFC 5322 §3.6.4). Each id stands there once. Of a long list the first stays, by which other programs
 * know the conversation, and the last ones, the nearer ancestors.
 */
export function replyReferences(before: readonly string[], answered: readonly string[]): string[] {
  const last = new Set(answered);
  const ids = [...new Set(before.filter((id) => !last.has(id))), ...last];
  return firstAndLast(ids, maxReferences);
}

const maxReferences = 100;

/** The messages that the first mail of a thread names. They were sent elsewhere and are not stored here. */
export function foreignAncestors({
  inReplyTo,
  references,
}: {
  inReplyTo: readonly string[];
  references: readonly string[];
}): string[] | undefined {
  const named = [...new Set([...references, ...inReplyTo])].filter((id) => id.length <= mostIdCharacters);
  return named.length === 0 ? undefined : firstAndLast(named, mostForeign);
}

const mostForeign = 50;
/** One that is longer fits into no field of ours (RFC 5322 §2.1.1). */
export const mostIdCharacters = 998;

function firstAndLast(ids: readonly string[], most: number): string[] {
  return ids.length <= most ? [...ids] : [...ids.slice(0, 1), ...ids.slice(1 - most)];
}
