import { notFound, Refusal } from "../errors.ts";
import type { StoredFailure } from "../outcome.ts";
import type { Approval } from "./approval.ts";
import type { RecipientOutcome } from "./recipients/recipient-outcome.ts";
import type { AskedMail } from "./send-fingerprint.ts";

/** The states of a draft. The first three are open; the others are final. */
export const draftStates = [
  "draft",
  "scheduled",
  "awaiting_approval",
  "sent",
  "canceled",
  "rejected",
  "expired",
  "failed",
] as const;
export type DraftState = (typeof draftStates)[number];
export const openStates = ["draft", "scheduled", "awaiting_approval"] as const satisfies readonly DraftState[];
/** The states of a mail whose sending was accepted, and that is not sent yet. */
export const waitingStates = ["scheduled", "awaiting_approval"] as const satisfies readonly DraftState[];
export type WaitingState = (typeof waitingStates)[number];

export function isOpen(state: DraftState): boolean {
  return openStates.some((open) => open === state);
}

export function isWaiting(state: DraftState): state is WaitingState {
  return waitingStates.some((waiting) => waiting === state);
}

/** The mail of a draft, as its row keeps it. The recipients of a reply are in it. Attachments have rows of their own. */
export interface DraftContent extends Omit<AskedMail, "attachments" | "sendAt"> {
  /** The Content-IDs of pictures of the forwarded message, which are among the attachments. */
  forwardedContentIds?: readonly string[] | undefined;
  /** The text that would be sent, with its quote, of a mail that waits for a person. */
  composedText?: string | undefined;
  /** The address of the sender that it would have. */
  composedFrom?: string | undefined;
}

/** A message that is not sent yet, or what became of it. The comments of its fields are in the schema. */
export interface Draft {
  id: string;
  accountId: string;
  inboxId: string;
  threadId: string;
  answeredId: string | null;
  rfcMessageId: string;
  state: DraftState;
  version: number;
  content: DraftContent | null;
  sendAt: Date | null;
  dueAt: Date | null;
  acceptedAt: Date | null;
  acceptedInboundSeq: number | null;
  madeRead: boolean;
  requestedBy: string;
  approval: Approval | null;
  fingerprint: string | null;
  failure: StoredFailure | null;
  createdAt: Date;
  updatedAt: Date;
}

/**
 * A step of a draft, by a request or by the clock. `create`: keeps the mail until somebody sends it. `change`: writes new content. `send`:
 * sends it, now or at its time. `dispatch`: the clock sends it.
 */
export type DraftStep =
  | { kind: "create" }
  | { kind: "change"; draft: Draft; replacesFiles: boolean }
  | { kind: "send" | "dispatch"; draft: Draft };

/** The draft that a step is about. Undefined if the step makes it. */
export function draftOf(step: DraftStep | undefined): Draft | undefined {
  return step === undefined || step.kind === "create" ? undefined : step.draft;
}

/** The present state of a draft, as it was read behind the revision of its inbox. */
export interface DraftFact {
  id: string;
  state: DraftState;
  version: number;
  approval: Approval | null;
  /** The status of its message; null if it is not sent. */
  messageStatus: string | null;
}

/** Refuses a step that the present state of the draft does not allow, or that was prepared with another version. */
export function refuseChangedDraft(
  { kind, draft }: Exclude<DraftStep, { kind: "create" }>,
  now: DraftFact | undefined,
): void {
  const doing = `${kind} draft`;
  // A draft is removed only before anybody has sent it.
  if (now === undefined) throw notFound("draft");
  const isAllowed = kind === "change" ? isOpen(now.state) : now.state === (kind === "send" ? "draft" : "scheduled");
  if (!isAllowed) throw draftNotOpen(doing, now);
  if (now.version !== draft.version || now.state !== draft.state) throw versionMismatch(doing, now.version);
}

export function draftNotOpen(
  doing: string,
  { state, approval = null, messageStatus = null }: Pick<DraftFact, "state"> & Partial<DraftFact>,
): Refusal {
  return new Refusal("draft_not_open", `Cannot ${doing}: the draft is ${state.replace("_", " ")}`, {
    extra: { state, message_status: messageStatus, ...(approval && { approval }) },
  });
}

export function versionMismatch(doing: string, version: number): Refusal {
  return new Refusal("version_mismatch", `Cannot ${doing}: the draft has changed and has version ${version} now`, {
    extra: { version },
  });
}

/** Refuses another open draft for an inbox that has `most` of them. */
export function refuseOverOpenDrafts(open: number, most: number): void {
  if (open < most) return;
  throw new Refusal(
    "open_drafts_limit",
    `Cannot write draft: the limit of ${most} open drafts of an inbox is reached`,
    {
      extra: { limit: most, used: open },
      retryAfterSeconds: 60,
    },
  );
}

/** The time after `sendAt` for which a scheduled mail waits for a limit or a disabled sender. Then it fails. */
export const longestDelayMs = 24 * 3_600_000;

/** The facts of an event about a draft. */
export function factsOfEvent({ id: messageId, accountId, inboxId, threadId }: Draft, id: string, occurredAt: Date) {
  return { id, accountId, inboxId, threadId, messageId, occurredAt };
}

/** The status of the mail of a draft that has no message yet. */
export function statusOfDraft({ state }: Pick<Draft, "state">): "pending" | "failed" {
  return isOpen(state) ? "pending" : "failed";
}

/** The recipients of a draft as those of a message that was not sent. */
export function recipientsOfDraft({ content, failure, state }: Draft): RecipientOutcome[] {
  return (content?.recipients ?? []).map(({ address, name = null, type }) => ({
    address,
    name,
    type,
    status: statusOfDraft({ state }),
    providerMessageId: null,
    failure,
  }));
}
