import type { Mailbox, ParsedMail } from "../../domain/message.ts";
import { isAutoReplySubject } from "../../domain/receive/auto-reply-subjects.ts";
import type { MailReport, RecipientReport } from "../../domain/reports/report.ts";
import { isAttachedMail, readComplaint } from "./complaint.ts";
import { hasStatusPart, readStatus } from "./delivery-status.ts";
import { isAboutMail, readWords, statesFailure, type Words } from "./words.ts";

/** The facts from the envelope of a received mail. */
export interface Arrived {
  /** The recipients of our message, if this mail came to its return path; undefined for a mail to inboxes only. */
  sentTo: readonly string[] | undefined;
  /** The sender in the SMTP transaction; "" for none. */
  reversePath: string;
}

/** True if a mail may be a report: a quick test, so that ordinary mail costs nothing more. */
export function mayBeReport(
  mail: Pick<ParsedMail, "signs" | "attachments">,
  { sentTo, reversePath }: Arrived,
): boolean {
  return sentTo !== undefined || reversePath === "" || mail.signs["report-type"] !== undefined || isAttachedMail(mail);
}

/** The report in this mail, or undefined if it is an ordinary mail. */
export function readReport(mail: ParsedMail, arrived: Arrived): MailReport | undefined {
  if (!mayBeReport(mail, arrived)) return undefined;
  return readStatus(mail) ?? (hasStatusPart(mail) ? undefined : readComplaint(mail)) ?? readFreeForm(mail, arrived);
}

/** Reads a report without a machine-readable part. It is trusted only at a return path. */
function readFreeForm(mail: ParsedMail, { sentTo, reversePath }: Arrived): MailReport | undefined {
  if (sentTo === undefined) return undefined;
  const isFromDaemon = isDaemon(mail.from);
  // Out-of-office programs also use a null sender (RFC 3834 §3.3), so a mail from a recipient does not count.
  if (!isFromDaemon && (reversePath !== "" || isAmong(sentTo, mail.from))) return undefined;
  const words = readWords(mail);
  const isNamed = words.names(sentTo);
  const isReport = isFromDaemon ? isAboutMail(words) || (words.isDelay && isNamed) : signsOfReport(words, isNamed) >= 2;
  if (!isReport || (isAutoReply(mail) && !isMarkedReport(mail, words, { isFromDaemon, isNamed }))) return undefined;
  return isFromDaemon ? words.report : asHearsay(words.report);
}

/** Counts the signs of a report in a mail: it returns a mail, it names a recipient of our mail, it has the code of a server's reply. */
function signsOfReport(words: Words, isNamed: boolean): number {
  // "550 Main Street" and "version 5.1.1" are no codes of a server.
  const hasCode = words.hasBothCodes || (words.hasCode && statesFailure(words));
  return [words.isReturnedByServer, isNamed, hasCode].filter((holds) => holds).length;
}

/** True if a mail that is marked as an automatic reply is a report. Many servers mark their bounces and warnings so. */
function isMarkedReport(
  { signs }: ParsedMail,
  { hasCode, hasReturned, isDelay }: Words,
  { isFromDaemon, isNamed }: { isFromDaemon: boolean; isNamed: boolean },
): boolean {
  if (signs["x-failed-recipients"] !== undefined) return true;
  return isFromDaemon && ((hasCode && hasReturned) || (isDelay && isNamed));
}

/** Marks recipients without a server's code as hearsay, which suppresses no address. */
function asHearsay(report: MailReport): MailReport {
  const recipients = report.recipients.map((recipient): RecipientReport => {
    const hasCode = recipient.code !== undefined || recipient.enhancedCode !== undefined;
    return hasCode ? recipient : { ...recipient, isHearsay: true };
  });
  return { ...report, recipients };
}

function isDaemon(from: Mailbox | undefined): boolean {
  return from !== undefined && (daemonAddress.test(from.address) || daemonName.test(from.name ?? ""));
}

/** The addresses of mail servers. Exchange Online has its own name with a number. */
const daemonAddress =
  /^(?:mailer[-_.]?daemon|mail[-_.]?daemon|mdaemon|postmaster|microsoftexchange[0-9a-f]{16,40})(?:[@+]|$)/i;
const daemonName = /^(?:mailer-daemon|postmaster|mail delivery (?:sub)?system|mail system|internet mail delivery)$/i;

function isAmong(addresses: readonly string[], from: Mailbox | undefined): boolean {
  const address = from?.address.toLowerCase();
  return addresses.some((one) => one.toLowerCase() === address);
}

/** True for an automatic reply, such as an out-of-office reply. It comes to the return path, too, as RFC 3834 requires. */
function isAutoReply({ signs, subject }: ParsedMail): boolean {
  return (
    signs["auto-submitted"] === "auto-replied" ||
    signs["x-autoreply"] !== undefined ||
    signs["x-autorespond"] !== undefined ||
    signs.precedence === "auto_reply" ||
    isAutoReplySubject(subject)
  );
}
