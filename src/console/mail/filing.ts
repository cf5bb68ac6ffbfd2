import { signal } from "@preact/signals";
import { errorText, inboxd, type Schemas } from "../api.ts";
import { formatCount } from "../format.ts";
import { notify } from "../frame/notice.tsx";
import { type AsOf, isReadNow } from "./marking.ts";

export type Folder = Schemas["Thread"]["folder"];

/** A thread as it is shown. `lastMessageId` is the last message seen. */
export type Shown = AsOf<Pick<Schemas["Thread"], "id" | "isRead" | "folder" | "lastMessageId">>;

/** The number of changes made on this page, so that lists and an open thread load again after each. */
export const filings = signal(0);

const doneTexts: Readonly<Record<Folder, string>> = {
  inbox: "moved to the inbox",
  archive: "archived",
  trash: "moved to the trash",
};

/** The most threads of one request. */
const mostAtOnce = 100;

/** Puts threads of an inbox into a folder. Those with mail that was not seen stay. A notice offers to undo it. */
export async function file(inboxId: string, threads: readonly Shown[], folder: Folder): Promise<void> {
  const before = threads.map((thread) => ({ ...thread, isRead: isReadNow(thread) }));
  const stays = new Set<string>();
  const seen = (some: readonly Shown[]) => Object.fromEntries(some.map(({ id, lastMessageId }) => [id, lastMessageId]));
  const answers = await changed(inboxId, before, (some) => ({ folder, up_to_message_ids: seen(some) }));
  for (const { id, reason } of answers ?? []) if (reason) stays.add(id);
  if (answers === undefined) return;
  const moved = before.filter((thread) => !stays.has(thread.id) && thread.folder !== folder);
  const undo = async () => {
    for (const some of Map.groupBy(moved, (each) => `${each.folder} ${each.isRead}`).values()) {
      const { isRead, folder: from } = some[0] as Shown;
      await changed(inboxId, some, () => (isRead ? { folder: from } : { is_read: false }));
    }
  };
  const texts = [
    ...(moved.length > 0 ? [`${formatCount(moved.length, "thread")} ${doneTexts[folder]}`] : []),
    ...(stays.size > 0
      ? [`${formatCount(stays.size, "thread stays", "threads stay")} in the inbox because newer mail has arrived`]
      : []),
  ];
  notify(texts.join(". "), "good", moved.length > 0 ? { verb: "Undo", run: () => void undo() } : undefined);
}

/** Adds labels to threads of an inbox, or removes them. */
export async function label(inboxId: string, threads: readonly { id: string }[], change: LabelChange): Promise<void> {
  await changed(inboxId, threads, () => change);
}

type LabelChange = Pick<Schemas["ThreadsChange"], "add_labels" | "remove_labels">;

/** Changes threads. Undefined if the service refuses it, which a notice tells. */
async function changed<Thread extends { id: string }>(
  inboxId: string,
  threads: readonly Thread[],
  changeOf: (some: readonly Thread[]) => Omit<Schemas["ThreadsChange"], "ids">,
): Promise<Schemas["FiledThread"][] | undefined> {
  const answers: Schemas["FiledThread"][] = [];
  try {
    for (let from = 0; from < threads.length; from += mostAtOnce) {
      const some = threads.slice(from, from + mostAtOnce);
      const { data } = await inboxd.threads.changeAll(inboxId, { ids: some.map(({ id }) => id), ...changeOf(some) });
      answers.push(...data);
    }
    return answers;
  } catch (error) {
    notify(errorText(error), "bad");
    return undefined;
  } finally {
    filings.value += 1;
  }
}
