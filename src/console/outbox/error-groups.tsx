import { useState } from "preact/hooks";
import { errorText, inboxd } from "../api.ts";
import { formatCount, formatNumber, formatShortTime } from "../format.ts";
import { notify } from "../frame/notice.tsx";
import { clock } from "../machine.ts";
import { useBusy } from "../parts/busy.ts";
import { changeItems, mayChange, type OutboxItem } from "./change-items.ts";

interface ErrorGroupsProps {
  /** The oldest waiting items, oldest first. */
  items: readonly OutboxItem[];
  /** Whether there are more waiting items than these. */
  isMore: boolean;
  onRetried(): void;
}

/** The errors that several items wait for, each with a button that retries all of its items. */
export function ErrorGroups({ items, isMore, onRetried }: ErrorGroupsProps) {
  const { isBusy, unlessBusy } = useBusy();
  const [retried, setRetried] = useState(0);
  const groups = [...Map.groupBy(items, groupOf)].flatMap(([group, alike]) => {
    const [oldest, ...others] = alike;
    return oldest === undefined || others.length === 0 ? [] : [{ group, oldest, alike }];
  });
  if (groups.length === 0) return null;

  async function retryAll(group: string, kind: OutboxItem["kind"]) {
    setRetried(0);
    let done = 0;
    try {
      for await (const { data } of inboxd.outbox.list({ state: "waiting", kind, limit: 100 }).pages()) {
        const alike = data.filter((item) => groupOf(item) === group && mayChange(item));
        if (alike.length > 0) await changeItems(alike, "retry");
        done += alike.length;
        setRetried(done);
      }
      if (done > 100) notify(`${formatCount(done, "item")} queued for retry`);
    } catch (error) {
      notify(errorText(error), "bad");
    }
    onRetried();
  }

  return (
    <section class="section error-groups" aria-labelledby="errors">
      <h2 id="errors">What they wait for</h2>
      <ul class="rows">
        {groups.map(({ group, oldest, alike }) => (
          <li key={group} class="row">
            <div class="row-link">
              <span class="strong said">{oldest.lastError}</span>
              <span class="quiet-text">
                {formatNumber(alike.length)}
                {isMore && "+"} {oldest.kind === "relay" ? "mails" : "deliveries"} since{" "}
                {formatShortTime(new Date(oldest.createdAt), clock.value)}
              </span>
            </div>
            {alike.some(mayChange) && (
              <button
                type="button"
                class="small"
                disabled={isBusy}
                onClick={() => void unlessBusy(() => retryAll(group, oldest.kind))}
              >
                {isBusy && retried > 0 ? `Retried ${formatNumber(retried)}` : "Retry all"}
              </button>
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}

/** The key of a group: the error without its numbers and addresses, so that items with the same reason have the same key. */
function groupOf({ kind, lastError }: OutboxItem): string {
  return `${kind} ${(lastError ?? "").replace(/\S{1,64}@\S{1,255}|\d+/g, "…")}`;
}
