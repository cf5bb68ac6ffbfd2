import { expect, test } from "bun:test";
import { readName } from "../../src/dns/name.ts";
import { type RecordType, recordValue } from "../../src/dns/records.ts";

/** Text in quotes, and numbers, as bytes. */
function bytes(...parts: (string | number)[]): Buffer {
  return Buffer.concat(parts.map((part) => (typeof part === "string" ? Buffer.from(part) : Uint8Array.of(part))));
}

const label = "x".repeat(63);

const names: readonly [
  what: string,
  message: Buffer,
  start: number,
  read: { name: string; end: number } | undefined,
][] = [
  ["the root", bytes(0), 0, { name: "", end: 1 }],
  ["labels", bytes(2, "Mx", 5, "WORKS", 0), 0, { name: "mx.works", end: 10 }],
  ["a pointer to an earlier name", bytes(5, "works", 0, 2, "mx", 0xc0, 0, 9), 7, { name: "mx.works", end: 12 }],
  ["two pointers", bytes(1, "a", 0, 1, "b", 0xc0, 0, 0xc0, 3), 7, { name: "b.a", end: 9 }],
  ["special bytes", bytes(5, "a.b\\", 0, 0), 0, { name: "a\\046b\\092\\000", end: 7 }],
  ["a label of an unknown kind", bytes(0x41, "x".repeat(0x41), 0), 0, undefined],
  ["a label cut by the end of the message", bytes(5, "wor"), 0, undefined],
  ["no end", bytes(2, "mx"), 0, undefined],
  ["half a pointer", bytes(0, 0xc0), 1, undefined],
  ["a pointer to itself", bytes(0, 0xc0, 1), 1, undefined],
  ["a loop", bytes(1, "a", 0xc0, 0), 0, undefined],
  [
    "255 bytes",
    bytes(...Array(3).fill([63, label]).flat(), 61, "x".repeat(61), 0),
    0,
    {
      name: `${label}.${label}.${label}.${"x".repeat(61)}`,
      end: 255,
    },
  ],
  ["256 bytes", bytes(...Array(3).fill([63, label]).flat(), 62, "x".repeat(62), 0), 0, undefined],
];

test.each(names)("a name: %s", (_what, message, start, read) => {
  expect(readName(message, start)).toEqual(read as never);
});

const values: readonly [what: string, type: RecordType, data: Buffer, value: unknown][] = [
  ["an address", "A", bytes(8, 8, 4, 4), "8.8.4.4"],
  ["an address of three bytes", "A", bytes(8, 8, 4), undefined],
  ["an IPv6 address of four bytes", "AAAA", bytes(8, 8, 4, 4), undefined],
  ["a text with a character split over two strings", "TXT", bytes(2, "l", 0xc3, 3, 0xb6, "ve"), "löve"],
  ["a text without strings", "TXT", bytes(), ""],
  ["a text that is longer than its record", "TXT", bytes(1, "a", 4, "bcd"), undefined],
  ["an MX", "MX", bytes(1, 2, 2, "mx", 0), { priority: 258, exchange: "mx" }],
  ["an MX without a name", "MX", bytes(1, 2), undefined],
  ["a name with a byte after it", "PTR", bytes(2, "mx", 0, 0), undefined],
  ["a name that is longer than its record", "CNAME", bytes(2, "mx", 5, "wor"), undefined],
];

test.each(values)("a record: %s", (_what, type, data, value) => {
  const message = Buffer.concat([data, bytes("the next record", 0)]);
  expect(recordValue(type, { name: "works", type: 0, ttlSeconds: 0, message, start: 0, end: data.length })).toEqual(
    value as never,
  );
});
