import { describe, expect, test } from "bun:test";
import * as packet from "dns-packet";
import fc from "fast-check";
import { answerIn } from "../../src/dns/answers.ts";
import { encodeQuestion, questionOf, readAnswer } from "../../src/dns/message.ts";
import type { RecordType, RecordValues } from "../../src/dns/records.ts";
import { cpuMs } from "../support/cpu.ts";

const label = fc.stringMatching(/^[a-z0-9_]([a-z0-9-]{0,20}[a-z0-9])?$/);
const name = fc.array(label, { minLength: 1, maxLength: 5 }).map((labels) => labels.join("."));
const type = fc.constantFrom<RecordType>("A", "AAAA", "CNAME", "MX", "PTR", "TXT");

test("another parser reads our questions", () => {
  fc.assert(
    fc.property(name, type, fc.nat(65_535), fc.boolean(), (name, type, id, isPlain) => {
      const question = questionOf(name, type);
      if (question === undefined) throw new Error(`${name} can be asked about`);
      const read = packet.decode(encodeQuestion(question, id, isPlain));
      expect(read).toMatchObject({ id, type: "query", flag_rd: true, questions: [{ name, type, class: "IN" }] });
      expect(read.additionals).toMatchObject(isPlain ? [] : [{ type: "OPT", udpPayloadSize: 1232, ednsVersion: 0 }]);
      expect(read.additionals).toHaveLength(isPlain ? 0 : 1);
    }),
  );
});

const records: { [Type in RecordType]: fc.Arbitrary<{ data: unknown; value: RecordValues[Type] }> } = {
  A: fc.ipV4().map((data) => ({ data, value: data })),
  AAAA: fc
    .array(fc.nat(0xffff), { minLength: 8, maxLength: 8 })
    .map((groups) => groups.map((group) => group.toString(16)).join(":"))
    .map((text) => new URL(`http://[${text}]/`).hostname.slice(1, -1))
    .map((data) => ({ data, value: data })),
  CNAME: name.map((data) => ({ data, value: data })),
  NS: name.map((data) => ({ data, value: data })),
  PTR: name.map((data) => ({ data, value: data })),
  MX: fc.tuple(fc.nat(65_535), name).map(([priority, exchange]) => ({
    data: { preference: priority, exchange },
    value: { priority, exchange },
  })),
  TXT: fc
    .array(fc.string({ unit: "grapheme-ascii", maxLength: 255 }), { minLength: 1, maxLength: 5 })
    .map((strings) => ({ data: strings, value: strings.join("") })),
};

describe("our parser reads the answers of another encoder:", () => {
  test.each(["A", "AAAA", "CNAME", "MX", "NS", "PTR", "TXT"] as const)("%s", (type) => {
    const some = fc.array(records[type] as fc.Arbitrary<{ data: unknown; value: unknown }>, {
      minLength: 1,
      maxLength: 8,
    });
    fc.assert(
      fc.property(name, fc.nat(65_535), some, fc.nat(86_400), (name, id, some, ttl) => {
        const message = packet.encode({
          type: "response",
          id,
          questions: [{ name, type }],
          answers: some.map(({ data }) => ({ name, type, ttl, data }) as packet.Answer),
        });
        expect(read(message, id, name, type)).toEqual({
          kind: "found",
          records: some.map(({ value }) => value),
          ttlSeconds: ttl,
        } as never);
      }),
    );
  });
});

test("no bytes make the parser throw", () => {
  const whole = packet.encode({
    type: "response",
    id: 7,
    questions: [{ name: "mx.works", type: "MX" }],
    answers: [
      { name: "mx.works", type: "CNAME", ttl: 1, data: "a.works" },
      { name: "a.works", type: "MX", ttl: 1, data: { preference: 1, exchange: "b.works" } },
    ],
    authorities: [{ name: "works", type: "TXT", ttl: 1, data: "x" }],
  });
  const changes = fc.array(fc.tuple(fc.integer({ min: 4, max: whole.length - 1 }), fc.nat(255)), { maxLength: 6 });
  fc.assert(
    fc.property(
      changes,
      fc.nat(whole.length),
      fc.constantFrom<RecordType>("A", "AAAA", "MX", "TXT"),
      (changes, cut, type) => {
        const message = Buffer.from(whole);
        for (const [at, byte] of changes) message[at] = byte;
        expect(() => read(message.subarray(0, cut), 7, "mx.works", type)).not.toThrow();
        expect(() => read(message, 7, "mx.works", "MX")).not.toThrow();
      },
    ),
    { numRuns: 3000 },
  );
});

test("the worst message of 64 KiB takes under 20 ms", () => {
  const question = packet.encode({ type: "response", id: 7, questions: [{ name: "mx.works", type: "A" }] });
  // A record that is a long chain of pointers, each to the one before it, then records named by the last pointer.
  const line = Buffer.alloc(0x3f00);
  let last = question.length + 11;
  for (let at = 1; at + 2 <= line.length; at += 2) {
    line.writeUInt16BE(0xc000 | last, at);
    last = question.length + 11 + at;
  }
  const head = (owner: number[], bytes: number) =>
    Buffer.from([...owner, 0, 10, 0, 1, 0, 0, 0, 0, bytes >> 8, bytes & 0xff]);
  const many = Array.from({ length: 4000 }, () => head([0xc0 | (last >> 8), last & 0xff], 0));
  const message = Buffer.concat([question, head([0], line.length), line, ...many]);
  message.writeUInt16BE(500, 6);
  const startedMs = cpuMs();
  expect(read(message, 7, "mx.works", "A")).toBe("unreadable");
  message.writeUInt16BE(4001, 6);
  expect(read(message, 7, "mx.works", "A")).toBe("unreadable");
  expect(cpuMs() - startedMs).toBeLessThan(20);
});

function read(message: Buffer, id: number, name: string, type: RecordType) {
  const question = questionOf(name, type);
  if (question === undefined) throw new Error(`${name} can be asked about`);
  const answer = readAnswer(message, id, question);
  return typeof answer === "string" ? answer : answerIn(answer, question);
}
