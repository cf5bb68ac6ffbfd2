/**
 * What was asked of the service and what it promised, kept outside of it. Whatever the service later shows is held
 * against these pages.
 */
export interface Ledger {
  inboxes: Map<string, LedgerInbox>;
  /** By the token in the subject. */
  mails: Map<string, LedgerMail>;
  sends: Map<string, LedgerSend>;
  /** The sends again, by the tokens of all whom they go to outside. */
  copies: Map<string, LedgerSend>;
  /** What the relay took, and what it refused for good, by the token in the recipient's address. */
  acceptances: Map<string, Acceptance[]>;
  refusals: Set<string>;
  /** Threads of mails that answer one of ours by its name on the wire, by the token in the subject. */
  answers: Map<string, string>;
  /** What the relay will tell, or has told, of mail that it took. */
  reports: LedgerReport[];
  /** When the relay was asked for a recipient, by the token in his address, after it had answered 250 to a mail for him. */
  offersAgain: { token: string; takenMs: number }[];
  endpoints: LedgerEndpoint[];
  listeners: LedgerListener[];
  /** Of each account by its name, as the service shows it at the end. */
  logs: Map<string, LoggedEvent[]>;
  waiters: LedgerWaiter[];
  /** Ids of the inbound messages that an agent has worked on. */
  read: Set<string>;
  disturbances: Disturbance[];
  counts: Map<string, number>;
  count(what: string, by?: number): void;
  violations: Map<string, string[]>;
  violation(invariant: string, what: string): void;
}

export interface LedgerAccount {
  name: string;
  apiKey: string;
  /** Of each inbox; undefined where there is no limit. */
  sendsPerMinute: number | undefined;
}

export interface LedgerInbox {
  id: string;
  address: string;
  account: LedgerAccount;
}

export interface LedgerMail {
  token: string;
  messageId: string;
  digest: string;
  recipients: Map<string, RecipientState>;
}

export interface RecipientState {
  /** A final dot was answered with 250. */
  acknowledged: boolean;
  /** A final dot was not answered, or with 4xx: it may have been stored or not. */
  open: boolean;
}

export interface LedgerSend {
  token: string;
  key: string;
  inbox: LedgerInbox;
  /** The inbox of this service that it goes to, when it goes to one. */
  toOwn: LedgerInbox | undefined;
  /** Tokens of those whom no other recipient may see. */
  hidden: readonly string[];
  /** The bytes of its files, as base64. */
  files: readonly string[];
  /** What the answers with 200 said. */
  messageIds: Set<string>;
  /** A request went out without an answer that settles the matter. */
  open: boolean;
  /** The last status that an answer told, and it can't change any more. */
  isFinal: boolean;
}

export interface Acceptance {
  messageId: string;
  digest: string;
  atMs: number;
  /** The 250 was written to a connection that was open. */
  answered: boolean;
}

/** What the relay has to say of a mail, to the return path that it came with. */
export interface LedgerReport {
  /** Of the recipient. */
  token: string;
  address: string;
  returnPath: string;
  kind: "delayed" | "delivered" | "bounced";
  /** Somebody is telling it. */
  isTaken: boolean;
  /** It was answered with 250. */
  acknowledged: boolean;
  /** It may have come in, whatever was answered. */
  open: boolean;
}

/** What somebody has asked to be told of. */
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

/** What a mail must bear, and what it must not show. */
export function checkMail(ledger: Ledger, { token, hidden, files }: LedgerSend, raw: string): void {
  for (const other of hidden)
    if (raw.includes(other)) ledger.violation("bcc", `the mail of ${token} shows ${other}, who is to be hidden`);
  if (files.length === 0) return;
  const unfolded = raw.replaceAll("\r\n", "");
  const lost = files.filter((file) => !unfolded.includes(file));
  if (lost.length > 0) ledger.violation("files", `the mail of ${token} lacks ${lost.length} of ${files.length} files`);
  ledger.count("files seen at the relay", files.length);
}

/** An address that events are posted to, and what was posted there. */
export interface LedgerEndpoint {
  id: string;
  name: string;
  account: LedgerAccount;
  secret: string;
  isDefault: boolean;
  subscription: LedgerSubscription;
  /** It answers nothing with 2xx until all faults are over. */
  isDead: boolean;
  /** By event id. */
  deliveries: Map<string, LedgerDelivery>;
  /** What was given up and then asked for anew: by event id the number of attempts until then. */
  recovered: Map<string, number>;
}

/** A client of a stream, over all of its connections. */
export interface LedgerListener {
  name: string;
  account: LedgerAccount;
  subscription: LedgerSubscription;
  /** Ids of events as they came. */
  seen: string[];
}

/** A client that asks for the next mail, and then for the next. */
export interface LedgerWaiter {
  inbox: LedgerInbox;
  /** Ids of messages as they came. */
  seen: string[];
}

export interface LedgerDelivery {
  inboxId: string | null;
  /** By attempt: how often that attempt arrived, and whether one was answered with 2xx. */
  attempts: Map<number, { arrivals: number; delivered: boolean; atMs: number }>;
  delivered: boolean;
}

/** A time in which a promise between two parties may be repeated because one of them was not itself. */
export interface Disturbance {
  kind: "process" | "database";
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
    sends: new Map(),
    copies: new Map(),
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
 * Whether something at this instant may have been done without being written down: a process was killed or stopped then
 * or soon after, or the database was away until one was.
 */
export function isExcused(disturbances: readonly Disturbance[], atMs: number): boolean {
  return disturbances.some(({ kind, fromMs, untilMs }) => {
    if (kind !== "process") return false;
    const outages = disturbances.filter(
      (other) => other.kind === "database" && other.fromMs <= untilMs && other.untilMs + graceMs >= fromMs,
    );
    const beganMs = Math.min(fromMs, ...outages.map((outage) => outage.fromMs));
    return atMs >= beganMs - graceMs && atMs <= untilMs + graceMs;
  });
}

/** Between what was done and its being written down, on a machine that is busy with other things. */
const graceMs = 5000;

export function isWanted(
  { types, inboxId }: LedgerSubscription,
  event: Pick<LoggedEvent, "type" | "inboxId">,
): boolean {
  return (types === undefined || types.includes(event.type)) && (inboxId === undefined || inboxId === event.inboxId);
}

export function digestOf(bytes: Uint8Array): string {
  return new Bun.CryptoHasher("sha256").update(bytes).digest("hex");
}
