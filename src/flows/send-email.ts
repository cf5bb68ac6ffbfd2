import { recipientOf } from "../domain/address.ts";
import { isHtml } from "../domain/body.ts";
import { shortDigest } from "../domain/digest.ts";
import { Refusal } from "../domain/errors.ts";
import { expiryOfKeys, fingerprintOf } from "../domain/idempotency.ts";
import { type Plan, type SendUsage, utcDay, windowStart } from "../domain/limits.ts";
import { textOfHtml } from "../mail/html.ts";
import { DatabaseUnavailable, type Db, transaction } from "../store/db.ts";
import { meetsUsedKey, removeExpiredKeyUses } from "../store/idempotency.ts";
import {
  listOwners,
  listPlaces,
  listRepliedMessages,
  listSendFacts,
  listSentMessages,
  listThreadMessageIds,
  listThreadStates,
  type SendFact,
  type SentMessage,
} from "../store/send-facts.ts";
import { insertSends, lockSenders } from "../store/sending.ts";
import type { Deps } from "./deps.ts";
import { groupCommit } from "./group-commit.ts";
import { type Judgement, judgeSends, type SendFacts } from "./judge-sends.ts";

export interface SendRequest {
  account: { id: string; plan: Plan };
  inboxId: string;
  idempotencyKey: string;
  /** Checked and in the form that goes on the wire. */
  to: string;
  subject: string | undefined;
  body: string;
  bodyHtml: string | undefined;
  threadId: string | undefined;
  includeQuote: boolean;
  replyTo: string | undefined;
  readUpToMessageId: string | undefined;
}

/** A send with all that takes time done, before it waits for anybody. */
export interface AskedSend {
  request: SendRequest;
  key: { accountId: string; operation: "send"; key: string; label: string };
  fingerprint: string;
  text: string;
  html: string | undefined;
}

/** The same with the ids that it will have if it is accepted: settled before the transaction. */
export interface Send extends AskedSend {
  messageId: string;
  newThreadId: string;
  rfcMessageId: string;
  messageIdHash: string;
}

export type SendResult =
  | { kind: "accepted"; message: SentMessage; usage: SendUsage; newerInbound: boolean }
  | { kind: "replayed"; message: SentMessage; usage: SendUsage }
  | { kind: "refused"; refusal: Refusal; usage: SendUsage | undefined };

/** What was read of the inbox is not so any more, or somebody has it locked. */
type Outrun = { kind: "outrun" };

/** A duplicate waits so long for what comes of the first (contract §5.2), and anybody for an inbox that is locked. */
const longestWaitMs = 5_000;

/**
 * Resolves when the message is on disk with its key and its outbox row, or is refused. Sends that come at the same
 * time are judged together by what one statement read, and written by another that writes nothing of an inbox that has changed
 * meanwhile: exactly one email for each key, and limits to the unit, without a lock that somebody could die with.
 * Who was outrun by another process goes again, behind a lock.
 */
export function emailSender(deps: Deps): (request: SendRequest) => Promise<SendResult> {
  const first = groupCommit<AskedSend, SendResult | Outrun>({
    ...usualBatches,
    commit: (sends) => nudging(deps, acceptSends(deps, deps.db.api, sends)),
    lanesOf: ({ request }) => [request.inboxId],
  });
  const again = perInbox((inboxId) =>
    groupCommit<AskedSend, SendResult | Outrun>({
      ...usualBatches,
      commit: (sends) => nudging(deps, acceptPatiently(deps, inboxId, sends)),
      inFlight: 1,
    }),
  );
  const running = new Map<string, Promise<unknown>>();

  return async (request) => {
    const send = askedSend(request);
    const { label } = send.key;
    const askedMs = performance.now();
    const twin = running.get(label);
    if (twin !== undefined && !(await endsWithin(longestWaitMs, twin))) return inProgress();
    const accepting = accept(send, askedMs + longestWaitMs - performance.now());
    if (!running.has(label)) running.set(label, accepting);
    return accepting.finally(() => running.get(label) === accepting && running.delete(label));
  };

  /** `patienceMs` is how long it may wait behind others: what has waited for a twin already has less left. */
  async function accept(send: AskedSend, patienceMs: number): Promise<SendResult> {
    let result = await first(send).catch(outrunByAnother);
    const endMs = performance.now() + patienceMs;
    while (result.kind === "outrun") {
      const patient = again(send.request.inboxId)(send).catch(inProgressIfLocked).catch(outrunByAnother);
      if (!(await endsWithin(endMs - performance.now(), patient))) return inProgress();
      result = await patient;
    }
    return result;
  }
}

const usualBatches = {
  // A statement costs as much as several of its sends: two halves of what waits do more than a few and the rest.
  leastBeside: 16,
  sizeOf: ({ request }: AskedSend) => request.body.length + (request.bodyHtml?.length ?? 0),
  isHopeless: (error: unknown) => error instanceof DatabaseUnavailable,
};

/** Once what was accepted is on disk. */
async function nudging<Result extends { kind: string }>(deps: Deps, accepting: Promise<Result[]>): Promise<Result[]> {
  const results = await accepting;
  if (results.some(({ kind }) => kind === "accepted")) deps.nudge("relay");
  return results;
}

/** Behind the lock on the inbox nothing changes: whoever has waited for it is not outrun again. */
function acceptPatiently(deps: Deps, inboxId: string, sends: readonly AskedSend[]) {
  return transaction(deps.db.api, async (tx) => {
    await lockSenders(tx, [inboxId], longestWaitMs);
    return acceptSends(deps, tx, sends);
  });
}

async function acceptSends(deps: Deps, db: Db, asked: readonly AskedSend[]): Promise<(SendResult | Outrun)[]> {
  const at = deps.now();
  const sends = asked.map((send) => withIds(deps, send, at));
  const facts = await factsOf(db, deps, sends, at);
  const judgement = judgeSends(sends, facts, { at, mailDomain: deps.mailDomain, limits: deps.limits });
  const written = await write(db, facts.facts, judgement, at);
  const outrun = judgement.senders.filter(({ id }) => !written.has(id)).map(({ id }) => id);
  const undecided = new Set(
    sends.filter(({ request }) => outrun.includes(request.inboxId)).map(({ key }) => key.label),
  );
  return sends.map((send) => {
    const result = judgement.results.get(send);
    // What was judged by a send that was not written is void with it.
    return result === undefined || undecided.has(send.key.label) ? { kind: "outrun" } : result;
  });
}

/** The ids of the inboxes whose sends are written. */
async function write(db: Db, facts: readonly SendFact[], judgement: Judgement, at: Date): Promise<Set<string>> {
  if (judgement.messages.length === 0) return new Set();
  const expiredBefore = expiryOfKeys(at);
  const expired = facts.flatMap(({ use }) => (use !== undefined && use.createdAt <= expiredBefore ? [use] : []));
  await removeExpiredKeyUses(db, expired, expiredBefore);
  return insertSends(db, judgement, utcDay(at));
}

/**
 * The first statement reads what decides whether a send is accepted, and of which version its inbox is; what follows
 * is read later, so that the version vouches for it too. Most sends need no more than the first.
 */
async function factsOf(db: Db, deps: Deps, sends: readonly Send[], at: Date): Promise<SendFacts> {
  const facts = await listSendFacts(db, sends.map(askedFact), { windowAfter: windowStart(at), day: utcDay(at) });
  const requests = sends.map(({ request }) => request);
  const replies = requests.filter(({ threadId }) => threadId !== undefined);
  const threadIds = unique(replies.flatMap(({ threadId }) => threadId ?? []));
  const quoting = sends.filter(({ request }) => request.threadId !== undefined && request.includeQuote);
  const [replays, threads, replied, threadMessageIds, places, owners] = await Promise.all([
    listSentMessages(
      db,
      facts.flatMap(({ use }) => use?.subjectId ?? []),
    ),
    listThreadStates(db, threadIds),
    listRepliedMessages(db, threadIds, {
      text: quoting.length > 0,
      html: quoting.some(({ html }) => html !== undefined),
    }),
    listThreadMessageIds(db, threadIds),
    listPlaces(db, unique(replies.flatMap(({ readUpToMessageId }) => readUpToMessageId ?? []))),
    listOwners(db, ownNamesIn(requests, deps.mailDomain)),
  ]);
  return { facts, replays, threads, replied, threadMessageIds, places, owners };

  function askedFact({ request: { account, inboxId, to }, key }: Send) {
    const { coldRecipientDaily, sendsPerMinute } = deps.limits[account.plan];
    const recipient = coldRecipientDaily > 0 ? to.toLowerCase() : null;
    return { accountId: account.id, key: key.key, inboxId, recipient, windowUpTo: sendsPerMinute };
  }
}

function askedSend(request: SendRequest): AskedSend {
  const { account, inboxId, idempotencyKey, ...asked } = request;
  const html = request.bodyHtml ?? (isHtml(request.body) ? request.body : undefined);
  const key = { accountId: account.id, operation: "send" as const, key: idempotencyKey };
  return {
    request,
    // No part of it holds a space.
    key: { ...key, label: `${key.accountId} ${key.key}` },
    fingerprint: fingerprintOf(inboxId, asked),
    text: html !== undefined && request.bodyHtml === undefined ? textOfHtml(html) : request.body,
    html,
  };
}

function withIds(deps: Deps, asked: AskedSend, at: Date): Send {
  const messageId = deps.newId("msg", at);
  const rfcMessageId = `${messageId}@${deps.mailDomain}`;
  return {
    ...asked,
    messageId,
    newThreadId: deps.newId("thr", at),
    rfcMessageId,
    messageIdHash: shortDigest(rfcMessageId),
  };
}

/** A queue for each inbox that somebody waits for. */
function perInbox<Queue>(open: (inboxId: string) => (send: AskedSend) => Promise<Queue>) {
  const queues = new Map<string, { queue: (send: AskedSend) => Promise<Queue>; users: number }>();
  return (inboxId: string) => async (send: AskedSend) => {
    const known = queues.get(inboxId) ?? { queue: open(inboxId), users: 0 };
    queues.set(inboxId, known);
    known.users += 1;
    try {
      return await known.queue(send);
    } finally {
      known.users -= 1;
      if (known.users === 0) queues.delete(inboxId);
    }
  };
}

/**
 * A twin in another process was written between our look at its key and our own writing, or is being written and not
 * done in time. Who was only in one batch with it has no part in that, so each goes again for itself.
 */
function outrunByAnother(error: unknown): Outrun {
  if (meetsUsedKey(error) || isLockTimeout(error)) return { kind: "outrun" };
  throw error;
}

function inProgressIfLocked(error: unknown): SendResult {
  if (isLockTimeout(error)) return inProgress();
  throw error;
}

function isLockTimeout(error: unknown): boolean {
  return error instanceof DatabaseUnavailable && error.sqlState === lockNotAvailable;
}

/** SQLSTATE of a lock time-out (PostgreSQL, appendix A). */
const lockNotAvailable = "55P03";

function inProgress(): SendResult {
  const why = "another request is still at work on it";
  const refusal = new Refusal("idempotency_in_progress", `Cannot send: ${why}`, { retryAfterSeconds: 1 });
  return { kind: "refused", refusal, usage: undefined };
}

/** Whatever comes of the work. */
async function endsWithin(ms: number, work: Promise<unknown>): Promise<boolean> {
  let timer: Timer | undefined;
  const late = new Promise<false>((resolve) => {
    timer = setTimeout(resolve, ms, false);
  });
  const ended = work.then(
    () => true,
    () => true,
  );
  return Promise.race([ended, late]).finally(() => clearTimeout(timer));
}

/** The names behind `replyTo` that a free plan may use only when they are its own. */
function ownNamesIn(requests: readonly SendRequest[], mailDomain: string): string[] {
  return requests.flatMap(({ replyTo, account }) => {
    if (replyTo === undefined || account.plan !== "free") return [];
    const recipient = recipientOf(replyTo, mailDomain);
    return recipient.kind === "inbox" ? [recipient.username] : [];
  });
}

function unique<T>(values: readonly T[]): T[] {
  return [...new Set(values)];
}
