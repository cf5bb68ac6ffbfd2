import type { Db } from "../../database/db.ts";
import { isWholeAccount } from "../../domain/access/access.ts";
import { limitsOf, utcDay } from "../../domain/limits.ts";
import type { RuleBook } from "../../domain/rules.ts";
import { dependsOnKnown, sendRule } from "../../domain/send/allowed-recipients.ts";
import { rejectionMs } from "../../domain/send/approval.ts";
import { sourcesNamed } from "../../domain/send/attachments.ts";
import { draftOf } from "../../domain/send/draft.ts";
import { addresseesOfSend } from "../../domain/send/recipients/recipients-of-send.ts";
import type { AskedSend, SendRequest } from "../../domain/send/send.ts";
import {
  type AnsweredById,
  type AskedReply,
  askedReply,
  isAddressedByReply,
  nameOfReply,
  ownAddressesOf,
  type Sender,
  type SendFact,
  type SendFacts,
} from "../../domain/send/send-facts.ts";
import { suppressedForm } from "../../domain/send/suppressed.ts";
import { recipientOf, usernameAt } from "../../standards/address.ts";
import { listLabelsOfInboxes } from "../../store/mail/labels.ts";
import { listLostSources } from "../../store/send/attached.ts";
import { countOpenDrafts, listDraftFacts, listDrafts, listRejections, listWaitingIn } from "../../store/send/drafts.ts";
import {
  type AskedFact,
  type AskedRecipient,
  listAnsweredMessages,
  listAnswersBehind,
  listKnownRecipients,
  listNumberedMessages,
  listOwners,
  listRecipientsOfSends,
  listRepliedMessages,
  listSentMessages,
  listThreadMessageIds,
  listThreadsOfSends,
} from "../../store/send/send-facts.ts";
import { listSuppressed } from "../../store/send/suppressions.ts";
import type { AccountRules } from "../account-rules.ts";
import type { Deps } from "../deps.ts";
import { quotableMessages } from "./quotable-messages.ts";
import { sendFacts } from "./send-usage.ts";

/**
 * Reads the facts of a batch, in three steps. Most sends need only the first.
 *
 * 1. The facts that decide whether a send is accepted, and the revision of its inbox. A send is not written if the revision has changed
 *    since, so everything that is read after the revision is still true when the send is written. Messages that are answered by id may be
 *    read before it, because they never change.
 * 2. The threads and messages that the sends answer.
 * 3. The recipients, of sends that name several or take them from the answered message, or that may only go to known recipients.
 *
 * Files are only looked for while the inboxes are locked (`areLocked`): the statement that writes sends writes none whose file is gone, and
 * such a send then tries again behind the lock.
 */
export async function factsOfSends(
  db: Db,
  deps: FactDeps,
  sends: readonly AskedSend[],
  { at, areLocked }: { at: Date; areLocked: boolean },
): Promise<SendFacts> {
  const requests = sends.map(({ request }) => request);
  const books = await deps.rules.find(db, unique(requests.map(({ account }) => account.id)));
  const named = await listAnsweredMessages(db, unique(requests.flatMap((request) => request.replyToMessageId ?? [])));
  const [facts, lostSources] = await Promise.all([
    sendFacts(
      db,
      sends.map((send) => askedFact(deps, send)),
      at,
    ),
    listLostSources(db, areLocked ? sourcesNamed(requests) : []),
  ]);
  const answers = await answeredFacts(db, deps, sends, named);
  const keyUses = facts.flatMap(({ use }) => use?.subjectId ?? []);
  const rejectedSince = new Date(at.getTime() - rejectionMs);
  const isRecent = ({ rejectedAt }: Sender) => rejectedAt != null && rejectedAt > rejectedSince;
  const withRejections = facts.flatMap(({ sender }) => (sender !== undefined && isRecent(sender) ? [sender.id] : []));
  const [replays, replayedDrafts, rejections, ofDrafts, owners, labels, quotable] = await Promise.all([
    listSentMessages(db, keyUses),
    listDrafts(db, keyUses),
    listRejections(db, unique(withRejections), rejectedSince),
    factsOfDrafts(db, requests, (request, index) => mayBeKept(request, { sender: facts[index]?.sender, books, at })),
    listOwners(db, ownNamesIn(requests, deps.mailDomain)),
    labelsOfSenders(db, requests),
    quotableMessages(db, requests, answers.replied, (inboxId) => {
      const { sender } = facts.find((fact) => fact.sender?.id === inboxId) ?? {};
      return sender === undefined ? [] : ownAddressesOf(sender, deps.mailDomain);
    }),
  ]);
  const knownRecipients = await listKnownRecipients(db, askedRecipients(sends, { facts, answers, books }, deps));
  const known = {
    ...answers,
    ...ofDrafts,
    facts,
    lostSources,
    replays,
    replayedDrafts,
    rejections,
    owners,
    labels,
    quotable,
    books,
    knownRecipients,
  };
  const addressees = requests.map((request) => (hasOneNamed(request) ? [] : addresseesOf(request, answers, deps)));
  if (addressees.every((addresses) => addresses.length === 0)) return known;
  const [recipients, suppressed] = await Promise.all([
    listRecipientsOfSends(db, strangersAmong(requests, addressees, deps), utcDay(at)),
    listSuppressed(
      db,
      requests.map(({ account, inboxId }, index) => ({
        accountId: account.id,
        inboxId,
        addresses: addressees[index]?.map(suppressedForm) ?? [],
      })),
      at,
    ),
  ]);
  return {
    ...known,
    recipients,
    facts: facts.map((fact, index) => ({
      ...fact,
      suppressed: [...fact.suppressed, ...(suppressed[index] ?? [])],
    })),
  };
}

/** The labels of the inboxes whose sends have labels. */
async function labelsOfSenders(db: Db, requests: readonly SendRequest[]): Promise<NonNullable<SendFacts["labels"]>> {
  const inboxIds = requests.flatMap(({ inboxId, labels = [] }) => (labels.length > 0 ? [inboxId] : []));
  return inboxIds.length === 0 ? [] : listLabelsOfInboxes(db, unique(inboxIds));
}

/** Whether a request may make a draft: if it asks for one, or for a mail that is sent later or that a person must approve. */
function mayBeKept(
  { step, sendAt, account }: SendRequest,
  { sender, books, at }: { sender: Sender | undefined; books: ReadonlyMap<string, RuleBook>; at: Date },
): boolean {
  if (step !== undefined) return step.kind === "create";
  const isLater = sendAt !== undefined && sendAt > at;
  return isLater || (sender !== undefined && sendRule(account, sender, books.get(account.id)).asks !== "never");
}

/** The facts about drafts. A batch of plain sends needs none. */
async function factsOfDrafts(
  db: Db,
  requests: readonly SendRequest[],
  mayBeKept: (request: SendRequest, index: number) => boolean,
): Promise<Pick<SendFacts, "drafts" | "openDrafts" | "waiting">> {
  const making = requests.filter(mayBeKept);
  const [drafts, openDrafts, waiting] = await Promise.all([
    listDraftFacts(db, unique(requests.flatMap(({ step }) => draftOf(step)?.id ?? []))),
    countOpenDrafts(db, unique(making.map(({ inboxId }) => inboxId))),
    listWaitingIn(
      db,
      unique(requests.flatMap(({ ifUnanswered, threadId }) => (ifUnanswered === true ? (threadId ?? []) : []))),
    ),
  ]);
  return { drafts, openDrafts, waiting };
}

export interface FactDeps extends Deps {
  rules: Pick<AccountRules, "find">;
}

interface ReadFacts {
  facts: readonly SendFact[];
  answers: AnsweredFacts;
  books: ReadonlyMap<string, RuleBook>;
}

/** The recipients of the sends whose policy depends on who is known. */
function askedRecipients(
  sends: readonly AskedSend[],
  { facts, answers, books }: ReadFacts,
  deps: Deps,
): AskedRecipient[] {
  return sends.flatMap(({ request }, index) => {
    const { sender } = facts[index] ?? {};
    const { account, inboxId } = request;
    if (sender === undefined || !dependsOnKnown(sendRule(account, sender, books.get(account.id)))) return [];
    const isBound = account.reach !== undefined && !isWholeAccount(account.reach);
    return addresseesOf(request, answers, deps).map((address) => ({
      inboxId,
      address: address.toLowerCase(),
      username: usernameAt(address, deps.mailDomain) ?? null,
      isBound,
    }));
  });
}

/** Whether a request names exactly one recipient itself. The facts of such a recipient are read in step 1. */
function hasOneNamed(request: SendRequest): boolean {
  return request.recipients.length === 1 && !isAddressedByReply(request);
}

function askedFact(deps: Deps, { request, key }: AskedSend): AskedFact {
  const { account, inboxId, recipients } = request;
  const { coldRecipientDaily, sendsPerMinute } = limitsOf(deps.limits, account);
  const [only] = recipients.length === 1 ? recipients : [];
  const isLimited = coldRecipientDaily > 0 && only !== undefined && isStranger(only.address, deps);
  return {
    accountId: account.id,
    operation: key.operation,
    key: key.key,
    inboxId,
    recipient: isLimited ? only.address.toLowerCase() : null,
    address: only === undefined ? null : suppressedForm(only.address),
    windowUpTo: sendsPerMinute,
  };
}

type AnsweredFacts = Required<
  Pick<SendFacts, "threads" | "replied" | "threadMessageIds" | "numbered" | "answers" | "answered">
>;

/** Reads the threads and messages that these sends answer. `named` are the messages that they answer by id, which are already read. */
async function answeredFacts(
  db: Db,
  deps: Deps,
  sends: readonly AskedSend[],
  named: readonly AnsweredById[],
): Promise<AnsweredFacts> {
  const requests = sends.map(({ request }) => request);
  const replies = requests.filter(
    ({ threadId, replyToMessageId }) => threadId !== undefined || replyToMessageId !== undefined,
  );
  const quoting = sends.filter(({ request }) => request.threadId !== undefined && request.includeQuote);
  const mayLoop = ({ account, ignoreLoop }: SendRequest) =>
    ignoreLoop !== true && limitsOf(deps.limits, account).loopEchoes > 0;
  const isRenamed = deps.isRenamed === true;
  const asked = different(requests.flatMap((request) => askedReply(request) ?? []));
  const wholeThreads = named.map(({ threadId }) => ({ threadId, upToMessageId: null }));
  const [threads, replied, threadMessageIds, numbered, answers] = await Promise.all([
    listThreadsOfSends(db, unique(replies.flatMap((request) => threadOf(request, named) ?? [])), replies.some(mayLoop)),
    listRepliedMessages(db, asked, {
      text: quoting.length > 0,
      html: quoting.some(({ html }) => html !== undefined),
      wireNames: isRenamed,
    }),
    listThreadMessageIds(db, different([...asked, ...wholeThreads]), isRenamed),
    listNumberedMessages(db, unique(replies.flatMap(({ readUpToMessageId }) => readUpToMessageId ?? []))),
    listAnswersBehind(
      db,
      unique(replies.flatMap((request) => (request.ifUnanswered ? (request.readUpToMessageId ?? []) : []))),
    ),
  ]);
  return { threads, replied, threadMessageIds, numbered, answers, answered: named };
}

function addresseesOf(request: SendRequest, { replied, answered }: AnsweredFacts, deps: Deps): string[] {
  const name = askedReply(request);
  const byName = name && replied.find((message) => nameOfReply(message) === nameOfReply(name));
  const message = answered.find(({ id }) => id === request.replyToMessageId) ?? byName;
  return addresseesOfSend(request, message, deps.mailDomain);
}

/**
 * The recipients outside of our domain, of accounts with a limit for cold recipients. Each address is listed once for each inbox that sends
 * to it.
 */
function strangersAmong(
  requests: readonly SendRequest[],
  addressees: readonly (readonly string[])[],
  deps: Deps,
): { inboxId: string; address: string }[] {
  const pairs = new Map<string, { inboxId: string; address: string }>();
  for (const [index, { inboxId, account }] of requests.entries()) {
    if (limitsOf(deps.limits, account).coldRecipientDaily === 0) continue;
    for (const address of addressees[index] ?? []) {
      if (!isStranger(address, deps)) continue;
      const lower = address.toLowerCase();
      pairs.set(`${inboxId} ${lower}`, { inboxId, address: lower });
    }
  }
  return [...pairs.values()];
}

/** Whether an address is outside of our domain. */
function isStranger(address: string, { mailDomain }: Deps): boolean {
  return recipientOf(address, mailDomain).kind === "other_domain";
}

function different(replies: readonly AskedReply[]): AskedReply[] {
  return [...new Map(replies.map((reply) => [nameOfReply(reply), reply])).values()];
}

function threadOf({ threadId, replyToMessageId }: SendRequest, named: readonly AnsweredById[]): string | undefined {
  return replyToMessageId === undefined ? threadId : named.find(({ id }) => id === replyToMessageId)?.threadId;
}

/** The usernames in `replyTo` of requests on the free plan, which may only name addresses of their own account. */
function ownNamesIn(requests: readonly SendRequest[], mailDomain: string): string[] {
  return requests.flatMap(({ replyTo, account }) => {
    if (replyTo === undefined || account.plan !== "free") return [];
    return usernameAt(replyTo, mailDomain) ?? [];
  });
}

function unique<T>(values: readonly T[]): T[] {
  return [...new Set(values)];
}
