import { describeOutbound, type Outbound, type SmtpOutbound } from "../../domain/outbound.ts";
import type { NoticeSource } from "../../domain/reports/notice-source.ts";
import { openSession, type SmtpTimings, smtpTimings } from "../../relay/smtp-session.ts";
import { SmtpTrouble } from "../../relay/smtp-trouble.ts";
import { type Finding, findingsOf } from "./finding.ts";
import { checkNotices } from "./relay-notices.ts";
import { checkReturnPath } from "./return-path.ts";

export interface RelayQuestion {
  outbound: Outbound;
  /** Our name for EHLO. */
  smtpHostname: string;
  dataDir: string;
  /** Whether anybody tells us what became of mail. */
  relayNotices?: NoticeSource | undefined;
  /** What mail has for its sender; left out, the relay is not asked whether it takes it. */
  returnPath?: "verp" | "inbox";
  mailDomain?: string;
  /** PEM, trusted in place of the system's authorities. */
  ca?: string | undefined;
  timings?: Partial<SmtpTimings>;
}

/** Whether mail has a way out. A relay is greeted and logged in to as for a mail, which then isn't sent. */
export async function checkRelay(question: RelayQuestion): Promise<Finding[]> {
  const { ok, warn } = findingsOf("relay");
  const { outbound, dataDir } = question;
  switch (outbound.kind) {
    case "smtp":
      return [...(await checkSession(outbound, question)), ...checkNotices(outbound, question.relayNotices)];
    case "direct":
      // Any server that we tried would be a stranger's.
      return [
        ok("direct: mail goes to port 25 of each recipient's server; many providers block that, and none was tried"),
      ];
    default:
      return [
        warn(
          `sandbox: mail to others is written to ${dataDir}/sandbox and reaches nobody`,
          "Set OUTBOUND to smtp://user:password@relay or direct",
        ),
      ];
  }
}

async function checkSession(outbound: SmtpOutbound, question: RelayQuestion): Promise<Finding[]> {
  const { smtpHostname, ca, timings, returnPath, mailDomain } = question;
  const { ok, warn, fail } = findingsOf("relay");
  const { host, port, tls, login } = outbound;
  const target = {
    host,
    address: host,
    port,
    tls,
    login,
    ca,
    hostname: smtpHostname,
    timings: { ...smtpTimings, ...quick, ...timings },
  };
  const senders: Finding[] = [];
  try {
    const session = await openSession(target, undefined);
    if (returnPath === "verp" && mailDomain !== undefined)
      senders.push(await checkReturnPath(session, outbound, mailDomain));
    await session.close();
  } catch (error) {
    if (!(error instanceof SmtpTrouble)) throw error;
    return [fail(error.failure.message, cureOf(error, outbound))];
  }
  const seen = `${describeOutbound(outbound)} takes mail${login ? ", and the login" : ""}`;
  const isPlain = tls === "off" || tls === "opportunistic";
  const taken = isPlain
    ? warn(`${seen}, but TLS is not demanded`, "Leave ?tls out of OUTBOUND unless the relay is on this machine")
    : ok(seen);
  return [taken, ...senders];
}

/** A person waits. */
const quick = { connectMs: 5_000, greetingMs: 10_000, commandMs: 10_000 };

function cureOf({ failure, tlsFailed }: SmtpTrouble, { tls, port }: SmtpOutbound): string {
  if (failure.code !== null && [530, 534, 535, 538].includes(failure.code)) {
    return "Look at user and password in OUTBOUND; special characters need percent-encoding";
  }
  // What a server says to STARTTLS when it doesn't know it, or can't do it now (RFC 3207 §4).
  const isUnknown = tls === "required" && failure.code !== null && [454, 500, 501, 502].includes(failure.code);
  if (isUnknown || tlsFailed || /TLS|certificate|SSL/i.test(failure.message)) {
    return tls === "implicit"
      ? "Look whether this port speaks TLS from the first byte: smtps:// is for port 465, smtp:// for 587 and 25"
      : "Look whether the relay offers STARTTLS with a certificate for its name";
  }
  return `Look at host and port in OUTBOUND, and whether a firewall lets us out to port ${port}`;
}
