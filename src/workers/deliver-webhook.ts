import { DatabaseUnavailable } from "../database/db.ts";
import { nextWebhookAttemptAt } from "../domain/backoff.ts";
import { delivered, messageReceived } from "../domain/events.ts";
import type { Deps } from "../flows/deps.ts";
import { type AttachmentLinks, linkedAttachments } from "../flows/read/attachment-links.ts";
import { signerCache, webhookHeaders } from "../standards/signature.ts";
import { listAttachments, type ShownAttachment } from "../store/mail/attachments.ts";
import {
  type ClaimedDelivery,
  claimDeliveries,
  type DeliverySettlement,
  settleDeliveries,
} from "../store/outbox/deliveries.ts";
import { kinds } from "../store/outbox/kinds.ts";
import { releaseItems } from "../store/outbox/outbox.ts";
import { deliveryError, type WebhookClient, type WebhookReply } from "../webhook/client.ts";
import { type Start, startQueues } from "../webhook/starts.ts";
import { type DeliveryContent, isLarge, largeDeliveries } from "./large-deliveries.ts";
import { type Leaving, leavingOf } from "./outbox/destinations.ts";
import type { Job } from "./outbox/job.ts";
import { webhookLanes } from "./outbox/webhook-lanes.ts";

export interface DeliverWebhookDeps extends Deps {
  webhooks: WebhookClient;
  links: Pick<AttachmentLinks, "attachmentUrl">;
  webhookTimeoutMs: number;
  webhookRetrySeconds: readonly number[];
}

export type DeliveryItem = ClaimedDelivery & { attachments: readonly ShownAttachment[] };

type Attempted = { settlement: DeliverySettlement; leaving: Leaving };

/** An event whose delivery can be written: its message is there, and it has somewhere to go. */
type Deliverable = {
  [Name in keyof DeliveryItem]: Name extends Optional ? DeliveryItem[Name] : NonNullable<DeliveryItem[Name]>;
};
type Optional = "externalId" | "previousSecret" | "previousSecretUntil" | "disabledAt" | "bodyText" | "longBody";

/** The job that tells a receiver of an event (contract §10). */
export function deliverWebhookJob(deps: DeliverWebhookDeps): Job<DeliveryItem, DeliverySettlement> {
  const { db, links, log, now } = deps;
  const signerOf = signerCache();
  const starts = startQueues();
  const large = largeDeliveries(db.work);

  async function attempt(item: DeliveryItem, signal: AbortSignal): Promise<Attempted> {
    if (!isDeliverable(item)) return { settlement: nowhereToGo(item, now()), leaving: "unknown" };
    const start = starts.enter(item.inboxId);
    try {
      const { bodyText, attachments } = item;
      if (bodyText !== null && !isLarge(item)) return await deliver(item, { bodyText, attachments }, start, signal);
      return await large(item, async (content) => {
        if (signal.aborted) return { settlement: notBegun(item, "the service stopped", now()), leaving: "unknown" };
        if (content === undefined) return { settlement: nothingToDo(item), leaving: "unknown" };
        return deliver(item, content, start, signal);
      });
    } catch (error) {
      if (!(error instanceof DatabaseUnavailable)) throw error;
      return { settlement: notBegun(item, "the database was away", now()), leaving: "unknown" };
    } finally {
      start.leave();
    }
  }

  async function deliver(
    item: Deliverable,
    content: DeliveryContent,
    start: Start,
    signal: AbortSignal,
  ): Promise<Attempted> {
    const sentAt = now();
    const body = JSON.stringify(await payloadOf(item, content, sentAt));
    const headers = await webhookHeaders({
      eventId: item.subjectId,
      sentAt,
      body,
      signer: await signerOf(item.secret),
      replacedSigner: await replacedSigner(item, sentAt),
    });
    const reply = await deps.webhooks.post({
      ...{ url: item.url, headers, body, signal, start },
      // So that no event loses two attempts to connections whose time was over.
      fresh: item.forgivenAttempts > 0,
    });
    return settled(item, reply, sentAt, signal);
  }

  function settled(item: Deliverable, reply: WebhookReply, sentAt: Date, signal: AbortSignal) {
    const settlement = settlementOf(item, reply, sentAt, signal.aborted);
    tell(item, reply, settlement);
    return { settlement, leaving: signal.aborted ? "unknown" : leavingOf(reply) };
  }

  async function payloadOf(item: Deliverable, content: DeliveryContent, deliveredAt: Date) {
    const attachments = await linkedAttachments(links, item.messageId, content.attachments, deliveredAt);
    const message = { ...item, id: item.messageId, bodyText: content.bodyText, createdAt: item.receivedAt };
    const event = messageReceived({ ...item, id: item.subjectId, message }, attachments);
    return delivered(event, { deliveredAt, attempt: item.attempt });
  }

  function replacedSigner({ previousSecret, previousSecretUntil }: Deliverable, at: Date) {
    const isOverlap = previousSecret !== null && previousSecretUntil !== null && at < previousSecretUntil;
    return isOverlap ? signerOf(previousSecret) : undefined;
  }

  function settlementOf(
    item: Deliverable,
    reply: WebhookReply,
    attemptedAt: Date,
    isCutOff: boolean,
  ): DeliverySettlement {
    const status = reply.kind === "answered" ? reply.status : null;
    const error = deliveryError(reply);
    const response = reply.kind === "answered" ? reply.body : null;
    const logged = { attemptedAt, status, latencyMs: reply.latencyMs, error, response };
    const settlement = { ...nothingToDo(item), logged };
    if (error === null) return settlement;
    const at = now();
    if (isCutOff) return { ...settlement, dueAt: at };
    if (reply.kind === "no_answer" && reply.stale) return { ...settlement, dueAt: at, isForgiven: true };
    if (status === 410) return { ...settlement, disables: { accountId: item.accountId, url: item.url, at } };
    const retryAfter = reply.kind === "answered" && (status === 429 || status === 503) ? reply.retryAfter : undefined;
    return { ...settlement, dueAt: retryAt(item, at, retryAfter) };
  }

  function retryAt({ attempt, forgivenAttempts }: DeliveryItem, at: Date, retryAfter?: string): Date | null {
    return (
      nextWebhookAttemptAt(attempt - forgivenAttempts, at, deps.random, deps.webhookRetrySeconds, retryAfter) ?? null
    );
  }

  function tell(item: Deliverable, reply: WebhookReply, { dueAt, disables }: DeliverySettlement): void {
    const about = {
      event_id: item.subjectId,
      message_id: item.messageId,
      account_id: item.accountId,
      attempt: item.attempt,
      latency_ms: reply.latencyMs,
    };
    const error = deliveryError(reply);
    if (disables !== null) log.warn({ ...about, error }, "webhook disabled: it answered 410");
    else if (error === null) log.info(about, "event delivered");
    else if (dueAt === null) log.warn({ ...about, error }, "event given up");
    else log.info({ ...about, error, due_at: dueAt }, "event not delivered: trying again");
  }

  return {
    kind: kinds.webhook,
    leaseMs: deps.webhookTimeoutMs + 15_000,
    lanes: webhookLanes(),
    async claim(claim) {
      const { items, ...claimed } = await claimDeliveries(db.work, claim);
      const ids = items.flatMap((item) =>
        item.attachmentCount && item.messageId && !isLarge(item) ? [item.messageId] : [],
      );
      try {
        const attachments = Map.groupBy(await listAttachments(db.work, ids), ({ messageId }) => messageId);
        return {
          items: items.map((item) => ({ ...item, attachments: attachments.get(item.messageId ?? "") ?? [] })),
          ...claimed,
        };
      } catch (error) {
        await releaseItems(db.work, items).catch(() => undefined);
        throw error;
      }
    },
    attempt,
    failed(item) {
      const logged = { attemptedAt: now(), status: null, latencyMs: null, error: "an internal error", response: null };
      return { ...nothingToDo(item), logged, dueAt: retryAt(item, now()) };
    },
    settle: (settlements) => settleDeliveries(db.work, settlements),
  };
}

function isDeliverable(item: DeliveryItem): item is Deliverable {
  return item.occurredAt !== null && item.messageId !== null && item.url !== null && item.disabledAt === null;
}

/** An event of a message that was deleted is dropped; one without an address too, but the log says so. */
function nowhereToGo(item: DeliveryItem, at: Date): DeliverySettlement {
  const settlement = nothingToDo(item);
  if (item.messageId === null || item.occurredAt === null) return settlement;
  const error = item.url === null ? "not sent: no webhook URL is set" : "not sent: the webhook is disabled";
  return { ...settlement, logged: { attemptedAt: at, status: null, latencyMs: 0, error, response: null } };
}

/** What a large event tells could not be read, so nothing was sent: it is tried again as soon as somebody can. */
function notBegun(item: DeliveryItem, why: string, at: Date): DeliverySettlement {
  const logged = { attemptedAt: at, status: null, latencyMs: 0, error: `not sent: ${why}`, response: null };
  return { ...nothingToDo(item), logged, dueAt: at, isForgiven: true };
}

function nothingToDo({ subjectId, attempt }: DeliveryItem): DeliverySettlement {
  return { subjectId, attempt, dueAt: null, isForgiven: false, logged: null, disables: null };
}
