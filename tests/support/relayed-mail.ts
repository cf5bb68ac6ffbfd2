import type { RelayOutcome } from "../../src/domain/outcome.ts";
import { bytesBody, type RelayedMail } from "../../src/relay/relayed-mail.ts";

/** A mail from our bot to these recipients. */
export function mailTo(to: string | readonly string[], raw: string | Uint8Array): RelayedMail {
  return {
    envelopeFrom: "bot@inbox.test",
    recipients: [to].flat().map((address) => ({ address })),
    body: bytesBody(typeof raw === "string" ? new TextEncoder().encode(raw) : raw),
    smtpUtf8: false,
  };
}

/** The outcome of a mail to one recipient. */
export function only(outcomes: readonly RelayOutcome[]): RelayOutcome {
  const [outcome] = outcomes;
  if (outcome === undefined || outcomes.length > 1) throw new Error(`not one outcome: ${JSON.stringify(outcomes)}`);
  return outcome;
}
