import { nextWebhookAttemptAt } from "../domain/backoff.ts";
import type { NewId } from "../domain/ids.ts";
import type { ClaimedDelivery } from "../store/outbox/deliveries.ts";
import type { DeliverySettlement, EndpointAnswer } from "../store/outbox/delivery-settlements.ts";
import { deliveryError, type WebhookReply } from "../webhook/client.ts";
import { type Deliverable, hasContent } from "./delivery-request.ts";

/** The settings that decide when the next attempt is due, and when an endpoint is disabled. */
export interface DeliverySchedule {
  now: () => Date;
  random: () => number;
  newId: NewId;
  webhookRetrySeconds: readonly number[];
  /** An endpoint that has failed for this long is disabled, except the default one; 0: never. */
  webhookDisableDays: number;
}

const dayMs = 86_400_000;

/** An attempt that was made: its start, the reply, and whether the service stopped during it. */
export interface MadeAttempt {
  attemptedAt: Date;
  reply: WebhookReply;
  isCutOff: boolean;
}

/** Decides what follows from an attempt that was made: when the next one is due (null for none), and how the endpoint changes. */
export function settlementOf(
  schedule: DeliverySchedule,
  item: Deliverable,
  { attemptedAt, reply, isCutOff }: MadeAttempt,
): DeliverySettlement {
  const status = reply.kind === "answered" ? reply.status : null;
  const error = deliveryError(reply);
  const response = reply.kind === "answered" ? reply.body : null;
  const logged = { attemptedAt, status, latencyMs: reply.latencyMs, error, response };
  const at = schedule.now();
  if (error === null) {
    const changesEndpoint = item.failingSince !== null || item.answeredAt === null;
    return { ...nothingToDo(item), logged, answer: changesEndpoint ? answerOf(item, "well", at) : null };
  }
  const settlement = { ...nothingToDo(item), logged };
  if (isCutOff) return { ...settlement, dueAt: at };
  if (reply.kind === "no_answer" && reply.stale) return { ...settlement, dueAt: at, isForgiven: true };
  if (status === 410)
    return { ...settlement, answer: { ...answerOf(item, "gone", at), disabledEventId: schedule.newId("evt", at) } };
  const retryAfter = reply.kind === "answered" && (status === 429 || status === 503) ? reply.retryAfter : undefined;
  return { ...settlement, dueAt: retryAt(schedule, item, at, retryAfter), answer: failureOf(schedule, item, at) };
}

/**
 * The change of the endpoint after a failed attempt. The first failure is noted. A later one disables the endpoint if it has failed for too
 * long; otherwise nothing changes (null).
 */
function failureOf(
  { webhookDisableDays, newId }: DeliverySchedule,
  item: Deliverable,
  at: Date,
): EndpointAnswer | null {
  const { failingSince, lane, accountId } = item;
  const answer = answerOf(item, "badly", at);
  if (failingSince === null) return answer;
  const disabledIfSince = new Date(at.getTime() - webhookDisableDays * dayMs);
  const isDefault = lane === accountId;
  const isOver = !isDefault && webhookDisableDays > 0 && failingSince <= disabledIfSince;
  return isOver ? { ...answer, disabledIfSince, disabledEventId: newId("evt", at) } : null;
}

function answerOf({ url }: Deliverable, answered: EndpointAnswer["answered"], at: Date): EndpointAnswer {
  return { url, answered, at, disabledIfSince: null, disabledEventId: null };
}

/** The settlement of an attempt that failed because of a bug in the service. */
export function brokenOff(schedule: DeliverySchedule, item: ClaimedDelivery): DeliverySettlement {
  const at = schedule.now();
  const logged = { attemptedAt: at, status: null, latencyMs: null, error: "an internal error", response: null };
  return { ...nothingToDo(item), logged, dueAt: retryAt(schedule, item, at) };
}

function retryAt(
  { random, webhookRetrySeconds }: DeliverySchedule,
  { attempt, forgivenAttempts }: ClaimedDelivery,
  at: Date,
  retryAfter?: string,
): Date | null {
  return nextWebhookAttemptAt(attempt - forgivenAttempts, at, random, webhookRetrySeconds, retryAfter) ?? null;
}

/**
 * Drops a delivery that cannot be sent: its event, message or endpoint was deleted, or the endpoint is disabled or has no URL. Logs the
 * reason if the event and message still exist, and the endpoint exists or is the default one (its lane remains after it is deleted).
 */
export function nowhereToGo(item: ClaimedDelivery, at: Date): DeliverySettlement {
  const settlement = nothingToDo(item);
  const isDefault = item.lane === item.accountId;
  if (!hasContent(item) || (item.webhookId === null && !isDefault)) return settlement;
  const error = item.url === null ? "not sent: no webhook URL is set" : "not sent: the webhook is disabled";
  return { ...settlement, logged: { attemptedAt: at, status: null, latencyMs: 0, error, response: null } };
}

/**
 * The settlement of an attempt that sent nothing, because of an outage or a stop: the delivery is due again at once, and the attempt does
 * not count for the schedule of retries.
 */
export function notBegun(item: ClaimedDelivery, why: string, at: Date): DeliverySettlement {
  const logged = { attemptedAt: at, status: null, latencyMs: 0, error: `not sent: ${why}`, response: null };
  return { ...nothingToDo(item), logged, dueAt: at, isForgiven: true };
}

export function nothingToDo({ subjectId, eventId, lane, attempt }: ClaimedDelivery): DeliverySettlement {
  return { subjectId, eventId, lane, attempt, dueAt: null, isForgiven: false, logged: null, answer: null };
}
