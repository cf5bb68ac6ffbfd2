import type { ParsedMail } from "../../domain/message.ts";
import {
  type FoundRecipient,
  type FoundReturnPath,
  type InboundMail,
  type MailOutcome,
  senderInLine,
} from "../../domain/receive/inbound-mail.ts";
import type { QueueEntry } from "../../mail/read/process-pool.ts";
import type { Unsubscribing } from "../send/unsubscribe.ts";
import type { ReceivedMail } from "./arrival.ts";
import type { ReportReception, ReturnTarget } from "./receive-report.ts";

/** A recipient of a mail: an inbox or a return path. */
export type Addressee = FoundRecipient | FoundReturnPath;

/** The outcome of a mail to a return path, for the metrics. */
export type ReturnedOutcome = "report" | "mail" | "refused";

export interface ReturnedDeps {
  parse: (raw: Uint8Array, entry: QueueEntry) => Promise<ParsedMail | undefined>;
  /** Files the mail in its inboxes. */
  store: (received: ReceivedMail) => Promise<MailOutcome>;
  reports: ReportReception;
  unsubscribing: Pick<Unsubscribing, "byMail">;
  returned?: ((outcome: ReturnedOutcome) => void) | undefined;
}

/** The return paths of a mail. All are of one message, since RCPT refuses those of a second. */
function returnPathsOf(recipients: readonly Addressee[]): FoundReturnPath[] {
  return recipients.filter((recipient) => "messageId" in recipient);
}

export function inboxesOf(recipients: readonly Addressee[]): FoundRecipient[] {
  return recipients.filter((recipient) => "inboxId" in recipient);
}

/**
 * Accepts a mail to a return path: applies a report to the message of the path, and files any other mail in the inbox of that message. A
 * mail to the address to unsubscribe does that, whatever it says, and is then dropped. Inboxes among the recipients get the mail as usual,
 * but cannot refuse a mail that has taken effect at the path: they quarantine it. If the parser has no time for the mail, the result is
 * `unavailable`, and the sender has to send it again.
 */
export async function acceptReturned(
  { parse, store, reports, unsubscribing, returned }: ReturnedDeps,
  inbound: InboundMail<Addressee>,
): Promise<MailOutcome> {
  const { raw, envelope } = inbound;
  const others = inboxesOf(envelope.recipients);
  const paths = returnPathsOf(envelope.recipients);
  const left = paths.filter(({ unsubscribes }) => unsubscribes === true);
  const hasLeft = (await Promise.all(left.map(({ messageId }) => unsubscribing.byMail(messageId)))).includes(true);
  const path = paths.find(({ unsubscribes }) => unsubscribes !== true);
  const target = path && (await reports.targetOf(path));
  if (target === undefined && others.length === 0) return hasLeft ? "stored" : refused();
  const mail = await parse(raw, { sender: senderInLine({ ...envelope, recipients: others }) });
  if (mail === undefined) return "unavailable";
  const isReport = target !== undefined && (await reports.takeReturned({ ...inbound, mail }, target));
  if (target !== undefined) returned?.(isReport ? "report" : "mail");
  else if (!hasLeft) refused();
  const own = target === undefined || isReport ? [] : [ownCopy(target)];
  const recipients = [...others, ...own];
  const isTaken = isReport || hasLeft;
  if (recipients.length === 0) return "stored";
  const outcome = await store({ ...inbound, envelope: { ...envelope, recipients }, mail, isTaken });
  return isTaken && (outcome === "quarantined" || outcome === "gone" || outcome === "disabled") ? "stored" : outcome;

  function refused(): MailOutcome {
    returned?.("refused");
    return "gone";
  }
}

/**
 * The inbox of the message, as the recipient of a mail to the return path that is no report. It gets the mail as if it had been sent to its
 * address.
 */
function ownCopy({ toAddr, inboxId, answeredHash }: ReturnTarget): FoundRecipient {
  return { toAddr, inboxId, answeredHash };
}
