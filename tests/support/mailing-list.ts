import type { MailFields } from "./mail.ts";

/** Mails of a public list, oldest first, and the number of conversations that their ids make. */
export interface MailingList {
  mails: MailFields[];
  conversations: number;
}

/** How a mail program names its parents: `chain` leads from the conversation's first mail to the answered one. */
type Naming = (chain: readonly string[]) => Pick<MailFields, "inReplyTo" | "references">;

/** Nearly all programs name the whole chain and the parent twice; some omit In-Reply-To, shorten a long chain, or name only the parent. */
const whole: Naming = (chain) => ({ ...answers(chain), references: chain });
const programs: readonly Naming[] = [
  ...Array.from({ length: 16 }, () => whole),
  (chain) => ({ references: chain }),
  (chain) => ({ references: chain }),
  (chain) => ({ ...answers(chain), references: chain.length > 5 ? [...chain.slice(0, 1), ...chain.slice(-4)] : chain }),
  answers,
];

function answers(chain: readonly string[]): { inReplyTo: string } {
  return { inReplyTo: chain.at(-1) ?? "" };
}

/** The same list for the same seed. A tenth of its mails are missing, also first ones of conversations. */
export function mailingList(seed: number, size = 196, beginnings = 7): MailingList {
  const pick = picking(seed);
  const all: { chain: string[]; mail: MailFields }[] = [];
  for (let number = 0; number < size; number += 1) {
    const messageId = `${seed}.${number}@list.example`;
    const parent = number < beginnings ? undefined : all[Math.max(pick(number), number - 1 - pick(30))];
    const chain = [...(parent?.chain ?? []), ...(parent?.mail.messageId === undefined ? [] : [parent.mail.messageId])];
    const naming = programs[pick(programs.length)];
    all.push({ chain, mail: { messageId, ...(chain.length > 0 ? naming?.(chain) : {}) } });
  }
  const mails = all.map(({ mail }) => mail).filter(() => pick(10) > 0);
  return { mails, conversations: conversationsOf(mails) };
}

/** Mails belong together if one names the other, or both name a third, which may be missing. */
function conversationsOf(mails: readonly MailFields[]): number {
  const next = new Map<string, string>();
  const headOf = (id: string): string => {
    const above = next.get(id);
    return above === undefined ? id : headOf(above);
  };
  for (const { messageId = "", inReplyTo, references = [] } of mails) {
    for (const id of [...references, ...(inReplyTo === undefined ? [] : [inReplyTo])]) {
      if (headOf(id) !== headOf(messageId)) next.set(headOf(id), headOf(messageId));
    }
  }
  return new Set(mails.map(({ messageId = "" }) => headOf(messageId))).size;
}

export function shuffled<Item>(items: readonly Item[], seed: number): Item[] {
  const pick = picking(seed);
  const left = [...items];
  return items.flatMap(() => left.splice(pick(left.length), 1));
}

/** Whole numbers below the given one, the same for the same seed (mulberry32). */
function picking(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}
