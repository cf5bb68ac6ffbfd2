import type { RelayOutcome } from "./outcome.ts";

/** Another cell of the same service (CELL_PEERS). */
export interface CellPeer {
  /** Its MAIL_DOMAIN, which is its SMTP_HOSTNAME too. */
  host: string;
  /** The address of its API. */
  url: string;
}

/** A mail for another cell. */
export interface HandedMail {
  /** "" for the null sender of a bounce. */
  envelopeFrom: string;
  recipients: readonly string[];
  raw: Uint8Array;
  /** The client that sent it, by which its sender is authenticated. Undefined for our own mail. */
  client?: { address?: string | undefined; heloName: string } | undefined;
  /** The cells that have handed it over before, the last one last. */
  cells?: readonly string[];
}

/** Hands a mail to another cell. Returns the outcome for each recipient in order. It never rejects. */
export type HandOver = (peer: CellPeer, mail: HandedMail, signal?: AbortSignal) => Promise<RelayOutcome[]>;
