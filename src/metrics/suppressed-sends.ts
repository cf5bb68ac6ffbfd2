import type { SendResult } from "../domain/send/send.ts";
import { type SuppressionReason, suppressionReasons } from "../domain/send/suppressed.ts";
import type { Suppressing } from "../store/send/found-suppressions.ts";
import type { Registry } from "./registry.ts";

export interface SuppressedSends {
  accepting(result: SendResult): void;
  attempted(settlement: Suppressing): void;
}

/** Sends to addresses that nothing is sent to, wherever that was seen. */
export function suppressedSends(metrics: Registry): SuppressedSends {
  const sends = metrics.counter(
    "inboxd_suppressed_sends_total",
    "Sends to suppressed addresses: refused (accept), or not tried since the address was suppressed meanwhile (attempt)",
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
