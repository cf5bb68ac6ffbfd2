import { describe, expect, test } from "bun:test";
import { judgeReports } from "../../../src/domain/reports/judge-reports.ts";
import type { RecipientReport } from "../../../src/domain/reports/report.ts";
import type { ReportPolicy } from "../../../src/domain/reports/report-policy.ts";
import type { ArrivedReport, KnownMessage } from "../../../src/domain/reports/reported-message.ts";

const at = new Date("2026-03-21T10:05:00.000Z");
const policy: ReportPolicy = { mailDomain: "inbox.localhost", messageIdSuppresses: false, bounceSuppressionDays: 90 };

const toOne: KnownMessage = {
  id: "msg_1",
  accountId: "acc_1",
  inboxId: "inb_1",
  threadId: "thr_1",
  providerMessageId: null,
  createdAt: at,
  recipients: [{ position: 0, address: "Jane@example.com" }],
  reports: [],
};
const toThree: KnownMessage = {
  ...toOne,
  recipients: ["jane@example.com", "joe@example.com", "ann+news@example.com"].map((address, position) => ({
    address,
    position,
  })),
};

function told(final: string | undefined, more: Partial<RecipientReport> = {}): RecipientReport {
  return {
    kind: "bounced",
    type: "hard",
    originalRecipient: undefined,
    finalRecipient: final,
    code: 550,
    enhancedCode: "5.1.1",
    diagnostic: "smtp; 550 5.1.1 User unknown",
    remoteMta: undefined,
    ...more,
  };
}

let reports = 0;

function arrived(recipients: RecipientReport[], more: Partial<ArrivedReport> = {}): ArrivedReport {
  reports += 1;
  return {
    messageId: "msg_1",
    ofInboxes: undefined,
    source: "dsn",
    proof: "return_path",
    recipients,
    isOptOut: false,
    reportingMta: undefined,
    raw: new Uint8Array(),
    receivedAt: at,
    sourceId: `src_${reports}`,
    ids: recipients.map((_, index) => ({
      report: `rep_${reports}.${index}`,
      event: `evt_${reports}.${index}`,
      suppression: `sup_${reports}.${index}`,
      suppressionEvent: `evt_${reports}.${index}s`,
    })),
    ...more,
  };
}

function judged(message: KnownMessage, ...all: ArrivedReport[]) {
  const { reports, messages, recipients, suppressions, events, ...rest } = judgeReports(all, [message], policy);
  return {
    ...rest,
    reports: reports.map(({ recipient, kind, type, proof }) => `${recipient} ${kind} ${type} ${proof}`),
    states: messages.map(({ delivery }) => `${delivery.state} ${delivery.type}`),
    recipients: recipients.map(({ position, delivery }) => `${position} ${delivery.state} ${delivery.type}`),
    suppressed: suppressions.map(({ address, reason }) => `${address} ${reason}`),
    events: events.map(({ type }) => type),
  };
}

describe("the recipient of a report", () => {
  test("is the only recipient of a message, whatever address the report names", () => {
    expect(judged(toOne, arrived([told("stranger@example.net")]))).toMatchObject({
      reports: ["Jane@example.com bounced hard return_path"],
      suppressed: ["jane@example.com bounce"],
    });
  });

  test("is the one that the report names among several, by the original or the final recipient", () => {
    const blocks = [
      told("JOE@example.com"),
      told("inner@example.net", { originalRecipient: "jane@example.com", kind: "delivered", type: undefined }),
      told("stranger@example.net"),
    ];
    expect(judged(toThree, arrived(blocks))).toMatchObject({
      reports: ["joe@example.com bounced hard return_path", "jane@example.com delivered null return_path"],
      recipients: ["0 delivered null", "1 bounced hard"],
      states: ["bounced hard"],
    });
  });

  test("is found if the server returns the address as xtext", () => {
    const block = told("x@example.net", { originalRecipient: "ann+2Bnews@example.com" });
    expect(judged(toThree, arrived([block])).recipients).toEqual(["2 bounced hard"]);
  });

  test("is unknown if the report names none of several: the worst report counts for the message and suppresses nobody", () => {
    const blocks = [
      told("a@example.net", { type: "soft" }),
      told("b@example.net"),
      told("c@example.net", { kind: "delayed" }),
    ];
    expect(judged(toThree, arrived(blocks))).toMatchObject({
      reports: [" bounced hard return_path"],
      states: ["bounced hard"],
      recipients: [],
      suppressed: [],
    });
  });

  test("two blocks about one recipient are one report", () => {
    const blocks = [told("joe@example.com", { type: "unknown" }), told("joe@example.com")];
    expect(judged(toThree, arrived(blocks))).toMatchObject({
      reports: ["joe@example.com bounced hard return_path"],
      events: ["message.bounced"],
    });
  });

  test("without a result there is no report, and the raw report is not kept", () => {
    const { reports, events, keptSources } = judged(toOne, arrived([told(undefined, { kind: undefined })]));
    expect([reports, events, [...keptSources]]).toEqual([[], [], []]);
  });
});

describe("reports of a message to several", () => {
  const complaint = told("joe@example.com", { kind: "complained", type: undefined });

  test.each([
    ["a bounce", told("joe@example.com"), {}],
    ["a complaint", complaint, { source: "arf" }],
    ["a wish to be left alone", complaint, { source: "arf", isOptOut: true }],
    ["a bounce proven by a Message-ID", told("joe@example.com"), { proof: "message_id" }],
  ] as const)("%s at the shared return path suppresses nobody, the relay's notice does", (_, block, more) => {
    const lenient = { ...policy, messageIdSuppresses: true };
    const ofPath = judgeReports([arrived([block], more)], [toThree], lenient);
    expect(ofPath.suppressions).toEqual([]);
    expect(ofPath.events.map(({ type }) => type)).not.toContain("suppression.added");
    const ofRelay = judgeReports([arrived([block], { ...more, proof: "relay" })], [toThree], policy);
    expect(ofRelay.suppressions.map(({ address }) => address)).toEqual(["joe@example.com"]);
  });

  test("a notice of the relay replaces a report by a co-recipient, also a worse one, and never the other way round", () => {
    const forged = arrived([told("joe@example.com")]);
    const notice = (type: "hard" | "soft") => arrived([told("joe@example.com", { type })], { proof: "relay" });
    expect(judged(toThree, forged, notice("soft"))).toMatchObject({ states: ["bounced soft"], suppressed: [] });
    expect(judged(toThree, notice("soft"), forged)).toMatchObject({ states: ["bounced soft"], suppressed: [] });
    expect(judged(toThree, forged, notice("hard"))).toMatchObject({
      reports: ["joe@example.com bounced hard relay"],
      suppressed: ["joe@example.com bounce"],
    });
  });

  test("a return path proves the reports of a message to one address in two spellings", () => {
    const recipients = ["jane@example.com", "JANE@example.com"].map((address, position) => ({ address, position }));
    expect(judged({ ...toOne, recipients }, arrived([told("jane@example.com")])).suppressed).toEqual([
      "jane@example.com bounce",
    ]);
  });
});

describe("one report for each message, recipient and kind", () => {
  const soft = told(undefined, { type: "soft" });

  test("the same report again changes nothing", () => {
    expect(judged(toOne, arrived([soft]), arrived([soft]))).toMatchObject({ events: ["message.bounced"] });
  });

  test("a harder type replaces the report and has an event", () => {
    expect(judged(toOne, arrived([soft]), arrived([told(undefined)]))).toMatchObject({
      reports: ["Jane@example.com bounced hard return_path"],
      events: ["message.bounced", "suppression.added", "message.bounced"],
    });
  });

  test("a softer type does not", () => {
    expect(judged(toOne, arrived([told(undefined)]), arrived([soft])).states).toEqual(["bounced hard"]);
  });

  test("a stronger proof replaces even a worse report, since that one suppressed nobody", () => {
    const forged = arrived([told(undefined)], { proof: "message_id" });
    expect(judged(toOne, forged, arrived([soft]))).toMatchObject({
      reports: ["Jane@example.com bounced soft return_path"],
      states: ["bounced soft"],
      suppressed: [],
      events: ["message.bounced"],
    });
  });

  test("a weaker proof never replaces a report", () => {
    const forged = arrived([told(undefined)], { proof: "message_id" });
    expect(judged(toOne, arrived([soft]), forged).states).toEqual(["bounced soft"]);
  });

  test("a second delay replaces the first one without an event, and the first raw report is removed", () => {
    const late = () => arrived([told(undefined, { kind: "delayed", type: undefined })]);
    const [first, second] = [late(), late()];
    const { reports: kept } = judgeReports([first], [toOne], policy);
    const { events, keptSources, goneSources } = judged({ ...toOne, reports: kept }, second);
    expect([events, [...keptSources], goneSources]).toEqual([[], [second.sourceId], [first.sourceId]]);
  });
});

describe("reports that do not count", () => {
  test("a proof for a message of another inbox", () => {
    expect(judged(toOne, arrived([told(undefined)], { ofInboxes: ["inb_2"] }))).toMatchObject({
      outcomes: [undefined],
      reports: [],
      events: [],
    });
  });

  test("a report after sixty days", () => {
    const receivedAt = new Date(at.getTime() + 61 * 86_400_000);
    expect(judged(toOne, arrived([told(undefined)], { receivedAt })).outcomes).toEqual([undefined]);
  });

  test("a hard bounce of an address of our own domain: its inbox may be created at any time", () => {
    expect(
      judged({ ...toOne, recipients: [{ position: 0, address: "ada@INBOX.localhost" }] }, arrived([told(undefined)])),
    ).toMatchObject({
      states: ["bounced hard"],
      suppressed: [],
    });
  });
});

test("reports of two messages to one address make one suppression with one event", () => {
  const other = { ...toOne, id: "msg_2" };
  const all = [arrived([told(undefined)]), arrived([told(undefined)], { messageId: "msg_2" })];
  const { suppressions, events } = judgeReports(all, [toOne, other], policy);
  expect(suppressions).toHaveLength(1);
  expect(events.map(({ type }) => type).toSorted()).toEqual([
    "message.bounced",
    "message.bounced",
    "suppression.added",
  ]);
});

test("the words of a report become one clean line of limited length", () => {
  const block = told("a\0\r\nb@example.net", { diagnostic: `550 no\r\nBcc: x\0${"y".repeat(2000)}` });
  const [report] = judgeReports([arrived([block])], [toOne], policy).reports;
  expect(report?.diagnostic).toMatch(/^550 no Bcc: x ?y{900,}…?$/);
  expect([report?.diagnostic, report?.reportedRecipient].join("")).not.toMatch(/[\0\r\n]/);
});
