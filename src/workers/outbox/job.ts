import type { Logger } from "pino";
import type { Db } from "../../database/db.ts";
import type { Claim, Claimed, ClaimedItem } from "../../store/outbox/claims.ts";
import type { Kind } from "../../store/outbox/kinds.ts";
import type { Lanes, Leaving } from "./lanes.ts";

/** One kind of work: how it is claimed, carried out and recorded. */
export interface Job<Item extends ClaimedItem, Settlement extends SettledClaim> {
  kind: Kind;
  /** How long a claim holds without being renewed. */
  leaseMs: number;
  lanes: Lanes<Item>;
  claim: (claim: Claim) => Promise<Claimed<Item>>;
  /**
   * Makes one attempt. Whatever the network does is a result. An exception is a bug or an outage of the database, which `failed` turns into
   * a result.
   */
  attempt: (item: Item, signal: AbortSignal) => Promise<Attempted<Settlement>>;
  failed: (item: Item) => Settlement;
  /** Records many results in one statement. Returns the ids of those whose claims were in force. */
  settle: (settlements: readonly Settlement[]) => Promise<Set<string>>;
  /** How long a result waits for those of other attempts in hand, to be recorded with them. Undefined: it does not wait. */
  gatherMs?: number;
  /** Called for each attempt once its result is recorded. */
  settled?: ((settlement: Settlement) => void) | undefined;
}

/** Makes a job of the same kind from a job. */
export type WrapJob = <Item extends ClaimedItem, Settlement extends SettledClaim>(
  job: Job<Item, Settlement>,
) => Job<Item, Settlement>;

/** The result of an attempt: what to record, and what it has shown about the server. */
export interface Attempted<Settlement> {
  settlement: Settlement;
  leaving: Leaving;
}

export interface SettledClaim {
  subjectId: string;
  attempt: number;
  /** When to try again; null for never. */
  dueAt: Date | null;
}

export interface OutboxDeps {
  db: Db;
  now: () => Date;
  random: () => number;
  log: Logger;
  /** The number of this process. No other process on the database has it. */
  claimer: number;
  /** Whether this is the only process that can use the database. */
  isAlone: boolean;
}
