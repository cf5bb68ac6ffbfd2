import type { Db } from "../../database/db.ts";
import { automatedOf } from "../../domain/automated.ts";
import type { ParsedMail } from "../../domain/message.ts";
import type { ArrivedMail, Quarantining } from "../../domain/receive/arrived-mail.ts";
import type { Authentication } from "../../domain/receive/authentication.ts";
import type { Envelope, FoundRecipient, InboundMail } from "../../domain/receive/inbound-mail.ts";
import type { NamedMessage } from "../../domain/receive/known-of-mails.ts";
import type { Opinion } from "../../domain/receive/opinion.ts";
import { forShownSender } from "../../domain/receive/verdict.ts";
import { namedAncestors } from "../../domain/threading.ts";
import { contentOf, isMarked, sha256Hex, shortDigest } from "../../standards/digest.ts";
import { canonicalMessageId } from "../../standards/message-id.ts";
import { chunksOf } from "../../store/mail/sources.ts";
import type { ClaimKey } from "../../store/outbox/outbox-rows.ts";
import type { Deps } from "../deps.ts";

/** A parsed inbound mail. */
export interface ReceivedMail extends InboundMail {
  mail: ParsedMail;
  /** The sender authentication of the mail; undefined if it was not checked. */
  authentication?: Authentication | undefined;
  /** The opinion of the operator's judge; undefined without one, and for mail that is too large for it. */
  opinion?: Opinion | undefined;
  /**
   * Only for a mail that was kept unparsed: the claim on the promise to file it. The raw source is stored under the id of the promise.
   * Filing the mail removes the promise.
   */
  promise?: ClaimKey;
  /** Only for a mail that was kept unparsed: the time of the 250. Such a mail cannot be refused any more. */
  acknowledgedAt?: Date;
  /** Whether the mail has taken effect as a report, or at a return path. It cannot be refused then, because SMTP has one answer for all. */
  isTaken?: boolean;
  /** The inboxes that do not take the mail, each with the reason. The mail goes into their quarantine. */
  blocked?: ReadonlyMap<string, Omit<Quarantining, "id">> | undefined;
  /** Only for a mail that comes out of the quarantine. */
  release?: Release | undefined;
}

/** The steps that a release adds to the transaction that files the mail. */
export interface Release {
  /** Runs when the inbox is locked. It throws if the mail must not be released. */
  begin(tx: Db): Promise<void>;
  /** Runs when the mail is filed as this message. */
  end(tx: Db, message: { id: string; threadId: string }): Promise<void>;
}

/** A mail that waits to be filed. */
export interface Arrival extends ArrivedMail {
  /** An estimate of the bytes that the mail takes in the database, in all its inboxes. */
  weightBytes: number;
  promise: ClaimKey | undefined;
  release: Release | undefined;
}

/** A larger mail is stored by itself, because parsing and storing it take several times its size in memory. */
export const largeBytes = 1 << 20;

/** The weight in bytes of the row of an attachment, and of the look-up of another mail that this mail refers to. */
const rowBytes = 256;

export async function arrivalOf(
  deps: Deps,
  { envelope, raw, mail, authentication, opinion, promise, blocked, release }: ReceivedMail,
): Promise<Arrival> {
  const receivedAt = deps.now();
  const sourceId = promise?.subjectId ?? deps.newId("src", receivedAt);
  const deliveries = oncePerInbox(envelope).map((recipient) => ({
    ...recipient,
    messageId: deps.newId("msg", receivedAt),
    newThreadId: deps.newId("thr", receivedAt),
    quarantined: quarantining(recipient),
  }));
  const { messageIdHash, ancestorHashes } = namesOf(mail);
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
    contentHash: contentHashOf(raw),
    messageIdHash,
    ancestorHashes,
    automated: automatedOf(mail, envelope.from),
    authentication,
    spam: opinion?.spam,
    attachments,
    chunks,
    promise,
    release,
    isAcknowledged: promise !== undefined || release !== undefined,
    isReleased: release !== undefined,
    deliveries,
    receivedAt,
  };

  function quarantining({ inboxId }: FoundRecipient): Quarantining | undefined {
    const why = blocked?.get(inboxId);
    return why && { ...why, id: deps.newId("qua", receivedAt) };
  }
}

/** The hash by which a copy of a mail is known; undefined for a mail that is never treated as a copy. */
export function contentHashOf(raw: Uint8Array): string | undefined {
  return isMarked(raw) ? shortDigest(contentOf(raw)) : undefined;
}

/** A second copy of a mail within this time is dropped (contract §6). */
export const duplicateWindowMs = 7 * 24 * 3_600_000;

/** The hashes by which a mail is known, and those of the mails that it refers to. */
export function namesOf(mail: ParsedMail): Pick<ArrivedMail, "messageIdHash" | "ancestorHashes"> {
  return {
    messageIdHash: shortDigest(canonicalMessageId(mail.messageId) ?? mail.messageId),
    ancestorHashes: namedAncestors(mail).map(shortDigest),
  };
}

/** The Message-IDs that can decide the thread of a mail in one inbox. */
export function threadNames(
  { messageIdHash, ancestorHashes }: ReturnType<typeof namesOf>,
  { inboxId, answeredHash }: Pick<FoundRecipient, "inboxId" | "answeredHash">,
): NamedMessage[] {
  const hashes = new Set([messageIdHash, ...ancestorHashes]);
  if (answeredHash !== undefined) hashes.add(answeredHash);
  return Array.from(hashes, (hash) => ({ inboxId, messageIdHash: hash }));
}

/** Splits a mail to many inboxes into parts that fit one statement each. */
export function* slicesOf(arrival: Arrival): Generator<Arrival> {
  const { deliveries, weightBytes } = arrival;
  const size = Math.max(1, Math.floor((deliveries.length * sliceBytes) / weightBytes));
  for (let at = 0; at < deliveries.length; at += size) {
    yield { ...arrival, deliveries: deliveries.slice(at, at + size) };
  }
}

/** The most weight that one statement writes. A statement with this weight blocks the embedded engine for a fraction of a second. */
const sliceBytes = 1 << 20;

/** The recipients of a mail, but only the first one for each inbox. */
export function oncePerInbox({ recipients }: Envelope): FoundRecipient[] {
  const first = new Map<string, FoundRecipient>();
  for (const recipient of recipients) if (!first.has(recipient.inboxId)) first.set(recipient.inboxId, recipient);
  return [...first.values()];
}

/** Returns the mail with the authentication for the sender that the API shows. */
export function withShownSender(received: ReceivedMail): ReceivedMail {
  const { mail, authentication } = received;
  return authentication ? { ...received, authentication: forShownSender(authentication, mail.from) } : received;
}

/** The fields of a mail in the log. */
export function aboutMail({ envelope, raw, mail, authentication }: ReceivedMail) {
  return {
    rfc_message_id: mail.messageId,
    inboxes: envelope.recipients.map(({ inboxId }) => inboxId),
    size_bytes: raw.length,
    ...(!mail.complete && { truncated: true }),
    ...(authentication !== undefined && { verdict: authentication.verdict }),
  };
}
