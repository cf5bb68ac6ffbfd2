import type { Db } from "../../database/db.ts";
import { type Draft, type DraftStep, draftOf } from "../../domain/send/draft.ts";
import type { Forward, SentAttachment } from "../../domain/send/files-of-send.ts";
import type { SendRequest } from "../../domain/send/send.ts";
import { listDraftFiles } from "../../store/send/attached.ts";
import { findForwarded } from "../../store/send/forwarded.ts";
import { forwardedMessage } from "./resolve-forward.ts";

/** The mail of a draft, with the files and the forwarded message that are not in its row. */
export interface WholeDraft {
  draft: Draft;
  files: readonly SentAttachment[];
  forward: Forward | undefined;
}

/** Reads what the rows of these drafts do not have. */
export async function wholeDrafts<Row extends Draft>(
  db: Db,
  drafts: readonly Row[],
): Promise<(WholeDraft & { draft: Row })[]> {
  const filesOf = Map.groupBy(
    await listDraftFiles(
      db,
      drafts.map(({ id }) => id),
    ),
    ({ messageId }) => messageId,
  );
  return Promise.all(
    drafts.map(async (draft) => ({
      draft,
      files: (filesOf.get(draft.id) ?? []).map(({ file }) => file),
      forward: await forwardOf(db, draft),
    })),
  );
}

export async function wholeDraft(db: Db, draft: Draft): Promise<WholeDraft> {
  const [whole] = await wholeDrafts(db, [draft]);
  return whole ?? { draft, files: [], forward: undefined };
}

async function forwardOf(db: Db, { accountId, content }: Draft): Promise<Forward | undefined> {
  if (content?.forwardOf === undefined) return undefined;
  const isInline = content.forwardAs !== "attachment";
  const row = await findForwarded(db, { accountId }, content.forwardOf, { bodies: isInline, files: false });
  return (
    row && {
      message: forwardedMessage(row),
      as: isInline ? "inline" : "attachment",
      contentIds: new Set(content.forwardedContentIds),
    }
  );
}

/** The request that sends, changes or dispatches a draft with its stored mail. */
export function requestOfDraft(
  { draft, files, forward }: WholeDraft,
  caller: Pick<SendRequest, "account" | "idempotencyKey"> & { step: DraftStep },
): SendRequest {
  const { forwardedContentIds: _, composedText: __, composedFrom: ___, ...mail } = draft.content ?? emptyContent;
  return {
    ...caller,
    ...mail,
    inboxId: draft.inboxId,
    sendAt: draftOf(caller.step)?.sendAt ?? undefined,
    forward,
    ...(files.length > 0 && { files: { attachments: files, source: undefined } }),
  };
}

/** The mail of a draft whose content was removed. It is only good for a replay. */
const emptyContent = {
  recipients: [],
  subject: undefined,
  body: undefined,
  bodyHtml: undefined,
  threadId: undefined,
  includeQuote: true,
  replyTo: undefined,
  readUpToMessageId: undefined,
  autoSubmitted: undefined,
  ignoreLoop: undefined,
  forwardedContentIds: undefined,
  composedText: undefined,
  composedFrom: undefined,
};
