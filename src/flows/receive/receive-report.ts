import { isId } from "../../domain/ids.ts";
import type { ParsedMail } from "../../domain/message.ts";
import type { FoundRecipient, FoundReturnPath, InboundMail, MailOutcome } from "../../domain/receive/inbound-mail.ts";
import type { MailReport } from "../../domain/reports/report.ts";
import type { ReportedMessage } from "../../domain/reports/reported-message.ts";
import {
  isPastReporting,
  isPastReturning,
  type ReturnPaths,
  returnPathUser,
} from "../../domain/reports/return-path.ts";
import { mayBeReport, readReport } from "../../mail/report/read-report.ts";
import { inboxAddress, recipientOf, splitAddress } from "../../standards/address.ts";
import { shortDigest } from "../../standards/digest.ts";
import { findMessageNamed } from "../../store/send/message-names.ts";
import { findReturnedMessage } from "../../store/send/reports.ts";
import type { Deps } from "../deps.ts";
import type { ApplyReports } from "./apply-reports.ts";
import type { ReceivedMail } from "./arrival.ts";

export interface ReportingDeps extends Deps {
  returnPaths: ReturnPaths;
  applyReports: ApplyReports;
}

/** Applies the reports in mail that comes to our return paths or to inboxes. */
export interface ReportReception {
  /** Whether the address has the form of a return path, which no inbox can have. */
  isReturnPath(address: string): boolean;
  /** The id of the message of a return path; undefined if the signature is wrong or the message too old. It does not read the database. */
  messageOf(address: string): Promise<string | undefined>;
  /** The inbox of the message of a return path; undefined if the message is deleted or too old for reports. */
  targetOf(path: FoundReturnPath): Promise<ReturnTarget | undefined>;
  /** Applies the report in a mail to a return path. Returns false if the mail is no report and has to be filed. */
  takeReturned(returned: InboundMail<unknown> & { mail: ParsedMail }, target: ReturnTarget): Promise<boolean>;
  /** Applies the report in a mail to inboxes, if it has one. The mail is filed too. Returns whether the report was applied. */
  takeBeside(received: ReceivedMail): Promise<boolean>;
}

/** The message of a return path, and the inbox of that message. The inbox gets mail to the return path that is no report. */
export interface ReturnTarget extends FoundRecipient {
  messageId: string;
  answeredHash: string;
  sentTo: readonly string[];
}

export function reportReception(deps: ReportingDeps): ReportReception {
  const { returnPaths, applyReports } = deps;

  async function messageOf(address: string): Promise<string | undefined> {
    const messageId = await returnPaths.read(splitAddress(address)?.local ?? "");
    return messageId === undefined || isPastReturning(messageId, deps.now()) ? undefined : messageId;
  }

  return {
    isReturnPath: (address) => address.toLowerCase().startsWith(`${returnPathUser}+`),
    messageOf,
    async targetOf({ messageId }) {
      const found = await findReturnedMessage(deps.db.mail, messageId);
      if (found === undefined || isPastReporting(found.createdAt, deps.now())) return undefined;
      const { inboxId, sentTo, messageIdHash: answeredHash } = found;
      return { messageId, inboxId, sentTo, answeredHash, toAddr: inboxAddress(found.username, deps.mailDomain) };
    },
    async takeReturned({ envelope, raw, mail }, { messageId, inboxId, sentTo }) {
      const report = readReport(mail, { sentTo, reversePath: envelope.from });
      if (report === undefined) return false;
      await applyReports([reportedBy(report, raw, { messageId, ofInboxes: [inboxId], proof: "return_path" })]);
      return true;
    },
    async takeBeside(received) {
      const report = readReport(received.mail, besides(received));
      if (report === undefined) return false;
      const { recipients } = received.envelope;
      const shown = (await provenBySender(report)) ?? (await provenByName(deps, report, recipients));
      if (shown === undefined) return false;
      const [outcome] = await applyReports([reportedBy(report, received.raw, shown)]);
      return outcome === "applied";
    },
  };

  /**
   * Finds the message of a report by the original sender, which is its return path: most reports of complaints hide the recipient but not
   * the sender (RFC 5965 §3.2). Its signature is the proof, whichever of our domains it is at.
   */
  async function provenBySender({ originalSender }: MailReport): Promise<Shown | undefined> {
    const messageId = originalSender === undefined ? undefined : await messageOf(originalSender);
    return messageId === undefined ? undefined : { messageId, ofInboxes: undefined, proof: "return_path" };
  }
}

/**
 * Applies the report in a mail, if there is one, and then files the mail. In this order a failure between the two loses nothing: the sender
 * then sends the mail again, and a report may be applied twice without harm, whereas a filed mail is not processed again. A mail whose
 * report was applied cannot be refused.
 */
export function withReports(
  reports: Pick<ReportReception, "takeBeside">,
  receive: (mail: ReceivedMail) => Promise<MailOutcome>,
): (mail: ReceivedMail) => Promise<MailOutcome> {
  return async (received) => {
    const isApplied = mayBeReport(received.mail, besides(received)) && (await reports.takeBeside(received));
    return receive(isApplied ? { ...received, isTaken: true } : received);
  };
}

function besides({ envelope }: ReceivedMail) {
  return { sentTo: undefined, reversePath: envelope.from };
}

type Shown = Pick<ReportedMessage, "messageId" | "ofInboxes" | "proof">;

/**
 * Finds the message by its id or Message-ID in the report. The report applies only if the message is in an inbox that the report came to,
 * or if the report came to postmaster or abuse.
 */
async function provenByName(
  deps: Deps,
  { messageIds, envelopeId }: MailReport,
  recipients: readonly FoundRecipient[],
): Promise<Shown | undefined> {
  // Our Message-IDs have the id of the message before the @, and any of our domains behind it.
  const own = messageIds.flatMap((id) => splitAddress(id)?.local ?? []);
  const named = [...own, envelopeId ?? ""].find((id) => isId("msg", id));
  const messageId = named ?? (await findMessageNamed(deps.db.mail, messageIds.map(shortDigest)));
  if (messageId === undefined) return undefined;
  const isOperators = recipients.some(({ toAddr }) => recipientOf(toAddr, deps.mailDomain).kind === "role");
  const ofInboxes = isOperators ? undefined : recipients.map(({ inboxId }) => inboxId);
  return { messageId, ofInboxes, proof: "message_id" };
}

function reportedBy(
  { source, recipients, isOptOut, reportingMta }: MailReport,
  raw: Uint8Array,
  shown: Shown,
): ReportedMessage {
  return { ...shown, source, recipients, isOptOut, reportingMta, raw };
}
