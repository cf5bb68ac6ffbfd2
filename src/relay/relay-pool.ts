import type { RelayOutcome } from "../domain/outcome.ts";
import { type ConnectionOptions, relayConnections } from "./relay-connections.ts";
import { forAll, inTransactions, type RelayedMail } from "./relayed-mail.ts";
import { SmtpTrouble } from "./smtp-trouble.ts";

/** The connections to one relay: each takes many mails, one at a time. */
export interface RelayPool {
  /** What came of it for each recipient. */
  send(mail: RelayedMail, signal?: AbortSignal): Promise<RelayOutcome[]>;
  /** Takes nothing more, lets the mails in hand end, says QUIT everywhere. */
  close(): Promise<void>;
}

export function relayPool(options: ConnectionOptions): RelayPool {
  const connections = relayConnections(options);

  async function offer(mail: RelayedMail, signal: AbortSignal | undefined): Promise<RelayOutcome[]> {
    try {
      while (true) {
        const session = await connections.acquire(signal);
        const { isUsed } = session;
        const { outcomes, unheard } = await session.send(mail, signal);
        connections.release(session);
        // A connection that rested may have died meanwhile. The server has not seen this mail then, so it goes over
        // another one; a fresh connection that fails the same way is the relay's answer.
        if (!unheard || !isUsed) return outcomes;
      }
    } catch (error) {
      if (error instanceof SmtpTrouble) {
        return forAll(mail, { kind: "retry", failure: error.failure, maybeAccepted: false });
      }
      throw error;
    }
  }

  return {
    send: (mail, signal) => inTransactions(mail, (some) => offer(some, signal)),
    close: connections.close,
  };
}
