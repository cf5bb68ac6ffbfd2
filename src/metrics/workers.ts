import { letterOutcomes } from "../domain/send/letter.ts";
import type { SendResult } from "../domain/send/send.ts";
import { type SuppressionReason, suppressionReasons } from "../domain/send/suppressed.ts";
import type { DeliverySettlement } from "../store/outbox/delivery-settlements.ts";
import type { RelaySettlement } from "../store/send/relaying.ts";
import type { Suppressing } from "../store/send/suppressions.ts";
import type { WorkerObserver } from "../workers/scheduler.ts";
import type { Registry } from "./registry.ts";

export function workerObserver(metrics: Registry, suppressed: SuppressedSends): WorkerObserver {
  const relays = metrics.counter(
    "inboxd_relay_attempts_total",
    "Recorded attempts to send a mail, by outcome: sent, put_off (another attempt will follow), failed (finally), dropped (the message was deleted), host_busy (not attempted: all connections to the mail host are in use)",
    ["outcome"],
  );
  const recipients = metrics.counter("inboxd_recipients_total", "Recipients with a final status: sent, failed", [
    "outcome",
  ]);
  const recipientsBy = { sent: recipients({ outcome: "sent" }), failed: recipients({ outcome: "failed" }) };
  const letters = metrics.counter(
    "inboxd_letters_total",
    "Recorded attempts to send a letter to an approver, by outcome: sent, put_off, host_busy, failed (finally), dropped (nothing waited for its approver any more)",
    ["outcome"],
  );
  for (const outcome of letterOutcomes) letters({ outcome });
  const deliveries = metrics.counter(
    "inboxd_webhook_attempts_total",
    "Recorded attempts to deliver an event, by outcome: delivered, put_off (another attempt will follow), given_up, dropped (its event, message or endpoint was deleted)",
    ["outcome"],
  );
  const disabled = metrics.counter(
    "inboxd_webhooks_disabled_total",
    "Disabled webhook endpoints, by reason: gone (it answered 410), failing (all attempts failed for days), manual (by a request)",
    ["reason"],
  );
  const disabledBy = {
    gone: disabled({ reason: "gone" }),
    failing: disabled({ reason: "failing" }),
    manual: disabled({ reason: "manual" }),
  };
  const expired = metrics.counter(
    "inboxd_retention_messages_removed_total",
    "Messages that were removed because their retention was over",
    [],
  )({});
  const expiredInboxes = metrics.counter(
    "inboxd_expired_inboxes_total",
    "Inboxes that were deleted because their time was over (`expiresAt`)",
    [],
  )({});
  const removed = metrics.counter(
    "inboxd_removed_messages_total",
    "Messages that were removed on request, or with a thread whose time in the trash was over",
    [],
  )({});
  const relaysBy = {
    sent: relays({ outcome: "sent" }),
    put_off: relays({ outcome: "put_off" }),
    host_busy: relays({ outcome: "host_busy" }),
    failed: relays({ outcome: "failed" }),
    dropped: relays({ outcome: "dropped" }),
  };
  const deliveriesBy = {
    delivered: deliveries({ outcome: "delivered" }),
    put_off: deliveries({ outcome: "put_off" }),
    given_up: deliveries({ outcome: "given_up" }),
    dropped: deliveries({ outcome: "dropped" }),
  };
  return {
    relayed(settlement) {
      if (settlement.letter !== undefined) return letters({ outcome: settlement.letter }).add();
      relaysBy[outcomeOfRelay(settlement)].add();
      for (const outcome of settlement.outcomes) {
        if (outcome.status !== null) recipientsBy[outcome.status].add();
        suppressed.attempted(outcome);
      }
    },
    delivered: (settlement) => deliveriesBy[outcomeOfDelivery(settlement)].add(),
    disabled: (reason) => disabledBy[reason].add(),
    expired: (messages) => expired.add(messages),
    inboxExpired: () => expiredInboxes.add(),
    removed: (messages) => removed.add(messages),
  };
}

/**
 * The outcome of an attempt, as a label. If recipients have different outcomes, `sent` counts before `put_off`, and that before `failed`.
 */
function outcomeOfRelay({ outcomes, dueAt, isUntried }: RelaySettlement) {
  if (isUntried) return "host_busy";
  if (outcomes.some(({ status }) => status === "sent")) return "sent";
  if (dueAt !== null) return "put_off";
  return outcomes.length === 0 ? "dropped" : "failed";
}

function outcomeOfDelivery({ logged, dueAt }: DeliverySettlement) {
  if (dueAt !== null) return "put_off";
  if (logged === null) return "dropped";
  return logged.error === null ? "delivered" : "given_up";
}

export interface SuppressedSends {
  accepting(result: SendResult): void;
  attempted(settlement: Suppressing): void;
}

/** Counts sends to suppressed addresses: those that are refused at once, and recipients that an attempt leaves out. */
export function suppressedSends(metrics: Registry): SuppressedSends {
  const sends = metrics.counter(
    "inboxd_suppressed_sends_total",
    "Sends to suppressed addresses: refused at once (accept), or accepted before the suppression and then not attempted (attempt)",
    ["reason", "at"],
  );
  for (const reason of suppressionReasons) for (const at of ["accept", "attempt"]) sends({ reason, at });
  return {
    accepting(result) {
      if (result.kind !== "refused" || result.refusal.reason !== "recipient_suppressed") return;
      sends({ reason: result.refusal.details.extra?.reason as SuppressionReason, at: "accept" }).add();
    },
    attempted({ suppressedBy }) {
      if (suppressedBy !== undefined) sends({ reason: suppressedBy, at: "attempt" }).add();
    },
  };
}
