import { DatabaseUnavailable } from "../database/db.ts";
import type { SendRequest, SendResult } from "../domain/send/send.ts";
import type { DecisionObserver } from "../flows/send/decide-draft.ts";
import type { FileObserver } from "../flows/send/write-files.ts";
import type { Relay } from "../relay/relay.ts";
import type { WebhookClient, WebhookReply } from "../webhook/client.ts";
import type { WorkerObserver } from "../workers/scheduler.ts";
import { classOf, networkBounds, observeSince, personBounds, quickBounds } from "./measures.ts";
import type { Registry } from "./registry.ts";
import { type SuppressedSends, suppressedSends, workerObserver } from "./workers.ts";

type SendEmail = (request: SendRequest) => Promise<SendResult>;

/** Measures of what goes out: sends, mail, files, webhooks, and the work of the outbox. */
export interface SendingWatch {
  send(send: SendEmail): SendEmail;
  /** Measures how late scheduled mail is sent. Undefined if metrics are off. */
  dispatched: ((lagMs: number) => void) | undefined;
  /** Measures how long mail waits for a person. Undefined if metrics are off. */
  decided: DecisionObserver | undefined;
  relay(relay: Relay): Relay;
  webhooks(client: WebhookClient): WebhookClient;
  files: FileObserver;
  workers: WorkerObserver;
}

export const unwatchedSending: SendingWatch = {
  send: (send) => send,
  dispatched: undefined,
  decided: undefined,
  relay: (relay) => relay,
  webhooks: (client) => client,
  files: {},
  workers: {},
};

export function watchSending(metrics: Registry): SendingWatch {
  const suppressed = suppressedSends(metrics);
  return {
    send: watchedSend(metrics, suppressed),
    dispatched: dispatchObserver(metrics),
    decided: decisionObserver(metrics),
    relay: watchedRelay(metrics),
    webhooks: watchedWebhooks(metrics),
    files: fileObserver(metrics),
    workers: workerObserver(metrics, suppressed),
  };
}

function watchedSend(metrics: Registry, suppressed: SuppressedSends): SendingWatch["send"] {
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

function dispatchObserver(metrics: Registry): SendingWatch["dispatched"] {
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
  const after = { approved: waited({ decision: "approved" }), rejected: waited({ decision: "rejected" }) };
  return (decision, waitMs) => after[decision].observe(Math.max(0, waitMs) / 1000);
}

function watchedRelay(metrics: Registry): SendingWatch["relay"] {
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

function watchedWebhooks(metrics: Registry): SendingWatch["webhooks"] {
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

function fileObserver(metrics: Registry): FileObserver {
  const bytes = metrics.counter(
    "inboxd_upload_bytes_total",
    "Octets of files received as uploads and in forms, including files that were later refused or cut off",
    [],
  )({});
  return { came: (sizeBytes) => bytes.add(sizeBytes) };
}
