import { mostIdCharacters } from "./references.ts";

/** What a mail says of its conversation; ids are canonical (message-id.ts). */
export interface ThreadingHeaders {
  inReplyTo: readonly string[];
  references: readonly string[];
}

/** So many say what a conversation is, and each is a look-up in each inbox that the mail is for. */
const mostAncestors = 50;

/**
 * The ids that can decide the thread, the strongest first, each once. In-Reply-To wins over References. Within
 * References the last entry is the direct parent (RFC 5322 §3.6.4), so we walk backwards: when a sender has merged
 * two conversations, the reply lands in the nearer one.
 */
export function namedAncestors({ inReplyTo, references }: ThreadingHeaders): string[] {
  return nearestAndRoot([...new Set([...inReplyTo, ...references.toReversed()])], mostAncestors);
}

/** What a mail says that it answers. One that no field of a mail of ours could name again is left out (RFC 5322 §2.1.1). */
export function namedParent({ inReplyTo, references }: ThreadingHeaders): string | undefined {
  const parent = inReplyTo[0] ?? references.at(-1);
  return parent !== undefined && parent.length <= mostIdCharacters ? parent : undefined;
}

/** Branches of a conversation that have no near mail in common still have its root. */
function nearestAndRoot(ids: readonly string[], most: number): string[] {
  return ids.length <= most ? [...ids] : [...ids.slice(0, most - 1), ...ids.slice(-1)];
}

/** What is known of Message-IDs in one inbox, and of no other: a forged header can't reach another's thread. */
export interface KnownThreads {
  /** The thread of the message under this id. */
  of: (messageId: string) => string | undefined;
  /** The thread of a mail that named this id, which was not here. */
  awaiting: (messageId: string) => string | undefined;
}

export interface ThreadResolution {
  /** The thread that the mail joins; undefined when it starts one of its own. */
  threadId: string | undefined;
  /** What the mail names and is not here: whatever names or bears one of these later belongs to the same conversation. */
  missing: string[];
}

/** So many mails that have not come are remembered for one that names them. */
const mostMissing = 20;

/**
 * What it answers, and else the nearest that it names, decides. Where none of them is here, the conversation may be all the same: a
 * mail under the same id (a list's copy beside the direct one), or one that waits for this one, or for what this one names.
 * No rule looks at the subject. A mail that names itself is not its own parent.
 */
export function resolveThread(ownId: string, ancestors: readonly string[], known: KnownThreads): ThreadResolution {
  const threadId = firstOf(ancestors, known.of) ?? known.of(ownId) ?? firstOf([ownId, ...ancestors], known.awaiting);
  const missing = ancestors.filter((id) => id !== ownId && known.of(id) === undefined);
  return { threadId, missing: nearestAndRoot(missing, mostMissing) };
}

function firstOf(ids: readonly string[], find: (id: string) => string | undefined): string | undefined {
  for (const id of ids) {
    const found = find(id);
    if (found !== undefined) return found;
  }
  return undefined;
}
