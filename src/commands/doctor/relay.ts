import { describeOutbound, type Outbound, type SmtpOutbound } from "../../domain/outbound.ts";
import { type NoticeSource, providerOfHost } from "../../domain/reports/notice-source.ts";
import { returnPathLike } from "../../domain/reports/return-path.ts";
import { openSession, relayTarget, type SmtpSession, type SmtpTimings } from "../../relay/smtp-session.ts";
import { SmtpTrouble } from "../../relay/smtp-trouble.ts";
import { replyAsLine } from "../../standards/smtp-reply.ts";
import { type Finding, findingsOf } from "./finding.ts";

export interface RelayQuestion {
  outbound: Outbound;
  /** The name for EHLO. */
  smtpHostname: string;
  dataDir: string;
  /** The relay that reports bounces and complaints by its webhook (RELAY_NOTICES). */
  relayNotices?: NoticeSource | undefined;
  /** The envelope sender of our mail (RETURN_PATH). Without it, the relay is not tested with a return path. */
  returnPath?: "verp" | "inbox";
  mailDomain?: string;
  /** PEM of the trusted authorities, in place of the system's. */
  ca?: string | undefined;
  timings?: Partial<SmtpTimings>;
}

/** Checks that mail can be sent. Connects and logs in to a relay as for a mail, but sends none. */
export async function checkRelay(question: RelayQuestion): Promise<Finding[]> {
  const { ok, warn } = findingsOf("relay");
  const { outbound, dataDir } = question;
  switch (outbound.kind) {
    case "smtp":
      return [...(await checkSession(outbound, question)), ...checkNotices(outbound, question.relayNotices)];
    case "direct":
      // No mail server is contacted, because all of them belong to strangers.
      return [
        ok(
          "direct: mail goes to port 25 of each recipient's server, which was not tested; many providers block that port",
        ),
      ];
    default:
      return [
        warn(
          `sandbox: mail to other domains is written to ${dataDir}/sandbox and not sent`,
          "Set OUTBOUND to smtp://user:password@relay or direct",
        ),
      ];
  }
}

async function checkSession(outbound: SmtpOutbound, question: RelayQuestion): Promise<Finding[]> {
  const { smtpHostname, ca, timings, returnPath, mailDomain } = question;
  const { ok, warn, fail } = findingsOf("relay");
  const target = relayTarget(outbound, { hostname: smtpHostname, ca, timings: { ...quick, ...timings } });
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
  const { tls, login } = outbound;
  const seen = `${describeOutbound(outbound)} accepts ${login ? "the login and mail" : "mail"}`;
  const isPlain = tls === "off" || tls === "opportunistic";
  const taken = isPlain
    ? warn(`${seen}, but TLS is not required`, "Remove ?tls from OUTBOUND, unless the relay is on this machine")
    : ok(seen);
  return [taken, ...senders];
}

/** Shorter than for mail, because a person waits. */
const quick = { connectMs: 5_000, greetingMs: 10_000, commandMs: 10_000 };

function cureOf({ failure, tlsFailed }: SmtpTrouble, { tls, port }: SmtpOutbound): string {
  if (failure.code !== null && [530, 534, 535, 538].includes(failure.code)) {
    return "Check the user and password in OUTBOUND; special characters need percent-encoding";
  }
  // Replies to STARTTLS from a server that does not know it, or cannot start it now (RFC 3207 §4).
  const isUnknown = tls === "required" && failure.code !== null && [454, 500, 501, 502].includes(failure.code);
  if (isUnknown || tlsFailed || /TLS|certificate|SSL/i.test(failure.message)) {
    return tls === "implicit"
      ? "Check that this port uses TLS from the first byte: smtps:// is for port 465, smtp:// for 587 and 25"
      : "Check that the relay offers STARTTLS with a certificate for its name";
  }
  return `Check the host and port in OUTBOUND, and that no firewall blocks port ${port}`;
}

/** Checks that the relay accepts the return paths of this service as envelope senders. No mail is sent. */
async function checkReturnPath(session: SmtpSession, outbound: SmtpOutbound, mailDomain: string): Promise<Finding> {
  const { ok, warn, fail } = findingsOf("relay return path");
  const relay = describeOutbound(outbound);
  const reply = await session.askSender(returnPathLike(mailDomain)).catch(() => undefined);
  if (reply === undefined) return warn(`${relay} does not answer to our return path`, "Run this again");
  if (reply.code < 300) return ok(`${relay} accepts it: bounces come to an address of their own`);
  const seen = `${relay} refuses it: ${replyAsLine(reply)}`;
  if (reply.code !== 550 && reply.code !== 553) return warn(seen, "Read its reply, and run this again");
  return fail(
    seen,
    `Allow any sender at ${mailDomain} there, or set RETURN_PATH=inbox: bounces then come to the inboxes as mail`,
  );
}

/** Warns if no notices are set up for a relay that replaces the envelope sender of our mail: its bounces never come here. */
export function checkNotices({ host }: { host: string }, relayNotices: NoticeSource | undefined): Finding[] {
  const provider = providerOfHost(host);
  if (provider === undefined) return [];
  const { ok, warn } = findingsOf("relay notices");
  if (relayNotices?.provider === provider) return [ok(`${host} reports bounces and complaints by its webhook`)];
  if (relayNotices !== undefined) {
    return [
      warn(
        `RELAY_NOTICES is for ${relayNotices.provider}, and mail goes through ${host}`,
        `Set RELAY_NOTICES=${provider}:… unless another program translates its webhook`,
      ),
    ];
  }
  return [
    warn(
      `${host} reports bounces and complaints only by webhook, and RELAY_NOTICES is not set: they stay unknown`,
      `Set RELAY_NOTICES=${provider}:… and give the relay the address /v1/relay-notices`,
    ),
  ];
}
