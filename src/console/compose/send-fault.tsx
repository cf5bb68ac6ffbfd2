import type { Sending } from "./sending.ts";

interface SendFaultProps {
  sending: Sending;
  /** Sends what is written now by a key of its own. */
  onSendAnother(): void;
}

/** Why it was not sent, or that nobody knows. Whoever wants a second mail of one form says so. */
export function SendFault({ sending: { fault, isBusy }, onSendAnother }: SendFaultProps) {
  if (fault === undefined) return null;
  return (
    <div id="send-fault" class="fault" role="alert">
      <p>{fault.words}</p>
      {fault.isSentBefore && (
        <button type="button" disabled={isBusy} onClick={onSendAnother}>
          Send this as another mail
        </button>
      )}
    </div>
  );
}
