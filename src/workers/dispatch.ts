import { DatabaseUnavailable } from "../database/db.ts";
import { type DispatchDeps, dispatchDrafts } from "../flows/send/dispatch-drafts.ts";
import { findNextDueDraft } from "../store/send/drafts.ts";

/** The dispatch of scheduled drafts by this process. */
export interface Dispatch {
  /** Looks for due drafts soon, because one was scheduled. */
  wake(): void;
  /** Claims no more drafts, and waits for those in hand. */
  stop(): Promise<void>;
}

/** The interval at which it looks for drafts that other processes have scheduled. A draft is sent within a second of its time. */
const tickMs = 500;

/** Dispatches drafts when they are due. */
export function startDispatch(deps: DispatchDeps): Dispatch {
  let working: Promise<void> | undefined;
  let isAsked = false;
  let isStopping = false;
  let alarm: ReturnType<typeof setTimeout> | undefined;

  /** Dispatches until nothing is due. Then the time of the next draft is known. */
  async function work(): Promise<void> {
    do {
      isAsked = false;
      const next = await findNextDueDraft(deps.db.work);
      if (next === undefined) continue;
      const leftMs = next.getTime() - deps.now().getTime();
      if (leftMs <= 0) isAsked = await dispatchDrafts(deps);
      else if (leftMs < tickMs) alarm = setTimeout(wake, leftMs + 1);
    } while (isAsked && !isStopping);
  }

  function wake(): void {
    isAsked = true;
    if (isStopping || working !== undefined) return;
    clearTimeout(alarm);
    working = work()
      .catch((err: unknown) => {
        // The pool of connections logs an outage itself, once.
        if (!(err instanceof DatabaseUnavailable)) deps.log.warn({ err }, "drafts not dispatched: trying again");
      })
      .finally(() => {
        working = undefined;
      });
  }

  const timer = setInterval(wake, tickMs);
  return {
    wake,
    async stop() {
      isStopping = true;
      clearInterval(timer);
      clearTimeout(alarm);
      await working;
    },
  };
}
