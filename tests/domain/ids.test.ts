import { describe, expect, test } from "bun:test";
import { idMaker, instantOfId, isId } from "../../src/domain/ids.ts";

const random = (length: number) => crypto.getRandomValues(new Uint8Array(length));

describe("ids", () => {
  test("of one maker always increase, also within a millisecond and when the clock goes back", () => {
    const newId = idMaker(random);
    let last = "";
    for (let index = 0; index < 50_000; index += 1) {
      const id = newId("msg", new Date(1_774_087_500_000 + Math.floor(index / 500) - (index % 3)));
      expect(isId("msg", id)).toBe(true);
      expect(id > last).toBe(true);
      last = id;
    }
  });

  test("that have counted up to the end of their millisecond go on in the next", () => {
    const newId = idMaker((length) => new Uint8Array(length).fill(255));
    const at = new Date(1_774_087_500_000);
    const ids = Array.from({ length: 5 }, () => newId("thr", at));
    expect(ids.toSorted()).toEqual(ids);
    expect(new Set(ids).size).toBe(5);
  });

  test("are UUIDs of version 7 with their instant", () => {
    for (const ms of [0, 1, 1_774_087_500_123, 2 ** 41 + 12_345, 2 ** 48 - 1]) {
      const id = idMaker(random)("evt", new Date(ms));
      const uuid = uuidOf(id);
      expect(Number.parseInt(uuid.slice(0, 12), 16)).toBe(ms);
      expect(uuid[12]).toBe("7");
      expect("89ab").toContain(uuid[16] ?? "");
      expect(instantOfId(id).getTime()).toBe(ms);
    }
  });
});

/** The 128 bits as 32 hexadecimal digits. */
function uuidOf(id: string): string {
  const alphabet = "0123456789abcdefghjkmnpqrstvwxyz";
  const value = Array.from(id.slice(4)).reduce((sum, digit) => sum * 32n + BigInt(alphabet.indexOf(digit)), 0n);
  return value.toString(16).padStart(32, "0");
}
