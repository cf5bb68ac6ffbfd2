import type { Db } from "../../database/db.ts";
import { passingMemory } from "../../primitives/memory.ts";
import { listInboxOwners } from "../../store/account/inboxes.ts";
import type { Deps } from "../deps.ts";

/** The account of an inbox, and the tenant. */
export interface InboxOwner {
  id: string;
  accountId: string;
  externalId: string | null;
}

/** The owners of inboxes, as this process remembers them. RCPT reads each inbox, so most are remembered when their mail is judged. */
export interface InboxOwners {
  /** The owner as it is remembered, without a read. */
  recall(inboxId: string): InboxOwner | undefined;
  /** Finds the owners of these inboxes, from memory or by one read. An inbox that does not exist has none. */
  find(db: Db, inboxIds: readonly string[]): Promise<InboxOwner[]>;
  remember(owner: InboxOwner): void;
}

const rememberedMs = 30_000;
const mostRemembered = 50_000;

export function inboxOwners({ now }: Pick<Deps, "now">): InboxOwners {
  const known = passingMemory<string, InboxOwner>(mostRemembered);
  const recall = (inboxId: string) => known.get(inboxId, now().getTime());

  function remember({ id, accountId, externalId }: InboxOwner): void {
    known.set(id, { id, accountId, externalId }, now().getTime() + rememberedMs);
  }

  return {
    recall,
    remember,
    async find(db, inboxIds) {
      const owners = inboxIds.map(recall);
      const missing = inboxIds.filter((_, index) => owners[index] === undefined);
      const read = missing.length === 0 ? [] : await listInboxOwners(db, missing);
      read.forEach(remember);
      return [...owners.filter((owner) => owner !== undefined), ...read];
    },
  };
}
