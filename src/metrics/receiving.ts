import { DatabaseUnavailable } from "../database/db.ts";
import { automatedKinds, automatedOf } from "../domain/automated.ts";
import { quarantineReasons } from "../domain/policy.ts";
import { type Verdict, verdicts } from "../domain/receive/authentication.ts";
import type { MailOutcome } from "../domain/receive/inbound-mail.ts";
import { judgeActions } from "../domain/receive/opinion.ts";
import { reportKinds } from "../domain/reports/report.ts";
import type { KeptReport } from "../domain/reports/reported-message.ts";
import { type UnsubscribeWay, unsubscribeWays } from "../domain/reports/unsubscribing.ts";
import type { MailDoor } from "../flows/receive/accept-mail.ts";
import type { ReturnedOutcome } from "../flows/receive/accept-returned.ts";
import type { ReceivedMail } from "../flows/receive/arrival.ts";
import type { AuthenticateDeps } from "../flows/receive/authenticate-sender.ts";
import type { JudgingDeps } from "../flows/receive/judge-mail.ts";
import { type NoticeObserver, noticeOutcomes } from "../flows/receive/take-notices.ts";
import type { RefusedReason, SmtpObserver } from "../smtp/door.ts";
import type { AskJudge } from "../webhook/judge.ts";
import { observeSince, quickBounds } from "./measures.ts";
import type { Counter, Registry } from "./registry.ts";

type Accept = MailDoor["accept"];
type CheckSender = AuthenticateDeps["check"];
type Receive = (mail: ReceivedMail) => Promise<MailOutcome>;

/** Measures of mail that comes in: its acceptance, its check, and what is reported about our mail. */
export interface ReceivingWatch {
  /** Counts and times accepted mail. Mail from outside comes by `smtp` or `http`, mail of our own inboxes to our own domain by `internal`. */
  accept(way: "smtp" | "http" | "internal", accept: Accept): Accept;
  /** Counts automated mails. It gets each mail that was parsed, at once or later. */
  receive(receive: Receive): Receive;
  /** Counts and times checks of senders. */
  authenticate(check: CheckSender): CheckSender;
  /** Counts and times questions to the judge. */
  askJudge(ask: AskJudge): AskJudge;
  smtp: SmtpObserver;
  /** Counts the mails that inboxes block. */
  blocked: JudgingDeps["blocked"];
  /** Counts mails that come by HTTP. Undefined if metrics are off. */
  posted: ((outcome: string) => void) | undefined;
  notices: NoticeObserver;
  reports: ReportObserver;
}

/** Called for reports about our mail: `reported` for each that is stored, `returned` for each mail to a return path. */
export interface ReportObserver {
  reported?(report: KeptReport): void;
  returned?(outcome: ReturnedOutcome): void;
  /** Called when a recipient who was not suppressed unsubscribes. */
  unsubscribed?(way: UnsubscribeWay): void;
}

export const unwatchedReceiving: ReceivingWatch = {
  accept: (_way, accept) => accept,
  receive: (receive) => receive,
  authenticate: (check) => check,
  askJudge: (ask) => ask,
  smtp: {},
  blocked: undefined,
  posted: undefined,
  notices: () => undefined,
  reports: {},
};

export function watchReceiving(metrics: Registry): ReceivingWatch {
  return {
    accept: watchedAccept(metrics),
    receive: watchedReceive(metrics),
    authenticate: watchedAuthenticate(metrics),
    askJudge: watchedJudge(metrics),
    smtp: smtpObserver(metrics),
    blocked: blockedObserver(metrics),
    posted: postObserver(metrics),
    notices: noticeObserver(metrics),
    reports: reportObserver(metrics),
  };
}

function watchedAccept(metrics: Registry): ReceivingWatch["accept"] {
  const mails = metrics.counter(
    "inboxd_mails_received_total",
    "Mails received completely, by outcome: stored (also a copy of a stored mail, and a mail to be parsed later), quarantined (by all its inboxes), gone (all its inboxes were deleted), disabled (all its inboxes were disabled), refused (by a rule or policy of each inbox), undecided (the sender was not checked in time, and has to retry), unavailable (the sender has to retry), error (a bug)",
    ["way", "outcome"],
  );
  const seconds = metrics.histogram(
    "inboxd_mail_acceptance_seconds",
    "Seconds from the last octet of a mail to its outcome",
    quickBounds,
    ["way"],
  );
  return (way, accept) => {
    const unavailable = mails({ way, outcome: "unavailable" });
    const outcomes = {
      stored: mails({ way, outcome: "stored" }),
      quarantined: mails({ way, outcome: "quarantined" }),
      gone: mails({ way, outcome: "gone" }),
      disabled: mails({ way, outcome: "disabled" }),
      refused: mails({ way, outcome: "refused" }),
      undecided: mails({ way, outcome: "undecided" }),
      unavailable,
    };
    const failed = mails({ way, outcome: "error" });
    const took = seconds({ way });
    return async (mail) => {
      const startedMs = performance.now();
      try {
        const outcome = await accept(mail);
        outcomes[outcome].add();
        return outcome;
      } catch (error) {
        (error instanceof DatabaseUnavailable ? unavailable : failed).add();
        throw error;
      } finally {
        observeSince(took, startedMs);
      }
    };
  };
}

function postObserver(metrics: Registry): ReceivingWatch["posted"] {
  const posts = metrics.counter(
    "inboxd_inbound_posts_total",
    "Mails by POST /v1/inbound from a caller that may do so, by outcome: taken, or the code of the refusal",
    ["outcome"],
  );
  for (const outcome of ["taken", "not_found", "service_unavailable"]) posts({ outcome });
  return (outcome) => posts({ outcome }).add();
}

const refusedReasons: Record<RefusedReason, true> = {
  connections_in_all: true,
  connections_per_address: true,
  proxy_header: true,
  mails_per_address: true,
  unknown_recipient: true,
  other_domain: true,
  bad_recipient: true,
  disabled: true,
  suspended: true,
  full: true,
  busy: true,
  refused_recipients: true,
  too_many_recipients: true,
  unavailable: true,
  too_big: true,
  endless: true,
  out_of_memory: true,
  lone_dot: true,
  mail_loop: true,
  rejected: true,
  tls: true,
  timeout: true,
};

function smtpObserver(metrics: Registry): SmtpObserver {
  const connections = metrics.counter("inboxd_smtp_connections_total", "Accepted connections", [])({});
  const refusals = metrics.counter(
    "inboxd_smtp_refusals_total",
    "4xx and 5xx replies that refuse a connection, a recipient or a mail, by reason",
    ["reason"],
  );
  for (const reason of Object.keys(refusedReasons)) refusals({ reason });
  const mails = metrics.counter("inboxd_smtp_mails_total", "Mails that were answered with 250", [])({});
  const bytes = metrics.counter("inboxd_smtp_mail_bytes_total", "Octets of mails that were answered with 250", [])({});
  const faults = metrics.counter(
    "inboxd_smtp_faults_total",
    "Errors of the SMTP listener, by operation: recipient and accept (an outage or a bug), connection (a socket error)",
    ["during"],
  );
  const faultsDuring = {
    recipient: faults({ during: "recipient" }),
    accept: faults({ during: "accept" }),
    connection: faults({ during: "connection" }),
  };
  return {
    connected: () => connections.add(),
    refused: (reason) => refusals({ reason }).add(),
    accepted(sizeBytes) {
      mails.add();
      bytes.add(sizeBytes);
    },
    fault: (_error, during) => faultsDuring[during].add(),
  };
}

/** Counts stored automated mails, from `receive`, which gets every parsed mail, also mail that is parsed later. */
function watchedReceive(metrics: Registry): (receive: Receive) => Receive {
  const mails = metrics.counter(
    "inboxd_mails_automated_total",
    "Stored mails that a program wrote, by kind. A copy of a stored mail is counted again",
    ["kind"],
  );
  for (const kind of automatedKinds) mails({ kind });
  return (receive) => async (received) => {
    const outcome = await receive(received);
    const automated = outcome === "stored" ? automatedOf(received.mail, received.envelope.from) : undefined;
    if (automated !== undefined) mails({ kind: automated.kind }).add();
    return outcome;
  };
}

function watchedAuthenticate(metrics: Registry): ReceivingWatch["authenticate"] {
  const verdict = metrics.counter(
    "inboxd_authentications_total",
    "Checks of the sender of a mail from outside, by verdict: pass (the domain in From sent it), fail, none (the domain publishes nothing), temperror (not decided in time)",
    ["verdict"],
  );
  const took = metrics.histogram(
    "inboxd_authentication_seconds",
    "Seconds of a check of the sender of a mail, with its DNS questions",
    quickBounds,
    [],
  )({});
  const counters = Object.fromEntries(verdicts.map((each) => [each, verdict({ verdict: each })])) as Record<
    Verdict,
    Counter
  >;
  return (check) => async (mail, sender) => {
    const startedMs = performance.now();
    const authentication = await check(mail, sender);
    counters[authentication.verdict].add();
    observeSince(took, startedMs);
    return authentication;
  };
}

const judgeOutcomes = [...judgeActions, "spam", "no_opinion", "too_large"] as const;

function watchedJudge(metrics: Registry): ReceivingWatch["askJudge"] {
  const opinions = metrics.counter(
    "inboxd_judge_opinions_total",
    "Opinions of the operator's judge about inbound mail, by outcome: take, spam (take, with a score of spam), quarantine, refuse, no_opinion (it did not answer in time, or its answer is not of the right form), too_large (it was not asked)",
    ["outcome"],
  );
  const took = metrics.histogram(
    "inboxd_judge_seconds",
    "Seconds of a question to the operator's judge",
    quickBounds,
    [],
  )({});
  for (const outcome of judgeOutcomes) opinions({ outcome });
  const outcomeOf = (answer: Awaited<ReturnType<AskJudge>>): (typeof judgeOutcomes)[number] => {
    if (answer === undefined) return "too_large";
    if (typeof answer === "string") return "no_opinion";
    return answer.action === "take" && answer.spam?.isSpam === true ? "spam" : answer.action;
  };
  return (ask) => async (mail) => {
    const startedMs = performance.now();
    const answer = await ask(mail);
    opinions({ outcome: outcomeOf(answer) }).add();
    if (answer !== undefined) observeSince(took, startedMs);
    return answer;
  };
}

function reportObserver(metrics: Registry): Required<ReportObserver> {
  const reports = metrics.counter(
    "inboxd_reports_total",
    "Reports about our mail with new information, by kind, type, source and proof",
    ["kind", "type", "source", "proof"],
  );
  const mails = metrics.counter(
    "inboxd_return_path_mails_total",
    "Mails to return paths, by outcome: report, mail (not recognised as a report, so filed as mail), refused (the path is not ours or too old, or its message was deleted)",
    ["outcome"],
  );
  const unsubscribes = metrics.counter(
    "inboxd_unsubscribes_total",
    "Recipients who unsubscribed from an inbox, by way: link (one click), mail (to our address), arf (a report by mail), relay (a notice)",
    ["way"],
  );
  for (const way of unsubscribeWays) unsubscribes({ way });
  for (const kind of reportKinds) {
    reports({ kind, type: kind === "bounced" ? "hard" : "", source: "dsn", proof: "return_path" });
  }
  for (const outcome of ["report", "mail", "refused"]) mails({ outcome });
  return {
    reported: ({ kind, type, source, proof }) => reports({ kind, type: type ?? "", source, proof }).add(),
    returned: (outcome) => mails({ outcome }).add(),
    unsubscribed: (way) => unsubscribes({ way }).add(),
  };
}

function blockedObserver(metrics: Registry): Required<JudgingDeps>["blocked"] {
  const mails = metrics.counter(
    "inboxd_blocked_mails_total",
    "Mails that an inbox blocked, by reason and by answer: quarantined, or refused (550). A copy of a blocked mail is counted again",
    ["reason", "answer"],
  );
  for (const reason of quarantineReasons) for (const answer of ["quarantined", "refused"]) mails({ reason, answer });
  return (reason, answer) => mails({ reason, answer }).add();
}

function noticeObserver(metrics: Registry): NoticeObserver {
  const notices = metrics.counter(
    "inboxd_relay_notices_total",
    "Notices of the relay, by outcome: accepted (about our message), ignored (other kinds, such as opens), unknown (about no known message), early (the relay has to send it again), refused (the request is not from the relay)",
    ["outcome"],
  );
  for (const outcome of noticeOutcomes) notices({ outcome });
  return (outcome, count) => notices({ outcome }).add(count);
}
