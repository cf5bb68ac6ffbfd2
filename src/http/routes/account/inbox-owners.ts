import { notFound } from "../../../domain/errors.ts";
import type { Deps } from "../../../flows/deps.ts";
import { boundedMemory } from "../../../primitives/memory.ts";
import { ownedInbox } from "./inboxes.ts";

/** Whose inboxes are, remembered: a send asks for it each time, and it changes only when an inbox is deleted. */
export interface InboxOwners {
  /** Throws where the account has no such inbox. What was remembered may have been deleted since. */
  check(accountId: string, inboxId: string): Promise<void>;
  forget(inboxId: string): void;
}

const mostRemembered = 50_000;

export function inboxOwners(deps: Deps): InboxOwners {
  const owners = boundedMemory<string, string>(mostRemembered);
  return {
    async check(accountId, inboxId) {
      const known = owners.get(inboxId);
      if (known === accountId) return;
      if (known !== undefined) throw notFound("inbox");
      await ownedInbox(deps, accountId, inboxId);
      owners.set(inboxId, accountId);
    },
    forget: owners.delete,
  };
}
