import type { RelayOutcome } from "../outcome.ts";

/** The outcomes of a mail for an inbox of this service or of another cell, with the words that a mail server would say. */
export const answers = {
  stored: { kind: "sent", reply: "250 2.0.0 Stored", providerMessageId: undefined },
  unknown: answer("failed", 550, "5.1.1", "No such inbox here"),
  disabled: answer("failed", 550, "5.2.1", "The mailbox is disabled"),
  refused: answer("failed", 550, "5.7.1", "The recipient takes no mail from this sender"),
  tooLarge: answer("failed", 552, "5.3.4", "The mail is too large"),
  looping: answer("failed", 554, "5.4.6", "The mail is in a loop"),
  suspended: answer("retry", 450, "4.2.1", "The mailbox takes no mail for now"),
  busy: answer("retry", 450, "4.2.1", "The mailbox gets too many mails a minute"),
  full: answer("retry", 452, "4.2.2", "The mailbox is full"),
  undecided: answer("retry", 451, "4.7.0", "Cannot check the sender now"),
  unavailable: answer("retry", 451, "4.3.0", "Cannot store the mail now: try again later"),
} satisfies Record<string, RelayOutcome>;

function answer(kind: "failed" | "retry", code: number, enhancedCode: string, text: string): RelayOutcome {
  const failure = { code, enhancedCode, message: `${code} ${enhancedCode} ${text}` };
  return kind === "failed" ? { kind, failure } : { kind, failure, maybeAccepted: false };
}
