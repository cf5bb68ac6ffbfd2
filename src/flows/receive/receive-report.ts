import { isId } from "../../domain/ids.ts";
import type { ParsedMail } from "../../domain/message.ts";
import type { Receipt } from "../../domain/receive/file-mails.ts";
import type { FoundRecipient, FoundReturnPath, InboundMail } from "../../domain/receive/inbound-mail.ts";
import type { MailReport } from "../../domain/reports/report.ts";
import type { ReportedMessage } from "../../domain/reports/reported-message.ts";
import {
  isPastReporting,
  isPastReturning,
  type ReturnPaths,
  returnPathUser,
} from "../../domain/reports/return-path.ts";
import { mayBeReport, readReport } from "../../mail/report/read-report.ts";
import { asciiDomain, recipientOf, splitAddress } from "../../standards/address.ts";
import { shortDigest } from "../../standards/digest.ts";
import { findMessageNamed, findReturnPlace } from "../../store/send/reported-messages.ts";
import type { Deps } from "../deps.ts";
import type { ApplyReports } from "./apply-reports.ts";
import type { ReceivedMail } from "./arrival.ts";

export interface ReportingDeps extends Deps {
  returnPaths: ReturnPaths;
  applyReports: ApplyReports;
}

/** What came to return paths of ours, and what came to inboxes and may be a report all the same. */
export interface ReportReception {
  /** Whether the address is of the shape of a return path, so that no inbox can have it. */
  isReturnPath(address: string): boolean;
  /** The message whose return path it is; undefined where that is not proven, or it is too old. The database is not asked. */
  messageOf(address: string): Promise<string | undefined>;
  /** Where it leads now: to the inbox of its message. */
  placeOf(path: FoundReturnPath): Promise<ReturnedTo | undefined>;
  /** False where the mail is not shown to be a report: then it is mail. */
  takeReturned(returned: InboundMail<unknown> & { mail: ParsedMail }, place: ReturnedTo): Promise<boolean>;
  /** What a mail to inboxes reports of messages of ours has its effects, beside that it is mail. */
  takeBeside(received: ReceivedMail): Promise<void>;
}

/** The inbox that a mail to a return path is for, if it is no report, and the message that the path names. */
export interface ReturnedTo extends FoundRecipient {
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
    async placeOf({ messageId }) {
      const place = await findReturnPlace(deps.db.mail, messageId);
      if (place === undefined || isPastReporting(place.createdAt, deps.now())) return undefined;
      const { inboxId, sentTo, messageIdHash: answeredHash } = place;
      return { messageId, inboxId, sentTo, answeredHash, toAddr: `${place.username}@${deps.mailDomain}` };
    },
    async takeReturned({ envelope, raw, mail }, { messageId, inboxId, sentTo }) {
      const report = readReport(mail, { sentTo, reversePath: envelope.from });
      if (report === undefined) return false;
      await applyReports([told(report, raw, { messageId, ofInboxes: [inboxId], proof: "return_path" })]);
      return true;
    },
    async takeBeside(received) {
      const report = readReport(received.mail, besides(received));
      if (report === undefined) return;
      const { recipients } = received.envelope;
      const shown = (await provenBySender(report)) ?? (await provenByName(deps, report, recipients));
      if (shown !== undefined) await applyReports([told(report, received.raw, shown)]);
    },
  };

  /** Most who tell of complaints black out the recipient, and keep the sender (RFC 5965 §3.2). */
  async function provenBySender({ originalSender }: MailReport): Promise<Shown | undefined> {
    const domain = splitAddress(originalSender ?? "")?.domain;
    if (originalSender === undefined || asciiDomain(domain ?? "") !== deps.mailDomain.toLowerCase()) return undefined;
    const messageId = await messageOf(originalSender);
    return messageId === undefined ? undefined : { messageId, ofInboxes: undefined, proof: "return_path" };
  }
}

/**
 * Files mail, and takes what it reports beside that. The report first: told once more it changes nothing, and the promise to file
 * a mail goes with its filing.
 */
export function withReports(
  reports: Pick<ReportReception, "takeBeside">,
  receive: (mail: ReceivedMail) => Promise<Receipt>,
): (mail: ReceivedMail) => Promise<Receipt> {
  return async (received) => {
    if (mayBeReport(received.mail, besides(received))) await reports.takeBeside(received);
    return receive(received);
  };
}

function besides({ envelope }: ReceivedMail) {
  return { sentTo: undefined, reversePath: envelope.from };
}

type Shown = Pick<ReportedMessage, "messageId" | "ofInboxes" | "proof">;

/** It names a message of an inbox that it came to. What comes to the operator may name one of any. */
async function provenByName(
  deps: Deps,
  { messageIds, envelopeId }: MailReport,
  recipients: readonly FoundRecipient[],
): Promise<Shown | undefined> {
  const suffix = `@${deps.mailDomain.toLowerCase()}`;
  const own = messageIds.flatMap((id) => (id.endsWith(suffix) ? id.slice(0, -suffix.length) : []));
  const named = [...own, envelopeId ?? ""].find((id) => isId("msg", id));
  const messageId = named ?? (await findMessageNamed(deps.db.mail, messageIds.map(shortDigest)));
  if (messageId === undefined) return undefined;
  const isOperators = recipients.some(({ toAddr }) => recipientOf(toAddr, deps.mailDomain).kind === "role");
  const ofInboxes = isOperators ? undefined : recipients.map(({ inboxId }) => inboxId);
  return { messageId, ofInboxes, proof: "message_id" };
}

function told(
  { source, recipients, isOptOut, reportingMta }: MailReport,
  raw: Uint8Array,
  shown: Shown,
): ReportedMessage {
  return { ...shown, source, recipients, isOptOut, reportingMta, raw };
}
