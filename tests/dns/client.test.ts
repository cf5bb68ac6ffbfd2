import { afterEach, describe, expect, test } from "bun:test";
import { readdirSync, readlinkSync } from "node:fs";
import * as packet from "dns-packet";
import { type DnsClient, type DnsLimits, type DnsOutcome, dnsClient } from "../../src/dns/client.ts";
import type { RecordType } from "../../src/dns/records.ts";
import { fairly } from "../support/fair-time.ts";
import {
  type DnsReply,
  type DnsScript,
  encoded,
  type ScriptedDns,
  scriptedDns,
  soa,
  zone,
} from "../support/scripted-dns.ts";
import { until, untilAnswered } from "../support/until.ts";

const open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const thing of open.splice(0).reverse()) await thing.close();
});

async function server(script: DnsScript): Promise<ScriptedDns> {
  const started = await scriptedDns(script);
  open.push(started);
  return started;
}

/** A client of these servers, with a clock that `pass` moves. */
function clientOf(servers: readonly { address: string; port: number }[], limits?: Partial<DnsLimits>) {
  let at = new Date("2026-03-21T10:05:00.000Z");
  const outcomes: DnsOutcome[] = [];
  const client = dnsClient({
    servers,
    now: () => at,
    randomBytes: (length) => crypto.getRandomValues(new Uint8Array(length)),
    observe: (outcome) => void outcomes.push(outcome),
    limits: { tryMs: 2000, ...limits },
  });
  open.push(client);
  const pass = (seconds: number) => {
    at = new Date(at.getTime() + seconds * 1000);
  };
  return { ...client, pass, outcomes };
}

const key = { head: `v=DKIM1; k=rsa; p=${"A".repeat(200)}`, tail: "B".repeat(190) };

const works = zone([
  { name: "works", type: "MX", ttl: 300, data: { preference: 10, exchange: "MX.Works" } },
  { name: "works", type: "MX", ttl: 200, data: { preference: 20, exchange: "mx2.works" } },
  { name: "null.works", type: "MX", ttl: 300, data: { preference: 0, exchange: "." } },
  { name: "mx.works", type: "A", ttl: 300, data: "8.8.4.4" },
  { name: "mx.works", type: "AAAA", ttl: 300, data: "2a00:0:0:0:0:0:0:5" },
  { name: "mapped.works", type: "AAAA", ttl: 300, data: "::ffff:127.0.0.2" },
  { name: "s1._domainkey.works", type: "TXT", ttl: 300, data: [key.head, key.tail] },
  { name: "works", type: "TXT", ttl: 300, data: ["v=spf1 ", "-all"] },
  { name: "works", type: "TXT", ttl: 300, data: "löve" },
  { name: "4.4.8.8.in-addr.arpa", type: "PTR", ttl: 300, data: "mx.works" },
  { name: "www.works", type: "CNAME", ttl: 120, data: "alias.works" },
  { name: "alias.works", type: "CNAME", ttl: 300, data: "mx.works" },
  { name: "gone.works", type: "CNAME", ttl: 30, data: "nowhere.works" },
]);

describe("the client finds", () => {
  const rows: [what: string, name: string, type: RecordType, records: unknown[], ttlSeconds: number][] = [
    ["mail hosts, in lower case", "works", "MX", [mx(10, "mx.works"), mx(20, "mx2.works")], 200],
    ["a null MX", "null.works", "MX", [mx(0, "")], 300],
    ["IPv4 addresses", "mx.works", "A", ["8.8.4.4"], 300],
    ["IPv6 addresses in canonical form", "mx.works", "AAAA", ["2a00::5"], 300],
    ["IPv4-mapped IPv6 addresses", "mapped.works", "AAAA", ["::ffff:7f00:2"], 300],
    ["a key of 2048 bits as one text", "s1._domainkey.works", "TXT", [key.head + key.tail], 300],
    ["each TXT record separately", "works", "TXT", ["v=spf1 -all", "löve"], 300],
    ["the name of an address", "4.4.8.8.in-addr.arpa", "PTR", ["mx.works"], 300],
    ["an alias itself", "www.works", "CNAME", ["alias.works"], 120],
    ["the target of a chain of aliases, with the lowest TTL of all", "www.works", "A", ["8.8.4.4"], 120],
    ["the same for a name in any case, with its dot", "MX.Works.", "A", ["8.8.4.4"], 300],
  ];
  test.each(rows)("%s", async (_what, name, type, records, ttlSeconds) => {
    const { ask } = clientOf([await server(works)]);
    expect(await ask(name, type)).toEqual({ kind: "found", records, ttlSeconds } as never);
  });
});

describe("a negative answer:", () => {
  const rows: [what: string, name: string, type: RecordType, kind: string][] = [
    ["no such name", "no.works", "A", "no_name"],
    ["no such record", "mx.works", "TXT", "no_record"],
    ["an alias, and no such record at its end", "www.works", "TXT", "no_record"],
    ["an alias of no such name", "gone.works", "A", "no_name"],
    ["no alias", "mx.works", "CNAME", "no_record"],
  ];
  test.each(rows)("%s", async (_what, name, type, kind) => {
    const { ask } = clientOf([await server(works)]);
    expect(await ask(name, type)).toMatchObject({ kind } as never);
  });

  test.each([
    ["a..works"],
    [""],
    ["ä.works"],
    ["a b.works"],
    [`${"a".repeat(64)}.works`],
    [`${"a.".repeat(126)}works`],
  ])("no server is queried for %p, an invalid name", async (name) => {
    const dns = await server(works);
    expect(await clientOf([dns]).ask(name, "A")).toMatchObject({ kind: "no_name" });
    expect(dns.questions).toEqual([]);
  });
});

describe("a failure is never a negative answer:", () => {
  const a = (name: string): packet.Answer => ({ name, type: "A", ttl: 300, data: "8.8.4.4" });
  const ns: packet.Answer = { name: "works", type: "NS", ttl: 300, data: "ns.works" };
  const rows: [reason: string, what: string, reply: DnsReply][] = [
    ["SERVFAIL", "a server that fails", { code: 2 }],
    ["REFUSED", "a server that refuses", { code: 5 }],
    ["another error", "an error that we don't know", { code: 9 }],
    ["no answer in time", "a silent server", "silence"],
    ["a referral", "a server that refers to another", { authorities: [ns] }],
    ["unreadable answer", "513 records", { answers: Array(513).fill(a("x.works")) }],
    ["unreadable answer", "an address of five bytes", { answers: [{ ...a("x.works"), type: "UNKNOWN_1" } as never] }],
  ];
  test.each(rows)("%s for %s", async (reason, what, reply) => {
    const fiveBytes = { name: "x.works", type: "NULL" as const, ttl: 1, data: Buffer.from([8, 8, 4, 4, 1]) };
    const dns = await server(({ id }) => {
      if (what !== "an address of five bytes") return reply;
      const message = encoded(id, [{ name: "x.works", type: "A" }], { answers: [fiveBytes] });
      // Changes the type of the record, which stands after its name, a pointer of two bytes.
      message.writeUInt16BE(1, message.length - 15);
      return message;
    });
    const { ask } = clientOf([dns], { tryMs: reply === "silence" ? 30 : 4000 });
    expect(await ask("x.works", "A")).toEqual({ kind: "unknown", reason: reason as never });
  });

  test("unreachable, at once, for a closed port", async () => {
    const dns = await scriptedDns(works);
    await dns.close();
    const { ask } = clientOf([dns], { tryMs: 60_000, questionMs: 60_000 });
    expect(await ask("works", "MX")).toEqual({ kind: "unknown", reason: "unreachable" });
  });

  test("but an answer without records from the zone's own server is a negative answer", async () => {
    const dns = await server(() => ({ flags: packet.AUTHORITATIVE_ANSWER, authorities: [ns] }));
    expect(await clientOf([dns]).ask("works", "TXT")).toMatchObject({ kind: "no_record" });
  });
});

describe("aliases", () => {
  const alias = (from: number): packet.Answer => ({
    name: `a${from}.works`,
    type: "CNAME",
    ttl: 100 + from,
    data: `a${from + 1}.works`,
  });
  const end = (at: number): packet.Answer => ({ name: `a${at}.works`, type: "A", ttl: 300, data: "8.8.4.4" });
  const chain = (length: number) => [...Array.from({ length }, (_, from) => alias(from)), end(length)];
  /** Answers with one alias at a time. */
  const step: (records: packet.Answer[]) => DnsScript = (records) => (question) => ({
    answers: records.filter(({ name }) => name === question.name),
  });

  const rows: [what: string, script: DnsScript, kind: string][] = [
    ["eight in one answer", zone(chain(8)), "found"],
    ["eight, in one answer each", step(chain(8)), "found"],
    ["nine in one answer", zone(chain(9)), "unknown"],
    ["nine, in one answer each", step(chain(9)), "unknown"],
    ["a loop in one answer", () => ({ answers: [alias(0), { ...alias(1), data: "a0.works" } as never] }), "unknown"],
    ["a loop, in one answer each", step([alias(0), { ...alias(1), data: "a0.works" } as never]), "unknown"],
  ];
  test.each(rows)("%s", async (_what, script, kind) => {
    const dns = await server(script);
    const answer = await clientOf([dns]).ask("a0.works", "A");
    expect(answer.kind).toBe(kind as never);
    // The lowest TTL is that of the first alias.
    if (answer.kind === "found") expect(answer.ttlSeconds).toBe(100);
    expect(dns.questions.length).toBeLessThanOrEqual(9);
  });
});

describe("the client uses TCP", () => {
  const long = Array.from(
    { length: 40 },
    (_, index): packet.Answer => ({
      name: "works",
      type: "TXT",
      ttl: 300,
      data: `${index} ${"x".repeat(200)}`,
    }),
  );

  test("if an answer is too long for a datagram", async () => {
    const dns = await server(zone(long));
    const answer = await clientOf([dns]).ask("works", "TXT");
    expect(answer).toMatchObject({ kind: "found" });
    expect("records" in answer && answer.records).toHaveLength(40);
    expect(dns.questions.map(({ over }) => over)).toEqual(["udp", "tcp"]);
    await until(() => dns.connections() === 0);
  });

  test("if the answer over UDP is unreadable", async () => {
    const dns = await server((question) => {
      if (question.over === "tcp") return works(question);
      return encoded(question.id, [], {});
    });
    expect(await clientOf([dns]).ask("mx.works", "A")).toMatchObject({ kind: "found" });
  });

  const unreadable: [what: string, bytes: (id: number) => DnsReply][] = [
    ["silence", () => "silence"],
    ["noise", () => crypto.getRandomValues(new Uint8Array(300))],
    ["the answer to another question", (id) => encoded(id, [{ name: "other.works", type: "A" }], {})],
    [
      "another truncated answer",
      (id) => encoded(id, [{ name: "mx.works", type: "A" }], { flags: packet.TRUNCATED_RESPONSE }),
    ],
    ["a name that leads to itself", (id) => withOwner(id, 0xc0, 26)],
    ["a name that leads forward", (id) => withOwner(id, 0xc0, 30)],
    ["a label of an unknown kind", (id) => withOwner(id, 0x80, 12)],
  ];
  test.each(unreadable)("and %s over TCP is no answer", async (_what, bytes) => {
    const dns = await server(({ over, id }) => (over === "udp" ? encoded(id, [], {}) : bytes(id)));
    expect(await clientOf([dns], { tryMs: 60_000, questionMs: 60_000 }).ask("mx.works", "A")).toMatchObject({
      kind: "unknown",
    });
    await until(() => dns.connections() === 0);
  });
});

test("the client follows a pointer to a name earlier in the answer", async () => {
  const dns = await server(({ id }) => withOwner(id, 0xc0, 12));
  expect(await clientOf([dns]).ask("mx.works", "A")).toMatchObject({ records: ["8.8.4.4"] });
});

describe("against forged answers:", () => {
  const forged = (id: number, name = "mx.works") =>
    encoded(id, [{ name, type: "A" }], { answers: [{ name, type: "A", ttl: 9, data: "6.6.6.6" }] });

  test("an answer from another address or port is ignored", async () => {
    const forger = await Bun.udpSocket({ hostname: "127.0.0.1", port: 0, socket: { error: () => {} } });
    const dns = await server((question) => {
      forger.send(forged(question.id), question.port, "127.0.0.1");
      return works(question);
    });
    expect(await clientOf([dns]).ask("mx.works", "A")).toMatchObject({ records: ["8.8.4.4"] });
    forger.close();
  });

  const rows: [what: string, bytes: (id: number) => Uint8Array][] = [
    ["another id", (id) => forged((id + 1) % 65_536)],
    ["another name", (id) => forged(id, "my.works")],
    ["another type", (id) => encoded(id, [{ name: "mx.works", type: "MX" }], {})],
    ["a question", (id) => packet.encode({ type: "query", id, questions: [{ name: "mx.works", type: "A" }] })],
    ["three bytes", () => new Uint8Array(3)],
  ];
  test.each(rows)("%s from the server itself is ignored", async (_what, bytes) => {
    const dns = await server(async (question) => [bytes(question.id), (await works(question)) as DnsReply]);
    expect(await clientOf([dns]).ask("mx.works", "A")).toMatchObject({ records: ["8.8.4.4"] });
    expect(dns.questions).toHaveLength(1);
  });

  test("a dot within a label is escaped", async () => {
    const dns = await server(({ id }) => {
      const message = encoded(id, [{ name: "works", type: "MX" }], {
        answers: [{ name: "works", type: "MX", ttl: 9, data: { preference: 1, exchange: "mx_evil.works" } }],
      });
      message[message.lastIndexOf("_")] = 0x2e;
      return message;
    });
    expect(await clientOf([dns]).ask("works", "MX")).toMatchObject({ records: [mx(1, "mx\\046evil.works")] });
  });

  test("each question has its own id and port", async () => {
    const dns = await server(works);
    const { ask } = clientOf([dns]);
    await Promise.all(Array.from({ length: 50 }, (_, index) => ask(`n${index}.works`, "A")));
    expect(new Set(dns.questions.map(({ id }) => id)).size).toBeGreaterThan(45);
    expect(new Set(dns.questions.map(({ port }) => port)).size).toBe(50);
  });
});

describe("the servers", () => {
  test.each([
    ["is silent", "silence" as const],
    ["fails", { code: 2 }],
    ["refuses", { code: 5 }],
  ])("are tried in order: if the first %s, the second answers", async (_what, reply) => {
    const [bad, good] = [await server(() => reply), await server(works)];
    expect(await clientOf([bad, good], { tryMs: 500 }).ask("mx.works", "A")).toMatchObject({ kind: "found" });
    expect([bad.questions.length, good.questions.length]).toEqual([1, 1]);
  });

  test("are tried a second time, without EDNS", async () => {
    const dns = await server((question) => (question.hasEdns ? { code: 1 } : works(question)));
    expect(await clientOf([dns]).ask("mx.works", "A")).toMatchObject({ kind: "found" });
    expect(dns.questions.map(({ hasEdns }) => hasEdns)).toEqual([true, false]);
  });

  test("share one time limit, however many there are", async () => {
    const silent = await Promise.all(Array.from({ length: 6 }, () => server(() => "silence")));
    const { ask } = clientOf(silent, { tryMs: 50, questionMs: 120 });
    const startedMs = performance.now();
    expect(await ask("works", "A")).toEqual({ kind: "unknown", reason: "no answer in time" });
    expect(performance.now() - startedMs).toBeGreaterThanOrEqual(119);
    expect(silent.map(({ questions }) => questions.length).slice(4)).toEqual([0, 0]);
  });
});

describe("the cache", () => {
  const ttls: [what: string, reply: DnsReply, seconds: number][] = [
    ["a record for its TTL", { answers: [{ name: "x.works", type: "A", ttl: 77, data: "8.8.4.4" }] }, 77],
    [
      "a record with a TTL of 0 for 5 seconds",
      { answers: [{ name: "x.works", type: "A", ttl: 0, data: "8.8.4.4" }] },
      5,
    ],
    [
      "a record with a TTL of a year for an hour",
      { answers: [{ name: "x.works", type: "A", ttl: 3e7, data: "8.8.4.4" }] },
      3600,
    ],
    ["a negative answer for the time in the SOA record", { code: 3, authorities: [soa(40)] }, 40],
    ["a negative answer for the TTL of the SOA record, if that is lower", { code: 3, authorities: [soa(40, 20)] }, 20],
    ["a negative answer for at most five minutes", { authorities: [soa(86_400)] }, 300],
    ["a negative answer without an SOA record for 5 seconds", { code: 3 }, 5],
    ["a failure for 5 seconds", { code: 2 }, 5],
  ];
  test.each(ttls)("keeps %s", async (_what, reply, seconds) => {
    const dns = await server(() => reply);
    const { ask, pass } = clientOf([dns]);
    const first = await ask("x.works", "A");
    const { length } = dns.questions;
    pass(seconds - 0.001);
    expect(await ask("X.works", "A")).toEqual(first);
    expect(dns.questions).toHaveLength(length);
    pass(0.001);
    await ask("x.works", "A");
    expect(dns.questions).toHaveLength(2 * length);
  });

  test("gives the same answer at once, until its time is over", async () => {
    const dns = await server(works);
    const { ask, recall, pass } = clientOf([dns]);
    expect(recall("mx.works", "A")).toBeUndefined();
    const answer = await ask("mx.works", "A");
    expect(recall("MX.works.", "A")).toBe(answer);
    expect(await ask("mx.works", "A")).toBe(answer);
    expect(recall("mx.works", "AAAA")).toBeUndefined();
    pass(300);
    expect(recall("mx.works", "A")).toBeUndefined();
    expect(await ask("mx.works", "A")).toEqual(answer);
    expect(recall("mx.works", "A")).not.toBe(answer);
  });

  test("keeps each type separately", async () => {
    const dns = await server(works);
    const { ask } = clientOf([dns]);
    expect(await ask("mx.works", "A")).toMatchObject({ kind: "found" });
    expect(await ask("mx.works", "TXT")).toMatchObject({ kind: "no_record" });
  });

  const bounds: [what: string, limits: Partial<DnsLimits>][] = [
    ["answers", { maxAnswers: 3 }],
    ["characters", { maxCharacters: 3 * 1020 }],
  ];
  test.each(bounds)("has a limit of %s, and drops the oldest first", async (_what, limits) => {
    const dns = await server(({ name }) => ({
      answers: [{ name, type: "TXT", ttl: 300, data: Array(4).fill("x".repeat(250)) }],
    }));
    const { ask } = clientOf([dns], limits);
    for (const name of ["a", "b", "c", "d"]) await ask(name, "TXT");
    for (const name of ["b", "c", "d"]) await ask(name, "TXT");
    expect(dns.questions.map(({ name }) => name)).toEqual(["a", "b", "c", "d"]);
    await ask("a", "TXT");
    expect(dns.questions).toHaveLength(5);
  });
});

describe("a server that leaves five questions in a row unanswered", () => {
  /** A server that is silent while `isDown()`, and answers the root's question as `isWell()` says. */
  function tired() {
    const state = { isDown: true, isWell: false };
    return {
      state,
      script: (({ name }) => ((name === "." ? state.isWell : !state.isDown) ? { code: 3 } : "silence")) as DnsScript,
    };
  }

  const five = ["a", "b", "c", "d", "e"];
  /** An answer comes within this time on a busy machine too, and a silent server takes this time. */
  const tryMs = 500;
  const outage = { kind: "unknown", reason: "servers that are silent" } as const;

  test("is not asked for five seconds; then a call asks whether it is well, and is asked again after its answer", async () => {
    const { state, script } = tired();
    const dns = await server(script);
    const { ask, pass, outcomes } = clientOf([dns], { tryMs });
    const late = { kind: "unknown", reason: "no answer in time" };
    expect(await Promise.all(five.map((name) => ask(name, "A")))).toEqual(Array(5).fill(late));
    await untilAnswered(async () => {
      await ask(`n${outcomes.length}`, "A");
      return outcomes.includes("refused") || undefined;
    });

    const { length } = dns.questions;
    pass(4.999);
    expect(await ask("f", "A")).toEqual(outage);
    expect(dns.questions).toHaveLength(length);

    pass(0.001);
    expect(await Promise.all(["g", "h", "i"].map((name) => ask(name, "A")))).toEqual(Array(3).fill(outage));
    expect(dns.questions.slice(length)).toMatchObject([{ name: "." }]);

    Object.assign(state, { isDown: false, isWell: true });
    await untilAnswered(async () => {
      pass(5);
      return (await ask("j", "A")).kind === "no_name" || undefined;
    });
    expect(await ask("h", "A")).toMatchObject({ kind: "no_name" });
  });

  test("is still asked if it is well, and only the zones of the questions are dead", async () => {
    const { state, script } = tired();
    state.isWell = true;
    const dns = await server(script);
    const { ask, outcomes } = clientOf([dns], { tryMs });
    for (const round of [1, 2]) await Promise.all(five.map((name) => ask(`${name}${round}`, "A")));
    expect(outcomes).toEqual(Array(10).fill("timed_out"));
    expect(dns.questions.some(({ name }) => name === ".")).toBe(true);
  });

  test("is left out, and the next server is asked at once", async () => {
    const [dead, good] = [await server(() => "silence"), await server(works)];
    const { ask } = clientOf([dead, good], { tryMs });
    await Promise.all(five.map((name) => ask(name, "A")));
    await untilAnswered(async () => {
      const { length } = dead.questions;
      await ask(`n${good.questions.length}`, "A");
      return dead.questions.length === length || undefined;
    });
    const { length } = dead.questions;
    expect(await ask("mx.works", "A")).toMatchObject({ kind: "found" });
    expect(dead.questions).toHaveLength(length);
  });

  test("is asked again at once after an answer in between", async () => {
    const dns = await server(({ name }) => (name.startsWith("good") ? { code: 3 } : "silence"));
    const { ask } = clientOf([dns], { tryMs });
    for (const names of [["a", "b"], ["good1"], ["c", "d"], ["good2"]])
      await Promise.all(names.map((name) => ask(name, "A")));
    // Each silent name is asked twice, so that four time-outs in a row are the most.
    expect(dns.questions.some(({ name }) => name === ".")).toBe(false);
  });
});

test("the observer counts each call once", async () => {
  const gate = Promise.withResolvers<void>();
  const dns = await server(async ({ name }) => {
    if (name === "slow") return "silence";
    await gate.promise;
    return { code: name === "broken" ? 2 : 3 };
  });
  const { ask, recall, outcomes } = clientOf([dns], { maxInFlight: 1, maxWaiting: 0, tryMs: 500 });
  const answers = [ask("a", "A"), ask("a", "A"), ask("b", "A")];
  gate.resolve();
  await Promise.all(answers);
  await ask("a", "A");
  recall("a", "A");
  recall("b", "A");
  await ask("a..b", "A");
  await ask("broken", "A");
  await ask("slow", "A");
  expect(outcomes.toSorted()).toEqual(["asked", "asked", "kept", "kept", "kept", "refused", "timed_out"]);
});

test("an answer with 10,000 records or with 64 KiB of text stops nothing", async () => {
  const answers = Array.from(
    { length: 240 },
    (): packet.Answer => ({ name: "works", type: "TXT", ttl: 300, data: "x".repeat(240) }),
  );
  const dns = await server(({ name, over, id }) => {
    if (over === "udp") return { flags: packet.TRUNCATED_RESPONSE };
    if (name === "works") return { answers };
    const message = Buffer.alloc(65_535);
    encoded(id, [{ name, type: "TXT" }], {}).copy(message);
    message.writeUInt16BE(10_000, 6);
    return message;
  });
  const { ask } = clientOf([dns], { tryMs: 60_000, questionMs: 60_000 });
  expect(await ask("many.works", "TXT")).toEqual({ kind: "unknown", reason: "unreadable answer" });
  const whole = await ask("works", "TXT");
  expect("records" in whole && whole.records).toHaveLength(240);
});

describe("at the same time", () => {
  test("calls for the same name and type share one question", async () => {
    const gate = Promise.withResolvers<void>();
    const dns = await server(async (question) => {
      await gate.promise;
      return (await works(question)) as DnsReply;
    });
    const { ask } = clientOf([dns]);
    const answers = Array.from({ length: 100 }, (_, index) => ask(index % 2 ? "mx.works" : "MX.works", "A"));
    await until(() => dns.questions.length === 1);
    gate.resolve();
    for (const answer of await Promise.all(answers)) expect(answer).toMatchObject({ records: ["8.8.4.4"] });
    expect(dns.questions).toHaveLength(1);
  });

  test("at most 256 questions are out, and the others wait", async () => {
    const held: (() => void)[] = [];
    const dns = await server(async () => {
      await new Promise<void>((resolve) => held.push(resolve));
      return { code: 3 };
    });
    const { ask } = clientOf([dns], { tryMs: 20_000, questionMs: 20_000 });
    const answers = Array.from({ length: 300 }, (_, index) => ask(`n${index}.works`, "A"));
    await until(() => held.length === 256);
    held.shift()?.();
    await answers[0];
    await until(() => dns.questions.length === 257);
    for (const goOn of held.splice(0)) goOn();
    await until(() => dns.questions.length === 300);
    for (const goOn of held.splice(0)) goOn();
    expect((await Promise.all(answers)).every(({ kind }) => kind === "no_name")).toBe(true);
  });

  test("a call above the limit of waiting ones fails at once, and the failure is not cached", async () => {
    const gate = Promise.withResolvers<void>();
    const dns = await server(async () => {
      await gate.promise;
      return { code: 3 };
    });
    const { ask } = clientOf([dns], { maxInFlight: 1, maxWaiting: 1, tryMs: 60_000, questionMs: 60_000 });
    const [goesOut, waits, isTooMany] = [ask("a.works", "A"), ask("b.works", "A"), ask("c.works", "A")];
    expect(await isTooMany).toEqual({ kind: "unknown", reason: "too many questions" });
    gate.resolve();
    for (const answer of [goesOut, waits]) expect(await answer).toMatchObject({ kind: "no_name" });
    expect(await ask("c.works", "A")).toMatchObject({ kind: "no_name" });
  });

  test("no call waits longer than the time limit of a question", async () => {
    const dns = await server(() => "silence");
    const { ask } = clientOf([dns], { maxInFlight: 1, questionMs: 50 });
    const { result, fairMs } = await fairly(() =>
      Promise.all(Array.from({ length: 20 }, (_, index) => ask(`n${index}.works`, "A"))),
    );
    for (const answer of result) expect(answer).toEqual({ kind: "unknown", reason: "no answer in time" });
    expect(fairMs).toBeLessThan(500);
  });
});

describe("at the end", () => {
  test("an aborted call ends at once, and others still get the answer", async () => {
    const gate = Promise.withResolvers<void>();
    const dns = await server(async () => {
      await gate.promise;
      return { code: 3 };
    });
    const { ask } = clientOf([dns]);
    const patience = new AbortController();
    const [impatient, patient] = [ask("a.works", "A", patience.signal), ask("a.works", "A")];
    patience.abort();
    expect(await impatient).toEqual({ kind: "unknown", reason: "given up" });
    expect(await ask("b.works", "A", patience.signal)).toEqual({ kind: "unknown", reason: "given up" });
    gate.resolve();
    expect(await patient).toMatchObject({ kind: "no_name" });
    expect(dns.questions).toHaveLength(1);
  });

  test.each(["udp", "tcp"])("closing ends the questions that are out over %s, and those that wait", async (over) => {
    const dns = await server((question) =>
      question.over === over ? new Promise<never>(() => {}) : encoded(question.id, [], {}),
    );
    const client = clientOf([dns], { maxInFlight: 2, tryMs: 60_000, questionMs: 60_000 });
    const answers = ["a.works", "b.works", "c.works"].map((name) => client.ask(name, "A"));
    await until(() => dns.questions.filter((question) => question.over === over).length === 2);
    await client.close();
    for (const answer of await Promise.all(answers)) expect(answer).toEqual({ kind: "unknown", reason: "closed" });
    expect(await client.ask("d.works", "A")).toEqual({ kind: "unknown", reason: "closed" });
    await until(() => dns.connections() === 0);
  });

  test.skipIf(process.platform !== "linux")("no socket is left open, whatever the result", async () => {
    const dns = await server((question) => {
      const kind = Number(question.name.slice(1, 2));
      if (kind === 0) return "silence";
      if (kind === 1) return { code: 2 };
      return question.over === "tcp" ? "silence" : encoded(question.id, [], {});
    });
    const before = sockets();
    const client: DnsClient = clientOf([dns], { tryMs: 20 });
    await Promise.all(Array.from({ length: 90 }, (_, index) => client.ask(`n${index % 3}-${index}.works`, "A")));
    await until(() => dns.connections() === 0 && sockets() <= before);
  });
});

function sockets(): number {
  const links = readdirSync("/proc/self/fd").map((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`);
    } catch {
      return ""; // the descriptor of the listing itself
    }
  });
  return links.filter((link) => link.startsWith("socket:")).length;
}

function mx(priority: number, exchange: string) {
  return { priority, exchange };
}

/** An answer with one record of this name, which follows the 26 bytes of head and question. */
function withOwner(id: number, ...owner: number[]): Uint8Array {
  const message = encoded(id, [{ name: "mx.works", type: "A" }], {
    answers: [{ name: "", type: "A", ttl: 9, data: "8.8.4.4" }],
  });
  return Buffer.concat([message.subarray(0, 26), Uint8Array.from(owner), message.subarray(27)]);
}
