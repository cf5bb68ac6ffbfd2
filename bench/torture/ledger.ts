/**
 * The requests to the service and its promises, kept outside of it. The checks compare everything that the service shows with
 * this ledger.
 */
export interface Ledger {
  inboxes: Map<string, LedgerInbox>;
  /** Keyed by the token in the subject. */
  mails: Map<string, LedgerMail>;
  /** The tokens of mails with a forged sender. */
  forged: Set<string>;
  sends: Map<string, LedgerSend>;
  /** The sends again, keyed by the tokens of their foreign recipients. */
  copies: Map<string, LedgerSend>;
  /** Keyed by the token in the subject. */
  drafts: Map<string, LedgerDraft>;
  /** The relay's accepted and refused mails, keyed by the token in the recipient's address. */
  acceptances: Map<string, Acceptance[]>;
  refusals: Set<string>;
  /** Threads of answers that name one of our mails by its id on the wire, keyed by the token in the subject. */
  answers: Map<string, string>;
  /** The relay's reports about accepted mail, sent or not yet. */
  reports: LedgerReport[];
  /** When the relay was asked for a recipient, by the token in his address, after it had answered 250 to a mail for him. */
  offersAgain: { token: string; takenMs: number }[];
  endpoints: LedgerEndpoint[];
  listeners: LedgerListener[];
  /** Each account's state at the end, keyed by its name. */
  logs: Map<string, LoggedEvent[]>;
  waiters: LedgerWaiter[];
  /** The ids of inbound messages that an agent has handled. */
  read: Set<string>;
  disturbances: Disturbance[];
  closures: LedgerClosure[];
  /** Inboxes whose mail is removed, or that are erased themselves. */
  passing: PassingInbox[];
  /** Inboxes whose client deletes messages and threads. */
  deleting: DeletingInbox[];
  domains: LedgerDomain[];
  judged: JudgedInbox[];
  counts: Map<string, number>;
  count(what: string, by?: number): void;
  violations: Map<string, string[]>;
  violation(invariant: string, what: string): void;
}

export interface LedgerAccount {
  id: string;
  name: string;
  apiKey: string;
  /** The limit of each inbox; undefined if there is none. */
  sendsPerMinute: number | undefined;
  /** The operator suspends it now and then. */
  isSuspendable: boolean;
}

/** A suspension of an account by the operator. Times that are not known yet are infinite. */
export interface LedgerClosure {
  account: LedgerAccount;
  scope: "sending" | "all";
  /** The time of its request, from which it may be in force. */
  askedMs: number;
  /** The time from which it is in force in every process. */
  inForceMs: number;
  /** The time of the request for its end, from which it may be over. */
  liftAskedMs: number;
  /** The time from which it is over in every process. */
  overMs: number;
}

export interface LedgerInbox {
  id: string;
  address: string;
  account: LedgerAccount;
}

/** An inbox with a retention, or one that is deleted. */
export interface PassingInbox extends LedgerInbox {
  mails: LedgerMail[];
  sends: LedgerSend[];
  /** When its deletion was asked for; undefined if it has a retention instead. */
  deletedMs: number | undefined;
}

/** An inbox whose client deletes messages and threads, with its mails by their tokens. */
export interface DeletingInbox extends LedgerInbox {
  mails: Map<string, DeletableMail>;
}

export interface DeletableMail {
  token: string;
  raw: Uint8Array;
  mail: LedgerMail;
  /** `asked`: its deletion was asked for, and is not answered. `leaving`: its thread is deleted, and its message leaves in a step. */
  state: "coming" | "there" | "asked" | "leaving" | "gone";
}

/**
 * An inbox whose account blocks a sender now and then, by a rule or by the policy of the inbox, while mail of this sender comes in. Or its
 * neighbour, which is never blocked.
 */
export interface JudgedInbox extends LedgerInbox {
  mails: JudgedMail[];
  blocks: Block[];
}

export interface JudgedMail {
  mail: LedgerMail;
  fromMs: number;
  /** The time of the answer that it is on disk, or refused. */
  untilMs: number;
  /** The ids with which each release was answered. */
  releasedAs: Set<string>;
  /** Whether its deletion from the quarantine was asked for. Then it may be gone, and a repetition that was under way may come back. */
  mayBeDeleted: boolean;
  /** The quarantined mails whose deletion was answered. */
  deleted: Set<string>;
}

/** The time of a rule or a policy. Times that are not known yet are infinite. */
export interface Block {
  /** Whether the sender is told. Then the mail is quarantined only if another inbox takes it. */
  refuses: boolean;
  /** The time of its request, from which it may be in force. */
  askedMs: number;
  /** The time from which it is in force in every process. */
  inForceMs: number;
  /** The time of the request for its end, from which it may be over. */
  liftAskedMs: number;
  /** The time from which it is over in every process. */
  overMs: number;
}

/** An own domain that goes from one account to another, with its inbox in each of them. Times that are not known yet are infinite. */
export interface LedgerDomain {
  name: string;
  mails: LedgerMail[];
  before: LedgerInbox | undefined;
  after: LedgerInbox | undefined;
  /** From when on the first inbox takes mail in each process. */
  heldMs: number;
  /** From when on the domain may be with the other account. */
  leavingMs: number;
  /** From when on each process knows that the first account does not have the domain any more. */
  goneMs: number;
  /** When the inbox of the other account was asked for, or the proof of the first account was published again. */
  renewedMs: number;
  /** When the proof of the first account was published again. */
  backMs: number;
  /** From when on it is with the first account again in each process. */
  heldAgainMs: number;
  /** Mail from the first inbox. */
  sends: DomainSend[];
}

export interface DomainSend {
  send: LedgerSend;
  /** The time of its first request. */
  fromMs: number;
  /** The answer that decided about it; undefined if there was none. */
  answer: { askedMs: number; answeredMs: number; isAccepted: boolean } | undefined;
}

/** Whether a domain is not with its first account in all of this time. */
export function isGone({ goneMs, backMs }: LedgerDomain, fromMs: number, untilMs: number): boolean {
  return goneMs <= fromMs && untilMs < backMs;
}

export interface LedgerMail {
  token: string;
  messageId: string;
  digest: string;
  recipients: Map<string, RecipientState>;
  /** Why an inbox may refuse it: the inbox may be gone, or block the sender. */
  mayBeRefused: "gone" | "blocked" | undefined;
}

export interface RecipientState {
  /** The final dot got a 250. */
  acknowledged: boolean;
  /** The final dot got a 2xx, a 4xx or no answer: the mail may be stored. */
  open: boolean;
  /** Each final dot of SMTP, with the time when its answer came or was given up. */
  attempts: { fromMs: number; untilMs: number }[];
  /** Each RCPT that was answered 2xx or 5xx, and each final dot that was answered 5xx. */
  answers: { askedMs: number; answeredMs: number; isAccepted: boolean }[];
}

export interface LedgerSend {
  token: string;
  key: string;
  inbox: LedgerInbox;
  /** The inbox of this service that gets it, if any. */
  toOwn: LedgerInbox | undefined;
  /** The tokens of recipients that no other may see. */
  hidden: readonly string[];
  /** Its files as base64. */
  files: readonly string[];
  /** The answers with 200. */
  messageIds: Set<string>;
  /** The message that it was sent behind with `ifUnanswered`: none of ours may be between them. */
  unansweredBehind: string | undefined;
  /** A request had no conclusive answer. */
  open: boolean;
  /** The last status in an answer, if it is final. */
  isFinal: boolean;
}

/** A draft, with the decisions about it. */
export interface LedgerDraft {
  /** Among the sends once it must be there as a message. */
  send: LedgerSend;
  /** Empty until it is answered. */
  id: string;
  /** The numbers of the texts that it may have now, and of those with which it came to the relay. */
  texts: Set<number>;
  relayed: Set<number>;
  /** When it may be sent; infinite if nobody has sent it. */
  dueMs: number;
  /** The outcome that its client was told; undefined if there was no answer, or if it may have been sent before it was canceled. */
  end: "sent" | "canceled" | "rejected" | "expired" | "waiting" | "left" | "removed" | undefined;
}

export function newSend(token: string, inbox: LedgerInbox): LedgerSend {
  return {
    token,
    key: `key-${token}`,
    inbox,
    toOwn: undefined,
    hidden: [],
    files: [],
    messageIds: new Set(),
    unansweredBehind: undefined,
    open: false,
    isFinal: false,
  };
}

export interface Acceptance {
  messageId: string;
  digest: string;
  atMs: number;
  /** The 250 was written to an open connection. */
  answered: boolean;
}

/** A report of the relay about a mail, for its return path. */
export interface LedgerReport {
  /** The token of the recipient's copy. */
  token: string;
  address: string;
  returnPath: string;
  kind: "delayed" | "delivered" | "bounced";
  /** A reporter is sending it. */
  isTaken: boolean;
  /** It got a 250. */
  acknowledged: boolean;
  /** It may have been received, whatever the answer. */
  open: boolean;
}

/** A subscription. */
export interface LedgerSubscription {
  /** Undefined: all of them. */
  types: readonly string[] | undefined;
  inboxId: string | undefined;
}

export interface LoggedEvent {
  id: string;
  type: string;
  inboxId: string | null;
  occurredAt: string;
}

/** The required and the forbidden content of a mail. */
export function checkMail(ledger: Ledger, { token, hidden, files }: LedgerSend, raw: string): void {
  const text = new RegExp(`${token}v(\\d{1,4})z`).exec(raw)?.[1];
  if (text !== undefined) ledger.drafts.get(token)?.relayed.add(Number(text));
  for (const other of hidden)
    if (raw.includes(other)) ledger.violation("bcc", `the mail of ${token} shows ${other}, who is to be hidden`);
  if (files.length === 0) return;
  const unfolded = raw.replaceAll("\r\n", "");
  const lost = files.filter((file) => !unfolded.includes(file));
  if (lost.length > 0) ledger.violation("files", `the mail of ${token} lacks ${lost.length} of ${files.length} files`);
  ledger.count("files seen at the relay", files.length);
}

/** A webhook address and the events posted to it. */
export interface LedgerEndpoint {
  id: string;
  name: string;
  account: LedgerAccount;
  secret: string;
  isDefault: boolean;
  subscription: LedgerSubscription;
  /** It answers no event with 2xx until all faults are over. */
  isDead: boolean;
  /** Keyed by event id. */
  deliveries: Map<string, LedgerDelivery>;
  /** Redelivered events: the number of earlier attempts, keyed by event id. */
  recovered: Map<string, number>;
}

/** A stream client over all of its connections. */
export interface LedgerListener {
  name: string;
  account: LedgerAccount;
  subscription: LedgerSubscription;
  /** Event ids in order of arrival. */
  seen: string[];
}

/** A client that waits for one mail after the other. */
export interface LedgerWaiter {
  inbox: LedgerInbox;
  /** Message ids in order of arrival. */
  seen: string[];
}

export interface LedgerDelivery {
  inboxId: string | null;
  /** For each attempt: how often it arrived, and whether one got a 2xx. */
  attempts: Map<number, { arrivals: number; delivered: boolean; atMs: number }>;
  delivered: boolean;
}

/** A time of faults: a process ended or was stopped, or the database was away. */
export interface Disturbance {
  kind: "ended" | "stopped" | "database";
  fromMs: number;
  untilMs: number;
}

const samplesKept = 1000;

export function newLedger(): Ledger {
  const counts = new Map<string, number>();
  const violations = new Map<string, string[]>();
  const count = (what: string, by = 1) => void counts.set(what, (counts.get(what) ?? 0) + by);
  return {
    inboxes: new Map(),
    mails: new Map(),
    forged: new Set(),
    sends: new Map(),
    copies: new Map(),
    drafts: new Map(),
    acceptances: new Map(),
    refusals: new Set(),
    answers: new Map(),
    reports: [],
    offersAgain: [],
    endpoints: [],
    listeners: [],
    logs: new Map(),
    waiters: [],
    read: new Set(),
    disturbances: [],
    closures: [],
    passing: [],
    deleting: [],
    domains: [],
    judged: [],
    counts,
    count,
    violations,
    violation(invariant, what) {
      const samples = violations.get(invariant) ?? [];
      if (samples.length < samplesKept) samples.push(what);
      violations.set(invariant, samples);
      count(`violation ${invariant}`);
    },
  };
}

/**
 * Whether something at this instant may have been done without being written down: a process was killed or stopped then or soon after, or
 * the database was away until one was. Or, given `leaseMs`, the database was away for longer than that: no process could renew its claims or
 * record their results, and another one takes them up. An event may come again then, since it is promised at least once. A mail may not:
 * its lease is longer than any outage here, and the relay has it once for each answer that it gave.
 */
export function isExcused(
  disturbances: readonly Disturbance[],
  atMs: number,
  leaseMs = Number.POSITIVE_INFINITY,
): boolean {
  return disturbances.some(({ kind, fromMs, untilMs }) => {
    if (kind === "database" && untilMs - fromMs <= leaseMs) return false;
    const outages = disturbances.filter(
      (other) => other.kind === "database" && other.fromMs <= untilMs && other.untilMs + graceMs >= fromMs,
    );
    const beganMs = Math.min(fromMs, ...outages.map((outage) => outage.fromMs));
    return atMs >= beganMs - graceMs && atMs <= untilMs + graceMs;
  });
}

/** The time between an action and its commit on a busy machine. */
const graceMs = 5000;

/**
 * When each process has heard of a change that was answered at this instant: a second later, but not before the notifications come again
 * that a stopped process or an outage of the database holds back.
 */
export function heardByMs(disturbances: readonly Disturbance[], answeredMs: number): number {
  const ends = disturbances.flatMap(({ kind, untilMs }) =>
    (kind === "stopped" || kind === "database") && untilMs + graceMs >= answeredMs ? untilMs + graceMs : [],
  );
  return Math.max(answeredMs + 1_000, ...ends);
}

/** The suspension that is in force in all processes from one instant to the other; one that ends meanwhile may be over for the answer. */
export function closureAt(
  ledger: Ledger,
  account: LedgerAccount,
  fromMs: number,
  untilMs = fromMs,
): LedgerClosure | undefined {
  return ledger.closures.find(
    (each) => each.account === account && each.inForceMs <= fromMs && untilMs < each.liftAskedMs,
  );
}

/** Names the time of a request in a finding. */
export function between(fromMs: number, untilMs: number): string {
  return `from ${new Date(fromMs).toISOString()} to ${new Date(untilMs).toISOString()}`;
}

/** Whether a process may know of a suspension of this account, or may not know yet that it is over. */
export function mayBeClosed(ledger: Ledger, account: LedgerAccount, fromMs: number): boolean {
  return ledger.closures.some((each) => each.account === account && each.overMs >= fromMs);
}

export function isWanted(
  { types, inboxId }: LedgerSubscription,
  event: Pick<LoggedEvent, "type" | "inboxId">,
): boolean {
  return (types === undefined || types.includes(event.type)) && (inboxId === undefined || inboxId === event.inboxId);
}

export function digestOf(bytes: Uint8Array): string {
  return new Bun.CryptoHasher("sha256").update(bytes).digest("hex");
}
