import type { Logger } from "pino";
import type { Db } from "../../database/db.ts";
import type { Claim, Claimed, ClaimedItem } from "../../store/outbox/claims.ts";
import type { Kind } from "../../store/outbox/kinds.ts";
import type { Leaving } from "./destinations.ts";
import type { Lanes } from "./lanes.ts";

/** One kind of work: how it is claimed, done and written down. */
export interface Job<Item extends ClaimedItem, Settlement extends SettledClaim> {
  kind: Kind;
  /** For how long a claim holds without being renewed. */
  leaseMs: number;
  lanes: Lanes<Item>;
  claim: (claim: Claim) => Promise<Claimed<Item>>;
  /** One attempt. What a network does is an outcome; what it throws is a bug, of which `failed` makes an outcome. */
  attempt: (item: Item, signal: AbortSignal) => Promise<Attempted<Settlement>>;
  failed: (item: Item) => Settlement;
  /** One statement for many. Answers whose claim was in force. */
  settle: (settlements: readonly Settlement[]) => Promise<Set<string>>;
  /** Told of each attempt once what came of it is written down. */
  settled?: ((settlement: Settlement) => void) | undefined;
}

/** What came of an attempt: what is to be written down, and what it says of the destination. */
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
  /** A number that no other process on this database has. */
  claimer: number;
  /** Whether no other process can work on this database. */
  isAlone: boolean;
}
