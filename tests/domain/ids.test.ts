import { describe, expect, test } from "bun:test";
import { idMaker, instantOfId, isId } from "../../src/domain/ids.ts";

const randomBytes = (length: number) => crypto.getRandomValues(new Uint8Array(length));
const at = new Date("2026-03-21T10:05:00.123Z");

/** The bits of an id behind its prefix: 26 characters of five bits, the first two of them padding. */
function bitsOf(id: string): bigint {
  const alphabet = "0123456789abcdefghjkmnpqrstvwxyz";
  return [...id.slice(4)].reduce((bits, character) => (bits << 5n) | BigInt(alphabet.indexOf(character)), 0n);
}

describe("an id", () => {
  test("is its kind and 26 characters of a UUIDv7 (RFC 9562 §5.7)", () => {
    const newId = idMaker(randomBytes);
    for (let round = 0; round < 1_000; round += 1) {
      const id = newId("msg", at);
      expect(isId("msg", id)).toBe(true);
      const bits = bitsOf(id);
      expect(bits < 1n << 128n).toBe(true);
      expect(Number(bits >> 80n)).toBe(at.getTime());
      expect((bits >> 76n) & 15n).toBe(7n);
      expect((bits >> 62n) & 3n).toBe(2n);
    }
  });

  test("tells the instant it was made at", () => {
    expect(instantOfId(idMaker(randomBytes)("evt", at))).toEqual(at);
  });
});

describe("ids of one maker only ever rise", () => {
  const clocks: [string, (round: number) => number][] = [
    ["within a millisecond", () => 0],
    ["as time goes on", (round) => round],
    ["when the clock goes back", (round) => -round],
    ["when the clock jumps to and fro", (round) => (round % 7) * 1000 - round],
  ];
  test.each(clocks)("%s", (_, offsetMs) => {
    const newId = idMaker(randomBytes);
    const ids = Array.from({ length: 5_000 }, (_, round) => newId("msg", new Date(at.getTime() + offsetMs(round))));
    expect(ids.toSorted()).toEqual(ids);
    expect(new Set(ids).size).toBe(ids.length);
  });

  test("also where the count carries over", () => {
    const newId = idMaker((length) => new Uint8Array(length).fill(0xff));
    const ids = Array.from({ length: 10_000 }, () => newId("msg", at)).map((id) => id.slice(4));
    let last = "";
    for (const id of ids) {
      if (id <= last) throw new Error(`${id} does not come after ${last}`);
      last = id;
    }
  });
});

test("two makers don't meet within a millisecond", () => {
  const makers = Array.from({ length: 100 }, () => idMaker(randomBytes));
  const ids = makers.flatMap((newId) => Array.from({ length: 100 }, () => newId("msg", at)));
  expect(new Set(ids).size).toBe(10_000);
});

describe("what is no id", () => {
  const good = idMaker(randomBytes)("inb", at);
  const rows: [string, string][] = [
    ["of another kind", good.replace("inb", "msg")],
    ["without its kind", good.slice(4)],
    ["too short", good.slice(0, -1)],
    ["too long", `${good}0`],
    ["in capitals", good.toUpperCase()],
    ["with a letter that the alphabet leaves out", `${good.slice(0, -1)}u`],
    ["over 128 bits", `inb_8${good.slice(5)}`],
    ["with a line feed behind it", `${good}\n`],
    ["nothing", ""],
  ];
  test.each(rows)("%s", (_, text) => {
    expect(isId("inb", text)).toBe(false);
  });
  test("but the one they are made from is", () => {
    expect(isId("inb", good)).toBe(true);
  });
});
