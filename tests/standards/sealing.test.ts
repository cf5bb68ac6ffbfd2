import { expect, test } from "bun:test";
import { sealing } from "../../src/standards/sealing.ts";

const randomBytes = (length: number) => crypto.getRandomValues(new Uint8Array(length));
const made = (current?: string, previous?: string) => sealing({ current, previous }, randomBytes);
const [one, other] = ["the first key, long enough to be one", "another key, which is long enough too"];
const secret = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD4VOGAZ0ExAm=";

test("a sealed secret opens with its key, in its row, and nowhere else", () => {
  const sealed = made(one).seal(secret, "whk_1");
  expect(sealed).toMatch(/^ibs1\.[0-9a-f]{8}\.[A-Za-z0-9+/]+={0,2}$/);
  expect(made(one).open(sealed, "whk_1")).toBe(secret);
  expect(made(other, one).open(sealed, "whk_1")).toBe(secret);
  expect(made(undefined, one).open(sealed, "whk_1")).toBe(secret);
  expect(() => made(one).open(sealed, "whk_2")).toThrow();
  expect(() => made(other).open(sealed, "whk_1")).toThrow("ENCRYPTION_KEY is not the one that sealed it");
  expect(() => made().open(sealed, "whk_1")).toThrow("ENCRYPTION_KEY");
  const forged = `${sealed.slice(0, 20)}${sealed[20] === "A" ? "B" : "A"}${sealed.slice(21)}`;
  expect(() => made(one).open(forged, "whk_1")).toThrow();
  expect(() => made(one).open(sealed.slice(0, 40), "whk_1")).toThrow();
});

test("each seal is another text, and its beginning tells the key", () => {
  const { seal, mark = "", opens } = made(one, other);
  expect(seal(secret, "row")).not.toBe(seal(secret, "row"));
  expect(seal(secret, "row")).toStartWith(mark);
  expect(opens).toEqual([mark, made(other).mark ?? ""]);
});

test("without a key a secret is stored as it is", () => {
  expect(made().seal(secret, "row")).toBe(secret);
  expect(made(one).open(secret, "row")).toBe(secret);
});
