import { cleanLine, parseSmtpReply } from "../../standards/smtp-reply.ts";
import type { MailServer, RelayOutcome } from "../outcome.ts";

/** The outcomes of an attempt. `put_off`: there will be another one. */
export const attemptOutcomes = ["sent", "put_off", "failed"] as const;

/** An attempt to send a mail to a recipient, as the row of the recipient keeps it. */
export interface RecipientAttempt {
  /** An instant as JSON has it. */
  at: string;
  /** The number of the attempt. It may have gaps: a process that dies during an attempt writes nothing down. */
  attempt: number;
  outcome: (typeof attemptOutcomes)[number];
  /** The server; null if none was reached, or if the mail did not leave this service. */
  host: MailServer["host"] | null;
  tls: MailServer["tls"];
  /** The code of the server's reply; null without a reply. */
  code: number | null;
  enhancedCode: string | null;
  /** The reply or the fault, as one clean line. */
  message: string;
}

/** The number of attempts that the row of a recipient keeps: the last ones. */
export const keptAttempts = 20;

export function recipientAttempt(
  result: RelayOutcome,
  outcome: RecipientAttempt["outcome"],
  { at, attempt }: { at: Date; attempt: number },
): RecipientAttempt {
  const { host = null, tls = null } = result.server ?? {};
  return { at: at.toISOString(), attempt, outcome, host, tls, ...wordsOf(result) };
}

function wordsOf(result: RelayOutcome): Pick<RecipientAttempt, "code" | "enhancedCode" | "message"> {
  if (result.kind !== "sent") {
    const { code, enhancedCode, message } = result.failure;
    return { code, enhancedCode, message };
  }
  const reply = parseSmtpReply(result.reply);
  return {
    code: reply?.code ?? null,
    enhancedCode: reply?.enhancedCode ?? null,
    message: cleanLine(reply?.text ?? result.reply),
  };
}
