import { describe, expect, test } from "bun:test";
import { senderHost } from "../../../src/mail/read/received.ts";

const relay = { address: "10.0.0.5", network: "10.0.0.5", heloName: "mx.example.org", secure: false, isProxy: false };
const relays = ["10.0.0.0/24", "fd00::/8", "127.0.0.1"];

const mail = (...received: string[]): Buffer =>
  Buffer.from(
    `Return-Path: <jane@example.com>\r\nX-Spam: no\r\n${received.map((value) => `Received: ${value}\r\n`).join("")}Subject: Hi\r\n\r\nReceived: from body (x [9.9.9.9])\r\n`,
  );

const helo = "sender.example";

describe("behind a trusted relay, the host is that of its Received field, as written by", () => {
  const rows: [who: string, received: string, address: string, heloName: string, isTls: boolean][] = [
    [
      "Postfix",
      "from Sender.example (mail.example.com [192.0.2.9])\r\n\tby mx.example.org (Postfix) with ESMTP id 4XyZ\r\n\tfor <ada@example.org>; Sat, 28 Nov 2026 03:00:00 +0000 (UTC)",
      "192.0.2.9",
      helo,
      false,
    ],
    [
      "Postfix with TLS",
      'from sender.example (unknown [IPv6:2001:db8::9])\r\n\t(using TLSv1.3 with cipher TLS_AES_256_GCM_SHA384 (256/256 bits)\r\n\t key-exchange X25519)\r\n\t(Client CN "evil [9.9.9.9]", Issuer "evil" (not verified))\r\n\tby mx.example.org (Postfix) with ESMTPS id 4XyZ; Sat, 28 Nov 2026 03:00:00 +0000',
      "2001:db8::9",
      helo,
      true,
    ],
    [
      "Postfix, of a client that says an address literal",
      "from [9.9.9.9] (unknown [192.0.2.9]) by mx.example.org (Postfix) with ESMTP id 1; Sat",
      "192.0.2.9",
      "[9.9.9.9]",
      false,
    ],
    [
      "Exim",
      "from mail.example.com ([192.0.2.9] helo=sender.example)\r\n\tby mx.example.org with esmtps  (TLS1.3) tls TLS_AES_256_GCM_SHA384\r\n\t(Exim 4.98)\r\n\t(envelope-from <jane@example.com>)\r\n\tid 1abc-000; Sat",
      "192.0.2.9",
      helo,
      true,
    ],
    [
      "Exim, with the port",
      "from sender.example ([192.0.2.9]:51234) by mx.example.org with esmtp (Exim 4.98) id 1; Sat",
      "192.0.2.9",
      helo,
      false,
    ],
    [
      "Exim, of a client without a name",
      "from [192.0.2.9] (port=51234 helo=[9.9.9.9]) by mx.example.org with smtp (Exim 4.98) id 1; Sat",
      "192.0.2.9",
      "[9.9.9.9]",
      false,
    ],
    [
      "Exim, of a client that says an address literal",
      "from mail.example.com ([192.0.2.9] helo=[9.9.9.9]) by mx.example.org with smtp (Exim 4.98) id 1; Sat",
      "192.0.2.9",
      "[9.9.9.9]",
      false,
    ],
    [
      "Sendmail",
      "from sender.example (mail.example.com [192.0.2.9] (may be forged))\r\n\tby mx.example.org (8.18.1/8.18.1) with ESMTPS id 1\r\n\t(version=TLSv1.3 cipher=TLS_AES_256_GCM_SHA384 bits=256 verify=NO); Sat",
      "192.0.2.9",
      helo,
      true,
    ],
    [
      "Exchange",
      "from sender.example (192.0.2.9) by\r\n ex.example.org (10.0.0.5) with Microsoft SMTP Server (version=TLS1_2) id 15.2; Sat",
      "192.0.2.9",
      helo,
      false,
    ],
    [
      "Exchange, over IPv6",
      "from sender.example (2001:db8::9) by ex.example.org (fd00::5) with Microsoft SMTP Server id 15.2; Sat",
      "2001:db8::9",
      helo,
      false,
    ],
    [
      "qmail",
      "from mail.example.com (HELO sender.example) (192.0.2.9)\r\n  by mx.example.org with SMTP; 28 Nov 2026 03:00:00 -0000",
      "192.0.2.9",
      helo,
      false,
    ],
    [
      "OpenSMTPD",
      "from sender.example (mail.example.com [192.0.2.9])\r\n\tby mx.example.org (OpenSMTPD) with ESMTPS id 1 (TLSv1.3:TLS_AES_256_GCM_SHA384:256:NO)\r\n\tfor <ada@example.org>;\r\n\tSat",
      "192.0.2.9",
      helo,
      true,
    ],
  ];
  test.each(rows)("%s", (_who, received, address, heloName, isTls) => {
    const below = "from forged.example (forged.example [9.9.9.9]) by sender.example with SMTP; Sat";
    expect(senderHost(relay, mail(received, below), relays)).toEqual({
      address,
      heloName,
      isTls,
      isTrusted: true,
    });
  });
});

const from = (address: string) =>
  `from sender.example (mail.example.com [${address}]) by mx.example.org with SMTP; Sat`;

test("of several trusted relays, the host before the first of them counts", () => {
  const raw = mail(from("127.0.0.1"), from("10.0.0.6"), from("IPv6:fd00::7"), from("192.0.2.9"), from("9.9.9.9"));
  expect(senderHost(relay, raw, relays).address).toBe("192.0.2.9");
});

test("of any other client, its own address counts, whatever the mail says", () => {
  const stranger = { ...relay, address: "10.0.1.5", network: "10.0.1.5" };
  const { address, heloName } = stranger;
  for (const trusted of [relays, []])
    expect(senderHost(stranger, mail(from("192.0.2.9")), trusted)).toEqual({
      address,
      heloName,
      isTls: false,
      isTrusted: false,
    });
  expect(senderHost(relay, mail(from("192.0.2.9")), []).address).toBe("10.0.0.5");
});

describe("the sender is unknown", () => {
  const rows: [what: string, received: string[]][] = [
    ["for a mail without a Received field", []],
    ["for a mail that the relay wrote itself", [from("10.0.0.6")]],
    ["if the field names no host", ["by mx.example.org (Postfix, from userid 1000) id 1; Sat"]],
    ["if the field has no address", ["from sender.example by mx.example.org with SMTP; Sat"]],
    ["if the address is no address", ["from sender.example (x [1.2.3]) by mx.example.org with SMTP; Sat"]],
    ["if two addresses are possible", ["from sender.example (x [192.0.2.9] [9.9.9.9]) by mx with SMTP; Sat"]],
    ["if the name alone is an address", ["from [9.9.9.9] (mail.example.com) by mx.example.org with SMTP; Sat"]],
    ["if the comment does not end", [`from sender.example (${"(".repeat(9000)}[192.0.2.9]`]],
    ["if the client is behind 64 KiB of other fields", [`${"x".repeat(70_000)}\r\nReceived: ${from("192.0.2.9")}`]],
  ];
  test.each(rows)("%s", (_what, received) => {
    expect(senderHost(relay, mail(...received), relays)).toEqual({
      address: undefined,
      heloName: "",
      isTls: false,
      isTrusted: true,
    });
  });

  test("behind a proxy that hides it", () => {
    const host = senderHost({ ...relay, isProxy: true }, mail(from("192.0.2.9")), relays);
    expect(host).toMatchObject({ address: undefined, isTrusted: false });
  });
});
