import { type SimulatedFate, simulatorDomain } from "../../domain/reports/simulated.ts";

export interface SimulatedReport {
  fate: SimulatedFate;
  recipient: string;
  /** The sender of the mail's envelope. */
  envelopeFrom: string;
  envelopeId: string;
  /** The mail's own header. */
  head: string;
  at: Date;
}

interface SimulatedStatus {
  action: string;
  status: string;
  diagnostic: string;
}

const statuses: Readonly<Record<Exclude<SimulatedFate, "complain">, SimulatedStatus>> = {
  bounce: { action: "failed", status: "5.1.1", diagnostic: "550 5.1.1 User unknown" },
  soft: { action: "failed", status: "5.2.2", diagnostic: "552 5.2.2 Mailbox full" },
  delay: { action: "delayed", status: "4.4.1", diagnostic: "451 4.4.1 No answer from host" },
  deliver: { action: "delivered", status: "2.0.0", diagnostic: "250 2.0.0 Delivered" },
};

/** The report that a server would send back (RFC 3464), or a provider whose user complained (RFC 5965). */
export function simulatedReport(report: SimulatedReport): Uint8Array {
  const { fate, recipient, envelopeFrom, envelopeId, head, at } = report;
  const date = at.toUTCString().replace("GMT", "+0000");
  const status = fate === "complain" ? undefined : statuses[fate];
  // The report contains the header of the mail, and no line of a header begins like this boundary.
  const boundary = `=_report_${envelopeId}`;
  const part = (type: string, lines: readonly string[]) => [`--${boundary}`, `Content-Type: ${type}`, "", ...lines, ""];
  const lines = [
    `From: Simulator <mailer-daemon@${simulatorDomain}>`,
    `To: ${envelopeFrom}`,
    `Subject: ${status === undefined ? "Complaint" : `Delivery status: ${status.action}`} (simulated)`,
    `Date: ${date}`,
    `Message-ID: <${fate}.${at.getTime()}.${envelopeId}@${simulatorDomain}>`,
    "Auto-Submitted: auto-replied",
    "MIME-Version: 1.0",
    `Content-Type: multipart/report; report-type=${status === undefined ? "feedback-report" : "delivery-status"};`,
    ` boundary="${boundary}"`,
    "",
    ...part("text/plain; charset=utf-8", [
      "A report by inboxd's simulator.",
      "",
      `<${recipient}>: ${status?.diagnostic ?? "complained"}`,
    ]),
    ...(status === undefined
      ? part("message/feedback-report", feedback(report, date))
      : part("message/delivery-status", deliveryStatus(report, status, date))),
    ...part("text/rfc822-headers; charset=utf-8", [head]),
    `--${boundary}--`,
    "",
  ];
  return new TextEncoder().encode(lines.join("\r\n"));
}

function deliveryStatus({ recipient, envelopeId }: SimulatedReport, status: SimulatedStatus, date: string): string[] {
  return [
    `Reporting-MTA: dns; ${simulatorDomain}`,
    `Original-Envelope-Id: ${envelopeId}`,
    `Arrival-Date: ${date}`,
    "",
    `Original-Recipient: rfc822; ${recipient}`,
    `Final-Recipient: rfc822; ${recipient}`,
    `Action: ${status.action}`,
    `Status: ${status.status}`,
    `Remote-MTA: dns; mx.${simulatorDomain}`,
    `Diagnostic-Code: smtp; ${status.diagnostic}`,
  ];
}

function feedback({ recipient, envelopeFrom }: SimulatedReport, date: string): string[] {
  return [
    "Feedback-Type: abuse",
    "User-Agent: inboxd-simulator/1",
    "Version: 1",
    `Original-Mail-From: <${envelopeFrom}>`,
    `Original-Rcpt-To: <${recipient}>`,
    `Arrival-Date: ${date}`,
    `Reporting-MTA: dns; ${simulatorDomain}`,
  ];
}
