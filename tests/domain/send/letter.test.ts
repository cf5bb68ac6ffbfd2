import { expect, test } from "bun:test";
import { type LetteredMail, letterAbout } from "../../../src/domain/send/letter.ts";

const mail: LetteredMail = {
  from: "ada@inbox.example",
  recipients: [
    { address: "jane@example.com", name: "Jane", type: "to" },
    { address: "joe@example.com", name: undefined, type: "bcc" },
  ],
  newRecipients: ["joe@example.com"],
  subject: "Offer",
  text: "Dear Jane,\n\nwe offer.\n",
  files: 2,
  link: "https://mail.example/approve/token",
  expiresAt: new Date("2026-03-24T10:05:59.000Z"),
};

test("A letter about one mail has its recipients, its subject, its text and its link", () => {
  const { subject, text } = letterAbout([mail]);
  expect(subject).toBe("Approval needed: Offer");
  expect(text).toBe(`This mail waits for your approval:

From: ada@inbox.example
To: jane@example.com
Bcc: joe@example.com (new recipient)
Subject: Offer
Files: 2

> Dear Jane,
>
> we offer.

See all of it, and approve or reject it until 2026-03-24 10:05 UTC:
https://mail.example/approve/token

Who has a link can decide, so do not pass this letter on. Opening a link changes
nothing. A mail about which nobody decides is not sent.
`);
});

test("A letter about several mails has each of them with its link", () => {
  const { subject, text } = letterAbout([
    mail,
    { ...mail, subject: "Bill", link: "https://mail.example/approve/other" },
  ]);
  expect(subject).toBe("Approval needed for 2 mails");
  expect(text.match(/^https:.*$/gm)).toEqual([
    "https://mail.example/approve/token",
    "https://mail.example/approve/other",
  ]);
  expect(text.match(/^Subject: .*$/gm)).toEqual(["Subject: Offer", "Subject: Bill"]);
});

test("A letter has the first 2,000 characters of a text", () => {
  const { text } = letterAbout([{ ...mail, text: "😀".repeat(2_001) }]);
  expect(text).toContain(`> ${"😀".repeat(2_000)}\n(cut here)\n`);
  expect(letterAbout([{ ...mail, text: "😀".repeat(2_000) }]).text).not.toContain("cut here");
});

test.each(["\n", "\r\n", "\r", "\u2028", "\u2029", "\u0085", "\u000b", "\u000c"])(
  "No line of a text looks like a part of the letter, after the line end %j",
  (end) => {
    const { text } = letterAbout([{ ...mail, text: `Hello${end}https://evil.example/approve/x` }]);
    expect(text).toContain("> Hello\n> https://evil.example/approve/x\n");
  },
);
