import { describe, expect, test } from "bun:test";
import { type MailFilter, type MailHead, mailJudge } from "../../src/domain/mail-filter.ts";

const mail: MailHead = {
  threadId: "thr_1",
  fromAddr: "No-Reply@Mail.Example.COM",
  fromName: "Ａcme Cloud",
  toAddr: "Ada+Shop@inbox.localhost",
  subject: "Votre Ｃode : 482913",
  attachmentCount: 0,
  isAutomated: true,
};
const nothing: MailFilter = {
  from: undefined,
  to: undefined,
  subject: undefined,
  threadId: undefined,
  hasAttachment: false,
  automated: undefined,
};

describe("A mail fits", () => {
  const fitting: [what: string, filter: Partial<MailFilter>][] = [
    ["who asks for nothing", {}],
    ["its sender's address, in any case", { from: "no-reply@mail.example.com" }],
    ["its sender's domain", { from: "@mail.example.com" }],
    ["a domain above its sender's", { from: "@EXAMPLE.com" }],
    ["a part of its sender's address", { from: "-reply" }],
    ["a part of its sender's name, however its letters are written", { from: "acme c" }],
    ["a lone @, which every address has", { from: "@" }],
    ["its recipient with the tag", { to: "ada+shop@INBOX.localhost" }],
    ["a part of its subject, however its letters are written", { subject: "votre code" }],
    ["its thread", { threadId: "thr_1" }],
    ["robots", { automated: true }],
  ];
  test.each(fitting)("%s", (_, filter) => {
    expect(mailJudge({ ...nothing, ...filter })(mail)).toBe(true);
  });
});

describe("A mail does not fit", () => {
  const unfitting: [what: string, filter: Partial<MailFilter>][] = [
    ["an address that is a part of its sender's", { from: "reply@mail.example.com" }],
    ["a part of its address that reads as a whole one", { from: "reply@mail" }],
    ["a domain that its sender's only ends like", { from: "@ample.com" }],
    ["a domain below its sender's", { from: "@eu.mail.example.com" }],
    ["a name that is not there", { from: "Globex" }],
    ["its recipient without the tag", { to: "ada@inbox.localhost" }],
    ["a subject that it has not", { subject: "invoice" }],
    ["another thread", { threadId: "thr_2" }],
    ["who wants files", { hasAttachment: true }],
    ["who wants people", { automated: false }],
    ["all but one of what is asked", { from: "acme", subject: "code", automated: false }],
  ];
  test.each(unfitting)("%s", (_, filter) => {
    expect(mailJudge({ ...nothing, ...filter })(mail)).toBe(false);
  });
});

test("A domain is the same as U-label and as A-label", () => {
  const fromBuecher = { ...mail, fromAddr: "info@post.bücher.example" };
  for (const from of ["@bücher.example", "@xn--bcher-kva.example", "info@post.xn--bcher-kva.example"]) {
    expect(mailJudge({ ...nothing, from })(fromBuecher)).toBe(true);
  }
});

test("A mail without a sender fits only filters without one", () => {
  const nobodys = { ...mail, fromAddr: "", fromName: null };
  for (const from of ["@example.com", "a@b.c", "acme"]) expect(mailJudge({ ...nothing, from })(nobodys)).toBe(false);
  expect(mailJudge(nothing)(nobodys)).toBe(true);
});
