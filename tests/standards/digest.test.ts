import { describe, expect, test } from "bun:test";
import { contentOf, isMarked, sha256Hex, shortDigest } from "../../src/standards/digest.ts";
import { cpuMs } from "../support/cpu.ts";

const bytes = (text: string) => new TextEncoder().encode(text);

test("SHA-256 is that of FIPS 180-2, whole and as a uuid of its first half", () => {
  expect(sha256Hex("abc")).toBe("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  expect(shortDigest("abc")).toBe("ba7816bf-8f01-cfea-4141-40de5dae2223");
  expect(shortDigest(bytes("abc"))).toBe(shortDigest("abc"));
});

describe("the content of a mail begins behind its trace fields", () => {
  const rows: [string, string, string][] = [
    ["a mail without them is all content", "Subject: Hi\r\n\r\nHello", "Subject: Hi\r\n\r\nHello"],
    ["Received is of the way", "Received: by a\r\nSubject: Hi\r\n\r\n", "Subject: Hi\r\n\r\n"],
    ["also folded", "Received: by a\r\n\tfor b;\r\n now\r\nSubject: Hi\r\n\r\n", "Subject: Hi\r\n\r\n"],
    ["also in other letters", "RECEIVED: by a\r\nSubject: Hi\r\n\r\n", "Subject: Hi\r\n\r\n"],
    [
      "so are the envelope's",
      "Return-Path: <a@b>\r\nDelivered-To: c\r\nX-Original-To: c\r\nX-Received: by d\r\nFrom: a\r\n\r\n",
      "From: a\r\n\r\n",
    ],
    ["with bare line feeds too", "Received: by a\nSubject: Hi\n\n", "Subject: Hi\n\n"],
    ["below another header they are content", "From: a\r\nReceived: by b\r\n\r\n", "From: a\r\nReceived: by b\r\n\r\n"],
    ["a name that only begins so is content", "Received-SPF: pass\r\n\r\n", "Received-SPF: pass\r\n\r\n"],
    ["one that never ends is content", "Received: by a", "Received: by a"],
    ["the body is content", "\r\nReceived: by a\r\n", "\r\nReceived: by a\r\n"],
    ["nothing is nothing", "", ""],
    ["where nothing is left it is all of it", "Received: 5 parcels\r\n", "Received: 5 parcels\r\n"],
    ["also where a line break is left", "Received: 5 parcels\r\n\r\n", "Received: 5 parcels\r\n\r\n"],
    ["white space before the colon", "Received : by a\r\nSubject: Hi\r\n\r\n", "Subject: Hi\r\n\r\n"],
    [
      "a line with a bare CR is content",
      "Received: by a\r\nReceived: by b\rSubject: Hi\r\n\r\nHello",
      "Received: by b\rSubject: Hi\r\n\r\nHello",
    ],
  ];
  test.each(rows)("%s", (_, raw, content) => {
    expect(new TextDecoder().decode(contentOf(bytes(raw)))).toBe(content);
  });
});

describe("a mail is marked by a Message-ID or a Date", () => {
  const rows: [string, string, boolean][] = [
    ["by its Message-ID", "From: a@x\r\nMessage-ID: <1@x>\r\n\r\n", true],
    ["by its Date", "DATE: Sat, 21 Mar 2026 10:05:00 +0000\r\n\r\nHello", true],
    ["on the next line", "Message-ID:\r\n <1@x>\r\n\r\n", true],
    ["with white space before the colon", "Date : today\r\n\r\n", true],
    ["not by an empty one", "Message-ID: <>\r\nDate: \r\n\r\nHello", false],
    ["not by another field", "Received: 5 parcels\r\nX-Date: today\r\nDates: two\r\n\r\n", false],
    ["not by its text", "Subject: Hi\r\n\r\nDate: today\r\n", false],
    ["nor where its text begins without an empty line", "Subject: Hi\r\nHello there\r\nDate: today\r\n", false],
    ["not by a line that goes on", "Subject: Hi\r\n Date: today\r\n\r\n", false],
    ["not by nothing", "", false],
  ];
  test.each(rows)("%s", (_, raw, marked) => {
    expect(isMarked(bytes(raw))).toBe(marked);
  });
});

test("25 MB of nothing but such headers are no work: past 256 KiB all is content", () => {
  const raw = Buffer.alloc(25 << 20, "X-Received: by a\r\n");
  contentOf(raw);
  const startMs = cpuMs();
  const { length } = contentOf(raw);
  expect(isMarked(raw)).toBe(false);
  expect(cpuMs() - startMs).toBeLessThan(100);
  expect(raw.length - length).toBe((256 << 10) - ((256 << 10) % "X-Received: by a\r\n".length));
});
