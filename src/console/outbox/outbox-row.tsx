import { href } from "../address.ts";
import { Icon } from "../parts/icon.tsx";
import { RowSelect, type Selection } from "../parts/selection.tsx";
import { StatusTag } from "../parts/tag.tsx";
import { Time } from "../parts/time.tsx";
import { mayChange, type OutboxItem } from "./change-items.ts";

interface OutboxRowProps {
  item: OutboxItem;
  selection: Selection;
  onRetry(): void;
  onCancel(): void;
}

export function OutboxRow({ item, selection, onRetry, onCancel }: OutboxRowProps) {
  const { state, messageId, eventId, attempt, dueAt, lastError, createdAt } = item;
  const to = item.to.join(", ");
  const address = messageId ? href(`messages/${messageId}`) : href(`events/${eventId ?? ""}`);
  return (
    <li class="row">
      {mayChange(item) && <RowSelect id={item.id} name={to} selection={selection} />}
      <a class="row-link" href={address}>
        <span class="strong">{to}</span>
        {lastError === null ? (
          <span class="quiet-text">
            queued <Time at={createdAt} />
          </span>
        ) : (
          <span class="quiet-text said" title={lastError}>
            {lastError}
          </span>
        )}
      </a>
      <div class="row-state">
        <StatusTag status={state} />
        <span class="quiet-text">
          {attempt > 0 && `attempt ${attempt} · `}
          {state === "waiting" ? (
            <>
              due <Time at={dueAt} as="due" />
            </>
          ) : messageId ? (
            "mail"
          ) : (
            "webhook"
          )}
        </span>
      </div>
      {mayChange(item) && (
        <div class="row-actions">
          <button type="button" class="quiet small" aria-label={`Retry ${to} now`} title="Retry now" onClick={onRetry}>
            <Icon name="again" />
          </button>
          <button type="button" class="quiet small" aria-label={`Cancel ${to}`} title="Cancel" onClick={onCancel}>
            <Icon name="close" />
          </button>
        </div>
      )}
    </li>
  );
}
