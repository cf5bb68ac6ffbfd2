import type { ParsedMail } from "../../domain/message.ts";
import { isAutoReplySubject } from "../../domain/receive/auto-reply-subjects.ts";
import type { MailReport } from "../../domain/reports/report.ts";
import { readComplaint } from "./complaint.ts";
import { hasStatusPart, readStatus } from "./delivery-status.ts";
import { isToldOfMail, readWords } from "./words.ts";

/** How the mail came. */
export interface Arrived {
  /** It came to the return path of a message of ours: only there words alone can be a report. */
  atReturnPath: boolean;
  /** Of the SMTP transaction; "" for none. */
  reversePath: string;
}

/** Whether a mail is looked at as a report at all: all other mail pays nothing for this. */
export function mayBeReport({ signs }: Pick<ParsedMail, "signs">, { atReturnPath, reversePath }: Arrived): boolean {
  return atReturnPath || reversePath === "" || signs["report-type"] !== undefined;
}

/** What a mail reports about one that we sent; undefined where it is not shown to be a report, and so is mail. */
export function readReport(mail: ParsedMail, arrived: Arrived): MailReport | undefined {
  if (!mayBeReport(mail, arrived)) return undefined;
  return readStatus(mail) ?? (hasStatusPart(mail) ? undefined : readComplaint(mail)) ?? readFreeForm(mail, arrived);
}

function readFreeForm(mail: ParsedMail, { atReturnPath, reversePath }: Arrived): MailReport | undefined {
  const isDaemon = daemon.test(mail.from?.address ?? "");
  if (!atReturnPath || !(reversePath === "" || isDaemon)) return undefined;
  const words = readWords(mail);
  if (!isToldOfMail(words)) return undefined;
  if (!isAutoReply(mail)) return words.report;
  // Many servers mark their bounces as automatic answers.
  const isMarked = mail.signs["x-failed-recipients"] !== undefined || (isDaemon && words.hasCode && words.hasReturned);
  return isMarked ? words.report : undefined;
}

const daemon = /^(?:mailer-daemon|mail-daemon|postmaster)(?:@|$)/i;

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
