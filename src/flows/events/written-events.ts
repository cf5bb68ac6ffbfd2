import { delivered } from "../../domain/events/payload.ts";
import type { IncludeWord } from "../../domain/events/subscription.ts";
import { rowsOfPage } from "../../domain/page-budget.ts";
import { eventFrame } from "../../standards/server-sent-events.ts";
import { listEventsByIds } from "../../store/events/events.ts";
import type { Deps } from "../deps.ts";
import { eventBytes, tellListed } from "../read/page-events.ts";
import type { TellDeps } from "./tell-events.ts";

/** An event as a stream tells it, written once for all who listen with the same words. */
export interface WrittenEvent {
  id: string;
  json: string;
  /** The same as a frame of an event stream. */
  frame(): Uint8Array<ArrayBuffer>;
}

/** What became of the first of these events, in their order: fewer than were asked for where they are large. Undefined of what is gone. */
export type WriteEvents = (
  ids: readonly string[],
  include: readonly IncludeWord[],
) => Promise<(WrittenEvent | undefined)[]>;

/** Reads events and writes them out, as many as there is room for; the first always is. */
export function eventWriter(deps: TellDeps & Pick<Deps, "db" | "now">): WriteEvents {
  const db = deps.db.api;
  return async (ids, include) => {
    const found = new Map((await listEventsByIds(db, ids)).map((event) => [event.id, event]));
    const listed = ids.flatMap((id) => found.get(id) ?? []);
    const fitting = listed.slice(0, rowsOfPage(listed.map((event) => eventBytes(event, include))));
    const told = await tellListed({ ...deps, db }, fitting, include);
    const deliveredAt = deps.now();
    const written = new Map(
      told.map((event) => [event.event_id, writtenEvent(delivered(event, { deliveredAt, attempt: 1 }))]),
    );
    const next = listed[fitting.length];
    const reached = next === undefined ? ids : ids.slice(0, ids.indexOf(next.id));
    return reached.map((id) => written.get(id));
  };
}

export function writtenEvent(told: { event: string; event_id: string }): WrittenEvent {
  const json = JSON.stringify(told);
  let frame: Uint8Array<ArrayBuffer> | undefined;
  return {
    id: told.event_id,
    json,
    frame() {
      frame ??= eventFrame({ event: told.event, id: told.event_id, data: json });
      return frame;
    },
  };
}

/** Written events of one account, by event and by what they include. */
export interface WrittenMemory {
  /** `gone` where there is nothing to tell any more; a promise while it is being written. */
  find(id: string, include: readonly IncludeWord[]): WrittenEvent | "gone" | Promise<void> | undefined;
  write(ids: readonly string[], include: readonly IncludeWord[]): Promise<void>;
  forgetAll(): void;
}

/** What all accounts of a process may keep. */
export interface WrittenBudget {
  accountBytes: number;
  processBytes: number;
  /** Links are good for so long only: what is older is written anew. */
  freshMs: number;
}

/** Memories that share what they may keep. */
export function writtenMemories(write: WriteEvents, budget: WrittenBudget, nowMs: () => number): () => WrittenMemory {
  const all = new Set<{ bytes: number; forgetOldest(): void }>();
  let bytesInAll = 0;

  return () => {
    const kept = new Map<string, Kept>();
    const account = { bytes: 0, forgetOldest };
    all.add(account);

    function forget(key: string, { bytes }: Kept): void {
      kept.delete(key);
      account.bytes -= bytes;
      bytesInAll -= bytes;
    }

    function forgetOldest(): void {
      for (const [key, oldest] of kept) {
        if (oldest.event instanceof Promise) continue;
        forget(key, oldest);
        return;
      }
    }

    function keep(key: string, event: Kept["event"]): void {
      const before = kept.get(key);
      if (before !== undefined) forget(key, before);
      const bytes = event instanceof Promise ? 0 : bytesOf(event);
      kept.set(key, { event, bytes, atMs: nowMs() });
      account.bytes += bytes;
      bytesInAll += bytes;
    }

    /** What came last stays, however large it is: else nobody could be told of it. */
    function shrink(): void {
      while (account.bytes > budget.accountBytes && kept.size > 1) forgetOldest();
      for (const other of all)
        while (bytesInAll > budget.processBytes && other !== account && other.bytes > 0) other.forgetOldest();
    }

    return {
      find(id, include) {
        const key = keyOf(id, include);
        const found = kept.get(key);
        if (found === undefined) return undefined;
        if (found.event instanceof Promise || nowMs() - found.atMs < budget.freshMs) return found.event;
        forget(key, found);
        return undefined;
      },
      write(ids, include) {
        const keys = ids.map((id) => keyOf(id, include));
        const writing = write(ids, include).then(
          (written) => {
            let bytes = 0;
            for (const [at, key] of keys.entries()) {
              const event = written[at] ?? "gone";
              bytes += bytesOf(event);
              // Whoever asked needs the first of them first: were all kept, the last would push it out, and it would be written for ever.
              if (at < written.length && (at === 0 || bytes <= budget.accountBytes / 2)) keep(key, event);
              else kept.delete(key);
            }
            shrink();
          },
          (error: unknown) => {
            for (const key of keys) kept.delete(key);
            throw error;
          },
        );
        for (const key of keys) keep(key, writing);
        return writing;
      },
      forgetAll() {
        bytesInAll -= account.bytes;
        account.bytes = 0;
        kept.clear();
        all.delete(account);
      },
    };
  };
}

interface Kept {
  event: WrittenEvent | "gone" | Promise<void>;
  bytes: number;
  atMs: number;
}

/** As text and as a frame. */
const bytesOfCharacter = 2;

function bytesOf(event: WrittenEvent | "gone"): number {
  return 100 + (event === "gone" ? 0 : event.json.length * bytesOfCharacter);
}

function keyOf(id: string, include: readonly IncludeWord[]): string {
  return `${id} ${include.join(",")}`;
}
