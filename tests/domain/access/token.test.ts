import { describe, expect, test } from "bun:test";
import { type Caller, wholeAccount } from "../../../src/domain/access/access.ts";
import {
  claimsText,
  parseClaims,
  partsOfToken,
  type TokenClaims,
  tokenEnd,
  withToken,
} from "../../../src/domain/access/token.ts";

const claims: TokenClaims = {
  keyId: "key_01km57j4m0eh7awf6pjemv2930",
  access: "read",
  inboxId: "inb_01km57j4m0eh7awf6pjemv292z",
  externalId: undefined,
  expiresAt: new Date("2026-03-21T10:20:00.000Z"),
};

describe("claims of a token", () => {
  test("are read as they were written, of one inbox and of the account", () => {
    expect(parseClaims(claimsText(claims))).toEqual(claims);
    const ofTenant = { ...claims, access: "agent", inboxId: undefined, externalId: "globex" } as const;
    expect(parseClaims(claimsText(ofTenant))).toEqual(ofTenant);
  });

  test.each([
    ["of a later version", { v: 2, key: claims.keyId, access: "read", exp: 1 }],
    ["with more access than there is", { v: 1, key: claims.keyId, access: "full", exp: 1 }],
    ["that only hand in mail", { v: 1, key: claims.keyId, access: "ingest", exp: 1 }],
    ["with an externalId that is none", { v: 1, key: claims.keyId, access: "read", ext: 1, exp: 1 }],
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

test("A token is a prefix with a cell, claims, a dot and a signature of 43 characters", () => {
  const signature = "s".repeat(43);
  expect(partsOfToken(`ibt_Z9abc.${signature}`)).toEqual({ claims: "abc", signature });
  for (const other of [
    `ibx_abc.${signature}`,
    `ibt_abc.${signature}s`,
    `ibt_00.${signature}`,
    `ibt_0-a.${signature}`,
    `ibt_a=.${signature}`,
    "",
    "ibt_",
  ])
    expect(partsOfToken(other)).toBeUndefined();
});

test("A token ends at a whole second, not later than was asked for", () => {
  expect(tokenEnd(new Date("2026-03-21T10:05:00.999Z"), 900)).toEqual(new Date("2026-03-21T10:20:00.000Z"));
});

test("A token has at most the access and the reach of its key", () => {
  const account = { id: "acc_1", plan: "free" } as const;
  const cases: [key: Partial<Caller>, token: Partial<TokenClaims>, reach: object | undefined][] = [
    [{}, { access: "agent" }, {}],
    [{}, { inboxId: "inb_1" }, { inboxId: "inb_1" }],
    [{ access: "agent" }, { access: "send", externalId: "one" }, { externalId: "one" }],
    [{ access: "read" }, { access: "agent" }, undefined],
    [{ access: "read" }, { access: "send" }, undefined],
    [{ access: "send" }, { access: "read" }, undefined],
    [{ reach: { accountId: "acc_1", inboxId: "inb_1" } }, {}, { inboxId: "inb_1" }],
    [{ reach: { accountId: "acc_1", inboxId: "inb_1" } }, { inboxId: "inb_2" }, undefined],
    [{ reach: { accountId: "acc_1", externalId: "one" } }, { externalId: "two" }, undefined],
    [
      { reach: { accountId: "acc_1", externalId: "one" } },
      { inboxId: "inb_1" },
      { externalId: "one", inboxId: "inb_1" },
    ],
  ];
  for (const [key, token, reach] of cases) {
    const asked = { ...claims, inboxId: undefined, externalId: undefined, ...token };
    const caller = withToken({ ...wholeAccount(account, "key_1"), ...key }, asked);
    expect(caller?.reach).toEqual(reach && { accountId: "acc_1", inboxId: undefined, externalId: undefined, ...reach });
    if (caller !== undefined) expect([caller.kind, caller.access]).toEqual(["token", asked.access]);
  }
});
