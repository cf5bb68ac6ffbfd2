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
import type { ReportReception } from "./receive-report.ts";

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

export function returnPathsOf(recipients: readonly Addressee[]): FoundReturnPath[] {
  return recipients.filter((recipient) => "messageId" in recipient);
}

export function inboxesOf(recipients: readonly Addressee[]): FoundRecipient[] {
  return recipients.filter((recipient) => "inboxId" in recipient);
}

/**
 * A report is taken for its messages, anything else filed in their inboxes; whoever else the mail is for gets it as ever. One that
 * has no turn with the parser is left with its sender, since it may have to be refused.
 */
export async function acceptReturned(
  { parse, store, reports, returned }: ReturnedDeps,
  inbound: InboundMail<Addressee>,
): Promise<Receipt | "unavailable"> {
  const { raw, envelope } = inbound;
  const others = inboxesOf(envelope.recipients);
  const places = await reports.placesOf(returnPathsOf(envelope.recipients));
  if (places.length === 0 && others.length === 0) return refused();
  const mail = await parse(raw, { sender: senderInLine({ ...envelope, recipients: others }) });
  if (mail === undefined) return "unavailable";
  const isReport = places.length > 0 && (await reports.takeReturned({ ...inbound, mail }, places));
  if (places.length === 0) refused();
  else returned?.(isReport ? "report" : "mail");
  const recipients = isReport ? others : [...others, ...places.map(({ toAddr, inboxId }) => ({ toAddr, inboxId }))];
  return recipients.length === 0 ? "stored" : store({ raw, envelope: { ...envelope, recipients }, mail });

  function refused(): Receipt {
    returned?.("refused");
    return "gone";
  }
}
