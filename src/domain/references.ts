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

/** The messages that the first mail of a thread names. They are not stored here. */
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
/** A longer id does not fit into a header field (RFC 5322 §2.1.1). */
export const mostIdCharacters = 998;

function firstAndLast(ids: readonly string[], most: number): string[] {
  return ids.length <= most ? [...ids] : [...ids.slice(0, 1), ...ids.slice(1 - most)];
}
