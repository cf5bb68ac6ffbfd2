import { recipientOf } from "../domain/address.ts";
import { isHtml } from "../domain/body.ts";
import { shortDigest } from "../domain/digest.ts";
import { Refusal } from "../domain/errors.ts";
import { expiryOfKeys, fingerprintOf } from "../domain/idempotency.ts";
import { type Plan, type SendUsage, utcDay, windowStart } from "../domain/limits.ts";
import { textOfHtml } from "../mail/html.ts";
import { DatabaseUnavailable, type Db, transaction } from "../store/db.ts";
import {
  type KeyName,
  type KeyUse,
  keyLabel,
  lockFreeKeys,
  lockKey,
  meetsUsedKey,
  removeExpiredKeyUses,
} from "../store/idempotency.ts";
import {
  insertSends,
  listOwners,
  listPlaces,
  listRecipientUses,
  listRepliedMessages,
  listSentMessages,
  listThreadMessageIds,
  listThreadStates,
  listWindowUses,
  lockSenders,
  type Recipient,
  type SentMessage,
} from "../store/sending.ts";
import type { Deps } from "./deps.ts";
import { groupCommit } from "./group-commit.ts";
import { judgeSends, type SendFacts } from "./judge-sends.ts";

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

/** Another transaction is at work on the same key: what comes of that one has to be seen first. */
type Busy = { kind: "busy" };

/** A duplicate waits so long for what comes of the first (contract §5.2). */
const longestWaitMs = 5_000;

/**
 * Resolves when the message is on disk with its key and its outbox row, or is refused. Sends that come at the same
 * time share one transaction: exactly one email for each key, whatever dies when.
 */
export function emailSender(deps: Deps): (request: SendRequest) => Promise<SendResult> {
  const commit = groupCommit<AskedSend, SendResult | Busy>({
    commit: (sends) => acceptSends(deps, sends),
    sizeOf: ({ request }) => request.body.length + (request.bodyHtml?.length ?? 0),
    isHopeless: (error) => error instanceof DatabaseUnavailable,
  });
  const untilFree = keyWaiter(deps);

  return async (request) => {
    const send = askedSend(request);
    const waitsUntilMs = performance.now() + longestWaitMs;
    for (;;) {
      const result = await commit(send).catch(busyIfKeyIsUsed);
      if (result.kind !== "busy") return result;
      const leftMs = Math.ceil(waitsUntilMs - performance.now());
      if (leftMs <= 0 || !(await untilFree(send.key.label, leftMs))) return inProgress();
    }
  };
}

async function acceptSends(deps: Deps, asked: readonly AskedSend[]): Promise<(SendResult | Busy)[]> {
  const at = deps.now();
  const expiredBefore = expiryOfKeys(at);
  const sends = asked.map((send) => withIds(deps, send, at));
  const { results, ...accepted } = await transaction(deps.db.api, async (tx) => {
    const keys = await lockFreeKeys(tx, uniqueKeys(sends));
    const free = new Set(keys.filter(({ isLocked }) => isLocked).map(({ label }) => label));
    const ours = sends.filter(({ key }) => free.has(key.label));
    const keyUses = keys.flatMap(({ use }) => use ?? []);
    const facts = { keyUses, ...(await factsOf(tx, deps, ours, keyUses, at)) };
    const judgement = judgeSends(ours, facts, { at, mailDomain: deps.mailDomain, limits: deps.limits });
    const expired = keyUses.filter(({ createdAt }) => createdAt <= expiredBefore);
    await removeExpiredKeyUses(tx, expired, expiredBefore);
    if (judgement.messages.length > 0) await insertSends(tx, judgement, utcDay(at));
    return judgement;
  });
  if (accepted.outboxItems.length > 0) deps.nudge("relay");
  return sends.map((send): SendResult | Busy => results.get(send) ?? { kind: "busy" });
}

/** All that the judgement needs: the lock goes first, so that the rest is read behind it. Most sends need little of it. */
async function factsOf(
  tx: Db,
  deps: Deps,
  sends: readonly Send[],
  keyUses: readonly KeyUse[],
  at: Date,
): Promise<Omit<SendFacts, "keyUses">> {
  const requests = sends.map(({ request }) => request);
  const replies = requests.filter(({ threadId }) => threadId !== undefined);
  const threadIds = unique(replies.flatMap(({ threadId }) => threadId ?? []));
  const quoting = sends.filter(({ request }) => request.threadId !== undefined && request.includeQuote);
  const senders = await lockSenders(tx, unique(requests.map(({ inboxId }) => inboxId)));
  const [windowUses, recipientUses, threads, replied, threadMessageIds, places, owners, replays] = await Promise.all([
    listWindowUses(tx, windowCountsOf(deps, requests), windowStart(at)),
    listRecipientUses(tx, limitedRecipientsOf(deps, requests), utcDay(at)),
    listThreadStates(tx, threadIds),
    listRepliedMessages(tx, threadIds, {
      text: quoting.length > 0,
      html: quoting.some(({ html }) => html !== undefined),
    }),
    listThreadMessageIds(tx, threadIds),
    listPlaces(tx, unique(replies.flatMap(({ readUpToMessageId }) => readUpToMessageId ?? []))),
    listOwners(tx, ownNamesIn(requests, deps.mailDomain)),
    listSentMessages(
      tx,
      keyUses.map(({ subjectId }) => subjectId),
    ),
  ]);
  return { replays, senders, windowUses, recipientUses, threads, replied, threadMessageIds, places, owners };
}

function askedSend(request: SendRequest): AskedSend {
  const { account, inboxId, idempotencyKey, ...asked } = request;
  const html = request.bodyHtml ?? (isHtml(request.body) ? request.body : undefined);
  const key = { accountId: account.id, operation: "send" as const, key: idempotencyKey };
  return {
    request,
    key: { ...key, label: keyLabel(key) },
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

/** Twins that wait for the same key wait together, on one connection. False when the time was not enough. */
function keyWaiter(deps: Deps): (label: string, timeoutMs: number) => Promise<boolean> {
  const waits = new Map<string, Promise<boolean>>();
  return (label, timeoutMs) => {
    const known = waits.get(label);
    if (known !== undefined) return known;
    const wait = transaction(deps.db.api, (tx) => lockKey(tx, label, timeoutMs))
      .then(() => true, falseIfTimedOut)
      .finally(() => waits.delete(label));
    waits.set(label, wait);
    return wait;
  };
}

/** A twin was committed between our look at its key and the lock on it. */
function busyIfKeyIsUsed(error: unknown): Busy {
  if (meetsUsedKey(error)) return { kind: "busy" };
  throw error;
}

function falseIfTimedOut(error: unknown): false {
  if (error instanceof DatabaseUnavailable && error.sqlState === lockNotAvailable) return false;
  throw error;
}

/** SQLSTATE of a lock time-out (PostgreSQL, appendix A). */
const lockNotAvailable = "55P03";

function inProgress(): SendResult {
  const why = "another request with this Idempotency-Key is still at work";
  const refusal = new Refusal("idempotency_in_progress", `Cannot send: ${why}`, { retryAfterSeconds: 1 });
  return { kind: "refused", refusal, usage: undefined };
}

/** What a limit can tell apart: where there is none nothing is counted. */
function windowCountsOf(deps: Deps, requests: readonly SendRequest[]) {
  const counts = new Map(
    requests.map(({ inboxId, account }) => [inboxId, deps.limits[account.plan].sendsPerMinute] as const),
  );
  return Array.from(counts, ([inboxId, upTo]) => ({ inboxId, upTo })).filter(({ upTo }) => upTo > 0);
}

function limitedRecipientsOf(deps: Deps, requests: readonly SendRequest[]): Recipient[] {
  const recipients = new Map<string, Recipient>();
  for (const { inboxId, to, account } of requests) {
    if (deps.limits[account.plan].coldRecipientDaily === 0) continue;
    const recipient = to.toLowerCase();
    recipients.set(`${inboxId} ${recipient}`, { inboxId, recipient });
  }
  return [...recipients.values()];
}

/** The names behind `replyTo` that a free plan may use only when they are its own. */
function ownNamesIn(requests: readonly SendRequest[], mailDomain: string): string[] {
  return requests.flatMap(({ replyTo, account }) => {
    if (replyTo === undefined || account.plan !== "free") return [];
    const recipient = recipientOf(replyTo, mailDomain);
    return recipient.kind === "inbox" ? [recipient.username] : [];
  });
}

function uniqueKeys(sends: readonly Send[]): KeyName[] {
  return [...new Map(sends.map(({ key }) => [key.label, key])).values()];
}

function unique<T>(values: readonly T[]): T[] {
  return [...new Set(values)];
}
