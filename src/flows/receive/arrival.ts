import { automatedOf } from "../../domain/automated.ts";
import type { ParsedMail } from "../../domain/message.ts";
import type { ArrivedMail } from "../../domain/receive/arrived-mail.ts";
import type { Envelope, FoundRecipient, InboundMail } from "../../domain/receive/inbound-mail.ts";
import { namedAncestors } from "../../domain/threading.ts";
import { contentOf, isMarked, sha256Hex, shortDigest } from "../../standards/digest.ts";
import { canonicalMessageId } from "../../standards/message-id.ts";
import { chunksOf } from "../../store/mail/sources.ts";
import type { ClaimKey } from "../../store/outbox/outbox.ts";
import type { Deps } from "../deps.ts";

/** An inbound mail that was read. */
export interface ReceivedMail extends InboundMail {
  mail: ParsedMail;
  /** The claim on the promise to file it, under whose id the raw source is stored already. It is kept by the filing itself. */
  promise?: ClaimKey;
}

/** The mail as it waits its turn. */
export interface Arrival extends ArrivedMail {
  /** What it comes to in the database: its bytes and rows, in each inbox that it is for. */
  weightBytes: number;
  promise: ClaimKey | undefined;
}

/** What a mail takes while it is parsed and stored is several times its size: from here on that counts. */
export const largeBytes = 1 << 20;

/** A row of an attachment, or a mail that is named and must be looked for. */
const rowBytes = 256;

export async function arrivalOf(deps: Deps, { envelope, raw, mail, promise }: ReceivedMail): Promise<Arrival> {
  const receivedAt = deps.now();
  const sourceId = promise?.subjectId ?? deps.newId("src", receivedAt);
  const deliveries = oncePerInbox(envelope).map((recipient) => ({
    ...recipient,
    messageId: deps.newId("msg", receivedAt),
    newThreadId: deps.newId("thr", receivedAt),
  }));
  const ancestorHashes = namedAncestors(mail).map(shortDigest);
  const attachments = [];
  const chunks = promise === undefined ? await chunksOf(0, raw) : [];
  for (const [index, { bytes }] of mail.attachments.entries()) {
    const part = index + 1;
    attachments.push({ id: deps.newId("att", receivedAt), part, digest: sha256Hex(bytes) });
    chunks.push(...(await chunksOf(part, bytes)));
  }
  return {
    mail,
    sourceId,
    envelope,
    sizeBytes: raw.length,
    weightBytes: deliveries.length * (raw.length + (attachments.length + ancestorHashes.length) * rowBytes),
    contentHash: isMarked(raw) ? shortDigest(contentOf(raw)) : undefined,
    messageIdHash: shortDigest(canonicalMessageId(mail.messageId) ?? mail.messageId),
    ancestorHashes,
    automated: automatedOf(mail, envelope.from),
    attachments,
    chunks,
    promise,
    deliveries,
    receivedAt,
  };
}

/** Parts of a mail for many, each for as many of its inboxes as may go into one statement. */
export function* slicesOf(arrival: Arrival): Generator<Arrival> {
  const { deliveries, weightBytes } = arrival;
  const size = Math.max(1, Math.floor((deliveries.length * sliceBytes) / weightBytes));
  for (let at = 0; at < deliveries.length; at += size) {
    yield { ...arrival, deliveries: deliveries.slice(at, at + size) };
  }
}

/** The embedded engine stands still for its statements: one of this weight takes a fraction of a second. */
const sliceBytes = 1 << 20;

/** Whoever has two addresses among them gets the mail by the first. */
export function oncePerInbox({ recipients }: Envelope): FoundRecipient[] {
  const first = new Map<string, FoundRecipient>();
  for (const recipient of recipients) if (!first.has(recipient.inboxId)) first.set(recipient.inboxId, recipient);
  return [...first.values()];
}

/** What the log says of a mail. */
export function aboutMail({ envelope, raw, mail }: ReceivedMail) {
  return {
    rfc_message_id: mail.messageId,
    inboxes: envelope.recipients.map(({ inboxId }) => inboxId),
    size_bytes: raw.length,
    ...(!mail.complete && { truncated: true }),
  };
}
