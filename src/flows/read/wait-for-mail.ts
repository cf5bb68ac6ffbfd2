import { DatabaseUnavailable } from "../../database/db.ts";
import { deadlines } from "../../primitives/deadlines.ts";
import type { StoredMessage } from "../../store/mail/message-pages.ts";
import type { Deps } from "../deps.ts";
import type { Listeners } from "../listeners.ts";
import { inboxWatch } from "./inbox-watch.ts";
import { type LookRequest, type MailLook, mailLooks, newLook } from "./mail-look.ts";
import { messageOpener, type OpenerDeps } from "./open-message.ts";
import type { Watcher } from "./watched-inbox.ts";

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

/** Thousands of them are open at a time: all that is held of one is this, and functions are shared. */
interface Wait extends Watcher {
  readonly look: MailLook;
  readonly signal: AbortSignal;
  readonly onAbort: () => void;
  readonly answer: (result: WaitResult | Promise<never>) => void;
  /** Gives its place among the listeners back. */
  readonly giveBack: () => void;
}

export function mailWaits(deps: WaitDeps): MailWaits {
  const looks = mailLooks({ db: deps.db.api, open: messageOpener({ db: deps.db.api, extract: deps.extract }) });
  const underWay = deadlines<Wait>((one) => end(one, "timeout"));
  let isStopping = false;

  const watch = inboxWatch<Wait>(deps, {
    async begin(one) {
      const place = await looks.begin(one.look);
      endIfFound(one);
      return place;
    },
    async take(one, mails) {
      await looks.through(one.look, mails);
      endIfFound(one);
    },
    fail(one, error) {
      leave(one);
      one.answer(Promise.reject(error));
    },
  });

  async function wait(request: WaitRequest): Promise<WaitResult> {
    const look = newLook(request);
    const isQuick = request.timeoutMs === 0 || isStopping;
    // Before anything waits, and before a place is taken: an inbox that is not there is told as one that never was.
    await looks.findPlace(look).catch((error) => {
      if (isQuick || !(error instanceof DatabaseUnavailable)) throw error;
    });
    if (isQuick) {
      const place = await whileAsked(look, request.signal, () => looks.begin(look));
      return look.message === undefined ? { end: "timeout", place } : { end: "found", message: look.message, place };
    }
    const giveBack = deps.listeners.open("wait", request.accountId);
    return new Promise((answer) => begin({ request, look, answer, giveBack }));
  }

  /** Who only looks has no place that `leave` would end. */
  async function whileAsked<Result>(look: MailLook, signal: AbortSignal, work: () => Promise<Result>): Promise<Result> {
    const onAbort = () => {
      look.isOver = true;
    };
    signal.addEventListener("abort", onAbort, { once: true });
    return work().finally(() => signal.removeEventListener("abort", onAbort));
  }

  function begin({ request, ...own }: Pick<Wait, "look" | "answer" | "giveBack"> & { request: WaitRequest }): void {
    const { inboxId, signal, timeoutMs } = request;
    const onAbort = () => end(one, "gone");
    const one: Wait = { ...own, inboxId, signal, onAbort, seen: undefined, isBeginning: false };
    underWay.add(one, timeoutMs);
    signal.addEventListener("abort", onAbort, { once: true });
    watch.watch(one);
    if (signal.aborted) onAbort();
    else if (isStopping) end(one, "stopping");
  }

  function end(one: Wait, how: WaitEnd): void {
    leave(one);
    const { message, place, hasLooked } = one.look;
    const isBlind = how === "timeout" ? !hasLooked : place === undefined;
    // Whatever ends it: once there is a mail its place is behind it, so to answer without it would be to lose it.
    if (message !== undefined) one.answer({ end: "found", message, place: place ?? 0 });
    else if (isBlind && how !== "gone")
      one.answer(Promise.reject(new DatabaseUnavailable("the inbox could not be read in time")));
    else one.answer({ end: how, place: place ?? 0 });
  }

  function endIfFound(one: Wait): void {
    if (one.look.message !== undefined) end(one, "timeout");
  }

  function leave(one: Wait): void {
    one.look.isOver = true;
    underWay.remove(one);
    one.signal.removeEventListener("abort", one.onAbort);
    watch.unwatch(one);
    one.giveBack();
  }

  return {
    wait,
    stop() {
      isStopping = true;
      for (const one of underWay.all()) end(one, "stopping");
    },
  };
}
