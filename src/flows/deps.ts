import type { Logger } from "pino";
import type { Database } from "../database/db.ts";
import type { CellPeer } from "../domain/cell-peer.ts";
import type { NewId } from "../domain/ids.ts";
import type { PlanLimits } from "../domain/limits.ts";
import type { PlanSearchWords } from "../domain/search.ts";
import type { Sealing } from "../standards/sealing.ts";
import type { OutboxKind } from "../store/outbox/items.ts";
import type { Changes } from "./changes.ts";

export type WorkKind = OutboxKind | "dispatch";

/** Everything that a flow may use. Flows get time and chance only from here. */
export interface Deps {
  db: Database;
  now: () => Date;
  random: () => number;
  randomBytes: (length: number) => Uint8Array;
  newId: NewId;
  /** Seals secrets before they are stored, and opens them. */
  sealing: Sealing;
  log: Logger;
  mailDomain: string;
  /** Two characters in new keys, by which a balancer before several services tells whose they are. */
  cell: string;
  /** The other cells of the service. */
  cellPeers: readonly CellPeer[];
  limits: PlanLimits;
  /** The words of a message that are indexed for search, by plan. */
  searchWords: PlanSearchWords;
  /** The most recipients that a mail may have. */
  recipientsMax: number;
  /** Whether mail goes directly to the servers of each recipient's domain, without a relay. */
  isDirect: boolean;
  /** Whether the relay is known to replace our Message-IDs. */
  isRenamed?: boolean;
  /**
   * Wakes the workers of this kind: new work for them is in the outbox, or a draft is scheduled. A nudge carries no data and may be lost.
   */
  nudge: (kind: WorkKind) => void;
  /** Notifies waiting requests and streams after a commit. A notification carries no data and may be lost. */
  changes: Pick<Changes, "notify" | "listen">;
}
