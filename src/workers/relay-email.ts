import { nextRelayAttemptAt } from "../domain/backoff.ts";
import type { CustomHeader, OutgoingMail } from "../domain/message.ts";
import { type Failure, failureFor, failureLine, type RelayOutcome, type StoredFailure } from "../domain/outcome.ts";
import type { BounceType } from "../domain/reports/report.ts";
import {
  endOfBounceSuppression,
  type SuppressionReason,
  suppressedFailure,
  suppressedForm,
} from "../domain/send/suppressed.ts";
import { type OtherName, otherName, type RelayNaming, wireNameOf } from "../domain/send/wire-name.ts";
import type { Deps } from "../flows/deps.ts";
import { outgoingMail } from "../flows/send/outgoing-mail.ts";
import { type ReadyMailDeps, readyMail } from "../flows/send/ready-mail.ts";
import type { DkimSigner } from "../mail/write/dkim.ts";
import { needsSmtpUtf8 } from "../mail/write/header.ts";
import { HostBusy, type Relay } from "../relay/relay.ts";
import type { ReportWish } from "../relay/relayed-mail.ts";
import { splitAddress } from "../standards/address.ts";
import type { ClaimedItem } from "../store/outbox/claims.ts";
import { kinds } from "../store/outbox/kinds.ts";
import { claimReady, releaseItems } from "../store/outbox/outbox.ts";
import type { NewSuppression, Suppressing } from "../store/send/found-suppressions.ts";
import {
  type ClaimedMessage,
  listRelayedMessages,
  type RelayedMessage,
  type RelaySettlement,
  settleRelays,
} from "../store/send/relaying.ts";
import { type DoorDeps, deliverHere } from "./deliver-here.ts";
import type { Leaving } from "./outbox/destinations.ts";
import type { Job } from "./outbox/job.ts";
import { relayLanes } from "./outbox/relay-lanes.ts";

export interface RelayEmailDeps extends Deps, ReadyMailDeps, DoorDeps {
  relay: Relay;
  /** Undefined: mail goes out unsigned. */
  signMail: DkimSigner | undefined;
  /** The sender that the envelope of a message names: where reports of it come to. */
  envelopeFrom: (messageId: string, from: string) => Promise<string>;
  /** Whether servers are asked to report what has arrived, too. */
  askDelivered: boolean;
  maxQueueHours: number;
  /** The contract's schedule where left out. */
  relayRetrySeconds?: readonly number[];
  /** Under which Message-ID the relay hands our mail on; as ours where left out. */
  naming?: RelayNaming;
  /** Fields that the relay alone wants. */
  relayHeaders?: (messageId: string) => readonly CustomHeader[];
  /** Whether the relay tells what becomes of a mail, and may know it by nothing but its own id of it. */
  tellsByOwnId?: boolean;
  /** Of an answer that refuses a recipient for good. Left out: nothing is told by it, and nobody is suppressed for it. */
  refusalType?: (failure: Failure) => BounceType;
  /** For how long a bounce suppresses its recipient; 0: for ever. 90 where left out. */
  bounceSuppressionDays?: number;
}

/** A claimed message; undefined when it is gone. */
export type RelayItem = ClaimedItem & { message: ClaimedMessage | undefined };

/** With whom to tell of it. */
type ConcerningSettlement = RelaySettlement & Pick<ClaimedItem, "accountId" | "inboxId">;

/** Renewed while an attempt lasts, so it only says how soon another process may take over from one that died. */
export const relayLeaseMs = 60_000;

/** The job that takes an accepted message to its next server (contract §5.6). */
export function relayEmailJob(
  deps: RelayEmailDeps,
  onRecovery: (lanes: string[]) => void,
): Job<RelayItem, ConcerningSettlement> {
  const { db, relay, mailDomain } = deps;
  const ownDomain = mailDomain.toLowerCase();
  const isOwn = (domain: string) => domain.toLowerCase() === ownDomain;

  async function attempt(
    item: RelayItem,
    signal: AbortSignal,
  ): Promise<{ settlement: ConcerningSettlement; leaving: Leaving }> {
    const { message } = item;
    if (message?.status !== "pending") return { settlement: nothingToDo(deps, item), leaving: "unknown" };
    if (message.suppressedBy !== null) return { settlement: heldBack(item, message.suppressedBy), leaving: "unknown" };
    const mail = outgoingMail(message, []);
    const { accountId } = item;
    const offer = () =>
      isOwn(splitAddress(message.toAddr)?.domain ?? "")
        ? deliverHere(deps, mail, [message.toAddr])
        : relayed(deps, { id: message.id, accountId, mail }, [message.toAddr], signal);
    const outcomes = await unlessBusy(offer);
    if (outcomes instanceof HostBusy) {
      return { settlement: { ...nothingToDo(deps, item), ...untried(deps, outcomes) }, leaving: "unknown" };
    }
    const [outcome] = outcomes;
    if (outcome === undefined) throw new Error("a mail without recipients");
    const settlement = settlementOf(item, message, outcome, signal.aborted);
    tell(deps, item, outcome, settlement);
    return { settlement, leaving: signal.aborted ? "unknown" : leavingOf(outcome) };
  }

  function settlementOf(
    item: RelayItem,
    message: RelayedMessage,
    outcome: RelayOutcome,
    isCutOff: boolean,
  ): ConcerningSettlement {
    const settlement = nothingToDo(deps, item);
    if (outcome.kind === "sent") {
      const { providerMessageId } = outcome;
      const names = otherNamesOf(deps, providerMessageId, message.rfcMessageId);
      return { ...settlement, names, status: "sent", providerMessageId: providerMessageId ?? null };
    }
    const now = deps.now();
    const dueAt = isCutOff ? now : nextAttemptAt(item, message, now);
    if (outcome.kind === "retry" && dueAt !== undefined) {
      return { ...settlement, dueAt, isUnsure: outcome.maybeAccepted, lastError: failureLine(outcome.failure) };
    }
    return { ...settlement, status: "failed", ...refusalOf(deps, message.toAddr, outcome) };
  }

  function heldBack(item: RelayItem, suppressedBy: SuppressionReason): ConcerningSettlement {
    deps.log.info({ message_id: item.subjectId, reason: suppressedBy }, "mail not sent: its recipient is suppressed");
    return { ...nothingToDo(deps, item), status: "failed", failure: suppressedFailure(suppressedBy), suppressedBy };
  }

  const nextAttemptAt = ({ attempt }: RelayItem, { createdAt }: RelayedMessage, now: Date) =>
    nextRelayAttemptAt(attempt, createdAt, now, deps.maxQueueHours, deps.relayRetrySeconds);

  return {
    kind: kinds.relay,
    leaseMs: relayLeaseMs,
    lanes: relayLanes({
      destinationOf: (lane) => (isOwn(lane) ? ownDomain : relay.destinationOf(`postmaster@${lane}`)),
      onRecovery,
    }),
    async claim(claim) {
      const { items, ...claimed } = await claimReady(db.work, claim);
      if (items.length === 0) return { items: [], ...claimed };
      try {
        const read = await listRelayedMessages(db.work, items, deps.now());
        const messages = new Map(read.map((message) => [message.id, message]));
        return { items: items.map((item) => ({ ...item, message: messages.get(item.subjectId) })), ...claimed };
      } catch (error) {
        await releaseItems(db.work, items).catch(() => undefined);
        throw error;
      }
    },
    attempt,
    failed(item) {
      const { message } = item;
      const now = deps.now();
      const failure: StoredFailure = {
        code: null,
        enhancedCode: null,
        message: "Cannot relay: an internal error",
        reason: "timed_out",
      };
      const dueAt = message && nextAttemptAt(item, message, now);
      // Nobody knows how far it came.
      return dueAt
        ? { ...nothingToDo(deps, item), dueAt, isUnsure: true, lastError: failureLine(failure) }
        : { ...nothingToDo(deps, item), status: "failed", failure };
    },
    async settle(settlements) {
      const { inForce, promised, suppressed } = await settleRelays(db.work, settlements);
      tellSuppressed(deps, settlements, suppressed);
      for (const kind of promised) deps.nudge(kind);
      deps.changes.notify(settlements.filter(({ subjectId, status }) => status !== null && inForce.has(subjectId)));
      return inForce;
    },
  };
}

/** What came of it for each recipient, in their order. */
export async function relayed(
  deps: RelayEmailDeps,
  { id, accountId, mail }: { id: string; accountId: string; mail: OutgoingMail },
  to: readonly string[],
  signal: AbortSignal,
): Promise<RelayOutcome[]> {
  for (const address of to) deps.relay.checkRoom?.(address, accountId);
  const told = { ...mail, relayHeaders: deps.relayHeaders?.(id) };
  const body = await readyMail(deps, deps.db.work, told, deps.signMail);
  try {
    const envelope = {
      accountId,
      envelopeFrom: await deps.envelopeFrom(id, mail.from.address),
      recipients: to.map((address) => ({ address, orcpt: address })),
      dsn: reportWish(id, deps.askDelivered),
    };
    return await deps.relay.send({ ...envelope, body, smtpUtf8: needsSmtpUtf8(mail) }, signal);
  } finally {
    await body.close();
  }
}

/** The answer of `offer`, or HostBusy if it tried nothing. */
export async function unlessBusy<Answer>(offer: () => Promise<Answer>): Promise<Answer | HostBusy> {
  try {
    return await offer();
  } catch (error) {
    if (error instanceof HostBusy) return error;
    throw error;
  }
}

/** How a mail is put off that was not tried. Nobody waits for its host in the process, where it would take a slot. */
export function untried({ now }: Pick<Deps, "now">, { againInMs, message }: HostBusy) {
  return { isUntried: true, dueAt: new Date(now().getTime() + againInMs), lastError: message };
}

/** What a server that can report shall report, and under which name (RFC 3461). */
function reportWish(messageId: string, askDelivered: boolean): ReportWish {
  const notify = ["FAILURE", "DELAY", ...(askDelivered ? ["SUCCESS" as const] : [])] as const;
  return { ret: "HDRS", envid: messageId, notify };
}

/** How it is kept: with its type where it was an answer at once, and whom nobody of the account writes to again. */
export function refusalOf(
  deps: RelayEmailDeps,
  address: string,
  outcome: Exclude<RelayOutcome, { kind: "sent" }>,
): { failure: StoredFailure; suppression?: NewSuppression } {
  const failure = failureFor(outcome);
  const type = failure.code === null ? undefined : deps.refusalType?.(failure);
  if (type === undefined) return { failure };
  const typed = { failure: { ...failure, type } };
  if (type !== "hard" || outcome.kind !== "failed" || outcome.isAboutRecipient !== true) return typed;
  const at = deps.now();
  const suppression = {
    ...{ id: deps.newId("sup", at), eventId: deps.newId("evt", at), address: suppressedForm(address), inboxId: "" },
    ...{ reason: "bounce" as const, detail: failure.message, createdAt: at },
    expiresAt: endOfBounceSuppression(at, deps.bounceSuppressionDays ?? 90),
  };
  return { ...typed, suppression };
}

/** By what else it is known now: by another Message-ID, and to a relay that tells what becomes of it by what that calls it. */
export function otherNamesOf(
  { naming = { kind: "kept" }, tellsByOwnId = false }: RelayEmailDeps,
  providerMessageId: string | undefined,
  rfcMessageId: string,
): OtherName[] | undefined {
  const wireName = wireNameOf(naming, providerMessageId, rfcMessageId);
  const names = [wireName, tellsByOwnId ? providerMessageId : undefined].flatMap((name) => otherName(name ?? "") ?? []);
  return names.length === 0 ? undefined : names;
}

function tell({ log }: Deps, item: RelayItem, outcome: RelayOutcome, { dueAt }: RelaySettlement): void {
  const about = { message_id: item.subjectId, rfc_message_id: item.message?.rfcMessageId, attempt: item.attempt };
  if (outcome.kind === "sent") {
    log.info({ ...about, provider_message_id: outcome.providerMessageId }, "mail sent");
  } else if (dueAt === null) {
    log.warn({ ...about, failure: loggableFailure(outcome.failure) }, "mail failed");
  } else if (outcome.kind === "retry" && outcome.maybeAccepted) {
    const failure = loggableFailure(outcome.failure);
    log.warn({ ...about, failure }, "mail may have been accepted: the next attempt may repeat it");
  } else {
    log.info({ ...about, failure: loggableFailure(outcome.failure), due_at: dueAt }, "mail put off");
  }
}

/** Of those among these that keep mail from somebody from now on. */
export function tellSuppressed(
  { log }: Pick<Deps, "log">,
  settled: readonly ({ accountId: string } & Suppressing)[],
  added: readonly string[],
): void {
  for (const { accountId, suppression } of settled) {
    if (suppression === undefined || !added.includes(suppression.id)) continue;
    const { id, reason } = suppression;
    log.info({ suppression_id: id, account_id: accountId, reason }, "suppression added");
  }
}

/** What another server said is its own words, and often names the recipient: the log gets the codes. The words are the message's. */
export function loggableFailure({ code, enhancedCode, message }: Failure) {
  return code === null ? { code, enhancedCode, message } : { code, enhancedCode };
}

/** Whether the destination spoke. A 421 says that it won't for a while (RFC 5321 §3.8). */
export function leavingOf(outcome: RelayOutcome): Leaving {
  if (outcome.kind === "sent" || outcome.failure.code !== null) {
    return outcome.kind === "retry" && outcome.failure.code === 421 ? "unreached" : "answered";
  }
  return "unreached";
}

function nothingToDo({ now, newId }: Deps, item: RelayItem): ConcerningSettlement {
  const { subjectId, accountId, inboxId, attempt } = item;
  const at = now();
  const eventId = newId("evt", at);
  return {
    subjectId,
    accountId,
    inboxId,
    attempt,
    at,
    eventId,
    dueAt: null,
    status: null,
    providerMessageId: null,
    failure: null,
    isUntried: false,
    isUnsure: false,
    lastError: null,
  };
}
