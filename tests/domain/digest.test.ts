import { describe, expect, test } from "bun:test";
import { contentOf, sha256Hex, shortDigest } from "../../src/domain/digest.ts";

const bytes = (text: string) => new TextEncoder().encode(text);

test("SHA-256 is that of FIPS 180-2, whole and as a uuid of its first half", () => {
  expect(sha256Hex("abc")).toBe("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  expect(shortDigest("abc")).toBe("ba7816bf-8f01-cfea-4141-40de5dae2223");
  expect(shortDigest(bytes("abc"))).toBe(shortDigest("abc"));
});

describe("the content of a mail is what is below the headers of its way here", () => {
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
  ];
  test.each(rows)("%s", (_, raw, content) => {
    expect(new TextDecoder().decode(contentOf(bytes(raw)))).toBe(content);
  });
});
