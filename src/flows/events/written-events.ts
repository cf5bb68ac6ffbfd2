import { delivered } from "../../domain/events/delivered.ts";
import type { IncludeWord } from "../../domain/events/subscription.ts";
import { rowsOfPage, shortBodyBytes } from "../../domain/page-budget.ts";
import { eventFrame } from "../../standards/server-sent-events.ts";
import { listEventsByIds } from "../../store/events/events.ts";
import { collectStreamed } from "../collect-garbage.ts";
import type { Deps } from "../deps.ts";
import { eventBytes, tellListed } from "../read/page-events.ts";
import { sizeGate } from "../size-gate.ts";
import type { PayloadDeps } from "./event-payload.ts";

/** An event as a stream tells it, written once for all who listen with the same words. */
export interface WrittenEvent {
  id: string;
  json: string;
  /** The size of the JSON in UTF-8. */
  sizeBytes: number;
  /** The same as a frame of an event stream. */
  frame(): Uint8Array<ArrayBuffer>;
}

/** What became of the first of these events, in their order: fewer than were asked for where they are large. Undefined of what is gone. */
export type WriteEvents = (
  ids: readonly string[],
  include: readonly IncludeWord[],
) => Promise<(WrittenEvent | undefined)[]>;

/** Bodies that one call writes out: a client that is slow to take them has the rest written again later. */
const writtenBytes = 256 << 10;
/** Bodies that a process reads at the same time, short ones with their rows and long ones by themselves. */
const readBytes = 4 << 20;
/** Rows of one statement: fewer while events are large, as each row brings a body of up to 64 KiB. */
const rowsTogether = { least: 4, most: 50 };

/** Reads events and writes them out, as many as 256 KiB hold; the first always is. */
export function eventWriter(deps: PayloadDeps & Pick<Deps, "db" | "now">): WriteEvents {
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
    const told = await bodies(bytes, () => tellListed({ ...deps, db }, fitting, include));
    collectStreamed(bytes);
    const deliveredAt = deps.now();
    const written = new Map(
      told.map((event) => [event.event_id, writtenEvent(delivered(event, { deliveredAt, attempt: 1 }))]),
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

export function writtenEvent(told: { event: string; event_id: string }): WrittenEvent {
  const json = JSON.stringify(told);
  let frame: Uint8Array<ArrayBuffer> | undefined;
  return {
    id: told.event_id,
    json,
    sizeBytes: Buffer.byteLength(json),
    frame() {
      frame ??= eventFrame({ event: told.event, id: told.event_id, data: json });
      return frame;
    },
  };
}

/** `gone` where there is nothing to tell any more. */
export type Told = WrittenEvent | "gone";

/**
 * Written events of one account, by event and by what they include. Who waits for one is given it by the promise: a large one may be
 * forgotten again before he could look.
 */
export interface WrittenMemory {
  /** Whether it is there, or is being written. */
  has(id: string, include: readonly IncludeWord[]): boolean;
  /** A promise while it is being written, of undefined where that did not come to it. */
  find(id: string, include: readonly IncludeWord[]): Told | Promise<Told | undefined> | undefined;
  /** Answers the first of these. */
  write(ids: readonly string[], include: readonly IncludeWord[]): Promise<Told | undefined>;
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

    /** Answers whether there was one. */
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

    /** One that has just been written stays, however large it is: others will ask for it now. */
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
        // Whoever asked needs the first of them first: were all kept, the last would push it out.
        const isKept = at < written.length && (at === 0 || bytesTogether <= budget.accountBytes / 2);
        if (isKept) keep(key, { event, bytes, atMs: nowMs() });
        else kept.delete(key);
      }
      shrink(keys[0]);
    }

    /** Forgets an event whose links have become old. */
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
        if (found === undefined || !("writing" in found)) return found?.event;
        return found.writing.then((written) => toldAt(written, found.at));
      },
      write(ids, include) {
        const keys = ids.map((id) => keyOf(id, include));
        const writing = write(ids, include).then(
          (written) => {
            // Nobody would take back what is counted behind the end.
            if (!isOver) keepWritten(keys, written);
            return written;
          },
          (error: unknown) => {
            for (const key of keys) kept.delete(key);
            throw error;
          },
        );
        for (const [at, key] of keys.entries()) keep(key, { writing, at, bytes: 0 });
        return writing.then((written) => toldAt(written, 0));
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

/** An event, or where it will stand in what is being written. */
type Kept = { bytes: number } & (
  | { event: Told; atMs: number }
  | { writing: Promise<readonly (WrittenEvent | undefined)[]>; at: number }
);

function toldAt(written: readonly (WrittenEvent | undefined)[], at: number): Told | undefined {
  return at < written.length ? (written[at] ?? "gone") : undefined;
}

/** As text and as a frame. */
const bytesOfCharacter = 2;

function bytesOf(event: Told): number {
  return 100 + (event === "gone" ? 0 : event.json.length * bytesOfCharacter);
}

function keyOf(id: string, include: readonly IncludeWord[]): string {
  return `${id} ${include.join(",")}`;
}
