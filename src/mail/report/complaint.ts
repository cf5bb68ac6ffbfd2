import type { ParsedMail } from "../../domain/message.ts";
import type { MailReport, RecipientTold } from "../../domain/reports/report.ts";
import { cleanLine } from "../../standards/smtp-reply.ts";
import { addressIn, type Fields, fieldGroups, withoutType } from "./fields.ts";
import { idsOfHead, returnedHead } from "./returned-mail.ts";

/** A complaint, or a wish to be left alone (RFC 5965). */
export function readComplaint(mail: ParsedMail): MailReport | undefined {
  const part = mail.attachments.find(({ contentType }) => contentType === "message/feedback-report");
  if (part === undefined) return undefined;
  const fields: Fields = new Map(fieldGroups(part.bytes).flatMap((group) => [...group]));
  const feedback = (fields.get("feedback-type") ?? "").toLowerCase().split(/[\s;(]/, 1)[0] ?? "";
  if (feedback === "") return undefined;
  const isOptOut = feedback === "opt-out" || feedback === "opt-out-list";
  // What says that it was no spam, and authentication failures (RFC 6591), are told and change nothing.
  const kind = complaints.has(feedback) ? "complained" : undefined;
  const recipient: RecipientTold = {
    kind,
    type: undefined,
    originalRecipient: addressIn(fields.get("original-rcpt-to")),
    finalRecipient: addressIn(fields.get("removal-recipient")),
    code: undefined,
    enhancedCode: undefined,
    diagnostic: cleanLine(`feedback-type: ${feedback}`, 1000),
    remoteMta: undefined,
  };
  const head = returnedHead(mail);
  return {
    source: "arf",
    recipients: [recipient],
    messageIds: idsOfHead(head),
    envelopeId: fields.get("original-envelope-id"),
    reportingMta: withoutType(fields.get("reporting-mta")),
    originalSender: addressIn(fields.get("original-mail-from")) ?? addressIn(head?.get("return-path")),
    isOptOut,
  };
}

const complaints: ReadonlySet<string> = new Set(["abuse", "fraud", "virus", "other"]);
