import { DatabaseUnavailable } from "../../database/db.ts";
import { deadlines } from "../../primitives/deadlines.ts";
import type { StoredMessage } from "../../store/mail/message-pages.ts";
import type { Deps } from "../deps.ts";
import type { Listeners } from "../listeners.ts";
import type { OpenCall, OpenCalls } from "../open-calls.ts";
import { type LookRequest, type MailLook, mailLooks, newLook } from "./mail-look.ts";
import { messageOpener, type OpenerDeps } from "./open-message.ts";
import { type Watcher, watchedInboxes } from "./watched-inboxes.ts";

export interface WaitDeps extends Deps, Pick<OpenerDeps, "extract"> {
  listeners: Pick<Listeners, "open">;
  calls: Pick<OpenCalls, "add">;
}

export interface WaitRequest extends LookRequest {
  /** How long to wait. With 0 the request only looks through the stored mail. */
  timeoutMs: number;
  /** Aborts when the client disconnects. */
  signal: AbortSignal;
  caller: OpenCall["caller"];
  ip: OpenCall["ip"];
}

/**
 * `timeout`: no mail came in time. `gone`: the client disconnected. `stopping`: the service stops. `forbidden`: the caller may not go on,
 * and its next request is refused.
 */
type WaitEnd = "timeout" | "gone" | "stopping" | "forbidden";

/**
 * `seen` is the number up to which the inbox has been looked through. A later wait that begins after this number neither misses nor repeats
 * a mail.
 */
export type WaitResult = ({ end: "found"; message: StoredMessage } | { end: WaitEnd }) & { seen: number };

export interface MailWaits {
  wait(request: WaitRequest): Promise<WaitResult>;
  /** Ends all waits, each with the number that it has seen. */
  stop(): void;
}

/** The state of one wait. It is small, because thousands are open at the same time. */
interface Wait extends Watcher {
  readonly look: MailLook;
  readonly signal: AbortSignal;
  readonly onAbort: () => void;
  readonly answer: (result: WaitResult | Promise<never>) => void;
  /** Removes this wait from the count of listeners. */
  readonly leave: () => void;
  /** Removes this wait from the open requests whose keys are checked. */
  readonly uncheck: () => void;
}

export function mailWaits(deps: WaitDeps): MailWaits {
  const looks = mailLooks({ db: deps.db.api, open: messageOpener({ db: deps.db.api, extract: deps.extract }) });
  const underWay = deadlines<Wait>((one) => end(one, "timeout"));
  let isStopping = false;

  const inboxes = watchedInboxes<Wait>(deps, {
    async begin(one) {
      const seen = await looks.begin(one.look);
      endIfFound(one);
      return seen;
    },
    async take(one, mails) {
      await looks.through(one.look, mails);
      endIfFound(one);
    },
    fail(one, error) {
      close(one);
      one.answer(Promise.reject(error));
    },
  });

  async function wait(request: WaitRequest): Promise<WaitResult> {
    const look = newLook(request);
    const isQuick = request.timeoutMs === 0 || isStopping;
    // This is the first step, so that a request for a missing inbox fails before it counts as a listener.
    await looks.findStart(look).catch((error) => {
      if (isQuick || !(error instanceof DatabaseUnavailable)) throw error;
    });
    if (isQuick) {
      const seen = await whileAsked(look, request.signal, () => looks.begin(look));
      return look.message === undefined ? { end: "timeout", seen } : { end: "found", message: look.message, seen };
    }
    const leave = deps.listeners.open("wait", request.reach.accountId);
    return new Promise((answer) => begin({ request, look, answer, leave }));
  }

  /** Does the work of a request that does not wait, and ends its look early if the client disconnects. */
  async function whileAsked<Result>(look: MailLook, signal: AbortSignal, work: () => Promise<Result>): Promise<Result> {
    const onAbort = () => {
      look.isOver = true;
    };
    signal.addEventListener("abort", onAbort, { once: true });
    return work().finally(() => signal.removeEventListener("abort", onAbort));
  }

  function begin({ request, ...own }: Pick<Wait, "look" | "answer" | "leave"> & { request: WaitRequest }): void {
    const { inboxId, signal, timeoutMs, caller, ip } = request;
    const onAbort = () => end(one, "gone");
    const uncheck = deps.calls.add({ caller, ip, forbid: () => end(one, "forbidden") });
    const one: Wait = { ...own, inboxId, signal, onAbort, uncheck, seen: undefined, isBeginning: false };
    underWay.add(one, timeoutMs);
    signal.addEventListener("abort", onAbort, { once: true });
    inboxes.watch(one);
    if (signal.aborted) onAbort();
    else if (isStopping) end(one, "stopping");
  }

  function end(one: Wait, how: WaitEnd): void {
    close(one);
    const { message, seen, hasLooked } = one.look;
    const isBlind = how === "timeout" ? !hasLooked : seen === undefined;
    // A mail that was found counts as seen, so the answer must have it, however the wait ends.
    if (message !== undefined) one.answer({ end: "found", message, seen: seen ?? 0 });
    else if (isBlind && how !== "gone")
      one.answer(Promise.reject(new DatabaseUnavailable("the inbox could not be read in time")));
    else one.answer({ end: how, seen: seen ?? 0 });
  }

  function endIfFound(one: Wait): void {
    if (one.look.message !== undefined) end(one, "timeout");
  }

  function close(one: Wait): void {
    one.look.isOver = true;
    underWay.remove(one);
    one.signal.removeEventListener("abort", one.onAbort);
    inboxes.unwatch(one);
    one.uncheck();
    one.leave();
  }

  return {
    wait,
    stop() {
      isStopping = true;
      for (const one of underWay.all()) end(one, "stopping");
    },
  };
}
