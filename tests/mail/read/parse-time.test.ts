import { describe, expect, test } from "bun:test";
import { cpuMs } from "../../support/cpu.ts";
import { readMail } from "../../support/read-mail.ts";

/** Mails that are made to be read repeatedly. Each has 240 KB, for which quadratic code takes minutes. */

const size = 240_000;
const times = (piece: string) => piece.repeat(size / piece.length);
const mixed = "Content-Type: multipart/mixed; boundary=q\n\n";

describe("reading takes no longer than the length of", () => {
  test.each([
    [
      "a link that never ends, beside a text",
      `${mixed}--q\n\nhi\n--q\nContent-Type: text/html\n\n<a href=x>${times("b")} c\n`,
    ],
    ["commas behind a type", `Content-Type: a/b${times(",")}y\u2028x\n\nhi\n`],
    ["comments that never close", `Content-Type: text/plain ${times("(")};x\n\nhi\n`],
    ["comments", `Content-Type: text/plain ${times("(a) ")};x\n\nhi\n`],
    ["parameters in pieces", `Content-Disposition: attachment; ${times("filename*1*=a; ")}\n\nhi\n`],
    ["parameters without a fold", `Content-Type: text/plain;\n${times("x;\n")}\nhi\n`],
    ["groups", `To: ${times("a:")}b@x\n\nhi\n`],
    ["quotes", `To: ${times('"')}\n\nhi\n`],
    ["escaped quotes", `To: <"${times('\\"')}\n\nhi\n`],
    ["brackets that never close", `To: ${times("<a,")}\n\nhi\n`],
    ["brackets with quotes", `To: ${times('<"')}>\n\nhi\n`],
    ["comments in addresses", `To: ${times("(")}a@x\n\nhi\n`],
    ["dots and spaces", `To: ${times(". ")}@\n\nhi\n`],
    ["encoded words", `To: ${times("=?utf-8?Q?a?= ")}<b@x>\n\nhi\n`],
    ["encoded words that never end", `Subject: ${times("=?a?q?")}\n\nhi\n`],
    ["encoded words that don't decode", `Subject: ${times("=?utf-8?B?/w==?= ")}\n\nhi\n`],
    ["carriage returns", `\n${times("\r")}x`],
    ["control characters", `\n${times("\x01\x02")}x`],
    ["flowed lines", `Content-Type: text/plain; format=flowed\n\n${times("a \n")}`],
    ["quote marks", `Content-Type: text/plain; format=flowed\n\n${times(">")} a\n`],
    ["UTF-7", `Content-Type: text/plain; charset=utf-7\n\n${times("+")}\n`],
    ["HZ", `Content-Type: text/plain; charset=hz-gb-2312\n\n${times("~{")}\n`],
    ["ISO-2022-KR", `Content-Type: text/plain; charset=iso-2022-kr\n\n${times("\x0e")}\n`],
    ["uuencode", `Content-Transfer-Encoding: x-uuencode\n\nbegin 644 a\n${times("M\n")}`],
    ["base64 behind padding", `Content-Transfer-Encoding: base64\n\nYQ==\n${times("a\n")}!\n`],
    ["HTML that says and says its charset", `Content-Type: text/html\n\n${times("<meta ")}\xff\n`],
    ["a head of blank lines", `From: a@x\n${times(" \n")}x`],
    ["a head of lines that are no fields", `Subject: a\n${times("x\n")}From: a@x\n\nhi\n`],
    ["delimiters that close", `${mixed}${times("--q--\n")}`],
    ["delimiters with words", `${mixed}${times("--q x\n")}`],
  ])("%s", async (_what, mail) => {
    const startMs = cpuMs();
    await readMail(mail);
    expect(cpuMs() - startMs).toBeLessThan(1000);
  });
});
