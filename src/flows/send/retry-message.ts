import { type Db, transaction } from "../../database/db.ts";
import { type Caller, isWholeAccount, type SentReach } from "../../domain/access/access.ts";
import type { Actor } from "../../domain/access/actor.ts";
import { notFound, type Refusal } from "../../domain/errors.ts";
import { isId } from "../../domain/ids.ts";
import { limitsOf, refuseOverLimit, type SendUsage } from "../../domain/limits.ts";
import {
  dependsOnKnown,
  refuseClosed,
  refuseDisabled,
  refuseNotAllowed,
  sendRule,
} from "../../domain/send/allowed-recipients.ts";
import { isApproved } from "../../domain/send/approval.ts";
import { isOpen, statusOfDraft } from "../../domain/send/draft.ts";
import { refuseUnproven } from "../../domain/send/judge-sends.ts";
import { destinationsOf, subjectOfDestination } from "../../domain/send/recipients/destinations.ts";
import { notRetryable, recipientsToRetry, retryNotApproved } from "../../domain/send/retrying.ts";
import type { SentMessage } from "../../domain/send/send.ts";
import { usageOf } from "../../domain/send/send-facts.ts";
import { suppressedForm, suppressedRecipients } from "../../domain/send/suppressed.ts";
import { usernameAt } from "../../standards/address.ts";
import { lockInboxes } from "../../store/account/inboxes.ts";
import { findDraft, listDrafts } from "../../store/send/drafts.ts";
import { findMessageToRetry, markRetried } from "../../store/send/retrying.ts";
import { listKnownRecipients, listSentMessages } from "../../store/send/send-facts.ts";
import { listSuppressed } from "../../store/send/suppressions.ts";
import type { AccountRules } from "../account-rules.ts";
import { audit } from "../audit.ts";
import type { Deps } from "../deps.ts";
import { sendFacts } from "./send-usage.ts";

export interface RetryDeps extends Deps {
  rules: Pick<AccountRules, "find">;
}

/**
 * Sends a message again to the recipients that refused it or that timed out. It is refused where a new send would be, and each recipient
 * counts for the day. The lock on the inbox keeps the count exact.
 */
export async function retryMessage(
  deps: RetryDeps,
  caller: Caller,
  { actor, ...reach }: SentReach & { actor: Actor },
  messageId: string,
): Promise<{ message: SentMessage; usage: SendUsage }> {
  if (!isId("msg", messageId)) throw notFound("message");
  const at = deps.now();
  const { accountId } = reach;
  const books = await deps.rules.find(deps.db.api, [accountId]);
  const { usage, inboxId } = await transaction(deps.db.api, async (tx) => {
    const known = await findMessageToRetry(tx, reach, messageId);
    if (known === undefined) throw await refusalOfUnsent(tx, reach, messageId);
    await lockInboxes(tx, [known.inboxId]);
    const message = await findMessageToRetry(tx, reach, messageId);
    if (message === undefined) throw notFound("message");
    const { inboxId } = message;
    const failed = recipientsToRetry(message, at);
    const addresses = failed.map(({ address }) => address);
    const asked = { accountId, operation: "send" as const, key: "", inboxId, recipient: null, address: null };
    const [fact] = await sendFacts(tx, [{ ...asked, windowUpTo: 0 }], at);
    const sender = fact?.sender;
    const usage = usageOf(sender, at);
    if (sender === undefined || usage === undefined) throw notFound("inbox");
    const book = books.get(accountId);
    const rule = sendRule(caller, sender, book);
    refuseDisabled(sender);
    refuseClosed(rule);
    const isBound = !isWholeAccount(caller.reach);
    const knownRecipients = dependsOnKnown(rule)
      ? await listKnownRecipients(
          tx,
          addresses.map((address) => ({
            inboxId,
            address: address.toLowerCase(),
            username: usernameAt(address, deps.mailDomain) ?? null,
            isBound,
          })),
        )
      : [];
    const isKnown = (address: string) => knownRecipients.some((each) => each.address === address.toLowerCase());
    const need = refuseNotAllowed(addresses, { rule, sender, book, isKnown });
    const [draft] = need === undefined ? [] : await listDrafts(tx, [messageId]);
    if (need !== undefined && (draft === undefined || !isApproved(draft))) throw retryNotApproved(message);
    refuseUnproven(sender, usernameAt(message.fromAddr, deps.mailDomain));
    const forms = addresses.map(suppressedForm);
    const [suppressed = []] = await listSuppressed(tx, [{ accountId, inboxId, addresses: forms }], at);
    const out = suppressedRecipients(addresses, suppressed);
    const again = failed.filter(({ address }) => !out.has(address));
    const limits = { ...limitsOf(deps.limits, caller), sendsPerMinute: 0, coldRecipientDaily: 0 };
    refuseOverLimit(usage, { count: again.length, cold: [], areSeveral: again.length > 1 }, limits, at);
    const counted = { ...usage, today: usage.today + again.length };
    await markRetried(tx, {
      messageId,
      inboxId,
      accountId,
      positions: again.map(({ position }) => position),
      rows: [...Map.groupBy(again, ({ destination }) => destination)].map(([number, recipients]) => ({
        subjectId: subjectOfDestination(messageId, number),
        lane: destinationsOf(recipients.map(entryOf), deps).lanes[0] ?? "",
      })),
      sentOn: counted.day,
      sentCount: counted.today,
      at,
    });
    await audit(tx, deps, at, {
      action: "outbox.retried",
      accountId,
      actor,
      target: { type: "message", id: messageId },
    });
    return { usage: counted, inboxId };
  });
  deps.nudge("relay");
  deps.changes.notify([{ accountId, inboxId }]);
  const [message] = await listSentMessages(deps.db.api, [messageId]);
  if (message === undefined) throw notFound("message");
  return { message, usage };
}

/** The refusal of a message that does not exist, or that was never sent. */
async function refusalOfUnsent(tx: Db, reach: SentReach, messageId: string): Promise<Refusal> {
  const draft = await findDraft(tx, reach, messageId);
  if (draft?.acceptedAt == null) return notFound("message");
  return notRetryable(statusOfDraft(draft), isOpen(draft.state) ? "it is still being sent" : "it was never sent");
}

function entryOf({ address }: { address: string }) {
  return { address, name: undefined, type: "to" as const };
}
