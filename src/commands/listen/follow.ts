import { type ApiClient, ApiProblem } from "../api-client.ts";
import type { LoggedEvent } from "./forward.ts";
import type { Position } from "./position.ts";

/** Who has the event log. */
export type EventLog = Pick<ApiClient, "ask">;

export interface Following {
  api: EventLog;
  inboxId: string | undefined;
  from: Position;
  /** Hands an event on, for the n-th time counted from 1; whether it has arrived. */
  hand(event: LoggedEvent, attempt: number): Promise<boolean>;
  /** After each event that has arrived, before the next one goes out. */
  keep(position: Position): Promise<void>;
  /** What is in the way, when it is not an event. */
  warn(text: string): void;
  signal: AbortSignal;
}

interface Page {
  data: LoggedEvent[];
  hasMore: boolean;
}

const pauseMs = 500;
const longestPauseMs = 5000;

/**
 * Hands on the log from a position on, until the signal. An event that has not arrived is tried again and the ones behind
 * it wait, so that nothing is lost and nothing comes out of order. Each try reads the log anew: addresses of
 * attachments in an event expire.
 */
export async function follow(following: Following): Promise<void> {
  const { api, from, hand, keep, warn, signal } = following;
  let { after } = from;
  let failures = 0;
  let tried = { id: "", attempts: 0 };
  while (!signal.aborted) {
    const page = await nextPage(api, following.inboxId, after).catch((error: unknown) => {
      // What the server refuses it will refuse again; what it or the way to it can't do may pass.
      if (error instanceof ApiProblem && error.status < 500 && error.status !== 429) throw error;
      warn(error instanceof Error ? error.message : String(error));
      return undefined;
    });
    let failed = page === undefined;
    for (const event of page?.data ?? []) {
      if (signal.aborted) return;
      tried = { id: event.event_id, attempts: event.event_id === tried.id ? tried.attempts + 1 : 1 };
      failed = !(await hand(event, tried.attempts));
      if (failed) break;
      after = event.event_id;
      await keep({ after });
    }
    failures = failed ? failures + 1 : 0;
    if (failed) await pause(Math.min(longestPauseMs, pauseMs * 2 ** Math.min(failures - 1, 10)), signal);
    else if (!page?.hasMore) await pause(pauseMs, signal);
  }
}

/** The last event that is in the log now. */
export async function lastPosition(api: EventLog, inboxId: string | undefined): Promise<Position> {
  let after: string | null = null;
  for (;;) {
    const page: Page = await nextPage(api, inboxId, after);
    after = page.data.at(-1)?.event_id ?? after;
    if (!page.hasMore) return { after };
  }
}

function nextPage(api: EventLog, inboxId: string | undefined, after: string | null): Promise<Page> {
  const query = { after: after ?? undefined, inbox_id: inboxId, limit: 100 };
  return api.ask<Page>("GET", "/v1/events", { query });
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const done = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener("abort", done);
  });
}
