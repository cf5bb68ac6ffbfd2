import { type NoticeObserver, noticeOutcomes } from "../flows/receive/take-notices.ts";
import type { Registry } from "./registry.ts";

export function noticeObserver(metrics: Registry): NoticeObserver {
  const notices = metrics.counter(
    "inboxd_relay_notices_total",
    "What the relay told: accepted (of a message of ours), ignored (opens and the like), unknown (of nothing that we sent), early (asked for again), refused (requests that are not the relay's)",
    ["outcome"],
  );
  for (const outcome of noticeOutcomes) notices({ outcome });
  return (outcome, count) => notices({ outcome }).add(count);
}
