import { isProven } from "../domain/domains/readiness.ts";
import type { CustomHeader, OutgoingMail } from "../domain/message.ts";
import type { RelayOutcome } from "../domain/outcome.ts";
import type { EnvelopeFrom } from "../domain/reports/return-path.ts";
import { domainOf } from "../domain/send/recipients/destinations.ts";
import type { ClosedAccounts } from "../flows/account/closed-accounts.ts";
import type { Deps } from "../flows/deps.ts";
import type { OwnHosts } from "../flows/own-hosts.ts";
import { outgoingMail } from "../flows/send/outgoing-mail.ts";
import { type ReadyMailDeps, readyMail } from "../flows/send/ready-mail.ts";
import type { LetterDeps } from "../flows/send/write-letters.ts";
import type { DkimSigner } from "../mail/write/dkim.ts";
import { needsSmtpUtf8 } from "../mail/write/header.ts";
import { HostBusy, type Relay } from "../relay/relay.ts";
import type { ReportWish } from "../relay/relayed-mail.ts";
import type { DomainOfMessage } from "../store/account/domains.ts";
import { kinds } from "../store/outbox/kinds.ts";
import type { RelayedRecipient } from "../store/send/relaying.ts";
import { type DoorDeps, deliverHere } from "./deliver-here.ts";
import type { Job } from "./outbox/job.ts";
import { type Leaving, lanesWithout } from "./outbox/lanes.ts";
import { relayLanes } from "./outbox/relay-lanes.ts";
import {
  type ClaimedMessage,
  claimWithMessages,
  keyOf,
  openRecipients,
  type RelayItem,
  type SigningKey,
  waitingOf,
  withFacts,
} from "./relay-claim.ts";
import {
  type ConcerningSettlement,
  heldBack,
  letterAgain,
  logAttempt,
  nothingToDo,
  type SettlementDeps,
  settle,
  settlementOf,
} from "./relay-settlement.ts";
import { attemptLetter } from "./send-letter.ts";

export interface RelayEmailDeps extends SettlementDeps, ReadyMailDeps, DoorDeps {
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
  /** Header fields for the relay only. */
  relayHeaders?: (messageId: string) => readonly CustomHeader[];
}

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
    const settlement = settlementOf(deps, item, message, outcomes, ending.aborted);
    if (outcomes.size > 0) logAttempt(deps, item, outcomes, settlement);
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
      return settlementOf(
        deps,
        item,
        message,
        new Map(waitingOf(item).map((recipient) => [recipient, outcome])),
        false,
      );
    },
    settle: (settlements) => settle(deps, settlements),
    gatherMs: 2,
  };
}

/** The result of an attempt, and what it shows about the server of its lane. */
interface Offered {
  outcomes: Map<RelayedRecipient, RelayOutcome>;
  leaving: Leaving;
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
