import { type Db, transaction } from "../database/db.ts";
import { nextRelayAttemptAt } from "../domain/backoff.ts";
import { type Failure, failureLine, type RelayOutcome } from "../domain/outcome.ts";
import { destinationOfSubject, domainOf } from "../domain/send/recipients/destinations.ts";
import { type SuppressionReason, suppressedFailure, suppressedForm } from "../domain/send/suppressed.ts";
import { outgoingMail } from "../flows/send/outgoing-mail.ts";
import { HostBusy } from "../relay/relay.ts";
import { listOutgoingAttachments, type MailedAttachment } from "../store/mail/attachments.ts";
import type { Claim, Claimed, ClaimedItem } from "../store/outbox/claims.ts";
import { kinds } from "../store/outbox/kinds.ts";
import { claimReady, releaseItems } from "../store/outbox/outbox.ts";
import {
  type DestinationSettlement,
  listRelayedToSeveral,
  lockMessages,
  type RelayedRecipient,
  type RelayedToSeveral,
  type SettledRecipient,
  settleDestinations,
} from "../store/send/destinations.ts";
import { deliverHere } from "./deliver-here.ts";
import type { Leaving } from "./outbox/destinations.ts";
import type { Job } from "./outbox/job.ts";
import { relayLanes } from "./outbox/relay-lanes.ts";
import {
  leavingOf,
  loggableFailure,
  otherNamesOf,
  type RelayEmailDeps,
  refusalOf,
  relayed,
  relayLeaseMs,
  tellSuppressed,
  unlessBusy,
  untried,
} from "./relay-email.ts";

/** A claimed destination; its message is undefined when it is gone. */
export type DestinationItem = ClaimedItem & {
  message: RelayedToSeveral | undefined;
  attachments: MailedAttachment[];
};

/** With whom to tell of it. */
type ConcerningSettlement = DestinationSettlement & Pick<ClaimedItem, "accountId" | "inboxId">;

/**
 * The job that takes a message to one of its destinations: what relayEmailJob does, for several recipients of whom each has an outcome
 * of his own. A row that was made under another OUTBOUND is carried out as today's asks.
 */
export function relayDestinationJob(
  deps: RelayEmailDeps,
  onRecovery: (lanes: string[]) => void,
): Job<DestinationItem, ConcerningSettlement> {
  const { db, relay } = deps;
  const ownDomain = deps.mailDomain.toLowerCase();
  const isOwn = (domain: string) => domain.toLowerCase() === ownDomain;

  async function attempt(
    item: DestinationItem,
    signal: AbortSignal,
  ): Promise<{ settlement: ConcerningSettlement; leaving: Leaving }> {
    const { message, attachments } = item;
    const waiting = message === undefined ? [] : waitingOf(item, message);
    if (message === undefined || waiting.length === 0) {
      return { settlement: nothingToDo(deps, item), leaving: "unknown" };
    }
    const outcomes = await unlessBusy(() => offer(item, { message, attachments }, waiting, signal));
    if (outcomes instanceof HostBusy) {
      return { settlement: { ...nothingToDo(deps, item), ...untried(deps, outcomes) }, leaving: "unknown" };
    }
    const settled = settlementOf(item, message, outcomes, signal.aborted);
    const settlement = { ...settled, outcomes: [...settled.outcomes, ...heldBack(message, waiting)] };
    tell(deps, item, outcomes, settlement);
    return { settlement, leaving: signal.aborted ? "unknown" : leavingOfAll([...outcomes.values()]) };
  }

  /** What comes of it for each who waits. */
  async function offer(
    { accountId }: DestinationItem,
    { message, attachments }: { message: RelayedToSeveral; attachments: readonly MailedAttachment[] },
    waiting: readonly RelayedRecipient[],
    signal: AbortSignal,
  ): Promise<Map<RelayedRecipient, RelayOutcome>> {
    const mail = outgoingMail(message, attachments);
    const open = waiting.filter((recipient) => suppressedBy(message, recipient) === undefined);
    const here = open.filter(({ address }) => isOwn(domainOf(address)));
    const outside = open.filter((recipient) => !here.includes(recipient));
    const addressesOf = (recipients: readonly RelayedRecipient[]) => recipients.map(({ address }) => address);
    const taken = here.length === 0 ? [] : await deliverHere(deps, mail, addressesOf(here));
    const sent =
      outside.length === 0
        ? []
        : await relayed(deps, { id: message.id, accountId, mail }, addressesOf(outside), signal);
    const outcomes = [...taken, ...sent];
    return new Map([...here, ...outside].flatMap((recipient, place) => pairOf(recipient, outcomes[place])));
  }

  function settlementOf(
    item: DestinationItem,
    { createdAt, rfcMessageId }: RelayedToSeveral,
    outcomes: ReadonlyMap<RelayedRecipient, RelayOutcome>,
    isCutOff: boolean,
  ): ConcerningSettlement {
    const now = deps.now();
    const dueAt = isCutOff ? now : nextAttemptAt(item, createdAt, now);
    const waitedFor: Failure[] = [];
    let isUnsure = false;
    const settled = [...outcomes].flatMap(([{ position, address }, outcome]): SettledRecipient | [] => {
      if (outcome.kind === "sent") {
        const providerMessageId = outcome.providerMessageId ?? null;
        const names = otherNamesOf(deps, outcome.providerMessageId, rfcMessageId);
        return { position, status: "sent", providerMessageId, failure: null, names };
      }
      if (outcome.kind === "retry" && dueAt !== undefined) {
        waitedFor.push(outcome.failure);
        isUnsure ||= outcome.maybeAccepted;
        return [];
      }
      return { position, status: "failed", providerMessageId: null, ...refusalOf(deps, address, outcome) };
    });
    const [first] = waitedFor;
    const putOff = first !== undefined && dueAt !== undefined && { dueAt, lastError: failureLine(first) };
    return { ...nothingToDo(deps, item), outcomes: settled, ...putOff, isUnsure };
  }

  const nextAttemptAt = ({ attempt }: DestinationItem, createdAt: Date, now: Date) =>
    nextRelayAttemptAt(attempt, createdAt, now, deps.maxQueueHours, deps.relayRetrySeconds);

  return {
    kind: kinds.destination,
    leaseMs: relayLeaseMs,
    lanes: relayLanes({
      destinationOf: (lane) => (isOwn(lane) ? ownDomain : relay.destinationOf(`postmaster@${lane}`)),
      onRecovery,
    }),
    claim: (claim) => claimDestinations(db.work, claim, deps.now()),
    attempt,
    failed(item) {
      const { message } = item;
      const settlement = nothingToDo(deps, item);
      if (message === undefined) return settlement;
      const failure = { code: null, enhancedCode: null, message: "Cannot relay: an internal error" };
      const outcome: RelayOutcome = { kind: "retry", failure, maybeAccepted: true };
      const outcomes = new Map(waitingOf(item, message).map((recipient) => [recipient, outcome]));
      return settlementOf(item, message, outcomes, false);
    },
    settle: (settlements) => settleAll(deps, settlements),
  };
}

async function settleAll(deps: RelayEmailDeps, settlements: readonly ConcerningSettlement[]): Promise<Set<string>> {
  const ids = [...new Set(settlements.map(({ messageId }) => messageId))];
  const { db, nudge, changes } = deps;
  const { inForce, told, promised, suppressed } = await transaction(db.work, async (tx) => {
    await lockMessages(tx, ids);
    return settleDestinations(tx, settlements);
  });
  const settled = settlements.flatMap(({ accountId, outcomes }) => outcomes.map((one) => ({ ...one, accountId })));
  tellSuppressed(deps, settled, suppressed);
  for (const kind of promised) nudge(kind);
  changes.notify(settlements.filter(({ messageId }) => told.has(messageId)));
  return inForce;
}

async function claimDestinations(db: Db, claim: Claim, at: Date): Promise<Claimed<DestinationItem>> {
  const { items, ...claimed } = await claimReady(db, claim);
  if (items.length === 0) return { items: [], ...claimed };
  try {
    const ids = items.map(({ subjectId }) => destinationOfSubject(subjectId).messageId);
    const found = await listRelayedToSeveral(db, [...new Set(ids)], at);
    const files = await listOutgoingAttachments(db, [...new Set(ids)]);
    const attachmentsOf = Map.groupBy(files, ({ messageId }) => messageId);
    const messages = new Map(found.map((message) => [message.id, message]));
    return {
      items: items.map((item, place) => {
        const id = ids[place] ?? "";
        return { ...item, message: messages.get(id), attachments: attachmentsOf.get(id) ?? [] };
      }),
      ...claimed,
    };
  } catch (error) {
    await releaseItems(db, items).catch(() => undefined);
    throw error;
  }
}

/** Those of this destination for whom it is not decided yet. */
function waitingOf({ subjectId }: DestinationItem, message: RelayedToSeveral): RelayedRecipient[] {
  const { place } = destinationOfSubject(subjectId);
  return recipientsOf(message).filter(({ destination, status }) => destination === place && status === "pending");
}

/** Those who were suppressed meanwhile. */
function heldBack(message: RelayedToSeveral, waiting: readonly RelayedRecipient[]): SettledRecipient[] {
  return waiting.flatMap((recipient) => {
    const reason = suppressedBy(message, recipient);
    if (reason === undefined) return [];
    const { position } = recipient;
    return {
      position,
      status: "failed",
      providerMessageId: null,
      failure: suppressedFailure(reason),
      suppressedBy: reason,
    };
  });
}

function suppressedBy({ suppressed }: RelayedToSeveral, { address }: RelayedRecipient): SuppressionReason | undefined {
  return suppressed?.[suppressedForm(address)];
}

function recipientsOf({ recipients, toAddr: address, status }: RelayedToSeveral): RelayedRecipient[] {
  if (recipients !== null) return recipients;
  const own = status === "received" ? "sent" : status;
  return [{ position: 0, destination: 0, address, name: null, type: "to", status: own }];
}

function pairOf(
  recipient: RelayedRecipient,
  outcome: RelayOutcome | undefined,
): [[RelayedRecipient, RelayOutcome]] | [] {
  return outcome === undefined ? [] : [[recipient, outcome]];
}

/** Whether the destination spoke: who is refused has been answered. */
function leavingOfAll(outcomes: readonly RelayOutcome[]): Leaving {
  const all = outcomes.map(leavingOf);
  return all.find((leaving) => leaving === "answered") ?? all[0] ?? "unknown";
}

/** Of addresses the log knows nothing, only how many there were. */
function tell(
  { log }: RelayEmailDeps,
  { subjectId, attempt, message }: DestinationItem,
  outcomes: ReadonlyMap<RelayedRecipient, RelayOutcome>,
  { outcomes: settled, dueAt }: DestinationSettlement,
): void {
  const { messageId: message_id } = destinationOfSubject(subjectId);
  const about = { message_id, rfc_message_id: message?.rfcMessageId, subject_id: subjectId, attempt };
  const unsent = [...outcomes.values()].flatMap((outcome) => (outcome.kind === "sent" ? [] : [outcome]));
  const counts = { sent: settled.filter(({ status }) => status === "sent").length };
  const failed = settled.filter(({ status }) => status === "failed").length;
  const failure = unsent[0] && loggableFailure(unsent[0].failure);
  const told = { ...about, ...counts, failed, put_off: outcomes.size - settled.length, failure, due_at: dueAt };
  if (unsent.some((outcome) => outcome.kind === "retry" && outcome.maybeAccepted && dueAt !== null)) {
    log.warn(told, "mail may have been accepted: the next attempt may repeat it");
  } else if (failed > 0) log.warn(told, "mail failed");
  else log.info(told, dueAt === null ? "mail sent" : "mail put off");
}

function nothingToDo({ now, newId }: RelayEmailDeps, item: DestinationItem): ConcerningSettlement {
  const { subjectId, accountId, inboxId, attempt } = item;
  const at = now();
  const { messageId } = destinationOfSubject(subjectId);
  const events = { sentEventId: newId("evt", at), failedEventId: newId("evt", at) };
  return {
    subjectId,
    messageId,
    accountId,
    inboxId,
    attempt,
    at,
    ...events,
    dueAt: null,
    outcomes: [],
    isUntried: false,
    isUnsure: false,
    lastError: null,
  };
}
