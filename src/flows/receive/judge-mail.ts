import { filingState, threadJoined } from "../../domain/receive/filing-state.ts";
import type { FoundRecipient, MailOutcome } from "../../domain/receive/inbound-mail.ts";
import {
  type Blocking,
  type JudgedMail,
  type Judgment,
  judgeAsProven,
  judgeMail,
} from "../../domain/receive/judge-mail.ts";
import { allowingRule, blockingRule, inboundPolicyOf, type RuleBook } from "../../domain/rules.ts";
import { findKnownOfMails, listWrittenThreads } from "../../store/mail/receiving.ts";
import { waitsToBeParsed } from "../../store/mail/unparsed-mails.ts";
import type { AccountRules } from "../account-rules.ts";
import type { Deps } from "../deps.ts";
import { contentHashOf, duplicateWindowMs, namesOf, oncePerInbox, type ReceivedMail, threadNames } from "./arrival.ts";
import type { InboxOwner, InboxOwners } from "./inbox-owners.ts";

export interface JudgingDeps extends Deps {
  rules: Pick<AccountRules, "find" | "recall">;
  owners: Pick<InboxOwners, "find" | "recall">;
  /** How long blocked mail is kept. */
  quarantineDays: number;
  /** Called for each inbox that blocks a mail. */
  blocked?: ((reason: Blocking["reason"], answer: BlockedAnswer) => void) | undefined;
}

/** The outcome for a blocked mail. */
export type BlockedAnswer = "quarantined" | "refused";

type Receive = (mail: ReceivedMail) => Promise<MailOutcome>;

/** How long a mail that was acknowledged waits for a verdict that decides about it. Then it is judged without. */
const longestUndecidedMs = 3_600_000;
const dayMs = 24 * 3_600_000;

/**
 * Judges each mail by the rules and policies of its inboxes, and then files it. Inboxes that block it get it into their quarantine. If all
 * of them refuse it, it is filed nowhere, unless it was acknowledged before, has taken effect as a report or at a return path, or is a copy
 * of a mail that one of them has. For an account without rules and policies it reads nothing.
 */
export function withJudgment(deps: JudgingDeps, receive: Receive): Receive {
  return async (received) => {
    if (isUnruled(deps, received)) return receive(received);
    const recipients = oncePerInbox(received.envelope);
    const ruled = await ruledInboxes(deps, received, recipients);
    if (ruled.length === 0) return receive(received);
    const judged = await judgeFor(deps, received, ruled);
    if (judged === "undecided") return "undecided";
    if (judged.length === 0) return receive(received);
    const isRefused =
      received.acknowledgedAt === undefined &&
      received.isTaken !== true &&
      judged.length === recipients.length &&
      judged.every(({ judgment }) => judgment.answer === "refuse") &&
      !(await isCopy(deps, received, recipients));
    if (isRefused) {
      note(deps, judged, "refused");
      return "refused";
    }
    const outcome = await receive({ ...received, blocked: quarantined(deps, judged) });
    if (outcome === "gone" || outcome === "disabled") return outcome;
    note(deps, judged, "quarantined");
    for (const { owner } of judged) received.onQuarantined?.(owner.id);
    return outcome;
  };
}

/** Whether it is known without a read that no rule or policy concerns the mail. */
function isUnruled({ owners, rules }: JudgingDeps, { envelope, opinion }: ReceivedMail): boolean {
  if (blocks(opinion)) return false;
  return envelope.recipients.every(({ inboxId }) => {
    const owner = owners.recall(inboxId);
    return owner !== undefined && rules.recall(owner.accountId)?.size === 0;
  });
}

/** Whether the operator's judge blocks the mail for all inboxes. */
function blocks(opinion: ReceivedMail["opinion"]): boolean {
  return opinion !== undefined && opinion.action !== "take";
}

/** A recipient whose account has rules or policies. If the judge blocks the mail, each recipient is one. */
interface Ruled {
  recipient: FoundRecipient;
  owner: InboxOwner;
  book: RuleBook;
}

async function ruledInboxes(
  { db, owners, rules }: JudgingDeps,
  { opinion }: ReceivedMail,
  recipients: readonly FoundRecipient[],
) {
  const found = await owners.find(
    db.mail,
    recipients.map(({ inboxId }) => inboxId),
  );
  const ofInbox = new Map(found.map((owner) => [owner.id, owner]));
  const books = await rules.find(db.mail, [...new Set(found.map(({ accountId }) => accountId))]);
  return recipients.flatMap((recipient): Ruled[] => {
    const owner = ofInbox.get(recipient.inboxId);
    const book = owner && books.get(owner.accountId);
    if (owner === undefined || book === undefined) return [];
    return book.size > 0 || blocks(opinion) ? [{ recipient, owner, book }] : [];
  });
}

/** An inbox that blocks a mail, and why. */
interface Blocked {
  owner: InboxOwner;
  facts: JudgedMail;
  judgment: Blocking;
}

/** The inboxes that block a mail. `undecided` if that depends on a verdict for which the mail can still wait. */
async function judgeFor(
  deps: JudgingDeps,
  received: ReceivedMail,
  ruled: readonly Ruled[],
): Promise<Blocked[] | "undecided"> {
  const facts = ruled.map((each) => ({ ...each, facts: factsFor(received, each) }));
  const replies = await repliesAmong(
    deps,
    received,
    facts.filter((each) => dependsOnReply(each.facts)).map(({ recipient }) => recipient),
  );
  const mayWait = canWait(deps, received);
  const blocked: Blocked[] = [];
  for (const { owner, facts: known } of facts) {
    const all = { ...known, isReply: replies.has(owner.id) };
    const judgment = mayWait ? judgeMail(all) : judgeAsProven(all);
    if (judgment.kind === "undecided") return "undecided";
    if (judgment.kind === "blocked") blocked.push({ owner, facts: all, judgment });
  }
  return blocked;
}

function factsFor({ mail, envelope, authentication, opinion }: ReceivedMail, { owner, book }: Ruled): JudgedMail {
  const from = mail.from?.address ?? "";
  return {
    policy: inboundPolicyOf(book, owner).inbound,
    blockedBy: blockingRule(book, owner, "inbound", [from, envelope.from])?.id,
    allowedBy: allowingRule(book, owner, "inbound", from),
    authentication: authentication ?? (envelope.client === undefined ? internal : undefined),
    isReply: false,
    isSpam: opinion?.spam?.isSpam === true,
    opinion: opinion?.action ?? "take",
  };
}

/** The facts of mail from another inbox of this service. */
const internal = { verdict: "pass", dmarc: { result: "none", policy: null } } as const;

function dependsOnReply(facts: JudgedMail): boolean {
  const kindOf = (isReply: boolean): Judgment["kind"] => judgeMail({ ...facts, isReply }).kind;
  return facts.policy.unlisted === "replies" && kindOf(true) !== kindOf(false);
}

/** The inboxes among these for which the mail joins a thread in which they have written (contract §7.1). */
async function repliesAmong(
  { db }: Deps,
  { mail }: ReceivedMail,
  recipients: readonly FoundRecipient[],
): Promise<Set<string>> {
  if (recipients.length === 0) return new Set();
  const names = namesOf(mail);
  const named = recipients.flatMap((recipient) => threadNames(names, recipient));
  const known = await findKnownOfMails(db.mail, { inboxIds: [], copies: [], named, notBefore: new Date(0) });
  const state = filingState(known);
  const joined = recipients.flatMap((recipient) => {
    const { thread } = threadJoined(state, names, recipient);
    return thread === undefined ? [] : [{ inboxId: recipient.inboxId, threadId: thread.id }];
  });
  const written = await listWrittenThreads(
    db.mail,
    joined.map(({ threadId }) => threadId),
  );
  return new Set(joined.flatMap(({ inboxId, threadId }) => (written.has(threadId) ? inboxId : [])));
}

/**
 * Whether one of the inboxes has the mail already, or the mail waits to be parsed for it: its sender may repeat it because the answer was
 * lost. It looks at the waiting mails first, because one of them may be filed meanwhile.
 */
async function isCopy(
  { db, now }: JudgingDeps,
  { mail, raw }: ReceivedMail,
  recipients: readonly FoundRecipient[],
): Promise<boolean> {
  const contentHash = contentHashOf(raw);
  if (contentHash === undefined) return false;
  const inboxIds = recipients.map(({ inboxId }) => inboxId);
  if (await waitsToBeParsed(db.mail, contentHash, inboxIds)) return true;
  const { messageIdHash } = namesOf(mail);
  const copies = recipients.map(({ inboxId }) => ({ inboxId, messageIdHash, contentHash }));
  const notBefore = new Date(now().getTime() - duplicateWindowMs);
  const known = await findKnownOfMails(db.mail, { inboxIds: [], copies, named: [], notBefore });
  return known.copies.length > 0;
}

/** Whether the sender can repeat the mail, or a mail that was acknowledged is young enough to be judged again. */
function canWait({ now }: Deps, { acknowledgedAt }: ReceivedMail): boolean {
  return acknowledgedAt === undefined || now().getTime() - acknowledgedAt.getTime() < longestUndecidedMs;
}

function quarantined({ now, quarantineDays }: JudgingDeps, judged: readonly Blocked[]): ReceivedMail["blocked"] {
  const expiresAt = new Date(now().getTime() + quarantineDays * dayMs);
  return new Map(
    judged.map(({ owner, judgment: { reason, ruleId } }) => [owner.id, { reason, ruleId, expiresAt }] as const),
  );
}

/** Logs and counts the blocked mail. The log has no addresses, because they are personal data. */
function note({ log, blocked }: JudgingDeps, judged: readonly Blocked[], answer: BlockedAnswer): void {
  for (const { owner, judgment } of judged) {
    const { reason, ruleId } = judgment;
    blocked?.(reason, answer);
    log.info({ account_id: owner.accountId, inbox_id: owner.id, reason, rule_id: ruleId, answer }, "mail blocked");
  }
}
