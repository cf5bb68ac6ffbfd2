import { DatabaseUnavailable } from "../database/db.ts";
import { type DnsObserver, dnsOutcomes } from "../dns/client.ts";
import { automatedKinds, automatedOf } from "../domain/automated.ts";
import { noTextReasons } from "../domain/document.ts";
import { type Proof, proofs } from "../domain/domains/domain-states.ts";
import { quarantineReasons } from "../domain/policy.ts";
import { type Verdict, verdicts } from "../domain/receive/authentication.ts";
import type { MailOutcome } from "../domain/receive/inbound-mail.ts";
import { judgeActions } from "../domain/receive/opinion.ts";
import { reportKinds } from "../domain/reports/report.ts";
import type { KeptReport } from "../domain/reports/reported-message.ts";
import { type UnsubscribeWay, unsubscribeWays } from "../domain/reports/unsubscribing.ts";
import type { SendRequest, SendResult } from "../domain/send/send.ts";
import type { EndReason } from "../flows/events/open-streams.ts";
import type { MailWaits } from "../flows/read/wait-for-mail.ts";
import type { MailDoor } from "../flows/receive/accept-mail.ts";
import type { ReturnedOutcome } from "../flows/receive/accept-returned.ts";
import type { ReceivedMail } from "../flows/receive/arrival.ts";
import type { AuthenticateDeps } from "../flows/receive/authenticate-sender.ts";
import type { JudgingDeps } from "../flows/receive/judge-mail.ts";
import { type NoticeObserver, noticeOutcomes } from "../flows/receive/take-notices.ts";
import type { DecisionObserver } from "../flows/send/decide-draft.ts";
import type { FileObserver } from "../flows/send/write-files.ts";
import type { RequestObserver } from "../http/shell/timed-app.ts";
import type { DocumentReader } from "../mail/documents/document-reader.ts";
import { tools } from "../mcp/tools.ts";
import type { Relay } from "../relay/relay.ts";
import type { RefusedReason, SmtpObserver } from "../smtp/door.ts";
import type { WebhookClient, WebhookReply } from "../webhook/client.ts";
import type { AskJudge } from "../webhook/judge.ts";
import type { WorkerObserver } from "../workers/scheduler.ts";
import type { Counter, Histogram, Registry } from "./registry.ts";
import { type SuppressedSends, suppressedSends, workerObserver } from "./workers.ts";

type Accept = MailDoor["accept"];
type ReadsDocuments = Pick<DocumentReader, "read">;
type SendEmail = (request: SendRequest) => Promise<SendResult>;

type CheckSender = AuthenticateDeps["check"];

export type Receive = (mail: ReceivedMail) => Promise<MailOutcome>;

/**
 * Wrappers and observers that measure the parts of the service. A wrapper returns a function or object that does the same and is measured.
 */
export interface Watch {
  /** Counts and times accepted mail. Mail from outside comes by `smtp` or `http`, mail of our own inboxes to our own domain by `internal`. */
  accept(way: "smtp" | "http" | "internal", accept: Accept): Accept;
  /** Counts automated mails. It gets each mail that was parsed, at once or later. */
  receive(receive: Receive): Receive;
  /** Counts and times checks of senders. */
  authenticate(check: CheckSender): CheckSender;
  /** Counts and times questions to the judge. */
  askJudge(ask: AskJudge): AskJudge;
  send(send: SendEmail): SendEmail;
  /** Measures how late scheduled mail is sent. Undefined if metrics are off. */
  dispatched: ((lagMs: number) => void) | undefined;
  /** Measures how long mail waits for a person. Undefined if metrics are off. */
  decided: DecisionObserver | undefined;
  relay(relay: Relay): Relay;
  /** Counts and times the documents that are read. */
  documents(reader: ReadsDocuments): ReadsDocuments;
  webhooks(client: WebhookClient): WebhookClient;
  smtp: SmtpObserver;
  workers: WorkerObserver;
  notices: NoticeObserver;
  streams: StreamObserver;
  files: FileObserver;
  wait: WatchWait;
  reports: ReportObserver;
  /** Counts the mails that inboxes block. */
  blocked: JudgingDeps["blocked"];
  /** Counts mails that come by HTTP. Undefined if metrics are off. */
  posted: ((outcome: string) => void) | undefined;
  /** Counts the checks of domains by what they say about the proof. */
  domainChecked: ((proof: Proof) => void) | undefined;
  /** Counts DNS questions. Undefined if metrics are off. */
  dns: DnsObserver | undefined;
  /** Counts calls of MCP tools. Undefined if metrics are off. */
  toolCall: ToolCallObserver | undefined;
  /** Counts and times HTTP requests. Undefined if metrics are off. */
  request: RequestObserver | undefined;
}

/** Counts waits for mail by how they end. If a mail ends a wait, measures the time from its arrival to the answer. */
export type WatchWait = (wait: MailWaits["wait"], now: () => Date) => MailWaits["wait"];

/** Called for reports about our mail: `reported` for each that is stored, `returned` for each mail to a return path. */
export interface ReportObserver {
  reported?(report: KeptReport): void;
  returned?(outcome: ReturnedOutcome): void;
  /** Called when a recipient who was not suppressed unsubscribes. */
  unsubscribed?(way: UnsubscribeWay): void;
}

/** Called by streams: for each event sent, each read of the log, and each end of a stream. */
export interface StreamObserver {
  sent?(): void;
  feedRead?(): void;
  closed?(reason: EndReason | "left"): void;
}

/** Called for each call of an MCP tool. The outcome is `ok` or the code of the error. */
export type ToolCallObserver = (tool: string, outcome: string) => void;

/** Measures nothing, and returns each part unchanged. Used if metrics are off. */
export const unwatched: Watch = {
  accept: (_way, accept) => accept,
  receive: (receive) => receive,
  authenticate: (check) => check,
  askJudge: (ask) => ask,
  send: (send) => send,
  dispatched: undefined,
  decided: undefined,
  relay: (relay) => relay,
  documents: (reader) => reader,
  webhooks: (client) => client,
  smtp: {},
  workers: {},
  notices: () => undefined,
  streams: {},
  files: {},
  wait: (wait) => wait,
  reports: {},
  blocked: undefined,
  posted: undefined,
  domainChecked: undefined,
  dns: undefined,
  toolCall: undefined,
  request: undefined,
};

export function watch(metrics: Registry): Watch {
  const suppressed = suppressedSends(metrics);
  return {
    accept: watchedAccept(metrics),
    receive: watchedReceive(metrics),
    authenticate: watchedAuthenticate(metrics),
    askJudge: watchedJudge(metrics),
    send: watchedSend(metrics, suppressed),
    dispatched: dispatchObserver(metrics),
    decided: decisionObserver(metrics),
    relay: watchedRelay(metrics),
    documents: watchedDocuments(metrics),
    webhooks: watchedWebhooks(metrics),
    smtp: smtpObserver(metrics),
    workers: workerObserver(metrics, suppressed),
    notices: noticeObserver(metrics),
    streams: streamObserver(metrics),
    files: fileObserver(metrics),
    wait: watchedWait(metrics),
    reports: reportObserver(metrics),
    blocked: blockedObserver(metrics),
    posted: postObserver(metrics),
    domainChecked: domainObserver(metrics),
    dns: dnsObserver(metrics),
    toolCall: toolCallObserver(metrics),
    request: requestObserver(metrics),
  };
}

/** Bounds in seconds, from work in memory up to a time that no client waits for. */
const quickBounds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
/** Bounds in seconds of the time that a person takes: from ten seconds to three days. */
const personBounds = [10, 30, 60, 300, 900, 3600, 14_400, 43_200, 86_400, 172_800, 259_200];
const networkBounds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120];

function watchedAccept(metrics: Registry): Watch["accept"] {
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

function postObserver(metrics: Registry): Watch["posted"] {
  const posts = metrics.counter(
    "inboxd_inbound_posts_total",
    "Mails by POST /v1/inbound from a caller that may do so, by outcome: taken, or the code of the refusal",
    ["outcome"],
  );
  for (const outcome of ["taken", "not_found", "service_unavailable"]) posts({ outcome });
  return (outcome) => posts({ outcome }).add();
}

function domainObserver(metrics: Registry): Watch["domainChecked"] {
  const checks = metrics.counter(
    "inboxd_domain_checks_total",
    "Checks of own domains by outcome: valid (the DKIM record is found), taken (so is that of another account, which has the domain), gone, unknown (no answer, or name servers that differ)",
    ["outcome"],
  );
  const byProof = new Map(proofs.map((outcome) => [outcome, checks({ outcome })]));
  return (proof) => byProof.get(proof)?.add();
}

function dnsObserver(metrics: Registry): DnsObserver {
  const questions = metrics.counter(
    "inboxd_dns_questions_total",
    "DNS questions by outcome: kept (answered from memory, or by a question that was out already), asked, timed_out, refused (not asked, because no name server answers or too many questions wait)",
    ["outcome"],
  );
  const byOutcome = new Map(dnsOutcomes.map((outcome) => [outcome, questions({ outcome })]));
  return (outcome) => byOutcome.get(outcome)?.add();
}

function watchedSend(metrics: Registry, suppressed: SuppressedSends): Watch["send"] {
  const sends = metrics.counter(
    "inboxd_sends_total",
    "Valid send requests, by outcome and reason. An invalid request is counted only as a 4xx of its route",
    ["outcome", "reason"],
  );
  const took = metrics.histogram(
    "inboxd_send_acceptance_seconds",
    "Seconds from a valid send request until its message is on disk or the request is refused",
    quickBounds,
    [],
  )({});
  const of = (outcome: string, reason = "") => sends({ outcome, reason });
  for (const kind of ["accepted", "waiting", "kept", "replayed"]) of(kind);
  const loop = of("loop", "loop_detected");
  const unavailable = of("unavailable");
  const failed = of("error");
  return (send) => async (request) => {
    const startedMs = performance.now();
    try {
      const result = await send(request);
      if (result.kind !== "refused") of(result.kind).add();
      else if (result.refusal.reason === "loop_detected") loop.add();
      else of("refused", result.refusal.reason).add();
      suppressed.accepting(result);
      return result;
    } catch (error) {
      (error instanceof DatabaseUnavailable ? unavailable : failed).add();
      throw error;
    } finally {
      observeSince(took, startedMs);
    }
  };
}

function dispatchObserver(metrics: Registry): Watch["dispatched"] {
  const lag = metrics.histogram(
    "inboxd_dispatch_lag_seconds",
    "Seconds from the time at which a scheduled mail was due until it was in the outbox",
    quickBounds,
    [],
  )({});
  return (lagMs) => lag.observe(Math.max(0, lagMs) / 1000);
}

function decisionObserver(metrics: Registry): DecisionObserver {
  const waited = metrics.histogram(
    "inboxd_approval_wait_seconds",
    "Seconds for which a mail waited for a person, by decision: approved, rejected",
    personBounds,
    ["decision"],
  );
  return (decision, waitMs) => waited({ decision }).observe(Math.max(0, waitMs) / 1000);
}

function watchedRelay(metrics: Registry): Watch["relay"] {
  const took = metrics.histogram(
    "inboxd_relay_seconds",
    "Seconds of an attempt to send a mail to the next server. Mail to our own domain is not measured",
    networkBounds,
    [],
  )({});
  return (relay) => ({
    ...relay,
    async send(mail, signal) {
      const startedMs = performance.now();
      const outcomes = await relay.send(mail, signal);
      observeSince(took, startedMs);
      return outcomes;
    },
  });
}

function watchedWebhooks(metrics: Registry): Watch["webhooks"] {
  const answers = metrics.counter("inboxd_webhook_answers_total", "Answers of endpoints to deliveries", ["answer"]);
  const took = metrics.histogram(
    "inboxd_webhook_seconds",
    "Seconds of an attempt to deliver an event",
    networkBounds,
    [],
  )({});
  for (const answer of ["2xx", "3xx", "4xx", "5xx", "no_answer", "refused_address"]) answers({ answer });
  return (client) => ({
    ...client,
    async post(request) {
      const startedMs = performance.now();
      const reply = await client.post(request);
      observeSince(took, startedMs);
      answers({ answer: answerOf(reply) }).add();
      return reply;
    },
  });
}

function answerOf(reply: WebhookReply): string {
  return reply.kind === "answered" ? classOf(reply.status) : reply.kind;
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

function watchedDocuments(metrics: Registry): Watch["documents"] {
  const documents = metrics.counter(
    "inboxd_documents_total",
    "Documents whose text was wanted, by outcome: read, the reason for which there is none, or unserved (no process was free). Kept texts are not counted again",
    ["outcome"],
  );
  const seconds = metrics.histogram(
    "inboxd_document_seconds",
    "Seconds from the load of a document to its text",
    quickBounds,
    [],
  )({});
  for (const outcome of ["read", ...noTextReasons, "unserved"]) documents({ outcome });
  return ({ read }) => ({
    async read(load, owner) {
      let startMs = 0;
      const document = await read(() => {
        startMs = performance.now();
        return load();
      }, owner);
      if (document !== undefined) observeSince(seconds, startMs);
      documents({
        outcome: document === undefined ? "unserved" : "reason" in document ? document.reason : "read",
      }).add();
      return document;
    },
  });
}

function watchedAuthenticate(metrics: Registry): Watch["authenticate"] {
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

function watchedJudge(metrics: Registry): Watch["askJudge"] {
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

function watchedWait(metrics: Registry): WatchWait {
  const ends = metrics.counter(
    "inboxd_waits_total",
    "Ended waits for mail, by outcome: found, timeout (also if the service stopped), gone (the client disconnected)",
    ["outcome"],
  );
  const outcomes = {
    found: ends({ outcome: "found" }),
    timeout: ends({ outcome: "timeout" }),
    gone: ends({ outcome: "gone" }),
    forbidden: ends({ outcome: "forbidden" }),
  };
  const woke = metrics.histogram(
    "inboxd_wait_wake_seconds",
    "Seconds from the arrival of a mail to the answer of a request that waited for it",
    quickBounds,
    [],
  )({});
  return (wait, now) => async (request) => {
    const beganAt = now().toISOString();
    const result = await wait(request);
    outcomes[result.end === "stopping" ? "timeout" : result.end].add();
    // Leaves out mail that was stored before the wait began: its age says nothing about how quickly the wait ended.
    if (result.end === "found" && result.message.createdAt > beganAt) {
      woke.observe(Math.max(0, now().getTime() - Date.parse(result.message.createdAt)) / 1000);
    }
    return result;
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

const streamEnds = ["left", "shutting_down", "unauthorized", "slow", "expired"] as const;

function streamObserver(metrics: Registry): StreamObserver {
  const sent = metrics.counter("inboxd_stream_events_total", "Events that were written to streams", [])({});
  const reads = metrics.counter("inboxd_feed_reads_total", "Statements that read new events for streams", [])({});
  const closes = metrics.counter(
    "inboxd_stream_closes_total",
    "Ended streams, by reason: left (the client disconnected), shutting_down, unauthorized (the key was revoked), slow (the client took less than 64 KiB in a minute while more was waiting), expired (the token)",
    ["reason"],
  );
  const closed = Object.fromEntries(streamEnds.map((reason) => [reason, closes({ reason })])) as Record<
    (typeof streamEnds)[number],
    Counter
  >;
  return {
    sent: () => sent.add(),
    feedRead: () => reads.add(),
    closed: (reason) => closed[reason].add(),
  };
}

function fileObserver(metrics: Registry): FileObserver {
  const bytes = metrics.counter(
    "inboxd_upload_bytes_total",
    "Octets of files received as uploads and in forms, including files that were later refused or cut off",
    [],
  )({});
  return { came: (sizeBytes) => bytes.add(sizeBytes) };
}

function toolCallObserver(metrics: Registry): ToolCallObserver {
  const calls = metrics.counter("inboxd_mcp_calls_total", "MCP tool calls, by outcome: ok, or the error code", [
    "tool",
    "outcome",
  ]);
  for (const { name } of tools) calls({ tool: name, outcome: "ok" });
  return (tool, outcome) => calls({ tool, outcome }).add();
}

function requestObserver(metrics: Registry): RequestObserver {
  const requests = metrics.counter("inboxd_http_requests_total", "Requests that were answered", [
    "method",
    "route",
    "status",
  ]);
  const seconds = metrics.histogram(
    "inboxd_http_request_seconds",
    "Seconds from a request to the beginning of its answer. A send request waits for the first attempt",
    quickBounds,
    ["method", "route"],
  );
  // The series are kept by method, route and status, so that no labels are made for each request.
  const known = new Map<string, { count: () => void; took: Histogram }>();
  return (method, route, status, tookSeconds) => {
    const key = `${method} ${route} ${status}`;
    let series = known.get(key);
    if (series === undefined) {
      const counter = requests({ method, route, status: classOf(status) });
      series = { count: () => counter.add(), took: seconds({ method, route }) };
      known.set(key, series);
    }
    series.count();
    series.took.observe(tookSeconds);
  };
}

/** `2xx` and so on. A label for each status would make too many series. */
function classOf(status: number): string {
  return `${Math.trunc(status / 100)}xx`;
}

function observeSince(histogram: Histogram, startedMs: number): void {
  histogram.observe((performance.now() - startedMs) / 1000);
}
