import { DatabaseUnavailable } from "../database/db.ts";
import type { SendRequest, SendResult } from "../domain/send/send.ts";
import type { MailDoor } from "../flows/receive/accept-mail.ts";
import type { NoticeObserver } from "../flows/receive/take-notices.ts";
import type { FileObserver } from "../flows/send/write-files.ts";
import type { RequestObserver } from "../http/shell/timed-app.ts";
import type { Relay } from "../relay/relay.ts";
import type { RefusedReason, SmtpObserver } from "../smtp/door.ts";
import type { WebhookClient, WebhookReply } from "../webhook/client.ts";
import type { WorkerObserver } from "../workers/scheduler.ts";
import { countingAutomated, type Receive } from "./automated-mail.ts";
import { networkBounds, quickBounds } from "./bounds.ts";
import type { Histogram, Registry } from "./registry.ts";
import { noticeObserver } from "./relay-notices.ts";
import { type ReportObserver, reportObserver } from "./reports.ts";
import { classOf, requestObserver } from "./requests.ts";
import { type StreamObserver, streamObserver } from "./streams.ts";
import { type SuppressedSends, suppressedSends } from "./suppressed-sends.ts";
import { type ToolCallObserver, toolCallObserver } from "./tool-calls.ts";
import { fileObserver } from "./uploads.ts";
import { type WatchWait, watchedWait } from "./waits.ts";
import { workerObserver } from "./workers.ts";

type Accept = MailDoor["accept"];
type SendEmail = (request: SendRequest) => Promise<SendResult>;

/** The verbs of the service, watched as they are done: each of these is put around, or told by, the part that does it. */
export interface Watch {
  /** Mail from outside comes by `smtp`, our own mail to ourselves by `internal`. */
  accept(way: "smtp" | "internal", accept: Accept): Accept;
  /** Of mail that was read, at once or later. */
  receive(receive: Receive): Receive;
  send(send: SendEmail): SendEmail;
  relay(relay: Relay): Relay;
  webhooks(client: WebhookClient): WebhookClient;
  smtp: SmtpObserver;
  workers: WorkerObserver;
  notices: NoticeObserver;
  streams: StreamObserver;
  files: FileObserver;
  wait: WatchWait;
  reports: ReportObserver;
  /** Undefined: don't count. */
  toolCall: ToolCallObserver | undefined;
  /** Undefined: don't measure. */
  request: RequestObserver | undefined;
}

/** Each part as it is: nothing is counted. */
export const unwatched: Watch = {
  accept: (_way, accept) => accept,
  receive: (receive) => receive,
  send: (send) => send,
  relay: (relay) => relay,
  webhooks: (client) => client,
  smtp: {},
  workers: {},
  notices: () => undefined,
  streams: {},
  files: {},
  wait: (wait) => wait,
  reports: {},
  toolCall: undefined,
  request: undefined,
};

export function watch(metrics: Registry): Watch {
  const suppressed = suppressedSends(metrics);
  return {
    accept: watchedAccept(metrics),
    receive: countingAutomated(metrics),
    send: watchedSend(metrics, suppressed),
    relay: watchedRelay(metrics),
    webhooks: watchedWebhooks(metrics),
    smtp: smtpObserver(metrics),
    workers: workerObserver(metrics, suppressed),
    notices: noticeObserver(metrics),
    streams: streamObserver(metrics),
    files: fileObserver(metrics),
    wait: watchedWait(metrics),
    reports: reportObserver(metrics),
    toolCall: toolCallObserver(metrics),
    request: requestObserver(metrics),
  };
}

function watchedAccept(metrics: Registry): Watch["accept"] {
  const mails = metrics.counter(
    "inboxd_mails_received_total",
    "Mails that came in whole: stored (a second copy of one that is there counts too, and one that is kept to be parsed later), gone (its inboxes were deleted), unavailable (its sender keeps it), error (a bug)",
    ["way", "outcome"],
  );
  const seconds = metrics.histogram(
    "inboxd_mail_acceptance_seconds",
    "From the final dot of a mail to the answer",
    quickBounds,
    ["way"],
  );
  return (way, accept) => {
    const unavailable = mails({ way, outcome: "unavailable" });
    const outcomes = { stored: mails({ way, outcome: "stored" }), gone: mails({ way, outcome: "gone" }), unavailable };
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

function watchedSend(metrics: Registry, suppressed: SuppressedSends): Watch["send"] {
  const sends = metrics.counter(
    "inboxd_sends_total",
    "Requests to send that were well-formed, by what came of them; what was refused before is a 4xx of its route",
    ["outcome", "reason"],
  );
  const took = metrics.histogram(
    "inboxd_send_acceptance_seconds",
    "From a well-formed request to send until its message is on disk, or refused",
    quickBounds,
    [],
  )({});
  const of = (outcome: string, reason = "") => sends({ outcome, reason });
  const accepted = of("accepted");
  const replayed = of("replayed");
  const loop = of("loop", "loop_detected");
  const unavailable = of("unavailable");
  const failed = of("error");
  return (send) => async (request) => {
    const startedMs = performance.now();
    try {
      const result = await send(request);
      if (result.kind === "accepted") accepted.add();
      else if (result.kind === "replayed") replayed.add();
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

function watchedRelay(metrics: Registry): Watch["relay"] {
  const took = metrics.histogram(
    "inboxd_relay_seconds",
    "Of an attempt to hand a mail to its next server; mail to our own domain is none",
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
  const answers = metrics.counter("inboxd_webhook_answers_total", "What receivers answered to deliveries", ["answer"]);
  const took = metrics.histogram("inboxd_webhook_seconds", "Of an attempt to deliver an event", networkBounds, [])({});
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
  unknown_recipient: true,
  other_domain: true,
  bad_recipient: true,
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
  const connections = metrics.counter("inboxd_smtp_connections_total", "Connections that were let in", [])({});
  const refusals = metrics.counter(
    "inboxd_smtp_refusals_total",
    "4xx and 5xx replies that turn a connection, a recipient or a mail away, by reason",
    ["reason"],
  );
  for (const reason of Object.keys(refusedReasons)) refusals({ reason });
  const mails = metrics.counter("inboxd_smtp_mails_total", "Mails that were answered 250", [])({});
  const bytes = metrics.counter("inboxd_smtp_mail_bytes_total", "Octets of these mails", [])({});
  const faults = metrics.counter(
    "inboxd_smtp_faults_total",
    "Outages and bugs behind the listener, and errors of sockets, by what was under way",
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

function observeSince(histogram: Histogram, startedMs: number): void {
  histogram.observe((performance.now() - startedMs) / 1000);
}
