import { describe, expect, test } from "bun:test";
import { parseMail } from "../../../src/mail/read/parse.ts";
import { cpuMs } from "../../support/cpu.ts";

/** The limit on a field. */
const fieldBytes = 64 * 1024;

/** All characters with a meaning in some field. */
const pieces = [
  "a",
  " ",
  ",",
  ";",
  ":",
  "<",
  ">",
  "(",
  ")",
  '"',
  "\\",
  "@",
  ".",
  "=",
  "\x80",
  "\r\n ",
  "=?utf-8?Q?",
  "=?utf-8?B?",
  "?=",
];
const runs = [
  ...pieces,
  ...pieces.flatMap((one) => pieces.map((other) => one + other)),
  "a@b, ",
  "x<>",
  "c: ",
  "<a@b> ",
];

const fields: [field: string, beginnings: string[]][] = [
  ["To", ["", "a@b ", "("]],
  ["Subject", [""]],
  ["References", ["", "<"]],
  ["Message-ID", ["", '<"']],
  ["Received", [""]],
  ["Auto-Submitted", [""]],
  ["Content-Type", ["text/plain; ", 'text/plain; name="', "multipart/mixed; boundary*0="]],
  ["Content-Disposition", ["attachment; filename*0*="]],
  ["Content-Transfer-Encoding", [""]],
];

/** The time of reading a mail with this field: the least of a few runs, since other programs only add to it. */
async function leastMs(head: string, run: string, bytes: number, tries: number): Promise<number> {
  const times = Math.floor((bytes - head.length - 4) / run.length);
  const raw = Buffer.from(`${head}${run.repeat(times)}\r\n\r\nhi\r\n`, "latin1");
  let least = Number.POSITIVE_INFINITY;
  for (let tried = 0; tried < tries; tried += 1) {
    const startMs = cpuMs();
    await parseMail(raw, { mailDomain: "inbox.test" });
    least = Math.min(least, cpuMs() - startMs);
  }
  return least;
}

/** Linear code takes about ten milliseconds, on a busy machine a few times as long. Code that backtracks takes hundreds. */
const mostMs = 64;
const mostGrowth = 3;

describe("a field of 64 KiB is read quickly, and takes twice as long as its half", () => {
  test.each(fields)(
    "%s",
    async (field, beginnings) => {
      const slow: string[] = [];
      for (const beginning of beginnings) {
        for (const run of runs) {
          const head = `${field}: ${beginning}`;
          if ((await leastMs(head, run, fieldBytes, 1)) < mostMs / 2) continue;
          const ms = await leastMs(head, run, fieldBytes, 10);
          if (ms < mostMs / 2) continue;
          const growth = ms / (await leastMs(head, run, fieldBytes / 2, 10));
          if (ms > mostMs || growth > mostGrowth) slow.push(JSON.stringify({ head, run, ms, growth }));
        }
      }
      expect(slow).toEqual([]);
    },
    60_000,
  );
});
