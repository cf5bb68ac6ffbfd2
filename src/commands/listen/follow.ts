import { pause } from "../../../sdk/typescript/src/machine.ts";
import { type ApiClient, ApiProblem } from "../api-client.ts";
import type { LoggedEvent } from "./forward.ts";
import type { Position } from "./position.ts";

/** Who has the event log. */
export type EventLog = Pick<ApiClient, "ask">;

export interface Following {
  api: EventLog & Pick<ApiClient, "stream">;
  inboxId: string | undefined;
  /** Undefined for now. */
  from: Position | undefined;
  /** As soon as it is known behind what it begins, once. */
  begun(position: Position): Promise<void>;
  /** Hands an event on, for the n-th time counted from 1; whether it has arrived. */
  hand(event: LoggedEvent, attempt: number): Promise<boolean>;
  /** After each event that has arrived, before the next one goes out. */
  keep(position: Position): Promise<void>;
  /** What is in the way, when it is not an event. */
  warn(text: string): void;
  signal: AbortSignal;
}

/** What has been handed on so far, whichever way it came. */
interface Reader {
  readonly place: Position | undefined;
  begin(position: Position): Promise<void>;
  take(event: LoggedEvent): Promise<boolean>;
}

interface Page {
  data: LoggedEvent[];
  hasMore: boolean;
}

const pauseMs = 500;
const longestPauseMs = 5000;

/**
 * Hands on events from a position on, until the signal. An event that has not arrived is tried again and the ones behind
 * it wait, so that nothing is lost and nothing comes out of order. Each try asks for it anew: addresses of attachments in
 * an event expire. A server without streams is asked for its log again and again.
 */
export async function follow(following: Following): Promise<void> {
  const reader = readerOf(following);
  if (following.from !== undefined) await reader.begin(following.from);
  try {
    await followStream(following, reader);
  } catch (error) {
    if (!(error instanceof ApiProblem && error.isOlderServer)) throw error;
    await followLog(following, reader);
  }
}

function readerOf({ begun, hand, keep }: Following): Reader {
  let place: Position | undefined;
  let tried = { id: "", attempts: 0 };
  return {
    get place() {
      return place;
    },
    async begin(position) {
      if (place !== undefined) return;
      place = position;
      await begun(position);
    },
    async take(event) {
      const after = event.event_id;
      tried = { id: after, attempts: after === tried.id ? tried.attempts + 1 : 1 };
      if (!(await hand(event, tried.attempts))) return false;
      place = { after };
      await keep(place);
      return true;
    },
  };
}

const startOfLog = "start";

async function followStream({ api, inboxId, warn, signal }: Following, reader: Reader): Promise<void> {
  for (let failures = 0; !signal.aborted; failures += 1) {
    if (failures > 0) await pauseAfter(failures, signal);
    const lastEventId = reader.place && (reader.place.after ?? startOfLog);
    const query = { inbox_id: inboxId };
    for await (const { event, id, data } of api.stream("/v1/events/stream", { query, lastEventId, warn, signal })) {
      if (event === "ready") await reader.begin({ after: id === startOfLog ? null : id });
      else if (event !== "end") {
        if (!(await reader.take(loggedOf(data)))) break;
        failures = 0;
      }
    }
  }
}

/** A stream tells an event as a first delivery would. When and how often this one is tried is for us to say. */
function loggedOf(data: string): LoggedEvent {
  const { delivered_at: _at, attempt: _attempt, ...event } = JSON.parse(data);
  return event;
}

async function followLog(following: Following, reader: Reader): Promise<void> {
  const { api, inboxId, warn, signal } = following;
  if (reader.place === undefined) await reader.begin(await lastPosition(api, inboxId));
  let failures = 0;
  while (!signal.aborted) {
    const page = await nextPage(api, inboxId, reader.place?.after ?? null).catch((error: unknown) => {
      // What the server refuses it will refuse again; what it or the way to it can't do may pass.
      if (error instanceof ApiProblem && error.status < 500 && error.status !== 429) throw error;
      warn(error instanceof Error ? error.message : String(error));
      return undefined;
    });
    let failed = page === undefined;
    for (const event of page?.data ?? []) {
      if (signal.aborted) return;
      failed = !(await reader.take(event));
      if (failed) break;
    }
    failures = failed ? failures + 1 : 0;
    if (failed) await pauseAfter(failures, signal);
    else if (!page?.hasMore) await pause(pauseMs, signal);
  }
}

function pauseAfter(failures: number, signal: AbortSignal): Promise<void> {
  return pause(Math.min(longestPauseMs, pauseMs * 2 ** Math.min(failures - 1, 10)), signal);
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
