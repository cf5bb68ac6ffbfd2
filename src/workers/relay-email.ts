import { transaction } from "../database/db.ts";
import { nextRelayAttemptAt } from "../domain/backoff.ts";
import { isProven, returnPathHost } from "../domain/domains/readiness.ts";
import { isId } from "../domain/ids.ts";
import type { CustomHeader, OutgoingMail } from "../domain/message.ts";
import { type Failure, failureFor, failureLine, type RelayOutcome, type StoredFailure } from "../domain/outcome.ts";
import type { BounceType } from "../domain/reports/report.ts";
import type { EnvelopeFrom } from "../domain/reports/return-path.ts";
import { type RecipientAttempt, recipientAttempt } from "../domain/send/recipient-attempt.ts";
import { destinationOfSubject, domainOf } from "../domain/send/recipients/destinations.ts";
import { endOfBounceSuppression, suppressedFailure, suppressedForm } from "../domain/send/suppressed.ts";
import { type OtherName, otherName, type RelayNaming, wireNameOf } from "../domain/send/wire-name.ts";
import type { ClosedAccounts } from "../flows/account/closed-accounts.ts";
import type { Deps } from "../flows/deps.ts";
import type { OwnHosts } from "../flows/own-hosts.ts";
import { outgoingMail } from "../flows/send/outgoing-mail.ts";
import { type ReadyMailDeps, readyMail } from "../flows/send/ready-mail.ts";
import { type LetterDeps, takeLetters } from "../flows/send/write-letters.ts";
import type { DkimSigner } from "../mail/write/dkim.ts";
import { needsSmtpUtf8 } from "../mail/write/header.ts";
import { HostBusy, type Relay } from "../relay/relay.ts";
import type { ReportWish } from "../relay/relayed-mail.ts";
import { type DomainOfMessage, listDomainsOfMessages } from "../store/account/domains.ts";
import { listOutgoingAttachments, type MailedAttachment } from "../store/mail/attachments.ts";
import type { Claim, Claimed, ClaimedItem } from "../store/outbox/claims.ts";
import { kinds } from "../store/outbox/kinds.ts";
import { claimReady, releaseItems } from "../store/outbox/outbox-rows.ts";
import type { Letter } from "../store/send/letters.ts";
import {
  listRelayedMessages,
  lockMessages,
  type RelayedMessage,
  type RelayedRecipient,
  type RelaySettlement,
  type SettledRecipient,
  settleRelays,
} from "../store/send/relaying.ts";
import type { NewSuppression } from "../store/send/suppressions.ts";
import { type DoorDeps, deliverHere } from "./deliver-here.ts";
import type { Job } from "./outbox/job.ts";
import { type Leaving, lanesWithout } from "./outbox/lanes.ts";
import { relayLanes } from "./outbox/relay-lanes.ts";
import { attemptLetter } from "./send-letter.ts";

export interface RelayEmailDeps extends Deps, ReadyMailDeps, DoorDeps {
  relay: Relay;
  /** The dependencies of letters to approvers. Undefined: no letters are written. */
  letters?: LetterDeps;
  /** Finds the signer of an own domain by its key, or without one that of MAIL_DOMAIN. Undefined: such mail goes out unsigned. */
  signMail: (key: SigningKey | undefined) => Promise<DkimSigner | undefined>;
  hosts: Pick<OwnHosts, "find" | "recall">;
  /** The envelope sender of a message. Reports about the message are sent to that address. */
  envelopeFrom: EnvelopeFrom;
  /** The accounts whose mail waits without an attempt, or also their events. The default is none. */
  closed?: Pick<ClosedAccounts, "suspended" | "moving">;
  /** The clock that shows which attempts are slow, and which facts are old, in milliseconds. The default is that of the machine. */
  attemptsNowMs?: () => number;
  /** Whether reports are requested for successful deliveries too, and not only for failures and delays. */
  askDelivered: boolean;
  maxQueueHours: number;
  /** The pauses between attempts, in seconds. The default is the schedule of the contract. */
  relayRetrySeconds?: readonly number[];
  /** Which Message-ID our mail has after the relay. The default is our own. */
  naming?: RelayNaming;
  /** Header fields for the relay only. */
  relayHeaders?: (messageId: string) => readonly CustomHeader[];
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

/** The key that signs the mail of an own domain, sealed in the row of this selector. */
export interface SigningKey {
  domainId: string;
  /** The name of the domain. */
  domain: string;
  selector: string;
  privateKey: string;
}

/** A claimed row: one destination of a message, or a letter. `message` is undefined for a letter, and if the message was deleted. */
export type RelayItem = ClaimedItem & {
  message: ClaimedMessage | undefined;
  letter: Letter | undefined;
  attachments: readonly MailedAttachment[];
  /** The own domain of its sender; undefined for MAIL_DOMAIN. */
  domain: DomainOfMessage | undefined;
  /** When all this was read, by the clock of attempts. */
  readMs: number;
};

type ClaimedMessage = RelayedMessage & { envelopeFrom: string };

/** A settlement, with the account and the inbox whose listeners are notified. */
type ConcerningSettlement = RelaySettlement & Pick<ClaimedItem, "accountId" | "inboxId">;

/** The lease of a claim. It is renewed during an attempt, so it only decides how soon another process takes over after a crash. */
export const relayLeaseMs = 60_000;

/** For how long a mail is sent by what was read about it. A mail that has waited longer for a connection is looked at again. */
const freshMs = 500;

const nobody: ReadonlySet<string> = new Set();

/**
 * The job that sends an accepted message to one of its destinations (contract §5.6). Each recipient has an outcome. A row that was
 * inserted while OUTBOUND had another value is sent with the current one.
 */
export function relayEmailJob(
  deps: RelayEmailDeps,
  onRecovery: (lanes: string[]) => void,
): Job<RelayItem, ConcerningSettlement> {
  const { relay, attemptsNowMs: nowMs = performance.now.bind(performance) } = deps;
  const suspended = () => deps.closed?.suspended() ?? nobody;
  const ownDomain = deps.mailDomain.toLowerCase();
  const isOwn = (domain: string) => domain.toLowerCase() === ownDomain;

  async function attempt(
    item: RelayItem,
    signal: AbortSignal,
  ): Promise<{ settlement: ConcerningSettlement; leaving: Leaving }> {
    const { message, letter } = item;
    if (letter !== undefined && deps.letters !== undefined) {
      const { outcome, leaving, ...ended } = await attemptLetter(
        { ...deps, letters: deps.letters },
        letter,
        item,
        signal,
      );
      const isUntried = outcome === "host_busy";
      return { settlement: { ...nothingToDo(deps, item), ...ended, isUntried, letter: outcome }, leaving };
    }
    const waiting = waitingOf(item);
    if (message === undefined || waiting.length === 0) {
      return { settlement: nothingToDo(deps, item), leaving: "unknown" };
    }
    const callingOff = new AbortController();
    const ending = AbortSignal.any([signal, callingOff.signal]);
    let offered: Offered;
    try {
      offered = await offer(item, message, ending, () => lookAgain(item, callingOff));
    } catch (error) {
      if (!(error instanceof HostBusy)) throw error;
      return { settlement: { ...nothingToDo(deps, item), ...untried(deps, error) }, leaving: "unknown" };
    }
    const { outcomes, leaving } = offered;
    const settlement = settlementOf(item, message, outcomes, ending.aborted);
    if (outcomes.size > 0) log(deps, item, outcomes, settlement);
    return {
      settlement: { ...settlement, outcomes: [...settlement.outcomes, ...heldBack(deps, item, waiting)] },
      leaving: ending.aborted ? "unknown" : leaving,
    };
  }

  /**
   * Calls a mail off if it has waited, and the account was suspended meanwhile, or a recipient suppressed, or the domain of the sender has
   * failed. The mail is then claimed again at once, by what is known now.
   */
  async function lookAgain(item: RelayItem, callingOff: AbortController): Promise<void> {
    if (nowMs() - item.readMs < freshMs) return;
    const [now] = await withFacts(deps, [item], isOwn, nowMs()).catch(() => []);
    const open = new Set(now && openRecipients(now).map(({ position }) => position));
    const isOpen = openRecipients(item).every(({ position }) => open.has(position));
    const sends = now?.domain === undefined || keyOf(now.domain) !== undefined;
    if (!isOpen || !sends || suspended().has(item.accountId)) callingOff.abort();
  }

  /** Whether mail to this domain goes by our own door. */
  async function isHere(domain: string): Promise<boolean> {
    return isOwn(domain) || (await deps.hosts.find(domain))?.isLocal === true;
  }

  /**
   * Hands the mail to our own door for recipients at our domains, and to the relay for others. Suppressed recipients are left out and have
   * no outcome. All others fail if the domain of the sender has failed.
   */
  async function offer(
    item: RelayItem,
    message: ClaimedMessage,
    signal: AbortSignal,
    lookAgain: () => Promise<void>,
  ): Promise<Offered> {
    const { accountId, attachments, domain } = item;
    const { id, envelopeFrom } = message;
    const mail = outgoingMail(message, attachments);
    const open = openRecipients(item);
    const key = domain && keyOf(domain);
    if (domain !== undefined && key === undefined) {
      const gone = noLongerSends(domain);
      return { outcomes: new Map(open.map((recipient) => [recipient, gone])), leaving: "unknown" };
    }
    const areHere = await Promise.all(open.map(({ address }) => isHere(domainOf(address))));
    const here = open.filter((_, index) => areHere[index]);
    const outside = open.filter((_, index) => !areHere[index]);
    const addressesOf = (recipients: readonly RelayedRecipient[]) => recipients.map(({ address }) => address);
    const taken = here.length === 0 ? [] : await deliverHere(deps, mail, addressesOf(here));
    const sent =
      outside.length === 0
        ? []
        : await relayed(deps, { id, accountId, mail, key, envelopeFrom, lookAgain }, addressesOf(outside), signal);
    const outcomes = [...taken, ...sent];
    // Our own door shows nothing about the server of a lane that other mail leaves by.
    const isAtHome = outside.length === 0 && here.every(({ address }) => isOwn(domainOf(address)));
    return {
      outcomes: new Map([...here, ...outside].map((recipient, index) => [recipient, outcomeAt(outcomes, index)])),
      leaving: leavingOfAll(isAtHome ? taken : sent),
    };
  }

  function settlementOf(
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

  return {
    kind: kinds.relay,
    leaseMs: relayLeaseMs,
    lanes: lanesWithout(
      relayLanes({
        serverOf: (lane) =>
          isOwn(lane) || deps.hosts.recall(lane)?.isLocal ? ownDomain : relay.serverOf(`postmaster@${lane}`),
        onRecovery,
        ...(relay.mostAtOnce && { each: relay.mostAtOnce }),
        nowMs,
      }),
      suspended,
    ),
    claim: (claim) => claimWithMessages(deps, claim, isOwn, nowMs()),
    attempt,
    failed(item) {
      const { message, letter } = item;
      if (letter !== undefined) return letterAgain(deps, item);
      if (message === undefined) return nothingToDo(deps, item);
      const failure = { code: null, enhancedCode: null, message: "Cannot relay: an internal error" };
      // The attempt may have sent the mail before the error.
      const outcome: RelayOutcome = { kind: "retry", failure, maybeAccepted: true };
      return settlementOf(item, message, new Map(waitingOf(item).map((recipient) => [recipient, outcome])), false);
    },
    settle: (settlements) => settle(deps, settlements),
    gatherMs: 2,
  };
}

type FactDeps = Pick<RelayEmailDeps, "db" | "now" | "newId" | "envelopeFrom">;

async function claimWithMessages(
  deps: FactDeps,
  claim: Claim,
  isOwn: (domain: string) => boolean,
  readMs: number,
): Promise<Claimed<RelayItem>> {
  const { items, ...claimed } = await claimReady(deps.db.work, claim);
  try {
    return { items: await withFacts(deps, items, isOwn, readMs), ...claimed };
  } catch (error) {
    await releaseItems(deps.db.work, items).catch(() => undefined);
    throw error;
  }
}

/** Reads all that decides about the mails of claimed rows. */
async function withFacts(
  deps: FactDeps,
  items: readonly ClaimedItem[],
  isOwn: (domain: string) => boolean,
  readMs: number,
): Promise<RelayItem[]> {
  if (items.length === 0) return [];
  const db = deps.db.work;
  const { letter: ofLetters = [], message: ofMessages = [] } = Object.groupBy(items, ({ subjectId }) =>
    isId("ltr", subjectId) ? "letter" : "message",
  );
  const letters = await takeLetters(
    deps,
    ofLetters.map(({ subjectId }) => subjectId),
  );
  const letterOf = new Map(letters.map((letter) => [letter.id, letter]));
  const accounts = new Map(ofMessages.map(({ subjectId, accountId }) => [messageIdOf(subjectId), accountId]));
  const asked = Array.from(accounts, ([id, accountId]) => ({ id, accountId }));
  const messages = await listRelayedMessages(db, asked, deps.now());
  const withFiles = messages.filter(({ attachmentCount }) => attachmentCount > 0);
  const files = await listOutgoingAttachments(
    db,
    withFiles.map(({ id }) => id),
  );
  const fromElsewhere = messages.filter(({ fromAddr }) => !isOwn(domainOf(fromAddr)));
  const domains = await listDomainsOfMessages(
    db,
    fromElsewhere.map(({ id }) => id),
  );
  const domainOfMessage = new Map(domains.map((domain) => [domain.messageId, domain]));
  const filesOf = Map.groupBy(files, ({ messageId }) => messageId);
  // The return paths are signed at once: one signature alone wakes a thread, which costs more than a signature.
  const withSender = messages.map(async (message): Promise<ClaimedMessage> => {
    const domain = domainOfMessage.get(message.id);
    const envelopeFrom = await deps.envelopeFrom(message.id, message.fromAddr, domain && returnPathHost(domain));
    return { ...message, envelopeFrom };
  });
  const messageOf = new Map((await Promise.all(withSender)).map((message) => [message.id, message]));
  return items.map((item) => {
    const id = messageIdOf(item.subjectId);
    return {
      ...item,
      message: messageOf.get(id),
      letter: letterOf.get(item.subjectId),
      attachments: filesOf.get(id) ?? [],
      domain: domainOfMessage.get(id),
      readMs,
    };
  });
}

/** Records results, under the lock of the messages if the statement needs it. */
async function settle(deps: RelayEmailDeps, settlements: readonly ConcerningSettlement[]): Promise<Set<string>> {
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

/** The result of an attempt, and what it shows about the server of its lane. */
interface Offered {
  outcomes: Map<RelayedRecipient, RelayOutcome>;
  leaving: Leaving;
}

/** The key for the mail of a domain; undefined if the domain sends no mail any more. */
function keyOf({ id: domainId, name: domain, status, selector, privateKey }: DomainOfMessage): SigningKey | undefined {
  if (!isProven(status) || selector === null || privateKey === null) return undefined;
  return { domainId, domain, selector, privateKey };
}

function noLongerSends({ name, status }: DomainOfMessage): RelayOutcome {
  const why = isProven(status) ? "is deleted" : "is not verified any more";
  return {
    kind: "failed",
    failure: { code: null, enhancedCode: null, message: `Cannot relay: the domain ${name} ${why}` },
  };
}

interface Relaying {
  id: string;
  accountId: string;
  mail: OutgoingMail;
  key: SigningKey | undefined;
  envelopeFrom: string;
  lookAgain: () => Promise<void>;
}

/** Sends a mail to several addresses. Returns their outcomes in order. */
async function relayed(
  deps: RelayEmailDeps,
  { id, accountId, mail, key, envelopeFrom, lookAgain }: Relaying,
  to: readonly string[],
  signal: AbortSignal,
): Promise<RelayOutcome[]> {
  for (const address of to) deps.relay.checkRoom?.(address, accountId);
  const signer = await deps.signMail(key);
  const body = await readyMail(deps, deps.db.work, { ...mail, relayHeaders: deps.relayHeaders?.(id) }, signer);
  try {
    const envelope = {
      accountId,
      envelopeFrom,
      recipients: to.map((address) => ({ address, orcpt: address })),
      dsn: reportWish(id, deps.askDelivered),
      lookAgain,
    };
    return await deps.relay.send({ ...envelope, body, smtpUtf8: needsSmtpUtf8(mail) }, signal);
  } finally {
    await body.close();
  }
}

/** The reports to request from the server, and the envelope id in them (RFC 3461). */
function reportWish(messageId: string, askDelivered: boolean): ReportWish {
  const notify = ["FAILURE", "DELAY", ...(askDelivered ? ["SUCCESS" as const] : [])] as const;
  return { ret: "HDRS", envid: messageId, notify };
}

/**
 * Puts off a mail that was not tried, because all connections to its host are in use. The mail waits in the outbox, because waiting in this
 * process would take a slot.
 */
function untried({ now }: Pick<Deps, "now">, { againInMs, message }: HostBusy) {
  return { isUntried: true, dueAt: new Date(now().getTime() + againInMs), lastError: message };
}

/**
 * The failure of a recipient, with a bounce type if it has an SMTP code. If a server has refused this very recipient for good, the address
 * is suppressed too.
 */
function refusalOf(
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
  { naming = { kind: "kept" }, noticesNameRelayId = false }: RelayEmailDeps,
  providerMessageId: string | undefined,
  rfcMessageId: string,
): OtherName[] | undefined {
  const wireName = wireNameOf(naming, providerMessageId, rfcMessageId);
  const names = [wireName, noticesNameRelayId ? providerMessageId : undefined].flatMap(
    (name) => otherName(name ?? "") ?? [],
  );
  return names.length === 0 ? undefined : names;
}

/** Fails the recipients who were suppressed after the message was accepted. */
function heldBack({ log }: Deps, item: RelayItem, waiting: readonly RelayedRecipient[]): SettledRecipient[] {
  return waiting.flatMap(({ position, suppressedBy }) => {
    if (suppressedBy === null) return [];
    const about = { message_id: messageIdOf(item.subjectId), reason: suppressedBy };
    log.info(about, "mail not sent: its recipient is suppressed");
    const failure = suppressedFailure(suppressedBy);
    return { position, status: "failed", providerMessageId: null, failure, attempt: null, suppressedBy };
  });
}

/** Puts off a letter after a bug or an outage. */
function letterAgain(deps: RelayEmailDeps, item: RelayItem): ConcerningSettlement {
  const at = deps.now();
  const dueAt =
    nextRelayAttemptAt(item.attempt, item.createdAt, at, deps.maxQueueHours, deps.relayRetrySeconds) ?? null;
  return { ...nothingToDo(deps, item), dueAt, letter: dueAt === null ? "failed" : "put_off" };
}

/** The recipients of this destination that are still pending. */
function waitingOf({ subjectId, message }: RelayItem): RelayedRecipient[] {
  const { number } = destinationOfSubject(subjectId);
  return (message?.recipients ?? []).filter(
    ({ destination, status }) => destination === number && status === "pending",
  );
}

/** Those of them that are not suppressed. */
function openRecipients(item: RelayItem): RelayedRecipient[] {
  return waitingOf(item).filter(({ suppressedBy }) => suppressedBy === null);
}

function messageIdOf(subjectId: string): string {
  return destinationOfSubject(subjectId).messageId;
}

function outcomeAt(outcomes: readonly RelayOutcome[], index: number): RelayOutcome {
  const outcome = outcomes[index];
  if (outcome === undefined) throw new Error("Cannot settle an attempt: a recipient has no outcome");
  return outcome;
}

/**
 * What an attempt shows about its server: `answered` if the server answered for at least one recipient, even with a refusal; otherwise
 * `unreached`. `unknown` if there are no outcomes.
 */
function leavingOfAll(outcomes: readonly RelayOutcome[]): Leaving {
  const all = outcomes.map(leavingOf);
  return all.find((leaving) => leaving === "answered") ?? all[0] ?? "unknown";
}

/**
 * What the outcome of one recipient shows about the server. A 421 counts as `unreached`, because the server accepts no mail for a while
 * (RFC 5321 §3.8).
 */
function leavingOf(outcome: RelayOutcome): Leaving {
  if (outcome.kind === "sent") return "answered";
  const { code } = outcome.failure;
  return code === null || (outcome.kind === "retry" && code === 421) ? "unreached" : "answered";
}

/** Logs an attempt. The log has no addresses, only the number of recipients. */
function log(
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

function nothingToDo({ now, newId }: Deps, item: RelayItem): ConcerningSettlement {
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
