import type { MailOutcome } from "../domain/receive/inbound-mail.ts";
import { envelopeSenders, returnPaths } from "../domain/reports/return-path.ts";
import { type UnsubscribeNames, unsubscribeNames } from "../domain/reports/unsubscribing.ts";
import { type OwnHosts, ownHosts } from "../flows/own-hosts.ts";
import { type MailDoor, mailDoor } from "../flows/receive/accept-mail.ts";
import { type ApplyReports, reportApplier } from "../flows/receive/apply-reports.ts";
import type { ReceivedMail } from "../flows/receive/arrival.ts";
import { withOpinion } from "../flows/receive/ask-judge.ts";
import { type Authenticate, senderAuthenticator } from "../flows/receive/authenticate-sender.ts";
import { withForwarding } from "../flows/receive/forward-mail.ts";
import { inboxOwners } from "../flows/receive/inbox-owners.ts";
import { withJudgment } from "../flows/receive/judge-mail.ts";
import { noticeProof } from "../flows/receive/prove-notices.ts";
import { mailReceiver } from "../flows/receive/receive-email.ts";
import { reportReception, withReports } from "../flows/receive/receive-report.ts";
import { mailReleaser, type ReleaseMail } from "../flows/receive/release-mail.ts";
import { noticeTaker } from "../flows/receive/take-notices.ts";
import { postedMailTaker } from "../flows/receive/take-posted-mail.ts";
import { receiveUnparsed } from "../flows/receive/unparsed-mail.ts";
import { type Unsubscribing, unsubscribing } from "../flows/send/unsubscribe.ts";
import type { InboundDeps } from "../http/routes/receive/inbound.ts";
import type { RelayNoticesDeps } from "../http/routes/send/relay-notices.ts";
import { authenticateMail } from "../mail/authenticate/authenticate.ts";
import { type MailParser, mailParser } from "../mail/read/parse.ts";
import { rate } from "../primitives/rate.ts";
import { loadCertificate, selfSigned } from "../smtp/certificate.ts";
import { type CertificateWatch, watchCertificate } from "../smtp/certificate-watch.ts";
import type { SmtpDoor } from "../smtp/door.ts";
import { mailMemory, type SmtpListener, startSmtp } from "../smtp/listener.ts";
import type { MemoryBudget } from "../smtp/memory-budget.ts";
import { type PostedMails, postedMails } from "../smtp/posted-mail.ts";
import type { Certificate } from "../smtp/self-signed.ts";
import { defaultLimits } from "../smtp/smtp-limits.ts";
import { isInBlocks, originOf } from "../standards/ip.ts";
import { returnPathKey } from "../standards/signature.ts";
import { version } from "../version.ts";
import { webhookClient } from "../webhook/client.ts";
import { judgeAsker } from "../webhook/judge.ts";
import type { WorkerDeps } from "../workers/scheduler.ts";
import { openHandOver, openUnsubscribing } from "./cells.ts";
import type { Opening } from "./opening.ts";

/** The parts that receive mail, from the listener and from our own sends to our own domain. */
export interface Receiving {
  door: MailDoor;
  /** The memory for mails that are being received, by SMTP and by HTTP. */
  memory: MemoryBudget;
  posted: PostedMails;
  receiveUnparsed: WorkerDeps["receiveUnparsed"];
  /** Converts Markdown in the processes of the parser, which are killed if they take too long. */
  htmlOfMarkdown: MailParser["htmlOfMarkdown"];
  /** Applies reports, also those that do not come by mail but in notices of the relay. */
  applyReports: ApplyReports;
  hosts: OwnHosts;
  unsubscribeNames: UnsubscribeNames;
  unsubscribing: Unsubscribing;
  envelopeFrom: WorkerDeps["envelopeFrom"];
  releaseMail: ReleaseMail;
}

export async function openReceiving(opening: Opening, signingKey: string): Promise<Receiving> {
  const { config, deps, watch, closed, rules, opened } = opening;
  const { mailDomain, returnPath, bounceSuppressionDays } = config;
  const key = await returnPathKey(signingKey);
  const paths = returnPaths(key, mailDomain);
  const names = unsubscribeNames(key, mailDomain);
  const leaving = unsubscribing({
    ...deps,
    names,
    unsubscribed: watch.reports.unsubscribed,
    moves: closed,
    unsubscribeIn: openUnsubscribing(opening),
  });
  const reportPolicy = { mailDomain, bounceSuppressionDays, messageIdSuppresses: returnPath === "inbox" };
  const applyReports = reportApplier({ ...deps, ...watch.reports, reportPolicy });
  const reports = reportReception({ ...deps, returnPaths: paths, applyReports });
  const parser = mailParser({
    mailDomain: config.mailDomain,
    onFault: (fault) => deps.log.warn({ fault }, "parser failed"),
  });
  opened.push(parser.close);
  const owners = inboxOwners(deps);
  const file = watch.step("commit", mailReceiver(deps));
  const judging = { ...deps, rules, owners, quarantineDays: config.quarantineDays, blocked: watch.blocked };
  const receive = watch.receive(withReports(reports, withJudge(opening, withJudgment(judging, file))));
  const parse = watch.step("parse", parser.parseQueued);
  const receiving = { ...deps, parse, authenticate: authenticatorOf(opening, parser), receive };
  const hosts = ownHosts(deps, config.outbound.kind === "sandbox");
  const memory = mailMemory(defaultLimits(config.smtpMaxBytes), config.smtpMaxBytes);
  const posted = postedMails({ maxBytes: config.smtpMaxBytes, memory });
  opened.push(posted.stop);
  const door = mailDoor({
    ...receiving,
    hosts,
    owners,
    reports,
    unsubscribing: leaving,
    returned: watch.reports.returned,
    operatorInbox: config.operatorInbox,
    closureOf: closed.closureOf,
    moves: closed,
  });
  const handOver = openHandOver(opening);
  return {
    memory,
    posted,
    door: {
      ...door,
      ...(handOver && { accept: withForwarding({ ...deps, moves: closed, handOver }, door.accept) }),
    },
    applyReports,
    hosts,
    unsubscribeNames: names,
    unsubscribing: leaving,
    envelopeFrom: envelopeSenders(returnPath, paths),
    htmlOfMarkdown: parser.htmlOfMarkdown,
    releaseMail: mailReleaser({ ...deps, parse: parser.parse, file }),
    receiveUnparsed: (mail, claim, signal) => receiveUnparsed(receiving, mail, claim, signal),
  };
}

/** Asks the operator's judge, if there is one, before a mail is filed. */
function withJudge(
  { config, deps, watch, opened }: Opening,
  receive: (mail: ReceivedMail) => Promise<MailOutcome>,
): (mail: ReceivedMail) => Promise<MailOutcome> {
  const { judge, judgeSecret: secret, judgeTimeoutMs: timeoutMs, judgeFails: fails } = config;
  if (judge === undefined) return receive;
  const client = webhookClient({ allowPrivate: true, version, timeoutMs });
  opened.push(client.close);
  const ask = watch.askJudge(judgeAsker(judge, { client, secret, now: deps.now }));
  return withOpinion({ ...deps, ask, fails }, receive);
}

function authenticatorOf(
  { config, deps: { now, log }, watch, dns }: Opening,
  { readSignatures }: Pick<MailParser, "readSignatures">,
): Authenticate {
  const settings = {
    timeoutMs: config.authTimeoutMs,
    hostname: config.smtpHostname,
    trustedSealers: config.trustedArcSealers,
    trustedAuthservIds: config.trustedAuthservIds,
  };
  const check = watch.authenticate((mail, sender) =>
    authenticateMail(mail, {
      settings,
      now: now(),
      resolve: dns.ask,
      recall: dns.recall,
      readApart: (raw, signal) => readSignatures(raw, { sender, signal }),
    }),
  );
  return senderAuthenticator({
    choice: config.authenticate,
    isSandbox: config.outbound.kind === "sandbox",
    trustedRelays: config.trustedRelays,
    check,
    log,
  });
}

/** How often the files of the certificate are read. A renewed one is in use within a minute. */
const certificateReadMs = 30_000;

/** The most networks whose mails are counted. One takes about 100 bytes. */
const mostNetworks = 100_000;

/** Listens for mail, with a certificate that is renewed while sessions go on. */
export async function openSmtp(
  opening: Opening,
  { door, memory }: Receiving,
): Promise<{ smtp: SmtpListener; certificate: CertificateWatch }> {
  const { config, deps, watch, opened } = opening;
  const certificate = await certificateOf(opening);
  const watched = { ...door, accept: watch.accept("smtp", door.accept) };
  const most = config.smtpMailsPerMinutePerAddress;
  const mails = rate<string>({ most, periodMs: 60_000, keys: mostNetworks });
  const smtp = await startSmtp(smtpDoor(watched), {
    host: config.smtpHost,
    port: config.smtpPort,
    isShared: opening.sharesPorts,
    hostname: config.smtpHostname,
    maxBytes: config.smtpMaxBytes,
    limits: {
      maxConnectionsPerAddress: config.smtpMaxConnectionsPerAddress,
      uncountedAddresses: config.trustedProxies,
    },
    proxyProtocol: config.smtpProxyProtocol,
    certificate,
    memory,
    originOf,
    isRelay: (address) => isInBlocks(address, config.trustedRelays),
    ...(most > 0 && { takesMailOf: (network: string) => mails.take(network, performance.now()) === undefined }),
    observe: {
      ...watch.smtp,
      fault(err, during) {
        watch.smtp.fault?.(err, during);
        deps.log.warn({ err, during }, "smtp fault");
      },
    },
  });
  opened.push(() => smtp.stop(0));
  const watching = watchCertificate({
    inForce: certificate,
    read: () => certificateOf(opening),
    use: smtp.reloadCertificate,
    everyMs: config.smtpTls && certificateReadMs,
    observe: {
      renewed: () => deps.log.info("certificate renewed"),
      unusable: (reason) => deps.log.warn({ reason }, "certificate not changed: the new one cannot be used"),
    },
  });
  opened.push(watching.stop);
  return { smtp, certificate: watching };
}

/** Makes what the route for mail by HTTP needs. */
export function openInbound({ config, deps, watch }: Opening, { door, posted }: Receiving): InboundDeps {
  const watched = { ...door, accept: watch.accept("http", door.accept) };
  return {
    take: postedMailTaker({ ...deps, door: watched }),
    readMail: posted.read,
    maxBytes: config.smtpMaxBytes,
    observe: watch.posted,
  };
}

/** Adapts the mail door to the interface that the SMTP listener expects. */
export function smtpDoor({ recipient, accept }: Pick<MailDoor, "recipient" | "accept">): SmtpDoor {
  return { recipient, accept: async (mail) => ({ kind: await accept(mail) }) };
}

/** The certificate of the operator (`SMTP_TLS_CERT`), or else a self-signed one that is kept in the data directory. */
function certificateOf({ config, deps }: Opening): Promise<Certificate> {
  if (config.smtpTls !== undefined) return loadCertificate(config.smtpTls);
  return selfSigned({ ...deps, dataDir: config.dataDir, hostname: config.smtpHostname });
}

/** Makes what the route for the relay's notices needs, if `RELAY_NOTICES` names the relay. */
export async function openNotices(
  { config, deps, watch, opened }: Opening,
  { signingKey, applyReports }: { signingKey: string; applyReports: ApplyReports },
): Promise<Omit<RelayNoticesDeps, "isDraining">> {
  // Refuses private addresses, even with ALLOW_PRIVATE_WEBHOOKS=1, because SNS is never in a private network.
  const client = webhookClient({ allowPrivate: false, version, timeoutMs: 10_000 });
  opened.push(client.close);
  const fetchFromSns = async (url: string) => {
    const reply = await client.post({ url, headers: {}, body: undefined, keptBytes: mostOfCertificate });
    return reply.kind === "answered" && reply.status === 200 ? reply.body : undefined;
  };
  const paths = returnPaths(await returnPathKey(signingKey), config.mailDomain);
  const source = config.relayNotices;
  return {
    relay: source && { provider: source.provider, prove: noticeProof(source, { ...deps, fetchFromSns }) },
    takeNotices: noticeTaker({ ...deps, returnPaths: paths, applyReports, observe: watch.notices }),
    observe: watch.notices,
  };
}

const mostOfCertificate = 64 << 10;
