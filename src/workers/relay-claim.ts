import { isProven, returnPathHost } from "../domain/domains/readiness.ts";
import { isId } from "../domain/ids.ts";
import type { EnvelopeFrom } from "../domain/reports/return-path.ts";
import { destinationOfSubject, domainOf } from "../domain/send/recipients/destinations.ts";
import type { Deps } from "../flows/deps.ts";
import { takeLetters } from "../flows/send/write-letters.ts";
import { type DomainOfMessage, listDomainsOfMessages } from "../store/account/domains.ts";
import { listOutgoingAttachments, type MailedAttachment } from "../store/mail/attachments.ts";
import type { Claim, Claimed, ClaimedItem } from "../store/outbox/claims.ts";
import { claimReady, releaseItems } from "../store/outbox/outbox-rows.ts";
import type { Letter } from "../store/send/letters.ts";
import { listRelayedMessages, type RelayedMessage, type RelayedRecipient } from "../store/send/relaying.ts";

/** The key that signs the mail of an own domain, sealed in the row of this selector. */
export interface SigningKey {
  domainId: string;
  /** The name of the domain. */
  domain: string;
  selector: string;
  privateKey: string;
}

/** A claimed row: one destination of a message, or a letter. `message` is undefined for a letter, and if the message was deleted. */
export type RelayItem = ClaimedItem & {
  message: ClaimedMessage | undefined;
  letter: Letter | undefined;
  attachments: readonly MailedAttachment[];
  /** The own domain of its sender; undefined for MAIL_DOMAIN. */
  domain: DomainOfMessage | undefined;
  /** When all this was read, by the clock of attempts. */
  readMs: number;
};

export type ClaimedMessage = RelayedMessage & { envelopeFrom: string };

interface FactDeps extends Pick<Deps, "db" | "now" | "newId"> {
  /** The envelope sender of a message. Reports about the message are sent to that address. */
  envelopeFrom: EnvelopeFrom;
}

/** Claims rows, and reads all that decides about their mails. */
export async function claimWithMessages(
  deps: FactDeps,
  claim: Claim,
  isOwn: (domain: string) => boolean,
  readMs: number,
): Promise<Claimed<RelayItem>> {
  const { items, ...claimed } = await claimReady(deps.db.work, claim);
  try {
    return { items: await withFacts(deps, items, isOwn, readMs), ...claimed };
  } catch (error) {
    await releaseItems(deps.db.work, items).catch(() => undefined);
    throw error;
  }
}

/** Reads all that decides about the mails of claimed rows. */
export async function withFacts(
  deps: FactDeps,
  items: readonly ClaimedItem[],
  isOwn: (domain: string) => boolean,
  readMs: number,
): Promise<RelayItem[]> {
  if (items.length === 0) return [];
  const db = deps.db.work;
  const { letter: ofLetters = [], message: ofMessages = [] } = Object.groupBy(items, ({ subjectId }) =>
    isId("ltr", subjectId) ? "letter" : "message",
  );
  const letters = await takeLetters(
    deps,
    ofLetters.map(({ subjectId }) => subjectId),
  );
  const letterOf = new Map(letters.map((letter) => [letter.id, letter]));
  const accounts = new Map(ofMessages.map(({ subjectId, accountId }) => [messageIdOf(subjectId), accountId]));
  const asked = Array.from(accounts, ([id, accountId]) => ({ id, accountId }));
  const messages = await listRelayedMessages(db, asked, deps.now());
  const withFiles = messages.filter(({ attachmentCount }) => attachmentCount > 0);
  const files = await listOutgoingAttachments(
    db,
    withFiles.map(({ id }) => id),
  );
  const fromElsewhere = messages.filter(({ fromAddr }) => !isOwn(domainOf(fromAddr)));
  const domains = await listDomainsOfMessages(
    db,
    fromElsewhere.map(({ id }) => id),
  );
  const domainOfMessage = new Map(domains.map((domain) => [domain.messageId, domain]));
  const filesOf = Map.groupBy(files, ({ messageId }) => messageId);
  // The return paths are signed at once: one signature alone wakes a thread, which costs more than a signature.
  const withSender = messages.map(async (message): Promise<ClaimedMessage> => {
    const domain = domainOfMessage.get(message.id);
    const envelopeFrom = await deps.envelopeFrom(message.id, message.fromAddr, domain && returnPathHost(domain));
    return { ...message, envelopeFrom };
  });
  const messageOf = new Map((await Promise.all(withSender)).map((message) => [message.id, message]));
  return items.map((item) => {
    const id = messageIdOf(item.subjectId);
    return {
      ...item,
      message: messageOf.get(id),
      letter: letterOf.get(item.subjectId),
      attachments: filesOf.get(id) ?? [],
      domain: domainOfMessage.get(id),
      readMs,
    };
  });
}

/** The recipients of this destination that are still pending. */
export function waitingOf({ subjectId, message }: RelayItem): RelayedRecipient[] {
  const { number } = destinationOfSubject(subjectId);
  return (message?.recipients ?? []).filter(
    ({ destination, status }) => destination === number && status === "pending",
  );
}

/** Those of them that are not suppressed. */
export function openRecipients(item: RelayItem): RelayedRecipient[] {
  return waitingOf(item).filter(({ suppressedBy }) => suppressedBy === null);
}

/** The key for the mail of a domain; undefined if the domain sends no mail any more. */
export function keyOf({
  id: domainId,
  name: domain,
  status,
  selector,
  privateKey,
}: DomainOfMessage): SigningKey | undefined {
  if (!isProven(status) || selector === null || privateKey === null) return undefined;
  return { domainId, domain, selector, privateKey };
}

/** The message of a row. */
export function messageIdOf(subjectId: string): string {
  return destinationOfSubject(subjectId).messageId;
}
