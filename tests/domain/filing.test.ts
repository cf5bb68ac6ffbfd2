import { describe, expect, test } from "bun:test";
import type { ThreadState } from "../../src/domain/conversation.ts";
import { Refusal } from "../../src/domain/errors.ts";
import { fileThread, type ThreadChange } from "../../src/domain/filing.ts";
import { labelOf, labelsAfter, labelsOfInboxAfter } from "../../src/domain/labels.ts";
import { patchedMetadata } from "../../src/domain/metadata.ts";

const before = new Date("2026-03-20T09:00:00Z");
const at = new Date("2026-03-21T10:05:00Z");

/** A thread whose last inbound message has the number 7. */
const unread: ThreadState = {
  id: "thr",
  inboxId: "inb",
  subject: "Talk",
  isRead: false,
  messageCount: 2,
  createdAt: before,
  lastMessageAt: before,
  lastMessageId: "msg",
  lastSeq: 8,
  lastInboundSeq: 7,
  people: [],
  preview: "",
  hasAttachments: false,
  folder: "inbox",
  labels: ["b"],
  metadata: { order: "1" },
  trashedAt: null,
};
const read: ThreadState = { ...unread, isRead: true };
const archived: ThreadState = { ...read, folder: "archive" };
const trashed: ThreadState = { ...read, folder: "trash", trashedAt: before };

describe("filing a thread", () => {
  type Row = [string, ThreadState, ThreadChange, upToSeq: number | undefined, Partial<ThreadState>, reason?: string];
  const rows: Row[] = [
    ["archiving makes it read", unread, { folder: "archive" }, undefined, { isRead: true, folder: "archive" }],
    ["the trash notes when", unread, { folder: "trash" }, undefined, { isRead: true, folder: "trash", trashedAt: at }],
    ["all was seen", unread, { folder: "archive" }, 7, { isRead: true, folder: "archive" }],
    ["newer mail keeps it", unread, { folder: "archive" }, 6, {}, "newer_inbound"],
    ["newer mail keeps it out of the trash", unread, { folder: "trash" }, 6, {}, "newer_inbound"],
    ["newer mail keeps it unread", unread, { isRead: true }, 6, {}, "newer_inbound"],
    [
      "newer mail does not keep its labels",
      unread,
      { folder: "trash", addLabels: ["a"] },
      6,
      { labels: ["a", "b"] },
      "newer_inbound",
    ],
    ["somebody else has read the newer mail", read, { folder: "archive" }, 6, { folder: "archive" }],
    [
      "unread goes from the archive into the inbox",
      archived,
      { isRead: false },
      undefined,
      { isRead: false, folder: "inbox" },
    ],
    [
      "unread goes from the trash into the inbox",
      trashed,
      { isRead: false },
      undefined,
      { isRead: false, folder: "inbox", trashedAt: null },
    ],
    ["back to the inbox it stays read", trashed, { folder: "inbox" }, undefined, { folder: "inbox", trashedAt: null }],
    ["trashed again it keeps its time", trashed, { folder: "trash" }, undefined, {}],
    ["from the archive to the trash", archived, { folder: "trash" }, undefined, { folder: "trash", trashedAt: at }],
    [
      "labels are added and removed, in order",
      read,
      { addLabels: ["c", "a", "a"], removeLabels: ["b", "x"] },
      undefined,
      { labels: ["a", "c"] },
    ],
    [
      "metadata is patched by key",
      read,
      { metadata: { order: null, ticket: "2" } },
      undefined,
      { metadata: { ticket: "2" } },
    ],
    ["metadata is removed", read, { metadata: null }, undefined, { metadata: null }],
    ["labels alone leave it where it is", archived, { addLabels: ["a"] }, 1, { labels: ["a", "b"] }],
  ];
  test.each(rows)("%s", (...[, thread, change, upToSeq, changed, reason]: Row) => {
    const filed = fileThread(thread, change, { upToSeq, at });
    expect(filed).toEqual({ thread: { ...thread, ...changed }, reason: reason as "newer_inbound" | undefined });
    expect(filed.thread.isRead || filed.thread.folder === "inbox").toBe(true);
  });

  test("gives the same thread back if nothing changes", () => {
    expect(
      fileThread(
        archived,
        { isRead: true, folder: "archive", addLabels: ["b"], metadata: { order: "1" } },
        { upToSeq: undefined, at },
      ).thread,
    ).toBe(archived);
  });

  test("refuses a 21st label, and a 21st key", () => {
    const twenty = { ...read, labels: Array.from({ length: 20 }, (_, index) => `l${index}`) };
    const filing = { upToSeq: undefined, at };
    expect(() => fileThread(twenty, { addLabels: ["one more"] }, filing)).toThrow(Refusal);
    expect(fileThread(twenty, { addLabels: ["one more"], removeLabels: ["l0"] }, filing).thread.labels).toHaveLength(
      20,
    );
    const keys = Object.fromEntries(Array.from({ length: 20 }, (_, index) => [`k${index}`, "1"]));
    const full = { ...read, metadata: keys };
    expect(() => fileThread(full, { metadata: { more: "1" } }, filing)).toThrow(Refusal);
    expect(fileThread(full, { metadata: { more: "1", k0: null } }, filing).thread.metadata).toMatchObject({
      more: "1",
    });
  });
});

describe("a label", () => {
  const rows: [string, string | undefined][] = [
    ["Orders", "orders"],
    ["  To Do \t", "to do"],
    ["re\u0301sume\u0301", "résumé"],
    ["ÄRGER", "ärger"],
    ["a".repeat(64), "a".repeat(64)],
    ["😀".repeat(64), "😀".repeat(64)],
    ["a".repeat(65), undefined],
    ["", undefined],
    ["   ", undefined],
    ["a,b", undefined],
    ["a\nb", undefined],
    ["a\u0000b", undefined],
    ["a\u202eb", undefined],
  ];
  test.each(rows)("%j is %j", (text, label) => {
    expect(labelOf(text)).toBe(label);
    if (label !== undefined) expect(labelOf(label)).toBe(label);
  });

  test("is one of at most 1,000 of an inbox", () => {
    const all = new Set(Array.from({ length: 1_000 }, (_, index) => `l${index}`));
    expect(labelsOfInboxAfter(all, ["l7"], "change thread").size).toBe(1_000);
    expect(() => labelsOfInboxAfter(all, ["new"], "change thread")).toThrow("at most 1000 different labels");
  });
});

test("labels stay sorted, each once", () => {
  expect(labelsAfter(["b"], ["c", "a", "b"], ["c"])).toEqual(["a", "b"]);
});

test("a patch of metadata merges by key", () => {
  expect(patchedMetadata({ a: "1", b: "2" }, { b: null, c: "3" })).toEqual({ a: "1", c: "3" });
  expect(patchedMetadata({ a: "1" }, { a: null })).toBeNull();
  expect(patchedMetadata({ a: "1" }, undefined)).toEqual({ a: "1" });
});
