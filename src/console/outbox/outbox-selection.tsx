import { Icon } from "../parts/icon.tsx";

interface OutboxSelectionProps {
  count: number;
  onRetry(): void;
  onCancel(): void;
  onNone(): void;
}

/** What can be done with all that is selected. */
export function OutboxSelection({ count, onRetry, onCancel, onNone }: OutboxSelectionProps) {
  return (
    <div class="selection" role="toolbar" aria-label="Selected in the outbox">
      <span role="status">{count} selected</span>
      <button type="button" class="small" onClick={onRetry}>
        Retry now
      </button>
      <button type="button" class="small" onClick={onCancel}>
        Cancel
      </button>
      <button type="button" class="quiet small" aria-label="Select none" onClick={onNone}>
        <Icon name="close" />
      </button>
    </div>
  );
}
