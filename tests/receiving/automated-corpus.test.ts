import { describe, expect, test } from "bun:test";
import { automatedOf } from "../../src/domain/automated.ts";
import { parseMail } from "../../src/mail/read/parse.ts";
import { autoReplies } from "../support/automated-mails/auto-replies.ts";
import { bulk, lists } from "../support/automated-mails/lists-and-bulk.ts";
import { notifications } from "../support/automated-mails/notifications.ts";
import { oddPeople, people } from "../support/automated-mails/people.ts";
import { deliveryReports, otherReports } from "../support/automated-mails/reports.ts";
import { type Row, rawOf } from "../support/automated-mails/row.ts";

const robots = [...deliveryReports, ...otherReports, ...autoReplies, ...lists, ...bulk, ...notifications];
const singly = [...robots, ...oddPeople];

async function kindOf(row: Row) {
  const mail = await parseMail(Buffer.from(rawOf(row)), { mailDomain: "inbox.localhost" });
  return automatedOf(mail, row.from)?.kind ?? null;
}

describe("a mail is classified", () => {
  test.each(singly.map((row) => [row.what, row] as const))("%s", async (_, row) => {
    expect(await kindOf(row)).toBe(row.miss === undefined ? row.kind : row.miss.kind);
  });

  test("as written by a person, for every mail program", async () => {
    const marked = await Promise.all(people.map(async (row) => ((await kindOf(row)) === null ? [] : row.what)));
    expect(marked.flat()).toEqual([]);
  });

  test("as automated for 95 % of over 120 automated mails, and at most 0.5 % of people's mails", () => {
    expect(singly.length).toBeGreaterThanOrEqual(120);
    const missed = singly.filter(({ miss }) => miss !== undefined);
    expect(missed.length / singly.length).toBeLessThanOrEqual(0.05);
    const marked = oddPeople.filter(({ miss }) => miss !== undefined);
    expect(marked.length / (oddPeople.length + people.length)).toBeLessThanOrEqual(0.005);
  });
});
