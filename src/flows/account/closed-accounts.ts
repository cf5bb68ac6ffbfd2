import type { Closure } from "../../domain/access/suspension.ts";
import { paced } from "../../primitives/paced.ts";
import { type ClosedAccount, listClosedAccounts } from "../../store/account/closures.ts";
import type { Deps } from "../deps.ts";

/**
 * The suspended and deleted accounts, as this process knows them. All of them are in memory, so a look-up costs no statement; there are
 * few. They are read again when a change is signalled, and every 30 seconds, because a signal may be lost; while no signals can come, every
 * second.
 */
export interface ClosedAccounts {
  closureOf(accountId: string): Closure | undefined;
  /** The suspended accounts, whose accepted mail waits without an attempt. Accepted mail of a deleted account still goes out. */
  suspended(): ReadonlySet<string>;
  /** The accounts that are moving to another service, or have moved: nothing of them may change here, and nothing may leave. */
  moving(): ReadonlySet<string>;
  /** The host of the cell to which an account has moved; undefined while it is here. */
  movedTo(accountId: string): string | undefined;
  /** Reads them again soon, because one has changed. */
  refresh(): void;
  /** Says whether signals of changes can come, and reads them again, because a signal may have been lost before. */
  setHearing(hears: boolean): void;
  /** Calls `listener` each time after one of them has changed. */
  onChange(listener: () => void): void;
  close(): void;
}

/** The time from one reading to the next while signals come, and while they cannot. */
interface Periods {
  heardMs: number;
  deafMs: number;
}

const usualPeriods: Periods = { heardMs: 30_000, deafMs: 1_000 };
const pauseMs = 50;
/** The pause after a reading that has failed. Until the next one, mail of an account that is suspended by now still goes out. */
const retryMs = 500;

export async function closedAccounts(
  { db, log }: Pick<Deps, "db" | "log">,
  { heardMs, deafMs } = usualPeriods,
): Promise<ClosedAccounts> {
  let closures = await read();
  let suspended = suspendedIn(closures);
  let moving = movingIn(closures);
  const listeners: (() => void)[] = [];
  const reading = paced(pauseMs, () => void refreshNow());
  let timer = setInterval(reading.ask, deafMs);
  let retry: ReturnType<typeof setTimeout> | undefined;
  let reads = 0;
  let isFailing = false;
  let isClosed = false;

  async function read(): Promise<Map<string, ClosedAccount>> {
    return new Map((await listClosedAccounts(db.work)).map((account) => [account.id, account]));
  }

  async function refreshNow(): Promise<void> {
    reads += 1;
    const number = reads;
    clearTimeout(retry);
    try {
      const found = await read();
      // A later read may have ended earlier.
      if (number < reads) return;
      const hasChanged = !Bun.deepEquals(closures, found);
      isFailing = false;
      closures = found;
      suspended = suspendedIn(found);
      moving = movingIn(found);
      if (hasChanged) for (const listener of listeners) listener();
    } catch (err) {
      if (!isFailing) log.warn({ err }, "the suspended accounts were not read: trying again until they are");
      isFailing = true;
      if (!isClosed) retry = setTimeout(reading.ask, retryMs);
    }
  }

  return {
    closureOf: (accountId) => closures.get(accountId)?.closure,
    suspended: () => suspended,
    moving: () => moving,
    movedTo: (accountId) => closures.get(accountId)?.movedTo ?? undefined,
    refresh: reading.ask,
    setHearing(hears) {
      clearInterval(timer);
      if (isClosed) return;
      timer = setInterval(reading.ask, hears ? heardMs : deafMs);
      reading.ask();
    },
    onChange: (listener) => void listeners.push(listener),
    close() {
      isClosed = true;
      clearInterval(timer);
      clearTimeout(retry);
      reading.stop();
    },
  };
}

function suspendedIn(closures: ReadonlyMap<string, ClosedAccount>): ReadonlySet<string> {
  return new Set([...closures.values()].flatMap(({ id, closure }) => (closure === "deleted" ? [] : [id])));
}

function movingIn(closures: ReadonlyMap<string, ClosedAccount>): ReadonlySet<string> {
  return new Set([...closures.values()].flatMap(({ id, closure }) => (closure === "moving" ? [id] : [])));
}
