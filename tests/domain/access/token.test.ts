import { describe, expect, test } from "bun:test";
import { claimsText, parseClaims, partsOfToken, type TokenClaims, tokenEnd } from "../../../src/domain/access/token.ts";

const claims: TokenClaims = {
  keyId: "key_01km57j4m0eh7awf6pjemv2930",
  access: "read",
  inboxId: "inb_01km57j4m0eh7awf6pjemv292z",
  expiresAt: new Date("2026-03-21T10:20:00.000Z"),
};

describe("claims of a token", () => {
  test("are read as they were written, of one inbox and of the account", () => {
    expect(parseClaims(claimsText(claims))).toEqual(claims);
    expect(parseClaims(claimsText({ ...claims, inboxId: undefined }))).toEqual({ ...claims, inboxId: undefined });
  });

  test.each([
    ["of a later version", { v: 2, key: claims.keyId, access: "read", exp: 1 }],
    ["with more access than there is", { v: 1, key: claims.keyId, access: "full", exp: 1 }],
    ["of no key", { v: 1, access: "read", exp: 1 }],
    ["that end at no whole second", { v: 1, key: claims.keyId, access: "read", exp: 1.5 }],
    ["with an inbox that is none", { v: 1, key: claims.keyId, access: "read", inbox: null, exp: 1 }],
    ["that are an array", [1]],
    ["that are null", null],
  ])("%s are none", (_, value) => {
    expect(parseClaims(Buffer.from(JSON.stringify(value)).toString("base64url"))).toBeUndefined();
  });

  test("that are no JSON are none", () => {
    expect(parseClaims("AAAA")).toBeUndefined();
  });
});

test("A token is a prefix, claims, a dot and a signature of 43 characters", () => {
  const signature = "s".repeat(43);
  expect(partsOfToken(`ibt_abc.${signature}`)).toEqual({ claims: "abc", signature });
  for (const other of [
    `ibx_abc.${signature}`,
    `ibt_abc.${signature}s`,
    `ibt_.${signature}`,
    `ibt_a=.${signature}`,
    "",
    "ibt_",
  ])
    expect(partsOfToken(other)).toBeUndefined();
});

test("A token ends at a whole second, not later than was asked for", () => {
  expect(tokenEnd(new Date("2026-03-21T10:05:00.999Z"), 900)).toEqual(new Date("2026-03-21T10:20:00.000Z"));
});
