import type { Db } from "../../database/db.ts";
import { utcDay } from "../../domain/limits.ts";
import { sourcesNamed } from "../../domain/send/attachments.ts";
import { recipientsOfSend } from "../../domain/send/recipients/recipients-of-send.ts";
import type { Send, SendRequest } from "../../domain/send/send.ts";
import {
  type AnsweredById,
  type AskedReply,
  askedReply,
  isAddressedByReply,
  nameOfReply,
  type RecipientOfInbox,
  type RepliedMessage,
  type SendFact,
  type SendFacts,
} from "../../domain/send/send-facts.ts";
import { suppressedForm } from "../../domain/send/suppressed.ts";
import { recipientOf } from "../../standards/address.ts";
import { listLostSources } from "../../store/send/attached.ts";
import {
  listAnsweredMessages,
  listOwners,
  listPlaces,
  listRecipientsOfSends,
  listRepliedMessages,
  listSentMessages,
  listThreadMessageIds,
  listThreadsOfSends,
} from "../../store/send/send-facts.ts";
import { listSuppressed } from "../../store/send/suppressions.ts";
import type { Deps } from "../deps.ts";
import { withOriginal } from "./original-addresses.ts";
import { quotableMessages } from "./quotable-messages.ts";
import { sendFacts } from "./send-usage.ts";

/**
 * The first statement reads what decides whether a send is accepted, and of which revision its inbox is; what follows
 * is read later, so that the revision vouches for it too. Most sends need no more than the first. What a message says that is
 * answered by its id never changes, so it may be read before; whether files are there still when it is written, the statement that writes
 * sees to.
 */
export async function factsOfSends(db: Db, deps: Deps, sends: readonly Send[], at: Date): Promise<SendFacts> {
  const requests = sends.map(({ request }) => request);
  const namedIds = unique(requests.flatMap(({ replyToMessageId }) => replyToMessageId ?? []));
  const named = await listAnsweredMessages(db, namedIds);
  const mayLoop = ({ account, ignoreLoop }: SendRequest) =>
    ignoreLoop !== true && deps.limits[account.plan].loopEchoes > 0;
  const [facts, lostSources] = await Promise.all([
    sendFacts(db, sends.map(askedFact), at),
    listLostSources(db, sourcesNamed(requests)),
  ]);
  const replies = requests.filter(
    ({ threadId, replyToMessageId }) => threadId !== undefined || replyToMessageId !== undefined,
  );
  const threadIds = unique(replies.flatMap((request) => threadOf(request, named) ?? []));
  const asked = repliesIn(requests);
  const quoting = sends.filter(({ request }) => request.threadId !== undefined && request.includeQuote);
  const [replays, threads, replied, threadMessageIds, places, owners] = await Promise.all([
    listSentMessages(
      db,
      facts.flatMap(({ use }) => use?.subjectId ?? []),
    ),
    listThreadsOfSends(db, threadIds, replies.some(mayLoop)),
    listRepliedMessages(db, asked, {
      text: quoting.length > 0,
      html: quoting.some(({ html }) => html !== undefined),
      wireNames: deps.isRenamed === true,
    }),
    listThreadMessageIds(db, different([...asked, ...named.map(wholeThreadOf)]), deps.isRenamed === true),
    listPlaces(db, unique(replies.flatMap(({ readUpToMessageId }) => readUpToMessageId ?? []))),
    listOwners(db, ownNamesIn(requests, deps.mailDomain)),
  ]);
  const quotable = await quotableMessages(db, requests, replied, ownAddress);
  const known = { facts, replays, threads, replied, quotable, threadMessageIds, places, owners, lostSources };
  const apart = requests.filter(isApart);
  if (apart.length === 0) return { ...known, answered: named };
  const read = {
    replied: await withOriginal(db, requests, replied),
    answered: await withOriginal(db, requests, named),
  };
  return { ...known, ...read, facts: await withSuppressed(read), recipients: await recipientsOf(read) };

  function ownAddress(inboxId: string): string {
    const { username = "" } = facts.find(({ sender }) => sender?.id === inboxId)?.sender ?? {};
    return `${username}@${deps.mailDomain}`;
  }

  function askedFact({ request: { account, inboxId, recipients }, key }: Send) {
    const { coldRecipientDaily, sendsPerMinute } = deps.limits[account.plan];
    const [only] = recipients.length === 1 ? recipients : [];
    const isLimited = coldRecipientDaily > 0 && only !== undefined && isStranger(only.address);
    const recipient = isLimited ? only.address.toLowerCase() : null;
    const address = only === undefined ? null : suppressedForm(only.address);
    return { accountId: account.id, key: key.key, inboxId, recipient, address, windowUpTo: sendsPerMinute };
  }

  /** Who has an inbox here is no stranger. */
  function isStranger(address: string): boolean {
    return recipientOf(address, deps.mailDomain).kind === "other_domain";
  }

  /** Who is suppressed of those whom the sends go to that are not to one who was given: of him the first statement has told it. */
  async function withSuppressed(read: Read): Promise<SendFact[]> {
    const asked = sends.map(({ request }) => {
      const addresses = isApart(request) ? whom(request, read) : [];
      const { account, inboxId } = request;
      return { accountId: account.id, inboxId, addresses: addresses.map(({ address }) => suppressedForm(address)) };
    });
    if (asked.every(({ addresses }) => addresses.length === 0)) return facts;
    const found = await listSuppressed(db, asked, at);
    return facts.map((fact, place) => ({ ...fact, suppressed: [...fact.suppressed, ...(found[place] ?? [])] }));
  }

  /** What is known of those whom the sends go to that are not to one who was given. */
  async function recipientsOf(read: Read): Promise<RecipientOfInbox[]> {
    const pairs = new Map<string, { inboxId: string; address: string }>();
    for (const request of apart) {
      const { inboxId, account } = request;
      if (deps.limits[account.plan].coldRecipientDaily === 0) continue;
      for (const { address } of whom(request, read)) {
        if (isStranger(address))
          pairs.set(`${inboxId} ${address.toLowerCase()}`, { inboxId, address: address.toLowerCase() });
      }
    }
    return listRecipientsOfSends(db, [...pairs.values()], utcDay(at));
  }

  /** With our own among them: who is refused, and why, the judgement says. */
  function whom(request: SendRequest, read: Read): readonly { address: string }[] {
    const name = askedReply(request);
    const byName = name && read.replied.find((message) => nameOfReply(message) === nameOfReply(name));
    const message = read.answered.find(({ id }) => id === request.replyToMessageId) ?? byName;
    try {
      const all = { mailDomain: deps.mailDomain, recipientsMax: Number.MAX_SAFE_INTEGER, ownAddresses: [] };
      return recipientsOfSend(request, message, all);
    } catch {
      return [];
    }
  }
}

/** Whether it goes to others than one who was given. */
function isApart(request: SendRequest): boolean {
  return request.recipients.length > 1 || isAddressedByReply(request);
}

interface Read {
  replied: readonly RepliedMessage[];
  answered: readonly AnsweredById[];
}

/** What a batch answers, each once. */
function repliesIn(requests: readonly SendRequest[]): AskedReply[] {
  return different(requests.flatMap((request) => askedReply(request) ?? []));
}

function different(replies: readonly AskedReply[]): AskedReply[] {
  return [...new Map(replies.map((reply) => [nameOfReply(reply), reply])).values()];
}

function wholeThreadOf({ threadId }: AnsweredById): AskedReply {
  return { threadId, upToMessageId: null };
}

function threadOf({ threadId, replyToMessageId }: SendRequest, named: readonly AnsweredById[]): string | undefined {
  return replyToMessageId === undefined ? threadId : named.find(({ id }) => id === replyToMessageId)?.threadId;
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
