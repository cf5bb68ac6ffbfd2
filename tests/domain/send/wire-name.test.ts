import { describe, expect, test } from "bun:test";
import type { Outbound } from "../../../src/domain/outbound.ts";
import { keepsWhenAsked, type NamingSetting, relayNaming, wireNameOf } from "../../../src/domain/send/wire-name.ts";

const relayAt = (host: string): Outbound => ({ kind: "smtp", host, port: 587, tls: "required", login: undefined });
const own = "msg_1@mail.example.com";

describe("a mail is known on the wire", () => {
  const rows: [
    what: string,
    setting: NamingSetting,
    outbound: Outbound,
    told: string | undefined,
    name: string | undefined,
  ][] = [
    [
      "at SES by its id and its region",
      "auto",
      relayAt("email-smtp.eu-west-1.amazonaws.com"),
      "0100-1",
      "0100-1@eu-west-1.amazonses.com",
    ],
    [
      "in the first region of SES by another domain",
      "auto",
      relayAt("email-smtp.us-east-1.amazonaws.com"),
      "0100-1",
      "0100-1@email.amazonses.com",
    ],
    [
      "at SES with FIPS likewise",
      "auto",
      relayAt("email-smtp-fips.us-west-2.amazonaws.com"),
      "0100-1",
      "0100-1@us-west-2.amazonses.com",
    ],
    [
      "at SES in China likewise",
      "auto",
      relayAt("email-smtp.cn-north-1.amazonaws.com.cn"),
      "0100-1",
      "0100-1@cn-north-1.amazonses.com",
    ],
    [
      "as ours at what only looks like SES",
      "auto",
      relayAt("email-smtp.eu-west-1.amazonaws.com.evil.example"),
      "0100-1",
      undefined,
    ],
    [
      "as any relay says that tells a whole Message-ID",
      "auto",
      relayAt("smtp.mailgun.org"),
      "2026.1@MG.example",
      "2026.1@mg.example",
    ],
    [
      "as ours where the relay tells that one",
      "auto",
      relayAt("smtp.example.com"),
      "msg_1@MAIL.example.com",
      undefined,
    ],
    ["as ours where the relay tells an id of its own", "auto", relayAt("smtp.example.com"), "4F5B12C0A1", undefined],
    ["as ours where it tells nothing", { domain: "relay.example" }, relayAt("smtp.example.com"), undefined, undefined],
    ["by the domain that was set", { domain: "relay.example" }, relayAt("smtp.example.com"), "77", "77@relay.example"],
    ["as ours where names are kept", "kept", relayAt("email-smtp.eu-west-1.amazonaws.com"), "0100-1", undefined],
    ["as ours at Postmark", "auto", relayAt("smtp.postmarkapp.com"), "1@x.example", undefined],
    ["as ours where no relay is between", "auto", { kind: "direct" }, "1@x.prod.outlook.com", undefined],
  ];
  test.each(rows)("%s", (_, setting, outbound, told, name) => {
    expect(wireNameOf(relayNaming(setting, outbound), told, own)).toBe(name as string);
  });

  test("as ours at Postmark alone by asking", () => {
    expect([relayAt("smtp.postmarkapp.com"), relayAt("smtp.example.com")].map(keepsWhenAsked)).toEqual([true, false]);
  });
});
