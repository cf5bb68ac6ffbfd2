import { recordMessage, type ThreadState } from "../domain/conversation.ts";
import { previewOf } from "../domain/preview.ts";
import { resolveThread } from "../domain/threading.ts";
import type { AttachmentRow } from "../store/messages.ts";
import type { FiledMails, InboundMessage, KnownOfMails, ReadInbox } from "../store/receiving.ts";
import type { Arrival, ArrivalCopy } from "./arrival.ts";

/** What came of a mail: it is in each inbox that still lives, or nowhere because none does. */
export type Receipt = "stored" | "gone";

/** The rows that a batch of mails comes to, and what to tell each sender. */
export interface Filing extends Mutable<FiledMails> {
  receipts: Receipt[];
}

type Mutable<Rows> = { [Name in keyof Rows]: Rows[Name] extends readonly (infer Row)[] ? Row[] : never };

/**
 * Decides where each mail of a batch goes. Mails of one batch see each other: two copies become one message, and
 * a conversation that arrives at once ends up in one thread, whichever of it comes first.
 */
export function fileArrivals(arrivals: readonly Arrival[], facts: KnownOfMails): Filing {
  const inboxes = new Map(facts.inboxes.map((inbox) => [inbox.id, inbox]));
  const threads = new Map<string, ThreadState>();
  const threadOfMessage = new Map<string, string>();
  const awaitingThread = new Map<string, string>();
  const copies = new Set(
    facts.copies.map(({ inboxId, messageIdHash, contentHash }) => `${inboxId} ${messageIdHash} ${contentHash}`),
  );
  for (const thread of facts.parents) {
    threads.set(thread.id, thread);
    threadOfMessage.set(`${thread.inboxId} ${thread.messageIdHash}`, thread.id);
  }
  for (const thread of facts.awaiting) {
    if (!threads.has(thread.id)) threads.set(thread.id, thread);
    awaitingThread.set(`${thread.inboxId} ${thread.messageIdHash}`, thread.id);
  }
  const touched = new Map<string, ThreadState>();
  const filing: Filing = {
    receipts: [],
    threads: [],
    messages: [],
    attachments: [],
    sources: [],
    correspondents: [],
    awaitedParents: [],
    outboxItems: [],
    inboxes: [],
  };

  const receipts = new Map<Arrival, Receipt>();
  for (const arrival of parentsFirst(arrivals)) {
    let living = 0;
    let stored = 0;
    for (const copy of arrival.deliveries) {
      const inbox = inboxes.get(copy.inboxId);
      if (inbox === undefined) continue;
      living += 1;
      const content = `${inbox.id} ${arrival.messageIdHash} ${arrival.contentHash}`;
      if (copies.has(content)) continue;
      copies.add(content);
      stored += 1;
      fileCopy(arrival, copy, inbox);
    }
    if (stored > 0) filing.sources.push({ id: arrival.sourceId, shares: stored, chunks: arrival.chunks });
    receipts.set(arrival, living > 0 ? "stored" : "gone");
  }
  filing.receipts = arrivals.map((arrival) => receipts.get(arrival) ?? "gone");

  filing.threads = [...touched.values()];
  filing.inboxes = [...new Set(filing.messages.map(({ inboxId }) => inboxId))].flatMap((id) => inboxes.get(id) ?? []);
  return filing;

  function fileCopy(arrival: Arrival, copy: ArrivalCopy, inbox: ReadInbox): void {
    const named = `${inbox.id} ${arrival.messageIdHash}`;
    const resolved = resolveThread(arrival.messageIdHash, arrival.ancestorHashes, (hash) =>
      threadOfMessage.get(`${inbox.id} ${hash}`),
    );
    const joined = threads.get(resolved.threadId ?? awaitingThread.get(named) ?? "");
    const recorded = recordMessage(inbox, joined, copy.newThreadId, factsOfCopy(arrival, copy));
    const threadId = recorded.thread.id;
    inboxes.set(inbox.id, recorded.inbox);
    threads.set(threadId, recorded.thread);
    touched.set(threadId, recorded.thread);
    threadOfMessage.set(named, threadId);
    for (const messageIdHash of resolved.missing) {
      const missing = `${inbox.id} ${messageIdHash}`;
      // The thread that waited first is the one that gets it, here as in the table.
      if (!awaitingThread.has(missing)) awaitingThread.set(missing, threadId);
      filing.awaitedParents.push({ inboxId: inbox.id, messageIdHash, threadId });
    }
    const sender = arrival.mail.from?.address.toLowerCase();
    if (sender !== undefined && sender !== "") filing.correspondents.push({ inboxId: inbox.id, address: sender });
    filing.messages.push(inboundMessage(arrival, copy, inbox.accountId, recorded));
    filing.attachments.push(...attachmentRows(arrival, copy));
    if (inbox.hasWebhook) {
      filing.outboxItems.push({
        subjectId: copy.eventId,
        kind: "webhook",
        accountId: inbox.accountId,
        inboxId: inbox.id,
        lane: inbox.accountId,
        dueAt: arrival.receivedAt,
        createdAt: recorded.createdAt,
      });
    }
  }
}

/** Mails that came at once have no order but that of their conversation. */
function parentsFirst(arrivals: readonly Arrival[]): Iterable<Arrival> {
  const named = new Map(arrivals.map((arrival) => [arrival.messageIdHash, arrival]));
  const seen = new Set<Arrival>();
  const ordered: Arrival[] = [];
  function place(arrival: Arrival): void {
    if (seen.has(arrival)) return;
    seen.add(arrival);
    for (const hash of arrival.ancestorHashes) {
      const parent = named.get(hash);
      if (parent !== undefined) place(parent);
    }
    ordered.push(arrival);
  }
  for (const arrival of arrivals) place(arrival);
  return ordered;
}

function factsOfCopy({ mail, receivedAt }: Arrival, copy: ArrivalCopy) {
  return {
    id: copy.messageId,
    direction: "inbound" as const,
    at: receivedAt,
    subject: mail.subject,
    preview: previewOf(mail.bodyText),
    hasAttachments: mail.attachments.length > 0,
    participants: mail.from === undefined ? [] : [mail.from.address],
    leavesUnread: true,
  };
}

function inboundMessage(
  arrival: Arrival,
  copy: ArrivalCopy,
  accountId: string,
  recorded: ReturnType<typeof recordMessage>,
): InboundMessage {
  const { mail } = arrival;
  return {
    id: copy.messageId,
    eventId: copy.eventId,
    accountId,
    inboxId: copy.inboxId,
    threadId: recorded.thread.id,
    seq: recorded.seq,
    directionSeq: recorded.directionSeq,
    createdAt: recorded.createdAt,
    rfcMessageId: mail.messageId,
    messageIdHash: arrival.messageIdHash,
    contentHash: arrival.contentHash,
    fromAddr: mail.from?.address ?? "",
    fromName: mail.from?.name,
    toAddr: copy.toAddr,
    cc: mail.cc.map(({ address }) => address),
    replyTo: mail.replyTo,
    subject: mail.subject,
    bodyText: mail.bodyText,
    bodyHtml: mail.bodyHtml,
    attachmentCount: mail.attachments.length,
    sourceId: arrival.sourceId,
    sizeBytes: arrival.sizeBytes,
    inReplyTo: mail.inReplyTo[0],
  };
}

function attachmentRows(arrival: Arrival, copy: ArrivalCopy): AttachmentRow[] {
  return arrival.mail.attachments.map((attachment, position) => {
    const stored = arrival.attachments[position];
    if (stored === undefined) throw new Error("Cannot file mail: an attachment has no place in its source");
    return {
      messageId: copy.messageId,
      filename: attachment.filename,
      id: stored.id,
      position,
      contentType: attachment.contentType,
      sizeBytes: attachment.bytes.length,
      contentId: attachment.contentId ?? null,
      inline: attachment.inline,
      sourceId: arrival.sourceId,
      part: stored.part,
      digest: stored.digest,
    };
  });
}
