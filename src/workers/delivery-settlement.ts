import { nextWebhookAttemptAt } from "../domain/backoff.ts";
import type { NewId } from "../domain/ids.ts";
import type { ClaimedDelivery } from "../store/outbox/deliveries.ts";
import type { DeliverySettlement, EndpointNews } from "../store/outbox/delivery-settlements.ts";
import { deliveryError, type WebhookReply } from "../webhook/client.ts";
import { type Deliverable, tellsOfSomething } from "./delivery-request.ts";

/** What the next attempt is due by. */
export interface DeliverySchedule {
  now: () => Date;
  random: () => number;
  newId: NewId;
  webhookRetrySeconds: readonly number[];
  /** An endpoint other than the default that has failed for as long is disabled; 0: never. */
  webhookDisableDays: number;
}

const dayMs = 86_400_000;

/** An attempt that was made: when it began, what came back, and whether the service stopped in its midst. */
export interface MadeAttempt {
  attemptedAt: Date;
  reply: WebhookReply;
  isCutOff: boolean;
}

/** What is written down of an attempt that was made. */
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
    const isNews = item.failingSince !== null || item.answeredAt === null;
    return { ...nothingToDo(item), logged, news: isNews ? newsOf(item, "well", at) : null };
  }
  const settlement = { ...nothingToDo(item), logged };
  if (isCutOff) return { ...settlement, dueAt: at };
  if (reply.kind === "no_answer" && reply.stale) return { ...settlement, dueAt: at, isForgiven: true };
  if (status === 410)
    return { ...settlement, news: { ...newsOf(item, "gone", at), eventId: schedule.newId("evt", at) } };
  const retryAfter = reply.kind === "answered" && (status === 429 || status === 503) ? reply.retryAfter : undefined;
  return { ...settlement, dueAt: retryAt(schedule, item, at, retryAfter), news: failureOf(schedule, item, at) };
}

/** That an attempt failed is news where it is the first, and where there was nothing else for too long. */
function failureOf({ webhookDisableDays, newId }: DeliverySchedule, item: Deliverable, at: Date): EndpointNews | null {
  const { failingSince, endpointId } = item;
  const news = newsOf(item, "badly", at);
  if (failingSince === null) return news;
  const disabledIfSince = new Date(at.getTime() - webhookDisableDays * dayMs);
  const isOver = endpointId !== null && webhookDisableDays > 0 && failingSince <= disabledIfSince;
  return isOver ? { ...news, disabledIfSince, eventId: newId("evt", at) } : null;
}

function newsOf(
  { accountId, endpointId, url }: Deliverable,
  answered: EndpointNews["answered"],
  at: Date,
): EndpointNews {
  return { accountId, endpointId, url, answered, at, disabledIfSince: null, eventId: null };
}

/** Of an attempt that ended by a fault of ours. */
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

/** An event of a message that was deleted is dropped, and one for an endpoint that was; one without an address too, but the log says so. */
export function nowhereToGo(item: ClaimedDelivery, at: Date): DeliverySettlement {
  const settlement = nothingToDo(item);
  if (!tellsOfSomething(item) || (item.webhookId === null && item.endpointId !== null)) return settlement;
  const error = item.url === null ? "not sent: no webhook URL is set" : "not sent: the webhook is disabled";
  return { ...settlement, logged: { attemptedAt: at, status: null, latencyMs: 0, error, response: null } };
}

/** What a large event tells could not be read, so nothing was sent: it is tried again as soon as somebody can. */
export function notBegun(item: ClaimedDelivery, why: string, at: Date): DeliverySettlement {
  const logged = { attemptedAt: at, status: null, latencyMs: 0, error: `not sent: ${why}`, response: null };
  return { ...nothingToDo(item), logged, dueAt: at, isForgiven: true };
}

export function nothingToDo({ subjectId, attempt }: ClaimedDelivery): DeliverySettlement {
  return { subjectId, attempt, dueAt: null, isForgiven: false, logged: null, news: null };
}
