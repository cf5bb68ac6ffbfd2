import { transaction } from "../../database/db.ts";
import { type Caller, keyInReach, type Reach } from "../../domain/access/access.ts";
import type { ActorIn } from "../../domain/access/actor.ts";
import { cursorAtRow } from "../../domain/cursor.ts";
import { notFound } from "../../domain/errors.ts";
import { isId } from "../../domain/ids.ts";
import { canceledFailure } from "../../domain/outcome.ts";
import { deciderOf } from "../../domain/send/approval.ts";
import type { AskedAttachment } from "../../domain/send/attachment-words.ts";
import { type Draft, draftNotOpen, isOpen, versionMismatch } from "../../domain/send/draft.ts";
import type { SendRequest, SendResult } from "../../domain/send/send.ts";
import { lockInboxes, markInboxTotals } from "../../store/account/inboxes.ts";
import {
  type DraftPage,
  findDraft,
  findLockedDraft,
  listDraftFacts,
  listDraftsOfPage,
  removeDrafts,
} from "../../store/send/drafts.ts";
import { audit } from "../audit.ts";
import type { Deps } from "../deps.ts";
import { writeEnd } from "./end-draft.ts";
import { requestOfDraft, wholeDraft } from "./request-of-draft.ts";
import { type SendingWithFiles, sendWithFiles } from "./send-with-files.ts";

export async function ownedDraft({ db }: Pick<Deps, "db">, reach: Reach, id: string): Promise<Draft> {
  const draft = isId("msg", id) ? await findDraft(db.api, reach, id) : undefined;
  if (draft === undefined) throw notFound("draft");
  return draft;
}

/** A page of drafts, newest first. `question` is the query that its cursor belongs to. */
export async function pageDrafts({ db }: Pick<Deps, "db">, { question, ...page }: DraftPage & { question: unknown }) {
  const found = await listDraftsOfPage(db.api, { ...page, limit: page.limit + 1 });
  const drafts = found.slice(0, page.limit);
  const last = found.length > page.limit ? drafts.at(-1) : undefined;
  return { drafts, nextCursor: last === undefined ? null : cursorAtRow({ number: "0", id: last.id }, question) };
}

/** The request of a change of a draft, on top of its present content. */
export interface DraftChange {
  mail: Omit<SendRequest, "account" | "inboxId" | "idempotencyKey">;
  /** Undefined: the files stay as they are. */
  attachments: readonly AskedAttachment[] | undefined;
  /** Whether it names another message to answer, so that the answered message is chosen again. */
  answersAnew: boolean;
  /** Whether it forwards another message, or forwards it in another way. */
  forwardsAnew: boolean;
}

/** A caller's condition: the version that the draft must have. */
export interface OnVersion {
  version: number | undefined;
}

/**
 * Changes an open draft. `read` makes the change from the present draft, so of two changes at once the second is made on top of the first,
 * unless the caller has named the version.
 */
export async function changeDraft(
  deps: SendingWithFiles,
  caller: Caller,
  { id, version, read }: { id: string; read: (draft: Draft) => DraftChange } & OnVersion,
): Promise<Draft> {
  const doing = "change draft";
  for (;;) {
    const draft = await draftToChange(deps, caller.reach, { id, version, doing });
    const result = await writeChange(deps, caller, draft, read(draft));
    if (result.kind === "kept" || result.kind === "waiting") return result.draft;
    if (result.kind === "refused" && !isStale(result)) throw result.refusal;
  }
}

async function writeChange(
  deps: SendingWithFiles,
  caller: Caller,
  draft: Draft,
  { mail, attachments, answersAnew, forwardsAnew }: DraftChange,
): Promise<SendResult> {
  const replacesFiles = attachments !== undefined || forwardsAnew;
  const step = {
    kind: "change" as const,
    draft: answersAnew ? { ...draft, answeredId: null } : draft,
    replacesFiles,
  };
  const request: SendRequest = {
    ...mail,
    account: caller,
    inboxId: draft.inboxId,
    // A version is changed once.
    idempotencyKey: `${draft.id} ${draft.version}`,
    step,
  };
  const whole = await wholeDraft(deps.db.api, draft);
  if (forwardsAnew) return sendWithFiles(deps, caller, request, attachments ?? [], undefined);
  const { forward } = whole;
  if (attachments === undefined) {
    const files = whole.files.length === 0 ? undefined : { attachments: whole.files, source: undefined };
    return deps.sendEmail({ ...request, forward, files });
  }
  // The list names all files, also those that came from the forwarded message.
  return sendWithFiles(deps, caller, request, attachments, undefined, forward);
}

/** Whether a request was judged on a draft that has changed meanwhile. It is then made again, on the present one. */
export function isStale(result: SendResult & { kind: "refused" }): boolean {
  return result.refusal.reason === "version_mismatch";
}

/**
 * Whether the draft was sent after it was read. That may have been this very request, by another process, since the uses of keys are read
 * before the drafts. Then the next try is a replay.
 */
function isOutrun(result: SendResult & { kind: "refused" }, { state }: Draft): boolean {
  return result.refusal.reason === "draft_not_open" && state === "draft";
}

async function draftToChange(
  deps: Pick<Deps, "db">,
  reach: Reach,
  { id, version, doing }: { id: string; doing: string } & OnVersion,
): Promise<Draft> {
  const draft = await ownedDraft(deps, reach, id);
  if (!isOpen(draft.state)) throw await notOpen(deps, draft, doing);
  if (version !== undefined && version !== draft.version) throw versionMismatch(doing, draft.version);
  return draft;
}

async function notOpen({ db }: Pick<Deps, "db">, draft: Draft, doing: string) {
  const [now = draft] = await listDraftFacts(db.api, [draft.id]);
  return draftNotOpen(doing, now);
}

/** Sends a draft now, or at `sendAt` of the request or of the draft. `refuseIncomplete` throws if the draft lacks what a mail needs. */
export async function sendDraft(
  deps: SendingWithFiles,
  caller: Caller,
  {
    id,
    version,
    sendAt,
    idempotencyKey,
    refuseIncomplete,
  }: {
    id: string;
    sendAt: Date | undefined;
    idempotencyKey: string;
    refuseIncomplete: (draft: Draft) => void;
  } & OnVersion,
): Promise<SendResult> {
  for (;;) {
    const draft = await ownedDraft(deps, caller.reach, id);
    if (version !== undefined && version !== draft.version) throw versionMismatch("send draft", draft.version);
    if (draft.state === "draft") refuseIncomplete(draft);
    const key = keyInReach(caller.reach, idempotencyKey);
    const request = requestOfDraft(await wholeDraft(deps.db.api, draft), {
      account: caller,
      idempotencyKey: key,
      step: { kind: "send", draft },
    });
    const result = await deps.sendEmail({ ...request, sendAt: sendAt ?? request.sendAt });
    if (result.kind !== "refused" || !(isStale(result) || isOutrun(result, draft))) return result;
  }
}

/** Removes a draft that nobody has sent, and cancels one that is scheduled or waits for a person. */
export async function discardDraft(
  deps: Deps,
  { actor, ...reach }: ActorIn & Reach,
  { id, version }: { id: string } & OnVersion,
): Promise<void> {
  const doing = "discard draft";
  const { inboxId, accountId } = await draftToChange(deps, reach, { id, version, doing });
  const hasDeliveries = await transaction(deps.db.api, async (tx) => {
    const [inbox] = await lockInboxes(tx, [inboxId]);
    const draft = await findLockedDraft(tx, id);
    if (inbox === undefined || draft === undefined) throw notFound("draft");
    if (!isOpen(draft.state)) throw await notOpen(deps, draft, doing);
    if (version !== undefined && version !== draft.version) throw versionMismatch(doing, draft.version);
    if (draft.state === "draft") {
      await removeDrafts(tx, [id]);
      await markInboxTotals(tx, [inbox]);
      return false;
    }
    const at = deps.now();
    await audit(tx, deps, at, { action: "outbox.canceled", accountId, actor, target: { type: "message", id } });
    const end = { state: "canceled", failure: canceledFailure, by: deciderOf(actor) } as const;
    return writeEnd(tx, deps, { inbox, draft, end, at });
  });
  if (hasDeliveries) deps.nudge("webhook");
  deps.changes.notify([{ accountId, inboxId }]);
}
