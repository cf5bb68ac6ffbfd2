import type { Mailbox, ParsedMail } from "../../domain/message.ts";
import { isAutoReplySubject } from "../../domain/receive/auto-reply-subjects.ts";
import type { MailReport, RecipientReport } from "../../domain/reports/report.ts";
import { isAttachedMail, readComplaint } from "./complaint.ts";
import { hasStatusPart, readStatus } from "./delivery-status.ts";
import { isToldOfMail, readWords, saysFailure, type Words } from "./words.ts";

/** How the mail came. */
export interface Arrived {
  /** Recipients of the message whose return path it came to; undefined for a mail to inboxes alone. */
  sentTo: readonly string[] | undefined;
  /** Of the SMTP transaction; "" for none. */
  reversePath: string;
}

/** Whether a mail is looked at as a report at all. All other mail pays nothing for this. */
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

/** Reports without a part for machines are believed at a return path alone. */
function readFreeForm(mail: ParsedMail, { sentTo, reversePath }: Arrived): MailReport | undefined {
  if (sentTo === undefined) return undefined;
  const isFromDaemon = isDaemon(mail.from);
  // Programs of people answer with a null sender, too (RFC 3834 §3.3).
  if (!isFromDaemon && (reversePath !== "" || isAmong(sentTo, mail.from))) return undefined;
  const words = readWords(mail);
  const isNamed = words.names(sentTo);
  const isReport = isFromDaemon
    ? isToldOfMail(words) || (words.isDelay && isNamed)
    : signsOfReport(words, isNamed) >= 2;
  if (!isReport || (isAutoReply(mail) && !isMarkedReport(mail, words, { isFromDaemon, isNamed }))) return undefined;
  return isFromDaemon ? words.report : asHearsay(words.report);
}

/** How many of three signs a mail from nobody has: our mail is returned, one of its recipients is named, a server's code is told. */
function signsOfReport(words: Words, isNamed: boolean): number {
  // "550 Main Street" and "version 5.1.1" are no codes of a server.
  const hasCode = words.hasBothCodes || (words.hasCode && saysFailure(words));
  return [words.isReturnedByServer, isNamed, hasCode].filter((holds) => holds).length;
}

/** Many servers mark their bounces and warnings as automatic answers. */
function isMarkedReport(
  { signs }: ParsedMail,
  { hasCode, hasReturned, isDelay }: Words,
  { isFromDaemon, isNamed }: { isFromDaemon: boolean; isNamed: boolean },
): boolean {
  if (signs["x-failed-recipients"] !== undefined) return true;
  return isFromDaemon && ((hasCode && hasReturned) || (isDelay && isNamed));
}

/** Words alone suppress nobody unless a mail server says them. */
function asHearsay(report: MailReport): MailReport {
  const recipients = report.recipients.map((told): RecipientReport => {
    const hasCode = told.code !== undefined || told.enhancedCode !== undefined;
    return hasCode ? told : { ...told, isHearsay: true };
  });
  return { ...report, recipients };
}

function isDaemon(from: Mailbox | undefined): boolean {
  return from !== undefined && (daemonAddress.test(from.address) || daemonName.test(from.name ?? ""));
}

/** Exchange Online has a name of its own with a number behind it. */
const daemonAddress =
  /^(?:mailer[-_.]?daemon|mail[-_.]?daemon|mdaemon|postmaster|microsoftexchange[0-9a-f]{16,40})(?:[@+]|$)/i;
const daemonName = /^(?:mailer-daemon|postmaster|mail delivery (?:sub)?system|mail system|internet mail delivery)$/i;

function isAmong(addresses: readonly string[], from: Mailbox | undefined): boolean {
  const address = from?.address.toLowerCase();
  return addresses.some((one) => one.toLowerCase() === address);
}

/** RFC 3834 has out-of-office replies sent to the return path. */
function isAutoReply({ signs, subject }: ParsedMail): boolean {
  return (
    signs["auto-submitted"] === "auto-replied" ||
    signs["x-autoreply"] !== undefined ||
    signs["x-autorespond"] !== undefined ||
    signs.precedence === "auto_reply" ||
    isAutoReplySubject(subject)
  );
}
