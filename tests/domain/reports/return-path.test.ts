import { describe, expect, test } from "bun:test";
import { idMaker } from "../../../src/domain/ids.ts";
import { isPastReporting, isPastReturning, returnPaths } from "../../../src/domain/reports/return-path.ts";
import { parseUsername } from "../../../src/domain/username.ts";
import { returnPathKey } from "../../../src/standards/signature.ts";

const sentAt = new Date("2026-03-21T10:05:00.000Z");
const newId = idMaker((length) => new Uint8Array(length).fill(7));
const messageId = newId("msg", sentAt);
const other = newId("msg", sentAt);
const daysLater = (days: number) => new Date(sentAt.getTime() + days * 86_400_000);

describe("the return path of a message", async () => {
  const paths = returnPaths(await returnPathKey("a signing key of the operator"), "mail.example");
  const path = await paths.make(messageId);
  const local = path.slice(0, path.indexOf("@"));

  test("is 46 octets in lower case at the mail domain", () => {
    expect(path).toMatch(/^bounce\+[0-9a-z]{26}-[0-9a-z]{12}@mail\.example$/);
    expect(local).toHaveLength(46);
  });

  test("has 60 bits of HMAC-SHA-256 over the contract's text, under a key by HKDF", async () => {
    const { createHmac, hkdfSync } = await import("node:crypto");
    const derived = hkdfSync("sha256", "a signing key of the operator", "inboxd", "return path", 32);
    const digest = createHmac("sha256", new Uint8Array(derived)).update(`return\n${messageId}`).digest();
    const groups = [digest.readUInt32BE(0) >>> 2, digest.readUInt32BE(4) >>> 2];
    const crockford = "0123456789abcdefghjkmnpqrstvwxyz";
    const value = (text: string) => [...text].reduce((sum, letter) => sum * 32 + crockford.indexOf(letter), 0);
    expect([value(local.slice(-12, -6)), value(local.slice(-6))]).toEqual(groups);
  });

  test("is read back, also if a server changed its case", async () => {
    expect(await paths.read(local)).toBe(messageId);
    expect(await paths.read(local.toUpperCase())).toBe(messageId);
  });

  test("has another signature for another message", async () => {
    const neighbour = (await paths.make(other)).slice(0, 46);
    expect(await paths.read(`${neighbour.slice(0, 34)}${local.slice(34)}`)).toBeUndefined();
  });

  const changed = local.replace(/.$/, (last) => (last === "0" ? "1" : "0"));
  test.each([
    changed,
    local.slice(0, -1),
    `${local}0`,
    local.replace("+", "-"),
    `bounce+${"z".repeat(26)}-${"0".repeat(12)}`,
    "bounce+",
    "bounce",
    "",
  ])("is nothing else: %p", async (wrong) => {
    expect(await paths.read(wrong)).toBeUndefined();
  });

  test("is invalid under another key", async () => {
    const others = returnPaths(await returnPathKey("another signing key of the operator"), "mail.example");
    expect(await others.read(local)).toBeUndefined();
  });
});

test("no inbox can have the name before the plus", () => {
  expect(() => parseUsername("bounce")).toThrow("is a reserved name");
});

test("a message whose id is older than 400 days gets no reports", () => {
  expect(isPastReturning(messageId, daysLater(400))).toBe(false);
  expect(isPastReturning(messageId, daysLater(400.01))).toBe(true);
});

test("a message that was sent more than 60 days ago gets no reports", () => {
  expect(isPastReporting(sentAt, daysLater(60))).toBe(false);
  expect(isPastReporting(sentAt, daysLater(60.01))).toBe(true);
});
