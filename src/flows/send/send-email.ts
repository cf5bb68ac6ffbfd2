import { DatabaseUnavailable, type Db, isLockTimeout, transaction } from "../../database/db.ts";
import { Refusal } from "../../domain/errors.ts";
import { expiryOfKeys } from "../../domain/idempotency.ts";
import type { Source } from "../../domain/receive/filed-mails.ts";
import { type Judgement, judgeSends } from "../../domain/send/judge-sends.ts";
import type { MeasureMail } from "../../domain/send/mail-limit.ts";
import type { AskedSend, Send, SendRequest, SendResult } from "../../domain/send/send.ts";
import type { SendFact } from "../../domain/send/send-facts.ts";
import { withForwardedHtml, withHtmlQuote } from "../../mail/html/quote-html.ts";
import { within } from "../../primitives/within.ts";
import { shortDigest } from "../../standards/digest.ts";
import { meetsUsedKey, removeExpiredKeyUses } from "../../store/send/idempotency.ts";
import { insertSends, lockSenders } from "../../store/send/sending.ts";
import type { Deps } from "../deps.ts";
import { groupCommit } from "../group-commit.ts";
import { askedSend } from "./asked-send.ts";
import { factsOfSends } from "./facts-of-sends.ts";

/** What was read of the inbox is not so any more, or somebody has it locked. Nothing was written. */
type Outrun = { kind: "outrun" };

/** A send that waits for its inbox, and until when it may. */
interface PatientSend {
  send: AskedSend;
  endMs: number;
}

/** A duplicate waits so long for what comes of the first, and anybody for an inbox that is locked. */
const longestWaitMs = 5_000;
/** Time for one look behind the lock, also for who has waited long before. */
const leastWaitMs = 250;

export interface SendingDeps extends Deps {
  /** Undefined: a mail may be of any length. */
  mailLimit?: MeasureMail;
}

/** Makes HTML of Markdown; undefined where that took too long. `sender` is who shares his turn with others. */
export type HtmlOfMarkdown = (markdown: string, sender: string) => Promise<string | undefined>;

/**
 * Resolves when the message is on disk with its key and its outbox row, or is refused. Sends that come at the same
 * time are judged together by what one statement read, and written by another that writes nothing of an inbox that has changed
 * meanwhile: exactly one email for each key, and limits to the unit, without a lock that somebody could die with.
 * Who was outrun by another process goes again, behind a lock. Nobody is answered before it is known what comes of his send:
 * who can't have the lock in time has written nothing, and nothing of his is tried any more.
 */
export function emailSender(
  deps: SendingDeps,
  htmlOfMarkdown: HtmlOfMarkdown,
): (request: SendRequest) => Promise<SendResult> {
  const first = groupCommit<AskedSend, SendResult | Outrun>({
    ...usualBatches,
    sizeOf,
    commit: (sends) => nudging(deps, acceptSends(deps, deps.db.api, sends)),
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
    let result = await first(patient.send).catch(outrunByAnother);
    while (result.kind === "outrun") {
      result = await again(patient.send.request.inboxId)(patient).catch(outrunByAnother);
      if (result.kind === "outrun" && performance.now() >= patient.endMs) throw undecided();
    }
    return result;
  }
}

const usualBatches = {
  // A statement costs as much as several of its sends: two halves of what waits do more than a few and the rest.
  leastBeside: 16,
  isHopeless: (error: unknown) => error instanceof DatabaseUnavailable,
};

function sizeOf({ request }: AskedSend): number {
  const { body = "", bodyHtml = "", files } = request;
  return body.length + bodyHtml.length + sizeOfSource(files?.source);
}

function sizeOfSource(source: Source | undefined): number {
  return source?.chunks.reduce((sum, { bytes }) => sum + bytes.length, 0) ?? 0;
}

/** Once what was accepted is on disk. */
async function nudging(deps: Deps, accepting: Promise<(SendResult | Outrun)[]>): Promise<(SendResult | Outrun)[]> {
  const results = await accepting;
  const kinds = new Set(results.flatMap((result) => (isAccepted(result) ? kindOf(result) : [])));
  for (const kind of kinds) deps.nudge(kind);
  return results;

  function isAccepted(result: SendResult | Outrun): result is SendResult & { kind: "accepted" } {
    return result.kind === "accepted";
  }

  function kindOf({ destinations }: SendResult & { kind: "accepted" }): "relay" | "destination" {
    return destinations === undefined ? "relay" : "destination";
  }
}

/**
 * Behind the lock on the inbox nothing changes: whoever has waited for it is not outrun again. All wait as long as the most
 * impatient of them, so that nobody is answered late; the others go again.
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
      return acceptSends(deps, tx, sends);
    });
  } catch (error) {
    if (!isLockTimeout(error)) throw error;
    // Of all that a send writes only its key can be in the hands of somebody who has not locked the inbox.
    if (isLocked) throw inProgress();
    return patients.map(() => ({ kind: "outrun" }));
  }
}

async function acceptSends(deps: SendingDeps, db: Db, asked: readonly AskedSend[]): Promise<(SendResult | Outrun)[]> {
  const at = deps.now();
  const sends = asked.map((send) => withIds(deps, send, at));
  const facts = await factsOfSends(db, deps, sends, at);
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
  });
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
  return insertSends(db, judgement);
}

function withIds(deps: Deps, asked: AskedSend, at: Date): Send {
  const messageId = deps.newId("msg", at);
  const rfcMessageId = `${messageId}@${deps.mailDomain}`;
  return {
    ...asked,
    messageId,
    newThreadId: deps.newId("thr", at),
    attachmentIds: asked.request.files?.attachments.map(() => deps.newId("att", at)) ?? [],
    rfcMessageId,
    messageIdHash: shortDigest(rfcMessageId),
  };
}

/** A queue for each inbox that somebody waits for. */
function perInbox<Result>(open: (inboxId: string) => (patient: PatientSend) => Promise<Result>) {
  const queues = new Map<string, { queue: (patient: PatientSend) => Promise<Result>; users: number }>();
  return (inboxId: string) => async (patient: PatientSend) => {
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

/**
 * A twin in another process was written between our look at its key and our own writing, or is being written and not
 * done in time. Who was only in one batch with it has no part in that, so each goes again for itself.
 */
function outrunByAnother(error: unknown): Outrun {
  if (meetsUsedKey(error) || isLockTimeout(error)) return { kind: "outrun" };
  throw error;
}

/** For duplicates alone: whose first request still runs, here or in another process. */
function inProgress(): Refusal {
  const why = "another request is still at work on it";
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

/** Whatever comes of the work. */
function endsBefore(endMs: number, work: Promise<unknown>): Promise<boolean> {
  const ended = work.then(
    () => true,
    () => true,
  );
  return within(endMs - performance.now(), ended, () => false);
}
