import { DatabaseUnavailable } from "../../database/db.ts";
import type { StoredMessage } from "../../store/mail/message-pages.ts";
import type { Deps } from "../deps.ts";
import type { Listeners } from "../listeners.ts";
import { inboxWatch } from "./inbox-watch.ts";
import { type LookRequest, type MailLook, mailLook } from "./mail-look.ts";
import { messageOpener, type OpenerDeps } from "./open-message.ts";

export interface WaitDeps extends Deps, Pick<OpenerDeps, "extract"> {
  listeners: Pick<Listeners, "open">;
}

export interface WaitRequest extends LookRequest {
  /** 0: what is there now. */
  timeoutMs: number;
  /** Aborted when nobody is there any more who would get the answer. */
  signal: AbortSignal;
}

/** `timeout`: nothing came in time. `gone`: nobody waits any more. `stopping`: the service stops. */
type WaitEnd = "timeout" | "gone" | "stopping";

/** `place`: up to which the inbox has been looked through. Who goes on behind it misses nothing and gets nothing twice. */
export type WaitResult = ({ end: "found"; message: StoredMessage } | { end: WaitEnd }) & { place: number };

export interface MailWaits {
  wait(request: WaitRequest): Promise<WaitResult>;
  /** Ends all waits, each with its place. */
  stop(): void;
}

export function mailWaits(deps: WaitDeps): MailWaits {
  const watch = inboxWatch(deps);
  const looking = { db: deps.db.api, open: messageOpener({ db: deps.db.api, extract: deps.extract }) };
  const underWay = new Set<(how: WaitEnd) => void>();
  let isStopping = false;

  async function wait(request: WaitRequest): Promise<WaitResult> {
    const look = mailLook(looking, request);
    const isQuick = request.timeoutMs === 0 || isStopping;
    // Before anything waits, and before a place is taken: an inbox that is not there is told as one that never was.
    await look.findPlace().catch((error) => {
      if (isQuick || !(error instanceof DatabaseUnavailable)) throw error;
    });
    if (isQuick) {
      const place = await look.begin();
      const message = look.found();
      return message === undefined ? { end: "timeout", place } : { end: "found", message, place };
    }
    const close = deps.listeners.open("wait", request.accountId);
    try {
      return await waitFor(look, request);
    } finally {
      close();
    }
  }

  function waitFor(look: MailLook, { inboxId, timeoutMs, signal }: WaitRequest): Promise<WaitResult> {
    const { promise, resolve, reject } = Promise.withResolvers<WaitResult>();
    const end = (how: WaitEnd) => {
      leave();
      const message = look.found();
      const place = look.place();
      const isBlind = how === "timeout" ? !look.hasLooked() : place === undefined;
      // Whatever ends it: once there is a mail its place is behind it, so to answer without it would be to lose it.
      if (message !== undefined) resolve({ end: "found", message, place: place ?? 0 });
      else if (isBlind && how !== "gone") reject(new DatabaseUnavailable("the inbox could not be read in time"));
      else resolve({ end: how, place: place ?? 0 });
    };
    const endIfFound = () => {
      if (look.found() !== undefined) end("timeout");
    };
    const onAbort = () => end("gone");
    const timer = setTimeout(() => end("timeout"), timeoutMs);
    signal.addEventListener("abort", onAbort, { once: true });
    underWay.add(end);
    const unwatch = watch.watch({
      inboxId,
      async begin() {
        const place = await look.begin();
        endIfFound();
        return place;
      },
      async take(mails) {
        await look.through(mails);
        endIfFound();
      },
      fail(error) {
        leave();
        reject(error);
      },
    });

    function leave(): void {
      clearTimeout(timer);
      signal.removeEventListener("abort", onAbort);
      underWay.delete(end);
      unwatch();
    }

    if (signal.aborted) onAbort();
    else if (isStopping) end("stopping");
    return promise;
  }

  return {
    wait,
    stop() {
      isStopping = true;
      for (const end of [...underWay]) end("stopping");
    },
  };
}
