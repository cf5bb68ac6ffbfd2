import { describe, expect, test } from "bun:test";
import { listEntries } from "../../../src/commands/suppressions/entries.ts";

const now = new Date("2026-03-21T10:05:00.000Z");

async function read(text: string): Promise<object[]> {
  async function* lines() {
    yield* text.split("\n");
  }
  const read: object[] = [];
  for await (const entry of listEntries(lines(), { reason: "manual", now })) read.push(entry);
  return read;
}

describe("a list of suppressions is read", () => {
  const rows: [what: string, text: string, entries: object[]][] = [
    [
      "as our own lines",
      '{"address":"jane@example.com","inboxId":null,"reason":"complaint","detail":"x","createdAt":"2026-01-01T00:00:00.000Z","expiresAt":null}\n',
      [
        {
          address: "jane@example.com",
          reason: "complaint",
          detail: "x",
          createdAt: "2026-01-01T00:00:00.000Z",
          expiresAt: null,
        },
      ],
    ],
    [
      "as SES writes it",
      "EmailAddress,Reason,LastUpdateTime\r\njane@example.com,BOUNCE,2025-12-01T10:00:00Z\r\nbob@example.com,COMPLAINT,2025-12-01T10:00:00+01:00\r\n",
      [
        { address: "jane@example.com", reason: "bounce", createdAt: "2025-12-01T10:00:00.000Z" },
        { address: "bob@example.com", reason: "complaint", createdAt: "2025-12-01T09:00:00.000Z" },
      ],
    ],
    [
      "as SendGrid writes it, with a reason of several lines",
      'status,reason,email,created\n5.1.1,"550 5.1.1 ""jane""\nunknown, sorry",jane@example.com,1754042400\n',
      [
        {
          address: "jane@example.com",
          reason: "manual",
          detail: '550 5.1.1 "jane"\nunknown, sorry',
          createdAt: "2025-08-01T10:00:00.000Z",
        },
      ],
    ],
    [
      "as Mailgun writes it",
      "address,code,error,created_at\njane@example.com,550,No such user,2025-08-01T10:00:00Z",
      [
        {
          address: "jane@example.com",
          reason: "manual",
          detail: "No such user",
          createdAt: "2025-08-01T10:00:00.000Z",
        },
      ],
    ],
    [
      "as Postmark writes it",
      "\ufeffRecipient,SuppressionReason,Origin\njane@example.com,HardBounce,Recipient\nbob@example.com,SpamComplaint,Recipient\neve@example.com,ManualSuppression,Customer",
      [
        { address: "jane@example.com", reason: "bounce" },
        { address: "bob@example.com", reason: "complaint" },
        { address: "eve@example.com", reason: "manual" },
      ],
    ],
    [
      "past what is no entry, which is told",
      "email\nnobody\n\nJane@Example.COM\n@example.com\n",
      [
        { line: 2, why: "it has no email address" },
        { address: "Jane@example.com", reason: "manual" },
        { line: 5, why: "it has no email address" },
      ],
    ],
    [
      "with the null that says that a bounce has no end",
      '{"address":"jane@example.com","reason":"bounce","expiresAt":null}\n{"address":"bob@example.com","reason":"bounce"}\n',
      [
        { address: "jane@example.com", reason: "bounce", expiresAt: null },
        { address: "bob@example.com", reason: "bounce" },
      ],
    ],
    [
      "past patterns",
      "email\n*@example.com\njane%@example.com\n",
      [
        { line: 2, why: "its address is a pattern" },
        { line: 3, why: "its address is a pattern" },
      ],
    ],
    [
      "past what is over",
      '{"address":"jane@example.com","expiresAt":"2026-03-21T10:05:00Z"}\n{"address"\n',
      [
        { line: 1, why: "it has expired" },
        { line: 2, why: "it is not a JSON object" },
      ],
    ],
  ];
  test.each(rows)("%s", async (_, text, entries) => {
    expect(await read(text)).toEqual(entries);
  });

  test("not at all without a column of addresses", async () => {
    expect(read("name,reason\nJane,BOUNCE\n")).rejects.toThrow("no column of addresses");
  });
});
