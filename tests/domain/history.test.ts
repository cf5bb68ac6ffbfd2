import { describe, expect, test } from "bun:test";
import { type HistoryFacts, type HistoryMessage, historyOf, mostEntries } from "../../src/domain/history.ts";
import { idMaker } from "../../src/domain/ids.ts";
import type { Approval } from "../../src/domain/send/approval.ts";
import { authenticationOf } from "../support/arrivals.ts";

const arrivedAt = new Date("2026-03-21T10:05:00.000Z");
const filedAt = new Date("2026-03-21T10:06:00.000Z");

/** A message whose source was made at another instant, if the mail was parsed later. */
function mail(sourceAt = filedAt): HistoryMessage {
  const newId = idMaker((length) => new Uint8Array(length).fill(7));
  const sourceId = newId("src", sourceAt);
  return {
    id: newId("msg", filedAt),
    direction: "inbound",
    createdAt: filedAt,
    sourceId,
    envelopeFrom: "jane@example.com",
    toAddr: "ada@inbox.localhost",
    authentication: authenticationOf({ clientAddress: "192.0.2.9", verdict: "none" }),
  };
}

const nothing = { draft: undefined, recipients: [], events: [], reports: [], deliveries: [], marks: [] };
const event = { id: "evt_1", type: "message.received", occurredAt: filedAt, data: null } as const;
const from = {
  envelope: { from: "jane@example.com", to: "ada@inbox.localhost" },
  clientAddress: "192.0.2.9",
  verdict: "none",
} as const;

describe("the history of a message", () => {
  test("begins with its arrival", () => {
    const { entries } = historyOf({ ...nothing, message: mail(), events: [event] });
    expect(entries).toEqual([{ at: filedAt, what: "received", eventId: "evt_1", ...from }]);
    const unchecked = historyOf({ ...nothing, message: { ...mail(), authentication: null }, events: [event] });
    expect(unchecked.entries).toMatchObject([{ clientAddress: null, verdict: null }]);
  });

  test("says when a mail was parsed that was kept unparsed at first", () => {
    const { entries } = historyOf({ ...nothing, message: mail(arrivedAt), events: [event] });
    expect(entries).toEqual([
      { at: arrivedAt, what: "received", eventId: null, ...from },
      { at: filedAt, what: "parsed_later", eventId: "evt_1" },
    ]);
  });

  const later = (minutes: number) => new Date(filedAt.getTime() + minutes * 60_000);
  const draft = {
    createdAt: arrivedAt,
    acceptedAt: filedAt,
    sendAt: later(5),
    updatedAt: filedAt,
    approval: null,
    failure: null,
  };
  const approval: Approval = {
    reasons: ["new_recipient"],
    newRecipients: ["jane@example.com"],
    requestedAt: filedAt.toISOString(),
    expiresAt: later(60).toISOString(),
    decision: "approved",
    decidedBy: { key: "key_1" },
    decidedAt: later(5).toISOString(),
    reason: null,
    edited: false,
    approvedVersion: 1,
  };
  const failure = { code: null, enhancedCode: null, message: "Canceled", reason: "canceled" } as const;
  const { requestedAt, expiresAt, decidedBy, decidedAt } = approval;
  const asked: HistoryFacts["events"] = [
    {
      id: "evt_4",
      type: "approval.requested",
      occurredAt: filedAt,
      data: {
        id: "msg_1",
        version: 1,
        reasons: approval.reasons,
        newRecipients: approval.newRecipients,
        from: "ada@inbox.localhost",
        to: ["jane@example.com"],
        cc: [],
        bcc: [],
        subject: "Hello",
        metadata: {},
        sendAt: null,
        requestedAt,
        expiresAt,
      },
    },
    {
      id: "evt_5",
      type: "approval.resolved",
      occurredAt: later(5),
      data: { id: "msg_1", version: 1, decision: "approved", decidedBy, decidedAt, reason: null, edited: false },
    },
  ];
  const outbound: HistoryMessage = { ...mail(), direction: "outbound", createdAt: later(5) };

  test.each<[mail: string, facts: Partial<HistoryFacts>, steps: object[]]>([
    [
      "that was written as a draft, scheduled and sent",
      { draft, message: outbound },
      [
        { at: arrivedAt, what: "drafted" },
        { at: filedAt, what: "scheduled", sendAt: later(5) },
        { at: later(5), what: "accepted" },
      ],
    ],
    [
      "that was sent with a time",
      { draft: { ...draft, createdAt: filedAt }, message: outbound },
      [{ what: "scheduled" }, { what: "accepted" }],
    ],
    [
      "that was sent from its draft at once",
      { draft: { ...draft, acceptedAt: null, sendAt: null }, message: outbound },
      [{ what: "drafted" }, { what: "accepted" }],
    ],
    [
      "that ended unsent",
      {
        draft: { ...draft, createdAt: filedAt, updatedAt: later(1), failure },
        events: [
          {
            id: "evt_3",
            type: "message.failed",
            occurredAt: later(1),
            data: { status: "failed", providerMessageId: null, recipients: [], failure },
          },
        ],
      },
      [{ what: "scheduled" }, { at: later(1), what: "failed", eventId: "evt_3", failure }],
    ],
    [
      "that ended unsent, and whose event has left the log",
      { draft: { ...draft, createdAt: filedAt, updatedAt: later(1), failure } },
      [{ what: "scheduled" }, { at: later(1), what: "failed", eventId: null, failure }],
    ],
    [
      "that a person approved",
      { draft: { ...draft, createdAt: filedAt, approval }, message: outbound, events: asked },
      [
        { at: filedAt, what: "approval_requested", eventId: "evt_4", newRecipients: ["jane@example.com"] },
        { at: later(5), what: "approved", eventId: "evt_5", by: { key: "key_1" }, reason: null },
        { at: later(5), what: "scheduled" },
        { at: later(5), what: "accepted" },
      ],
    ],
    [
      "that was scheduled, waited for a person at its time, and was rejected",
      {
        draft: {
          ...draft,
          createdAt: filedAt,
          sendAt: later(1),
          updatedAt: later(5),
          approval: {
            ...approval,
            requestedAt: later(1).toISOString(),
            decision: "rejected",
            decidedBy: { address: "boss@example.com" },
            reason: "No",
          },
          failure: { ...failure, reason: "rejected" },
        },
      },
      [
        { at: filedAt, what: "scheduled", sendAt: later(1) },
        { at: later(1), what: "approval_requested", eventId: null },
        { at: later(5), what: "rejected", by: { address: "boss@example.com" }, reason: "No" },
        { at: later(5), what: "failed" },
      ],
    ],
    [
      "that nobody approved in time",
      {
        draft: {
          ...draft,
          createdAt: filedAt,
          sendAt: null,
          updatedAt: later(60),
          approval: { ...approval, decision: "expired", decidedBy: null },
          failure: { ...failure, reason: "expired" },
        },
      },
      [{ what: "approval_requested" }, { at: later(60), what: "failed" }],
    ],
  ])("begins with the draft of a mail %s", (_, facts, steps) => {
    const { entries } = historyOf({ ...nothing, message: undefined, ...facts });
    expect(entries).toEqual(steps.map((step) => expect.objectContaining(step)));
  });

  test("lists what has the same instant in the order in which it happens", () => {
    const attempt = {
      at: filedAt.toISOString(),
      attempt: 1,
      outcome: "sent",
      host: null,
      tls: null,
      code: 250,
      enhancedCode: null,
      message: "Ok",
    } as const;
    const message: HistoryMessage = {
      ...mail(),
      direction: "outbound",
    };
    const recipients = [{ address: "jane@example.com", attempts: [attempt] }];
    const sent = {
      id: "evt_2",
      type: "message.sent",
      occurredAt: filedAt,
      data: { status: "sent", providerMessageId: null, recipients: [] },
    } as const;
    const told = {
      eventId: "evt_2",
      event: "message.sent",
      webhookId: null,
      attempt: 1,
      attemptedAt: filedAt,
      status: 200,
      error: null,
    } as const;
    const { entries } = historyOf({ ...nothing, message, recipients, events: [sent], deliveries: [told] });
    expect(entries.map(({ what, eventId }) => [what, eventId])).toEqual([
      ["accepted", null],
      ["attempted", null],
      ["sent", "evt_2"],
      ["told", "evt_2"],
    ]);
  });

  test("has the first step and the last ones, if there are too many", () => {
    const marksOf = (count: number) =>
      Array.from({ length: count }, (_, index) => ({
        at: new Date(filedAt.getTime() + 1 + index),
        isRead: true,
        by: null,
      }));
    const full = historyOf({ ...nothing, message: mail(), marks: marksOf(mostEntries - 1) });
    expect([full.entries.length, full.truncated]).toEqual([mostEntries, false]);
    const { entries, truncated } = historyOf({
      ...nothing,
      message: mail(),
      marks: marksOf(mostEntries),
    });
    expect([entries.length, truncated]).toEqual([mostEntries, true]);
    expect(entries[0]?.what).toBe("received");
    expect(entries[1]?.at.getTime()).toBe(filedAt.getTime() + 2);
    expect(entries.at(-1)?.at.getTime()).toBe(filedAt.getTime() + mostEntries);
  });
});
