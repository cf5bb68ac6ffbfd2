import type { Logger } from "pino";
import type { Database } from "../database/db.ts";
import type { NewId } from "../domain/ids.ts";
import type { PlanLimits } from "../domain/limits.ts";
import type { OutboxKind } from "../store/outbox/items.ts";
import type { News } from "./news.ts";

/** What a flow may use. Time and chance come in here and nowhere else. */
export interface Deps {
  db: Database;
  now: () => Date;
  random: () => number;
  randomBytes: (length: number) => Uint8Array;
  newId: NewId;
  log: Logger;
  mailDomain: string;
  limits: PlanLimits;
  /** How many recipients a mail may have. */
  recipientsMax: number;
  /** Whether mail goes straight to the servers of each domain. */
  isDirect: boolean;
  /** Whether the relay is known to give our mails another Message-ID. */
  isRenamed?: boolean;
  /** Says that work of a kind is waiting in the outbox. It carries no data and may be lost. */
  nudge: (kind: OutboxKind) => void;
  /** Who commits what others may be waiting for tells them so. It may be lost. */
  news: Pick<News, "tell" | "listen">;
}
