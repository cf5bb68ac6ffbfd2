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

function mailOf(head: string, run: string, bytes: number): Buffer {
  const times = Math.floor((bytes - head.length - 4) / run.length);
  return Buffer.from(`${head}${run.repeat(times)}\r\n\r\nhi\r\n`, "latin1");
}

async function readMs(raw: Buffer): Promise<number> {
  const startMs = cpuMs();
  await parseMail(raw, { mailDomain: "inbox.test" });
  return cpuMs() - startMs;
}

/** Linear code takes about ten milliseconds, on a busy machine a few times as long. Code that backtracks takes hundreds. */
const mostMs = 64;
const mostGrowth = 3;
/** Other programs only add to a time, so a field is read in turns with its half until it is fast enough, at most this often. */
const mostTries = 40;
const leastTries = 5;

async function faultOf(head: string, run: string): Promise<string | undefined> {
  const [whole, half] = [mailOf(head, run, fieldBytes), mailOf(head, run, fieldBytes / 2)];
  let [wholeMs, halfMs] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
  for (let tried = 0; tried < mostTries; tried += 1) {
    wholeMs = Math.min(wholeMs, await readMs(whole));
    if (wholeMs < mostMs / 2) return undefined;
    halfMs = Math.min(halfMs, await readMs(half));
    if (tried >= leastTries && wholeMs <= mostMs && wholeMs / halfMs <= mostGrowth) return undefined;
  }
  return JSON.stringify({ head, run, wholeMs, halfMs });
}

describe("a field of 64 KiB is read quickly, and takes twice as long as its half", () => {
  test.each(fields)(
    "%s",
    async (field, beginnings) => {
      const slow: (string | undefined)[] = [];
      for (const beginning of beginnings) {
        for (const run of runs) slow.push(await faultOf(`${field}: ${beginning}`, run));
      }
      expect(slow.filter((fault) => fault !== undefined)).toEqual([]);
    },
    60_000,
  );
});
