import { useState } from "preact/hooks";
import { errorText, InboxdError, type Schemas } from "../api.ts";
import { formatNumber } from "../format.ts";
import { useBusy } from "../parts/busy.ts";
import { useDraftKey } from "./draft.ts";

interface Problem {
  text: string;
  /** A different mail was already sent with the key of this draft. */
  isSentBefore: boolean;
}

/** `unknown`: no response says whether the service has accepted the mail. */
type Outcome = { kind: "sent"; sent: Schemas["SendResult"] } | { kind: "refused" } | { kind: "unknown" };

export interface Sending {
  isBusy: boolean;
  problem: Problem | undefined;
  /** Calls `post` with the idempotency key of the draft, and then `onEnd` with the outcome. */
  send(post: (key: string) => Promise<Schemas["SendResult"]>, onEnd: (outcome: Outcome) => void): Promise<void>;
  /** Changes the idempotency key, so that the next `send` is a new mail. */
  beginAnother(): void;
}

/**
 * Sends a draft once. The key stays the same until the mail is known to be sent. A refusal does not change the key: the
 * service does not store the key of a refused request, and an earlier try whose response was lost may have succeeded.
 */
export function useSending(draft: string): Sending {
  const { isBusy, unlessBusy } = useBusy();
  const [problem, setProblem] = useState<Problem | undefined>(undefined);
  const key = useDraftKey(draft);
  const send: Sending["send"] = (post, onEnd) =>
    unlessBusy(async () => {
      const outcome = await post(key.keep()).then(
        (sent) => ({ kind: "sent", sent }) as const,
        (error: unknown) => ({ kind: isUnknown(error) ? "unknown" : "refused", error }) as const,
      );
      if (outcome.kind === "sent") key.change();
      setProblem(outcome.kind === "sent" ? undefined : problemOf(outcome.error));
      onEnd(outcome);
    });
  return { isBusy, problem, send, beginAnother: key.change };
}

function isUnknown(error: unknown): boolean {
  if (!(error instanceof InboxdError)) return true;
  return error.status === 0 || error.status >= 500 || error.code === "idempotency_in_progress";
}

function problemOf(error: unknown): Problem {
  const { status = 0, code = "" } = error instanceof InboxdError ? error : {};
  if (code === "idempotency_key_reused") return { text: sentBefore, isSentBefore: true };
  if (!isUnknown(error)) return { text: errorText(error), isSentBefore: false };
  const answer = status === 0 ? "does not answer" : `answered ${status}`;
  return { text: `The service ${answer}, so ${perhapsSent}`, isSentBefore: false };
}

const perhapsSent = "it is not known whether the mail was sent. Send it again: it will be sent only once";
const sentBefore =
  "A mail was already sent from here, but the response was lost. Your changes since then were not sent";

interface SendProblemProps {
  sending: Sending;
  onSendAnother(): void;
}

/** The reason why the mail was not sent, with a button to send a changed draft as a second mail. */
export function SendProblem({ sending: { problem, isBusy }, onSendAnother }: SendProblemProps) {
  if (problem === undefined) return null;
  return (
    <div id="send-fault" class="fault" role="alert">
      <p>{problem.text}</p>
      {problem.isSentBefore && (
        <button type="button" disabled={isBusy} onClick={onSendAnother}>
          Send this as another mail
        </button>
      )}
    </div>
  );
}

/** The name of the modifier key on this system. */
const keys = /Mac|iPhone|iPad/.test(navigator.userAgent) ? "⌘ ⏎" : "Ctrl ⏎";

export function SendButton({ isDisabled }: { isDisabled: boolean }) {
  return (
    <button type="submit" class="primary" disabled={isDisabled}>
      Send
      <kbd class="in-button">{keys}</kbd>
    </button>
  );
}

const maxBodyLength = 100_000;

/** The length of a body, counted in code points as the service does. The service refuses a longer one; nothing is cut. */
export function BodyCount({ body }: { body: string }) {
  return (
    <span class="reply-count">
      {body !== "" && `${formatNumber(codePointsOf(body))} / ${formatNumber(maxBodyLength)}`}
    </span>
  );
}

function codePointsOf(text: string): number {
  let count = 0;
  for (const _ of text) count += 1;
  return count;
}
