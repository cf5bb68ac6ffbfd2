import { useState } from "preact/hooks";
import { InboxdError, type Schemas, wordsOf } from "../api.ts";
import { useBusy } from "../parts/busy.ts";
import { useDraftKey } from "./draft.ts";

export interface SendFault {
  words: string;
  /** Another mail went out by the key of this draft. */
  isSentBefore: boolean;
}

/** `unknown`: no answer says whether the service has taken it. */
type Outcome = { kind: "sent"; sent: Schemas["SendResult"] } | { kind: "refused" } | { kind: "unknown" };

export interface Sending {
  isBusy: boolean;
  fault: SendFault | undefined;
  /** Sends by the key of the draft, and tells what came of it. */
  send(post: (key: string) => Promise<Schemas["SendResult"]>, onEnd: (outcome: Outcome) => void): Promise<void>;
  /** What is sent next is another mail than what was sent before. */
  beginAnother(): void;
}

/**
 * The key stays until the mail is known to be out. A refusal does not change it: the service keeps no key of what it refuses, and it
 * says nothing of an earlier try whose answer was lost.
 */
export function useSending(draft: string): Sending {
  const { isBusy, unlessBusy } = useBusy();
  const [fault, setFault] = useState<SendFault | undefined>(undefined);
  const key = useDraftKey(draft);
  const send: Sending["send"] = (post, onEnd) =>
    unlessBusy(async () => {
      const outcome = await post(key.keep()).then(
        (sent) => ({ kind: "sent", sent }) as const,
        (error: unknown) => ({ kind: isUnknown(error) ? "unknown" : "refused", error }) as const,
      );
      if (outcome.kind === "sent") key.change();
      setFault(outcome.kind === "sent" ? undefined : faultOf(outcome.error));
      onEnd(outcome);
    });
  return { isBusy, fault, send, beginAnother: key.change };
}

function isUnknown(error: unknown): boolean {
  if (!(error instanceof InboxdError)) return true;
  return error.status === 0 || error.status >= 500 || error.code === "idempotency_in_progress";
}

function faultOf(error: unknown): SendFault {
  const { status = 0, code = "" } = error instanceof InboxdError ? error : {};
  if (code === "idempotency_key_reused") return { words: sentBefore, isSentBefore: true };
  if (!isUnknown(error)) return { words: wordsOf(error), isSentBefore: false };
  const answer = status === 0 ? "does not answer" : `answered ${status}`;
  return { words: `The service ${answer}, so ${sentPerhaps}`, isSentBefore: false };
}

const sentPerhaps = "it is not known whether the mail was sent. Send it again: it goes out once";
const sentBefore = "A mail was sent from here before, though its answer was lost. What has changed since was not sent";
