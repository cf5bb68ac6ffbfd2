import { Type } from "@sinclair/typebox";
import type { Fault } from "../../../domain/errors.ts";
import type { ThreadChange as DomainChange } from "../../../domain/filing.ts";
import { folders } from "../../../domain/folders.ts";
import { labelsOf, mostLabels } from "../../../domain/labels.ts";
import { faultsOfMetadata } from "../../../domain/metadata.ts";
import type { ShownThread } from "../../../store/mail/thread-pages.ts";
import { examples } from "../../document/examples.ts";
import { named } from "../../document/schema.ts";
import type { FieldsRead } from "../../judging/faults.ts";
import { alsoNamed } from "../../judging/known-fields.ts";
import { faultsOfLabels, labelsField, textsIn } from "../../shell/labels-field.ts";
import { instant, nullable, oneOf, text } from "../../shell/models.ts";
import { isTexts, isTextsPatch, texts, textsPatch } from "../../shell/texts.ts";

const Person = named(
  "Person",
  Type.Object(
    {
      address: Type.String({ description: "Its address", examples: [examples.sender] }),
      name: nullable(Type.String({ examples: [examples.senderName] }), {
        description: "The newest name that a mail of the thread gave to the address; null for none",
      }),
    },
    { description: "An address of a thread, with its name" },
  ),
);

export const threadFields = {
  threadId: Type.String({ description: "Id of the thread", examples: [examples.threadId] }),
  id: Type.String({ description: "The same as `threadId`", examples: [examples.threadId] }),
  inboxId: Type.String({ description: "Inbox that it is in", examples: [examples.inboxId] }),
  subject: Type.String({ description: "Subject of its first message", examples: [examples.subject] }),
  isRead: Type.Boolean({ description: "False while it has unread mail", examples: [false] }),
  messageCount: Type.Integer({ minimum: 1, description: "How many messages it has", examples: [1] }),
  lastMessageAt: instant({ description: "When its last message was received or sent" }),
  lastMessageId: Type.String({ description: "Id of its last message", examples: [examples.messageId] }),
  createdAt: instant({ description: "When its first message was received or sent" }),
  participants: Type.Array(Type.String({ examples: [examples.sender] }), {
    description: "The first 20 addresses that wrote in it or were written to, without blind copies",
  }),
  preview: Type.String({
    description: "Up to 200 characters of the last message",
    examples: [examples.question],
  }),
  hasAttachments: Type.Boolean({ description: "Whether any message of it has files", examples: [true] }),
  people: Type.Array(Person, { description: "The `participants` in the same order, with their names" }),
  folder: oneOf(folders, {
    description: "`inbox`, `archive` or `trash`. An unread thread is always in `inbox`",
    examples: ["inbox"],
  }),
  labels: Type.Array(Type.String({ examples: ["orders"] }), {
    description: "Its labels, by name",
    maxItems: mostLabels,
  }),
  metadata: Type.Record(Type.String(), Type.String(), {
    description: "Your own data about it",
    examples: [{ ticket: "4711" }],
  }),
  draftCount: Type.Integer({
    minimum: 0,
    description: "How many open drafts it has: answers that are written or scheduled, and not sent yet",
    examples: [0],
  }),
};

export const Thread = named("Thread", Type.Object(threadFields, { description: "A conversation in an inbox" }));

const newerInbound = oneOf(["newer_inbound"], {
  description: "Why the thread stayed unread and in the inbox, if it did: newer mail has arrived",
});

/** The fields of both changes: that of one thread, and that of several. */
const changeFields = {
  is_read: alsoNamed(
    "isRead",
    Type.Optional(
      Type.Boolean({
        description: "The read flag. A thread that becomes unread goes into the folder `inbox`",
        examples: [true],
      }),
    ),
  ),
  folder: Type.Optional(
    nullable(oneOf(folders), {
      description:
        "The folder; null is `inbox`. A thread in `archive` or `trash` is read, and comes back unread with its next inbound mail",
      error: `must be null or one of ${folders.join(", ")}`,
      examples: ["archive"],
    }),
  ),
  add_labels: alsoNamed(
    "addLabels",
    labelsField("Labels to add. A thread has at most 20, an inbox 1,000 different ones"),
  ),
  remove_labels: alsoNamed("removeLabels", labelsField("Labels to remove")),
  metadata: Type.Optional(
    textsPatch({
      description:
        "Your own data about the thread, at most 20 keys. Keys that are left out stay; null removes a key, or as the whole value all",
      examples: [{ ticket: "4711" }],
    }),
  ),
};

export const ThreadChange = named(
  "ThreadChange",
  Type.Object(
    {
      is_read: changeFields.is_read,
      up_to_message_id: alsoNamed(
        "upToMessageId",
        Type.Optional(
          text({
            description:
              "The last message that you have seen. If newer mail has arrived, the thread stays unread and in the inbox",
            examples: [examples.messageId],
          }),
        ),
      ),
      folder: changeFields.folder,
      add_labels: changeFields.add_labels,
      remove_labels: changeFields.remove_labels,
      metadata: changeFields.metadata,
    },
    {
      description: "The changes, at least one. What is left out stays as it is",
      examples: [
        { is_read: true },
        { is_read: true, up_to_message_id: examples.messageId },
        { folder: "archive", up_to_message_id: examples.messageId, add_labels: ["orders"] },
      ],
    },
  ),
);

export const ChangedThread = named(
  "ChangedThread",
  Type.Object(
    {
      ok: Type.Boolean({ description: "Always true", examples: [true] }),
      ...threadFields,
      isRead: { ...threadFields.isRead, examples: [true] },
      reason: Type.Optional(newerInbound),
    },
    { description: "The thread as it is now" },
  ),
);

/** The most threads that one request changes. */
const mostThreads = 100;

export const ThreadsChange = named(
  "ThreadsChange",
  Type.Object(
    {
      ids: Type.Array(text({ examples: [examples.threadId] }), {
        minItems: 1,
        maxItems: mostThreads,
        error: `must be 1 to ${mostThreads} ids of threads`,
        description: "The threads to change, all of this inbox, each once",
        examples: [[examples.threadId]],
      }),
      ...changeFields,
      up_to_message_ids: alsoNamed(
        "upToMessageIds",
        Type.Optional(
          texts({
            description:
              "The last message that you have seen of each thread, by the id of the thread. A thread with newer mail stays unread and in the inbox",
            examples: [{ [examples.threadId]: examples.messageId }],
          }),
        ),
      ),
    },
    {
      description: "Threads, and the changes of all of them, at least one. What is left out stays as it is",
      examples: [{ ids: [examples.threadId], folder: "archive" }],
    },
  ),
);

const FiledThread = named(
  "FiledThread",
  Type.Object(
    {
      id: threadFields.id,
      isRead: { ...threadFields.isRead, examples: [true] },
      folder: { ...threadFields.folder, examples: ["archive"] },
      labels: threadFields.labels,
      reason: Type.Optional(newerInbound),
    },
    { description: "A thread as it is now" },
  ),
);

export const FiledThreads = named(
  "FiledThreads",
  Type.Object(
    { data: Type.Array(FiledThread, { description: "The threads, in the order of `ids`" }) },
    { description: "The threads as they are now" },
  ),
);

type ChangeFields = Partial<typeof ThreadChange.static & typeof ThreadsChange.static>;

/** The change that a request asks for, with labels in their stored form. */
export interface ReadChange {
  change: DomainChange;
  threads: { id: string; upToMessageId: string | undefined }[];
}

/** Reads the change of one thread. */
export function readChange(fields: Readonly<Record<string, unknown>>): FieldsRead<DomainChange & { seen?: string }> {
  // The schema reports fields of the wrong type.
  const asked = fields as ChangeFields;
  return {
    faults: faultsOfChange(asked),
    value: () => ({ ...changeOf(asked), ...(asked.up_to_message_id && { seen: asked.up_to_message_id }) }),
  };
}

/** Reads the change of several threads. */
export function readChanges(fields: Readonly<Record<string, unknown>>): FieldsRead<ReadChange> {
  const asked = fields as ChangeFields;
  const { ids, up_to_message_ids: seen } = asked;
  const faults = faultsOfChange(asked);
  if (Array.isArray(ids) && new Set(ids).size < ids.length)
    faults.push({ pointer: "#/ids", detail: "must have each id once" });
  if (isTexts(seen) && Array.isArray(ids) && Object.keys(seen).some((id) => !ids.includes(id)))
    faults.push({ pointer: "#/up_to_message_ids", detail: 'must have only ids that are in "ids"' });
  return {
    faults,
    value: () => ({
      change: changeOf(asked),
      threads: (ids ?? []).map((id) => ({
        id,
        upToMessageId: seen !== undefined && Object.hasOwn(seen, id) ? seen[id] : undefined,
      })),
    }),
  };
}

const changeNames = ["is_read", "folder", "add_labels", "remove_labels", "metadata"] as const;

function faultsOfChange(asked: ChangeFields): Fault[] {
  const { is_read: isRead, folder, metadata } = asked;
  const faults: Fault[] = [];
  if (changeNames.every((name) => asked[name] === undefined)) {
    faults.push({ pointer: "#", detail: `must have at least one of ${changeNames.join(", ")}` });
  }
  if (isRead === false && (folder === "archive" || folder === "trash")) {
    faults.push({ pointer: "#/folder", detail: "must be inbox, or left out, for an unread thread" });
  }
  faults.push(
    ...faultsOfLabels("add_labels", asked.add_labels),
    ...faultsOfLabels("remove_labels", asked.remove_labels),
  );
  const both = new Set(labelsOf(textsIn(asked.add_labels))).intersection(
    new Set(labelsOf(textsIn(asked.remove_labels))),
  );
  if (both.size > 0) faults.push({ pointer: "#/remove_labels", detail: "must have no label that is added, too" });
  if (isTextsPatch(metadata)) faults.push(...faultsOfMetadata(metadata));
  return faults;
}

function changeOf({ is_read: isRead, folder, add_labels, remove_labels, metadata }: ChangeFields): DomainChange {
  return {
    isRead,
    folder: folder === null ? "inbox" : folder,
    addLabels: labelsOf(add_labels ?? []),
    removeLabels: labelsOf(remove_labels ?? []),
    metadata,
  };
}

export function toThread(thread: ShownThread) {
  const { id, inboxId, subject, isRead, messageCount, lastMessageAt, lastMessageId, createdAt } = thread;
  const { people, preview, hasAttachments, folder, labels, metadata } = thread;
  return {
    threadId: id,
    id,
    inboxId,
    subject,
    isRead,
    messageCount,
    lastMessageAt,
    lastMessageId,
    createdAt,
    participants: people.map(({ address }) => address),
    preview,
    hasAttachments,
    // The database has its own order of fields.
    people: people.map(({ address, name }) => ({ address, name })),
    folder,
    labels: [...labels],
    metadata: metadata ?? {},
    draftCount: thread.draftCount,
  };
}
