import { DatabaseUnavailable, type Db, isLockTimeout, transaction } from "../../database/db.ts";
import { notFound, Refusal } from "../../domain/errors.ts";
import { expiryOfKeys, fingerprintOf, type KeyUse } from "../../domain/idempotency.ts";
import type { Source } from "../../domain/receive/filed-mails.ts";
import { resolveBodies } from "../../domain/send/body-format.ts";
import { type DraftStep, draftOf } from "../../domain/send/draft.ts";
import { type Judgement, judgeSends } from "../../domain/send/judge-sends.ts";
import type { MeasureMail } from "../../domain/send/mail-limit.ts";
import type { AskedSend, Send, SendRequest, SendResult } from "../../domain/send/send.ts";
import type { Sender, SendFact } from "../../domain/send/send-facts.ts";
import { fingerprintBody } from "../../domain/send/send-fingerprint.ts";
import { textOfHtml } from "../../mail/html/html.ts";
import { withForwardedHtml, withHtmlQuote } from "../../mail/html/quote-html.ts";
import { type PassingMemory, passingMemory } from "../../primitives/memory.ts";
import { within } from "../../primitives/within.ts";
import { splitAddress } from "../../standards/address.ts";
import { shortDigest } from "../../standards/digest.ts";
import { releaseShares } from "../../store/mail/shares.ts";
import { removeFilesOfDrafts } from "../../store/send/drafts.ts";
import { meetsUsedKey, removeExpiredKeyUses } from "../../store/send/idempotency.ts";
import { insertSends, lockSenders } from "../../store/send/sending.ts";
import type { Deps } from "../deps.ts";
import { groupCommit } from "../group-commit.ts";
import { type FactDeps, factsOfSends } from "./facts-of-sends.ts";
import type { AddUnsubscribeFields } from "./unsubscribe-fields.ts";

/**
 * The result of a send that another one has outrun: its inbox or its idempotency key was changed or locked since they were read. Nothing
 * was written.
 */
type Outrun = { kind: "outrun" };
const outrun: Outrun = { kind: "outrun" };

/** A send that waits for its inbox, at most until `endMs`. */
interface PatientSend {
  send: AskedSend;
  endMs: number;
}

/** How long a send waits for a locked inbox, and a duplicate for the result of the first request with its key. */
const longestWaitMs = 5_000;
/** The least time to wait for the lock, even for a send that has already waited for almost `longestWaitMs`. */
const leastWaitMs = 250;
/** How long a batch locks its inboxes before it writes, after one of them was outrun. */
const contestedMs = 1_000;
const mostContested = 10_000;
/** The longest wait for the locks of a batch. It is many times the duration of a batch. */
const longestBatchWaitMs = 200;

export interface SendingDeps extends FactDeps {
  /** The most open drafts of an inbox. Undefined: the default. */
  openDraftsMax?: number;
  /** The hours for which a mail waits for a person. Undefined: the default. */
  approvalHours?: number;
  /** Measures mails against the size limit. Undefined: there is no limit. */
  mailLimit?: MeasureMail;
  /** Adds the header fields of `unsubscribe`. Undefined: no send can have them. */
  addUnsubscribeFields?: AddUnsubscribeFields;
}

/** Converts Markdown to HTML; undefined if that took too long. `sender` is the account: the conversions of several accounts take turns. */
export type HtmlOfMarkdown = (markdown: string, sender: string) => Promise<string | undefined>;

/**
 * Returns a function that resolves when the message is on disk with its key and its outbox rows, or is refused. It makes an optimistic
 * write with a version: concurrent sends are judged together, and are then written by one statement, which writes nothing for an inbox that
 * has changed since its facts were read. So each key makes exactly one email and limits are exact, without a lock that a dead process could
 * hold. A send that was outrun by another process tries again behind a lock. A send that gets no lock in time has written nothing, and is
 * not tried again.
 */
export function emailSender(
  deps: SendingDeps,
  htmlOfMarkdown: HtmlOfMarkdown,
): (request: SendRequest) => Promise<SendResult> {
  /** The inboxes to which another process wrote between a read and its write, in the last second. */
  const contested = passingMemory<string, true>(mostContested);
  const first = groupCommit<AskedSend, SendResult | Outrun>({
    ...usualBatches,
    sizeOf,
    commit: (sends) => nudging(deps, acceptBatch(deps, contested, sends)),
    lanesOf: ({ request }) => [request.inboxId],
  });
  const again = perInbox((inboxId) =>
    groupCommit<PatientSend, SendResult | Outrun>({
      ...usualBatches,
      sizeOf: ({ send }) => sizeOf(send),
      commit: (sends) => nudging(deps, acceptPatiently(deps, inboxId, sends)),
      inFlight: 1,
    }),
  );
  const running = new Map<string, Promise<unknown>>();

  return async (request) => {
    const isMarkdown = request.bodyFormat === "markdown" && request.body !== undefined;
    const markdownHtml = isMarkdown ? await htmlOfMarkdown(request.body ?? "", request.account.id) : undefined;
    const send = askedSend(request, markdownHtml);
    const { label } = send.key;
    const endMs = performance.now() + longestWaitMs;
    const twin = running.get(label);
    if (twin !== undefined && !(await endsBefore(endMs, twin))) return refused(inProgress());
    const accepting = accept({ send, endMs }).catch(refused);
    if (!running.has(label)) running.set(label, accepting);
    return accepting.finally(() => running.get(label) === accepting && running.delete(label));
  };

  async function accept(patient: PatientSend): Promise<SendResult> {
    // Files are replaced by several statements, so behind the lock.
    let result = replacesFiles(patient.send) ? outrun : await first(patient.send).catch(outrunByAnother);
    while (result.kind === "outrun") {
      result = await again(patient.send.request.inboxId, patient).catch(outrunByAnother);
      if (result.kind === "outrun" && performance.now() >= patient.endMs) throw undecided();
    }
    return result;
  }
}

/** A request with its fingerprint, and its bodies as text and HTML. `markdownHtml` is the HTML of its Markdown. */
function askedSend(request: SendRequest, markdownHtml: string | undefined): AskedSend {
  const { account, inboxId, idempotencyKey, body, bodyHtml, bodyFormat, step } = request;
  const key = { accountId: account.id, operation: operationOf(step), key: idempotencyKey };
  const draft = draftOf(step);
  return {
    request,
    // The label is unique, because only the last part may contain a space.
    key: { ...key, label: `${key.accountId} ${key.operation} ${key.key}` },
    // The sender of a draft has seen its version, but perhaps not its content.
    fingerprint:
      draft === undefined
        ? fingerprintOf(inboxId, fingerprintBody(request))
        : fingerprintOf(draft.id, { version: draft.version }),
    ...resolveBodies({ body, bodyHtml, bodyFormat }, { textOfHtml, markdownHtml }),
  };
}

function operationOf(step: DraftStep | undefined): KeyUse["operation"] {
  if (step === undefined || step.kind === "send") return "send";
  return step.kind === "dispatch" ? "dispatch" : `${step.kind}_draft`;
}

const usualBatches = {
  // A statement costs as much as several sends. So while a batch runs, the next one waits for this many sends: few large batches are
  // cheaper than many small ones.
  leastBeside: 16,
  mostItems: 128,
  isHopeless: (error: unknown) => error instanceof DatabaseUnavailable,
};

function sizeOf({ request }: AskedSend): number {
  const { body = "", bodyHtml = "", files } = request;
  return body.length + bodyHtml.length + sizeOfSource(files?.source);
}

function sizeOfSource(source: Source | undefined): number {
  return source?.chunks.reduce((sum, { bytes }) => sum + bytes.length, 0) ?? 0;
}

/** Wakes the workers once accepted sends are on disk. */
async function nudging(deps: Deps, accepting: Promise<(SendResult | Outrun)[]>): Promise<(SendResult | Outrun)[]> {
  const results = await accepting;
  if (results.some(({ kind }) => kind === "accepted")) deps.nudge("relay");
  if (results.some(({ kind }) => kind === "waiting")) {
    deps.nudge("dispatch");
    deps.nudge("webhook");
  }
  return results;
}

/**
 * Accepts a batch of sends, without a lock unless one of their inboxes is contested: two processes that send much from the same inboxes
 * would otherwise outrun each other at most batches, and accept their sends inbox by inbox.
 */
async function acceptBatch(
  deps: SendingDeps,
  contested: PassingMemory<string, true>,
  sends: readonly AskedSend[],
): Promise<(SendResult | Outrun)[]> {
  const ids = [...new Set(sends.map(({ request }) => request.inboxId))];
  const nowMs = performance.now();
  if (ids.some((id) => contested.get(id, nowMs) === true)) {
    try {
      return await transaction(deps.db.api, async (tx) => {
        await lockSenders(tx, ids, longestBatchWaitMs);
        return acceptSends(deps, tx, sends, { areLocked: true });
      });
    } catch (error) {
      if (!isLockTimeout(error)) throw error;
      return sends.map(() => outrun);
    }
  }
  const results = await acceptSends(deps, deps.db.sends, sends, { areLocked: false });
  for (const [index, { request }] of sends.entries()) {
    if (results[index]?.kind === "outrun") contested.set(request.inboxId, true, performance.now() + contestedMs);
  }
  return results;
}

/**
 * Accepts sends behind the lock on their inbox, which no other process can then change. Waits for the lock until the earliest deadline of
 * these sends, so that none is answered late. Sends with a later deadline then try again.
 */
async function acceptPatiently(
  deps: SendingDeps,
  inboxId: string,
  patients: readonly PatientSend[],
): Promise<(SendResult | Outrun)[]> {
  const leftMs = Math.min(...patients.map(({ endMs }) => endMs)) - performance.now();
  let isLocked = false;
  try {
    return await transaction(deps.db.api, async (tx) => {
      await lockSenders(tx, [inboxId], Math.max(leastWaitMs, Math.ceil(leftMs)));
      isLocked = true;
      const sends = patients.map(({ send }) => send);
      return acceptSends(deps, tx, sends, { areLocked: true });
    });
  } catch (error) {
    if (!isLockTimeout(error)) throw error;
    // We have the lock on the inbox, so another process can only have locked the key of a send.
    if (isLocked) throw inProgress();
    return patients.map(() => ({ kind: "outrun" }));
  }
}

async function acceptSends(
  deps: SendingDeps,
  db: Db,
  asked: readonly AskedSend[],
  { areLocked }: { areLocked: boolean },
): Promise<(SendResult | Outrun)[]> {
  const at = deps.now();
  const facts = await factsOfSends(db, deps, asked, { at, areLocked });
  const made = asked.map((send, index) => withIds(deps, send, facts.facts[index]?.sender, at));
  const sends = (await deps.addUnsubscribeFields?.(db, made)) ?? made;
  const { mailDomain, isDirect, limits, recipientsMax, isRenamed = false } = deps;
  const judgement = judgeSends(sends, facts, {
    at,
    mailDomain,
    isDirect,
    limits,
    recipientsMax,
    withHtmlQuote,
    withForwardedHtml,
    isRenamed,
    mailLimit: deps.mailLimit,
    openDraftsMax: deps.openDraftsMax,
    approvalHours: deps.approvalHours,
  });
  const written = await write(db, facts.facts, judgement, at);
  const outrun = judgement.senders.filter(({ id }) => !written.has(id)).map(({ id }) => id);
  const undecided = new Set(
    sends.filter(({ request }) => outrun.includes(request.inboxId)).map(({ key }) => key.label),
  );
  return sends.map((send) => {
    const result = judgement.results.get(send);
    // If a send was not written, the results of all sends with its key are void: they are judged again.
    return result === undefined || undecided.has(send.key.label) ? { kind: "outrun" } : result;
  });
}

/** Writes the judged sends. Returns the inboxes whose sends are written. */
async function write(db: Db, facts: readonly SendFact[], judgement: Judgement, at: Date): Promise<Set<string>> {
  if (judgement.senders.length === 0) return new Set();
  const expiredBefore = expiryOfKeys(at);
  const expired = facts.flatMap(({ use }) => (use !== undefined && use.createdAt <= expiredBefore ? [use] : []));
  await removeExpiredKeyUses(db, expired, expiredBefore);
  if (judgement.refiled.length === 0) return insertSends(db, judgement);
  const released = await removeFilesOfDrafts(db, judgement.refiled);
  const written = await insertSends(db, judgement);
  // The inboxes are locked, so only a file that is gone can be the reason. The refusal undoes the removal.
  if (judgement.senders.some(({ id }) => !written.has(id))) throw notFound("attachment");
  await releaseShares(db, released);
  return written;
}

function replacesFiles({ request: { step } }: AskedSend): boolean {
  return step?.kind === "change" && step.replacesFiles;
}

/** A send with the ids of its rows. The Message-ID ends in the domain of the inbox, so that no other domain shows in its mail. */
function withIds(deps: Deps, asked: AskedSend, sender: Sender | undefined, at: Date): Send {
  const attachmentIds = asked.request.files?.attachments.map(() => deps.newId("att", at)) ?? [];
  const eventId = deps.newId("evt", at);
  const draft = draftOf(asked.request.step);
  if (draft !== undefined) {
    const { id: messageId, threadId: newThreadId, rfcMessageId } = draft;
    const messageIdHash = shortDigest(rfcMessageId);
    return { ...asked, messageId, newThreadId, attachmentIds, rfcMessageId, messageIdHash, eventId };
  }
  const messageId = deps.newId("msg", at);
  const { domain } = splitAddress(sender?.username ?? "") ?? { domain: deps.mailDomain };
  const rfcMessageId = `${messageId}@${domain}`;
  return {
    ...asked,
    messageId,
    newThreadId: deps.newId("thr", at),
    attachmentIds,
    rfcMessageId,
    messageIdHash: shortDigest(rfcMessageId),
    eventId,
  };
}

/** Makes a queue for each inbox that sends wait for. A queue is forgotten when no send waits in it. */
function perInbox<Result>(open: (inboxId: string) => (patient: PatientSend) => Promise<Result>) {
  const queues = new Map<string, { queue: (patient: PatientSend) => Promise<Result>; users: number }>();
  return async (inboxId: string, patient: PatientSend) => {
    const known = queues.get(inboxId) ?? { queue: open(inboxId), users: 0 };
    queues.set(inboxId, known);
    known.users += 1;
    try {
      return await known.queue(patient);
    } finally {
      known.users -= 1;
      if (known.users === 0) queues.delete(inboxId);
    }
  };
}

/** Counts a send as outrun if another process has written its key since our read, or is still writing it. The send is then tried again. */
function outrunByAnother(error: unknown): Outrun {
  if (meetsUsedKey(error) || isLockTimeout(error)) return { kind: "outrun" };
  throw error;
}

/** Refuses a duplicate while its first request is still running, here or in another process. */
function inProgress(): Refusal {
  const why = "another request with this key is still running";
  return new Refusal("idempotency_in_progress", `Cannot send: ${why}`, { retryAfterSeconds: 1 });
}

function undecided(): Refusal {
  const why = "the inbox was busy for too long, and nothing was sent";
  return new Refusal("service_unavailable", `Cannot send: ${why}`, { retryAfterSeconds: 1 });
}

function refused(error: unknown): SendResult {
  if (error instanceof Refusal) return { kind: "refused", refusal: error, usage: undefined };
  throw error;
}

/** Whether the work ends before `endMs`, with any result. */
function endsBefore(endMs: number, work: Promise<unknown>): Promise<boolean> {
  const ended = work.then(
    () => true,
    () => true,
  );
  return within(endMs - performance.now(), ended, () => false);
}
