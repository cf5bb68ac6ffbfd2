/**
 * The References of a reply: the Message-IDs of its thread, oldest first, each once (contract §5.5). Of a long thread the
 * first, by which other programs know the conversation, and the last ones, the nearer ancestors.
 */
export function replyReferences(threadIds: readonly string[]): string[] {
  const ids = [...new Set(threadIds)];
  return ids.length <= maxReferences ? ids : [...ids.slice(0, 1), ...ids.slice(1 - maxReferences)];
}

const maxReferences = 100;
