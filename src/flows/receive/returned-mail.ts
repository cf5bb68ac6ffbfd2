import type { ParsedMail } from "../../domain/message.ts";
import type { Receipt } from "../../domain/receive/file-mails.ts";
import {
  type FoundRecipient,
  type FoundReturnPath,
  type InboundMail,
  senderInLine,
} from "../../domain/receive/inbound-mail.ts";
import type { QueueEntry } from "../../mail/read/process-pool.ts";
import type { ReceivedMail } from "./arrival.ts";
import type { ReportReception, ReturnedTo } from "./receive-report.ts";

/** Whom a mail is for: inboxes, return paths, or both. */
export type Addressee = FoundRecipient | FoundReturnPath;

/** What came of a mail to a return path, where somebody counts. */
export type ReturnedOutcome = "report" | "mail" | "refused";

export interface ReturnedDeps {
  parse: (raw: Uint8Array, entry: QueueEntry) => Promise<ParsedMail | undefined>;
  /** Files it, and has it told. */
  store: (received: ReceivedMail) => Promise<Receipt>;
  reports: ReportReception;
  returned?: ((outcome: ReturnedOutcome) => void) | undefined;
}

/** A mail has one at most: RCPT takes no second. */
export function returnPathOf(recipients: readonly Addressee[]): FoundReturnPath | undefined {
  return recipients.find((recipient) => "messageId" in recipient);
}

export function inboxesOf(recipients: readonly Addressee[]): FoundRecipient[] {
  return recipients.filter((recipient) => "inboxId" in recipient);
}

/**
 * A report is taken for its message, anything else filed in its inbox; whoever else the mail is for gets it as ever. One that
 * has no turn with the parser is left with its sender, since it may have to be refused.
 */
export async function acceptReturned(
  { parse, store, reports, returned }: ReturnedDeps,
  inbound: InboundMail<Addressee>,
): Promise<Receipt | "unavailable"> {
  const { raw, envelope } = inbound;
  const others = inboxesOf(envelope.recipients);
  const path = returnPathOf(envelope.recipients);
  const place = path && (await reports.placeOf(path));
  if (place === undefined && others.length === 0) return refused();
  const mail = await parse(raw, { sender: senderInLine({ ...envelope, recipients: others }) });
  if (mail === undefined) return "unavailable";
  const isReport = place !== undefined && (await reports.takeReturned({ ...inbound, mail }, place));
  if (place === undefined) refused();
  else returned?.(isReport ? "report" : "mail");
  const own = place === undefined || isReport ? [] : [ownCopy(place)];
  const recipients = [...others, ...own];
  return recipients.length === 0 ? "stored" : store({ raw, envelope: { ...envelope, recipients }, mail });

  function refused(): Receipt {
    returned?.("refused");
    return "gone";
  }
}

/** An answer to the return path, filed as if it had been sent to the inbox. */
function ownCopy({ toAddr, inboxId, answeredHash }: ReturnedTo): FoundRecipient {
  return { toAddr, inboxId, answeredHash };
}
