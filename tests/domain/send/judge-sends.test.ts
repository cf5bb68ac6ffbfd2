import { describe, expect, test } from "bun:test";
import type { ThreadState } from "../../../src/domain/conversation.ts";
import type { KeyUse } from "../../../src/domain/idempotency.ts";
import type { Limits } from "../../../src/domain/limits.ts";
import { type Judging, judgeSend, judgeSends } from "../../../src/domain/send/judge-sends.ts";
import type { Send, SendRequest, SendResult, SentMessage } from "../../../src/domain/send/send.ts";
import type { RepliedMessage, Sender, SendFact, SendFacts } from "../../../src/domain/send/send-facts.ts";
import { sendingState } from "../../../src/domain/send/sending-state.ts";
import { noLimits } from "../../support/limits.ts";

const at = new Date("2026-03-21T10:05:00.000Z");
const secondsAgo = (seconds: number) => new Date(at.getTime() - seconds * 1000);
const hoursAgo = (hours: number) => secondsAgo(hours * 3600);

const limits: Limits = { ...noLimits, sendsPerMinute: 3, sendsPerDay: 5, coldRecipientDaily: 2, loopEchoes: 2 };
const judging: Judging = {
  at,
  mailDomain: "mail.test",
  isDirect: false,
  recipientsMax: 50,
  limits: { free: limits, developer: limits, enterprise: { ...limits, sendsPerMinute: 0, sendsPerDay: 0 } },
  withForwardedHtml: ({ html = "" }) => html,
  withHtmlQuote: (html, previous) => `${html} [quoting ${previous.bodyText}]`,
  isRenamed: false,
};

/** A send is named by its message; its key is its own unless it says otherwise. */
function send(
  name: string,
  { to = "jane@example.com", ...asked }: Partial<SendRequest> & { to?: string } = {},
  key = name,
): Send {
  const request: SendRequest = {
    account: { id: "account", keyId: "key", plan: "free" },
    inboxId: "inbox",
    idempotencyKey: key,
    recipients: [{ address: to, name: undefined, type: "to" }],
    subject: undefined,
    body: `Text of ${name}`,
    bodyHtml: undefined,
    threadId: undefined,
    includeQuote: true,
    replyTo: undefined,
    readUpToMessageId: undefined,
    autoSubmitted: undefined,
    ignoreLoop: undefined,
    ...asked,
  };
  return {
    request,
    key: { accountId: request.account.id, operation: "send", key, label: `${request.account.id} ${key}` },
    fingerprint: `${request.inboxId} ${to} ${request.subject}`,
    text: request.body ?? "",
    html: undefined,
    messageId: name,
    newThreadId: `thread of ${name}`,
    attachmentIds: [],
    rfcMessageId: `${name}@mail.test`,
    messageIdHash: `hash of ${name}`,
    eventId: `event of ${name}`,
  };
}

const inbox: Sender = {
  id: "inbox",
  accountId: "account",
  username: "ada",
  revision: 1,
  sentOn: "2026-03-21",
  sentCount: 0,
  messageCount: 4,
  inboundCount: 4,
  threadCount: 1,
  unreadCount: 1,
  archiveCount: 0,
  trashCount: 0,
  storageBytes: 0,
  accountStorageBytes: 0,
  lastMessageAt: hoursAgo(1),
  lastMessageId: "a0",
  inWindow: 0,
  oldestInWindowAt: null,
};

const thread: ThreadState = {
  id: "thread",
  inboxId: "inbox",
  subject: "Lunch",
  isRead: false,
  messageCount: 4,
  createdAt: hoursAgo(9),
  lastMessageAt: hoursAgo(1),
  lastMessageId: "a0",
  lastSeq: 4,
  lastInboundSeq: 4,
  people: [],
  preview: "",
  hasAttachments: false,
  folder: "inbox",
  labels: [],
  metadata: null,
  trashedAt: null,
};

const stranger = (sentToday: number) => ({ recipient: { isKnown: false, sentToday } });

type Known = Partial<Omit<SendFacts, "facts">> & { sender?: Partial<Sender> | undefined } & Partial<
    Pick<SendFact, "recipient" | "suppressed">
  > & { uses?: Record<string, KeyUse> };

function factsOf(
  sends: readonly Send[],
  { sender, recipient, suppressed = [], uses = {}, ...known }: Known,
): SendFacts {
  return {
    replays: [],
    threads: [{ ...thread, recent: [] }],
    replied: [],
    threadMessageIds: [],
    numbered: [],
    owners: [],
    ...known,
    facts: sends.map(({ request, key }) => ({
      sender: request.inboxId === "inbox" ? { ...inbox, ...sender } : undefined,
      recipient,
      use: uses[key.key],
      suppressed,
    })),
  };
}

function judged(sends: readonly Send[], known: Known = {}) {
  const judgement = judgeSends(sends, factsOf(sends, known), judging);
  return { ...judgement, results: sends.map((each) => judgement.results.get(each)) };
}

/** A result in a word, or why it was refused and when to come again. */
function inWords(result: SendResult | undefined): string {
  if (result?.kind !== "refused") return result?.kind ?? "nothing";
  const { reason, details } = result.refusal;
  return details.retryAfterSeconds === undefined ? reason : `${reason}, again in ${details.retryAfterSeconds} s`;
}

const wordsOf = (sends: readonly Send[], known?: Known) => judged(sends, known).results.map(inWords);

const untilMidnight = "again in 50100 s";

test("a mail that is too long is refused as that before its recipient is as suppressed", () => {
  const sends = [send("a")];
  const suppressed = [{ id: "sup", address: "jane@example.com", reason: "manual" as const, expiresAt: null }];
  const mailLimit = { maxBytes: 10, measure: () => 11 };
  const { results } = judgeSends(sends, factsOf(sends, { suppressed }), { ...judging, mailLimit });
  expect([...results.values()].map(inWords)).toEqual(["payload_too_large"]);
  expect(wordsOf(sends, { suppressed })).toEqual(["recipient_suppressed"]);
});

describe("limits at their edges", () => {
  const three = ["a", "b", "c"].map((name) => send(name));
  const rows: [string, Send[], Known, string[]][] = [
    ["the third of a minute is the last", [send("a")], { sender: { inWindow: 2 } }, ["accepted"]],
    [
      "the fourth is refused until the oldest is a minute old",
      [send("a")],
      { sender: { inWindow: 3, oldestInWindowAt: secondsAgo(45) } },
      ["rate_limit_exceeded, again in 15 s"],
    ],
    [
      "a batch gets as many places of a minute as there are",
      [...three, send("d")],
      {},
      ["accepted", "accepted", "accepted", "rate_limit_exceeded, again in 60 s"],
    ],
    [
      "the places that are left, where the minute has begun",
      three,
      { sender: { inWindow: 1, oldestInWindowAt: secondsAgo(20) } },
      ["accepted", "accepted", "rate_limit_exceeded, again in 40 s"],
    ],
    ["the fifth of a day is the last", [send("a")], { sender: { sentCount: 4 } }, ["accepted"]],
    [
      "the sixth is refused until midnight",
      [send("a"), send("b")],
      { sender: { sentCount: 4 } },
      ["accepted", `daily_limit_exceeded, ${untilMidnight}`],
    ],
    [
      "what was sent yesterday counts no more",
      [send("a")],
      { sender: { sentOn: "2026-03-20", sentCount: 5 } },
      ["accepted"],
    ],
    [
      "a day that began by another clock is not over",
      [send("a")],
      { sender: { sentOn: "2026-03-22", sentCount: 5 } },
      ["daily_limit_exceeded, again in 136500 s"],
    ],
    ["the second to a stranger is the last", [send("a")], stranger(1), ["accepted"]],
    ["the third is refused until midnight", [send("a")], stranger(2), [`cold_outreach_limit, ${untilMidnight}`]],
    [
      "a batch to one stranger, however his address is written",
      [send("a"), send("b", { to: "Jane@Example.com" }), send("c")],
      stranger(0),
      ["accepted", "accepted", `cold_outreach_limit, ${untilMidnight}`],
    ],
    [
      "each stranger has his own count",
      [send("a"), send("b", { to: "bob@example.com" }), send("c")],
      stranger(1),
      ["accepted", "accepted", `cold_outreach_limit, ${untilMidnight}`],
    ],
    [
      "who has answered is no stranger",
      three,
      { recipient: { isKnown: true, sentToday: 2 } },
      Array(3).fill("accepted"),
    ],
    [
      "over all limits: the minute is named",
      [send("a")],
      { sender: { inWindow: 3, oldestInWindowAt: at, sentCount: 5 }, ...stranger(2) },
      ["rate_limit_exceeded, again in 60 s"],
    ],
    [
      "what is refused uses nothing up",
      [send("a", { threadId: "unknown" }), ...three],
      {},
      ["not_found", "accepted", "accepted", "accepted"],
    ],
    [
      "a plan without limits has none",
      [..."abcdef"].map((name) => send(name, { account: { id: "account", keyId: "key", plan: "enterprise" } })),
      {},
      Array(6).fill("accepted"),
    ],
  ];
  test.each(rows)("%s", (_, sends, known, words) => {
    expect(wordsOf(sends, known)).toEqual(words);
  });

  test("each send is told what it leaves", () => {
    const { results, senders, coldSends } = judged(three.slice(0, 2), {
      sender: { inWindow: 1, oldestInWindowAt: secondsAgo(20), sentCount: 3 },
      ...stranger(0),
    });
    expect(results.map((result) => [result?.usage?.inWindow, result?.usage?.today])).toEqual([
      [2, 4],
      [3, 5],
    ]);
    expect(senders).toHaveLength(1);
    expect(senders[0]).toMatchObject({ inWindow: 3, sentCount: 5, oldestInWindowAt: secondsAgo(20) });
    expect(coldSends).toEqual([{ inboxId: "inbox", recipient: "jane@example.com", sentOn: "2026-03-21", count: 2 }]);
  });
});

describe("one key is one email", () => {
  const first = send("first", {}, "key");
  const again = send("again", {}, "key");
  const other = send("other", { subject: "Another" }, "key");
  const sent: SentMessage = {
    id: "sent",
    inboxId: "inbox",
    threadId: "thread",
    status: "sent",
    rfcMessageId: "sent@mail.test",
    providerMessageId: "<sent@relay.example>",
    recipients: [],
  };
  const used = (createdAt: Date): Known => ({
    replays: [sent],
    uses: {
      key: {
        accountId: "account",
        operation: "send",
        key: "key",
        fingerprint: first.fingerprint,
        subjectId: "sent",
        createdAt,
      },
    },
  });
  const full = { inWindow: 3, oldestInWindowAt: at, sentCount: 5 };
  const rows: [string, Send[], Known, string[]][] = [
    ["the same request again is a replay", [first], used(hoursAgo(1)), ["replayed"]],
    ["before any limit", [first], { ...used(hoursAgo(1)), sender: full, ...stranger(2) }, ["replayed"]],
    ["also within one batch", [first, again, again], {}, ["accepted", "replayed", "replayed"]],
    [
      "also where the first took the last place",
      [first, again],
      { sender: { inWindow: 2, oldestInWindowAt: at } },
      ["accepted", "replayed"],
    ],
    ["another request under a used key is refused", [other], used(hoursAgo(1)), ["idempotency_key_reused"]],
    ["also within one batch", [first, other], {}, ["accepted", "idempotency_key_reused"]],
    ["also before any limit", [other], { ...used(hoursAgo(1)), sender: full }, ["idempotency_key_reused"]],
    ["a key is remembered for less than a day", [other], used(hoursAgo(24)), ["accepted"]],
    ["to its last millisecond", [other], used(new Date(hoursAgo(24).getTime() + 1)), ["idempotency_key_reused"]],
    [
      "what was refused has not used its key",
      [send("a", { threadId: "unknown" }, "key"), again],
      {},
      ["not_found", "accepted"],
    ],
    ["a message that is gone is not sent anew", [first], { ...used(hoursAgo(1)), replays: [] }, ["not_found"]],
  ];
  test.each(rows)("%s", (_, sends, known, words) => {
    expect(wordsOf(sends, known)).toEqual(words);
  });

  test("a replay answers what has become of the first, and writes nothing", () => {
    const { results, messages, keyUses, senders } = judged([first], used(hoursAgo(1)));
    expect(results[0]).toMatchObject({ kind: "replayed", message: sent });
    expect([messages, keyUses, senders]).toEqual([[], [], []]);
  });

  test("within a batch it answers the message of the first, which is written once", () => {
    const { results, messages, keyUses } = judged([first, again]);
    expect(results[1]).toMatchObject({ kind: "replayed", message: { id: "first", status: "pending" } });
    expect(messages.map(({ id }) => id)).toEqual(["first"]);
    expect(keyUses.map(({ key, subjectId, inboxId }) => [key, subjectId, inboxId])).toEqual([
      ["key", "first", "inbox"],
    ]);
  });
});

describe("who may send what", () => {
  const owners = [
    { username: "ada", accountId: "account" },
    { username: "eve", accountId: "another" },
  ];
  const answering = (replyTo: string, plan: "free" | "developer" = "free") =>
    send("a", { replyTo, account: { id: "account", keyId: "key", plan } });
  const seen = (readUpToMessageId: string) => send("a", { threadId: "thread", readUpToMessageId });
  const numbered = [
    { id: "seen", threadId: "thread", seq: 3 },
    { id: "elsewhere", threadId: "another", seq: 3 },
  ];
  const rows: [string, Send, Known, string][] = [
    ["nobody from an inbox that is gone", send("a", { inboxId: "gone" }), {}, "not_found"],
    ["nobody into a thread that is not there", send("a", { threadId: "unknown" }), {}, "not_found"],
    [
      "nobody into another inbox's",
      send("a", { threadId: "thread" }),
      { threads: [{ ...thread, inboxId: "b", recent: [] }] },
      "not_found",
    ],
    ["nobody who has seen what is not there", seen("unknown"), { numbered }, "not_found"],
    ["nor what is in another thread", seen("elsewhere"), { numbered }, "not_found"],
    ["who has seen a part", seen("seen"), { numbered }, "accepted"],
    ["the free plan with answers to an inbox of its own", answering("ada@mail.test"), { owners }, "accepted"],
    ["not to another account's", answering("eve@mail.test"), { owners }, "feature_requires_paid_plan"],
    ["nor to one that is not there", answering("nobody@mail.test"), { owners }, "feature_requires_paid_plan"],
    ["nor outside", answering("ada@example.com"), { owners }, "feature_requires_paid_plan"],
    ["another plan with answers to anywhere", answering("ada@example.com", "developer"), { owners }, "accepted"],
    [
      "what the plan lacks is said before a limit",
      answering("ada@example.com"),
      { sender: { inWindow: 3, oldestInWindowAt: at } },
      "feature_requires_paid_plan",
    ],
  ];
  test.each(rows)("%s", (_, asked, known, words) => {
    expect(wordsOf([asked], known)).toEqual([words]);
  });
});

describe("a reply", () => {
  const message = (seq: number, upToMessageId: string | null = null): RepliedMessage => ({
    id: `msg-${seq}`,
    threadId: "thread",
    upToMessageId,
    seq,
    fromAddr: "jane@example.com",
    fromName: null,
    direction: "inbound",
    toAddr: "ada@mail.test",
    toAddrs: ["ada@mail.test"],
    cc: [],
    replyTo: null,
    replyTos: null,
    envelopeFrom: "jane@example.com",
    bodyText: `message ${seq}`,
    bodyHtml: null,
    createdAt: hoursAgo(1),
    rfcMessageId: `${seq}@example.com`,
    wireName: null,
  });
  const ids = (upToMessageId: string | null, ...seqs: number[]) =>
    seqs.map((seq) => ({ threadId: "thread", upToMessageId, seq, rfcMessageId: `${seq}@example.com`, wireName: null }));
  const known: Known = {
    replied: [message(4), message(2, "seen")],
    threadMessageIds: [...ids(null, 1, 2, 3, 4), ...ids("seen", 1, 2, 3)],
    numbered: [{ id: "seen", threadId: "thread", seq: 3 }],
  };
  const reply = (name: string, asked: Partial<SendRequest> = {}) => send(name, { threadId: "thread", ...asked });

  test("answers and quotes the last message, and marks its thread read", () => {
    const { messages, threads, results } = judged([reply("a")], known);
    expect(messages[0]).toMatchObject({
      threadId: "thread",
      seq: 5,
      directionSeq: 1,
      subject: "Re: Lunch",
      inReplyTo: "4@example.com",
      referenceIds: ["1@example.com", "2@example.com", "3@example.com", "4@example.com"],
    });
    expect(messages[0]?.bodyText).toEndWith("> message 4");
    expect(threads[0]).toMatchObject({ isRead: true, lastMessageId: "a", lastInboundSeq: 4 });
    expect(results[0]).toMatchObject({ kind: "accepted", newerInbound: false });
  });

  test("of who has seen a part answers the last of it that did not fail, and leaves the thread unread", () => {
    const { messages, threads, results } = judged([reply("a", { readUpToMessageId: "seen" })], known);
    expect(messages[0]).toMatchObject({
      inReplyTo: "2@example.com",
      referenceIds: ["1@example.com", "2@example.com"],
    });
    expect(messages[0]?.bodyText).toEndWith("> message 2");
    expect(threads[0]?.isRead).toBe(false);
    expect(results[0]).toMatchObject({ kind: "accepted", newerInbound: true });
  });

  test("in one batch with another answers that one, unless it says what it has seen", () => {
    const sends = [reply("a"), reply("b"), reply("c", { readUpToMessageId: "seen" })];
    const { messages, threads } = judged(sends, known);
    expect(messages.map(({ id, seq, inReplyTo }) => [id, seq, inReplyTo])).toEqual([
      ["a", 5, "4@example.com"],
      ["b", 6, "a@mail.test"],
      ["c", 7, "2@example.com"],
    ]);
    expect(messages[1]?.referenceIds.slice(-2)).toEqual(["4@example.com", "a@mail.test"]);
    expect(messages[1]?.bodyText).toContain("> Text of a");
    expect(threads.map(({ id, lastMessageId }) => [id, lastMessageId])).toEqual([["thread", "c"]]);
  });
});

describe("a reply if unanswered", () => {
  const numbered = [
    { id: "seen", threadId: "thread", seq: 2 },
    { id: "newer", threadId: "thread", seq: 4 },
  ];
  const answer = (seq: number) => ({ id: `answer ${seq}`, threadId: "thread", seq });
  const reply = (name: string, asked: Partial<SendRequest> = {}, key = name) =>
    send(name, { threadId: "thread", readUpToMessageId: "seen", ifUnanswered: true, ...asked }, key);
  const rows: [string, Send[], Known, string[]][] = [
    ["is sent where nothing of ours stands behind what was seen", [reply("a")], {}, ["accepted"]],
    ["is refused behind an answer", [reply("a")], { answers: [answer(3)] }, ["answered_meanwhile"]],
    [
      "is sent where the answer was seen",
      [reply("a", { readUpToMessageId: "newer" })],
      { answers: [answer(3)] },
      ["accepted"],
    ],
    ["is one of two at once", [reply("a"), reply("b")], {}, ["accepted", "answered_meanwhile"]],
    [
      "is one of two at once that have seen different messages",
      [reply("a", { readUpToMessageId: "newer" }), reply("b")],
      {},
      ["accepted", "answered_meanwhile"],
    ],
    [
      "is refused behind a reply that did not ask",
      [reply("a", { ifUnanswered: false }), reply("b")],
      {},
      ["accepted", "answered_meanwhile"],
    ],
    [
      "does not stop one that does not ask",
      [reply("a"), reply("b", { ifUnanswered: undefined })],
      {},
      ["accepted", "accepted"],
    ],
    [
      "is a replay under its key, though it is answered by itself",
      [reply("a"), reply("b", {}, "a")],
      {},
      ["accepted", "replayed"],
    ],
    [
      "of another thread is another matter",
      [reply("a")],
      { answers: [{ ...answer(3), threadId: "another" }] },
      ["accepted"],
    ],
    [
      "is not refused for a refused one",
      [reply("a", { fromAddr: "eve@mail.test" }), reply("b")],
      {},
      ["validation_error", "accepted"],
    ],
    [
      "is refused as answered before it is for a limit",
      [reply("a")],
      { answers: [answer(3)], sender: { inWindow: 3, oldestInWindowAt: at } },
      ["answered_meanwhile"],
    ],
  ];
  test.each(rows)("%s", (_, sends, known, words) => {
    expect(wordsOf(sends, { numbered, ...known })).toEqual(words);
  });

  test("names the newest answer", () => {
    const { results } = judged([reply("a")], { numbered, answers: [answer(4), answer(3)] });
    expect(results[0]).toMatchObject({ refusal: { details: { extra: { messageId: "answer 4" } } } });
  });
});

test("a mail counts the octets of its bodies and attachments", () => {
  const attachment = { filename: "a.txt", contentType: "text/plain", inline: false, contentId: undefined, sha256: "" };
  const files = {
    attachments: [1000, 24].map((sizeBytes) => ({
      ...attachment,
      sizeBytes,
      from: undefined,
      sourceId: "src",
      part: 1,
    })),
    source: undefined,
  };
  const asked = { ...send("a", { body: "Grüße", files }), html: "<p>Grüße</p>", attachmentIds: ["att_1", "att_2"] };
  const { messages, senders } = judged([asked], { sender: { storageBytes: 5 } });
  expect(messages[0]?.sizeBytes).toBe(7 + 14 + 1000 + 24);
  expect(senders[0]?.storageBytes).toBe(5 + 1045);
});

test.each([
  ["the last bytes of the inbox", { storageBytes: 991 }, undefined],
  ["the last bytes of the account", { accountStorageBytes: 4991 }, undefined],
  ["too many for the inbox", { storageBytes: 992 }, { limit: 1000, used: 992 }],
  ["too many for the account", { accountStorageBytes: 4992 }, { limit: 5000, used: 4992 }],
])("a send may take %s", (_, sender, refused) => {
  const account = {
    id: "account",
    keyId: "key",
    plan: "free" as const,
    limits: { inboxBytes: 1000, storageBytes: 5000 },
  };
  const { results } = judged([send("a", { account })], { sender });
  const [result] = results;
  if (refused === undefined) return expect(result?.kind).toBe("accepted");
  expect(result).toMatchObject({
    refusal: { reason: "quota_exceeded", details: { extra: { resource: "storage_bytes", ...refused } } },
  });
});

test("a first mail starts a thread, and is promised to the relay under its recipient's domain", () => {
  const asked = send("a", { subject: "Hello", replyTo: "ada@mail.test" });
  const owners = [{ username: "ada", accountId: "account" }];
  const { messages, recipients, threads, outboxItems, senders, keyUses } = judged([asked], { owners });
  expect(messages).toEqual([
    {
      id: "a",
      inboxId: "inbox",
      threadId: "thread of a",
      seq: 5,
      directionSeq: 1,
      createdAt: at,
      rfcMessageId: "a@mail.test",
      messageIdHash: "hash of a",
      fromAddr: "ada@mail.test",
      fromName: undefined,
      toAddr: "jane@example.com",
      toAddrs: ["jane@example.com"],
      cc: [],
      replyTo: "ada@mail.test",
      subject: "Hello",
      bodyText: "Text of a",
      bodyHtml: undefined,
      sizeBytes: 9,
      attachmentCount: 0,
      inReplyTo: undefined,
      referenceIds: [],
      autoSubmitted: undefined,
      headers: undefined,
      metadata: undefined,
      forwardOf: undefined,
      sentBy: "key",
    },
  ]);
  expect(recipients).toEqual([
    {
      messageId: "a",
      inboxId: "inbox",
      position: 0,
      address: "jane@example.com",
      name: undefined,
      type: "to",
      destination: 0,
      status: "pending",
      failure: null,
    },
  ]);
  expect(threads[0]).toMatchObject({
    id: "thread of a",
    subject: "Hello",
    people: [
      { address: "ada@mail.test", name: null },
      { address: "jane@example.com", name: null },
    ],
  });
  expect(outboxItems).toEqual([
    {
      subjectId: "a",
      accountId: "account",
      inboxId: "inbox",
      lane: "example.com",
      dueAt: at,
      createdAt: at,
    },
  ]);
  expect(senders[0]).toMatchObject({
    messageCount: 5,
    threadCount: 2,
    sentOn: "2026-03-21",
    sentCount: 1,
    inWindow: 1,
  });
  expect(keyUses[0]).toMatchObject({ accountId: "account", key: "a", subjectId: "a", createdAt: at });
});

test("one send after the other comes to what all come to at once", () => {
  const sends = ["a", "b", "c", "d"].map((name) => send(name));
  const state = sendingState(sends, factsOf(sends, {}), at);
  const oneByOne = sends.map((each) => judgeSend(state, each, judging));
  const { results, messages, senders } = judged(sends);
  expect(oneByOne.map(({ result }) => result)).toEqual(results as SendResult[]);
  expect(oneByOne.flatMap(({ accepted }) => (accepted && "message" in accepted ? accepted.message : []))).toEqual([
    ...messages,
  ]);
  expect(state.senders.get("inbox")).toEqual(senders[0]);
});
