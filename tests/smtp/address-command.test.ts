import { describe, expect, test } from "bun:test";
import { parseRecipient, parseSender } from "../../src/smtp/address-command.ts";
import { cpuMs } from "../support/cpu.ts";

const codes = (parsed: ReturnType<typeof parseSender>) =>
  typeof parsed === "string" ? parsed : `${parsed.code} ${parsed.enhancedCode}`;

describe("MAIL", () => {
  const long = `${"x".repeat(240)}@example.com`;
  const rows: [what: string, line: string, result: string][] = [
    ["an address", "MAIL FROM:<jane@example.com>", "jane@example.com"],
    ["the null sender of a bounce", "MAIL FROM:<>", ""],
    ["a blank behind the colon, and lower case", "mail from: <jane@example.com> ", "jane@example.com"],
    ["an address as given, its case kept", "MAIL FROM:<Jane.Doe@EXAMPLE.com>", "Jane.Doe@EXAMPLE.com"],
    ["a source route is dropped", "MAIL FROM:<@a.example,@b.example:jane@example.com>", "jane@example.com"],
    ["a quoted local part", 'MAIL FROM:<"jane doe>"@example.com>', '"jane doe>"@example.com'],
    ["a dot at the end of a local part", "MAIL FROM:<printer.@example.com>", "printer.@example.com"],
    ["an address in UTF-8", "MAIL FROM:<jané@exämple.com> SMTPUTF8", "jané@exämple.com"],
    ["an A-label stays one", "MAIL FROM:<a@xn--exmple-cua.com>", "a@xn--exmple-cua.com"],
    ["an address literal", "MAIL FROM:<jane@[192.0.2.1]>", "jane@[192.0.2.1]"],
    ["SIZE and BODY", "MAIL FROM:<jane@example.com> SIZE=1000 BODY=8BITMIME", "jane@example.com"],
    ["SIZE over the limit", "MAIL FROM:<jane@example.com> size=1001", "552 5.3.4"],
    ["a SIZE beyond any number", `MAIL FROM:<jane@example.com> SIZE=${"9".repeat(20)}`, "552 5.3.4"],
    ["SIZE that is none", "MAIL FROM:<jane@example.com> SIZE=-1", "501 5.5.4"],
    ["SIZE without a value", "MAIL FROM:<jane@example.com> SIZE", "501 5.5.4"],
    ["SIZE twice", "MAIL FROM:<jane@example.com> SIZE=1 SIZE=2", "501 5.5.4"],
    ["a BODY that was not offered", "MAIL FROM:<jane@example.com> BODY=BINARYMIME", "501 5.5.4"],
    ["SMTPUTF8 with a value", "MAIL FROM:<jane@example.com> SMTPUTF8=1", "501 5.5.4"],
    ["a parameter that was not offered", "MAIL FROM:<jane@example.com> RET=FULL", "555 5.5.4"],
    ["no brackets", "MAIL FROM:jane@example.com", "501 5.5.4"],
    ["no blank before a parameter", "MAIL FROM:<jane@example.com>SIZE=1", "501 5.5.4"],
    ["no colon", "MAIL FROM <jane@example.com>", "501 5.5.4"],
    ["no domain", "MAIL FROM:<jane>", "501 5.1.7"],
    ["two domains", "MAIL FROM:<jane@a.example@b.example>", "501 5.1.7"],
    ["over 254 octets", `MAIL FROM:<x${long}yyyyyy>`, "501 5.1.7"],
    ["a control character", "MAIL FROM:<jane\x00@example.com>", "501 5.5.4"],
    ["a zero-width space", "MAIL FROM:<jane\u200b@example.com>", "501 5.5.4"],
    ["octets that are no UTF-8", Buffer.from("MAIL FROM:<jan\xe9@example.com>", "latin1").toString(), "501 5.5.4"],
  ];
  test.each(rows)("%s", (_what, line, result) => {
    expect(codes(parseSender(line, 1000))).toBe(result);
  });
});

describe("RCPT", () => {
  const rows: [what: string, line: string, result: string][] = [
    ["an address", "RCPT TO:<ada+tag@inbox.localhost>", "ada+tag@inbox.localhost"],
    ["postmaster needs no domain", "RCPT TO:<Postmaster>", "Postmaster"],
    [
      "a source route is dropped, so that only the last address counts",
      "RCPT TO:<@us.example:v@x.example>",
      "v@x.example",
    ],
    ["nobody", "RCPT TO:<>", "550 5.1.3"],
    ["no domain", "RCPT TO:<ada>", "550 5.1.3"],
    ["two domains", "RCPT TO:<victim@x.example@inbox.localhost>", "550 5.1.3"],
    ["a list", "RCPT TO:<a@b.example,c@d.example>", "550 5.1.3"],
    ["no brackets", "RCPT TO:ada@inbox.localhost", "501 5.5.4"],
    ["something behind the brackets", "RCPT TO:<a@b.example><c@d.example>", "501 5.5.4"],
    ["a parameter of DSN, which is not offered", "RCPT TO:<ada@inbox.localhost> NOTIFY=NEVER", "555 5.5.4"],
  ];
  test.each(rows)("%s", (_what, line, result) => {
    expect(codes(parseRecipient(line))).toBe(result);
  });

  test("a line of two thousand quotes is refused at once", () => {
    const startedAtMs = cpuMs();
    expect(codes(parseRecipient(`RCPT TO:<${'"'.repeat(2001)}@x`))).toBe("501 5.5.4");
    expect(codes(parseRecipient(`RCPT TO:<${'"a\\"'.repeat(500)}@x`))).toBe("501 5.5.4");
    expect(cpuMs() - startedAtMs).toBeLessThan(100);
  });
});
