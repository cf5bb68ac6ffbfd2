import { arrivalEventId, type MessageFacts, type Recorded, recordMessage, type ThreadState } from "../conversation.ts";
import { idBeside, instantOfId } from "../ids.ts";
import type { Mailbox } from "../message.ts";
import { previewOf } from "../preview.ts";
import { blockChanges } from "../thread-blocks.ts";
import { foreignAncestors, namedParent } from "../threading.ts";
import type { ArrivedCopy, ArrivedMail, Quarantining } from "./arrived-mail.ts";
import type {
  AwaitedParent,
  Correspondent,
  FiledAttachment,
  FiledMails,
  InboundMessage,
  QuarantinedMail,
  Source,
} from "./filed-mails.ts";
import {
  awaits,
  type FilingState,
  filingState,
  hadSentTo,
  noteFiled,
  noteQuarantined,
  takesMail,
  threadJoined,
} from "./filing-state.ts";
import type { MailOutcome } from "./inbound-mail.ts";
import type { KnownOfMails, ReadInbox } from "./known-of-mails.ts";

/** The rows to write for a batch of mails, and the outcome of each mail in the order of the mails. */
export interface Filing extends FiledMails {
  outcomes: MailOutcome[];
}

/** The outcome of one mail, with a copy of the mail for each inbox that does not have it yet, or has to quarantine it. */
export interface FiledMail {
  outcome: MailOutcome;
  copies: FiledCopy[];
  quarantined: QuarantinedMail[];
}

export interface FiledCopy {
  message: Omit<InboundMessage, "body">;
  thread: ThreadState;
  awaitedParents: AwaitedParent[];
  correspondent: Correspondent | undefined;
}

/**
 * Decides in which inboxes and threads each mail of a batch is stored. Each decision includes the effects of the earlier ones: two copies
 * become one message, and the mails of one conversation get one thread, in whatever order they came.
 */
export function fileMails(arrivals: readonly ArrivedMail[], facts: KnownOfMails): Filing {
  const state = filingState(facts);
  const before = new Map(state.threads);
  const filed = new Map(parentsFirst(arrivals).map((arrival) => [arrival, fileMail(state, arrival)]));
  return {
    outcomes: arrivals.map((arrival) => filed.get(arrival)?.outcome ?? "gone"),
    ...rowsOf(filed, state, before),
  };
}

/** Decides in which inboxes and threads one mail goes, and adds the result to the state for the next mails of the batch. */
export function fileMail(state: FilingState, arrival: ArrivedMail): FiledMail {
  const copies: FiledCopy[] = [];
  const quarantined: QuarantinedMail[] = [];
  let outcome = "gone" as MailOutcome;
  for (const copy of arrival.deliveries) {
    const inbox = state.inboxes.get(copy.inboxId);
    if (inbox === undefined) continue;
    if (inbox.disabled && arrival.isAcknowledged !== true) {
      if (outcome === "gone") outcome = "disabled";
      continue;
    }
    outcome = copy.quarantined !== undefined && outcome !== "stored" ? "quarantined" : "stored";
    if (!takesMail(state, inbox.id, arrival)) continue;
    if (copy.quarantined === undefined) copies.push(fileCopy(state, arrival, copy, inbox));
    else quarantined.push(quarantineCopy(state, arrival, copy, copy.quarantined, inbox));
  }
  return { outcome, copies, quarantined };
}

function quarantineCopy(
  state: FilingState,
  arrival: ArrivedMail,
  { inboxId, toAddr }: ArrivedCopy,
  { id, reason, ruleId, expiresAt }: Quarantining,
  inbox: ReadInbox,
): QuarantinedMail {
  const { mail, envelope, receivedAt, messageIdHash, contentHash, sourceId, sizeBytes, authentication, spam } = arrival;
  noteQuarantined(state, inbox, sizeBytes);
  return {
    id,
    eventId: blockedEventId(id),
    accountId: inbox.accountId,
    inboxId,
    reason,
    ruleId,
    messageIdHash,
    contentHash,
    sourceId,
    envelopeFrom: envelope.from,
    client: envelope.client,
    toAddr,
    fromAddr: mail.from?.address ?? "",
    fromName: mail.from?.name,
    subject: mail.subject,
    preview: previewOf(mail.bodyText),
    sizeBytes,
    authentication,
    spam,
    receivedAt,
    expiresAt,
  };
}

function fileCopy(state: FilingState, arrival: ArrivedMail, copy: ArrivedCopy, inbox: ReadInbox): FiledCopy {
  const { thread: joined, missing: named } = threadJoined(state, arrival, copy);
  const recorded = recordMessage(inbox, joined, copy.newThreadId, factsOfCopy(arrival, copy));
  const { thread } = recorded;
  noteFiled(state, recorded.inbox, thread, arrival.messageIdHash);
  const missing = named.map((hash) => ({ inboxId: inbox.id, messageIdHash: hash, threadId: thread.id }));
  return {
    message: {
      ...inboundMessage(arrival, copy, recorded),
      referenceIds: joined === undefined ? foreignAncestors(arrival.mail) : undefined,
    },
    thread,
    awaitedParents: missing.filter((parent) => awaits(state, parent, thread.id)),
    correspondent: knownBy(state, arrival, inbox.id),
  };
}

/**
 * The sender, if the mail makes it known to the inbox (contract §5.3). The From address alone proves nothing, because it may be forged. If
 * the sender was checked, it must be proven: anybody who has our mail can forge an answer to it. If it was not checked, the mail must refer to a
 * message that this inbox sent to the From address.
 */
function knownBy(state: FilingState, arrival: ArrivedMail, inboxId: string): Correspondent | undefined {
  const { mail, ancestorHashes, authentication, receivedAt } = arrival;
  const address = mail.from?.address.toLowerCase();
  if (address === undefined || address.length > longestAddress) return undefined;
  if (authentication !== undefined)
    return authentication.verdict === "pass" ? { inboxId, address, verifiedAt: receivedAt } : undefined;
  return hadSentTo(state, inboxId, address, ancestorHashes) ? { inboxId, address, verifiedAt: null } : undefined;
}

/** The longest address to which mail can be sent. A longer one would not fit the index of known senders. */
const longestAddress = 254;

/** The id of the event of a quarantined mail, with which it is removed. */
function blockedEventId(id: string): string {
  return idBeside(id, "evt", instantOfId(id));
}

/** Sorts the mails of a batch so that each comes after the mails that it answers. Otherwise their order stays. */
function parentsFirst(arrivals: readonly ArrivedMail[]): ArrivedMail[] {
  const named = new Map(arrivals.map((arrival) => [arrival.messageIdHash, arrival]));
  const ordered = new Set<ArrivedMail>();
  const seen = new Set<ArrivedMail>();
  for (const arrival of arrivals) addBehindParents(arrival, named, seen, ordered);
  return [...ordered];
}

/** Adds a mail to `ordered`, after the mails that it answers. `seen` ends the recursion if mails name each other in a circle. */
function addBehindParents(
  arrival: ArrivedMail,
  named: ReadonlyMap<string, ArrivedMail>,
  seen: Set<ArrivedMail>,
  ordered: Set<ArrivedMail>,
): void {
  if (seen.has(arrival)) return;
  seen.add(arrival);
  for (const hash of arrival.ancestorHashes) {
    const parent = named.get(hash);
    if (parent !== undefined) addBehindParents(parent, named, seen, ordered);
  }
  ordered.add(arrival);
}

/** The rows to write. A mail without copies has none. Each changed thread and inbox has one row, with its state after the whole batch. */
function rowsOf(
  filed: ReadonlyMap<ArrivedMail, FiledMail>,
  { inboxes }: FilingState,
  before: ReadonlyMap<string, ThreadState>,
): FiledMails {
  const stored = [...filed].filter(([, { copies }]) => copies.length > 0);
  const blocked = [...filed].filter(([, { quarantined }]) => quarantined.length > 0);
  const quarantined = blocked.flatMap(([, mail]) => mail.quarantined);
  const copies = stored.flatMap(([, mail]) => mail.copies);
  const known = copies.flatMap(({ correspondent }) => correspondent ?? []);
  const changed = new Set([...copies.map(({ message }) => message), ...quarantined].map(({ inboxId }) => inboxId));
  const threads = [...new Map(copies.map(({ thread }) => [thread.id, thread])).values()];
  return {
    threads,
    threadBlocks: blockChanges(threads.map((after) => ({ before: before.get(after.id), after }))),
    messages: stored.flatMap(([, mail], index) => mail.copies.map(({ message }) => ({ ...message, body: index + 1 }))),
    bodies: stored.map(([{ mail }]) => ({ text: mail.bodyText, html: mail.bodyHtml })),
    attachments: stored.flatMap(([arrival]) => attachmentRows(arrival)),
    sources: [...new Map([...stored, ...blocked])].map(([arrival, mail]) => sourceOf(arrival, mail)),
    correspondents: [...new Map(known.map((each) => [`${each.inboxId} ${each.address}`, each])).values()],
    awaitedParents: copies.flatMap(({ awaitedParents }) => awaitedParents),
    quarantined,
    inboxes: [...changed].flatMap((id) => inboxes.get(id) ?? []),
  };
}

/** The source of a mail. Without a message it is the raw mail alone: a release reads that again, and stores the attachments then. */
function sourceOf({ sourceId, chunks }: ArrivedMail, { copies, quarantined }: FiledMail): Source {
  return {
    id: sourceId,
    shares: copies.length + quarantined.length,
    chunks: copies.length > 0 ? chunks : chunks.filter(({ part }) => part === 0),
  };
}

function factsOfCopy({ mail, receivedAt, sizeBytes }: ArrivedMail, copy: ArrivedCopy): MessageFacts {
  return {
    id: copy.messageId,
    direction: "inbound",
    at: receivedAt,
    sizeBytes,
    subject: mail.subject,
    preview: previewOf(mail.bodyText),
    hasAttachments: mail.attachments.length > 0,
    people: mail.from === undefined ? [] : [mail.from],
    leavesUnread: true,
  };
}

function inboundMessage(
  arrival: ArrivedMail,
  copy: ArrivedCopy,
  { inbox, thread, seq, directionSeq, createdAt }: Recorded<ReadInbox>,
): Omit<InboundMessage, "body" | "referenceIds"> {
  const { mail } = arrival;
  return {
    id: copy.messageId,
    eventId: arrivalEventId(copy.messageId, createdAt),
    accountId: inbox.accountId,
    inboxId: copy.inboxId,
    threadId: thread.id,
    seq,
    directionSeq,
    createdAt,
    rfcMessageId: mail.messageId,
    messageIdHash: arrival.messageIdHash,
    contentHash: arrival.contentHash,
    envelopeFrom: arrival.envelope.from,
    fromAddr: mail.from?.address ?? "",
    fromName: mail.from?.name,
    toAddr: copy.toAddr,
    toAddrs: toField(mail.to, copy.toAddr),
    cc: mail.cc.map(({ address }) => address),
    replyTo: mail.replyTo,
    replyTos: mail.replyTos,
    subject: mail.subject,
    truncated: !mail.complete,
    attachmentCount: mail.attachments.length,
    sourceId: arrival.sourceId,
    sizeBytes: arrival.sizeBytes,
    inReplyTo: namedParent(mail),
    automated: arrival.automated,
    authentication: arrival.authentication,
    spam: arrival.spam,
  };
}

/** The addresses of the To field. If it has none, the address that the mail came to. */
function toField(to: readonly Mailbox[], toAddr: string): string[] {
  return to.length === 0 ? [toAddr] : to.map(({ address }) => address);
}

function attachmentRows({ mail, attachments, sourceId }: ArrivedMail): FiledAttachment[] {
  return mail.attachments.map((attachment, position) => {
    const stored = attachments[position];
    if (stored === undefined) throw new Error("Cannot file mail: an attachment is not in its source");
    return {
      filename: attachment.filename,
      id: stored.id,
      position,
      contentType: attachment.contentType,
      sizeBytes: attachment.bytes.length,
      contentId: attachment.contentId ?? null,
      inline: attachment.inline,
      sourceId,
      part: stored.part,
      digest: stored.digest,
    };
  });
}
