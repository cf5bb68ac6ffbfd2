import { transaction } from "../database/db.ts";
import { nextRelayAttemptAt } from "../domain/backoff.ts";
import { type Failure, failureFor, failureLine, type RelayOutcome, type StoredFailure } from "../domain/outcome.ts";
import type { BounceType } from "../domain/reports/report.ts";
import { type RecipientAttempt, recipientAttempt } from "../domain/send/recipient-attempt.ts";
import { destinationOfSubject } from "../domain/send/recipients/destinations.ts";
import { endOfBounceSuppression, suppressedFailure, suppressedForm } from "../domain/send/suppressed.ts";
import { type OtherName, otherName, type RelayNaming, wireNameOf } from "../domain/send/wire-name.ts";
import type { Deps } from "../flows/deps.ts";
import type { ClaimedItem } from "../store/outbox/claims.ts";
import {
  lockMessages,
  type RelayedMessage,
  type RelayedRecipient,
  type RelaySettlement,
  type SettledRecipient,
  settleRelays,
} from "../store/send/relaying.ts";
import type { NewSuppression } from "../store/send/suppressions.ts";
import { messageIdOf, type RelayItem } from "./relay-claim.ts";

/** The settings that decide when the next attempt is due, and what a refusal means. */
export interface SettlementDeps extends Deps {
  maxQueueHours: number;
  /** The pauses between attempts, in seconds. The default is the schedule of the contract. */
  relayRetrySeconds?: readonly number[];
  /** Which Message-ID our mail has after the relay. The default is our own. */
  naming?: RelayNaming;
  /** Whether the relay sends notices, which may name a mail only by the relay's own id. */
  noticesNameRelayId?: boolean;
  /**
   * Returns the bounce type of a server's reply to a failed recipient. Without this function, no failure has a type, and none suppresses a
   * recipient.
   */
  refusalType?: (failure: Failure) => BounceType;
  /** For how long a bounce suppresses a recipient; 0: forever. The default is 90. */
  bounceSuppressionDays?: number;
}

/** A settlement, with the account and the inbox whose listeners are notified. */
export type ConcerningSettlement = RelaySettlement & Pick<ClaimedItem, "accountId" | "inboxId">;

/** Decides what follows from the outcomes of an attempt. */
export function settlementOf(
  deps: SettlementDeps,
  item: RelayItem,
  { rfcMessageId }: RelayedMessage,
  outcomes: ReadonlyMap<RelayedRecipient, RelayOutcome>,
  isCutOff: boolean,
): ConcerningSettlement {
  const now = deps.now();
  const dueAt = isCutOff
    ? now
    : nextRelayAttemptAt(item.attempt, item.createdAt, now, deps.maxQueueHours, deps.relayRetrySeconds);
  const putOff: Failure[] = [];
  let isUnsure = false;
  const settled = Array.from(outcomes, ([{ position, address }, outcome]): SettledRecipient => {
    const tried = (as: RecipientAttempt["outcome"]) => ({
      position,
      attempt: recipientAttempt(outcome, as, { at: now, attempt: item.attempt }),
    });
    if (outcome.kind === "sent") {
      const providerMessageId = outcome.providerMessageId ?? null;
      const names = otherNamesOf(deps, outcome.providerMessageId, rfcMessageId);
      return { ...tried("sent"), status: "sent", providerMessageId, failure: null, names };
    }
    if (outcome.kind === "retry") isUnsure ||= outcome.maybeAccepted;
    if (outcome.kind === "retry" && dueAt !== undefined) {
      putOff.push(outcome.failure);
      return { ...tried("put_off"), status: null, providerMessageId: null, failure: null };
    }
    return { ...tried("failed"), status: "failed", providerMessageId: null, ...refusalOf(deps, address, outcome) };
  });
  const settlement = { ...nothingToDo(deps, item), outcomes: settled, isUnsure };
  const [first] = putOff;
  return first === undefined || dueAt === undefined
    ? settlement
    : { ...settlement, dueAt, lastError: failureLine(first) };
}

/** Fails the recipients who were suppressed after the message was accepted. */
export function heldBack({ log }: Deps, item: RelayItem, waiting: readonly RelayedRecipient[]): SettledRecipient[] {
  return waiting.flatMap(({ position, suppressedBy }) => {
    if (suppressedBy === null) return [];
    const about = { message_id: messageIdOf(item.subjectId), reason: suppressedBy };
    log.info(about, "mail not sent: its recipient is suppressed");
    const failure = suppressedFailure(suppressedBy);
    return { position, status: "failed", providerMessageId: null, failure, attempt: null, suppressedBy };
  });
}

/** The settlement of a row that needs no attempt. */
export function nothingToDo({ now, newId }: Deps, item: RelayItem): ConcerningSettlement {
  const { subjectId, accountId, inboxId, attempt, message } = item;
  const { messageId, number } = destinationOfSubject(subjectId);
  const at = now();
  const sentEventId = newId("evt", at);
  return {
    subjectId,
    messageId,
    isShared: message?.recipients.some(({ destination }) => destination !== number) ?? false,
    accountId,
    inboxId,
    attempt,
    at,
    sentEventId,
    // A message to one recipient gets only one event (sent or failed), so one id is enough.
    failedEventId: (message?.recipients.length ?? 0) > 1 ? newId("evt", at) : sentEventId,
    dueAt: null,
    outcomes: [],
    isUntried: false,
    isUnsure: false,
    lastError: null,
  };
}

/** Puts off a letter after a bug or an outage. */
export function letterAgain(deps: SettlementDeps, item: RelayItem): ConcerningSettlement {
  const at = deps.now();
  const dueAt =
    nextRelayAttemptAt(item.attempt, item.createdAt, at, deps.maxQueueHours, deps.relayRetrySeconds) ?? null;
  return { ...nothingToDo(deps, item), dueAt, letter: dueAt === null ? "failed" : "put_off" };
}

/** Records results, under the lock of the messages if the statement needs it. */
export async function settle(deps: SettlementDeps, settlements: readonly ConcerningSettlement[]): Promise<Set<string>> {
  const needsLock = settlements.some(
    ({ isShared, outcomes }) => isShared || outcomes.some(({ status }) => status === null),
  );
  const { work } = deps.db;
  const { inForce, withEvent, hasDeliveries, suppressed } = needsLock
    ? await transaction(work, async (tx) => {
        await lockMessages(tx, [...new Set(settlements.map(({ messageId }) => messageId))]);
        return settleRelays(tx, settlements);
      })
    : await settleRelays(work, settlements);
  for (const { accountId, outcomes } of settlements) {
    for (const { suppression } of outcomes) {
      if (suppression === undefined || !suppressed.includes(suppression.id)) continue;
      const { id, reason } = suppression;
      deps.log.info({ suppression_id: id, account_id: accountId, reason }, "suppression added");
    }
  }
  if (hasDeliveries) deps.nudge("webhook");
  deps.changes.notify(settlements.filter(({ subjectId }) => withEvent.has(subjectId)));
  return inForce;
}

/**
 * The failure of a recipient, with a bounce type if it has an SMTP code. If a server has refused this very recipient for good, the address
 * is suppressed too.
 */
function refusalOf(
  deps: SettlementDeps,
  address: string,
  outcome: Exclude<RelayOutcome, { kind: "sent" }>,
): { failure: StoredFailure; suppression?: NewSuppression } {
  const failure = failureFor(outcome);
  const type = failure.code === null ? undefined : deps.refusalType?.(failure);
  if (type === undefined) return { failure };
  const typed = { failure: { ...failure, type } };
  if (type !== "hard" || outcome.kind !== "failed" || outcome.isAboutRecipient !== true) return typed;
  const at = deps.now();
  const suppression: NewSuppression = {
    id: deps.newId("sup", at),
    eventId: deps.newId("evt", at),
    address: suppressedForm(address),
    inboxId: "",
    reason: "bounce",
    detail: failure.message,
    createdAt: at,
    expiresAt: endOfBounceSuppression(at, deps.bounceSuppressionDays ?? 90),
  };
  return { ...typed, suppression };
}

/** The other names of a mail that was sent: the Message-ID that the relay gave it, and the relay's own id if it sends notices. */
function otherNamesOf(
  { naming = { kind: "kept" }, noticesNameRelayId = false }: SettlementDeps,
  providerMessageId: string | undefined,
  rfcMessageId: string,
): OtherName[] | undefined {
  const wireName = wireNameOf(naming, providerMessageId, rfcMessageId);
  const names = [wireName, noticesNameRelayId ? providerMessageId : undefined].flatMap(
    (name) => otherName(name ?? "") ?? [],
  );
  return names.length === 0 ? undefined : names;
}

/** Logs an attempt. The log has no addresses, only the number of recipients. */
export function logAttempt(
  { log }: Deps,
  { subjectId, attempt, message }: RelayItem,
  outcomes: ReadonlyMap<RelayedRecipient, RelayOutcome>,
  { outcomes: settled, dueAt, isUnsure }: RelaySettlement,
): void {
  const { sent = [], failed = [], put_off = [] } = Object.groupBy(settled, ({ status }) => status ?? "put_off");
  const unsent = [...outcomes.values()].find((outcome) => outcome.kind !== "sent");
  const line = {
    message_id: messageIdOf(subjectId),
    rfc_message_id: message?.rfcMessageId,
    subject_id: subjectId,
    attempt,
    sent: sent.length,
    failed: failed.length,
    put_off: put_off.length,
    provider_message_id: sent[0]?.providerMessageId,
    failure: unsent && loggableFailure(unsent.failure),
    due_at: dueAt ?? undefined,
  };
  if (isUnsure && dueAt !== null) log.warn(line, "mail may have been accepted: the next attempt may repeat it");
  else if (failed.length > 0) log.warn(line, "mail failed");
  else log.info(line, dueAt === null ? "mail sent" : "mail put off");
}

/** The log gets only the codes of a server's answer. Its text is stored with the message, because it often names the recipient. */
function loggableFailure({ code, enhancedCode, message }: Failure) {
  return code === null ? { code, enhancedCode, message } : { code, enhancedCode };
}
