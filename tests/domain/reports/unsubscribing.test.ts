import { expect, test } from "bun:test";
import { idMaker } from "../../../src/domain/ids.ts";
import { returnPaths } from "../../../src/domain/reports/return-path.ts";
import { unsubscribeNames } from "../../../src/domain/reports/unsubscribing.ts";
import { returnPathKey } from "../../../src/standards/signature.ts";

const newId = idMaker((length) => new Uint8Array(length).fill(7));
const [messageId, other] = [newId("msg", new Date(0)), newId("msg", new Date(0))];
const key = await returnPathKey("a signing key of the operator");
const names = unsubscribeNames(key, "mail.example");
const others = unsubscribeNames(await returnPathKey("another signing key of the operator"), "mail.example");
const token = await names.token(messageId);
const local = (await names.address(messageId)).replace("@mail.example", "");
const changed = (text: string) => text.replace(/.$/, (last) => (last === "0" ? "1" : "0"));

test("a token has 80 bits of HMAC-SHA-256 over the contract's text, under the key of return paths", async () => {
  const { createHmac, hkdfSync } = await import("node:crypto");
  const derived = hkdfSync("sha256", "a signing key of the operator", "inboxd", "return path", 32);
  const digest = createHmac("sha256", new Uint8Array(derived)).update(`unsubscribe\n${messageId}`).digest();
  const crockford = "0123456789abcdefghjkmnpqrstvwxyz";
  const value = (text: string) => [...text].reduce((sum, letter) => sum * 32 + crockford.indexOf(letter), 0);
  const groups = [0, 4, 8].map((at) => digest.readUInt32BE(at) >>> 2);
  expect(token.slice(0, 26)).toBe(messageId.slice(4));
  expect([value(token.slice(26, 32)), value(token.slice(32, 38))]).toEqual(groups.slice(0, 2));
  // The last 4 letters have the first 20 bits of the third group.
  expect(value(token.slice(38))).toBe(Math.floor((groups[2] ?? 0) / 2 ** 10));
  expect(local).toBe(`bounce+u${messageId.slice(4)}-${token.slice(26, 38)}`);
});

test("a token is read as it was made, and says whether it is ours", async () => {
  expect(await names.readToken(token)).toEqual({ messageId, isOurs: true });
  expect(await names.readToken(changed(token))).toEqual({ messageId, isOurs: false });
  expect(await names.readToken(other.slice(4) + token.slice(26))).toEqual({ messageId: other, isOurs: false });
  expect(await others.readToken(token)).toEqual({ messageId, isOurs: false });
  for (const wrong of [token.toUpperCase(), token.slice(1), `${token}0`, `${token}\n`, ""])
    expect([wrong, await names.readToken(wrong)]).toEqual([wrong, undefined]);
});

test("an address is read in any case, and is no return path", async () => {
  expect(await names.readAddress(local.toUpperCase())).toBe(messageId);
  const [path = ""] = (await returnPaths(key, "mail.example").make(messageId)).split("@");
  for (const wrong of [changed(local), path, path.replace("+", "+u"), local.replace("+u", "+"), "bounce+u", ""])
    expect([wrong, await names.readAddress(wrong)]).toEqual([wrong, undefined]);
  expect(await returnPaths(key, "mail.example").read(local)).toBeUndefined();
  expect(await others.readAddress(local)).toBeUndefined();
});
