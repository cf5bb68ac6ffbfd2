import { Confirm } from "../parts/confirm.tsx";
import type { OutboxItem } from "./outbox.ts";

interface CancelQuestionProps {
  items: readonly OutboxItem[];
  onDone(isWanted: boolean): void;
}

export function CancelQuestion({ items, onDone }: CancelQuestionProps) {
  const isOne = items.length === 1;
  const hasMail = items.some(({ kind }) => kind === "relay");
  const hasDeliveries = items.some(({ kind }) => kind === "webhook");
  const verb = isOne ? (hasMail ? "Cancel the mail" : "Give it up") : `Take out ${items.length}`;
  return (
    <Confirm
      title={isOne ? "Take it out of the outbox?" : `Take ${items.length} out of the outbox?`}
      verb={verb}
      onDone={onDone}
    >
      {hasMail && <p>A mail is not sent to anybody whom it has not reached yet. It is shown as failed: canceled.</p>}
      {hasDeliveries && <p>A delivery is given up. The event stays in the log, and can be delivered again.</p>}
    </Confirm>
  );
}
