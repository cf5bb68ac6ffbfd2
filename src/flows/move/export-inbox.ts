import type { Db } from "../../database/db.ts";
import { inContractOrder } from "../../domain/receive/authentication.ts";
import { fromLine, mboxMail } from "../../standards/mbox.ts";
import { type ExportedMessage, listMessagesToExport } from "../../store/mail/message-pages.ts";
import { storedPieces } from "../read/stored-pieces.ts";
import { outgoingMailOf } from "../send/outgoing-mail.ts";
import { composedMail } from "../send/ready-mail.ts";

export const inboxFormats = ["jsonl", "mbox"] as const;

export type InboxFormat = (typeof inboxFormats)[number];

export interface ExportedInbox {
  id: string;
  address: string;
  /** The number of the last message to export. */
  upToSeq: number;
}

/** The messages that one statement reads. An outbound one has bodies of at most 2 MB. */
const pageSize = 20;

/**
 * All mail of an inbox, the oldest first, in pieces. One piece at a time is in memory, and no connection is held between two statements, so
 * that others are answered meanwhile, also by the embedded database. Mail that is removed meanwhile is left out.
 */
export function exportedInbox(db: Db, inbox: ExportedInbox, format: InboxFormat): AsyncGenerator<Uint8Array> {
  return format === "mbox" ? asMbox(db, inbox) : asLines(db, inbox);
}

async function* asMbox(db: Db, inbox: ExportedInbox): AsyncGenerator<Uint8Array> {
  for await (const message of messagesOf(db, inbox)) {
    yield encoded(fromLine(message.envelopeFrom ?? message.fromAddr, new Date(message.createdAt)));
    yield* mboxMail(rawOf(db, message));
  }
}

/** JSON lines: a header, each thread before its first message, and a last line by which a reader knows that the file is whole. */
async function* asLines(db: Db, inbox: ExportedInbox): AsyncGenerator<Uint8Array> {
  const hash = new Bun.CryptoHasher("sha256");
  const written = (text: string) => {
    hash.update(text);
    return encoded(text);
  };
  const count = { threads: 0, messages: 0 };
  yield written(`${JSON.stringify({ inboxd: "inbox", id: inbox.id, address: inbox.address })}\n`);
  for await (const message of messagesOf(db, inbox)) {
    if (message.thread !== null) {
      count.threads += 1;
      yield written(`${JSON.stringify({ thread: message.thread })}\n`);
    }
    count.messages += 1;
    // The raw mail is the last field, so that the line is written while the mail is read.
    yield written(`${JSON.stringify({ message: exportedMessage(message) }).slice(0, -2)},"raw":"`);
    for await (const text of base64Of(rawOf(db, message))) yield written(text);
    yield written('"}}\n');
  }
  yield encoded(`${JSON.stringify({ end: true, ...count, sha256: hash.digest("hex") })}\n`);
}

async function* messagesOf(db: Db, { id, upToSeq }: ExportedInbox): AsyncGenerator<ExportedMessage> {
  for (let afterSeq = 0; ; ) {
    const page = await listMessagesToExport(db, { inboxId: id, afterSeq, upToSeq, limit: pageSize });
    yield* page;
    if (page.length < pageSize) return;
    afterSeq = page.at(-1)?.position ?? upToSeq;
  }
}

/** The bytes of a mail: those that were received, or those that go to the relay, without the signature. */
async function* rawOf(db: Db, message: ExportedMessage): AsyncGenerator<Uint8Array> {
  const { direction, sourceId, sizeBytes } = message;
  if (direction === "outbound") yield* composedMail(db, await outgoingMailOf(db, message));
  else if (sourceId !== null) yield* storedPieces(db, { sourceId, part: 0 }, { first: 0, last: sizeBytes - 1 });
}

function exportedMessage(message: ExportedMessage) {
  return {
    id: message.id,
    threadId: message.threadId,
    direction: message.direction,
    status: message.status,
    createdAt: message.createdAt,
    envelopeFrom: message.envelopeFrom,
    fromAddr: message.fromAddr,
    fromName: message.fromName,
    toAddrs: message.toAddrs,
    cc: message.cc,
    replyTo: message.replyTo,
    subject: message.subject,
    rfcMessageId: `<${message.rfcMessageId}>`,
    recipients: message.recipients?.map(({ address, type, status }) => ({ address, type, status })) ?? null,
    metadata: message.metadata ?? {},
    authentication: message.authentication && inContractOrder(message.authentication),
    attachments: (message.attachments ?? []).map(({ filename, contentType, sizeBytes }) => ({
      filename,
      contentType,
      sizeBytes,
    })),
  };
}

/** The base64 of pieces. Each text but the last stands for whole groups of three bytes. */
async function* base64Of(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  let left: Uint8Array = new Uint8Array();
  for await (const piece of pieces) {
    const all = left.length === 0 ? piece : Buffer.concat([left, piece]);
    const end = all.length - (all.length % 3);
    yield all.subarray(0, end).toBase64();
    left = all.slice(end);
  }
  yield left.toBase64();
}

const encoder = new TextEncoder();

function encoded(text: string): Uint8Array {
  return encoder.encode(text);
}
