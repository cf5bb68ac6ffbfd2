import type { ParsedMail } from "../../domain/message.ts";
import type { MailReport, RecipientReport } from "../../domain/reports/report.ts";
import { cleanLine } from "../../standards/smtp-reply.ts";
import { addressIn, type Fields, fieldGroups, withoutType } from "./fields.ts";
import { idsOfHead, returnedHead } from "./returned-mail.ts";

/** Reads a complaint or an opt-out, in the format of RFC 5965 or in Microsoft's own. */
export function readComplaint(mail: ParsedMail): MailReport | undefined {
  return readFeedback(mail) ?? readMicrosoftComplaint(mail);
}

function readFeedback(mail: ParsedMail): MailReport | undefined {
  const part = mail.attachments.find(({ contentType }) => contentType === "message/feedback-report");
  if (part === undefined) return undefined;
  const fields: Fields = new Map(fieldGroups(part.bytes).flatMap((group) => [...group]));
  const feedback = (fields.get("feedback-type") ?? "").toLowerCase().split(/[\s;(]/, 1)[0] ?? "";
  if (feedback === "") return undefined;
  const isOptOut = feedback === "opt-out" || feedback === "opt-out-list";
  // Reports of "not spam" and of authentication failures (RFC 6591) have no kind: they are passed on without any effect.
  const kind = complaints.has(feedback) ? "complained" : undefined;
  const head = returnedHead(mail);
  return {
    ...complaintAbout(head),
    recipients: [
      {
        ...recipientOf(kind, cleanLine(`feedback-type: ${feedback}`, 1000)),
        originalRecipient: addressIn(fields.get("original-rcpt-to")),
        finalRecipient: addressIn(fields.get("removal-recipient")),
      },
    ],
    envelopeId: fields.get("original-envelope-id"),
    reportingMta: withoutType(fields.get("reporting-mta")),
    originalSender: addressIn(fields.get("original-mail-from")) ?? addressIn(head?.get("return-path")),
    isOptOut,
  };
}

const complaints: ReadonlySet<string> = new Set(["abuse", "fraud", "virus", "other"]);

/** True if the only content is another mail, as in Microsoft's complaints and in mail forwarded as an attachment. */
export function isAttachedMail({ attachments: [first, second] }: Pick<ParsedMail, "attachments">): boolean {
  return second === undefined && first?.contentType === "message/rfc822";
}

/** Hotmail and Outlook.com attach the mail and add the recipient to its header. */
function readMicrosoftComplaint(mail: ParsedMail): MailReport | undefined {
  const head = isAttachedMail(mail) ? returnedHead(mail) : undefined;
  const recipient = addressIn(head?.get("x-hmxmroriginalrecipient"));
  if (recipient === undefined) return undefined;
  return {
    ...complaintAbout(head),
    recipients: [{ ...recipientOf("complained", "complaint"), originalRecipient: recipient }],
  };
}

function complaintAbout(head: Fields | undefined): MailReport {
  return {
    source: "arf",
    recipients: [],
    messageIds: idsOfHead(head),
    envelopeId: undefined,
    reportingMta: undefined,
    originalSender: addressIn(head?.get("return-path")),
    isOptOut: false,
  };
}

function recipientOf(kind: RecipientReport["kind"], diagnostic: string): RecipientReport {
  return {
    kind,
    diagnostic,
    type: undefined,
    originalRecipient: undefined,
    finalRecipient: undefined,
    code: undefined,
    enhancedCode: undefined,
    remoteMta: undefined,
  };
}
