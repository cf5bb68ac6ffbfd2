import { describe, expect, test } from "bun:test";
import type { ThreadState } from "../../../src/domain/conversation.ts";
import type { ParsedMail } from "../../../src/domain/message.ts";
import type { ArrivedMail } from "../../../src/domain/receive/arrived-mail.ts";
import type { Verdict } from "../../../src/domain/receive/authentication.ts";
import { fileMail, fileMails } from "../../../src/domain/receive/file-mails.ts";
import { filingState } from "../../../src/domain/receive/filing-state.ts";
import type { KnownOfMails, NamedThread, Parent, ReadInbox } from "../../../src/domain/receive/known-of-mails.ts";
import { authenticationOf } from "../../support/arrivals.ts";

const at = new Date("2026-03-21T10:05:00.000Z");

/** Mails by their Message-IDs. A copy has a name of its own and the same `id`. */
interface Told {
  id?: string;
  answers?: string[];
  content?: string;
  from?: string;
  to?: string[];
  mail?: Partial<ParsedMail>;
}

function mail(name: string, { id = name, answers = [], content = name, from, to = ["inbox"], ...rest }: Told = {}) {
  const parsed: ParsedMail = {
    messageId: `${id}@example.com`,
    inReplyTo: answers,
    references: [],
    from: { address: from ?? "jane@example.com" },
    replyTo: undefined,
    to: [],
    cc: [],
    subject: `Subject of ${name}`,
    bodyText: `Text of ${name}`,
    bodyHtml: undefined,
    attachments: [],
    signs: {},
    complete: true,
    ...rest.mail,
  };
  return {
    mail: parsed,
    sourceId: `source of ${name}`,
    envelope: { from: "bounces@example.com", recipients: [], client: undefined },
    sizeBytes: 1000,
    contentHash: content === "" ? undefined : content,
    messageIdHash: id,
    ancestorHashes: answers,
    automated: undefined,
    authentication: undefined,
    spam: undefined,
    attachments: parsed.attachments.map((_, index) => ({ id: `${name}/${index}`, part: index + 1, digest: "digest" })),
    chunks: [],
    deliveries: to.map((inboxId) => {
      const own = to.length === 1 ? name : `${name} in ${inboxId}`;
      return {
        inboxId,
        toAddr: `${inboxId}@mail.test`,
        messageId: own,
        newThreadId: `thread of ${own}`,
      };
    }),
    receivedAt: at,
  } satisfies ArrivedMail;
}

function inbox(id: string, facts: Partial<ReadInbox> = {}): ReadInbox {
  return {
    id,
    accountId: `account of ${id}`,
    username: id,
    revision: 1,
    sentOn: null,
    sentCount: 0,
    messageCount: 0,
    inboundCount: 0,
    threadCount: 0,
    unreadCount: 0,
    archiveCount: 0,
    trashCount: 0,
    storageBytes: 0,
    lastMessageAt: null,
    lastMessageId: null,
    disabled: false,
    ...facts,
  };
}

function thread(id: string, inboxId = "inbox"): ThreadState {
  return {
    id,
    inboxId,
    subject: `Subject of ${id}`,
    isRead: true,
    messageCount: 1,
    createdAt: at,
    lastMessageAt: at,
    lastMessageId: "earlier",
    lastSeq: 1,
    lastInboundSeq: 1,
    people: [],
    preview: "",
    hasAttachments: false,
    folder: "inbox",
    labels: [],
    metadata: null,
    trashedAt: null,
  };
}

function bears(messageIdHash: string, id: string, { sentTo = null, inboxId = "inbox" }: Partial<Parent> = {}): Parent {
  return { ...thread(id, inboxId), messageIdHash, sentTo };
}

function waits(messageIdHash: string, id: string): NamedThread {
  return { ...thread(id), messageIdHash };
}

const nothingKnown: KnownOfMails = { inboxes: [inbox("inbox")], copies: [], parents: [], awaiting: [], removed: [] };

function filed(mails: ArrivedMail[], known: Partial<KnownOfMails> = {}) {
  return fileMails(mails, { ...nothingKnown, ...known });
}

/** The messages of each thread, by their numbers. */
function conversations(mails: ArrivedMail[], known: Partial<KnownOfMails> = {}): Record<string, string[]> {
  const threads = Map.groupBy(filed(mails, known).messages, ({ threadId }) => threadId);
  return Object.fromEntries([...threads].map(([id, messages]) => [id, messages.map((message) => message.id)]));
}

describe("copies", () => {
  const had = (messageIdHash: string, contentHash: string, inboxId = "inbox") => ({
    copies: [{ inboxId, messageIdHash, contentHash }],
    parents: [bears(messageIdHash, "old thread", { inboxId })],
  });
  const copy = mail("copy", { id: "a", content: "a" });
  const edited = mail("edited", { id: "a", content: "another" });
  const unmarked = (name: string) => mail(name, { id: "a", content: "" });
  const rows: [string, ArrivedMail[], Partial<KnownOfMails>, Record<string, string[]>][] = [
    ["the same id and content again is nothing new", [copy], had("a", "a"), {}],
    ["nor is it within one batch", [mail("a"), copy], {}, { "thread of a": ["a"] }],
    [
      "another content under the same id is another message of its thread",
      [edited],
      had("a", "a"),
      { "old thread": ["edited"] },
    ],
    ["also within one batch", [mail("a"), edited], {}, { "thread of a": ["a", "edited"] }],
    [
      "the same content under another id is another mail",
      [mail("a"), mail("b", { content: "a" })],
      {},
      { "thread of a": ["a"], "thread of b": ["b"] },
    ],
    [
      "a mail with neither id nor date is never taken for a copy",
      [unmarked("first"), unmarked("second")],
      {},
      { "thread of first": ["first", "second"] },
    ],
    ["what one inbox has is new to another", [copy], had("a", "a", "other"), { "thread of copy": ["copy"] }],
  ];
  test.each(rows)("%s", (_, mails, known, threads) => {
    expect(conversations(mails, known)).toEqual(threads);
    expect(filed(mails, known).outcomes).toEqual(mails.map(() => "stored"));
  });

  test("a copy has no rows", () => {
    expect(filed([copy], had("a", "a"))).toEqual({
      outcomes: ["stored"],
      threads: [],
      threadBlocks: [],
      messages: [],
      bodies: [],
      attachments: [],
      sources: [],
      correspondents: [],
      awaitedParents: [],
      quarantined: [],
      inboxes: [],
    });
  });

  test("an inbox that has the mail already gets no second copy, and the others get it", () => {
    const known = { ...had("a", "a"), inboxes: [inbox("inbox"), inbox("other")] };
    const { messages, sources } = filed([mail("a", { to: ["inbox", "other"] })], known);
    expect(messages.map(({ id }) => id)).toEqual(["a in other"]);
    expect(sources).toEqual([{ id: "source of a", shares: 1, chunks: [] }]);
  });
});

describe("conversations", () => {
  const answer = mail("answer", { answers: ["question"] });
  const rows: [string, ArrivedMail[], Partial<KnownOfMails>, Record<string, string[]>][] = [
    ["a mail that names none starts one", [mail("a"), mail("b")], {}, { "thread of a": ["a"], "thread of b": ["b"] }],
    ["an answer joins", [answer], { parents: [bears("question", "old thread")] }, { "old thread": ["answer"] }],
    ["an answer in one batch joins", [mail("question"), answer], {}, { "thread of question": ["question", "answer"] }],
    [
      "also when it comes before its question",
      [answer, mail("question")],
      {},
      { "thread of question": ["question", "answer"] },
    ],
    [
      "a whole conversation backwards is filed forwards",
      [mail("c", { answers: ["b", "a"] }), mail("b", { answers: ["a"] }), mail("a")],
      {},
      { "thread of a": ["a", "b", "c"] },
    ],
    [
      "a fork: two answers to one mail are one conversation",
      [mail("a"), mail("left", { answers: ["a"] }), mail("right", { answers: ["a"] })],
      {},
      { "thread of a": ["a", "left", "right"] },
    ],
    [
      "a mail that merges two joins the nearer one",
      [mail("both", { answers: ["near", "far"] })],
      { parents: [bears("far", "far thread"), bears("near", "near thread")] },
      { "near thread": ["both"] },
    ],
    [
      "a late parent joins the thread that waits for it",
      [mail("question")],
      { awaiting: [waits("question", "waiting thread")] },
      { "waiting thread": ["question"] },
    ],
    [
      "a mail that is here wins over one that waits",
      [mail("b", { answers: ["a"] })],
      { parents: [bears("a", "old thread")], awaiting: [waits("b", "waiting thread")] },
      { "old thread": ["b"] },
    ],
    [
      "a mail that names itself is not its own parent",
      [mail("self", { answers: ["self"] })],
      {},
      { "thread of self": ["self"] },
    ],
    [
      "mails that name each other are one conversation and no endless loop",
      [mail("egg", { answers: ["hen"] }), mail("hen", { answers: ["egg"] })],
      {},
      { "thread of hen": ["hen", "egg"] },
    ],
    [
      "twins by id, of another content each, are one conversation with what answers them",
      [mail("direct", { id: "a" }), mail("by a list", { id: "a" }), mail("answer", { answers: ["a"] })],
      {},
      { "thread of direct": ["direct", "by a list", "answer"] },
    ],
    [
      "another inbox's mail is no parent",
      [answer],
      { parents: [bears("question", "foreign thread", { inboxId: "other" })] },
      { "thread of answer": ["answer"] },
    ],
  ];
  test.each(rows)("%s", (_, mails, known, threads) => {
    expect(conversations(mails, known)).toEqual(threads);
  });

  const left = mail("left", { answers: ["lost"] });
  const right = mail("right", { answers: ["lost"] });
  test.each([
    ["left first", [left, right], "thread of left"],
    ["right first", [right, left], "thread of right"],
  ])("two replies to a mail that never came are one conversation, and wait for it once: %s", (_, mails, threadId) => {
    expect(Object.keys(conversations(mails))).toEqual([threadId]);
    expect(filed(mails).awaitedParents).toEqual([{ inboxId: "inbox", messageIdHash: "lost", threadId }]);
  });

  test("the missing mail joins the thread that waited first", () => {
    const mails = [mail("b", { answers: ["a", "lost"] })];
    const known = { parents: [bears("a", "near thread")], awaiting: [waits("lost", "waiting thread")] };
    expect(conversations(mails, known)).toEqual({ "near thread": ["b"] });
    expect(filed(mails, known).awaitedParents).toEqual([]);
  });

  test("mails one by one have the same result as all in one batch", () => {
    const state = filingState(nothingKnown);
    const mails = [mail("a"), mail("b", { answers: ["a"] }), mail("copy", { id: "a", content: "a" })];
    const copies = mails.map((each) => fileMail(state, each).copies);
    expect(copies.map((each) => each.map(({ message }) => [message.threadId, message.seq]))).toEqual([
      [["thread of a", 1]],
      [["thread of a", 2]],
      [],
    ]);
    expect(state.inboxes.get("inbox")).toEqual(filed(mails).inboxes[0]);
  });
});

function proven(arrival: ArrivedMail, verdict: Verdict): ArrivedMail {
  return { ...arrival, authentication: authenticationOf({ verdict }) };
}

describe("senders who become known", () => {
  const sent = { parents: [bears("ours", "old thread", { sentTo: "Jane@Example.com" })] };
  const rows: [string, ArrivedMail[], Partial<KnownOfMails>, string[]][] = [
    ["whoever names what we had sent to that address", [mail("a", { answers: ["ours"] })], sent, ["jane@example.com"]],
    ["in whatever case", [mail("a", { answers: ["ours"], from: "JANE@example.COM" })], sent, ["jane@example.com"]],
    [
      "once, however often",
      [mail("a", { answers: ["ours"] }), mail("b", { answers: ["ours"] })],
      sent,
      ["jane@example.com"],
    ],
    ["not who writes without naming it", [mail("a")], sent, []],
    ["not another than it was sent to", [mail("a", { answers: ["ours"], from: "eve@example.com" })], sent, []],
    [
      "not who names a mail that was not ours",
      [mail("a", { answers: ["theirs"] })],
      { parents: [bears("theirs", "old thread")] },
      [],
    ],
    ["whoever is proven, also without an answer", [proven(mail("a"), "pass")], {}, ["jane@example.com"]],
    ["not who is not proven, even by an answer", [proven(mail("a", { answers: ["ours"] }), "none")], sent, []],
    ["not who fails", [proven(mail("a", { answers: ["ours"] }), "fail")], sent, []],
    ["not who could not be checked in time", [proven(mail("a", { answers: ["ours"] }), "temperror")], sent, []],
    [
      "not an address that is too long to write to",
      [proven(mail("a", { from: `${"a".repeat(250)}@b.example` }), "pass")],
      {},
      [],
    ],
    ["nobody where the mail has no sender", [mail("a", { answers: ["ours"], mail: { from: undefined } })], sent, []],
  ];
  test.each(rows)("%s", (_, mails, known, addresses) => {
    const verifiedAt = mails.some(({ authentication }) => authentication !== undefined) ? at : null;
    const expected = addresses.map((address) => ({ inboxId: "inbox", address, verifiedAt }));
    expect(filed(mails, known).correspondents).toEqual(expected);
  });
});

describe("a mail for several inboxes", () => {
  const forTwo = mail("a", { to: ["inbox", "other"] });
  const both = [inbox("inbox"), inbox("other", { messageCount: 4, inboundCount: 3 })];

  test("is a message in each of them, with one source and one body", () => {
    const { messages, bodies, sources } = filed([mail("first"), forTwo], { inboxes: both });
    expect(messages.map(({ id, seq, directionSeq, body }) => [id, seq, directionSeq, body])).toEqual([
      ["first", 1, 1, 1],
      ["a in inbox", 2, 2, 2],
      ["a in other", 5, 4, 2],
    ]);
    expect(bodies.map(({ text }) => text)).toEqual(["Text of first", "Text of a"]);
    expect(sources.map(({ id, shares }) => [id, shares])).toEqual([
      ["source of first", 1],
      ["source of a", 2],
    ]);
  });

  const rows: [string, ReadInbox[], string, string[]][] = [
    ["in those that live, where one is gone", [inbox("other")], "stored", ["a in other"]],
    ["nowhere, where all are gone", [], "gone", []],
    [
      "in those that take mail, where one is disabled",
      [inbox("inbox", { disabled: true }), inbox("other")],
      "stored",
      ["a in other"],
    ],
    ["nowhere, where one is disabled and the other is gone", [inbox("inbox", { disabled: true })], "disabled", []],
    ["nowhere, where one is gone and the other is disabled", [inbox("other", { disabled: true })], "disabled", []],
  ];
  test.each(rows)("is stored %s", (_, inboxes, outcome, ids) => {
    const { outcomes, messages, sources } = filed([forTwo], { inboxes });
    expect(outcomes).toEqual([outcome as "stored" | "gone" | "disabled"]);
    expect(messages.map(({ id }) => id)).toEqual(ids);
    expect(sources.map(({ shares }) => shares)).toEqual(ids.map(() => 1));
  });

  test("is stored in disabled inboxes too, if the service has answered for it before", () => {
    const inboxes = [inbox("inbox", { disabled: true }), inbox("other")];
    const { outcomes, messages } = filed([{ ...forTwo, isAcknowledged: true }], { inboxes });
    expect([outcomes, messages.length]).toEqual([["stored"], 2]);
  });

  test("its outcome has its place in the order of the batch, whatever the order of filing", () => {
    const gone = mail("gone", { to: ["nobody"], answers: ["a"] });
    expect(filed([gone, mail("a")]).outcomes).toEqual(["gone", "stored"]);
  });
});

test("a thread and an inbox are written once, as they are after the last mail", () => {
  const { threads, inboxes } = filed([mail("a"), mail("b", { answers: ["a"] })]);
  expect(threads).toHaveLength(1);
  expect(threads[0]).toMatchObject({ id: "thread of a", messageCount: 2, lastMessageId: "b", isRead: false });
  expect(inboxes).toHaveLength(1);
  expect(inboxes[0]).toMatchObject({ messageCount: 2, threadCount: 1, unreadCount: 1, lastMessageId: "b" });
});

test("an attachment is in the source once for all inboxes", () => {
  const scan = { filename: "scan.pdf", contentType: "application/pdf", contentId: undefined, inline: false };
  const attachments = [{ ...scan, bytes: new Uint8Array(3) }];
  const inboxes = [inbox("inbox"), inbox("other")];
  const mails = [mail("a", { to: ["inbox", "other"], mail: { attachments } })];
  expect(filed(mails, { inboxes }).attachments).toEqual([
    {
      filename: "scan.pdf",
      id: "a/0",
      position: 0,
      contentType: "application/pdf",
      sizeBytes: 3,
      contentId: null,
      inline: false,
      sourceId: "source of a",
      part: 1,
      digest: "digest",
    },
  ]);
});
