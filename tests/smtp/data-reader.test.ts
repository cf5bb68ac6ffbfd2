import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { dataReader } from "../../src/smtp/data-reader.ts";
import { cpuMs } from "../support/cpu.ts";

/** The result of a reader for octets in the given pieces. */
function readIn(pieces: readonly string[], maxBytes = 1_000_000) {
  const reader = dataReader(maxBytes);
  let behind = "";
  let ended = false;
  for (const piece of pieces) {
    const chunk = Buffer.from(piece, "latin1");
    const end = ended ? 0 : reader.read(chunk);
    if (end === -1) continue;
    ended = true;
    behind += chunk.subarray(end).toString("latin1");
  }
  return { mail: Buffer.from(reader.bytes()).toString("latin1"), behind, ended, loneDot: reader.loneDot, reader };
}

/** All ways to cut octets in two or three. */
function splits(octets: string): string[][] {
  const ways: string[][] = [[octets], [...octets]];
  for (let i = 1; i < octets.length; i++) {
    ways.push([octets.slice(0, i), octets.slice(i)]);
    for (let j = i + 1; j < Math.min(octets.length, i + 6); j++) {
      ways.push([octets.slice(0, i), octets.slice(i, j), octets.slice(j)]);
    }
  }
  return ways;
}

describe("DATA is the mail, octet for octet", () => {
  const rows: [what: string, wire: string, mail: string, loneDot: boolean][] = [
    ["lines keep their CRLF", "a\r\nb\r\n.\r\n", "a\r\nb\r\n", false],
    ["a mail of nothing", ".\r\n", "", false],
    ["a mail of one empty line", "\r\n.\r\n", "\r\n", false],
    ["a stuffed dot is taken out", "..\r\n.\r\n", ".\r\n", false],
    ["a dot that starts a line is taken out, whatever follows (RFC 5321 §4.5.2)", ".a\r\n.\r\n", "a\r\n", false],
    ["a stuffed dot in the midst", "a\r\n..b\r\n...\r\n.\r\n", "a\r\n.b\r\n..\r\n", false],
    ["a dot behind a bare LF was never stuffed", "a\n..b\r\n.\r\n", "a\n..b\r\n", false],
    ["a dot behind a bare CR was never stuffed", "a\r..b\r\n.\r\n", "a\r..b\r\n", false],
    ["bare LF and bare CR stay", "a\nb\rc\n\r\n.\r\n", "a\nb\rc\n\r\n", false],
    ["CR CR LF ends a line", "a\r\r\n.\r\n", "a\r\r\n", false],
    ["NUL and 8-bit octets stay", "\0\xff\xfe\r\n.\r\n", "\0\xff\xfe\r\n", false],
    ["a dot behind NUL is text", "a\r\n\0.\r\nb\r\n.\r\n", "a\r\n\0.\r\nb\r\n", false],
    ["LF . LF", "a\n.\nb\r\n.\r\n", "a\n.\nb\r\n", true],
    ["LF . CR", "a\n.\rb\r\n.\r\n", "a\n.\rb\r\n", true],
    ["CR . LF", "a\r.\nb\r\n.\r\n", "a\r.\nb\r\n", true],
    ["CR . CR", "a\r.\rb\r\n.\r\n", "a\r.\rb\r\n", true],
    ["LF . CRLF", "a\n.\r\nb\r\n.\r\n", "a\n.\r\nb\r\n", true],
    ["CR . CRLF", "a\r.\r\nb\r\n.\r\n", "a\r.\r\nb\r\n", true],
    ["CRLF . LF", "a\r\n.\nb\r\n.\r\n", "a\r\n\nb\r\n", true],
    ["CRLF . CR", "a\r\n.\rb\r\n.\r\n", "a\r\n\rb\r\n", true],
    ["CRLF . CR CRLF", "a\r\n.\r\r\nb\r\n.\r\n", "a\r\n\r\r\nb\r\n", true],
    ["LF . LF as the very first", "\n.\nb\r\n.\r\n", "\n.\nb\r\n", true],
    [". LF as the very first", ".\nb\r\n.\r\n", "\nb\r\n", true],
  ];
  test.each(rows)("%s, in every split", (_what, wire, mail, loneDot) => {
    for (const pieces of splits(`${wire}QUIT\r\n`)) {
      const seen = readIn(pieces);
      expect({ pieces, ...seen, reader: 0 }).toEqual({
        pieces,
        mail,
        behind: "QUIT\r\n",
        ended: true,
        loneDot,
        reader: 0,
      });
    }
  });

  test("any octets with the dot-stuffing of RFC 5321 are read unchanged, in any pieces", () => {
    const octet = fc.constantFrom(".", "\r", "\n", "\r\n", "\r\n.", "a", "\0", "\xff", "..");
    fc.assert(
      fc.property(fc.array(octet, { maxLength: 60 }), fc.array(fc.nat(9), { minLength: 1 }), (parts, cuts) => {
        const mail = `${parts.join("")}\r\n`;
        const wire = `${mail.replace(/(^|\r\n)\./g, "$1..")}.\r\nNEXT`;
        const pieces: string[] = [];
        for (let at = 0, i = 0; at < wire.length; i++) {
          const size = (cuts[i % cuts.length] ?? 0) + 1;
          pieces.push(wire.slice(at, at + size));
          at += size;
        }
        const seen = readIn(pieces);
        expect([seen.mail, seen.behind, seen.ended]).toEqual([mail, "NEXT", true]);
      }),
      { numRuns: 500 },
    );
  });
});

test("a mail over the largest size is counted and not kept, and its end is still found", () => {
  const { reader, ended, behind } = readIn(["x".repeat(60), "y".repeat(60), "\r\n.", "\r\nQUIT"], 100);
  expect([ended, behind]).toEqual([true, "QUIT"]);
  expect([reader.sizeBytes, reader.heldBytes, reader.bytes().length]).toEqual([122, 0, 0]);
});

test("a mail of the largest size is kept", () => {
  const { reader, mail } = readIn(["x".repeat(98), "\r\n", ".\r\n"], 100);
  expect([reader.heldBytes, mail.length]).toEqual([100, 100]);
});

test("a mail of stuffed dots takes time and memory by its size, and not by its dots", () => {
  const chunk = Buffer.from("\r\n..".repeat(16_384));
  const reader = dataReader(100_000_000);
  const startedAtMs = cpuMs();
  for (let i = 0; i < 200; i++) reader.read(chunk);
  // 13 MB of dots. A search from each dot to the end of its chunk would take minutes.
  expect(cpuMs() - startedAtMs).toBeLessThan(4_000);
  expect(reader.sizeBytes).toBe(200 * 16_384 * 3);
  expect(reader.bytes().length).toBe(reader.sizeBytes);
});
