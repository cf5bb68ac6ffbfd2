import { contentOf, sha256Hex, shortDigest } from "../domain/digest.ts";
import type { ParsedMail } from "../domain/message.ts";
import { canonicalMessageId } from "../domain/message-id.ts";
import { namedAncestors } from "../domain/threading.ts";
import { type Chunk, chunksOf } from "../store/sources.ts";
import type { Deps } from "./deps.ts";

export interface ReceivedMail {
  mail: ParsedMail;
  raw: Uint8Array;
  /** The inboxes that the mail is for, each with the address that its sender used. */
  recipients: readonly { inboxId: string; toAddr: string }[];
}

/** A mail with all that is uncertain settled before the transaction: ids, instants, digests, bytes. */
export interface Arrival {
  mail: ParsedMail;
  sourceId: string;
  sizeBytes: number;
  contentHash: string;
  messageIdHash: string;
  /** Hashes of the Message-IDs that can decide the thread, the strongest first. */
  ancestorHashes: readonly string[];
  attachments: readonly { id: string; part: number; digest: string }[];
  chunks: readonly Chunk[];
  deliveries: readonly ArrivalCopy[];
  receivedAt: Date;
}

export interface ArrivalCopy {
  inboxId: string;
  toAddr: string;
  messageId: string;
  newThreadId: string;
  eventId: string;
}

/** What a mail takes while it is parsed and stored is several times its size: from here on that counts. */
export const greatBytes = 1 << 20;

export async function arrivalOf(deps: Deps, { mail, raw, recipients }: ReceivedMail): Promise<Arrival> {
  const receivedAt = deps.now();
  const sourceId = deps.newId("src", receivedAt);
  const deliveries = oncePerInbox(recipients).map((recipient) => ({
    ...recipient,
    messageId: deps.newId("msg", receivedAt),
    newThreadId: deps.newId("thr", receivedAt),
    eventId: deps.newId("evt", receivedAt),
  }));
  const attachments = [];
  const chunks = await chunksOf(0, raw);
  for (const [index, { bytes }] of mail.attachments.entries()) {
    const part = index + 1;
    attachments.push({ id: deps.newId("att", receivedAt), part, digest: sha256Hex(bytes) });
    chunks.push(...(await chunksOf(part, bytes)));
  }
  return {
    mail,
    sourceId,
    sizeBytes: raw.length,
    contentHash: shortDigest(contentOf(raw)),
    messageIdHash: shortDigest(canonicalMessageId(mail.messageId) ?? mail.messageId),
    ancestorHashes: namedAncestors(mail).map(shortDigest),
    attachments,
    chunks,
    deliveries,
    receivedAt,
  };
}

function oncePerInbox<Recipient extends { inboxId: string }>(recipients: readonly Recipient[]): Recipient[] {
  const first = new Map<string, Recipient>();
  for (const recipient of recipients) if (!first.has(recipient.inboxId)) first.set(recipient.inboxId, recipient);
  return [...first.values()];
}
