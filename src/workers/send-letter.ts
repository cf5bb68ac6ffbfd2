import { nextRelayAttemptAt } from "../domain/backoff.ts";
import { failureLine, type RelayOutcome } from "../domain/outcome.ts";
import type { LetterOutcome } from "../domain/send/letter.ts";
import type { Deps } from "../flows/deps.ts";
import { type ReadyMailDeps, readyMail } from "../flows/send/ready-mail.ts";
import { type LetterDeps, letterMail, letterSender } from "../flows/send/write-letters.ts";
import type { DkimSigner } from "../mail/write/dkim.ts";
import { HostBusy, type Relay } from "../relay/relay.ts";
import type { ClaimedItem } from "../store/outbox/claims.ts";
import type { Letter } from "../store/send/letters.ts";
import type { Leaving } from "./outbox/lanes.ts";

/** The result of an attempt to send a letter. */
export interface LetterAttempt {
  outcome: LetterOutcome;
  /** When the next attempt is due; null if there will be none. */
  dueAt: Date | null;
  lastError: string | null;
  leaving: Leaving;
}

export interface LetterAttemptDeps extends Deps, ReadyMailDeps {
  relay: Relay;
  /** Finds the signer of mail from MAIL_DOMAIN. */
  signMail: (key: undefined) => Promise<DkimSigner | undefined>;
  maxQueueHours: number;
  relayRetrySeconds?: readonly number[];
  letters: LetterDeps;
}

/** Sends a letter by the relay, like other mail. */
export async function attemptLetter(
  deps: LetterAttemptDeps,
  letter: Letter,
  { accountId, attempt }: Pick<ClaimedItem, "accountId" | "attempt">,
  signal: AbortSignal,
): Promise<LetterAttempt> {
  const mail = await letterMail(deps.letters, letter);
  if (mail === undefined) return { outcome: "dropped", dueAt: null, lastError: null, leaving: "unknown" };
  const { id, address, draftIds, createdAt } = letter;
  const now = deps.now();
  let result: RelayOutcome | undefined;
  try {
    deps.relay.checkRoom?.(address, accountId);
    const body = await readyMail(deps, deps.db.work, mail, await deps.signMail(undefined));
    try {
      [result] = await deps.relay.send(
        {
          accountId,
          envelopeFrom: letterSender(deps.mailDomain),
          recipients: [{ address, orcpt: address }],
          body,
          smtpUtf8: false,
        },
        signal,
      );
    } finally {
      await body.close();
    }
  } catch (error) {
    if (!(error instanceof HostBusy)) throw error;
    const dueAt = new Date(now.getTime() + error.againInMs);
    return { outcome: "host_busy", dueAt, lastError: error.message, leaving: "unknown" };
  }
  const about = { letter_id: id, attempt, drafts: draftIds.length };
  if (result === undefined || result.kind === "sent") {
    deps.log.info(about, "letter sent");
    return { outcome: "sent", dueAt: null, lastError: null, leaving: "answered" };
  }
  const next =
    result.kind === "failed"
      ? undefined
      : signal.aborted
        ? now
        : nextRelayAttemptAt(attempt, createdAt, now, deps.maxQueueHours, deps.relayRetrySeconds);
  const { code, enhancedCode } = result.failure;
  if (next === undefined) deps.log.warn({ ...about, failure: { code, enhancedCode } }, "letter failed");
  else deps.log.info({ ...about, failure: { code, enhancedCode }, due_at: next }, "letter put off");
  return {
    outcome: next === undefined ? "failed" : "put_off",
    dueAt: next ?? null,
    lastError: failureLine(result.failure),
    leaving: signal.aborted ? "unknown" : code === null ? "unreached" : "answered",
  };
}
