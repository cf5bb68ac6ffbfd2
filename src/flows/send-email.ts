import { recipientOf } from "../domain/address.ts";
import { isHtml } from "../domain/body.ts";
import { shortDigest } from "../domain/digest.ts";
import { Refusal } from "../domain/errors.ts";
import { fingerprintOf, idempotencyKeptMs } from "../domain/idempotency.ts";
import { type Plan, type SendUsage, utcDay, windowStart } from "../domain/limits.ts";
import { textOfHtml } from "../mail/html.ts";
import { DatabaseUnavailable, type Db, transaction } from "../store/db.ts";
import { insertKeyUses, type KeyUse, listKeyUses, removeKeyUses } from "../store/idempotency.ts";
import { lockInboxes, markInboxTotals } from "../store/inboxes.ts";
import { insertMessages } from "../store/messages.ts";
import { insertOutboxItems } from "../store/outbox.ts";
import {
  addColdSends,
  listOwners,
  listPlaces,
  listRecipientUses,
  listRepliedMessages,
  listSentMessages,
  listThreadMessageIds,
  listThreadStates,
  listWindowUses,
  type SentMessage,
} from "../store/sending.ts";
import { insertThreads, markThreads } from "../store/threads.ts";
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

/** A send with all that is uncertain settled before the transaction. */
export interface PreparedSend {
  request: SendRequest;
  messageId: string;
  newThreadId: string;
  rfcMessageId: string;
  messageIdHash: string;
  use: KeyUse;
  text: string;
  html: string | undefined;
  at: Date;
}

export type SendResult =
  | { kind: "accepted"; message: SentMessage; usage: SendUsage; newerInbound: boolean }
  | { kind: "replayed"; message: SentMessage; usage: SendUsage }
  | { kind: "refused"; refusal: Refusal; usage: SendUsage | undefined }
  /** Another request of the same batch had the same key: what came of that one has to be seen first. */
  | { kind: "again" };

/**
 * Resolves when the message is on disk with its key and its outbox row, or is refused. Sends that come at the same
 * time share one transaction: exactly one email for each key, whatever dies when.
 */
export function emailSender(deps: Deps): (request: SendRequest) => Promise<Exclude<SendResult, { kind: "again" }>> {
  const commit = groupCommit<PreparedSend, SendResult>({
    commit: (sends) => acceptSends(deps, sends),
    sizeOf: ({ request }) => request.body.length + (request.bodyHtml?.length ?? 0),
    isHopeless: (error) => error instanceof DatabaseUnavailable,
  });
  return async (request) => {
    const send = preparedSend(deps, request);
    for (;;) {
      const result = await commit(send).catch(inProgress);
      if (result.kind !== "again") return result;
    }
  };
}

async function acceptSends(deps: Deps, sends: readonly PreparedSend[]): Promise<SendResult[]> {
  const firsts = firstOfEachKey(sends);
  const judged = await transaction(deps.db.api, async (tx) => {
    const day = utcDay(firsts[0]?.at ?? deps.now());
    const judgement = judgeSends(firsts, await factsOf(tx, deps, firsts, day), deps);
    await Promise.all([
      removeKeyUses(tx, judgement.freedKeys),
      insertThreads(tx, judgement.newThreads),
      markThreads(tx, judgement.changedThreads),
      insertMessages(tx, judgement.messages),
      insertOutboxItems(tx, judgement.outboxItems),
      addColdSends(tx, judgement.coldSends, day),
      markInboxTotals(tx, judgement.inboxes),
    ]);
    return judgement;
  });
  if (judged.outboxItems.length > 0) deps.nudge("relay");
  const results = new Map(firsts.map((send, index) => [send, judged.results[index]]));
  return sends.map((send) => results.get(send) ?? { kind: "again" });
}

/** The key goes first, so that of two requests the later waits for what comes of the earlier; then the lock, then the facts. */
async function factsOf(tx: Db, deps: Deps, sends: readonly PreparedSend[], day: string): Promise<SendFacts> {
  const earliest = new Date(Math.min(...sends.map(({ at }) => at.getTime())));
  const taken = await insertKeyUses(
    tx,
    sends.map(({ use }) => use),
    new Date(earliest.getTime() - idempotencyKeptMs),
  );
  const others = sends.filter(({ messageId }) => !taken.has(messageId));
  const fresh = sends.filter(({ messageId }) => taken.has(messageId));
  const inboxIds = [...new Set(sends.map(({ request }) => request.inboxId))];
  const threadIds = [...new Set(fresh.flatMap(({ request }) => request.threadId ?? []))];
  const [inboxes, windowUses, recipientUses, threads, replied, threadMessageIds, places, owners, keyUses] =
    await Promise.all([
      lockInboxes(tx, inboxIds),
      listWindowUses(tx, inboxIds, windowStart(earliest)),
      listRecipientUses(tx, recipientsOf(fresh), day),
      listThreadStates(tx, threadIds),
      listRepliedMessages(tx, threadIds),
      listThreadMessageIds(tx, threadIds),
      listPlaces(
        tx,
        fresh.flatMap(({ request }) => request.readUpToMessageId ?? []),
      ),
      listOwners(tx, ownNamesIn(fresh, deps.mailDomain)),
      listKeyUses(
        tx,
        others.map(({ use }) => use),
      ),
    ]);
  const replays = await listSentMessages(
    tx,
    keyUses.map(({ subjectId }) => subjectId),
  );
  return {
    taken,
    keyUses,
    replays,
    inboxes,
    windowUses,
    recipientUses,
    threads,
    replied,
    threadMessageIds,
    places,
    owners,
  };
}

function preparedSend(deps: Deps, request: SendRequest): PreparedSend {
  const at = deps.now();
  const messageId = deps.newId("msg", at);
  const rfcMessageId = `${messageId}@${deps.mailDomain}`;
  const { account, inboxId, idempotencyKey, ...asked } = request;
  const html = request.bodyHtml ?? (isHtml(request.body) ? request.body : undefined);
  return {
    request,
    messageId,
    newThreadId: deps.newId("thr", at),
    rfcMessageId,
    messageIdHash: shortDigest(rfcMessageId),
    use: {
      accountId: account.id,
      operation: "send",
      key: idempotencyKey,
      fingerprint: fingerprintOf(inboxId, asked),
      subjectId: messageId,
      createdAt: at,
    },
    text: html !== undefined && request.bodyHtml === undefined ? textOfHtml(html) : request.body,
    html,
    at,
  };
}

/** Waiting for the lock has run out: most likely a twin of this request is still at work. */
function inProgress(error: unknown): SendResult {
  if (!(error instanceof DatabaseUnavailable) || error.sqlState !== lockNotAvailable) throw error;
  const why = "another request is still at work on it";
  return {
    kind: "refused",
    refusal: new Refusal("idempotency_in_progress", `Cannot send: ${why}`, { retryAfterSeconds: 1 }),
    usage: undefined,
  };
}

/** SQLSTATE of a lock time-out (PostgreSQL, appendix A). */
const lockNotAvailable = "55P03";

function firstOfEachKey(sends: readonly PreparedSend[]): PreparedSend[] {
  const byKey = new Map<string, PreparedSend>();
  for (const send of sends) {
    const key = `${send.use.accountId} ${send.use.key}`;
    if (!byKey.has(key)) byKey.set(key, send);
  }
  return [...byKey.values()];
}

function recipientsOf(sends: readonly PreparedSend[]) {
  const recipients = sends.map(({ request }) => ({ inboxId: request.inboxId, recipient: request.to.toLowerCase() }));
  return [...new Map(recipients.map((each) => [`${each.inboxId} ${each.recipient}`, each])).values()];
}

/** The names behind `replyTo` that a free plan may use only when they are its own. */
function ownNamesIn(sends: readonly PreparedSend[], mailDomain: string): string[] {
  return sends.flatMap(({ request }) => {
    if (request.replyTo === undefined || request.account.plan !== "free") return [];
    const recipient = recipientOf(request.replyTo, mailDomain);
    return recipient.kind === "inbox" ? [recipient.username] : [];
  });
}
