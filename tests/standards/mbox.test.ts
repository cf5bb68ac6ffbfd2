import { expect, test } from "bun:test";
import { fromLine, mboxMail } from "../../src/standards/mbox.ts";

async function* cut(text: string, size: number) {
  const bytes = new TextEncoder().encode(text);
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

async function written(text: string, size: number): Promise<string> {
  let made = "";
  for await (const piece of mboxMail(cut(text, size))) made += Buffer.from(piece).toString("latin1");
  return made;
}

test.each([
  ["a line that looks like the beginning of a mail", "From Jane\n", ">From Jane\n\n"],
  ["a quoted one", "a\r\n>>From Jane\r\n", "a\r\n>>>From Jane\r\n\n"],
  ["one within a line", "a From b\n> a From c\n", "a From b\n> a From c\n\n"],
  ["two in one line", "From From From \n", ">From From From \n\n"],
  ["a word that only begins like it", "Fro\nFrom\n>Fr", "Fro\nFrom\n>Fr\n\n"],
  ["a mail without a newline at its end", "Subject: a\n\nFrom ", "Subject: a\n\n>From \n\n"],
  ["an empty mail", "", "\n"],
])("%s is written for mboxrd, wherever its bytes are cut", async (_, mail, expected) => {
  for (let size = 1; size <= mail.length + 1; size += 1)
    expect([size, await written(mail, size)]).toEqual([size, expected]);
});

test.each([
  ["jane@example.com", "2026-03-01T09:05:07.123Z", "From jane@example.com Sun Mar  1 09:05:07 2026\n"],
  ["", "2026-12-31T23:59:59Z", "From MAILER-DAEMON Thu Dec 31 23:59:59 2026\n"],
  ['"jane\ndoe"@example.com', "2026-12-31T23:59:59Z", 'From "jane-doe"@example.com Thu Dec 31 23:59:59 2026\n'],
])("the line before a mail of %j", (sender, at, line) => expect(fromLine(sender, new Date(at))).toBe(line));
