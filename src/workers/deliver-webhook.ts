import type { Logger } from "pino";
import { DatabaseUnavailable } from "../database/db.ts";
import type { DisabledReason } from "../domain/events/endpoint.ts";
import type { ClosedAccounts } from "../flows/account/closed-accounts.ts";
import type { Deps } from "../flows/deps.ts";
import type { PayloadDeps } from "../flows/events/event-payload.ts";
import { listAttachments, type ShownAttachment } from "../store/mail/attachments.ts";
import { type ClaimedDelivery, claimDeliveries } from "../store/outbox/deliveries.ts";
import {
  type DeliverySettlement,
  type DisabledEndpoint,
  settleDeliveries,
} from "../store/outbox/delivery-settlements.ts";
import { kinds } from "../store/outbox/kinds.ts";
import { releaseItems } from "../store/outbox/outbox-rows.ts";
import { deliveryError, type WebhookClient, type WebhookReply } from "../webhook/client.ts";
import { type Start, startQueues } from "../webhook/starts.ts";
import { type Deliverable, deliveryWriter, isDeliverable } from "./delivery-request.ts";
import {
  brokenOff,
  type DeliverySchedule,
  notBegun,
  nothingToDo,
  nowhereToGo,
  settlementOf,
} from "./delivery-settlement.ts";
import { type DeliveryContent, isLarge, largeDeliveries } from "./large-deliveries.ts";
import { leavingOf } from "./outbox/delivery-slots.ts";
import type { Attempted, Job } from "./outbox/job.ts";
import { lanesWithout } from "./outbox/lanes.ts";
import { webhookLanes } from "./outbox/webhook-lanes.ts";

export interface DeliverWebhookDeps extends Deps, DeliverySchedule, PayloadDeps {
  webhooks: WebhookClient;
  webhookTimeoutMs: number;
  /** Called for each endpoint that was disabled because of its answers. */
  disabled?: ((reason: DisabledReason) => void) | undefined;
  /** The accounts whose mail waits without an attempt, or also their events. The default is none. */
  closed?: Pick<ClosedAccounts, "suspended" | "moving">;
}

const nobody: ReadonlySet<string> = new Set();

export type DeliveryItem = ClaimedDelivery & { attachments: readonly ShownAttachment[] };

/** The job that delivers events to webhook endpoints (contract §10). */
export function deliverWebhookJob(deps: DeliverWebhookDeps): Job<DeliveryItem, DeliverySettlement> {
  const { db, log, now } = deps;
  const requestOf = deliveryWriter(deps);
  const starts = startQueues();
  const large = largeDeliveries(deps);

  async function attempt(item: DeliveryItem, signal: AbortSignal): Promise<Attempted<DeliverySettlement>> {
    if (!isDeliverable(item)) return { settlement: nowhereToGo(item, now()), leaving: "unknown" };
    const start = starts.enter(`${item.lane} ${item.inboxId}`);
    try {
      const { bodyText, attachments } = item;
      if (!isLarge(item)) return await deliver(item, { bodyText, attachments, included: undefined }, start, signal);
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
  ): Promise<Attempted<DeliverySettlement>> {
    const sentAt = now();
    const request = await requestOf(item, content, sentAt);
    if (request === undefined) return { settlement: nothingToDo(item), leaving: "unknown" };
    const { headers, body } = request;
    const reply = await deps.webhooks.post({
      url: item.url,
      headers,
      body,
      signal,
      start,
      // If an earlier attempt did not count (`isForgiven`), a kept connection had probably ended. A new connection avoids that.
      fresh: item.forgivenAttempts > 0,
    });
    const settlement = settlementOf(deps, item, { attemptedAt: sentAt, reply, isCutOff: signal.aborted });
    logAttempt(log, item, reply, settlement);
    return { settlement, leaving: signal.aborted ? "unknown" : leavingOf(reply) };
  }

  return {
    kind: kinds.webhook,
    leaseMs: deps.webhookTimeoutMs + 15_000,
    lanes: lanesWithout(webhookLanes(), () => deps.closed?.moving() ?? nobody),
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
    failed: (item) => brokenOff(deps, item),
    async settle(settlements) {
      const { inForce, disabled, hasDeliveries } = await settleDeliveries(db.work, settlements);
      for (const each of disabled) {
        logDisabled(log, each);
        deps.disabled?.(each.reason);
      }
      if (hasDeliveries) deps.nudge("webhook");
      deps.changes.notify(disabled);
      return inForce;
    },
  };
}

function logDisabled(log: Logger, { accountId, webhookId, reason }: DisabledEndpoint): void {
  const why = reason === "gone" ? "it answered 410" : "every attempt failed for days";
  log.warn({ account_id: accountId, webhook_id: webhookId, reason }, `webhook disabled: ${why}`);
}

function logAttempt(log: Logger, item: Deliverable, reply: WebhookReply, { dueAt }: DeliverySettlement): void {
  const about = {
    event_id: item.eventId,
    message_id: item.messageId ?? undefined,
    webhook_id: item.webhookId,
    account_id: item.accountId,
    attempt: item.attempt,
    latency_ms: reply.latencyMs,
  };
  const error = deliveryError(reply);
  if (error === null) log.info(about, "event delivered");
  else if (dueAt === null) log.warn({ ...about, error }, "event given up");
  else log.info({ ...about, error, due_at: dueAt }, "event not delivered: trying again");
}
