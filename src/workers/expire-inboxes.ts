import { DatabaseUnavailable } from "../database/db.ts";
import { service } from "../domain/access/actor.ts";
import { Refusal } from "../domain/errors.ts";
import { deleteInbox } from "../flows/account/delete-inbox.ts";
import type { Deps } from "../flows/deps.ts";
import { type ExpiredInbox, listExpiredInboxes } from "../store/account/inboxes.ts";
import { type Rounds, startRounds } from "./rounds.ts";

export interface ExpiryDeps extends Deps {
  /** Called when an inbox was deleted because its time was over. */
  inboxExpired?: (() => void) | undefined;
}

const mostAtOnce = 100;
const pauseMs = 1_000;

/** Deletes inboxes when their time is over, as a request to delete them does. */
export function startInboxExpiry(deps: ExpiryDeps): Rounds {
  /** Another process may delete the inbox at the same time, or a request may give it a later end: then it is not found. */
  async function expire({ id, accountId }: ExpiredInbox, now: Date): Promise<void> {
    try {
      await deleteInbox(deps, { accountId, actor: service }, id, { expiredBy: now });
      deps.inboxExpired?.();
      deps.log.info({ account_id: accountId, inbox_id: id }, "inbox expired");
    } catch (err) {
      if (err instanceof DatabaseUnavailable) throw err;
      if (!(err instanceof Refusal)) deps.log.warn({ err, inbox_id: id }, "cannot delete an expired inbox");
    }
  }

  async function round(stopping: AbortSignal): Promise<void> {
    const now = deps.now();
    for (let after = ""; ; ) {
      const inboxes = await listExpiredInboxes(deps.db.work, { now, after, limit: mostAtOnce });
      for (const inbox of inboxes) {
        if (stopping.aborted) return;
        await expire(inbox, now);
        after = inbox.id;
      }
      if (inboxes.length < mostAtOnce) return;
    }
  }

  const failed = (err: unknown) => deps.log.warn({ err }, "cannot look for expired inboxes");
  return startRounds({ pauseMs, round, failed });
}
