import { describe, expect, test } from "bun:test";
import { parseMail } from "../../../src/mail/read/parse.ts";
import { type Arrived, readReport } from "../../../src/mail/report/read-report.ts";
import { dsn, feedback, noReports, plain, reports, returnedMail } from "./fixtures.ts";
import { confusing, inWordsAlone, moreServers } from "./more-servers.ts";
import { oddForms } from "./odd-forms.ts";

const sentTo = ["jane@example.com", "jane@yahoo.com"];
const fromNobody: Arrived = { sentTo, reversePath: "" };

async function read(mail: string, arrived = fromNobody) {
  const raw = Buffer.from(mail.replaceAll("\n", "\r\n"));
  return readReport(await parseMail(raw, { mailDomain: "mail.example" }), arrived);
}

describe("the result for a recipient in a report", () => {
  test.each([...reports, ...oddForms])("%s", async (_, mail, told) => {
    const report = await read(mail);
    const said = report?.recipients.map(({ kind, type }) => `${kind} ${type ?? "-"}`);
    expect(said).toEqual([told]);
  });

  test.each([...moreServers, ...inWordsAlone, ...confusing])("%s, written down later", async (_, mail, told) => {
    const report = await read(mail);
    const said = report?.recipients.map(({ kind, type }) => `${kind} ${type ?? "-"}`) ?? ["no report"];
    expect(said).toEqual([told]);
  });

  test("names him and our mail", async () => {
    for (const [, mail] of [...reports, ...oddForms].filter(([, each]) => each.includes("m1@mail.example"))) {
      const report = await read(mail);
      expect(report?.messageIds).toEqual(["m1@mail.example"]);
      const [told] = report?.recipients ?? [];
      expect(told?.finalRecipient ?? told?.originalRecipient).toMatch(/^jane@(?:example|yahoo)\.com$/);
    }
  });

  test("in full", async () => {
    const fields = `Original-Recipient: rfc822;jane+a@example.com\nFinal-Recipient: rfc822; j2@other.example\nAction: failed\nStatus: 5.0.0\nRemote-MTA: dns; mx.example.com\nDiagnostic-Code: smtp; 550 5.1.1 No such\n user`;
    expect(await read(dsn({ fields, message: "Original-Envelope-Id: msg_1\n" }))).toEqual({
      source: "dsn",
      recipients: [
        {
          kind: "bounced",
          type: "hard",
          originalRecipient: "jane+a@example.com",
          finalRecipient: "j2@other.example",
          code: 550,
          enhancedCode: "5.1.1",
          diagnostic: "smtp; 550 5.1.1 No such user",
          remoteMta: "mx.example.com",
        },
      ],
      messageIds: ["m1@mail.example"],
      envelopeId: "msg_1",
      reportingMta: "reporter.example",
      originalSender: undefined,
      isOptOut: false,
    });
  });

  test("for each by a line of words with codes behind his address", async () => {
    const said = [
      "A mail of yours could not go to one or more of its recipients.",
      "",
      "j1@example.co.uk bad address, CODE :550, CODE :5.1.1 no such user",
      "j2@example.co.uk bad address, CODE :550, CODE :5.2.2 mailbox full",
      "j3@example.co.uk writes that this is prose",
    ];
    const report = await read(plain(said.join("\n")));
    expect(report?.recipients.map(({ finalRecipient, type }) => `${finalRecipient} ${type}`)).toEqual([
      "j1@example.co.uk hard",
      "j2@example.co.uk soft",
    ]);
  });

  test("for each recipient of an SMTP session, from its line and the continuation lines", async () => {
    const said = [
      "   ----- Transcript of session follows -----",
      ">>> MAIL From:<ada@mail.example>",
      "<<< 501 no access from here, which is an open relay",
      "554 <j1@example.com>... Remote protocol error",
      "550 elsewhere.example (smtp)... 550 Host unknown",
      "550-5.1.1 <j2@mail.example.com>... Sorry,",
      "550 5.1.1 user unknown",
      "554 <j3@example.com>... 550 Host unknown",
      "  (Authoritative answer from name server)",
    ];
    const report = await read(plain(said.join("\n")));
    expect(report?.recipients.map(({ finalRecipient, type }) => `${finalRecipient} ${type}`)).toEqual([
      "j1@example.com unknown",
      "j2@mail.example.com hard",
      "j3@example.com hard",
    ]);
  });

  test("whose address ends with its domain and is not the sender's", async () => {
    const report = await read(
      plain("550 5.1.1 no\nfrom ada@mail.example\n>>> j@mail.example.com <j@mail.example.com>\n"),
    );
    expect(report?.recipients.map(({ finalRecipient }) => finalRecipient)).toEqual(["j@mail.example.com"]);
    const told = await read(
      plain("No such user\nthe mail from ada@mail.example\ndid not go to: j@mail.example.com.\n"),
    );
    expect(told?.recipients.map(({ finalRecipient }) => finalRecipient)).toEqual(["j@mail.example.com"]);
  });

  test("for each of several, a hundred at most", async () => {
    const one = (n: number) => `Final-Recipient: rfc822; u${n}@example.com\nAction: failed\nStatus: 5.1.1\n`;
    const many = Array.from({ length: 300 }, (_, n) => one(n)).join("\n");
    const report = await read(dsn({ fields: many }));
    expect(report?.recipients.map(({ finalRecipient }) => finalRecipient)).toEqual(
      Array.from({ length: 100 }, (_, n) => `u${n}@example.com`),
    );
  });
});

describe("a complaint", () => {
  test("that is an opt-out is marked as one", async () => {
    expect((await read(feedback("Feedback-Type: opt-out")))?.isOptOut).toBe(true);
    expect((await read(feedback("Feedback-Type: abuse")))?.isOptOut).toBe(false);
  });

  test("names the return path that the mail had", async () => {
    const report = await read(feedback("Feedback-Type: abuse\nOriginal-Mail-From: <bounce+x-y@mail.example>"));
    expect(report?.originalSender).toBe("bounce+x-y@mail.example");
  });
});

describe("no report", () => {
  test.each(noReports)("is %s", async (_, mail) => {
    expect(await read(mail)).toBeUndefined();
  });

  test("is a person's reply to a return path", async () => {
    const mail = plain("550 5.1.1 User unknown", { from: "Jane <jane@example.com>" });
    expect(await read(mail, { sentTo, reversePath: "jane@example.com" })).toBeUndefined();
  });

  test("is a delivery status that a person attached to a mail to an inbox", async () => {
    const mail = dsn({ fields: "Final-Recipient: rfc822; jane@example.com\nAction: failed\nStatus: 5.1.1" });
    const attached = mail.replace("multipart/report; report-type=delivery-status", "multipart/mixed");
    expect(await read(attached, { sentTo: undefined, reversePath: "jane@example.com" })).toBeUndefined();
    expect(await read(attached, { sentTo: undefined, reversePath: "" })).toBeDefined();
  });

  test("is a bounce with words only at an inbox", async () => {
    const mail = plain(`550 5.1.1 User unknown\n\n${returnedMail}`);
    expect(await read(mail, { sentTo: undefined, reversePath: "" })).toBeUndefined();
    expect(await read(mail)).toBeDefined();
  });
});

test("reports that were written to hurt are read like others", async () => {
  const strange = [
    "__proto__: x\nconstructor: y\nFinal-Recipient: rfc822; jane@example.com\nAction: failed\nStatus: 5.1.1",
    `Final-Recipient: rfc822; jane@example.com\nAction: failed\nDiagnostic-Code: smtp; ${"550 5.1.1 user … ".repeat(20_000)}`,
    `${"Final-Recipient: a\n".repeat(50_000)}`,
    `Final-Recipient: utf-8; \\x{fffffff}\\x{110000}\\x{D800}@example.com\nAction: failed\nStatus: 5.1.1`,
  ];
  for (const fields of strange) expect((await read(dsn({ fields })))?.recipients[0]?.kind).toBe("bounced");
  const texts = [
    "user ".repeat(20_000),
    "does not exist ".repeat(8000),
    "<a@b.cd>:\n".repeat(9000),
    "Received:\n".repeat(9000),
    "Received: a\nb\n\n".repeat(5000),
    "  From: a@b.cd\n  To: c@d.ef\n\n".repeat(3000),
    "to a@b.cd ".repeat(7000),
  ];
  for (const text of texts) expect(await read(plain(`550 5.1.1\n${text}`))).toBeDefined();
});
