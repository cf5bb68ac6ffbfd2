import { useState } from "preact/hooks";
import { href } from "../address.ts";
import { errorText, InboxdError, inboxd, type Schemas } from "../api.ts";
import { formatNumber } from "../format.ts";
import { notify } from "../frame/notice.tsx";
import { useBusy } from "../parts/busy.ts";
import { may } from "../session.ts";
import { useDraftKey } from "./draft.ts";
import { type Faults, faultsIn, maxBodyLength, type Written } from "./faults.ts";

interface Problem {
  /** Undefined if all is said beside the fields. */
  text: string | undefined;
  /** The refused mail, and its faults by field. */
  written: Written;
  faults: Faults;
  /** A different mail was already sent with the key of this draft. */
  isSentBefore: boolean;
  /** The suppressions for which the mail was refused. */
  suppressionIds: readonly string[];
}

/** `unknown`: no response says whether the service has accepted the mail. */
type Outcome = { kind: "sent"; sent: Schemas["SendResult"] } | { kind: "refused" } | { kind: "unknown" };

export interface Sending {
  isBusy: boolean;
  problem: Problem | undefined;
  /** Calls `post` with the idempotency key of the draft, and then `onEnd` with the outcome. */
  send(
    written: Written,
    post: (key: string) => Promise<Schemas["SendResult"]>,
    onEnd: (outcome: Outcome) => void,
  ): Promise<void>;
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
  const send: Sending["send"] = (written, post, onEnd) =>
    unlessBusy(async () => {
      const outcome = await post(key.keep()).then(
        (sent) => ({ kind: "sent", sent }) as const,
        (error: unknown) => ({ kind: isUnknown(error) ? "unknown" : "refused", error }) as const,
      );
      if (outcome.kind === "sent") key.change();
      setProblem(outcome.kind === "sent" ? undefined : problemOf(outcome.error, written));
      onEnd(outcome);
    });
  return { isBusy, problem, send, beginAnother: key.change };
}

function isUnknown(error: unknown): boolean {
  if (!(error instanceof InboxdError)) return true;
  return error.status === 0 || error.status >= 500 || error.code === "idempotency_in_progress";
}

function problemOf(error: unknown, written: Written): Problem {
  const { status = 0, code = "", problem = {} } = error instanceof InboxdError ? error : {};
  const about = { written, faults: {}, isSentBefore: false, suppressionIds: [] };
  if (code === "idempotency_key_reused") return { ...about, text: sentBefore, isSentBefore: true };
  if (isUnknown(error)) {
    const answer = status === 0 ? "does not answer" : `answered ${status}`;
    return { ...about, text: `The service ${answer}, so ${perhapsSent}` };
  }
  if (code === "recipient_suppressed") {
    const all = [problem, ...(Array.isArray(problem.recipients) ? problem.recipients : [])];
    const ids = new Set(all.map(({ suppression_id: id }) => String(id)));
    return { ...about, text: errorText(error), suppressionIds: [...ids] };
  }
  const faults = faultsIn(error, written);
  return faults === undefined ? { ...about, text: errorText(error) } : { ...about, text: undefined, faults };
}

const perhapsSent = "it is not known whether the mail was sent. Send it again: it will be sent only once";
const sentBefore =
  "A mail was already sent from here, but the response was lost. Your changes since then were not sent";

interface SendProblemProps {
  sending: Sending;
  /** The text if all faults stand beside their fields. Without it, they stand here. */
  besideFields?: string;
  onSend(): void;
}

/** The reason why the mail was not sent, with a way out: to send a changed draft as a second mail, or to remove a suppression. */
export function SendProblem({ sending, besideFields, onSend }: SendProblemProps) {
  const { problem, isBusy, beginAnother } = sending;
  if (problem === undefined) return null;
  const { text, faults, isSentBefore, suppressionIds } = problem;

  async function sendUnsuppressed() {
    try {
      for (const id of suppressionIds) await inboxd.suppressions.delete(id);
      onSend();
    } catch (error) {
      notify(errorText(error), "bad");
    }
  }

  return (
    <div id="send-fault" class="fault" role="alert">
      <p>{text ?? besideFields ?? Object.values(faults).join(". ")}</p>
      {isSentBefore && (
        <button
          type="button"
          disabled={isBusy}
          onClick={() => {
            beginAnother();
            onSend();
          }}
        >
          Send this as another mail
        </button>
      )}
      {suppressionIds.length > 0 && (
        <div class="actions">
          {may("read") && <a href={href("suppressions")}>Suppressions</a>}
          {may("manage") && (
            <button type="button" disabled={isBusy} onClick={() => void sendUnsuppressed()}>
              Remove the suppression and send
            </button>
          )}
        </div>
      )}
    </div>
  );
}

/** Tells that a mail is scheduled or waits for a person, and offers to take it back. */
export function notifyWaiting(state: NonNullable<Schemas["SendResult"]["state"]>, messageId: string): void {
  notify(state === "scheduled" ? "Scheduled" : "Waits for approval", "good", {
    verb: "Undo",
    run() {
      inboxd.messages.cancel(messageId).then(
        () => notify("It is not sent"),
        (error: unknown) => notify(errorText(error), "bad"),
      );
    },
  });
}

interface SendAtProps {
  /** As the field of the browser has it; empty for now. */
  value: string;
  isDisabled: boolean;
  isWrong: boolean;
  onChange(value: string): void;
}

/** The field for the time at which a mail is sent. */
export function SendAt({ value, isDisabled, isWrong, onChange }: SendAtProps) {
  return (
    <div class="line">
      <label for="send-at">Send at</label>
      <input
        id="send-at"
        type="datetime-local"
        value={value}
        disabled={isDisabled}
        aria-invalid={isWrong}
        aria-describedby="send-at-fault"
        onInput={(event) => onChange(event.currentTarget.value)}
      />
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
