import type { ThreadState } from "./conversation.ts";
import type { Folder } from "./folders.ts";
import { labelsAfter, refuseLabelsOver } from "./labels.ts";
import { type MetadataPatch, patchedMetadata, refuseTooManyKeys } from "./metadata.ts";

/** A change of a thread. What is undefined or empty stays as it is. Labels are in their stored form. */
export interface ThreadChange {
  isRead?: boolean | undefined;
  folder?: Folder | undefined;
  addLabels?: readonly string[] | undefined;
  removeLabels?: readonly string[] | undefined;
  metadata?: MetadataPatch | undefined;
}

export interface FiledThread {
  /** The same object as before if nothing is changed. */
  thread: ThreadState;
  /** Why the thread stays unread and in its folder, although the change says otherwise. Undefined if it was changed as requested. */
  reason: "newer_inbound" | undefined;
}

/** The circumstances of a filing: the last message that the caller has seen, and the time. */
export interface Filing {
  /** The number of the last message that the caller has seen; undefined if it names none. */
  upToSeq: number | undefined;
  at: Date;
}

/**
 * Files a thread: sets its read flag, folder, labels and metadata. A thread that goes into another folder becomes read, and one that becomes
 * unread goes into the inbox. With `upToSeq`, a thread with newer inbound mail stays unread and where it is, so that a caller who lists,
 * processes and then files threads misses no mail (contract §7.2).
 */
export function fileThread(thread: ThreadState, change: ThreadChange, { upToSeq, at }: Filing): FiledThread {
  const { addLabels = [], removeLabels = [] } = change;
  const becomesRead = change.isRead === true || (change.folder !== undefined && change.folder !== "inbox");
  const isUnseen = becomesRead && !thread.isRead && upToSeq !== undefined && thread.lastInboundSeq > upToSeq;
  const isRead = !isUnseen && (becomesRead || (change.isRead ?? thread.isRead));
  const folder = isRead ? (change.folder ?? thread.folder) : "inbox";
  const labels = labelsAfter(thread.labels, addLabels, removeLabels);
  if (addLabels.length > 0) refuseLabelsOver(labels, "#/add_labels", "change thread");
  const metadata = patchedMetadata(thread.metadata, change.metadata);
  if (change.metadata) refuseTooManyKeys(metadata, "change thread");
  const next = { ...thread, isRead, folder, labels, metadata, trashedAt: trashedAtIn(folder, thread.trashedAt, at) };
  return { thread: isSame(thread, next) ? thread : next, reason: isUnseen ? "newer_inbound" : undefined };
}

/** When a thread in this folder was put into the trash; null in any other folder. */
function trashedAtIn(folder: Folder, before: Date | null, at: Date): Date | null {
  return folder === "trash" ? (before ?? at) : null;
}

function isSame(before: ThreadState, after: ThreadState): boolean {
  const filed = ({ isRead, folder, labels, metadata }: ThreadState) =>
    JSON.stringify([isRead, folder, labels, Object.entries(metadata ?? {}).sort()]);
  return filed(before) === filed(after);
}

/** The labels by which lists find a thread: none in the trash. */
export function shownLabels({ folder, labels }: Pick<ThreadState, "folder" | "labels">): readonly string[] {
  return folder === "trash" ? [] : labels;
}

/** The changes of a thread by a filing, for the audit. */
export function filedChanges(before: ThreadState, after: ThreadState): Record<string, unknown> {
  const added = after.labels.filter((label) => !before.labels.includes(label));
  const removed = before.labels.filter((label) => !after.labels.includes(label));
  const keys = new Set([...Object.keys(before.metadata ?? {}), ...Object.keys(after.metadata ?? {})]);
  const metadata = [...keys].filter((key) => before.metadata?.[key] !== after.metadata?.[key]);
  return {
    ...(before.isRead !== after.isRead && { isRead: after.isRead }),
    ...(before.folder !== after.folder && { folder: after.folder }),
    ...(added.length > 0 && { addedLabels: added }),
    ...(removed.length > 0 && { removedLabels: removed }),
    ...(metadata.length > 0 && { metadata }),
  };
}
