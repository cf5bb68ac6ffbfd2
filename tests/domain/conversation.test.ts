import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import {
  arrivalEventId,
  type InboxState,
  type MessageFacts,
  recordMessage,
  type ThreadState,
} from "../../src/domain/conversation.ts";
import { idMaker } from "../../src/domain/ids.ts";

const at = (time: string) => new Date(`2026-03-21T${time}Z`);

const jane = { address: "jane@example.com", name: null };

const empty: InboxState = {
  id: "inb",
  messageCount: 0,
  inboundCount: 0,
  threadCount: 0,
  unreadCount: 0,
  archiveCount: 0,
  trashCount: 0,
  storageBytes: 0,
  lastMessageAt: null,
  lastMessageId: null,
};

function message(id: string, facts: Partial<MessageFacts> = {}): MessageFacts {
  return {
    id,
    direction: "inbound",
    at: at("10:05:00.000"),
    sizeBytes: 100,
    subject: `Subject of ${id}`,
    preview: `Preview of ${id}`,
    hasAttachments: false,
    people: [{ address: "jane@example.com" }],
    leavesUnread: true,
    ...facts,
  };
}

const outbound = { direction: "outbound", leavesUnread: false } as const;

/** Messages one after the other, each with the thread it joins. */
function recordAll(...mails: [message: MessageFacts, thread?: string][]) {
  const threads = new Map<string, ThreadState>();
  let inbox = empty;
  const recorded = mails.map(([facts, thread]) => {
    const result = recordMessage(inbox, threads.get(thread ?? ""), `thread of ${facts.id}`, facts);
    inbox = result.inbox;
    threads.set(result.thread.id, result.thread);
    return result;
  });
  return { inbox, threads, recorded };
}

describe("a mail that starts a thread", () => {
  const { inbox, threads } = recordAll([message("m1")]);

  test("makes it unread, under its own subject", () => {
    expect(threads.get("thread of m1")).toEqual({
      id: "thread of m1",
      inboxId: "inb",
      subject: "Subject of m1",
      isRead: false,
      messageCount: 1,
      createdAt: at("10:05:00.000"),
      lastMessageAt: at("10:05:00.000"),
      lastMessageId: "m1",
      lastSeq: 1,
      lastInboundSeq: 1,
      people: [jane],
      preview: "Preview of m1",
      hasAttachments: false,
      folder: "inbox",
      labels: [],
      metadata: null,
      trashedAt: null,
    });
  });

  test("is counted in its inbox", () => {
    expect(inbox).toEqual({
      id: "inb",
      messageCount: 1,
      inboundCount: 1,
      threadCount: 1,
      unreadCount: 1,
      archiveCount: 0,
      trashCount: 0,
      storageBytes: 100,
      lastMessageAt: at("10:05:00.000"),
      lastMessageId: "m1",
    });
  });
});

describe("a thread is read or unread (contract §7.2)", () => {
  const first = "thread of m1";
  const rows: [string, [MessageFacts, string?][], boolean, number][] = [
    ["inbound mail makes it unread", [[message("m1")]], false, 1],
    ["outbound mail makes it read", [[message("m1", outbound)]], true, 0],
    ["a reply marks it read", [[message("m1")], [message("m2", outbound), first]], true, 0],
    [
      "further inbound mail makes it unread again",
      [[message("m1")], [message("m2", outbound), first], [message("m3"), first]],
      false,
      1,
    ],
    ["two unread mails are one unread thread", [[message("m1")], [message("m2"), first]], false, 1],
    [
      "a reply that has not seen all leaves it unread",
      [[message("m1")], [message("m2", { direction: "outbound", leavesUnread: true }), first]],
      false,
      1,
    ],
    ["another thread's reply leaves it alone", [[message("m1")], [message("m2", outbound)]], false, 1],
  ];
  test.each(rows)("%s", (_, mails, isRead, unreadCount) => {
    const { inbox, threads } = recordAll(...mails);
    expect(threads.get(first)?.isRead).toBe(isRead);
    expect(inbox.unreadCount).toBe(unreadCount);
  });
});

describe("a mail that joins a thread", () => {
  test("leaves its subject and its beginning, and is its last message", () => {
    const joining = message("m2", {
      at: at("11:00:00.000"),
      hasAttachments: true,
      people: [{ address: "bob@example.com" }],
    });
    const { threads } = recordAll([message("m1")], [joining, "thread of m1"]);
    expect(threads.get("thread of m1")).toMatchObject({
      subject: "Subject of m1",
      messageCount: 2,
      createdAt: at("10:05:00.000"),
      lastMessageAt: at("11:00:00.000"),
      lastMessageId: "m2",
      lastSeq: 2,
      lastInboundSeq: 2,
      people: [jane, { address: "bob@example.com", name: null }],
      preview: "Preview of m2",
      hasAttachments: true,
    });
  });

  test("an outbound one is not the last inbound one", () => {
    const { threads } = recordAll([message("m1")], [message("m2", outbound), "thread of m1"]);
    expect(threads.get("thread of m1")).toMatchObject({ lastSeq: 2, lastInboundSeq: 1 });
  });

  test("an attachment of an earlier message stays the thread's", () => {
    const { threads } = recordAll([message("m1", { hasAttachments: true })], [message("m2"), "thread of m1"]);
    expect(threads.get("thread of m1")?.hasAttachments).toBe(true);
  });

  const named = (address: string, name?: string) => ({ address, ...(name !== undefined && { name }) });
  test.each([
    ["an address without a name has none", [named("a@x.example")], "a@x.example null"],
    ["the newest name counts", [named("a@x.example", "Ann"), named("a@x.example", "Ann Doe")], "a@x.example Ann Doe"],
    ["a mail without a name leaves the name", [named("a@x.example", "Ann"), named("a@x.example")], "a@x.example Ann"],
    ["so does one with an empty name", [named("a@x.example", "Ann"), named("a@x.example", "")], "a@x.example Ann"],
    ["a name may come later", [named("a@x.example"), named("a@x.example", "Ann")], "a@x.example Ann"],
    ["a name is cut at 100 characters", [named("a@x.example", "😀".repeat(101))], `a@x.example ${"😀".repeat(100)}`],
  ])("of its people, %s", (_, people, shown) => {
    const mails = people.map((person, index): [MessageFacts, string] => [
      message(`m${index + 1}`, { people: [person] }),
      "thread of m1",
    ]);
    const thread = recordAll(...mails).threads.get("thread of m1");
    expect(thread?.people.map(({ address, name }) => `${address} ${name}`)).toEqual([shown]);
  });

  test("a thread names its first twenty people, and their new names also later", () => {
    const mails = Array.from({ length: 30 }, (_, index): [MessageFacts, string] => [
      message(`m${index + 1}`, { people: [named(`p${index}@example.com`)] }),
      "thread of m1",
    ]);
    const renamed = message("m31", { people: [named("p3@example.com", "Pia")] });
    const { threads } = recordAll(...mails, [renamed, "thread of m1"]);
    expect(threads.get("thread of m1")?.people).toEqual(
      Array.from({ length: 20 }, (_, index) => ({
        address: `p${index}@example.com`,
        name: index === 3 ? "Pia" : null,
      })),
    );
  });
});

test("messages are numbered without gaps, in their inbox and in their direction", () => {
  const { recorded } = recordAll(
    [message("m1")],
    [message("m2", outbound)],
    [message("m3")],
    [message("m4", outbound)],
  );
  expect(recorded.map(({ seq, directionSeq }) => [seq, directionSeq])).toEqual([
    [1, 1],
    [2, 1],
    [3, 2],
    [4, 2],
  ]);
});

describe("the order of numbers is the order of (instant, id)", () => {
  const last = "msg_01km7xn6j07n0000000000000k";
  const rows: [string, string, string, string][] = [
    ["a later instant is kept", "msg_01km7xn6j17n0000000000000a", "10:05:00.001", "10:05:00.001"],
    ["so is the same instant with a later id", "msg_01km7xn6j07n0000000000000m", "10:05:00.000", "10:05:00.000"],
    ["the same instant with an earlier id moves on", "msg_01km7xn6j07n0000000000000j", "10:05:00.000", "10:05:00.001"],
    [
      "so does the same instant with an id that is later by its own instant alone",
      ...(["msg_01km7xn6j57n0000000000000a", "10:05:00.000", "10:05:00.001"] as const),
    ],
    ["an earlier instant moves behind the last", "msg_01km7xn6j57n0000000000000m", "10:04:00.000", "10:05:00.001"],
  ];
  test.each(rows)("%s", (_, id, instant, createdAt) => {
    const { recorded, inbox } = recordAll([message(last)], [message(id, { at: at(instant) })]);
    expect(recorded[1]?.createdAt).toEqual(at(createdAt));
    expect(inbox.lastMessageAt).toEqual(at(createdAt));
  });

  test("and that of the events' ids, for any process and any clock", () => {
    const process = fc.record({ aheadMs: fc.integer({ min: -3, max: 3 }), seed: fc.uint8Array({ minLength: 10 }) });
    const mails = fc.array(fc.record({ by: fc.nat(2), laterMs: fc.nat(2), isOvertaken: fc.boolean() }), {
      maxLength: 40,
    });
    fc.assert(
      fc.property(fc.tuple(process, process, process), mails, (processes, mails) => {
        const makers = processes.map(({ seed }) => idMaker((length) => seed.slice(0, length)));
        let ms = at("10:05:00.000").getTime();
        const arrived = mails.map(({ by, laterMs, isOvertaken }) => {
          ms += laterMs;
          const instant = new Date(ms + (processes[by]?.aheadMs ?? 0));
          const id = makers[by]?.("msg", instant) ?? "";
          return { id, instant, isOvertaken };
        });
        // Some have a higher number than others that arrived after them.
        const numbered = [
          ...arrived.filter((mail) => !mail.isOvertaken),
          ...arrived.filter((mail) => mail.isOvertaken),
        ];
        const { recorded } = recordAll(
          ...numbered.map(({ id, instant }): [MessageFacts] => [message(id, { at: instant })]),
        );
        const ids = recorded.map(({ inbox: { lastMessageId }, createdAt }) =>
          arrivalEventId(lastMessageId ?? "", createdAt),
        );
        expect(new Set(ids).size).toBe(ids.length);
        expect(ids.toSorted()).toEqual(ids);
      }),
    );
  });
});
