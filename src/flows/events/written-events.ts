import { delivered } from "../../domain/events/delivered.ts";
import type { IncludeWord } from "../../domain/events/subscription.ts";
import { rowsOfPage, shortBodyBytes } from "../../domain/page-budget.ts";
import { eventFrame } from "../../standards/server-sent-events.ts";
import { listEventsByIds } from "../../store/events/events.ts";
import { collectStreamed } from "../collect-garbage.ts";
import type { Deps } from "../deps.ts";
import { eventBytes, listedPayloads } from "../read/page-events.ts";
import { sizeGate } from "../size-gate.ts";
import type { PayloadDeps } from "./event-payload.ts";

/** An event as streams send it. Its JSON is made once for all clients with the same words of `include`. */
export interface WrittenEvent {
  id: string;
  json: string;
  /** The size of the JSON in UTF-8. */
  sizeBytes: number;
  /** The event as a frame of server-sent events. */
  frame(): Uint8Array<ArrayBuffer>;
}

/**
 * Makes the JSON of the first of these events, in order: at least one, but fewer than all if they are large. Undefined for an event that
 * does not exist any more.
 */
export type WriteEvents = (
  ids: readonly string[],
  include: readonly IncludeWord[],
) => Promise<(WrittenEvent | undefined)[]>;

/**
 * The most bytes of bodies that one call makes into JSON. It is small, because events that a slow client does not take are written again
 * later.
 */
const writtenBytes = 256 << 10;
/**
 * The most bytes of bodies that a process reads at the same time. It applies twice: to the rows with their short bodies, and to whole
 * events.
 */
const readBytes = 4 << 20;
/** The rows that one statement reads: fewer while events are large, because each row has a body of up to 64 KiB. */
const rowsTogether = { least: 4, most: 50 };

/** Makes a function that reads events, and makes the JSON of the first ones: up to 256 KiB of bodies, but at least one event. */
export function eventWriter(deps: PayloadDeps & Pick<Deps, "db" | "now" | "mailDomain">): WriteEvents {
  const db = deps.db.api;
  const rows = sizeGate(readBytes);
  const bodies = sizeGate(readBytes);
  let most = rowsTogether.most;

  async function write(ids: readonly string[], include: readonly IncludeWord[]) {
    const found = new Map((await listEventsByIds(db, ids)).map((event) => [event.id, event]));
    const listed = ids.flatMap((id) => found.get(id) ?? []);
    const sizes = listed.map((event) => eventBytes(event, include));
    const fitting = listed.slice(0, rowsOfPage(sizes, writtenBytes));
    const bytes = sizes.slice(0, fitting.length).reduce((sum, size) => sum + size, 0);
    const payloads = await bodies(bytes, () => listedPayloads({ ...deps, db }, fitting, include));
    collectStreamed(bytes);
    const deliveredAt = deps.now();
    const written = new Map(
      payloads.map((payload) => [payload.event_id, writtenEvent(delivered(payload, { deliveredAt, attempt: 1 }))]),
    );
    const next = listed[fitting.length];
    const reached = next === undefined ? ids : ids.slice(0, ids.indexOf(next.id));
    most =
      next === undefined ? Math.min(most * 2, rowsTogether.most) : Math.max(reached.length * 2, rowsTogether.least);
    return reached.map((id) => written.get(id));
  }

  return (ids, include) => {
    const first = ids.slice(0, most);
    return rows(first.length * shortBodyBytes, () => write(first, include));
  };
}

export function writtenEvent(payload: { event: string; event_id: string }): WrittenEvent {
  const json = JSON.stringify(payload);
  let frame: Uint8Array<ArrayBuffer> | undefined;
  return {
    id: payload.event_id,
    json,
    sizeBytes: Buffer.byteLength(json),
    frame() {
      frame ??= eventFrame({ event: payload.event, id: payload.event_id, data: json });
      return frame;
    },
  };
}

/** A written event; `gone` if its message is deleted. */
export type Written = WrittenEvent | "gone";

/** The events of one account whose JSON is in memory, by the id of the event and its words of `include`. */
export interface WrittenMemory {
  /** Whether the event is written or being written. */
  has(id: string, include: readonly IncludeWord[]): boolean;
  find(id: string, include: readonly IncludeWord[]): Written | undefined;
  /**
   * The write of an event that is under way; undefined if there is none. Its result is the event itself, because a large event may be
   * forgotten at once. The result is undefined if the writer had no room for the event.
   */
  underWay(id: string, include: readonly IncludeWord[]): Promise<Written | undefined> | undefined;
  /** Writes these events, and returns the first. */
  write(ids: readonly string[], include: readonly IncludeWord[]): Promise<Written | undefined>;
  forgetAll(): void;
}

/** Limits of the memory for all accounts of a process. */
export interface WrittenBudget {
  accountBytes: number;
  processBytes: number;
  /** An older event is written again, because its links expire. */
  freshMs: number;
}

/** Returns a function that makes the memory of one account. All memories share one budget. */
export function writtenMemories(write: WriteEvents, budget: WrittenBudget, nowMs: () => number): () => WrittenMemory {
  const all = new Set<{ forgetOldest(): boolean }>();
  let bytesInAll = 0;

  return () => {
    const kept = new Map<string, Kept>();
    const account = { bytes: 0, forgetOldest };
    let isOver = false;
    all.add(account);

    function forget(key: string, { bytes }: Kept): void {
      kept.delete(key);
      account.bytes -= bytes;
      bytesInAll -= bytes;
    }

    /** Forgets the oldest event except this one. Returns false if there was none. */
    function forgetOldest(but?: string): boolean {
      for (const [key, oldest] of kept) {
        if ("writing" in oldest || key === but) continue;
        forget(key, oldest);
        return true;
      }
      return false;
    }

    function keep(key: string, entry: Kept): void {
      const before = kept.get(key);
      if (before !== undefined) forget(key, before);
      kept.set(key, entry);
      account.bytes += entry.bytes;
      bytesInAll += entry.bytes;
    }

    /** Forgets old events until the limits hold. The latest event stays, however large it is, because other clients need it now. */
    function shrink(latest: string | undefined): void {
      while (account.bytes > budget.accountBytes && forgetOldest(latest));
      for (const other of all) while (bytesInAll > budget.processBytes && other !== account && other.forgetOldest());
    }

    function keepWritten(keys: readonly string[], written: readonly (WrittenEvent | undefined)[]): void {
      let bytesTogether = 0;
      for (const [at, key] of keys.entries()) {
        const event = written[at] ?? "gone";
        const bytes = bytesOf(event);
        bytesTogether += bytes;
        // The first event is always kept, because it is sent next. Keeping all others could push it out of memory.
        const isKept = at < written.length && (at === 0 || bytesTogether <= budget.accountBytes / 2);
        if (isKept) keep(key, { event, bytes, atMs: nowMs() });
        else kept.delete(key);
      }
      shrink(keys[0]);
    }

    /** Finds a kept event. One whose links are too old is forgotten. */
    function findFresh(key: string): Kept | undefined {
      const found = kept.get(key);
      if (found === undefined || "writing" in found || nowMs() - found.atMs < budget.freshMs) return found;
      forget(key, found);
      return undefined;
    }

    return {
      has: (id, include) => findFresh(keyOf(id, include)) !== undefined,
      find(id, include) {
        const found = findFresh(keyOf(id, include));
        return found === undefined || "writing" in found ? undefined : found.event;
      },
      underWay(id, include) {
        const found = findFresh(keyOf(id, include));
        return found !== undefined && "writing" in found ? writtenAt(found.writing, found.at) : undefined;
      },
      write(ids, include) {
        const keys = ids.map((id) => keyOf(id, include));
        const writing = write(ids, include).then(
          (written) => {
            // After `forgetAll` nothing may be kept, because nothing would remove its bytes from the count.
            if (!isOver) keepWritten(keys, written);
            return written;
          },
          (error: unknown) => {
            for (const key of keys) kept.delete(key);
            throw error;
          },
        );
        for (const [at, key] of keys.entries()) keep(key, { writing, at, bytes: 0 });
        return writtenAt(writing, 0);
      },
      forgetAll() {
        isOver = true;
        bytesInAll -= account.bytes;
        account.bytes = 0;
        kept.clear();
        all.delete(account);
      },
    };
  };
}

/** An event, or its index in the result of a writing that is under way. */
type Kept = { bytes: number } & ({ event: Written; atMs: number } | { writing: ReturnType<WriteEvents>; at: number });

async function writtenAt(writing: ReturnType<WriteEvents>, at: number): Promise<Written | undefined> {
  const written = await writing;
  return at < written.length ? (written[at] ?? "gone") : undefined;
}

/** Bytes of memory for each character: an event is kept as text and as a frame. */
const bytesOfCharacter = 2;

function bytesOf(event: Written): number {
  return 100 + (event === "gone" ? 0 : event.json.length * bytesOfCharacter);
}

function keyOf(id: string, include: readonly IncludeWord[]): string {
  return `${id} ${include.join(",")}`;
}
